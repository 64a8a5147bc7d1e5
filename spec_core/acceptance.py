"""Acceptance rules: which drafted tokens stand, and which token the target adds.

A rule is a pure function of the draft, the target's distributions and the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .draws import Draws
from .drafters.base import Draft
from .tree import ROOT

TargetProbs = Callable[[int], np.ndarray]
"""node (or ROOT) → p of the token that follows it: float64 (vocabulary,)."""


@dataclass
class Verdict:
    """The outcome of a walk down the tree.

    Args:
        path: accepted nodes, from a child of the root down.
        token: the token that the target adds.
        kind: ``recovered`` after a rejection, ``bonus`` after full acceptance.
        probs: p(node | its path) of every node that was judged.
        arithmetic: one entry a decision, for the views.
    """

    path: list[int]
    token: int
    kind: str
    probs: dict[int, float] = field(default_factory=dict)
    arithmetic: list[dict[str, Any]] = field(default_factory=list)


class AcceptanceRule(Protocol):
    """Judges a draft; ``lossless``: the output follows the target's own distribution."""

    name: str
    lossless: bool

    def accept(self, draft: Draft, target_probs: TargetProbs, draws: Draws) -> Verdict:
        """Walk down the draft tree."""


class OneDraw:
    """One draw from p at each visited node; if a child holds that very token, go on there, else emit it.

    The emitted tokens are draws from p, one after the other, whatever was drafted: so
    the output follows the target exactly, and with the same seed it is the very text of
    plain decoding. At temperature 0, p is one-hot and this is greedy matching.

    Source: SpecInfer (2023) "naive sampling"; REST (2024), §3.3, without its second draw
    after a mismatch, which biases the output.
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


RULES: dict[str, AcceptanceRule] = {rule.name: rule for rule in (OneDraw(),)}
"""The rules to choose from, by name."""
