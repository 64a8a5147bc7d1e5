"""Chance, as the acceptance rules see it: two primitives, so that tests can enumerate every outcome."""

from __future__ import annotations

import numpy as np


class Draws:
    """Seeded draws. One token drawn uses exactly one uniform number.

    Args:
        seed: of the run.
        stream: streams of one seed are independent: what drafts and what judges must not share numbers.
    """

    def __init__(self, seed: int, stream: int = 0) -> None:
        sequence = np.random.SeedSequence(seed, spawn_key=(stream,) if stream else ())
        self._generator = np.random.Generator(np.random.PCG64(sequence))

    def uniform(self) -> float:
        """A number in [0, 1)."""
        return float(self._generator.random())

    def accept(self, probability: float) -> tuple[bool, float]:
        """Whether a uniform number falls below ``probability``; and that number, for the views."""
        u = self.uniform()
        return u < probability, u

    def choose(self, p: np.ndarray) -> int:
        """An index drawn from p (float64, non-negative, not all zero), by inverting its distribution function."""
        u = self.uniform()
        likeliest = int(p.argmax())
        if p[likeliest] == 1.0:  # greedy: nothing to search
            return likeliest
        cumulative = np.cumsum(p)
        index = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
        return min(index, int(np.flatnonzero(p)[-1])) if index >= len(p) else index
