"""From the hits of a suffix to the heaviest part of the trie of their continuations.

The continuations of all hits form a trie; the weight of a node is the number of hits
whose continuation passes through it. All hits of a node lie side by side in the suffix
array, so its weight is the size of an interval, and no hit is ever listed.

The heaviest nodes are picked best first. The order is total: weight (falling), depth,
token id, path (each rising), so that the same query gives the same tree. A child is
never before its parent in it, hence what is picked is closed under prefixes.

A node may have thousands of children. They are not all looked at: a child of weight
≥ t covers two neighbours among every (t/2)-th row, so looking at these rows finds all
such children; t falls until enough nodes are found.

Source: REST (He et al., NAACL 2024), §3.2–3.3, there from a sample of the hits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from ..tree import DraftTree
from .index import Match, token_at
from .store import Store

FIRST_SHARE = 64
"""Children of at least this part of the hits are sought first, …"""
FALL = 8
"""… then of this part of the weight sought before."""


@dataclass(frozen=True)
class Trie:
    """The heaviest nodes of a trie: ``n`` selected ones in pseudo-sequence order, then ``m`` others.

    Args:
        tokens: ``n + m`` token ids.
        parents: ``n + m`` node indices; -1: child of the root. A selected node's parent
            is selected.
        weights: ``n + m`` exact counts.
        positions: ``n + m``: where in ``store.tokens`` one hit of the node begins with
            the matched suffix.
        selected: ``n``. The others are in falling order.
    """

    tokens: list[int]
    parents: list[int]
    weights: list[int]
    positions: list[int]
    selected: int

    def tree(self) -> DraftTree:
        """The selected nodes."""
        n = self.selected
        return DraftTree(tuple(self.tokens[:n]), tuple(self.parents[:n]), tuple(self.weights[:n]))


def heaviest_nodes(store: Store, match: Match, continuation: int, budget: int, others: int = 0) -> Trie:
    """The ``budget`` heaviest nodes of the trie of continuations, and the ``others`` next heaviest.

    Args:
        store: the store of the match.
        match: see ``index.longest_match``.
        continuation: depth of the trie. A continuation ends where its document ends.
        budget: most nodes to select.
        others: most nodes beyond these.
    """
    capacity = budget + others
    if not match.hits or continuation < 1 or capacity < 1:
        return Trie([], [], [], [], 0)
    out = np.empty((4, capacity), dtype=np.int64)
    count = _heaviest(store.tokens, store.suffixes, store.bounds, match.rows, match.length, continuation,
                      store.manifest.vocabulary, budget, out)
    tokens, parents, weights, positions = out[:, :count].tolist()
    return Trie(tokens, parents, weights, positions, min(budget, count))


@njit(cache=True, nogil=True)
def _before(a, b, token, parent, depth, weight):
    """Whether node ``a`` comes before node ``b`` in the order of picking."""
    if weight[a] != weight[b]:
        return weight[a] > weight[b]
    if depth[a] != depth[b]:
        return depth[a] < depth[b]
    if token[a] != token[b]:
        return token[a] < token[b]
    smaller = False
    while a != b:  # the difference nearest to the root decides
        if token[a] != token[b]:
            smaller = token[a] < token[b]
        a, b = parent[a], parent[b]
    return smaller


@njit(cache=True, nogil=True)
def _run_start(tokens, suffixes, begin, end, low, row, offset, token):
    """The first row of ``[low, row]`` with ``token`` at ``offset``; ``row`` has it."""
    while low < row:
        middle = (low + row) >> 1
        if token_at(tokens, suffixes, begin, end, middle, offset) < token:
            low = middle + 1
        else:
            row = middle
    return low


@njit(cache=True, nogil=True)
def _run_end(tokens, suffixes, begin, end, row, high, offset, token):
    """The first row after ``row``, at most ``high``, with another token at ``offset``; ``row`` has it."""
    step = 1
    while row + step < high and token_at(tokens, suffixes, begin, end, row + step, offset) == token:
        row += step
        step <<= 1
    low, high = row + 1, min(row + step, high)
    while low < high:
        middle = (low + high) >> 1
        if token_at(tokens, suffixes, begin, end, middle, offset) > token:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def _run_of(tokens, suffixes, begin, end, low, high, offset, token):
    """The rows of ``[low, high)`` with ``token`` at ``offset``."""
    top = high
    while low < high:
        middle = (low + high) >> 1
        if token_at(tokens, suffixes, begin, end, middle, offset) < token:
            low = middle + 1
        else:
            high = middle
    if low < top and token_at(tokens, suffixes, begin, end, low, offset) == token:
        return low, _run_end(tokens, suffixes, begin, end, low, top, offset, token)
    return low, low


@njit(cache=True, nogil=True)
def _pool_place(pool, size, node, token, parent, depth, weight):
    """Where ``node`` belongs in ``pool[:size]``, which is in the order of picking."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if _before(pool[middle], node, token, parent, depth, weight):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _add_children(tokens, suffixes, bounds, vocabulary, node, offset, floor, ceiling,
                  token, parent, depth, weight, rows, pool, size, room, free):
    """Put the children of ``node`` with floor ≤ weight < ceiling into the pool, which keeps the best ``room``.

    ``free[0]`` is the number of free slots, ``free[1:]`` are they; one is always free
    for the candidate in hand. The node in slot ``len(token) - 1`` is the root.
    Returns the pool's new size.
    """
    shards = len(bounds) - 1
    if size == room:
        floor = max(floor, weight[pool[size - 1]])
    part = (floor + shards - 1) // shards  # a child of weight floor has as much in one shard at least
    step = part >> 1
    for s in range(shards):
        begin, end = bounds[s], bounds[s + 1]
        row, high = rows[node, s, 0], rows[node, s, 1]
        low = row  # no run of rows that matters begins before it
        while row + step < high and low + part <= high:
            here = token_at(tokens, suffixes, begin, end, row, offset)
            if step > 0 and token_at(tokens, suffixes, begin, end, row + step, offset) != here:
                low = row + 1
                row += step
                continue
            first = _run_start(tokens, suffixes, begin, end, low, row, offset, here)
            row = low = _run_end(tokens, suffixes, begin, end, row, high, offset, here)
            if row - first < part or here < 0 or here >= vocabulary:  # the separator is beyond the vocabulary
                continue
            slot = free[free[0]]
            total = 0
            seen = False
            for other in range(shards):
                if other == s:
                    rows[slot, s, 0], rows[slot, s, 1] = first, row
                else:
                    rows[slot, other, 0], rows[slot, other, 1] = _run_of(
                        tokens, suffixes, bounds[other], bounds[other + 1],
                        rows[node, other, 0], rows[node, other, 1], offset, here)
                count = rows[slot, other, 1] - rows[slot, other, 0]
                seen |= other < s and count >= part
                total += count
            if seen or total < floor or total >= ceiling or (size == room and total < weight[pool[size - 1]]):
                continue
            token[slot], parent[slot], depth[slot], weight[slot] = here, node, depth[node] + 1, total
            place = _pool_place(pool, size, slot, token, parent, depth, weight)
            if place == room:
                continue
            free[0] -= 1
            if size == room:
                size -= 1
                free[0] += 1
                free[free[0]] = pool[size]
            for k in range(size, place, -1):
                pool[k] = pool[k - 1]
            pool[place] = slot
            size += 1
    return size


