"""A machine whose steps take what they are told to, and a clock that shows it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Machine:
    """``cost``: of a step by its nodes, in plain steps; ``plain``, ``draft``: seconds of a plain step and of a draft."""

    cost: Callable[[int], float]
    plain: float
    draft: float
    now: float = 0.0

    def clock(self) -> float:
        """Seconds."""
        return self.now

    def step(self, costs, nodes: int) -> float:
        """One step as a budget tells it to ``costs``. Returns what that says it cost."""
        costs.begin()
        self.now += self.draft
        costs.drafted()
        self.now += self.plain * self.cost(nodes)
        return costs.committed(nodes, drafted=True)
