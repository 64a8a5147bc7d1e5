"""The shipped kind of drafter, with random weights: it reads on as if it had read from the start, and drafts exactly."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from spec_core import draft_models
from spec_core.acceptance import RULES
from spec_core.drafters.assistant import Assistant
from spec_core.drafters.draft_model import DraftModelDrafter
from spec_core.drafters.multi_candidate import MultiCandidateDrafter
from spec_core.drafters.nano import NanoLanguageModel, load_nano
from spec_core.drafters.nano_model import NanoConfig, NanoModel
from spec_core.drafters.nano_row import _rounded
from spec_core.draws import Draws
from spec_core.processors import Processors, Sampling
from spec_core.tree import DraftTree
from tests.spec_core.test_decoder import generate, run
from tests.tiny import tiny_llama

VOCAB = 13
SHAPE = NanoConfig(embedding=16, width=32, layers=2, heads=2, feed_forward=48)
TRIMMED = [0, 1, 2, 4, 5, 7, 8, 9, 11]


@pytest.fixture(autouse=True, params=[0, 3], ids=["layers", "compiled"])
def few(request, monkeypatch):
    """Everything with and without the compiled row."""
    monkeypatch.setattr("spec_core.drafters.nano.FEW", request.param)


def nano(seed: int = 0) -> NanoLanguageModel:
    torch.manual_seed(seed)
    model = NanoModel(SHAPE)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return NanoLanguageModel("nano", model, None, torch.randn(VOCAB, 16), 0.8, torch.tensor(TRIMMED))


def next_logits(tokens: list[int]) -> torch.Tensor:
    return nano().read(tokens)


@pytest.mark.parametrize("window", [448, 6])
def test_reading_in_pieces_is_reading_at_once(window, monkeypatch):
    monkeypatch.setattr("spec_core.drafters.nano.WINDOW", window)
    tokens = np.random.default_rng(0).integers(0, VOCAB, 40).tolist()
    model = nano()
    for start, end in ((0, 1), (1, 7), (7, 8), (8, 40)):
        logits = model.read(tokens[start:end])
        torch.testing.assert_close(logits, next_logits(tokens[:end]))


@pytest.mark.parametrize("window", [448, 6])
def test_a_tree_is_read_as_each_of_its_paths(window, monkeypatch):
    monkeypatch.setattr("spec_core.drafters.nano.WINDOW", window)
    tokens = [1, 2, 3, 1, 2, 5, 6, 1]
    tree = DraftTree.from_paths([[2, 3, 1], [2, 5, 6], [4]])
    assistant = Assistant(nano(), VOCAB)
    assistant.reset(tokens)
    torch.testing.assert_close(assistant.begin(), next_logits(tokens))
    depths = np.array(tree.depths)
    for depth in range(1, depths.max() + 1):
        level = np.flatnonzero(depths == depth).tolist()
        for node, logits in zip(level, assistant.read_nodes(tree, level), strict=True):
            path = [tree.tokens[i] for i in tree.path(node)]
            torch.testing.assert_close(logits, next_logits(tokens + path))


def test_the_cache_follows_what_was_committed():
    tokens = [1, 2, 3, 1, 2, 5]
    tree = DraftTree.from_paths([[3, 1], [6]])
    assistant = Assistant(nano(), VOCAB)
    for committed in ([3, 1, 7], [3, 9], [6, 2], [8], [3, 1]):
        assistant.reset(tokens)
        assistant.begin()
        assistant.read_nodes(tree, [0, 1])
        assistant.commit(committed)
        torch.testing.assert_close(assistant.begin(), next_logits(tokens + committed))


@pytest.mark.parametrize("window", [448, 6])
def test_the_compiled_row_computes_what_the_layers_compute(window, few, monkeypatch):
    monkeypatch.setattr("spec_core.drafters.nano.WINDOW", window)
    rng = np.random.default_rng(1)
    tokens = rng.integers(0, VOCAB, 30).tolist() + [1, 12, 1, 12, 1]  # 12 is hinted, and never emitted
    parents = [-1, -1, 0, 1, 2]
    mask = DraftTree(tuple(tokens[:5]), tuple(parents)).mask[1:, 1:]
    found = []
    for at_most in (0, len(parents)):
        monkeypatch.setattr("spec_core.drafters.nano.FEW", at_most)
        model = nano()
        model.read(tokens)
        depths = mask.sum(axis=1)
        found.append(model.forward(tokens[:5], mask, len(tokens) - 1 + depths)[0])
    assert not torch.equal(*found), "two ways to compute, so not the very same bits"
    torch.testing.assert_close(*found)


def test_rounding_moves_a_weight_by_half_a_step_at_most():
    torch.manual_seed(0)
    layer = torch.nn.Linear(40, 7, bias=False).requires_grad_(False)
    layer.weight[3] = 0.0  # a row of nothing stays one
    before = layer.weight.clone()
    rounded = _rounded(layer)
    steps = before.abs().amax(1, keepdim=True) / 127
    assert ((layer.weight - before).abs() <= steps / 2 + 1e-9).all()
    torch.testing.assert_close(torch.from_numpy(rounded.values) * torch.from_numpy(rounded.scales)[:, None], layer.weight)


def test_only_the_trimmed_vocabulary_is_drafted():
    logits = next_logits([1, 3, 3])
    assert np.flatnonzero(torch.isfinite(logits)).tolist() == TRIMMED


def drafters(sampling: Sampling):
    for kind in (DraftModelDrafter, MultiCandidateDrafter):
        yield kind(Assistant(nano(), VOCAB), Processors(sampling, VOCAB), Draws(3))


@pytest.mark.parametrize("penalty", [1.0, 1.3])
def test_greedy_equals_generate(penalty):
    target, sampling = tiny_llama(), Sampling(repetition_penalty=penalty)
    expected = generate(target, [1, 2, 3], 30, **({"repetition_penalty": penalty} if penalty != 1 else {}))
    for drafter in drafters(sampling):
        assert run(target, drafter, sampling, new=30)[1] == expected


@pytest.mark.parametrize("rule", ["speculative", "multi-candidate"])
def test_sampling_runs(rule):
    sampling = Sampling(0.9, top_k=6, top_p=0.9)
    for drafter in drafters(sampling):
        if rule == "multi-candidate" or isinstance(drafter, DraftModelDrafter):
            assert len(run(tiny_llama(), drafter, sampling, new=20, rule=RULES[rule])[1]) == 20


def test_a_folder_is_loaded_with_the_embeddings_of_its_target(tmp_path):
    target = tiny_llama()
    width = target.model.get_input_embeddings().weight.shape[1]
    shape = NanoConfig(embedding=width, width=32, layers=1, heads=2, feed_forward=48)
    model = NanoModel(shape)
    save_file(model.state_dict(), tmp_path / "nano.safetensors")
    np.save(tmp_path / "vocabulary.npy", np.array(TRIMMED, dtype=np.int32))
    (tmp_path / "nano.json").write_text(json.dumps(
        {"config": vars(shape), "scale": 1.5, "borrows": target.name, "tokenizer": ""}))
    loaded = load_nano("mine", tmp_path, target, lambda stage, fraction: None, lambda: False)
    assert loaded.name == "mine" and loaded.tokenizer is target.tokenizer and loaded.vocab_size == target.vocab_size
    assert torch.isfinite(loaded.read([1, 2])).sum() == len(TRIMMED)


def test_a_loaded_model_has_read_and_forgotten(monkeypatch):
    """So that what is compiled or loaded at a first forward is not taken for the time of a draft."""
    model, read = tiny_llama(), []
    original = model.read
    monkeypatch.setattr(model, "read", lambda tokens: read.append(len(tokens)) or original(tokens))
    monkeypatch.setattr(draft_models.models, "load_language_model", lambda *arguments: model)
    monkeypatch.setattr(draft_models, "_loaded", {})
    for _ in range(2):
        assert draft_models.load("anything", tiny_llama(), "float32") is model
    assert read == [draft_models.WARMING, 1] and model.cache.length == 0
