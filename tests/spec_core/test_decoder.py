"""The whole loop: greedy identity with generate, the law of sampled output, and every way to end."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from spec_core.acceptance import OneDraw
from spec_core.decoder import Budget, decode
from spec_core.drafters.none import NoDrafter
from spec_core.processors import Processors, Sampling
from spec_core.trace import PROMPT, Step, totals
from spec_core.tree import DraftTree
from tests.spec_core.test_acceptance import SecondDraw
from tests.tiny import ScriptedDrafter, random_tree, tiny_gemma, tiny_llama

VOCAB = 13


def run(target, drafter, sampling=Sampling(), prompt=(1, 2, 3), new=40, rule=None, **budget):
    """All steps, the output and the reason of the end."""
    generator = decode(target, drafter, rule or OneDraw(), sampling, list(prompt), Budget(new, **budget))
    steps = []
    while True:
        try:
            steps.append(next(generator))
        except StopIteration as end:
            return steps, [token for step in steps for token in step.committed.ids], end.value


def generate(target, prompt, new, **settings):
    """transformers' own greedy generate."""
    target.model.set_attn_implementation("eager")
    ids = torch.tensor([list(prompt)])
    with torch.inference_mode():
        output = target.model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new,
                                       **settings)
    target.model.set_attn_implementation("grouped_sdpa")
    return output[0, len(prompt):].tolist()


def oracle(target, prompt, new, seed=0, **settings):
    """A drafter that knows half the truth: the true continuation among random branches."""
    truth = list(prompt) + generate(target, prompt, new + 8, **settings)
    rng = np.random.default_rng(seed)

    def tree_of(context):
        n = len(context)
        noise = random_tree(rng, VOCAB, 6)
        paths = [[noise.tokens[i] for i in noise.path(k)] for k in range(len(noise))]
        known = truth[n:n + int(rng.integers(0, 6))]
        return DraftTree.from_paths([*paths, *([known] if known and rng.random() < 0.8 else [])])

    return ScriptedDrafter(tree_of)


@pytest.mark.parametrize("make", [tiny_llama, tiny_gemma])
@pytest.mark.parametrize("penalty", [1.0, 1.4])
@pytest.mark.parametrize("length", [1, 3, 30])
def test_greedy_equals_generate(make, penalty, length):
    target = make()
    prompt = np.random.default_rng(length).integers(0, VOCAB, length).tolist()
    settings = {"repetition_penalty": penalty} if penalty != 1.0 else {}
    expected = generate(target, prompt, 40, **settings)
    sampling = Sampling(repetition_penalty=penalty)
    assert run(target, NoDrafter(), sampling, prompt)[1] == expected
    drafter = oracle(target, prompt, 40, **settings)
    steps, output, stop = run(target, drafter, sampling, prompt)
    assert output == expected and stop == "length"
    assert len(steps) < 40
    assert drafter.context == prompt + output


@pytest.mark.parametrize("length", [1, 3, 30])
@pytest.mark.parametrize("new", [1, 2, 7])
def test_plain_decoding_takes_one_forward_a_token_the_prompt_included(length, new):
    target = tiny_llama()
    calls = []
    target.model.register_forward_hook(lambda *_: calls.append(1))
    steps, output, _ = run(target, NoDrafter(), prompt=[i % VOCAB for i in range(length)], new=new)
    assert len(calls) == len(steps) == len(output) == new


@pytest.mark.parametrize("nodes", [0, 1, 5, 64])
def test_greedy_equals_generate_at_any_budget(nodes):
    target, prompt = tiny_llama(), [5, 6]
    _, output, _ = run(target, oracle(target, prompt, 40), prompt=prompt, max_nodes=nodes)
    assert output == generate(target, prompt, 40)


def test_the_end_token_inside_an_accepted_path_ends_the_run():
    plain = tiny_llama()
    truth = generate(plain, [1, 2, 3], 40)
    for end in range(1, 12):
        eos = truth[end]
        target = tiny_llama(eos=eos)
        expected = generate(target, [1, 2, 3], 40)
        drafter = ScriptedDrafter(lambda context: DraftTree.chain(truth[len(context) - 3:][:8]))
        steps, output, stop = run(target, drafter)
        assert stop == "eos" and output == expected == truth[:truth.index(eos) + 1]
        assert drafter.context == [1, 2, 3] + output


@pytest.mark.parametrize("new", range(1, 12))
def test_the_length_limit_is_never_passed(new):
    target = tiny_llama()
    truth = generate(target, [1, 2, 3], 40)
    greedy_chain = ScriptedDrafter(lambda context: DraftTree.chain(truth[len(context) - 3:][:8]))
    steps, output, stop = run(target, greedy_chain, new=new)
    assert output == truth[:new] and stop == "length"
    produced = 0
    for step in steps:
        assert len(step.tree.tokens) <= new - produced - 1
        produced += len(step.committed.ids)


def test_a_full_context_ends_the_run():
    target = tiny_llama(max_position_embeddings=20)
    truth = generate(tiny_llama(), [1, 2, 3], 40)
    drafter = ScriptedDrafter(lambda context: DraftTree.chain(truth[len(context) - 3:][:8]))
    _, output, stop = run(target, drafter)
    assert stop == "context" and output == truth[:17]


