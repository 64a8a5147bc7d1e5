"""REST's retrieval, written from its published description: the yardstick for ours.

Every suffix length is tried in turn, from the longest; the hits of the first that occurs
are listed, up to a limit; their continuations are counted in a trie; the heaviest nodes
are the draft. Where there are more hits than the limit, the first ones stand for all, so
counts are biased. Compiled like ours, and on the same data.

Source: REST (He et al., NAACL 2024), §3.2–3.3; the limit is that of the published program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from spec_core.datastore.index import token_at
from spec_core.datastore.store import Store

MOST_HITS = 5000


def published_weights(store: Store, context: Sequence[int], max_suffix: int, min_suffix: int, continuation: int,
                      budget: int) -> np.ndarray:
    """The weights of the selected nodes, falling: int64 (at most ``budget``,)."""
    query = np.array(context[-max_suffix:], dtype=np.int64)
    return _retrieve(store.tokens, store.suffixes, store.bounds, query, min_suffix, continuation,
                     store.manifest.vocabulary, budget)


@njit(cache=True, nogil=True)
def _retrieve(tokens, suffixes, bounds, query, min_suffix, continuation, vocabulary, budget):
    shards = len(bounds) - 1
    rows = np.empty(MOST_HITS, np.int64)
    ends = np.empty(MOST_HITS, np.int64)
    starts = np.empty(MOST_HITS, np.int64)
    hits = 0
    length = len(query)
    while length >= min_suffix and hits == 0:
        first = len(query) - length
        for s in range(shards):
            low = _bound(tokens, suffixes, bounds[s], bounds[s + 1], query, first, False)
            high = _bound(tokens, suffixes, bounds[s], bounds[s + 1], query, first, True)
            for row in range(low, high):
                if hits < MOST_HITS:
                    rows[hits], starts[hits], ends[hits] = row, bounds[s], bounds[s + 1]
                    hits += 1
        length -= 1
    length += 1

    most = hits * continuation + 1
    token, weight = np.empty(most, np.int64), np.zeros(most, np.int64)
    child, sibling = np.full(most, -1, np.int64), np.full(most, -1, np.int64)
    count = 1  # node 0 is the root
    for hit in range(hits):
        node = 0
        for depth in range(continuation):
            following = token_at(tokens, suffixes, starts[hit], ends[hit], rows[hit], length + depth)
            if following < 0 or following >= vocabulary:  # the document ends
                break
            found = child[node]
            while found >= 0 and token[found] != following:
                found = sibling[found]
            if found < 0:
                found = count
                token[found], sibling[found] = following, child[node]
                child[node] = found
                count += 1
            weight[found] += 1
            node = found
    order = np.argsort(-weight[1:count], kind="mergesort")[:budget]
    return weight[1:count][order]


@njit(cache=True, nogil=True)
def _bound(tokens, suffixes, begin, end, query, first, behind):
    """The first row whose suffix is not before ``query[first:]``, or, ``behind``, after all that begin with it."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        order = 0
        for k in range(first, len(query)):
            here = token_at(tokens, suffixes, begin, end, middle, k - first)
            if here != query[k]:
                order = -1 if here < query[k] else 1
                break
        if order < 0 or (behind and order == 0):
            low = middle + 1
        else:
            high = middle
    return low
