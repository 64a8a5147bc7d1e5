"""Draws: the inverse of the distribution function, at its edges too."""

from __future__ import annotations

import numpy as np
import pytest

from spec_core.draws import Draws


class Fixed(Draws):
    def __init__(self, u: float) -> None:
        self._u = u

    def uniform(self) -> float:
        return self._u


@pytest.mark.parametrize("u, index", [(0.0, 1), (0.2499, 1), (0.25, 3), (0.9999999, 3), (1 - 2**-53, 3)])
def test_choose_inverts_the_distribution_function(u, index):
    assert Fixed(u).choose(np.array([0.0, 0.25, 0.0, 0.75, 0.0])) == index


def test_a_token_of_probability_zero_is_never_drawn():
    p = np.array([0.0, 1.0, 0.0])
    draws = Draws(0)
    assert {draws.choose(p) for _ in range(200)} == {1}


def test_the_same_seed_draws_the_same():
    p = np.full(10, 0.1)
    assert [Draws(7).choose(p) for _ in range(3)] == [Draws(7).choose(p) for _ in range(3)]
