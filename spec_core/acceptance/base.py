"""What an acceptance rule is: a pure function of the draft, the target's distributions and the draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..drafters.base import Draft
from ..draws import Draws
from ..tree import ROOT

TargetProbs = Callable[[int], np.ndarray]
"""node (or ROOT) → p of the token that follows it: float64 (vocabulary,)."""


@dataclass
class Verdict:
    """The outcome of a walk down the tree.

    Args:
        path: accepted nodes, from a child of the root down.
        token: the token that the target adds.
        kind: ``recovered`` after a rejection, ``bonus`` after full acceptance.
        probs: p(node | its path) of every node that was judged; candidates behind an accepted one were not.
        arithmetic: one entry a decision, for the views; each rule documents its own.
    """

    path: list[int]
    token: int
    kind: str
    probs: dict[int, float] = field(default_factory=dict)
    arithmetic: list[dict[str, Any]] = field(default_factory=list)


Judge = Callable[[int, np.ndarray, list[dict[str, Any]]], tuple[int | None, int, Sequence[int]]]
"""(node, p after it, arithmetic to add to) → the accepted child, or None and the token to emit; and the children judged."""


def walk(draft: Draft, target_probs: TargetProbs, judge: Judge) -> Verdict:
    """Go down from the root as long as ``judge`` accepts a child; it emits the token where the walk ends."""
    tree, node = draft.tree, ROOT
    path: list[int] = []
    probs: dict[int, float] = {}
    arithmetic: list[dict[str, Any]] = []
    while True:
        p = target_probs(node)
        children = tree.children(node)
        child, token, judged = judge(node, p, arithmetic)
        probs.update((one, float(p[tree.tokens[one]])) for one in judged)
        if child is None:
            return Verdict(path, token, "recovered" if children else "bonus", probs, arithmetic)
        path.append(child)
        node = child


class AcceptanceRule(Protocol):
    """Judges a draft; ``lossless``: the output follows the target's own distribution."""

    name: str
    lossless: bool

    def accept(self, draft: Draft, target_probs: TargetProbs, draws: Draws) -> Verdict:
        """Walk down the draft tree."""
