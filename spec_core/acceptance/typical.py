"""Typical acceptance: plausible tokens stand, whatever a draw would have said. Faster, and not lossless.

Source: Cai et al., "Medusa" (2024), §3.3.1; the threshold is that of Hewitt et al. (2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..drafters.base import Draft
from ..draws import Draws
from ..tree import ROOT
from .base import TargetProbs, Verdict


class TypicalAcceptance:
    """A node stands when p > min(ε, δ · exp(−entropy)); the longest standing path is taken, ties to the likelier.

    Arithmetic: ``{"node": parent, "rule", "candidate": child, "p", "threshold", "accepted"}``, and
    ``{"node", "rule", "draw": token, "p"}``.
    """

    name = "typical"
    lossless = False

    def __init__(self, epsilon: float = 0.3, delta: float = 0.09) -> None:
        self.epsilon = epsilon
        self.delta = delta

    def accept(self, draft: Draft, target_probs: TargetProbs, draws: Draws) -> Verdict:
        """Find the longest path of standing nodes."""
        tree = draft.tree
        probs: dict[int, float] = {}
        arithmetic: list[dict[str, Any]] = []
        reached: dict[int, float] = {ROOT: 0.0}  # node → log p of its path
        for node in (ROOT, *range(len(tree))):
            children = tree.children(node)
            if node not in reached or not children:
                continue
            p = target_probs(node)
            positive = p[p > 0]
            threshold = min(self.epsilon, self.delta * float(np.exp((positive * np.log(positive)).sum())))
            for child in children:
                probs[child] = chance = float(p[tree.tokens[child]])
                arithmetic.append({"node": node, "rule": self.name, "candidate": child, "p": chance,
                                   "threshold": threshold, "accepted": chance > threshold})
                if chance > threshold:
                    reached[child] = reached[node] + float(np.log(chance))
        depths = {ROOT: 0, **{i: depth for i, depth in enumerate(tree.depths)}}
        end = max(reached, key=lambda node: (depths[node], reached[node]))
        path = [] if end == ROOT else tree.path(end)
        p = target_probs(end)
        token = draws.choose(p)
        arithmetic.append({"node": end, "rule": self.name, "draw": token, "p": float(p[token])})
        return Verdict(path, token, "recovered" if tree.children(end) else "bonus", probs, arithmetic)
