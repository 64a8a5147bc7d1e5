"""How likely is a candidate token? What speaks for it, put into classes with a calibrated weight each.

Each source says at which length of match it saw the token, how often, and out of how
many. That is one of a few hundred classes; the estimate is the logistic function of the
sum of a context class's and a store class's weight. So a source that never saw the token
speaks too, and a long match speaks against what it did not see.

The weights are fitted to traces (``benchmarks/calibrate.py``); see ``weights.json``.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
from numba import njit

from ..datastore.trie import Trie

LENGTHS = 9
"""Classes of match lengths: none, 1, 2, 3, 4, 5–6, 7–9, 10–15, 16 and more."""
SHARES = 9
"""Context: always and seen 1, 2, 3+ times; else a share ≥ ½, ≥ ⅕, less; the same, but not what came last."""
STORE_SHARES, HITS = 5, 4
"""Store: shares of 1, ≥ 0.6, ≥ 0.3, ≥ 0.1, less; hits 1, 2–3, 4–15, 16 and more."""
COARSE = 4
"""Coarse classes of lengths, for what is seen at a shorter match only: 1, 2, 3–4, 5 and more."""

CONTEXT_LOWER = LENGTHS * SHARES
CONTEXT_ABSENT = CONTEXT_LOWER + COARSE * 3 * LENGTHS
STORE_TOP = CONTEXT_ABSENT + LENGTHS
STORE_LOWER = STORE_TOP + LENGTHS * STORE_SHARES * HITS
STORE_ABSENT = STORE_LOWER + COARSE * STORE_SHARES * LENGTHS
CLASSES = STORE_ABSENT + LENGTHS

WEIGHTS = Path(__file__).with_name("weights.json")


@cache
def weights(name: str) -> np.ndarray:
    """float64 [CLASSES] for the drafts of ``fusion`` (both sources), ``context`` or ``rest``."""
    table = np.array(json.loads(WEIGHTS.read_text(encoding="utf-8"))[name], dtype=np.float64)
    if table.shape != (CLASSES,):
        raise ValueError(f"{WEIGHTS.name}: {name} has {len(table)} weights, and there are {CLASSES} classes")
    return table


@njit(cache=True, nogil=True)
def length_class(length):
    """Class of a match length."""
    if length <= 4:
        return length
    if length <= 6:
        return 5
    if length <= 9:
        return 6
    return 7 if length <= 15 else 8


@njit(cache=True, nogil=True)
def _coarse(length):
    if length <= 2:
        return max(length, 1) - 1
    return 2 if length <= 4 else 3


@njit(cache=True, nogil=True)
def context_class(length, longest, count, total, latest):
    """Class of a token seen ``count`` of ``total`` times behind a match of ``length``; ``longest``: of this place."""
    share = 0 if 2 * count >= total else 1 if 5 * count >= total else 2
    if length < longest:
        return CONTEXT_LOWER + (_coarse(length) * 3 + share) * LENGTHS + length_class(longest)
    kind = min(total, 3) - 1 if count == total else 3 + share + (0 if latest else 3)
    return length_class(length) * SHARES + kind


@njit(cache=True, nogil=True)
def store_class(length, longest, count, total, hits):
    """The same for the store, seen in ``count`` of ``total`` rows looked at, of ``hits``."""
    share = count / total
    kind = 0 if count == total else 1 if share >= 0.6 else 2 if share >= 0.3 else 3 if share >= 0.1 else 4
    if length < longest:
        return STORE_LOWER + (_coarse(length) * STORE_SHARES + kind) * LENGTHS + length_class(longest)
    many = 0 if hits == 1 else 1 if hits <= 3 else 2 if hits <= 15 else 3
    return STORE_TOP + (length_class(length) * STORE_SHARES + kind) * HITS + many


@njit(cache=True, nogil=True)
def estimate(table, context, store):
    """Probability that the target emits the token, given that it emitted what is before it."""
    return 1.0 / (1.0 + math.exp(-(table[context] + table[store])))


def heaviest_estimates(trie: Trie, length: int, hits: int) -> np.ndarray:
    """float64 [selected], falling: the probability that a selected node of REST's trie is accepted.

    Args:
        trie: continuations of one match.
        length: of the match.
        hits: of it.
    """
    table, matched, paths = weights("rest"), [], []
    for node in range(trie.selected):
        parent, count = trie.parents[node], trie.weights[node]
        behind, path, total = (matched[parent] + 1, paths[parent], trie.weights[parent]) if parent >= 0 else (
            length, 1.0, hits)
        matched.append(behind)
        paths.append(path * estimate(table, CONTEXT_ABSENT, store_class(behind, behind, count, total, total)))
    return np.sort(paths)[::-1]
