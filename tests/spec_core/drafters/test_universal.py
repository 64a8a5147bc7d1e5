"""Drafting across tokenizers: bytes line up, nothing is read twice, output is exact, hard texts included."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from spec_core.acceptance import RULES
from spec_core.drafters.token_text import TokenText, split_unfinished
from spec_core.drafters.universal import ForeignContext, UniversalDrafter
from spec_core.draws import Draws
from spec_core.language_model import LanguageModel
from spec_core.processors import Processors, Sampling
from spec_core.target import TargetModel
from tests.spec_core.test_decoder import chi_square, generate, run, sampled_law
from tests.tiny import tiny_llama

CORPUS = ["def add(a, b):\n    return a + b\n" * 3, "the quick brown fox jumps over the lazy dog. " * 3,
          "中文茶文化。茶是一种饮料。" * 3, "naïve café 🦜🦜 emoji", "  leading   spaces\t\ttabs\r\n"]
TEXTS = [*CORPUS, "茶", "🦜", " the", "thethe the", "<|end|> in the text", "x"]


def byte_level(size: int, bos: bool = False, special: bool = False) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    specials = (["<s>"] if bos else []) + (["<|end|>"] if special else [])
    backend.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False,
                                                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if bos:
        backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>" if bos else None)


def sentencepiece_style(size: int) -> PreTrainedTokenizerFast:
    """Spaces as ▁, one put before the text; characters outside the vocabulary fall back to bytes."""
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trained.train_from_iterator(CORPUS[:2], trainers.BpeTrainer(vocab_size=size - 256, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    vocab = model["vocab"] | {f"<0x{byte:02X}>": len(model["vocab"]) + byte for byte in range(256)}
    merges = [tuple(merge) for merge in model["merges"]]
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges, byte_fallback=True))
    backend.normalizer = trained.normalizer
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def model_of(kind, tokenizer, seed: int = 0, **config):
    tiny = tiny_llama(vocab=len(tokenizer), seed=seed, max_position_embeddings=512, **config)
    return kind("tiny", tiny.model, tokenizer)


TARGET = byte_level(300)
ASSISTANTS = {"larger": byte_level(340), "bytes": byte_level(256), "same-size": byte_level(300, special=True),
              "bos": byte_level(320, bos=True), "special": byte_level(330, special=True),
              "sentencepiece": sentencepiece_style(320)}


@pytest.mark.parametrize("tokenizer", ASSISTANTS.values(), ids=ASSISTANTS)
@pytest.mark.parametrize("text", TEXTS)
def test_tokens_cover_the_text(tokenizer, text):
    view = TokenText(tokenizer)
    ids, boundaries = view.split(text.encode())
    assert boundaries[0] == 0 and boundaries[-1] == len(text.encode()) and len(boundaries) == len(ids) + 1
    assert view.join(ids).removeprefix(b" ").endswith(text.encode().removeprefix(b" "))


@given(st.text(max_size=8), st.integers(0, 12))
def test_whole_characters(text, cut):
    data = text.encode("utf-8", errors="ignore")[:cut]
    whole, begun = split_unfinished(data)
    assert whole + begun == data and len(begun) < 4
    whole.decode("utf-8")


@pytest.mark.parametrize("tokenizer", ASSISTANTS.values(), ids=ASSISTANTS)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_assistants_tokens_follow_the_text(tokenizer, data):
    """Text that comes in arbitrary pieces of bytes: the tokens always spell it, and old tokens stay."""
    text = data.draw(st.sampled_from(TEXTS)) + data.draw(st.text(max_size=6).filter(lambda t: t.isprintable()))
    raw = text.encode("utf-8", errors="ignore")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    context = ForeignContext(model_of(LanguageModel, tokenizer), TokenText(tokenizer))
    context.reset(b"")
    start = len(context.ids)
    for a, b in zip([0, *cuts], [*cuts, len(raw)]):
        before = list(context.ids)
        forgotten = context.extend(raw[a:b])
        kept = len(before) - len(forgotten)
        assert context.ids[:kept] == before[:kept] and forgotten == before[kept:]
        spelled = context.text.join(context.ids[start:])
        assert spelled.replace(b" ", b"") == raw[:b].removesuffix(context.begun).replace(b" ", b"")


def drafter(assistant, target, sampling, method="text", seed=3, **settings):
    size = target.vocab_size if method == "intersection" else assistant.vocab_size
    return UniversalDrafter(assistant, target.tokenizer, Processors(sampling, size), Draws(seed), method=method, **settings)


@pytest.mark.parametrize("tokenizer", ASSISTANTS.values(), ids=ASSISTANTS)
@pytest.mark.parametrize("method, rule", [("text", "one-draw"), ("intersection", "speculative")])
@pytest.mark.parametrize("text", ["def add(a", "茶是一", "🦜", "a"])
def test_greedy_equals_generate(tokenizer, method, rule, text):
    target, assistant, sampling = model_of(TargetModel, TARGET), model_of(LanguageModel, tokenizer, seed=4), Sampling()
    prompt = TARGET(text).input_ids
    expected = generate(target, prompt, 24)
    output = run(target, drafter(assistant, target, sampling, method), sampling, prompt, 24, RULES[rule])[1]
    assert output == expected


def test_a_prompt_that_ends_inside_a_character():
    target, assistant = model_of(TargetModel, TARGET), model_of(LanguageModel, ASSISTANTS["larger"], seed=4)
    prompt = [*TARGET("茶").input_ids, *TARGET("🦜").input_ids[:-1]]
    expected = generate(target, prompt, 16)
    for method, rule in (("text", "one-draw"), ("intersection", "speculative")):
        assert run(target, drafter(assistant, target, Sampling(), method), Sampling(), prompt, 16, RULES[rule])[1] == expected


def test_right_text_becomes_the_targets_own_tokens():
    """Whatever the assistant's tokens are, text that the target would write is accepted whole."""
    sampling = Sampling()
    text = "def add(a, b):\n    return a + b\n"
    for name, tokenizer in ASSISTANTS.items():
        target, assistant = model_of(TargetModel, TARGET), model_of(LanguageModel, tokenizer, seed=4)
        universal = drafter(assistant, target, sampling)
        prompt = TARGET(text).input_ids
        for cut in range(1, len(prompt) - 8):
            universal.reset(prompt[:cut])
            rest = b"".join(universal._target.bytes_of(t) for t in prompt[cut:])
            assert universal._hand_over(rest) == prompt[cut:], (name, cut)


