"""Early exit: exact, in the target's cache, and without a trace in the target."""

from __future__ import annotations

import pytest
import torch

from spec_core.acceptance import RULES
from spec_core.drafters.draft_model import DraftModelDrafter
from spec_core.drafters.early_exit import EarlyExitAssistant
from spec_core.drafters.multi_candidate import DynamicTreeDrafter, MultiCandidateDrafter
from spec_core.draws import Draws
from spec_core.processors import Processors, Sampling
from spec_core.tree import DraftTree
from tests.spec_core.test_decoder import generate, run
from tests.tiny import tiny_gemma, tiny_llama


def drafters(target, layers, sampling):
    def parts():
        return EarlyExitAssistant(target, layers), Processors(sampling, target.vocab_size)

    return [DraftModelDrafter(*parts(), Draws(3)), MultiCandidateDrafter(*parts(), Draws(3)), DynamicTreeDrafter(*parts())]


@pytest.mark.parametrize("make, layers", [(tiny_llama, 1), (tiny_llama, 2), (tiny_gemma, 2)])
def test_greedy_equals_generate(make, layers):
    sampling = Sampling()
    target = make()
    expected = generate(target, [1, 2, 3], 30)
    for drafter in drafters(target, layers, sampling):
        assert run(target, drafter, sampling, new=30)[1] == expected


def test_all_layers_are_always_right():
    target, sampling = tiny_llama(), Sampling()
    assert len(run(target, drafters(target, 2, sampling)[0], sampling, new=30)[0]) == 5


def test_sampling_is_exact_with_the_fitting_rule():
    target, sampling = tiny_llama(), Sampling(1.0)
    assert len(run(target, drafters(target, 1, sampling)[0], sampling, new=20, rule=RULES["speculative"])[1]) == 20


def test_the_target_is_left_as_it_was():
    target, untouched = tiny_llama(), tiny_llama()
    before = {name: value.clone() for name, value in target.model.state_dict().items()}
    run(target, drafters(target, 1, Sampling())[0], Sampling(), new=20)
    assert target.model.config.num_hidden_layers == 2 and len(target.model.model.layers) == 2
    assert all(torch.equal(before[name], value) for name, value in target.model.state_dict().items())
    for each in (target, untouched):
        each.reset([4, 5, 6])
    assert torch.equal(target.verify(6, DraftTree()).logits, untouched.verify(6, DraftTree()).logits)
