"""The suffix array of a token sequence, in linear time.

Source: Nong, Zhang and Chan, "Linear Suffix Array Construction by Almost Pure
Induced-Sorting" (DCC 2009), with the space-saving marks of Mori's sais: everything
happens inside the result and one table of bucket borders.

A suffix is *S-type* when it is smaller than the suffix one to its right, *L-type* when
it is larger. The leftmost S of a run of S is *LMS*. Sorted LMS suffixes induce the
order of all L-type suffixes in one sweep to the right, and these the order of all
S-type suffixes in one sweep to the left. The LMS suffixes themselves are sorted by
the same two sweeps: sort the pieces between neighbours, name each piece by its rank,
and, where two pieces are equal, solve the shorter sequence of names in the same way.

The end of the sequence counts as smaller than every token.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

MAX_TOKENS = 2**31 - 2
"""Longest sequence: positions and their marks are int32 while sorting."""


def suffix_array(tokens: np.ndarray, between: Callable[[], None] = lambda: None, may_spoil: bool = False) -> np.ndarray:
    """Sort the suffixes of ``tokens``.

    Args:
        tokens: uint16[n] or uint32[n]; the largest value of the type (the separator of
            documents) may occur.
        between: called between two sweeps; what it raises ends the work.
        may_spoil: ``tokens`` are not needed afterwards, which spares a copy of uint32.

    Returns:
        uint32[n]: positions of the suffixes in rising order. Beside ``tokens`` it takes
        4 bytes a token, sorting about 1 more, and the copy of uint32 another 4; and 8
        bytes for every value up to the largest id.

    Raises:
        TypeError: another element type.
        ValueError: more than ``MAX_TOKENS`` tokens, or more than one dimension.
    """
    if tokens.dtype not in (np.uint16, np.uint32):
        raise TypeError(f"tokens are uint16 or uint32, not {tokens.dtype}")
    if tokens.ndim != 1 or len(tokens) > MAX_TOKENS:
        raise ValueError(f"a sequence of at most {MAX_TOKENS} tokens, not an array of shape {tokens.shape}")
    order = np.zeros(len(tokens), dtype=np.int32)
    if len(tokens):
        text = tokens.view(np.ndarray) if tokens.dtype == np.uint16 else _dense(tokens, may_spoil)
        text.flags.writeable = False  # numba compiles for read-only and writable arrays apart
        _sort(text, order, int(text.max()) + 1, between)
    return order.view(np.uint32)


def _dense(tokens: np.ndarray, may_spoil: bool) -> np.ndarray:
    """uint32 tokens as int32, with the separator (the largest value) next to the others."""
    text = tokens.view(np.int32) if may_spoil else tokens.astype(np.int32)  # the separator is -1 now
    if text.min() < -1:
        raise ValueError("a token id of 2^31 or more")
    if text.min() == -1:
        text[text == -1] = text.max() + 1
    return text


def _sort(text: np.ndarray, order: np.ndarray, alphabet: int, between: Callable[[], None]) -> None:
    """Fill ``order`` with the suffix array of ``text``, values below ``alphabet``."""
    borders = np.zeros(alphabet + 1, dtype=np.int32)
    cursor = np.empty(alphabet, dtype=np.int32)
    _count(text, borders)
    pieces = _place_lms(text, order, borders, cursor)
    if pieces > 1:
        between()
        _sort_pieces(text, order, borders, cursor)
        between()
        names = _name_pieces(text, order, pieces)
        if names < pieces:
            reduced = order[len(order) - pieces:]
            _gather_names(order, reduced, pieces, len(text))
            del borders, cursor
            order[:pieces] = 0
            _sort(reduced, order[:pieces], names, between)
            _lms_positions(text, reduced)
            _look_up(order, reduced, pieces)
            borders = np.zeros(alphabet + 1, dtype=np.int32)
            cursor = np.empty(alphabet, dtype=np.int32)
            _count(text, borders)
        _spread(text, order, borders, pieces)
    between()
    _induce(text, order, borders, cursor)


@njit(cache=True, nogil=True)
def _count(text, borders):
    """``borders[c]`` becomes the first row of bucket c, ``borders[c + 1]`` its end."""
    for i in range(len(text)):
        borders[text[i] + 1] += 1
    for c in range(1, len(borders)):
        borders[c] += borders[c - 1]


@njit(cache=True, nogil=True)
def _place_lms(text, order, borders, cursor):
    """Write every LMS position but the last one less 1 into its bucket, from the bucket's end.

    The sweep of ``_sort_pieces`` steps from a position to the one before it, so what
    it starts from is the position *before* the piece's end, i.e. the next LMS.
    Returns the number of LMS positions.
    """
    n = len(text)
    for c in range(len(cursor)):
        cursor[c] = borders[c + 1]
    slot = -1
    last = n
    pieces = 0
    rising = False  # is the suffix at i + 1 S-type?
    right = np.int64(text[n - 1])
    for i in range(n - 2, -1, -1):
        here = np.int64(text[i])
        if here < right:
            rising = True
        elif here > right and rising:
            rising = False  # i + 1 is LMS
            if slot >= 0:
                order[slot] = last
            cursor[right] -= 1
            slot = cursor[right]
            last = i
            pieces += 1
        right = here
    if pieces == 1:
        order[slot] = last + 1
    return pieces


@njit(cache=True, nogil=True)
def _sort_pieces(text, order, borders, cursor):
    """Sort the LMS pieces: afterwards the sorted LMS positions stand, complemented, in ``order``."""
    n = len(text)
    for c in range(len(cursor)):
        cursor[c] = borders[c]
    bucket = np.int64(text[n - 1])
    slot = cursor[bucket]
    j = n - 2
    order[slot] = ~j if text[j] < bucket else j
    slot += 1
    for i in range(n):
        j = order[i]
        if j > 0:
            here = np.int64(text[j])
            if here != bucket:
                cursor[bucket] = slot
                bucket = here
                slot = cursor[bucket]
            j -= 1
            order[slot] = ~j if text[j] < bucket else j
            slot += 1
            order[i] = 0
        elif j < 0:
            order[i] = ~j
    for c in range(len(cursor)):
        cursor[c] = borders[c + 1]
    bucket = np.int64(0)
    slot = cursor[0]
    for i in range(n - 1, -1, -1):
        j = order[i]
        if j > 0:
            here = np.int64(text[j])
            if here != bucket:
                cursor[bucket] = slot
                bucket = here
                slot = cursor[bucket]
            j -= 1
            slot -= 1
            order[slot] = ~(j + 1) if text[j] > bucket else j
            order[i] = 0


@njit(cache=True, nogil=True)
def _name_pieces(text, order, pieces):
    """Gather the sorted LMS positions in front, and write the name of each piece at ``pieces + position // 2``.

    Two LMS positions are never neighbours, so halving keeps them apart. Names count
    from 1; returns how many there are.
    """
    n = len(text)
    found = 0
    for i in range(n):
        if order[i] < 0:
            position = ~order[i]
            order[i] = 0
            order[found] = position
            found += 1
            if found == pieces:
                break
    for i in range(pieces, n):
        order[i] = 0
    rising = False
    end = n - 1
    right = np.int64(text[n - 1])
    for i in range(n - 2, -1, -1):
        here = np.int64(text[i])
        if here < right:
            rising = True
        elif here > right and rising:
            rising = False
            order[pieces + ((i + 1) >> 1)] = end - i
            end = i + 1
        right = here
    names = 0
    before, length_before = n, 0
    for i in range(pieces):
        position = order[i]
        length = order[pieces + (position >> 1)]
        same = length == length_before and before + length < n
        if same:
            for k in range(length):
                if text[position + k] != text[before + k]:
                    same = False
                    break
        if not same:
            names += 1
            before, length_before = position, length
        order[pieces + (position >> 1)] = names
    return names


@njit(cache=True, nogil=True)
def _gather_names(order, reduced, pieces, n):
    """Move the names, in text order and counted from 0, to the end of ``order``."""
    j = pieces - 1
    for i in range(pieces + (n >> 1) - 1, pieces - 1, -1):
        if order[i] != 0:
            reduced[j] = order[i] - 1
            j -= 1


@njit(cache=True, nogil=True)
def _lms_positions(text, positions):
    """Write all LMS positions, rising."""
    j = len(positions) - 1
    rising = False
    right = np.int64(text[len(text) - 1])
    for i in range(len(text) - 2, -1, -1):
        here = np.int64(text[i])
        if here < right:
            rising = True
        elif here > right and rising:
            rising = False
            positions[j] = i + 1
            j -= 1
        right = here


@njit(cache=True, nogil=True)
def _look_up(order, positions, pieces):
    for i in range(pieces):
        order[i] = positions[order[i]]


@njit(cache=True, nogil=True)
def _spread(text, order, borders, pieces):
    """Move the sorted LMS suffixes from the front to the ends of their buckets; all else becomes 0."""
    free = len(order)
    i = pieces - 1
    while i >= 0:
        position = order[i]
        bucket = np.int64(text[position])
        end = borders[bucket + 1]
        while free > end:
            free -= 1
            order[free] = 0
        while i >= 0:
            position = order[i]
            if np.int64(text[position]) != bucket:
                break
            free -= 1
            order[free] = position
            i -= 1
    for i in range(free):
        order[i] = 0


@njit(cache=True, nogil=True)
def _induce(text, order, borders, cursor):
    """From the LMS suffixes to all: L-type in a sweep to the right, S-type in one to the left."""
    n = len(text)
    for c in range(len(cursor)):
        cursor[c] = borders[c]
    bucket = np.int64(text[n - 1])
    slot = cursor[bucket]
    order[slot] = ~(n - 1) if n > 1 and text[n - 2] < bucket else n - 1
    slot += 1
    for i in range(n):
        j = order[i]
        order[i] = ~j
        if j > 0:
            j -= 1
            here = np.int64(text[j])
            if here != bucket:
                cursor[bucket] = slot
                bucket = here
                slot = cursor[bucket]
            order[slot] = ~j if j > 0 and text[j - 1] < bucket else j
            slot += 1
    for c in range(len(cursor)):
        cursor[c] = borders[c + 1]
    bucket = np.int64(0)
    slot = cursor[0]
    for i in range(n - 1, -1, -1):
        j = order[i]
        if j > 0:
            j -= 1
            here = np.int64(text[j])
            if here != bucket:
                cursor[bucket] = slot
                bucket = here
                slot = cursor[bucket]
            slot -= 1
            order[slot] = ~j if j == 0 or text[j - 1] > bucket else j
        else:
            order[i] = ~j
