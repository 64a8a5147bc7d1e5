"""A small corpus with its tokenizer, stores that need no disk, and slow and plain re-statements to compare with."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from spec_core.datastore.suffix_array import suffix_array

TEXTS = {
    "loops.py": "for i in range(10):\n    print(i)\nfor i in range(20):\n    print(i + 1)\n" * 3,
    "页面.md": "# 投机解码\n草稿模型先写，目标模型再验证。🎉 <script>alert('x')</script>\n" * 3,
    "sub/words.txt": "the cat sat on the mat and the cat ran\n" * 4,
}


def trained(texts: list[str], size: int = 400) -> PreTrainedTokenizerFast:
    """A byte-level BPE of ``texts``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def brute_suffix_array(tokens: list[int]) -> list[int]:
    return sorted(range(len(tokens)), key=lambda i: tokens[i:])


def memory_store(shards: list[list[list[int]]], vocabulary: int, kind: type = np.uint16) -> SimpleNamespace:
    """What index and trie see of a store: shards of documents of token ids."""
    separator = np.iinfo(kind).max
    tokens = [np.array([t for document in shard for t in [*document, separator]], dtype=kind) for shard in shards]
    suffixes = [suffix_array(t) for t in tokens]
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
