"""Matches and tries are counted equal to a brute-force reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.published import published_weights
from spec_core.datastore.index import longest_match
from spec_core.datastore.trie import heaviest_nodes

from datastore_reference import breadth_first, brute_match, brute_trie, memory_store


def paths(trie):
    result = []
    for token, parent in zip(trie.tokens, trie.parents, strict=True):
        result.append((*(result[parent] if parent >= 0 else ()), token))
    return result


def check(shards, vocabulary, kind, context, max_suffix, min_suffix, continuation, budget, others):
    store = memory_store(shards, vocabulary, kind)
    documents = [document for shard in shards for document in shard]
    length, continuations = brute_match(documents, context, max_suffix, min_suffix)
    match = longest_match(store, context, max_suffix, min_suffix)
    assert (match.length, match.hits) == (length, len(continuations))
    for tried, hits in match.attempts:
        assert hits == len(brute_match(documents, context, tried, tried)[1])
    trie = heaviest_nodes(store, match, continuation, budget, others)
    expected = brute_trie(continuations, continuation, budget + others)
    selected, rest = breadth_first(expected[:budget]), expected[budget:]
    assert list(zip(paths(trie), trie.weights, strict=True)) == selected + rest
    assert trie.selected == len(selected)
    for path, position in zip(paths(trie), trie.positions, strict=True):
        passage = [*context[len(context) - length:], *path]
        assert store.tokens[position:position + len(passage)].tolist() == passage
    assert len(trie.tree()) == len(selected)


@st.composite
def cases(draw):
    vocabulary = draw(st.sampled_from([1, 2, 3, 6, 40]))
    ids = st.integers(0, vocabulary - 1)
    document = st.lists(ids, min_size=1, max_size=40)
    shards = draw(st.lists(st.lists(document, min_size=1, max_size=5), min_size=1, max_size=4))
    some = shards[0][0]
    context = draw(st.lists(ids, max_size=6)) + draw(st.sampled_from([[], some[:3], some[1:6]]))
    min_suffix = draw(st.integers(1, 3))
    return (shards, vocabulary, draw(st.sampled_from([np.uint16, np.uint32])), context,
            draw(st.integers(min_suffix, 16)), min_suffix, draw(st.integers(1, 12)),
            draw(st.integers(0, 20)), draw(st.integers(0, 20)))


@settings(max_examples=400, deadline=None)
@given(cases())
def test_equals_brute_force(case):
    check(*case)


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
@pytest.mark.parametrize("shard_count", [1, 3])
@pytest.mark.parametrize("skew", [1.1, 2.0])
def test_equals_brute_force_with_many_hits(kind, shard_count, skew):
    """Thousands of hits with hundreds of children: the falling threshold has work to do."""
    rng = np.random.default_rng(7)
    vocabulary = 500
    shards = [[np.minimum(rng.zipf(skew, 60), vocabulary - 1).tolist() for _ in range(150)] for _ in range(shard_count)]
    for continuation, budget, others in [(10, 64, 64), (3, 200, 0), (1, 8, 30), (10, 1, 0)]:
        check(shards, vocabulary, kind, [1], 4, 1, continuation, budget, others)


def test_ids_beyond_the_vocabulary_match_nothing():
    store = memory_store([[[1, 2, 3], [1, 2, 4]]], 5)
    assert longest_match(store, [65535, 1, 2], 16, 1).length == 2
    assert longest_match(store, [1, 2, 65535], 16, 1).length == 0
    assert longest_match(store, [1, 2, -1], 16, 1).length == 0
    assert longest_match(store, [1, 2, 5], 16, 1).attempts == ()
    assert longest_match(store, [], 16, 1).length == 0


def test_nothing_crosses_a_document():
    store = memory_store([[[1, 2], [3, 4]]], 5)
    assert longest_match(store, [2, 3], 16, 2).length == 0
    match = longest_match(store, [1, 2], 16, 2)
    assert match.hits == 1
    assert heaviest_nodes(store, match, 10, 64).tokens == []


def test_a_corrupt_store_never_leads_out_of_the_arrays():
    """Garbage in every byte: the answers mean nothing, but there are answers."""
    rng = np.random.default_rng(3)
    for seed in range(200):
        store = memory_store([[[1, 2, 3, 1, 2, 4]] * 5, [[1, 2, 1, 2]] * 3], 5)
        store.suffixes = rng.integers(0, [2**32, len(store.tokens)][seed % 2], len(store.tokens), dtype=np.uint32)
        store.tokens = rng.integers(0, 6, len(store.tokens), dtype=np.uint16)
        store.suffixes.flags.writeable = store.tokens.flags.writeable = False
        match = longest_match(store, [1, 2], 16, 1)
        trie = heaviest_nodes(store, match, 10, 16, 16)
        assert all(0 <= token < 5 for token in trie.tokens)
        trie.tree()


@settings(max_examples=60, deadline=None)
@given(cases())
def test_the_published_algorithm_is_a_fair_yardstick(case):
    """With fewer hits than its limit, the restatement in ``benchmarks`` finds the very weights that ours does."""
    shards, vocabulary, kind, context, max_suffix, min_suffix, continuation, budget, _ = case
    store = memory_store(shards, vocabulary, kind)
    ours = heaviest_nodes(store, longest_match(store, context, max_suffix, min_suffix), continuation, budget).weights
    theirs = published_weights(store, context, max_suffix, min_suffix, continuation, budget)
    assert theirs.tolist() == sorted(ours, reverse=True)
