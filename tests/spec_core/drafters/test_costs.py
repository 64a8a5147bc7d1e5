"""What nodes cost: the measured curve, and how a run's own steps correct it."""

import numpy as np
import pytest

from spec_core.drafters.costs import MOST, OUTLIER, CostCurve, RunCosts, cost_curve
from spec_core.tree import DraftTree
from tests.spec_core.drafters.machine import Machine
from tests.tiny import tiny_gemma, tiny_llama

CURVE = CostCurve((0, 1, 7, 63), (1.0, 1.2, 1.5, 3.0))


def test_the_curve_is_straight_between_measurements_and_goes_on():
    curve = CostCurve((0, 1, 3), (1.0, 1.5, 2.5))
    assert curve.upto(5).tolist() == pytest.approx([1, 1.5, 2, 2.5, 3, 3.5])
    assert curve.upto(0).tolist() == [1]


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


def test_without_a_clock_the_curve_holds():
    costs = RunCosts(CURVE)
    for nodes in (0, 5, 63):
        assert costs.committed(nodes, drafted=True) == CURVE.upto(63)[nodes]
    assert costs.of_steps.tolist() == CURVE.upto(MOST).tolist() and costs.draft == 0.0


def timed(machine, steps):
    costs = RunCosts(CURVE, machine.clock)
    return costs, [machine.step(costs, nodes) for nodes in steps]


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.4])
def test_steps_teach_what_nodes_cost(factor):
    """A step between two measured points moves both, and no other; then steps cost what they take."""
    machine = Machine(lambda nodes: factor * CURVE.upto(63)[nodes] if nodes else 1.0, plain=0.04, draft=0.002)
    costs, charged = timed(machine, [0, *([7, 20] * 200), 0])
    for nodes in (7, 20):
        assert costs.of_steps[nodes] == pytest.approx(machine.cost(nodes), rel=0.03)
    assert costs.of_steps[:2].tolist() == [1.0, 1.2] and costs.draft == pytest.approx(0.05)
    assert charged[-3:] == pytest.approx([0.05 + machine.cost(nodes) for nodes in (7, 20, 0)])


def test_a_machine_that_slows_down_is_slower_at_every_step():
    """Plain steps slow down as those with nodes do: nodes cost what they did."""
    machine = Machine(lambda nodes: CURVE.upto(63)[nodes], plain=0.04, draft=0.0)
    costs = RunCosts(CURVE, machine.clock)
    for plain in np.linspace(0.04, 0.4, 200):
        machine.plain = plain
        for nodes in (0, 7, 20):
            machine.step(costs, nodes)
    assert costs.of_steps[[7, 20]] == pytest.approx(CURVE.upto(63)[[7, 20]], rel=0.1)


def test_one_step_that_is_held_up_says_little():
    machine = Machine(lambda nodes: CURVE.upto(63)[nodes], plain=0.04, draft=0.002)
    costs, _ = timed(machine, [0, 7, 0, 7, 0, 7])
    calm = costs.of_steps.copy()
    machine.plain = 40.0
    assert machine.step(costs, 7) <= OUTLIER * (CURVE.upto(63)[7] + 0.05)
    assert (costs.of_steps <= calm * OUTLIER ** 0.21).all()
    machine.step(costs, 0)
    machine.plain = 0.04
    assert machine.step(costs, 0) == pytest.approx(1.05)
    assert costs.draft == pytest.approx(0.05)


def test_what_is_loaded_at_the_first_draft_of_a_run_is_not_what_a_draft_costs():
    """A draft model's first forward takes many plain steps; nor does one draft that is held up silence the next ones."""
    machine = Machine(lambda nodes: CURVE.upto(63)[nodes], plain=0.04, draft=0.4)
    costs, charged = timed(machine, [0])
    assert charged == [1.0] and costs.draft == 0.0
    machine.draft = 0.002
    machine.step(costs, 7)
    machine.draft = 4.0
    assert machine.step(costs, 0) == pytest.approx(1.1) and costs.draft == pytest.approx(0.05)


def test_before_a_plain_step_nothing_is_known():
    machine = Machine(lambda nodes: 9.0 if nodes else 1.0, plain=0.04, draft=0.02)
    costs, charged = timed(machine, [7, 7, 7])
    assert charged == [1.5] * 3 and costs.of_steps.tolist() == CURVE.upto(MOST).tolist() and costs.draft == 0.0
    machine.step(costs, 0)
    assert machine.step(costs, 7) > 2.9  # at most twice what was believed, and the draft
    costs.reset()
    assert costs.draft == 0.0 and costs.of_steps[7] > 1.5


def test_until_then_a_plain_step_takes_what_it_took_before():
    machine = Machine(lambda nodes: 2.0 if nodes else 1.0, plain=0.04, draft=0.0)
    costs = RunCosts(CostCurve(CURVE.nodes, CURVE.costs, seconds=0.04), machine.clock)
    assert machine.step(costs, 7) == pytest.approx(2.0)
    machine.plain = 0.08
    assert machine.step(costs, 7) > 2.5  # what was measured is not what holds
    for nodes in (0, 7):
        last = machine.step(costs, nodes)
    assert last == pytest.approx(2.0)
    costs.reset()
    assert machine.step(costs, 7) == pytest.approx(2.0)
