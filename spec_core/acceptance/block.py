"""Block verification: a chain is judged as a whole, which accepts at least as much as token by token.

Source: Sun et al., "Block Verification Accelerates Speculative Decoding" (2024), algorithm 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..drafters.base import Draft
from ..draws import Draws
from ..tree import ROOT
from .base import TargetProbs, Verdict
from .rejection import one_hot


class BlockVerification:
    """Accept the longest prefix whose joint test passes. Needs a chain.

    With w the running weight, w_i = min(w_{i−1} p/q, 1), prefix i passes with probability
    h_i = S_i / (S_i + 1 − w_i), where S_i = Σ max(w_i p − q, 0) over the next token; the
    whole chain passes with w_γ. The next token is drawn from max(w p − q, 0) after the
    longest prefix that passed, from p after the whole chain.

    Arithmetic: one entry a prefix, ``{"node", "rule", "candidate": its last node, "p", "q", "weight",
    "threshold", "u", "accepted"}``, and ``{"node", "rule", "draw": token, "p"}``.
    """

    name = "block"
    lossless = True

    def accept(self, draft: Draft, target_probs: TargetProbs, draws: Draws) -> Verdict:
        """Judge the chain."""
        tree = draft.tree
        chain = list(range(len(tree)))
        probs: dict[int, float] = {}
        arithmetic: list[dict[str, Any]] = []
        weight, kept, rest = 1.0, 0, self._rest(draft, target_probs, ROOT, 1.0)
        for i, node in enumerate(chain):
            above, token = tree.parents[node], tree.tokens[node]
            p, q = float(target_probs(above)[token]), float(draft.q[above][token]) if above in draft.q else 1.0
            probs[node] = p
            weight = min(weight * p / q, 1.0)
            last = i == len(chain) - 1
            unnormalised = self._rest(draft, target_probs, node, weight)
            total = float(unnormalised.sum())
            threshold = weight if last else total / (total + 1 - weight) if total + 1 - weight > 0 else 1.0
            passed, u = draws.accept(threshold)
            arithmetic.append({"node": above, "rule": self.name, "candidate": node, "p": p, "q": q, "weight": weight,
                               "threshold": threshold, "u": u, "accepted": passed})
            if passed:
                kept, rest = i + 1, unnormalised
        path = chain[:kept]
        end = path[-1] if path else ROOT
        total = rest.sum()
        p = rest / total if total > 0.0 else target_probs(end)
        token = draws.choose(p)
        arithmetic.append({"node": end, "rule": self.name, "draw": token, "p": float(p[token])})
        return Verdict(path, token, "recovered" if kept < len(chain) else "bonus",
                       {node: probs[node] for node in chain[:kept + 1]}, arithmetic)

    def _rest(self, draft: Draft, target_probs: TargetProbs, node: int, weight: float) -> np.ndarray:
        """max(w p − q, 0) over the token after ``node``; p where nothing is drafted there."""
        p, following = target_probs(node), draft.tree.children(node)
        if not following:
            return p
        q = draft.q[node] if node in draft.q else one_hot(draft.tree.tokens[following[0]], len(p))
        return np.maximum(weight * p - q, 0.0)
