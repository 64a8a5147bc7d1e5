"""How many nodes pay: the measured cost of a forward against the tokens to be expected.

A step with n nodes costs v(n) plain forwards and is expected to commit one token and
the sum of the estimates of its nodes. With λ tokens a plain forward's time in the run so
far, n is right where *tokens − λ · cost* is largest; λ is at least one, that of plain
decoding, so a node that does not pay for itself is never drafted.

Estimates can be wrong, so there is an account beside them: what drafts have brought the
run so far, in plain forwards, and an allowance of a few percent. A tree that would
overdraw it if nothing were accepted is too large. So by the measured costs a run is
never slower than plain decoding by more than the allowance, on any text.

Source: the expected speed-up with a measured cost, Leviathan et al. (2023), §3.3; the
choice of tree size per machine, Sequoia (Chen et al., 2024), §3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..tree import DraftTree
from .settings import Budget

if TYPE_CHECKING:
    from ..target import TargetModel

MOST = 64
"""Nodes of a draft tree at most where the number is chosen automatically."""
MEASURED = (0, 1, 3, 7, 15, 31, 63)
ROUNDS = 3
CONTEXT = 128
"""Tokens in the cache while measuring."""
PRIOR = 6.0
"""Weight, in accepted tokens and in forwards, of what is believed before a run has told."""
FADE = 0.95
"""What a step weighs, one step later: a text changes."""

ALLOWANCE = 0.03
"""Plain forwards that a run may lose for each token, …"""
ADVANCE = 0.2
"""… and from the start."""


@dataclass(frozen=True)
class CostCurve:
    """v(n): the time of a target forward over root and n nodes, in forwards over the root alone.

    Args:
        nodes: measured numbers of nodes, rising, the first 0.
        costs: of these, rising, the first 1. Between them the curve is straight, and goes on behind the last.
    """

    nodes: Sequence[int]
    costs: Sequence[float]

    def upto(self, most: int) -> np.ndarray:
        """float64 [most + 1]: v(0), …, v(most)."""
        nodes, costs = list(self.nodes), list(self.costs)
        if most > nodes[-1]:
            slope = (costs[-1] - costs[-2]) / (nodes[-1] - nodes[-2])
            nodes, costs = [*nodes, most], [*costs, costs[-1] + slope * (most - nodes[-1])]
        return np.interp(np.arange(most + 1), nodes, costs)

    @classmethod
    def measured(cls, target: TargetModel) -> CostCurve:
        """Measure a target that runs nothing now; it forgets its sequence. Takes some 25 forwards."""
        most = min(MEASURED[-1], target.context_limit - 2)
        nodes = [n for n in MEASURED if n <= most]
        times = np.full((ROUNDS, len(nodes)), np.inf)
        target.reset([0] * min(CONTEXT, target.context_limit - most - 1))
        target.verify(0, DraftTree.chain([0] * most))  # warm up
        for once in times:  # all sizes in turn, so that what else the machine does hits them alike
            for i, n in enumerate(nodes):
                tree = DraftTree.chain([0] * n)
                began = perf_counter()
                target.verify(0, tree).logits[0, 0].item()  # waits for a device that computes on its own
                once[i] = perf_counter() - began
        target.reset([0])
        fastest = np.maximum.accumulate(times.min(axis=0))
        return cls(tuple(nodes), tuple((fastest / fastest[0]).tolist()))


CAUTIOUS = CostCurve((0, 1, 15, 63), (1.0, 1.3, 2.2, 4.0))
"""Where nothing was measured: the dearest that was seen on a CPU in float32."""

_curves: WeakKeyDictionary[TargetModel, CostCurve] = WeakKeyDictionary()


def cost_curve(target: TargetModel) -> CostCurve:
    """The curve of a loaded target, measured once."""
    if target not in _curves:
        _curves[target] = CostCurve.measured(target)
    return _curves[target]


class NodeBudget:
    """The number of nodes of each draft tree of a run.

    Args:
        setting: a number, or ``Budget.AUTO``.
        curve: what nodes cost; used where the number is chosen.
    """

    def __init__(self, setting: int | str, curve: CostCurve | None = None) -> None:
        self.automatic = setting == Budget.AUTO
        self._most = MOST if self.automatic else int(setting)
        self._costs = (curve or CAUTIOUS).upto(MOST)
        self.reset()

    def reset(self) -> None:
        """Begin a new run."""
        self._expected = self._accepted = PRIOR  # nodes expected to be accepted, and accepted
        self._tokens = self._cost = PRIOR
        self._account = ADVANCE
        self._plan = (0.0, 1.0)

    def most(self, max_nodes: int) -> int:
        """How many nodes to look for, where ``max_nodes`` are allowed."""
        return max(min(self._most, max_nodes), 0)

    def choose(self, estimates: np.ndarray) -> int:
        """How many of the nodes found to draft.

        Args:
            estimates: of each, in the order of picking: the probability that it is accepted.
        """
        if not self.automatic:
            return len(estimates)
        tokens = np.concatenate([[0.0], np.cumsum(estimates)])
        trust = min(self._accepted / self._expected, 1.0)
        rate = max(self._tokens / self._cost, 1.0)
        costs = self._costs[:len(tokens)]
        affordable = costs - 1.0 <= self._account
        affordable[0] = True
        chosen = int(np.argmax(np.where(affordable, trust * tokens - rate * costs, -np.inf)))
        self._plan = (float(tokens[chosen]), float(costs[chosen]))
        return chosen

    def commit(self, count: int) -> None:
        """So many tokens were committed: learn how far the estimates are to be trusted, and what a forward brings."""
        expected, cost = self._plan
        self._account += count - cost + ALLOWANCE * count
        self._expected = FADE * self._expected + (1 - FADE) * PRIOR + expected
        self._accepted = FADE * self._accepted + (1 - FADE) * PRIOR + (count - 1 if expected else 0)
        self._tokens = FADE * self._tokens + (1 - FADE) * PRIOR + count
        self._cost = FADE * self._cost + (1 - FADE) * PRIOR + cost
