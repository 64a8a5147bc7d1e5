"""A draft tree from two sources, best first by estimated acceptance.

Each node of the tree has its own place in each source: the longest match of *context and
path* together, so that a path can begin in one source and go on in the other, and
shorter matches add what the longest did not see. The candidates that follow a node get an
estimate (``evidence``); a path's estimate is the product along it, which is the expected
number of tokens that the node adds to the step. The most promising candidate becomes a
node, again and again; a child is never more promising than its parent, so this is the
tree of the most expected tokens for every number of nodes.

To whoever changes the kernels of ``datastore.index``, ``datastore.trie`` or ``automaton``:
numba's cache of this file does not notice; touch it.

Sources: REST (He et al., NAACL 2024) for the store; PPM (Cleary & Witten, 1984) for the
falling back to shorter matches; Sequoia (Chen et al., 2024), §3.1, for the best tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numba import njit

from ..datastore.index import Match, _intervals, _longest, token_at
from ..datastore.store import Store
from ..datastore.trie import _run_of
from .automaton import INITIAL, Cursor, SuffixAutomaton, follow
from .evidence import CONTEXT_ABSENT, STORE_ABSENT, context_class, estimate, length_class, store_class

SAMPLES = 64
"""Rows of a store interval that are looked at, evenly spread: finds all children with as large a part of the hits."""
CHILDREN = 48
"""Most candidates behind one node."""
SEARCH_ABOVE = 0.05
"""A node with a better estimate is looked up in the store anew where its match ends."""
LOWER_ABOVE = 0.03
"""A node with a better estimate also gets candidates of shorter matches in the store, …"""
LOWER_LONGEST = 3
"""… of at most so many tokens."""
LEAST = 3e-4
"""Candidates with a smaller estimate are forgotten."""

NODE = np.dtype([("token", np.int64), ("parent", np.int64), ("depth", np.int64),
                 ("estimate", np.float64),        # given its parent
                 ("path", np.float64),            # the product of the estimates down to it
                 ("context_class", np.int64), ("store_class", np.int64),
                 ("context_count", np.int64), ("store_count", np.int64),
                 ("state", np.int64), ("length", np.int64),  # its place in the context
                 ("store_length", np.int64),                 # and in the store
                 ("position", np.int64),   # of the token itself, as seen in the store; -1: not there
                 ("behind", np.int64)])    # and how many tokens before it match
SEEN = np.dtype([("token", np.int64), ("context_class", np.int64), ("store_class", np.int64),
                 ("context_count", np.int64), ("store_count", np.int64), ("samples", np.int64),
                 ("position", np.int64), ("behind", np.int64)])


@dataclass(frozen=True)
class Source:
    """The arrays of a store as the kernels take them; of no store, empty ones."""

    tokens: np.ndarray
    suffixes: np.ndarray
    bounds: np.ndarray
    vocabulary: int
    max_suffix: int

    @classmethod
    def of(cls, store: Store | None, max_suffix: int = 16) -> Source:
        """A store, or nothing."""
        if store is None:
            return cls(np.zeros(0, np.uint16), np.zeros(0, np.uint32), np.zeros(1, np.int64), 0, max_suffix)
        return cls(store.tokens, store.suffixes, store.bounds, store.manifest.vocabulary, max_suffix)


def blend(automaton: SuffixAutomaton, end: Cursor, source: Source, match: Match | None, recent: np.ndarray,
          table: np.ndarray, max_nodes: int, max_depth: int, others: int = 0) -> np.ndarray:
    """The most promising nodes, in the order of picking.

    Args:
        automaton: of the context, of more than twice the depth that matters: a node at its last length has no counts.
        end: of the context in it.
        source: of the store.
        match: the longest in the store.
        recent: int64: the last tokens of the context.
        table: weights of the classes, see ``evidence``.
        max_nodes: most nodes.
        max_depth: longest path.
        others: how many candidates that became no nodes are listed behind them.

    Returns:
        ``NODE`` [n + others]; a parent is an index, -1: the root.
    """
    state, length = automaton.repeated(end)
    rows = np.zeros((0, 2), np.int64) if match is None else match.rows
    return _blend(automaton.states, automaton.edges, automaton.table, automaton.depth, state, length,
                  source.tokens, source.suffixes, source.bounds, source.vocabulary, rows,
                  match.length if match else 0, recent[-source.max_suffix:], source.max_suffix, table, max_nodes, max_depth, others)


@njit(cache=True, nogil=True)
def _slot(seen, size, token):
    """Where a token stands, or is now put; -1 when there is no room."""
    for k in range(size):
        if seen[k].token == token:
            return k, size
    if size == len(seen):
        return -1, size
    seen[size].token = token
    seen[size].context_class = seen[size].store_class = -1
    seen[size].context_count = seen[size].store_count = seen[size].samples = 0
    seen[size].position, seen[size].behind = -1, 0
    return size, size + 1


@njit(cache=True, nogil=True)
def _see_context(states, edges, state, longest, seen):
    """What follows the matches in the context, of every length, longest first."""
    size, length = 0, longest
    while state > INITIAL:
        total, latest = 0, 0
        edge = states[state].edges
        while edge >= 0:
            child = edges[edge].target
            total += states[child].count
            latest = max(latest, states[child].last)
            edge = edges[edge].next
        edge = states[state].edges
        while edge >= 0:
            child = edges[edge].target
            k, size = _slot(seen, size, edges[edge].token)
            if k >= 0 and seen[k].context_class < 0:
                seen[k].context_count = states[child].count
                seen[k].context_class = context_class(length, longest, states[child].count, total,
                                                      states[child].last == latest)
            edge = edges[edge].next
        state = states[state].link
        length = states[state].length
    return size


@njit(cache=True, nogil=True)
def _see_store(tokens, suffixes, bounds, vocabulary, rows, length, longest, seen, size):
    """What follows a match in the store."""
    hits = 0
    for s in range(len(rows)):
        hits += rows[s, 1] - rows[s, 0]
    samples = min(hits, SAMPLES)
    s, before = 0, 0
    for k in range(samples):
        row = (2 * k + 1) * hits // (2 * samples)
        while row - before >= rows[s, 1] - rows[s, 0]:
            before += rows[s, 1] - rows[s, 0]
            s += 1
        row += rows[s, 0] - before
        token = token_at(tokens, suffixes, bounds[s], bounds[s + 1], row, length)
        if 0 <= token < vocabulary:
            at, size = _slot(seen, size, token)
            if at >= 0:
                seen[at].samples += 1
                if seen[at].position < 0:
                    seen[at].position, seen[at].behind = bounds[s] + np.int64(suffixes[row]) + length, length
    for k in range(size):
        if seen[k].samples > 0 and seen[k].store_class < 0:
            seen[k].store_class = store_class(length, longest, seen[k].samples, samples, hits)
            seen[k].store_count = max(1, seen[k].samples * hits // samples)
        seen[k].samples = 0
    return size


@njit(cache=True, nogil=True)
def _interval(tokens, suffixes, bounds, query, length, rows):
    """The rows of the suffix of ``length`` tokens."""
    firsts = np.full(1, len(query) - length, np.int64)
    found = np.empty((1, len(rows), 2), np.int64)
    _intervals(tokens, suffixes, bounds, query, firsts, found)
    rows[:] = found[0]


@njit(cache=True, nogil=True)
def _blend(states, edges, table, depth, state, length, tokens, suffixes, bounds, vocabulary, root_rows,
           root_length, recent, max_suffix, weights, max_nodes, max_depth, others):
    shards = len(bounds) - 1
    nodes = np.empty(max_nodes * CHILDREN + CHILDREN, NODE)
    rows = np.zeros((max_nodes + 1, shards, 2), np.int64)
    slots = np.empty(len(nodes), np.int64)
    lower = np.zeros((shards, 2), np.int64)
    seen = np.empty(CHILDREN, SEEN)
    picked = np.empty(max_nodes + others, np.int64)
    attempts = np.empty((64, 2), np.int64)
    query = np.empty(max(max_suffix, LOWER_LONGEST), np.int64)
    root = np.empty(1, NODE)
    root[0].depth, root[0].path = 0, 1.0
    root[0].state, root[0].length = state, length
    root[0].store_length = root_length
    rows[max_nodes] = root_rows
    heap = [(0.0, np.int64(0), np.int64(0))]
    heap.pop()
    count, used = 0, 0
    node = np.int64(-1)
    while True:
        here = root[0] if node < 0 else nodes[node]
        own = rows[max_nodes if node < 0 else slots[node]]
        if here.depth < max_depth and count < max_nodes:
            size = _see_context(states, edges, here.state, here.length, seen)
            if here.store_length > 0:
                size = _see_store(tokens, suffixes, bounds, vocabulary, own, here.store_length, here.store_length,
                                  seen, size)
                if here.store_length > 1 and here.path > LOWER_ABOVE:
                    _last_tokens(recent, nodes, node, query)
                    for shorter in range(min(here.store_length - 1, LOWER_LONGEST), 0, -1):
                        _interval(tokens, suffixes, bounds, query, shorter, lower)
                        size = _see_store(tokens, suffixes, bounds, vocabulary, lower, shorter, here.store_length,
                                          seen, size)
            total = 0.0
            for k in range(size):
                if seen[k].context_class < 0:
                    seen[k].context_class = CONTEXT_ABSENT + length_class(here.length)
                if seen[k].store_class < 0:
                    seen[k].store_class = STORE_ABSENT + length_class(here.store_length)
                total += estimate(weights, seen[k].context_class, seen[k].store_class)
            for k in range(size):
                chance = estimate(weights, seen[k].context_class, seen[k].store_class) / max(1.0, total)
                if here.path * chance < LEAST:
                    continue
                child = nodes[used]
                child.token, child.parent, child.depth = seen[k].token, node, here.depth + 1
                child.estimate, child.path = chance, here.path * chance
                child.context_class, child.store_class = seen[k].context_class, seen[k].store_class
                child.context_count, child.store_count = seen[k].context_count, seen[k].store_count
                child.position, child.behind = seen[k].position, seen[k].behind
                heappush(heap, (-child.path, child.depth, np.int64(used)))
                used += 1
        if count == max_nodes or not heap:
            break
        node = heappop(heap)[2]
        picked[count], slots[node] = node, count
        count += 1
        here = nodes[node]
        above = root[0] if here.parent < 0 else nodes[here.parent]
        here.state, here.length = follow(states, edges, table, depth, above.state, above.length, here.token)
        here.store_length = 0
        if above.store_length > 0:
            own, old = rows[slots[node]], rows[max_nodes if here.parent < 0 else slots[here.parent]]
            hits = 0
            for s in range(shards):
                own[s, 0], own[s, 1] = _run_of(tokens, suffixes, bounds[s], bounds[s + 1], old[s, 0], old[s, 1],
                                               above.store_length, here.token)
                hits += own[s, 1] - own[s, 0]
            if hits > 0:
                here.store_length = above.store_length + 1
            elif here.path > SEARCH_ABOVE:
                _last_tokens(recent, nodes, node, query)
                here.store_length, _, _ = _longest(tokens, suffixes, bounds,
                                                   query[max(0, len(query) - above.store_length):], 1, vocabulary,
                                                   own, attempts)
    while heap and count < max_nodes + others:
        picked[count] = heappop(heap)[2]
        slots[picked[count]] = count
        count += 1
    result = np.empty(count, NODE)
    for k in range(count):
        result[k] = nodes[picked[k]]
        if result[k].parent >= 0:
            result[k].parent = slots[result[k].parent]
    return result


@njit(cache=True, nogil=True)
def _last_tokens(recent, nodes, node, query):
    """Fill ``query`` with the last tokens of the context and the path to ``node``."""
    at = len(query) - 1
    while node >= 0 and at >= 0:
        query[at] = nodes[node].token
        node = nodes[node].parent
        at -= 1
    known = len(recent) - 1
    while at >= 0:
        query[at] = recent[known] if known >= 0 else -1  # before the context: what matches nothing
        known -= 1
        at -= 1
