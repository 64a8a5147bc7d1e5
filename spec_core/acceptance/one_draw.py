"""One draw from the target at each visited node. Needs nothing of the drafter but its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..drafters.base import Draft
from ..draws import Draws
from .base import TargetProbs, Verdict, walk


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
        tree = draft.tree

        def judge(node: int, p: np.ndarray, arithmetic: list[dict[str, Any]]) -> tuple[int | None, int, Sequence[int]]:
            token = draws.choose(p)
            children = tree.children(node)
            match = next((child for child in children if tree.tokens[child] == token), None)
            arithmetic.append({"node": node, "rule": self.name, "draw": token, "p": float(p[token]), "matched": match})
            return match, token, children  # one draw judges them all

        return walk(draft, target_probs, judge)
