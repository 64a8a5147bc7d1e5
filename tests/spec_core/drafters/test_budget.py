"""The automatic budget: nothing that does not pay, everything that is free; and the measured curve."""

import numpy as np
import pytest

from spec_core.drafters.budget import ADVANCE, ALLOWANCE, MOST, CostCurve, NodeBudget, cost_curve
from spec_core.tree import DraftTree
from tests.tiny import tiny_gemma, tiny_llama

DEAR = CostCurve((0, 1, 64), (1.0, 2.0, 65.0))  # a node costs a forward
FREE = CostCurve((0, 64), (1.0, 1.0))
LINEAR = CostCurve((0, 64), (1.0, 7.4))  # a tenth


def test_the_curve_is_straight_between_measurements_and_goes_on():
    curve = CostCurve((0, 1, 3), (1.0, 1.5, 2.5))
    assert curve.upto(5).tolist() == pytest.approx([1, 1.5, 2, 2.5, 3, 3.5])
    assert curve.upto(0).tolist() == [1]


def test_a_number_takes_what_there_is():
    budget = NodeBudget(8, DEAR)
    assert budget.most(256) == 8 and budget.most(3) == 3 and budget.most(-1) == 0
    assert budget.choose(np.full(8, 0.01)) == 8


def successful(curve):
    """A budget of a run in which drafts brought something, so that it can afford more."""
    budget = NodeBudget("auto", curve)
    budget.choose(np.zeros(0))
    budget.commit(5)
    return budget


def test_automatic_takes_what_pays():
    estimates = np.array([0.9, 0.5, 0.25, 0.05, 0.01])
    assert successful(FREE).choose(estimates) == 5
    assert successful(DEAR).choose(estimates) == 0
    assert successful(LINEAR).choose(estimates) == 3
    assert successful(LINEAR).choose(np.zeros(0)) == 0
    assert NodeBudget("auto").most(256) == MOST


@pytest.mark.parametrize("curve", [LINEAR, DEAR, FREE, CostCurve((0, 1, 64), (1.0, 1.15, 4.0))])
def test_a_run_never_loses_more_than_the_allowance(curve):
    """The estimates promise everything, and nothing is accepted; or only now and then."""
    rng = np.random.default_rng(0)
    for luck in (0.0, 0.1, 0.5):
        budget, cost, tokens = NodeBudget("auto", curve), 0.0, 0
        for _ in range(128):
            chosen = budget.choose(np.full(64, 0.99))
            committed = 2 if chosen and rng.random() < luck else 1
            budget.commit(committed)
            cost += curve.upto(64)[chosen]
            tokens += committed
            assert cost <= tokens * (1 + ALLOWANCE) + ADVANCE + 1e-9


def test_estimates_that_prove_wrong_are_trusted_less_and_forgiven_later():
    budget = NodeBudget("auto", LINEAR)
    estimates = np.array([0.5, 0.3])
    chosen = []
    for _ in range(40):
        chosen.append(budget.choose(estimates))
        budget.commit(1)
    assert chosen[0] == 2 and chosen[-1] < 2
    for _ in range(200):
        budget.choose(np.zeros(0))
        budget.commit(1)
    assert budget.choose(estimates) == 2
    budget.commit(1)
    budget.reset()
    assert budget.choose(estimates) == 2


def test_what_a_forward_brings_elsewhere_is_the_price():
    """With a rate above one, a node must bring more than its cost in plain forwards."""
    budget = NodeBudget("auto", LINEAR)
    for _ in range(60):
        budget.choose(np.array([0.99, 0.98, 0.97]))
        budget.commit(4)
    assert budget.choose(np.array([0.9, 0.5, 0.2])) == 2


@pytest.mark.parametrize("model", [tiny_llama, tiny_gemma, lambda: tiny_llama(max_position_embeddings=20)])
def test_a_target_is_measured_once_and_left_clean(model):
    target = model()
    curve = cost_curve(target)
    assert curve is cost_curve(target)
    assert curve.nodes[0] == 0 and curve.costs[0] == 1.0 and list(curve.costs) == sorted(curve.costs)
    assert max(curve.nodes) <= target.context_limit
    target.reset([1, 2, 3])
    fresh = model()
    fresh.reset([1, 2, 3])
    assert np.array_equal(target.verify(3, DraftTree()).logits, fresh.verify(3, DraftTree()).logits)
