"""The door to the core: requests, checked before anything is loaded, and runs on the real default model."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from spec_core import lab, make_drafter
from spec_core.compare import sweep
from spec_core.drafters import KINDS
from spec_core.lab import Cancelled, Request, prepare
from spec_core.messages import LANGUAGES, UserError, catalogue
from spec_core.processors import Processors, Sampling
from spec_core.trace import Trace
from spec_core.tree import DraftTree

GOOD = Request(prompt="def add(a, b):\n", dtype="float32", max_new_tokens=24)


@pytest.mark.parametrize("change, key", [
    ({"prompt": ""}, "request.prompt_empty"),
    ({"drafter": "oracle"}, "request.unknown"),
    ({"dtype": "int4"}, "request.unknown"),
    ({"max_new_tokens": 0}, "request.range"),
    ({"max_new_tokens": 10**9}, "request.range"),
    ({"max_new_tokens": "many"}, "request.not_a_number"),
    ({"max_new_tokens": 2.5}, "request.not_whole"),
    ({"max_new_tokens": None}, "request.not_a_number"),
    *(({"temperature": value}, "request.temperature") for value in (
        -1, -0.01, 5e-324, 1e-300, 1e-38, 0.00999, "1e-9", 10.01, 1e300, 10**400, float("nan"), float("inf"))),
    ({"temperature": ""}, "request.not_a_number"),
    ({"seed": 10**400}, "request.range"),
    ({"top_k": -5}, "request.range"),
    ({"top_p": 0}, "request.range"),
    ({"top_p": 1.5}, "request.range"),
    ({"repetition_penalty": 0}, "request.range"),
    ({"seed": -1}, "request.range"),
    ({"drafter_settings": {"budget": 0}}, "request.budget"),
    ({"drafter_settings": {"budget": 100000}}, "request.budget"),
    ({"drafter_settings": {"min_suffix": 9, "max_suffix": 3}}, "request.range"),
    ({"drafter_settings": {"colour": 1}}, "request.unknown_setting"),
    ({"drafter": "none", "drafter_settings": {"budget": 3}}, "request.no_settings"),
])
def test_bad_requests_are_refused_with_one_sentence(change, key):
    with pytest.raises(UserError) as caught:
        lab.check(replace(GOOD, **change))
    assert caught.value.key == key
    assert "\n" not in str(caught.value) and caught.value.say("zh") != str(caught.value)


@pytest.mark.parametrize("temperature", [0, 0.01, "0.01", 0.8, 10])
def test_what_is_a_temperature_gives_a_distribution(temperature):
    sampling = Sampling(**lab.check(replace(GOOD, temperature=temperature))["sampling"])
    with np.errstate(all="raise", under="ignore"):
        p = Processors(sampling, 4).probabilities(torch.tensor([-300.0, 0.0, 299.0, 300.0]), [])
    assert np.isfinite(p).all() and p.sum() == pytest.approx(1)


NOTHING = ("", "  ", None)
GIVEN = [f"{name}.{setting}" for name, kind in KINDS.items() for setting in kind.settings]


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("field", ["max_new_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "seed",
                                   "drafter", "dtype", "rule", *GIVEN])
def test_what_is_empty_is_called_so(field, nothing):
    """Whatever field is left empty: no sentence shows None, or a gap."""
    name, _, setting = field.partition(".")
    change = {"drafter": name, "drafter_settings": {setting: nothing}} if setting else {field: nothing}
    with pytest.raises(UserError) as caught:
        lab.check(replace(GOOD, **change))
    assert "(empty)" in str(caught.value) and "None" not in str(caught.value) and "  " not in str(caught.value)
    assert "（空）" in caught.value.say("zh") and "None" not in caught.value.say("zh")


@pytest.mark.parametrize("drafter", [name for name, kind in KINDS.items() if not kind.settings])
def test_a_drafter_without_settings_says_so(drafter):
    with pytest.raises(UserError) as caught:
        lab.check(replace(GOOD, drafter=drafter, drafter_settings={"a": 1}))
    assert caught.value.key == "request.no_settings" and "–" not in str(caught.value)


@pytest.mark.parametrize("drafter", [name for name, kind in KINDS.items() if "layers" in kind.settings])
def test_layers_are_those_of_the_target_in_every_message(smollm2, drafter):
    """Too few, too many, and far too many: one range, said before anything is loaded, and the same by every door."""
    def doors(layers):
        asked = replace(GOOD, drafter=drafter, drafter_settings={"layers": layers})
        yield lambda: lab.check(asked)
        yield lambda: sweep(asked, "layers", [layers])
        yield lambda: make_drafter(drafter, smollm2, layers=layers)

    for layers in (0, 30, 200, 201, 10**9):
        for door in doors(layers):
            with pytest.raises(UserError, match=f"layers is {layers}; it must be between 1 and 29"):
                door()
    for door in doors(29):
        door()


def test_layers_of_a_target_that_is_elsewhere_are_not_judged():
    lab.check(replace(GOOD, target="owner/name", drafter="early-exit", drafter_settings={"layers": 150}))


SAME = [name for name, kind in KINDS.items() if kind.draft_model == "same"]


@pytest.mark.parametrize("asked, key", [("auto", "request.no_shipped_model"), ("nano", "request.other_tokenizer"),
                                        ("smollm2-135m", "request.other_tokenizer")])
@pytest.mark.parametrize("drafter", SAME)
def test_a_pair_that_does_not_fit_is_refused_before_anything_is_loaded(smollm2, tmp_path, monkeypatch, drafter, asked, key):
    """Only a model that the user chose is blamed."""
    target = save_target_with_other_tokens(tmp_path)
    monkeypatch.setattr(lab.models, "load_target", lambda *_: pytest.fail("loaded"))
    with pytest.raises(UserError) as caught:
        lab.prepare(replace(GOOD, target=target, drafter=drafter, draft_model=asked))
    assert caught.value.key == key
    for language in LANGUAGES:
        assert (asked in caught.value.say(language)) == (asked != "auto") and "nano" not in caught.value.say(language).replace(asked, "")


def save_target_with_other_tokens(folder) -> str:
    """A folder that holds a model, as far as can be told without loading it, with a tokenizer of its own."""
    vocabulary = {"a": 0, "b": 1}
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel(vocabulary, unk_token="a"))).save_pretrained(folder)
    (folder / "config.json").write_text('{"num_hidden_layers": 4}', encoding="utf-8")
    (folder / "model.safetensors").touch()
    return str(folder)


def test_settings_are_named_in_the_readers_language():
    for change, english, chinese in (({"seed": -5}, "seed is -5", "随机种子 的值为 -5"), ({"top_p": 7}, "top-p is 7", "Top-p 的值"),
                                     ({"drafter_settings": {"budget": 0}}, "budget is 0", "草稿树预算 的值"),
                                     ({"rule": "magic"}, "no rule named", "的接受规则"), ({"drafter": "x"}, "no drafter named", "的草稿器")):
        with pytest.raises(UserError) as caught:
            lab.check(lab.Request("x", **change))
        assert english in str(caught.value) and chinese in caught.value.say("zh")


def test_every_setting_has_a_name_in_every_language():
    for language in LANGUAGES:
        missing = [f"live.{name}.{setting}" for name, kind in KINDS.items() for setting in kind.settings
                   if f"live.{name}.{setting}" not in catalogue(language)]
        assert not missing


def test_importing_the_lab_does_not_load_torch():
    subprocess.run([sys.executable, "-c", "import sys, spec_core.lab; spec_core.lab.choices(); "
                                          "assert 'torch' not in sys.modules"], check=True)


def test_unknown_targets_and_datastores(smollm2):
    with pytest.raises(UserError) as caught:
        prepare(replace(GOOD, target="no-such-model"))
    assert caught.value.key == "model.unknown"
    with pytest.raises(UserError) as caught:
        prepare(replace(GOOD, datastore="no-such-store"))
    assert caught.value.key == "datastore.unknown"


def test_a_prompt_longer_than_the_context(smollm2):
    with pytest.raises(UserError) as caught:
        prepare(replace(GOOD, prompt="word " * 9000))
    assert caught.value.key == "request.prompt_too_long"


def test_cancelling_while_preparing():
    with pytest.raises(Cancelled):
        prepare(GOOD, cancelled=lambda: True)


@pytest.mark.parametrize("prompt", ["<script>alert(1)</script>", "请介绍一下中国茶文化。", "🦜🧪", "a", " ", "\n\n"])
def test_any_text_is_a_prompt(smollm2, prompt):
    generation = prepare(replace(GOOD, prompt=prompt, max_new_tokens=6))
    assert list(generation.steps())
    assert Trace.from_text(json.dumps(generation.trace.to_json())) == generation.trace


def test_a_run_and_its_trace_tell_the_same(smollm2):
    generation = prepare(GOOD)
    steps = list(generation.steps())
    trace = generation.trace
    ids = [token for step in steps for token in step.committed.ids]
    assert trace.steps == steps and trace.output_ids == ids and len(ids) == 24 and trace.stop == "length"
    assert trace.output_text == smollm2.tokenizer.decode(ids, skip_special_tokens=True)
    assert trace.run["prompt_pieces"] == smollm2.pieces.of(trace.run["prompt_ids"])
    assert trace.run["datastore"]["name"] == "python-stdlib" and trace.run["datastore"]["tokens"] > 1_000_000
    for step in steps:
        assert DraftTree(step.tree.tokens, step.tree.parents).mask_sha256 == step.mask_sha256


def test_stopping_between_steps_keeps_what_was_made(smollm2):
    generation = prepare(GOOD)
    steps = generation.steps()
    first = next(steps)
    steps.close()
    trace = generation.trace
    assert trace.stop == "stopped" and trace.steps == [first] and trace.output_text


def greedy_by_transformers(target, ids, new, penalty):
    target.model.set_attn_implementation("sdpa")
    inputs = torch.tensor([ids])
    with torch.inference_mode():
        output = target.model.generate(inputs, attention_mask=torch.ones_like(inputs), do_sample=False,
                                       max_new_tokens=new, repetition_penalty=penalty)
    target.model.set_attn_implementation("grouped_sdpa")
    return output[0, len(ids):].tolist()


@pytest.mark.parametrize("which, place, chat, budget, penalty", [
    ("humaneval", 0, False, 40, 1.0), ("humaneval", 1, False, 1, 1.0), ("humaneval", 2, False, 256, 1.2),
    ("specbench", 3, True, 40, 1.0), ("specbench", 4, True, 7, 1.3),
])
def test_greedy_rest_equals_generate_on_real_prompts(smollm2, request, which, place, chat, budget, penalty):
    prompts = request.getfixturevalue(which)
    generation = prepare(Request(prompt=prompts[place * len(prompts) // 5], chat=chat, dtype="float32",
                                 max_new_tokens=32, repetition_penalty=penalty, drafter_settings={"budget": budget}))
    list(generation.steps())
    trace = generation.trace
    assert trace.output_ids == greedy_by_transformers(smollm2, trace.run["prompt_ids"], 32, penalty)


def test_first_imports_of_two_threads_do_not_meet():
    """A tokenizer is read for the page while the first run loads its model: neither finds a half-made module."""
    subprocess.run([sys.executable, "-c", """
import threading
from spec_core import models
failed = []
def attempt(work):
    try:
        work()
    except Exception as error:
        failed.append(repr(error))
threads = [threading.Thread(target=attempt, args=(work,)) for work in (
    lambda: models.local_tokenizer(models.DEFAULT), lambda: models.load_target(models.DEFAULT),
    lambda: models.load_tokenizer(models.DEFAULT), lambda: models.local_tokenizer(models.DEFAULT))]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
"""], check=True)


@pytest.mark.parametrize("drafter, model", [("draft-model", "nano"), ("multi-candidate", "nano"), ("universal", "nano-universal")])
def test_the_shipped_draft_model_that_fits_is_chosen_unless_another_is_named(smollm2, drafter, model):
    assert make_drafter(drafter, smollm2).model.name == model
    assert prepare(Request("x", dtype="float32", drafter=drafter)).trace.run["drafter"]["model"] == model
