"""The chain drafter: greedy identity, the law of sampled output, and a cache that never reads twice."""

from __future__ import annotations

import pytest

from spec_core.acceptance import RULES
from spec_core.drafters.assistant import Assistant
from spec_core.drafters.draft_model import DraftModelDrafter
from spec_core.draws import Draws
from spec_core.processors import Processors, Sampling
from tests.spec_core.test_decoder import generate, run
from tests.tiny import tiny_llama

VOCAB = 13


def drafter_of(model, sampling: Sampling, vocab: int = VOCAB, **settings) -> DraftModelDrafter:
    return DraftModelDrafter(Assistant(model, vocab), Processors(sampling, vocab), Draws(99), **settings)


SETTINGS = [{}, {"length": 1}, {"length": 8}, {"stop_below": 0.5}, {"schedule": "heuristic"}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("rule", ["one-draw", "speculative"])
@pytest.mark.parametrize("penalty", [1.0, 1.3])
def test_greedy_equals_generate(settings, rule, penalty):
    target, sampling = tiny_llama(), Sampling(repetition_penalty=penalty)
    expected = generate(target, [1, 2, 3], 30, **({"repetition_penalty": penalty} if penalty != 1 else {}))
    for assistant in (tiny_llama(seed=5), tiny_llama()):  # a stranger, and the target's twin
        steps, output, _ = run(target, drafter_of(assistant, sampling, **settings), sampling, new=30, rule=RULES[rule])
        assert output == expected
    if not settings:
        assert len(steps) == 5  # the twin is always right: 5 drafted tokens and a bonus a step


def test_every_token_is_read_once(monkeypatch):
    model, sampling = tiny_llama(), Sampling()
    read = []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda tokens, *rest, **more: read.extend(tokens) or forward(tokens, *rest, **more))
    steps, output, _ = run(tiny_llama(), drafter_of(model, sampling), sampling, new=30)
    assert len(read) <= 3 + len(output)


def test_a_padded_vocabulary_is_cut():
    sampling = Sampling(1.0)
    steps, output, _ = run(tiny_llama(), drafter_of(tiny_llama(vocab=20), sampling), sampling, new=10,
                           rule=RULES["speculative"])
    assert len(output) == 10 and all(token < VOCAB for step in steps for token in step.tree.tokens)


def test_the_drafter_stops_at_its_own_context():
    model, sampling = tiny_llama(max_position_embeddings=12), Sampling()
    target = tiny_llama()
    _, output, _ = run(target, drafter_of(model, sampling), sampling, new=40)
    assert output == generate(target, [1, 2, 3], 40)


def test_the_heuristic_schedule_lengthens_and_shortens():
    sampling = Sampling()
    twin = run(tiny_llama(), drafter_of(tiny_llama(), sampling, length=2, schedule="heuristic"), sampling, new=40)[0]
    assert [len(step.tree.tokens) for step in twin][:3] == [2, 4, 6]
    stranger = run(tiny_llama(), drafter_of(tiny_llama(seed=5), sampling, length=5, schedule="heuristic"), sampling)[0]
    assert min(len(step.tree.tokens) for step in stranger[:-1]) < 5


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_each_decision_shows_p_and_q_of_the_likeliest_tokens(temperature):
    sampling = Sampling(temperature)
    steps, _, _ = run(tiny_llama(), drafter_of(tiny_llama(seed=5), sampling), sampling, new=20, rule=RULES["speculative"])
    judged = [entry for step in steps for entry in step.arithmetic if "bars" in entry]
    assert judged
    for entry in judged:
        bars = {piece: (p, q) for piece, p, q in entry["bars"]}
        assert [piece for piece, *_ in entry["top"]][0] in bars
        p, q = bars[entry["piece"]]
        assert q is not None
        if temperature:
            assert (p, q) == pytest.approx((entry["p"], entry["q"]), abs=1e-5)
        heights = [max(p, q or 0) for p, q in bars.values()]
        assert heights == sorted(heights, reverse=True)
