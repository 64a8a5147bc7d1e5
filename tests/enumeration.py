"""Every outcome of an acceptance rule with its exact probability, by replaying the rule's choices.

``Scripted`` stands in for ``spec_core.draws.Draws``: it follows a list of choices, and
notes the probability of each and which others there were.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np


class Scripted:
    """Draws that follow a script; beyond it the first possible outcome is taken."""

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.taken: list[int] = []
        self.probability = 1.0
        self.branches: list[list[int]] = []

    def accept(self, probability: float) -> tuple[bool, float]:
        p = np.array([1.0 - probability, probability])
        return bool(self.choose(p)), float("nan")

    def choose(self, p: np.ndarray) -> int:
        possible = np.flatnonzero(p).tolist()
        step = len(self.taken)
        choice = self.script[step] if step < len(self.script) else possible[0]
        self.branches.append(possible)
        self.taken.append(choice)
        self.probability *= float(p[choice]) / float(np.sum(p))
        return choice


def outcomes(play: Callable[[Any], Hashable]) -> dict[Hashable, float]:
    """Result of ``play(draws)`` → its probability, over all draws."""
    law: dict[Hashable, float] = {}
    pending: list[list[int]] = [[]]
    while pending:
        script = pending.pop()
        draws = Scripted(script)
        result = play(draws)
        law[result] = law.get(result, 0.0) + draws.probability
        for step in range(len(script), len(draws.taken)):
            for other in draws.branches[step]:
                if other != draws.taken[step]:
                    pending.append([*draws.taken[:step], other])
    return law
