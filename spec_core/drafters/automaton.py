"""A suffix automaton: every substring of some sequences, with its count, built token by token.

A state stands for all substrings that end at the same places; its *link* leads to the
next shorter suffix that ends at more places. So the states on the way from the end of a
sequence along the links are all the lengths at which its suffixes match earlier text, and
a transition is a continuation. An added token costs O(1), amortised: at most two states
and three transitions a token.

Counts are exact for substrings of at most ``depth`` tokens. Each token adds one to the
states of its suffixes up to that length, at most ``depth`` of them, however long the text.

Source: Blumer et al., "The smallest automaton recognizing the subwords of a text" (1985);
for several sequences, Mohri et al., "General suffix automaton construction" (2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numba import njit

STATE = np.dtype([("length", np.int32),  # of its longest substring
                  ("link", np.int32),    # -1 for the initial state
                  ("count", np.int32),   # places where it ends
                  ("last", np.int32),    # the latest of them: how many tokens had been added
                  ("edges", np.int32)])  # its first transition, -1: none
EDGE = np.dtype([("state", np.int32), ("token", np.int32), ("target", np.int32), ("next", np.int32)])

INITIAL = 0
_TIP, _LAST = range(2)
_STATES, _EDGES, _TOKENS = range(3)
SMALLEST = 256

Cursor = np.ndarray
"""int64 [2]: where a sequence ends: the state of its longest counted suffix, and of the whole."""


class SuffixAutomaton:
    """All substrings of the sequences given so far.

    Args:
        depth: counts are exact for substrings of at most so many tokens.

    Attributes:
        states: ``STATE`` [capacity].
        edges: ``EDGE`` [capacity]; those of a state are a list, the newest first.
        table: int32 [power of two]: where to find the edge of a state and a token.
    """

    def __init__(self, depth: int = 64) -> None:
        self.depth = depth
        self.states = np.zeros(2 * SMALLEST, STATE)
        self.edges = np.zeros(3 * SMALLEST, EDGE)
        self.table = np.full(8 * SMALLEST, -1, np.int32)
        self._used = np.zeros(3, np.int64)
        self.clear()

    def clear(self) -> None:
        """Forget all sequences; the memory stays."""
        self.table.fill(-1)
        self.states[INITIAL] = (0, -1, 0, 0, -1)
        self._used[:] = (1, 0, 0)

    def begin(self) -> Cursor:
        """Begin a sequence. Several can grow in turn, and nothing matches across the start of one."""
        return np.full(2, INITIAL, np.int64)

    def extend(self, cursor: Cursor, tokens: Sequence[int]) -> None:
        """Add tokens to the end of a sequence."""
        added = np.asarray(tokens, dtype=np.int64)
        self._reserve(len(added))
        _extend(self.states, self.edges, self.table, self._used, cursor, added, self.depth)

    def __len__(self) -> int:
        return int(self._used[_TOKENS])

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.states.nbytes + self.edges.nbytes + self.table.nbytes

    def repeated(self, cursor: Cursor) -> tuple[int, int]:
        """State and length of the longest suffix of a sequence, of less than ``depth`` tokens, that ends elsewhere too.

        Less than ``depth``, so that what follows it is counted.
        """
        state = int(cursor[_TIP])
        if state != INITIAL and self.states["count"][state] == 1:
            state = int(self.states["link"][state])
        while state != INITIAL and self.states["length"][self.states["link"][state]] >= self.depth - 1:
            state = int(self.states["link"][state])
        return state, min(int(self.states["length"][state]), self.depth - 1)

    def settled(self, state: int, length: int) -> tuple[int, int]:
        """The state that now holds a match found in ``state`` before: adding tokens can split states."""
        while state != INITIAL and self.states["length"][self.states["link"][state]] >= length:
            state = int(self.states["link"][state])
        return state, length

    def follow(self, state: int, length: int, tokens: Sequence[int]) -> tuple[int, int]:
        """State and length of the longest match, of less than ``depth`` tokens, behind more tokens of any text."""
        for token in tokens:
            state, length = follow(self.states, self.edges, self.table, self.depth, state, length, token)
        return int(state), int(length)

    def step(self, state: int, token: int) -> int:
        """The state of a substring and one more token; -1 where that occurs nowhere."""
        return int(find(self.edges, self.table, state, token))

    def find(self, tokens: Sequence[int]) -> int:
        """The state of a substring, -1 where it occurs nowhere."""
        state = INITIAL
        for token in tokens:
            state = self.step(state, token)
            if state < 0:
                break
        return state

    def children(self, state: int) -> Iterator[tuple[int, int]]:
        """(token, state) of each continuation of a state."""
        edge = int(self.states["edges"][state])
        while edge >= 0:
            yield int(self.edges["token"][edge]), int(self.edges["target"][edge])
            edge = int(self.edges["next"][edge])

    def _reserve(self, tokens: int) -> None:
        """Room for so many more tokens; the table stays at most half full."""
        states = int(self._used[_STATES]) + 2 * tokens
        if states > len(self.states):
            self.states = _grown(self.states, states)
        edges = 3 * (len(self) + tokens)  # over all tokens; one alone can need more, since a clone copies edges
        if edges > len(self.edges):
            self.edges = _grown(self.edges, edges)
        if 2 * len(self.edges) > len(self.table):
            self.table = np.full(1 << (4 * len(self.edges) - 1).bit_length(), -1, np.int32)
            _rehash(self.edges, self.table, int(self._used[_EDGES]))


def _grown(array: np.ndarray, needed: int) -> np.ndarray:
    larger = np.zeros(max(needed, 2 * len(array)), array.dtype)
    larger[:len(array)] = array
    return larger


@njit(cache=True, nogil=True, inline="always")
def _slot(table, state, token):
    mixed = (np.uint64(state) * np.uint64(0x9E3779B97F4A7C15)) ^ (np.uint64(token) * np.uint64(0xC2B2AE3D27D4EB4F))
    return np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(len(table) - 1))


@njit(cache=True, nogil=True)
def _find_edge(edges, table, state, token):
    slot = _slot(table, state, token)
    while table[slot] >= 0:
        edge = table[slot]
        if edges[edge].state == state and edges[edge].token == token:
            return edge
        slot = (slot + 1) & (len(table) - 1)
    return -1


@njit(cache=True, nogil=True)
def find(edges, table, state, token):
    """The target of a state's transition, -1 where it has none."""
    edge = _find_edge(edges, table, state, token)
    return edges[edge].target if edge >= 0 else -1


