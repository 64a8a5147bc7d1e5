"""k-SEQ: k candidates drawn independently from q are each held against p/ρq, with one ρ for all.

Source: Sun et al., "SpecTr: Fast Speculative Decoding via Optimal Transport" (NeurIPS 2023), algorithm 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..drafters.base import Draft
from ..draws import Draws
from .base import TargetProbs, Verdict, walk
from .rejection import judge_in_turn

BISECTIONS = 40


class KSeq:
    """Each candidate in turn stands with probability min(1, p / ρq); then the residual of all k.

    Needs candidates drawn with replacement. Where they were chosen instead, as at temperature 0, no q is
    known, and they are held against p one after the other, as ``RejectionSampling`` does.

    Arithmetic: as ``RejectionSampling``, with ``"rho"`` in each candidate's entry.
    """

    name = "k-seq"
    lossless = True

    def accept(self, draft: Draft, target_probs: TargetProbs, draws: Draws) -> Verdict:
        """Walk down the draft tree."""
        tree = draft.tree

        def judge(node: int, p: np.ndarray, arithmetic: list[dict[str, Any]]) -> tuple[int | None, int, Sequence[int]]:
            candidates = draft.drawn.get(node)
            if candidates is None:
                return judge_in_turn(self.name, draft, node, p, draws, arithmetic)
            q = draft.q[node]
            rho = smallest_rho(p, q, len(candidates))
            for tried, child in enumerate(candidates, start=1):
                token = tree.tokens[child]
                threshold = min(1.0, float(p[token] / (rho * q[token])))
                accepted, u = draws.accept(threshold)
                arithmetic.append({"node": node, "rule": self.name, "candidate": child, "p": float(p[token]),
                                   "q": float(q[token]), "rho": rho, "u": u, "threshold": threshold,
                                   "accepted": accepted})
                if accepted:
                    return child, token, candidates[:tried]
            token = draws.choose(rest := residual_of_all(p, q, rho, len(candidates)))
            arithmetic.append({"node": node, "rule": self.name, "draw": token, "p": float(rest[token])})
            return None, token, candidates

        return walk(draft, target_probs, judge)


def overlap(p: np.ndarray, q: np.ndarray, rho: float) -> float:
    """β(ρ) = Σ min(p/ρ, q): the chance that one candidate is accepted."""
    return float(np.minimum(p / rho, q).sum())


def smallest_rho(p: np.ndarray, q: np.ndarray, k: int) -> float:
    """The smallest ρ in [1, k], to rounding, with 1 − (1 − β(ρ))^k ≤ ρ β(ρ): any such ρ is exact, the smallest accepts most."""
    def too_small(rho: float) -> bool:
        beta = overlap(p, q, rho)
        return 1 - (1 - beta) ** k > rho * beta

    low, high = 1.0, float(k)
    if not too_small(low):
        return low
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if too_small(middle) else (low, middle)
    return high


def residual_of_all(p: np.ndarray, q: np.ndarray, rho: float, k: int) -> np.ndarray:
    """What is left of p when all k candidates were rejected."""
    beta = overlap(p, q, rho)
    if beta <= 0.0:
        return p
    rest = np.maximum(p - np.minimum(p / rho, q) * (1 - (1 - beta) ** k) / beta, 0.0)
    total = rest.sum()
    return rest / total if total > 0.0 else p
