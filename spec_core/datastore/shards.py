"""From a corpus to sorted shards, through whatever writes them; with progress, and to be stopped at any moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from tokenizers import Tokenizer

from ..models import Cancelled
from .corpus import Document, Skipped
from .encoding import spans
from .format import DOCUMENTS, FILES, NAMES, SUFFIXES, TOKENS, Manifest, Shard, StoreError
from .suffix_array import suffix_array
from .writer import SegmentWriter

STAGES = ("read", "tokenise", "sort", "write")
BATCH_BYTES = 2**21
"""Text encoded in one go: the tokenizer keeps about 100 bytes a token meanwhile."""
PART_CHARACTERS = 2**21
"""A longer document is encoded in parts of so many characters."""

Progress = Callable[[str, float | None], None]


class Documents(Protocol):
    """What a store is built from; ``corpus.Corpus`` is one."""

    size: int
    """Bytes of all sources, for the progress."""
    skipped: list[Skipped]
    """What was left out before reading."""
    description: str

    def __iter__(self) -> Iterator[Document | Skipped]: ...


def write_shards(writer: SegmentWriter, manifest: Manifest, corpus: Documents, skipped: list[Skipped],
                 encode: Tokenizer, max_tokens: int, clock: Clock) -> tuple[Shard, ...]:
    """Tokenise a corpus, and write and sort its shards after those that ``manifest`` has already.

    Raises:
        StoreError: nothing to read.
    """
    shards = _Shards(writer, manifest, max_tokens)
    ids: list[np.ndarray] = []  # of the parts of a document that goes on
    for parts, done in _batches(corpus, skipped, clock):
        encodings = encode.encode_batch_fast([part.text for part in parts], add_special_tokens=False)
        for part, encoded in zip(parts, encodings, strict=True):
            ids.append(np.array(encoded.ids, dtype=np.uint32))
            if part.last:
                if any(len(array) for array in ids):
                    shards.add(part.name, np.concatenate(ids))
                else:
                    skipped.append(Skipped(part.name, "empty", len(part.text)))
                ids = []
        clock.tick("tokenise", done)
    shards.end()
    if not shards.counts:
        raise StoreError("datastore.nothing_to_build", name=writer.place.name)
    _sort_shards(writer, shards, manifest.tokens, clock)
    clock.tick("write", 0.0)
    return tuple(shards.finished())


class Clock:
    """Reports progress, measures the stages, and stops a cancelled build."""

    def __init__(self, progress: Progress, cancelled: Callable[[], bool]) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._progress, self._cancelled = progress, cancelled
        self._last = time.perf_counter()

    def tick(self, stage: str, fraction: float, may_cancel: bool = True) -> None:
        now = time.perf_counter()
        self.seconds[stage] += now - self._last
        self._last = now
        self._progress(stage, min(fraction, 1.0))
        if may_cancel:
            self.stop_if_cancelled()

    def stop_if_cancelled(self) -> None:
        if self._cancelled():
            raise Cancelled


class _Shards:
    """Writes documents and tokens as they come, and notes where shards end."""

    def __init__(self, writer: SegmentWriter, manifest: Manifest, max_tokens: int) -> None:
        self.writer, self.manifest, self.max_tokens = writer, manifest, max_tokens
        self.kind = np.dtype("<u2" if manifest.token_bytes == 2 else "<u4")
        self.counts: list[tuple[int, int]] = []
        self.segments: list[dict[str, tuple[int, str]]] = []
        self._tokens = self._documents = 0  # of the present shard
        self._position, self._name_end = manifest.tokens, manifest.bytes(NAMES)  # in the whole store

    def add(self, name: str, ids: np.ndarray) -> None:
        """One document, uint32 [tokens], and the separator after it."""
        if ids.max() >= self.manifest.vocabulary:
            raise StoreError("datastore.ids", name=self.writer.place.name, vocabulary=self.manifest.vocabulary)
        array = np.append(ids, np.uint32(self.manifest.separator)).astype(self.kind)
        if self._tokens and self._tokens + len(array) > self.max_tokens:
            self.end()
        line = name.encode("utf-8", "backslashreplace") + b"\n"
        self._name_end += len(line)
        self.writer.append(TOKENS, array)
        self.writer.append(NAMES, line)
        self.writer.append(DOCUMENTS, np.array([self._position, self._name_end], dtype="<i8"))
        self._position += len(array)
        self._tokens += len(array)
        self._documents += 1

    def end(self) -> None:
        """End the present shard, if it has begun."""
        if self._tokens:
            self.counts.append((self._tokens, self._documents))
            self.segments.append({file: self.writer.end_segment(file) for file in (TOKENS, DOCUMENTS, NAMES)})
            self._tokens = self._documents = 0

    def finished(self) -> Iterator[Shard]:
        """The shards, when each is sorted."""
        for (tokens, documents), segments in zip(self.counts, self.segments, strict=True):
            yield Shard(tokens, documents, {file: segments[file][0] for file in FILES},
                        {file: segments[file][1] for file in FILES})


@dataclass(frozen=True)
class _Part:
    """Of a document, what is encoded in one go; ``last`` where it ends with it."""

    name: str
    text: str
    last: bool


def _batches(corpus: Documents, skipped: list[Skipped], clock: Clock) -> Iterator[tuple[list[_Part], float]]:
    """Parts of documents in handfuls of about ``BATCH_BYTES``, and the share of the corpus read so far."""
    total, read, pending, batch = max(corpus.size, 1), 0, 0, []
    for item in corpus:
        clock.stop_if_cancelled()
        if isinstance(item, Skipped):
            read += item.size
            skipped.append(item)
            continue
        for part in _parts(item):
            batch.append(part)
            pending += len(part.text)
            read += item.size * len(part.text) / len(item.text)
            if pending >= BATCH_BYTES:
                yield batch, read / total
                pending, batch = 0, []
    yield batch, 1.0


def _parts(document: Document) -> Iterator[_Part]:
    for begin, end in spans(document.text, PART_CHARACTERS):
        yield _Part(document.name, document.text[begin:end], last=end == len(document.text))


def _sort_shards(writer: SegmentWriter, shards: _Shards, first: int, clock: Clock) -> None:
    """Sort shard after shard, which begin at the token ``first``; only the one in hand takes memory."""
    writer.flush()
    total, begin = sum(tokens for tokens, _ in shards.counts), first
    clock.tick("sort", 0.0)
    for (count, _), segments in zip(shards.counts, shards.segments, strict=True):
        tokens = np.fromfile(writer.folder / TOKENS, shards.kind, count, offset=begin * shards.kind.itemsize)
        writer.append(SUFFIXES, suffix_array(tokens, clock.stop_if_cancelled, may_spoil=True).astype("<u4", copy=False))
        segments[SUFFIXES] = writer.end_segment(SUFFIXES)
        begin += count
        clock.tick("sort", (begin - first) / total)