def test_the_same_seed_gives_the_same_text_with_and_without_drafts():
    target = tiny_llama()
    for seed in range(20):
        sampling = Sampling(1.0, top_k=8, seed=seed)
        rng = np.random.default_rng(seed)
        drafted = run(target, ScriptedDrafter(lambda context: random_tree(rng, VOCAB, 20)), sampling)[1]
        assert drafted == run(target, NoDrafter(), sampling)[1]


LENGTH, RUNS = 3, 1500


def sampled_law(target, sampling, prompt) -> dict[tuple[int, ...], float]:
    """The target's law over sequences of LENGTH tokens, from plain forwards."""
    law = {(): 1.0}
    for _ in range(LENGTH):
        longer = {}
        for path, probability in law.items():
            context = [*prompt, *path]
            processors = Processors(sampling, target.vocab_size)
            processors.reset(context)
            target.reset(context)
            p = processors.probabilities(target.verify(context[-1], DraftTree()).logits[0], [])
            longer |= {(*path, t): probability * float(p[t]) for t in range(target.vocab_size) if p[t] > 0}
        law = longer
    return law


def chi_square(counts: Counter, law: dict[tuple[int, ...], float]) -> float:
    """p-value of counted sequences under a law; sequences that are rarely expected count as one."""
    assert set(counts) <= set(law)
    expected = np.array(list(law.values())) * counts.total()
    observed = np.array([counts[sequence] for sequence in law], dtype=float)
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    return chisquare(observed[keep], expected[keep]).pvalue


def p_value(rule, sampling, vocab=4) -> float:
    """χ² of the whole loop's output against the target's law; drafts hold the first half of the vocabulary only."""
    target, prompt = tiny_llama(vocab=vocab, seed=3, initializer_range=0.3), [1, 2]
    law = sampled_law(target, sampling, prompt)
    rng = np.random.default_rng(0)
    drafter = ScriptedDrafter(lambda context: random_tree(rng, vocab // 2, 4))
    counts = Counter()
    for seed in range(RUNS):
        seeded = Sampling(sampling.temperature, sampling.top_k, sampling.top_p, sampling.repetition_penalty, seed)
        counts[tuple(run(target, drafter, seeded, prompt, LENGTH, rule)[1])] += 1
    return chi_square(counts, law)


def test_sampled_output_follows_the_target():
    assert p_value(OneDraw(), Sampling(1.0)) > 1e-3


def test_sampled_output_follows_the_target_with_processors():
    assert p_value(OneDraw(), Sampling(0.8, top_k=3, repetition_penalty=1.2)) > 1e-3


def test_the_same_test_rejects_a_wrong_rule():
    assert p_value(SecondDraw(), Sampling(1.0)) < 1e-6


def test_a_step_tells_the_truth_about_itself():
    target, prompt = tiny_llama(), [1, 2, 3]
    steps, output, _ = run(target, oracle(target, prompt, 40))
    length = len(prompt)
    for i, step in enumerate(steps):
        assert (step.index, step.context_length) == (i, length)
        tree = DraftTree(step.tree.tokens, step.tree.parents)
        assert step.mask_sha256 == tree.mask_sha256
        accepted = [n for n, verdict in enumerate(step.tree.verdicts) if verdict == "accepted"]
        assert [step.tree.tokens[n] for n in accepted] == step.committed.ids[:-1]
        for n, verdict in enumerate(step.tree.verdicts):
            reached = tree.parents[n] == -1 or step.tree.verdicts[tree.parents[n]] == "accepted"
            assert (verdict != "unreached") == reached == (step.tree.target_probs[n] is not None)
        last = accepted[-1] if accepted else -1
        assert step.committed.kinds == ["accepted"] * len(accepted) + ["recovered" if tree.children(last) else "bonus"]
        assert step.committed.pieces == target.pieces.of(step.committed.ids)
        assert set(step.ms) == {"draft", "verify", "accept", "overhead"} | ({"prompt"} if step.index == 0 else set())
        length += len(step.committed.ids)
    assert length == len(prompt) + len(output)


def test_closing_between_steps_is_the_way_to_stop():
    target = tiny_llama()
    generator = decode(target, NoDrafter(), OneDraw(), Sampling(), [1], Budget(10))
    next(generator)
    generator.close()
    assert run(target, NoDrafter(), prompt=[1], new=10)[1] == generate(target, [1], 10)


def test_reading_the_prompt_is_timed_with_the_first_step_and_counts_in_the_whole():
    """A first step without drafts is answered by that reading: leaving it out would give plain decoding a token for nothing."""
    steps, _, _ = run(tiny_llama(), NoDrafter(), Sampling(), new=5)
    assert [PROMPT in step.ms for step in steps] == [True, False, False, False, False]
    assert steps[0].ms[PROMPT] > 0
    assert steps[0].total_ms == pytest.approx(sum(steps[0].ms.values()))
    assert totals(steps)["tokens_per_second"] == pytest.approx(5 / sum(step.total_ms for step in steps) * 1000)
    again = [Step.from_json(step.to_json(), step.index) for step in steps]
    assert [step.ms for step in again] == [pytest.approx(step.ms) for step in steps]
