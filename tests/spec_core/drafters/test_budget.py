"""The automatic budget: nothing that does not pay, everything that is free; and never much slower than plain."""

import numpy as np
import pytest

from spec_core.drafters.budget import ADVANCE, ALLOWANCE, NodeBudget
from spec_core.drafters.costs import MOST, CostCurve, RunCosts
from tests.spec_core.drafters.machine import Machine

DEAR = CostCurve((0, 1, 64), (1.0, 2.0, 65.0))  # a node costs a forward
FREE = CostCurve((0, 64), (1.0, 1.0))
LINEAR = CostCurve((0, 64), (1.0, 7.4))  # a tenth
FLAT = CostCurve((0, 1, 3, 7, 15, 31, 63), (1.0,) * 7, seconds=0.04)
STEEP = CostCurve((0, 1, 64), (1.0, 1.15, 4.0))


def test_a_number_takes_what_there_is():
    budget = NodeBudget(8, DEAR)
    assert not budget.rests() and budget.details == {}
    assert budget.most(256) == 8 and budget.most(3) == 3 and budget.most(-1) == 0
    assert budget.choose(np.full(8, 0.01)) == 8


def step(budget, estimates, committed=None):
    """One step of a run. Returns the number of nodes chosen; of them ``committed`` − 1 are accepted, or all."""
    chosen = 0 if budget.rests() else budget.choose(np.array(estimates))
    budget.commit(chosen + 1 if committed is None else committed)
    return chosen


def begun(curve, tokens=5):
    """The budget of a run in which a draft brought something, so that it can afford more."""
    budget = NodeBudget("auto", curve)
    for count in (1, tokens):
        step(budget, [], count)
    return budget


def test_automatic_takes_what_pays():
    estimates = np.array([0.9, 0.5, 0.25, 0.05, 0.01])
    assert step(begun(FREE), estimates) == 5
    assert step(begun(DEAR), estimates) == 0
    assert step(begun(LINEAR), estimates) == 3
    assert step(begun(LINEAR), []) == 0
    assert NodeBudget("auto").most(256) == MOST


def test_the_first_token_is_free_and_so_is_never_drafted_for():
    budget = NodeBudget("auto", FREE)
    assert budget.rests() and budget.details == {"resting": "first"}
    budget.commit(1)
    assert not budget.rests() and budget.details == {}
    budget.reset()
    assert budget.rests()


def test_a_step_without_a_draft_says_why():
    budget = begun(LINEAR, 1)
    assert not budget.rests() and budget.choose(np.array([0.05])) == 0
    assert budget.details == {"resting": "none_pays"}
    budget.commit(1)
    assert not budget.rests() and budget.choose(np.zeros(0)) == 0 and budget.details == {}
    poor = begun(LINEAR, 1)
    while not poor.rests():
        poor.choose(np.full(64, 0.99))
        poor.commit(1)
    assert poor.details == {"resting": "account"}


@pytest.mark.parametrize("curve", [LINEAR, DEAR, FREE, STEEP])
@pytest.mark.parametrize("luck", [0.0, 0.1, 0.5])
def test_a_run_never_loses_more_than_the_allowance(curve, luck):
    """The estimates promise everything, and nothing is accepted; or only now and then."""
    rng, budget, cost, tokens = np.random.default_rng(0), NodeBudget("auto", curve), 0.0, 0
    for _ in range(128):
        chosen = 0 if budget.rests() else budget.choose(np.full(64, 0.99))
        committed = 2 if chosen and rng.random() < luck else 1
        budget.commit(committed)
        cost += curve.upto(64)[chosen]
        tokens += committed
        assert cost <= tokens * (1 + ALLOWANCE) + ADVANCE + 1e-9


def seconds_lost(curve, machine, luck, promised=0.99, tokens=256, clock=True, noise=0.05):
    """Plain steps lost in a run on a machine; the share, and how many steps had a draft."""
    rng = np.random.default_rng(1)
    budget = NodeBudget("auto", RunCosts(curve, machine.clock if clock else None))
    written = drafts = 0
    while written < tokens:
        first = written == 0
        rests = budget.rests()
        if not rests:
            machine.now += machine.draft
            drafts += 1
        chosen = 0 if rests else budget.choose(np.full(16, promised))
        machine.now += machine.plain * machine.cost(chosen) * (not first or chosen > 0) * rng.uniform(1 - noise, 1 + noise)
        committed = 2 if chosen and rng.random() < luck else 1
        budget.commit(committed)
        written += committed
    return (machine.now / machine.plain - (tokens - 1)) / tokens, drafts


DEARER = [(STEEP, lambda n: STEEP.upto(64)[n] + 0.3 * (n > 0), 0.02),  # a step with nodes costs more than measured
          (FLAT, lambda n: LINEAR.upto(64)[n], 0.02),  # … and every node does
          (STEEP, lambda n: STEEP.upto(64)[n], 0.3)]  # a draft takes long


@pytest.mark.parametrize(("curve", "cost", "draft"), DEARER)
@pytest.mark.parametrize("luck", [0.0, 0.05, 0.2, 0.35])
def test_a_wrong_curve_costs_no_more_than_five_percent(curve, cost, draft, luck):
    """By the clock of a machine on which drafting is dearer than was measured."""
    lost, _ = seconds_lost(curve, Machine(cost, 0.04, 0.04 * draft), luck)
    assert lost < 0.05


@pytest.mark.parametrize(("curve", "cost", "draft"), DEARER)
def test_that_is_for_the_clock(curve, cost, draft):
    """The same without looking at it: the run loses, for some share of accepted drafts."""
    assert max(seconds_lost(curve, Machine(cost, 0.04, 0.04 * draft), luck, clock=False)[0]
               for luck in (0.0, 0.05, 0.2, 0.35)) > 0.05


def test_what_cannot_be_afforded_is_not_looked_up():
    machine = Machine(lambda n: STEEP.upto(64)[n], 0.04, 0.004)
    _, drafts = seconds_lost(STEEP, machine, luck=0.0)
    assert drafts < 128


def test_a_run_that_gains_goes_on_drafting():
    """… with every node accepted; and a wrong curve does not keep it from that."""
    for curve in (FREE, STEEP, LINEAR):
        budget = NodeBudget("auto", RunCosts(curve, (machine := Machine(lambda n: STEEP.upto(64)[n], 0.04, 0.001)).clock))
        drafted = []
        for _ in range(60):
            rests = budget.rests()
            machine.now += machine.draft
            chosen = 0 if rests else budget.choose(np.full(4, 0.9))
            machine.now += machine.plain * machine.cost(chosen)
            budget.commit(chosen + 1)
            drafted.append(chosen)
        assert drafted[0] == 0 and np.mean(np.array(drafted[-40:]) > 0) > 0.9


def test_estimates_that_prove_wrong_are_trusted_less_and_forgiven_later():
    budget = begun(LINEAR)
    estimates = np.array([0.5, 0.3])
    chosen = [step(budget, estimates, 1) for _ in range(40)]
    assert chosen[0] == 2 and chosen[-1] < 2
    for _ in range(200):
        step(budget, [], 1)
    assert step(budget, estimates, 1) == 2
    budget.reset()
    step(budget, [], 1)
    assert step(budget, estimates, 1) == 2


def test_what_a_forward_brings_elsewhere_is_the_price():
    """With a rate above one, a node must bring more than its cost in plain steps."""
    budget = NodeBudget("auto", LINEAR)
    for _ in range(60):
        step(budget, [0.99, 0.98, 0.97], 4)
    assert step(budget, [0.9, 0.5, 0.2]) == 2
