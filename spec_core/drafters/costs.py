"""What nodes cost: measured once for a target, and followed while a run goes on.

The unit is a plain step: what one token costs without a draft.

Source: Leviathan et al. (2023), §3.3, has one cost of a forward; that it grows with the
rows is measured for each machine as in Sequoia (Chen et al., 2024), §3.3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, median_low
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..tree import DraftTree

if TYPE_CHECKING:
    from ..target import TargetModel

MOST = 64
"""Nodes of a draft tree at most where the number is chosen by what they cost."""
MEASURED = (1, 3, 7, 15, 31, 63)
ROUNDS = 4
CONTEXT = 128
"""Tokens in the cache while measuring."""

REMEMBERED = 5
"""Plain steps, and drafts, whose median time counts."""
PACE = 0.2
"""Share of what a step shows that is believed at once; a step is held up now and then, …"""
OUTLIER = 2.0
"""… so that none says more than so many times what was believed."""


@dataclass(frozen=True)
class CostCurve:
    """v(n): the time of a target forward over root and n nodes, in forwards over the root alone.

    Args:
        nodes: measured numbers of nodes, rising, the first 0.
        costs: of these, rising, the first 1. Between them the curve is straight, and goes on behind the last.
        seconds: of the forward over the root alone; None where nothing was measured.
    """

    nodes: Sequence[int]
    costs: Sequence[float]
    seconds: float | None = None

    def upto(self, most: int) -> np.ndarray:
        """float64 [most + 1]: v(0), …, v(most)."""
        nodes, costs = list(self.nodes), list(self.costs)
        if most > nodes[-1]:
            slope = (costs[-1] - costs[-2]) / (nodes[-1] - nodes[-2])
            nodes, costs = [*nodes, most], [*costs, costs[-1] + slope * (most - nodes[-1])]
        return np.interp(np.arange(most + 1), nodes, costs)

    @classmethod
    def measured(cls, target: TargetModel) -> CostCurve:
        """Measure a target that runs nothing now; it forgets its sequence. Takes some 75 forwards."""
        most = min(MEASURED[-1], target.context_limit - 2)
        nodes = [n for n in MEASURED if n <= most]
        plain, times = [], np.empty((ROUNDS, len(nodes)))
        target.reset([0] * min(CONTEXT, target.context_limit - most - 1))
        _seconds(target, most)  # warm up
        for once in times:  # all sizes in turn, so that what else the machine does hits them alike
            for i, n in enumerate(nodes):
                _seconds(target, 0)
                plain.append(_seconds(target, 0))  # after another one, as plain decoding has it
                once[i] = _seconds(target, n)
        target.reset([0])
        costs = np.maximum.accumulate([1.0, *np.median(times, axis=0) / median(plain)])
        return cls((0, *nodes), tuple(costs.tolist()), median(plain))


def _seconds(target: TargetModel, nodes: int) -> float:
    """Of one forward over the root and so many nodes."""
    tree = DraftTree.chain([0] * nodes)
    began = perf_counter()
    target.verify(0, tree).logits[0, 0].item()  # waits for a device that computes on its own
    return perf_counter() - began


CAUTIOUS = CostCurve((0, 1, 15, 63), (1.0, 1.3, 2.2, 4.0))
"""Where nothing was measured: the dearest that was seen on a CPU in float32."""

_curves: WeakKeyDictionary[TargetModel, CostCurve] = WeakKeyDictionary()


def cost_curve(target: TargetModel) -> CostCurve:
    """The curve of a loaded target, measured once."""
    if target not in _curves:
        _curves[target] = CostCurve.measured(target)
    return _curves[target]


class RunCosts:
    """The costs of a run: the measured ones, and where there is a clock those of the run's own steps.

    A curve is off by some 10 %: costs move with the length of the context, with the heat and with
    the neighbours of the machine. Every step is timed. One without nodes shows what a plain step
    takes now; one with nodes moves the two measured points around it.

    Args:
        curve: v, as measured.
        clock: seconds; None where no target runs (a simulation), and the curve is what holds.

    ``of_steps``, float64 [MOST + 1]: the cost of a step with so many nodes, the draft left out.
    """

    def __init__(self, curve: CostCurve, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock
        self.of_steps = curve.upto(MOST)
        self._nodes = np.array([*(n for n in curve.nodes if n < MOST), MOST])
        self._costs = self.of_steps[self._nodes]
        self._seconds = curve.seconds
        self._plain: deque[float] = deque(maxlen=REMEMBERED)
        self._drafts: deque[float] = deque(maxlen=REMEMBERED)
        self._warm = False
        self._began = self._drafted = 0.0

    def reset(self) -> None:
        """Begin a new run: its plain steps take what the last ones did until there are some; costs are remembered."""
        self._seconds = self._plain_seconds
        self._plain.clear()
        self._drafts.clear()
        self._warm = False

    @property
    def _plain_seconds(self) -> float | None:
        """What a plain step takes now."""
        return median(self._plain) if self._plain else self._seconds

    @property
    def draft(self) -> float:
        """What making a draft costs; 0 while nothing is known."""
        plain = self._plain_seconds
        return median_low(self._drafts) / plain if self._drafts and plain else 0.0

    def begin(self) -> None:
        """A step begins: the draft is made next."""
        if self._clock:
            self._began = self._clock()

    def drafted(self) -> None:
        """The draft is made: the target's forward is next."""
        if self._clock:
            self._drafted = self._clock()

    def committed(self, nodes: int, drafted: bool) -> float:
        """A step with a forward over so many nodes is over: learn from its times.

        Args:
            nodes: of its tree.
            drafted: whether a draft was made, be it empty.

        Returns:
            what the step cost, the draft included.
        """
        believed = float(self.of_steps[nodes])
        if not self._clock:
            return believed
        seconds, drafting = self._clock() - self._drafted, self._drafted - self._began
        if drafted and self._warm:
            self._drafts.append(drafting)
            drafting = min(drafting, OUTLIER * median_low(self._drafts))
        elif drafted:  # what is loaded at a run's first draft says nothing about the next one
            self._warm, drafting = True, 0.0
        if nodes == 0:
            self._plain.append(seconds)
        if not (plain := self._plain_seconds):
            return believed
        return drafting / plain + (self._learn(nodes, seconds / plain / believed) * believed if nodes else 1.0)

    def _learn(self, nodes: int, surprise: float) -> float:
        """Move the measured points around ``nodes``. Returns how many times what was believed it is."""
        surprise = min(max(surprise, 1 / OUTLIER), OUTLIER)
        at = np.interp(nodes, self._nodes, np.arange(len(self._nodes)))
        nearness = np.clip(1 - np.abs(np.arange(len(self._nodes)) - at), 0.0, 1.0)
        nearness[0] = 0.0  # a plain step is the unit
        self._costs *= surprise ** (PACE * nearness)
        self.of_steps = np.interp(np.arange(MOST + 1), self._nodes, self._costs)
        return surprise


Costs = CostCurve | RunCosts
"""What a budget counts with."""
