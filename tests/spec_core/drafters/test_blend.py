"""The blended tree against brute force: what each source saw of each node, the estimates, and the order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec_core.datastore.index import longest_match
from spec_core.drafters.automaton import SuffixAutomaton
from spec_core.drafters.blend import CHILDREN, LOWER_LONGEST, SAMPLES, Source, blend
from spec_core.drafters.blended import LONGEST, breadth_first
from spec_core.drafters.evidence import (CLASSES, CONTEXT_ABSENT, STORE_ABSENT, STORE_TOP, context_class, estimate,
                                         heaviest_estimates, length_class, store_class, weights)
from spec_core.tree import DraftTree
from tests.spec_core.datastore.datastore_reference import memory_store

TABLE = np.random.default_rng(0).normal(-1, 1, CLASSES)
NO_STORE = Source.of(None)


def blended(context, store=None, table=TABLE, nodes=12, depth=5, others=0, max_suffix=16):
    automaton = SuffixAutomaton(LONGEST + 1)
    end = automaton.begin()
    automaton.extend(end, context)
    match = longest_match(store, context, max_suffix, 1) if store else None
    return blend(automaton, end, Source.of(store, max_suffix), match, np.array(context, dtype=np.int64), table, nodes, depth,
                 others)


def followers(documents, suffix):
    """What follows each occurrence, in order."""
    n = len(suffix)
    return [d[i + n] for d in documents for i in range(len(d) - n) if d[i:i + n] == suffix]


def seen(documents, text, token):
    """The longest match behind which the token was seen, how often, out of how many; and the longest match of all."""
    longest = max((n for n in range(len(text) + 1) if n == 0 or any(
        d[i:i + n] == text[len(text) - n:] for d in documents for i in range(len(d) - n + 1))), default=0)
    for n in range(longest, 0, -1):
        following = followers(documents, text[len(text) - n:])
        if token in following:
            return n, following.count(token), len(following), longest
    return 0, 0, 0, longest


def paths(found):
    result = []
    for node in found:
        result.append([*(result[node["parent"]] if node["parent"] >= 0 else []), int(node["token"])])
    return result


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4).flatmap(lambda most: st.lists(st.integers(0, most), min_size=1, max_size=40)),
       st.integers(0, 20), st.integers(0, 6))
def test_context_counts_equal_brute_force(context, nodes, depth):
    found = blended(context, nodes=nodes, depth=depth, others=5)
    for node, path in zip(found, paths(found), strict=True):
        _, count, _, longest = seen([context], [*context, *path[:-1]], path[-1])
        assert node["context_count"] == count > 0 and node["store_count"] == 0
        if len(path) == 1:  # its own end is no match
            _, _, _, longest = seen([context[:-1]], context, path[-1])
        assert node["store_class"] == STORE_ABSENT
    assert len(found[:nodes]) <= nodes and found["depth"].max(initial=0) <= depth


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12), min_size=1, max_size=3),
       st.lists(st.integers(0, 4), min_size=1, max_size=10), st.booleans())
def test_store_counts_equal_brute_force(documents, context, split):
    """Few hits, so that all rows are looked at; the match behind a node is as long as can be, or short."""
    store = memory_store([documents[:1], documents[1:]] if split and len(documents) > 1 else [documents], 5)
    found = blended(context, store, max_suffix=8)
    for node, path in zip(found, paths(found), strict=True):
        if node["store_class"] >= STORE_ABSENT:
            continue
        behind, position = int(node["behind"]), int(node["position"])
        text = [*context, *path[:-1]]
        matched = text[len(text) - behind:]
        assert store.tokens[position - behind:position + 1].tolist() == [*matched, path[-1]]
        assert node["store_count"] == followers(documents, matched).count(path[-1])
        if node["store_class"] >= STORE_TOP and node["depth"] == 1:
            _, _, _, longest = seen(documents, text[-8:], path[-1])
            assert behind in (longest, *range(1, LOWER_LONGEST + 1))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 12), st.integers(0, 12))
def test_the_order_is_by_estimate_and_a_smaller_tree_is_its_beginning(context, nodes, others):
    store = memory_store([[[0, 1, 2, 3, 0, 2, 1, 3, 3], [1, 1, 2]]], 5)
    found = blended(context, store, nodes=nodes, others=others)
    picked = found[:nodes]
    assert (np.diff(picked["path"]) <= 0).all() and (np.diff(found["path"][nodes:]) <= 0).all()
    for node in found:
        above = found[node["parent"]] if node["parent"] >= 0 else None
        assert node["path"] == pytest.approx(node["estimate"] * (1 if above is None else above["path"]))
        assert node["depth"] == (1 if above is None else above["depth"] + 1)
        assert node["estimate"] <= estimate(TABLE, node["context_class"], node["store_class"]) + 1e-12
    for parent in {-1, *found["parent"].tolist()}:  # siblings: different tokens, no more than certainty together
        siblings = found[found["parent"] == parent]
        assert len(set(siblings["token"].tolist())) == len(siblings) and siblings["estimate"].sum() < 1 + 1e-9
    fewer = blended(context, store, nodes=max(1, nodes // 2))
    assert fewer[["token", "parent"]].tolist() == picked[["token", "parent"]][:len(fewer)].tolist()
    numbered = breadth_first(found, len(picked))
    tree = DraftTree(tuple(numbered["token"][:len(picked)].tolist()), tuple(numbered["parent"][:len(picked)].tolist()))
    assert sorted(map(tuple, paths(picked))) == sorted(
        tuple(tree.tokens[i] for i in tree.path(node)) for node in range(len(tree)))


def test_many_hits_and_many_children_are_sampled():
    documents = [[1, 2, 3 + i % 40] for i in range(400)] + [[1, 2, 3]] * 400
    found = blended([9, 1, 2], memory_store([documents], 60), nodes=64)
    first = found[found["parent"] == -1]
    assert len(first) <= CHILDREN
    heavy = first[first["token"] == 3][0]
    assert abs(heavy["store_count"] - 410) <= 800 // SAMPLES + 1


def test_a_path_begins_in_one_source_and_goes_on_in_the_other():
    """The store knows 7 8 only, the context what follows 8."""
    context = [5, 8, 1, 2, 3, 4, 7]
    found = blended(context, memory_store([[[6, 7, 8]]], 10), table=weights("fusion"), nodes=8)
    assert [7, 8] not in [p[:2] for p in paths(found)]
    assert [8, 1, 2, 3, 4] in paths(found)


def test_the_calibrated_weights_say_sensible_things():
    for name in ("fusion", "context"):
        table = weights(name)
        never_seen = STORE_ABSENT + length_class(0)
        chances = [estimate(table, context_class(n, n, 3, 3, True), never_seen) for n in (1, 3, 8, 20)]
        assert chances == sorted(chances) and chances[-1] > 0.9
        assert estimate(table, context_class(8, 8, 1, 9, False), never_seen) < 0.5
    table = weights("fusion")
    both = estimate(table, context_class(4, 4, 2, 2, True), store_class(4, 4, 9, 10, 10))
    assert both > estimate(table, context_class(4, 4, 2, 2, True), STORE_ABSENT + length_class(4))
    assert both > estimate(table, CONTEXT_ABSENT + length_class(4), store_class(4, 4, 9, 10, 10))


def test_estimates_of_rest_fall_with_the_share():
    from spec_core.datastore.trie import heaviest_nodes

    store = memory_store([[[1, 2, 3, 4]] * 8 + [[1, 2, 5, 6]] * 2], 9)
    match = longest_match(store, [1, 2], 16, 1)
    trie = heaviest_nodes(store, match, 10, 8)
    chances = heaviest_estimates(trie, match.length, match.hits)
    assert len(chances) == trie.selected == 4 and (np.diff(chances) <= 0).all() and 0 < chances[-1] < chances[0] < 1
