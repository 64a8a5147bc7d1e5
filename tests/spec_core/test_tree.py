"""The draft tree: order, mask, positions and paths, against plain restatements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec_core.tree import ROOT, DraftTree, mask_sha256

paths = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=5), max_size=12)


@given(paths)
def test_from_paths_holds_every_prefix_once(paths):
    tree = DraftTree.from_paths(paths)
    held = [tuple(tree.tokens[i] for i in tree.path(node)) for node in range(len(tree))]
    assert sorted(held) == sorted({tuple(p[:d]) for p in paths for d in range(1, len(p) + 1)})
    assert list(tree.depths) == sorted(tree.depths)


@given(paths)
def test_mask_is_self_and_ancestors(paths):
    tree = DraftTree.from_paths(paths)
    expected = np.zeros((len(tree) + 1, len(tree) + 1), dtype=bool)
    expected[0, 0] = True
    for node in range(len(tree)):
        expected[node + 1, 0] = True
        up = node
        while up != ROOT:
            expected[node + 1, up + 1] = True
            up = tree.parents[up]
    assert (tree.mask == expected).all()
    assert tree.mask_sha256 == mask_sha256(expected)


@given(paths, st.integers(0, 100))
def test_positions_are_root_plus_depth(paths, root):
    tree = DraftTree.from_paths(paths)
    assert tree.positions(root).tolist() == [root, *(root + len(tree.path(i)) for i in range(len(tree)))]


@given(paths, st.integers(0, 8), st.integers(0, 5))
def test_pruned_is_a_prefix_within_the_limits(paths, nodes, depth):
    tree = DraftTree.from_paths(paths)
    cut = tree.pruned(nodes, depth)
    assert len(cut) <= nodes and all(d <= depth for d in cut.depths)
    assert cut.tokens == tree.tokens[:len(cut)]
    if len(cut) < min(nodes, len(tree)):
        assert tree.depths[len(cut)] > depth


def test_chain():
    chain = DraftTree.chain([7, 8, 9], [0.5, 0.25, 0.125])
    assert chain.parents == (-1, 0, 1) and chain.depths == (1, 2, 3)
    assert np.array_equal(chain.mask, np.tril(np.ones((4, 4), dtype=bool)))


@pytest.mark.parametrize("tokens, parents, message", [
    ([1, 2], [-1], "2 tokens has 1 parents"),
    ([1], [0], "before its child"),
    ([1], [-2], "before its child"),
    ([1, 2, 3], [-1, 0, -1], "breadth-first"),
])
def test_a_malformed_tree_is_refused(tokens, parents, message):
    with pytest.raises(ValueError, match=message):
        DraftTree(tokens, parents)
