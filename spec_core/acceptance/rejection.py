"""Rejection sampling: a candidate drawn from q stands with probability p/q, else the residual is drawn from.

Single candidates (a chain): Leviathan et al., "Fast Inference from Transformers via
Speculative Decoding" (2023), algorithm 1; Chen et al. (2023), algorithm 2. Several
candidates a node: Yang et al., "Multi-Candidate Speculative Decoding" (2024), §4, with
replacement (algorithm 1, also SpecInfer's multi-step sampling) and without (§4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..drafters.base import Draft
from ..draws import Draws
from .base import TargetProbs, Verdict, walk


class RejectionSampling:
    """Try the candidates of a node in the order drawn; p shrinks to the residual after each rejection.

    Without replacement, each candidate is scored with the q that it was drawn from: q
    without the siblings before it, renormalised. A candidate that was chosen, not drawn,
    counts as drawn from a one-hot q.

    Arithmetic: one entry a candidate, ``{"node", "rule", "candidate": child, "p", "q", "u",
    "threshold", "accepted"}``, and ``{"node", "rule", "draw": token, "p"}`` for the target's own token.
    """

    lossless = True

    def __init__(self, name: str) -> None:
        self.name = name

    def accept(self, draft: Draft, target_probs: TargetProbs, draws: Draws) -> Verdict:
        """Walk down the draft tree."""
        return walk(draft, target_probs,
                    lambda node, p, arithmetic: judge_in_turn(self.name, draft, node, p, draws, arithmetic))


def judge_in_turn(rule: str, draft: Draft, node: int, p: np.ndarray, draws: Draws,
                  arithmetic: list[dict[str, Any]]) -> tuple[int | None, int, Sequence[int]]:
    """Hold the candidates of one node against p, one after the other. Returns as a ``Judge`` does."""
    q = draft.q.get(node)
    candidates = draft.drawn.get(node, draft.tree.children(node))
    for tried, child in enumerate(candidates, start=1):
        token = draft.tree.tokens[child]
        q_drawn = one_hot(token, len(p)) if q is None else q
        threshold = min(1.0, float(p[token] / q_drawn[token]))
        accepted, u = draws.accept(threshold)
        arithmetic.append({"node": node, "rule": rule, "candidate": child, "p": float(p[token]),
                           "q": float(q_drawn[token]), "u": u, "threshold": threshold, "accepted": accepted})
        if accepted:
            return child, token, candidates[:tried]
        p = residual(p, q_drawn)
        if q is not None and not draft.replacement:
            q = without(q, token)
    token = draws.choose(p)
    arithmetic.append({"node": node, "rule": rule, "draw": token, "p": float(p[token])})
    return None, token, candidates


def residual(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """max(p − q, 0), renormalised. Where p equals q nothing is ever rejected, and p itself is returned."""
    rest = np.maximum(p - q, 0.0)
    total = rest.sum()
    return rest / total if total > 0.0 else p


def without(q: np.ndarray, token: int) -> np.ndarray:
    """q given that ``token`` is not drawn again."""
    rest = q.copy()
    rest[token] = 0.0
    total = rest.sum()
    return rest / total if total > 0.0 else rest


def one_hot(token: int, vocab_size: int) -> np.ndarray:
    """All probability on one token."""
    q = np.zeros(vocab_size)
    q[token] = 1.0
    return q