@njit(cache=True, nogil=True)
def _heaviest(tokens, suffixes, bounds, root_rows, length, continuation, vocabulary, budget, out):
    """Pick the ``out.shape[1]`` heaviest nodes; fills ``out`` as ``Trie`` says, and returns how many there are."""
    capacity = out.shape[1]
    root = capacity + 1
    token = np.empty(capacity + 2, np.int64)
    parent = np.empty(capacity + 2, np.int64)
    depth = np.zeros(capacity + 2, np.int64)
    weight = np.zeros(capacity + 2, np.int64)
    rows = np.empty((capacity + 2, len(bounds) - 1, 2), np.int64)
    picked = np.empty(capacity, np.int64)
    pool = np.empty(capacity, np.int64)
    free = np.arange(capacity + 2)  # slots 0 … capacity, as free[1:] less 1
    free[1:] -= 1
    free[0] = capacity + 1
    rows[root] = root_rows
    token[root] = -1
    for s in range(len(bounds) - 1):
        weight[root] += root_rows[s, 1] - root_rows[s, 0]
    ceiling = weight[root] + 1
    floor = max(1, weight[root] // FIRST_SHARE)
    count, size = 0, 0
    while True:
        for k in range(-1, count):
            node = root if k < 0 else picked[k]
            if depth[node] < continuation:
                size = _add_children(tokens, suffixes, bounds, vocabulary, node, length + depth[node], floor, ceiling,
                                     token, parent, depth, weight, rows, pool, size, capacity - count, free)
        while size and count < capacity:
            node = pool[0]
            size -= 1
            for k in range(size):
                pool[k] = pool[k + 1]
            picked[count] = node
            count += 1
            if depth[node] < continuation and count < capacity:
                size = _add_children(tokens, suffixes, bounds, vocabulary, node, length + depth[node], floor,
                                     weight[root] + 1, token, parent, depth, weight, rows, pool, size,
                                     capacity - count, free)
        if count == capacity or floor == 1:
            break
        ceiling = floor
        floor = max(1, floor // FALL)
    _write(bounds, suffixes, root, token, parent, depth, weight, rows, picked, count, budget, out)
    return count


@njit(cache=True, nogil=True)
def _write(bounds, suffixes, root, token, parent, depth, weight, rows, picked, count, budget, out):
    """Number the first ``budget`` picked nodes breadth first, the others as picked."""
    selected = min(budget, count)
    index = np.full(len(token), -1, np.int64)
    order = np.empty(count, np.int64)
    numbered, level = 0, 0
    above = np.array([root])
    while numbered < selected:
        first = numbered
        level += 1
        for p in range(len(above)):
            for k in range(selected):  # picked order is the order of siblings
                if parent[picked[k]] == above[p]:
                    order[numbered] = picked[k]
                    numbered += 1
        above = order[first:numbered].copy()
    order[selected:] = picked[selected:count]
    for i in range(count):
        index[order[i]] = i
    for i in range(count):
        node = order[i]
        out[0, i], out[1, i], out[2, i] = token[node], index[parent[node]], weight[node]
        for s in range(len(bounds) - 1):
            if rows[node, s, 0] < rows[node, s, 1]:
                out[3, i] = bounds[s] + np.int64(suffixes[rows[node, s, 0]])
                break
