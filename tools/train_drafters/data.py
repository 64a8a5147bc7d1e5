"""Distilled sequences as a drafter is trained on them: in the target's tokens, or in those of another tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spec_core.drafters.copying import copy_hints
from spec_core.drafters.token_text import TokenText

LENGTH = 512
BATCH = 8


class Sequences:
    """Sequences one after the other, with their copying hints.

    Args:
        ids: int64 (total,).
        lengths: of the sequences.
        generated: bool (total,), output of the target rather than text that it read.
        labels, probs: int64 and float32 (total, k), what follows each position, and how probable it is;
            label -1 counts for nothing.
    """

    def __init__(self, ids: np.ndarray, lengths: np.ndarray, generated: np.ndarray, labels: np.ndarray,
                 probs: np.ndarray) -> None:
        self.ids, self.generated, self.labels, self.probs = ids, generated, labels, probs
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        self.hints = np.concatenate([copy_hints(ids[a:b], 0) for a, b in zip(self.starts, self.starts[1:])], axis=1)

    @classmethod
    def of_shards(cls, shards: list[Path]) -> Sequences:
        """In the target's tokens, with its soft labels."""
        data = _columns(shards)
        return cls(data["tokens"].astype(np.int64), data["lengths"], data["generated"],
                   data["label_tokens"].astype(np.int64), data["label_probs"].astype(np.float32))

    @classmethod
    def of_texts(cls, shards: list[Path], target: TokenText, own: TokenText) -> Sequences:
        """In another tokenizer's tokens; each is labelled with the one that follows."""
        ids, lengths, generated, labels = [], [], [], []
        for tokens, is_output in sequences(shards):
            text, prompt = target.join(tokens), target.join(tokens[:len(tokens) - sum(is_output)])
            split, boundaries = own.split(text)
            if split:
                ids += split
                lengths.append(len(split))
                labels += [*split[1:], -1]
                generated += [begin >= len(prompt) for begin in boundaries[:-1]]
        column = np.array(labels)[:, None]
        return cls(np.array(ids), np.array(lengths), np.array(generated), column, (column >= 0).astype(np.float32))

    @property
    def tokens(self) -> int:
        """How many tokens."""
        return len(self.ids)

    def frequent_tokens(self, count: int) -> np.ndarray:
        """The ids that the target most probably emits, rising."""
        mass = np.bincount(self.labels.ravel(), weights=self.probs.ravel())
        return np.sort(np.argsort(-mass)[:count])

    def batches(self, rng: np.random.Generator | None) -> list[np.ndarray]:
        """Row indices (BATCH, LENGTH) into the columns; -1 is padding. Shuffled where there is a generator."""
        order = np.arange(len(self.starts) - 1) if rng is None else rng.permutation(len(self.starts) - 1)
        order = order[np.argsort(np.diff(self.starts)[order] // 64, kind="stable")]  # of similar length
        groups = [order[i:i + BATCH] for i in range(0, len(order), BATCH)]
        result = []
        for group in groups:
            longest = min(LENGTH, max(self.starts[i + 1] - self.starts[i] for i in group))
            rows = np.full((len(group), longest), -1)
            for row, i in zip(rows, group):
                begin, length = self.starts[i], self.starts[i + 1] - self.starts[i]
                kept = min(length, longest)
                row[:kept] = np.arange(begin + length - kept, begin + length)
            result.append(rows)
        return result if rng is None else [result[i] for i in rng.permutation(len(result))]


def texts_of(shards: list[Path], target: TokenText) -> Iterator[str]:
    """The sequences as texts."""
    for tokens, _ in sequences(shards):
        yield target.join(tokens).decode("utf-8", errors="ignore")


def sequences(shards: list[Path]) -> Iterator[tuple[list[int], list[bool]]]:
    """The tokens of each sequence, and which the target wrote rather than read."""
    data = _columns(shards)
    starts = np.concatenate([[0], np.cumsum(data["lengths"])])
    for a, b in zip(starts, starts[1:]):
        yield data["tokens"][a:b].tolist(), data["generated"][a:b].tolist()


def _columns(shards: list[Path]) -> dict[str, np.ndarray]:
    columns: dict[str, list[np.ndarray]] = {}
    for path in shards:
        with np.load(path) as data:
            for name in data.files:
                columns.setdefault(name, []).append(data[name])
    return {name: np.concatenate(parts) for name, parts in columns.items()}
