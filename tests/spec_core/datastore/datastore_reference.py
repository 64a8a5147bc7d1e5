"""Slow and plain re-statements to compare with, and stores that need no disk."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np

from spec_core.datastore.suffix_array import suffix_array


def brute_suffix_array(tokens: list[int]) -> list[int]:
    return sorted(range(len(tokens)), key=lambda i: tokens[i:])


def memory_store(shards: list[list[list[int]]], vocabulary: int, kind: type = np.uint16) -> SimpleNamespace:
    """What index and trie see of a store: shards of documents of token ids."""
    separator = np.iinfo(kind).max
    tokens = [np.array([t for document in shard for t in [*document, separator]], dtype=kind) for shard in shards]
    suffixes = [suffix_array(t) for t in tokens]
    for array in (*tokens, *suffixes):
        array.flags.writeable = False
    joined, sorted_ = np.concatenate(tokens), np.concatenate(suffixes)
    joined.flags.writeable = sorted_.flags.writeable = False  # as a mapped file is
    return SimpleNamespace(tokens=joined, suffixes=sorted_, bounds=np.cumsum([0, *map(len, tokens)]),
                           manifest=SimpleNamespace(vocabulary=vocabulary))


def brute_match(documents: list[list[int]], context: list[int], max_suffix: int, min_suffix: int
                ) -> tuple[int, list[list[int]]]:
    """The longest matching suffix, and what follows each of its hits in its document."""
    for length in range(min(max_suffix, len(context)), min_suffix - 1, -1):
        suffix = context[-length:]
        found = [document[i + length:] for document in documents for i in range(len(document) - length + 1)
                 if document[i:i + length] == suffix]
        if found:
            return length, found
    return 0, []


def brute_trie(continuations: list[list[int]], depth: int, capacity: int) -> list[tuple[tuple[int, ...], int]]:
    """The heaviest (path, weight), in the order of picking."""
    weights = Counter(tuple(c[:d]) for c in continuations for d in range(1, min(depth, len(c)) + 1))
    return sorted(weights.items(), key=lambda item: (-item[1], len(item[0]), item[0][-1], item[0]))[:capacity]


def breadth_first(picked: list[tuple[tuple[int, ...], int]]) -> list[tuple[tuple[int, ...], int]]:
    """Selected paths level by level; siblings stay in the order of picking."""
    ordered, level = [], [()]
    while level:
        level = [path for above in level for path, _ in picked if path[:-1] == above]
        ordered += level
    weights = dict(picked)
    return [(path, weights[path]) for path in ordered]
