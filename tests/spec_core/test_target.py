"""One forward over a tree equals one plain forward per path; the cache follows the accepted path."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spec_core.tree import ROOT, DraftTree
from tests.tiny import random_tree, tiny_gemma, tiny_llama

TARGETS = {"llama": tiny_llama, "gemma-sliding": tiny_gemma}


def plain_logits(target, ids):
    """Logits of the last position by one forward without a cache, with transformers' own masks."""
    target.model.set_attn_implementation("eager")
    with torch.inference_mode():
        logits = target.model(torch.tensor([ids]), use_cache=False).logits[0, -1]
    target.model.set_attn_implementation("grouped_sdpa")
    return logits


@pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
def test_a_tree_forward_equals_plain_forwards_along_its_paths(make):
    target = make()
    rng = np.random.default_rng(0)
    context = rng.integers(0, 13, 9).tolist()
    target.reset(context)
    for _ in range(6):
        tree = random_tree(rng, 13, 12)
        seen = target.verify(context[-1], tree)
        assert seen.mask_sha256 == tree.mask_sha256
        for node in range(-1, len(tree)):
            path = [tree.tokens[i] for i in tree.path(node)]
            assert torch.allclose(seen.logits[node + 1], plain_logits(target, context + path), atol=2e-4)
        node = int(rng.integers(-1, len(tree)))
        path = tree.path(node) if node != ROOT else []
        target.commit(path)
        context += [tree.tokens[i] for i in path] + [int(rng.integers(13))]


@pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("length", [1, 2, 7, 40])
def test_an_empty_tree_is_plain_decoding(make, length):
    target = make()
    context = np.random.default_rng(length).integers(0, 13, length).tolist()
    target.reset(context)
    for token in (3, 1, 4, 1, 5):
        logits = target.verify(context[-1], DraftTree()).logits[0]
        assert torch.allclose(logits, plain_logits(target, context), atol=2e-4)
        target.commit([])
        context.append(token)


@pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("length", [1, 2, 9])
def test_the_reading_answers_the_first_empty_tree_and_no_other(make, length, monkeypatch):
    """Whatever is verified first, and how often: the same logits, checksums and cache as forwards give."""
    target = make()
    context = np.random.default_rng(length).integers(0, 13, length).tolist()
    tree = DraftTree.from_paths([[1, 2], [3]])
    calls = forwards(target, monkeypatch)
    for first in (DraftTree(), tree):
        target.reset(context)
        before = len(calls)
        for verified in (first, DraftTree(), tree):
            seen = target.verify(context[-1], verified)
            assert torch.allclose(seen.logits[0], plain_logits(target, context), atol=2e-4)
            assert seen.mask_sha256 == verified.mask_sha256
        assert len(calls) - before == (2 if len(first) == 0 else 3)
    target.reset(context)
    target.verify(context[-1], DraftTree())
    target.commit([])
    after = target.verify(5, DraftTree())
    assert torch.allclose(after.logits[0], plain_logits(target, [*context, 5]), atol=2e-4)


def test_a_new_sequence_forgets_what_was_read_before():
    target = tiny_llama()
    target.reset([1, 2, 3])
    target.reset([7, 4])
    assert torch.allclose(target.verify(4, DraftTree()).logits[0], plain_logits(target, [7, 4]), atol=2e-4)


def forwards(target, monkeypatch) -> list[int]:
    """Rows of each forward from now on."""
    calls: list[int] = []
    run = target._run

    def counted(model, tokens, *rest, **settings):
        calls.append(len(tokens))
        return run(model, tokens, *rest, **settings)

    monkeypatch.setattr(target, "_run", counted)
    return calls


def test_a_long_prompt_is_read_in_chunks(monkeypatch):
    target = tiny_llama()
    context = np.random.default_rng(1).integers(0, 13, 100).tolist()
    target.reset(context)
    whole = target.verify(context[-1], DraftTree()).logits
    monkeypatch.setattr("spec_core.language_model.PREFILL_CHUNK", 7)
    target.reset(context)
    assert torch.allclose(target.verify(context[-1], DraftTree()).logits, whole, atol=1e-4)


def test_the_cache_grows_without_losing_anything(monkeypatch):
    monkeypatch.setattr("spec_core.cache.FIRST_CAPACITY", 4)
    target = tiny_llama()
    context = np.random.default_rng(2).integers(0, 13, 30).tolist()
    target.reset(context[:2])
    for i in range(1, len(context) - 1):
        target.verify(context[i], DraftTree())
        target.commit([])
    assert torch.allclose(target.verify(context[-1], DraftTree()).logits[0], plain_logits(target, context), atol=2e-4)


def test_the_mask_that_is_hashed_is_the_one_that_was_used(monkeypatch):
    """A mask tampered with on its way to the model changes the checksum."""
    import spec_core.language_model as module

    honest = module.fold_mask

    def tampered(visible, groups, dtype):
        visible = visible.clone()
        visible[1, -1] = True
        return honest(visible, groups, dtype)

    target, tree = tiny_llama(), DraftTree.from_paths([[1], [2]])
    target.reset([3, 4])
    assert target.verify(4, tree).mask_sha256 == tree.mask_sha256
    monkeypatch.setattr(module, "fold_mask", tampered)
    assert target.verify(4, tree).mask_sha256 != tree.mask_sha256
