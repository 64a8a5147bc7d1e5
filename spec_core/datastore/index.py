"""Finding the longest matching suffix of a context in a store.

In a suffix array all occurrences of a token sequence are one interval of rows, so two
binary searches find and count them. A hit for a longer suffix implies one for every
shorter suffix, so the longest length with a hit is found by cutting the range of
lengths again and again; into four parts, since three searches that go together cost
hardly more than one.

Source: REST (He et al., NAACL 2024), §3.2, which tries every length in turn.

The kernels trust nothing on disk: a position read from a store is compared with the
shard's size before it is used, so a corrupt store gives wrong answers at worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from .store import Store

PARTS = 4
"""Into how many parts the range of lengths is cut each time."""


@dataclass(frozen=True)
class Match:
    """The longest suffix of a context that occurs in a store.

    Args:
        length: tokens of the suffix; 0 when none occurs.
        hits: how often it occurs, over all shards.
        attempts: (length, hits) in the order tried.
        rows: int64[shards, 2]: its interval of rows in each shard, counted from the
            store's first row.
    """

    length: int
    hits: int
    attempts: tuple[tuple[int, int], ...]
    rows: np.ndarray


def longest_match(store: Store, context: Sequence[int], max_suffix: int, min_suffix: int) -> Match:
    """Look up the longest suffix of ``context`` of ``min_suffix`` to ``max_suffix`` tokens.

    Args:
        store: an opened store.
        context: token ids, the root last; only the last ``max_suffix`` are looked at.
            An id beyond the vocabulary matches nothing.
        max_suffix: at least ``min_suffix``.
        min_suffix: at least 1.
    """
    query = np.array(context[-max_suffix:], dtype=np.int64)
    rows = np.zeros((len(store.bounds) - 1, 2), dtype=np.int64)
    attempts = np.empty((64, 2), dtype=np.int64)  # plenty: three times the logarithm of the lengths to base 4
    length, hits, tried = _longest(store.tokens, store.suffixes, store.bounds, query, min_suffix,
                                   store.manifest.vocabulary, rows, attempts)
    return Match(length, hits, tuple(map(tuple, attempts[:tried].tolist())), rows)


@njit(cache=True, nogil=True)
def token_at(tokens, suffixes, begin, end, row, offset):
    """The token ``offset`` after the start of a row's suffix; -1 beyond the shard ``[begin, end)``."""
    position = begin + np.int64(suffixes[row]) + offset
    return np.int64(tokens[position]) if position < end else np.int64(-1)


@njit(cache=True, nogil=True)
def _order(tokens, suffixes, begin, end, row, query, first):
    """-1, 0 or 1: the row's suffix is before, begins with, or is after ``query[first:]``."""
    for k in range(first, len(query)):
        token = token_at(tokens, suffixes, begin, end, row, k - first)
        if token != query[k]:
            return -1 if token < query[k] else 1
    return 0


@njit(cache=True, nogil=True)
def _intervals(tokens, suffixes, bounds, query, firsts, found):
    """The rows of each shard whose suffix begins with ``query[firsts[k]:]``, into ``found[k]``.

    A binary search waits for memory at each step. All searches go step by step
    together, so that they wait at the same time.
    """
    shards = len(bounds) - 1
    for k in range(len(firsts)):
        for s in range(shards):
            found[k, s, 0], found[k, s, 1] = bounds[s], bounds[s + 1]
    searching = True
    while searching:
        searching = False
        for k in range(len(firsts)):
            for s in range(shards):
                low, high = found[k, s, 0], found[k, s, 1]
                if low < high:
                    searching = True
                    row = (low + high) >> 1
                    if _order(tokens, suffixes, bounds[s], bounds[s + 1], row, query, firsts[k]) < 0:
                        found[k, s, 0] = row + 1
                    else:
                        found[k, s, 1] = row
    for k in range(len(firsts)):
        for s in range(shards):
            found[k, s, 1] = _interval_end(tokens, suffixes, bounds[s], bounds[s + 1], found[k, s, 0],
                                           query, firsts[k])


@njit(cache=True, nogil=True)
def _interval_end(tokens, suffixes, begin, end, row, query, first):
    """The first row, from ``row`` on, whose suffix does not begin with ``query[first:]``."""
    step = 1
    low = row
    while low + step <= end and _order(tokens, suffixes, begin, end, low + step - 1, query, first) == 0:
        low += step
        step <<= 1
    high = min(low + step - 1, end)
    while low < high:
        middle = (low + high) >> 1
        if _order(tokens, suffixes, begin, end, middle, query, first) == 0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _longest(tokens, suffixes, bounds, query, min_suffix, vocabulary, rows, attempts):
    """Narrow the lengths down; fills ``rows`` and ``attempts``; returns length, hits, attempts made."""
    most = 0
    while most < len(query) and 0 <= query[len(query) - 1 - most] < vocabulary:
        most += 1
    least = min_suffix
    length, hits, tried = 0, 0, 0
    firsts = np.empty(PARTS - 1, np.int64)
    found = np.empty((PARTS - 1, len(rows), 2), np.int64)
    while least <= most:
        cuts = _cut(least, most, len(query), firsts)
        _intervals(tokens, suffixes, bounds, query, firsts[:cuts], found)
        for k in range(cuts):
            tried_length = len(query) - firsts[k]
            count = 0
            for s in range(len(rows)):
                count += found[k, s, 1] - found[k, s, 0]
            attempts[tried, 0], attempts[tried, 1] = tried_length, count
            tried += 1
            if count == 0:
                most = min(most, tried_length - 1)
            elif tried_length > length:
                length, hits = tried_length, count
                for s in range(len(rows)):
                    rows[s, 0], rows[s, 1] = found[k, s, 0], found[k, s, 1]
                least = length + 1
    return length, hits, tried


@njit(cache=True, nogil=True)
def _cut(least, most, size, firsts):
    """Cut the lengths ``least … most`` into equal parts: where the suffixes of these lengths, falling, begin."""
    count = 0
    for k in range(PARTS - 1, 0, -1):
        length = least - 1 + k * (most - least + 2) // PARTS
        if length >= least and (count == 0 or size - length > firsts[count - 1]):
            firsts[count] = size - length
            count += 1
    return count