def test_history_is_never_tokenised_as_a_whole(monkeypatch):
    target, assistant = model_of(TargetModel, TARGET), model_of(LanguageModel, ASSISTANTS["larger"], seed=4)
    universal = drafter(assistant, target, Sampling())
    prompt = TARGET("the quick brown fox " * 20).input_ids
    lengths: list[int] = []
    split = TokenText.split
    monkeypatch.setattr(TokenText, "split", lambda self, data: lengths.append(len(data)) or split(self, data))
    run(target, universal, Sampling(), prompt, 40)
    assert max(lengths[1:]) < 400  # the prompt once, then windows


def test_every_token_is_read_about_once(monkeypatch):
    target, assistant = model_of(TargetModel, TARGET), model_of(LanguageModel, ASSISTANTS["larger"], seed=4)
    read: list[int] = []
    forward = assistant.forward
    monkeypatch.setattr(assistant, "forward", lambda tokens, *a, **k: read.append(len(tokens)) or forward(tokens, *a, **k))
    prompt = TARGET("the quick brown fox " * 20).input_ids
    steps, output, _ = run(target, drafter(assistant, target, Sampling()), Sampling(), prompt, 40)
    drafted = sum(len(step.details["assistant"]["pieces"]) for step in steps)
    assert sum(read) <= 100 + drafted + 4 * len(steps)


def chars(*tokens: str) -> PreTrainedTokenizerFast:
    """A tokenizer of a few letters and merges."""
    vocab = {token: i for i, token in enumerate(tokens)}
    merges = [(token[0], token[1]) for token in tokens if len(token) == 2]
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE(vocab=vocab, merges=merges)))


@pytest.mark.parametrize("method, rule", [("text", "one-draw"), ("intersection", "speculative")])
def test_sampled_output_follows_the_target(method, rule):
    target = model_of(TargetModel, chars("a", "b", "c", "ab"), seed=3, initializer_range=0.3)
    assistant = model_of(LanguageModel, chars("b", "a", "c", "bc", "aa"), seed=8, initializer_range=0.3)
    law = sampled_law(target, Sampling(1.0), [0, 2])
    counts = Counter(tuple(run(target, drafter(assistant, target, Sampling(1.0), method, seed, length=3),
                               Sampling(1.0, seed=10_000 + seed), [0, 2], 3, RULES[rule])[1]) for seed in range(800))
    assert chi_square(counts, law) > 1e-3
