"""Finding the longest matching suffix of a context in a store.

In a suffix array all occurrences of a token sequence are one interval of rows, so two
binary searches find and count them. A hit for a longer suffix implies one for every
shorter suffix, so the longest length with a hit is found by bisection.

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
    attempts = np.empty((64, 2), dtype=np.int64)  # bisection: log2 of the lengths
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
def _interval(tokens, suffixes, begin, end, query, first):
    """The rows of the shard whose suffix begins with ``query[first:]``."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        order = _order(tokens, suffixes, begin, end, middle, query, first)
        if order < 0:
            low = middle + 1
        elif order > 0:
            high = middle
        else:
            break
    if low >= high:
        return low, low
    left, right = low, middle  # the first row with it is in [left, right]
    while left < right:
        row = (left + right) >> 1
        if _order(tokens, suffixes, begin, end, row, query, first) < 0:
            left = row + 1
        else:
            right = row
    low, right = middle + 1, high  # the first row after it is in [low, right]
    while low < right:
        row = (low + right) >> 1
        if _order(tokens, suffixes, begin, end, row, query, first) > 0:
            right = row
        else:
            low = row + 1
    return left, low


@njit(cache=True, nogil=True)
def _longest(tokens, suffixes, bounds, query, min_suffix, vocabulary, rows, attempts):
    """Bisect on the length; fills ``rows`` and ``attempts``; returns length, hits, attempts made."""
    shards = len(bounds) - 1
    found = np.empty((shards, 2), np.int64)
    most = 0
    while most < len(query) and 0 <= query[len(query) - 1 - most] < vocabulary:
        most += 1
    least = min_suffix
    length, hits, tried = 0, 0, 0
    while least <= most:
        middle = (least + most + 1) >> 1
        count = 0
        for s in range(shards):
            found[s, 0], found[s, 1] = _interval(tokens, suffixes, bounds[s], bounds[s + 1], query, len(query) - middle)
            count += found[s, 1] - found[s, 0]
        attempts[tried, 0], attempts[tried, 1] = middle, count
        tried += 1
        if count > 0:
            length, hits = middle, count
            rows[:] = found
            least = middle + 1
        else:
            most = middle - 1
    return length, hits, tried
