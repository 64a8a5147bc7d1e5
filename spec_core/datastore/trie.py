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

To whoever changes ``index.token_at``: numba's cache of this file does not notice; touch it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from ..tree import DraftTree
from .index import Match, token_at
from .store import Store

NODE = np.dtype([("token", np.int64), ("parent", np.int64), ("depth", np.int64), ("weight", np.int64)])

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
def _before(nodes, a, b):
    """Whether node ``a`` comes before node ``b`` in the order of picking."""
    if nodes[a].weight != nodes[b].weight:
        return nodes[a].weight > nodes[b].weight
    if nodes[a].depth != nodes[b].depth:
        return nodes[a].depth < nodes[b].depth
    if nodes[a].token != nodes[b].token:
        return nodes[a].token < nodes[b].token
    smaller = False
    while a != b:  # the difference nearest to the root decides
        if nodes[a].token != nodes[b].token:
            smaller = nodes[a].token < nodes[b].token
        a, b = nodes[a].parent, nodes[b].parent
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
def _place(nodes, queue, low, high, node):
    """Where ``node`` belongs in ``queue[low:high]``, which is in the order of picking."""
    while low < high:
        middle = (low + high) >> 1
        if _before(nodes, queue[middle], node):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _add_children(tokens, suffixes, bounds, vocabulary, node, offset, floor, ceiling,
                  nodes, rows, queue, picked, end, free):
    """Queue the children of ``node`` with floor ≤ weight < ceiling.

    ``queue[:picked]`` is picked and ``queue[picked:end]`` waits, in the order of
    picking; when the queue is full, its last gives way. ``free[0]`` counts the free
    slots, ``free[1:]`` lists them: one more than the queue can take, for the candidate
    in hand. Returns the new end.
    """
    shards = len(bounds) - 1
    if end == len(queue):
        floor = max(floor, nodes[queue[end - 1]].weight)
    part = (floor + shards - 1) // shards  # a child of weight floor has as much in one shard at least
    step = part >> 1
    for s in range(shards):
        first_row, last_row = bounds[s], bounds[s + 1]
        row, high = rows[node, s, 0], rows[node, s, 1]
        low = row  # no run of rows that matters begins before it
        while row + step < high and low + part <= high:
            here = token_at(tokens, suffixes, first_row, last_row, row, offset)
            if step > 0 and token_at(tokens, suffixes, first_row, last_row, row + step, offset) != here:
                low = row + 1
                row += step
                continue
            start = _run_start(tokens, suffixes, first_row, last_row, low, row, offset, here)
            row = low = _run_end(tokens, suffixes, first_row, last_row, row, high, offset, here)
            if row - start < part or here < 0 or here >= vocabulary:  # the separator is beyond the vocabulary
                continue
            slot = free[free[0]]
            total = 0
            seen = False
            for other in range(shards):
                if other == s:
                    rows[slot, s, 0], rows[slot, s, 1] = start, row
                else:
                    rows[slot, other, 0], rows[slot, other, 1] = _run_of(
                        tokens, suffixes, bounds[other], bounds[other + 1],
                        rows[node, other, 0], rows[node, other, 1], offset, here)
                count = rows[slot, other, 1] - rows[slot, other, 0]
                seen |= other < s and count >= part
                total += count
            full = end == len(queue)
            if seen or total < floor or total >= ceiling:
                continue
            nodes[slot].token = here
            nodes[slot].parent = node
            nodes[slot].depth = nodes[node].depth + 1
            nodes[slot].weight = total
            if full and not _before(nodes, slot, queue[end - 1]):
                continue
            place = _place(nodes, queue, picked, end, slot)
            if full:
                end -= 1
                free[free[0]] = queue[end]
            else:
                free[0] -= 1
            for k in range(end, place, -1):
                queue[k] = queue[k - 1]
            queue[place] = slot
            end += 1
    return end


@njit(cache=True, nogil=True)
def _heaviest(tokens, suffixes, bounds, root_rows, length, continuation, vocabulary, budget, out):
    """Pick the ``out.shape[1]`` heaviest nodes; fills ``out`` as ``Trie`` says, and returns how many there are."""
    capacity = out.shape[1]
    root = capacity + 1
    nodes = np.empty(capacity + 2, NODE)
    rows = np.empty((capacity + 2, len(bounds) - 1, 2), np.int64)
    queue = np.empty(capacity, np.int64)
    free = np.empty(capacity + 2, np.int64)
    free[0] = capacity + 1
    for slot in range(capacity + 1):
        free[slot + 1] = slot
    nodes[root].depth = 0
    hits = 0
    for s in range(len(root_rows)):
        rows[root, s, 0], rows[root, s, 1] = root_rows[s, 0], root_rows[s, 1]
        hits += root_rows[s, 1] - root_rows[s, 0]
    floor, ceiling = max(1, hits // FIRST_SHARE), hits + 1
    picked, end = 0, 0
    while True:
        known, k = picked, -1
        while k < end:
            node = root if k < 0 else queue[k]
            picked = max(known, k + 1)
            if nodes[node].depth < continuation and picked < capacity:
                end = _add_children(tokens, suffixes, bounds, vocabulary, node, length + nodes[node].depth, floor,
                                    ceiling if k < known else hits + 1, nodes, rows, queue, picked, end, free)
            k += 1
        if picked == capacity or floor == 1:
            break
        ceiling, floor = floor, max(1, floor // FALL)
    _write(bounds, suffixes, root, nodes, rows, queue[:picked], min(budget, picked), out)
    return picked


@njit(cache=True, nogil=True)
def _write(bounds, suffixes, root, nodes, rows, picked, selected, out):
    """Number the first ``selected`` picked nodes breadth first, the others as picked."""
    first_child = np.empty(len(nodes), np.int64)
    next_sibling = np.empty(len(nodes), np.int64)
    index = np.empty(len(nodes), np.int64)
    order = np.empty(len(picked), np.int64)
    first_child[root] = index[root] = -1
    for i in range(len(picked)):
        first_child[picked[i]] = -1
        order[i] = picked[i]
    for i in range(selected - 1, -1, -1):  # so that siblings stay in the order of picking
        node = picked[i]
        next_sibling[node] = first_child[nodes[node].parent]
        first_child[nodes[node].parent] = node
    numbered = 0
    for i in range(-1, selected):
        node = first_child[root if i < 0 else order[i]]
        while node >= 0:
            order[numbered] = node
            numbered += 1
            node = next_sibling[node]
    for i in range(len(order)):
        node = order[i]
        index[node] = i
        out[0, i], out[1, i], out[2, i] = nodes[node].token, index[nodes[node].parent], nodes[node].weight
        for s in range(len(bounds) - 1):
            if rows[node, s, 0] < rows[node, s, 1]:
                out[3, i] = bounds[s] + np.int64(suffixes[rows[node, s, 0]])
                break
