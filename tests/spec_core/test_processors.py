"""Logits processors equal those of transformers' generate, on every node's own path."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import (LogitsProcessorList, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper,
                          TopKLogitsWarper, TopPLogitsWarper)

from spec_core.processors import Processors, Sampling, largest

VOCAB = 50


@pytest.mark.parametrize("sampling", [
    Sampling(1.0), Sampling(0.7), Sampling(1.0, top_k=5), Sampling(1.3, top_p=0.8), Sampling(0.5, 7, 0.6, 1.3),
    Sampling(1.0, repetition_penalty=0.8), Sampling(1.0, top_k=500), Sampling(1.0, top_p=1e-6),
])
def test_probabilities_equal_those_of_transformers(sampling):
    generator = torch.Generator().manual_seed(0)
    context, path = [3, 4, 5, 5], [6, 7]
    processors = Processors(sampling, VOCAB)
    processors.reset([1, 2])
    processors.reset(context[:2])
    processors.commit(context[2:])
    reference = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty),
                                     TemperatureLogitsWarper(sampling.temperature)])
    if sampling.top_k:
        reference.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1:
        reference.append(TopPLogitsWarper(sampling.top_p))
    for _ in range(20):
        logits = torch.randn(VOCAB, generator=generator) * 3
        expected = reference(torch.tensor([context + path]), logits[None].clone())[0].softmax(-1)
        found = processors.probabilities(logits, path)
        assert torch.allclose(torch.from_numpy(found), expected.double(), atol=1e-7)
        assert found.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("top_p", [1e-6, 0.3, 0.8, 0.95, 0.9999])
def test_top_p_keeps_what_transformers_keeps_of_a_large_vocabulary(top_p):
    generator = torch.Generator().manual_seed(3)
    for spread in (0.1, 1.0, 5.0):
        logits = torch.randn(5000, generator=generator) * spread
        logits[::3] = -torch.inf  # what a trimmed drafter never says
        expected = TopPLogitsWarper(top_p)(None, logits[None].clone())[0]
        found = Processors(Sampling(1.0, top_p=top_p), 5000).probabilities(logits, [])
        assert np.array_equal(found > 0, torch.isfinite(expected).numpy())
        assert torch.allclose(torch.from_numpy(found), expected.softmax(-1).double(), atol=1e-6)


def test_greedy_is_one_hot_after_the_penalty():
    processors = Processors(Sampling(0.0, repetition_penalty=2.0), 4)
    processors.reset([0])
    assert processors.probabilities(torch.tensor([3.0, 2.0, 1.0, 0.0]), []).tolist() == [0, 1, 0, 0]
    assert processors.probabilities(torch.tensor([3.0, 2.0, 1.4, 0.0]), [1]).tolist() == [1, 0, 0, 0]


def test_logits_are_left_as_they_were():
    logits = torch.arange(8.0)
    processors = Processors(Sampling(0.5, 2, 0.5, 1.5), 8)
    processors.reset([1])
    processors.probabilities(logits, [2])
    assert torch.equal(logits, torch.arange(8.0))


def test_what_is_shown_of_a_row_at_temperature_0_is_the_models_own_distribution():
    logits = torch.randn(VOCAB, generator=torch.Generator().manual_seed(1)) * 3
    processors = Processors(Sampling(0.0), VOCAB)
    assert torch.allclose(torch.from_numpy(processors.plain(logits, [])), logits.softmax(-1), atol=1e-6)


def test_the_largest_fall_and_ties_go_to_the_smaller_index():
    assert largest(np.array([0.1, 0.3, 0.0, 0.3, 0.2]), 3) == [1, 3, 4]
    assert largest(np.array([0.0, 1.0, 0.0]), 3) == [1]
    assert largest(np.array([0.5, 0.5]), 5) == [0, 1]