@njit(cache=True, nogil=True)
def _enter(edges, table, edge):
    slot = _slot(table, edges[edge].state, edges[edge].token)
    while table[slot] >= 0:
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = edge


@njit(cache=True, nogil=True)
def _rehash(edges, table, count):
    for edge in range(count):
        _enter(edges, table, edge)


@njit(cache=True, nogil=True)
def _add_edge(states, edges, table, used, state, token, target):
    edge = used[_EDGES]
    used[_EDGES] += 1
    edges[edge].state, edges[edge].token, edges[edge].target = state, token, target
    edges[edge].next = states[state].edges
    states[state].edges = edge
    _enter(edges, table, edge)


@njit(cache=True, nogil=True)
def _clone(states, edges, table, used, state, token, target):
    """Split ``target``: what is no longer than ``state`` and ``token`` becomes a state of its own."""
    clone = used[_STATES]
    used[_STATES] += 1
    states[clone] = states[target]
    states[clone].length = states[state].length + 1
    states[clone].edges = -1
    edge = states[target].edges
    while edge >= 0:
        _add_edge(states, edges, table, used, clone, edges[edge].token, edges[edge].target)
        edge = edges[edge].next
    states[target].link = clone
    while state >= 0:
        edge = _find_edge(edges, table, state, token)
        if edge < 0 or edges[edge].target != target:
            break
        edges[edge].target = clone
        state = states[state].link
    return clone


@njit(cache=True, nogil=True)
def _append(states, edges, table, used, state, token):
    """The state of a whole sequence, which was in ``state``, and ``token``."""
    known = find(edges, table, state, token)
    if known >= 0:  # an earlier sequence went on like this
        if states[known].length == states[state].length + 1:
            return known
        return _clone(states, edges, table, used, state, token, known)
    new = used[_STATES]
    used[_STATES] += 1
    states[new].length = states[state].length + 1
    states[new].count, states[new].last, states[new].edges = 0, 0, -1
    target = np.int64(-1)
    while state >= 0:
        target = find(edges, table, state, token)
        if target >= 0:
            break
        _add_edge(states, edges, table, used, state, token, new)
        state = states[state].link
    if state < 0:
        states[new].link = INITIAL
    elif states[target].length == states[state].length + 1:
        states[new].link = target
    else:
        states[new].link = _clone(states, edges, table, used, state, token, target)
    return new


@njit(cache=True, nogil=True)
def _extend(states, edges, table, used, cursor, tokens, depth):
    for token in tokens:
        cursor[_LAST] = _append(states, edges, table, used, cursor[_LAST], token)
        used[_TOKENS] += 1
        # the tip holds the suffix of ``depth`` tokens; it steps along instead of climbing from the end each time
        tip = find(edges, table, cursor[_TIP], token)
        while states[states[tip].link].length >= depth:
            tip = states[tip].link
        cursor[_TIP] = tip
        while tip > INITIAL:
            states[tip].count += 1
            states[tip].last = used[_TOKENS]
            tip = states[tip].link


@njit(cache=True, nogil=True)
def follow(states, edges, table, depth, state, length, token):
    """State and length of the longest match, of less than ``depth`` tokens, behind one more token."""
    while state >= 0:
        target = find(edges, table, state, token)
        if target >= 0:
            while states[states[target].link].length >= depth - 1:
                target = states[target].link
            return target, min(length + 1, depth - 1)
        state = states[state].link
        length = states[state].length if state >= 0 else 0
    return INITIAL, 0
