"""Trees drafted by a small model: greedy identity, one forward a level, exact when sampled."""

from __future__ import annotations

import numpy as np
import pytest

from spec_core.acceptance import RULES
from spec_core.drafters.assistant import Assistant
from spec_core.drafters.base import Limits
from spec_core.drafters.costs import CostCurve
from spec_core.drafters.multi_candidate import DynamicTreeDrafter, MultiCandidateDrafter
from spec_core.draws import Draws
from spec_core.processors import Processors, Sampling
from tests.spec_core.test_decoder import generate, run
from tests.tiny import tiny_gemma, tiny_llama

VOCAB = 13


def static(model, sampling, **settings):
    return MultiCandidateDrafter(Assistant(model, VOCAB), Processors(sampling, VOCAB), Draws(5), **settings)


def dynamic(model, sampling, **settings):
    return DynamicTreeDrafter(Assistant(model, VOCAB), Processors(sampling, VOCAB), **settings)


DRAFTERS = {"static": static, "dynamic": dynamic}


@pytest.mark.parametrize("make", DRAFTERS.values(), ids=DRAFTERS)
@pytest.mark.parametrize("model", [tiny_llama, tiny_gemma])
@pytest.mark.parametrize("penalty", [1.0, 1.3])
@pytest.mark.parametrize("nodes", [3, 256])
def test_greedy_equals_generate(make, model, penalty, nodes):
    target, sampling = tiny_llama(), Sampling(repetition_penalty=penalty)
    expected = generate(target, [1, 2, 3], 30, **({"repetition_penalty": penalty} if penalty != 1 else {}))
    steps, output, _ = run(target, make(model(seed=5), sampling), sampling, new=30, max_nodes=nodes)
    assert output == expected and max(len(step.tree.tokens) for step in steps) <= nodes


@pytest.mark.parametrize("make, settings", [(static, {}), (dynamic, {"budget": 200})], ids=DRAFTERS)
def test_the_targets_twin_is_always_right(make, settings):
    sampling = Sampling()
    steps, _, _ = run(tiny_llama(), make(tiny_llama(), sampling, **settings), sampling, new=30)
    assert len(steps) == 5  # five levels and a bonus


@pytest.mark.parametrize("make, levels", [(static, 5), (dynamic, 5)])
def test_one_forward_a_level_and_no_token_twice(make, levels, monkeypatch):
    model, sampling = tiny_llama(seed=5), Sampling()
    calls: list[int] = []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda tokens, *a, **k: calls.append(len(tokens)) or forward(tokens, *a, **k))
    steps, _, _ = run(tiny_llama(), make(model, sampling), sampling, new=30)
    assert len(calls) <= levels * len(steps)


def test_unlikely_nodes_are_not_drafted():
    def deepest(stop_below):
        drafter = dynamic(tiny_llama(seed=5, initializer_range=0.3), Sampling(), stop_below=stop_below)
        drafter.reset([1, 2, 3])
        tree = drafter.propose(Limits(10, 256)).tree
        assert all(np.prod([tree.draft_probs[i] for i in tree.path(node)]) >= stop_below for node in range(len(tree)))
        return max((len(tree.path(node)) for node in range(len(tree))), default=0)

    depths = [deepest(stop_below) for stop_below in (0.0, 0.1, 0.3, 1.0)]
    assert depths == sorted(depths, reverse=True) and depths[0] == 5 and depths[-1] == 0


def test_the_automatic_budget_keeps_what_pays():
    def nodes(costs):
        drafter = dynamic(tiny_llama(seed=5, initializer_range=0.3), Sampling(), budget="auto", costs=costs)
        drafter.reset([1, 2])
        assert drafter.propose(Limits(10, 256)).details == {"source": "dynamic-tree", "resting": "first"}
        drafter.commit([3])
        return len(drafter.propose(Limits(10, 256)).tree)

    free, dear = nodes(CostCurve((0, 63), (1.0, 1.0))), nodes(CostCurve((0, 63), (1.0, 64.0)))
    assert dear == 0 < nodes(CostCurve((0, 63), (1.0, 3.0))) < free


def test_steps_without_a_draft_leave_the_small_model_in_step():
    """A budget that rests, drafts and rests again; the small model is the target, so that it shows when it lags."""
    target, small = tiny_llama(seed=5, initializer_range=0.3), tiny_llama(seed=5, initializer_range=0.3)
    drafter = dynamic(small, Sampling(), budget="auto", costs=CostCurve((0, 1, 63), (1.0, 2.2, 2.3)))
    steps, output, _ = run(target, drafter, Sampling(), new=60)
    assert output == generate(target, [1, 2, 3], 60)
    drafting = [bool(step.tree.tokens) for step in steps]
    assert any(drafting) and "account" in {step.details.get("resting") for step in steps}
    assert all("accepted" in step.tree.verdicts for step in steps if step.tree.tokens)


def test_siblings_are_drawn_whole_or_not_at_all():
    sampling = Sampling(1.0)
    for nodes in range(1, 14):
        drafter = static(tiny_llama(seed=5), sampling, shape=(3, 2))
        for step in run(tiny_llama(), drafter, sampling, new=8, max_nodes=nodes)[0]:
            widths = [step.tree.parents.count(parent) for parent in set(step.tree.parents)]
            assert all(width in (2, 3) for width in widths) or len(step.tree.tokens) == 0


@pytest.mark.parametrize("replacement, rules", [(False, ["multi-candidate", "one-draw"]),
                                                (True, ["multi-candidate", "k-seq", "one-draw"])])
def test_sampling_runs_under_every_fitting_rule(replacement, rules):
    sampling = Sampling(0.9, top_k=8)
    for rule in rules:
        drafter = static(tiny_llama(seed=5), sampling, shape=(3, 2), replacement=replacement)
        assert len(run(tiny_llama(), drafter, sampling, new=12, rule=RULES[rule])[1]) == 12


def test_the_dynamic_tree_keeps_the_likeliest_nodes():
    sampling = Sampling(1.0)
    step = run(tiny_llama(), dynamic(tiny_llama(seed=5), sampling, budget=7), sampling, new=12)[0][0]
    assert len(step.tree.tokens) == 7 and step.details["considered"] > 7
