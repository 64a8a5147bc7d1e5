"""One draw from the target at each visited node. Needs nothing of the drafter but its tokens."""

from __future__ import annotations

from typing import Any

from ..drafters.base import Draft
from ..draws import Draws
from ..tree import ROOT
from .base import TargetProbs, Verdict


class OneDraw:
    """One draw from p at each visited node; if a child holds that very token, go on there, else emit it.

    The emitted tokens are draws from p, one after the other, whatever was drafted: so
    the output follows the target exactly, and with the same seed it is the very text of
    plain decoding. At temperature 0, p is one-hot and this is greedy matching.

    Source: SpecInfer (2023), "naive sampling"; REST (2024), §3.3, without its second draw
    after a mismatch, which biases the output.

    Arithmetic: ``{"node", "rule", "draw": token, "p", "matched": child or None}``.
    """

    name = "one-draw"
    lossless = True

    def accept(self, draft: Draft, target_probs: TargetProbs, draws: Draws) -> Verdict:
        """Walk down the draft tree."""
        tree, node = draft.tree, ROOT
        path: list[int] = []
        probs: dict[int, float] = {}
        arithmetic: list[dict[str, Any]] = []
        while True:
            p = target_probs(node)
            token = draws.choose(p)
            children = tree.children(node)
            probs.update((child, float(p[tree.tokens[child]])) for child in children)
            match = next((child for child in children if tree.tokens[child] == token), None)
            arithmetic.append({"node": node, "rule": self.name, "draw": token, "p": float(p[token]), "matched": match})
            if match is None:
                return Verdict(path, token, "recovered" if children else "bonus", probs, arithmetic)
            path.append(match)
            node = match
