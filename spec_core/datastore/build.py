"""Building a store: corpus → tokens → shards → suffix arrays → files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np

from ..models import Cancelled
from .corpus import Document, Skipped, python_stdlib
from .encoding import encoder, fingerprint, vocabulary_size
from .format import DOCUMENTS, FILES, NAMES, SUFFIXES, TOKENS, Manifest, Shard, StoreError, store_folder
from .store import Store, open_store
from .suffix_array import suffix_array
from .writer import StoreWriter

DEFAULT_STORE = "python-stdlib"
STAGES = ("read", "tokenise", "sort", "write")
MAX_SHARD_TOKENS = 2**26
"""Sorting a shard takes up to 12 bytes a token: 0.8 GB."""
BATCH_BYTES = 2**21
"""Text encoded in one go: the tokenizer keeps about 100 bytes a token meanwhile."""

Progress = Callable[[str, float | None], None]


class Documents(Protocol):
    """What a store is built from; ``corpus.Corpus`` is one."""

    size: int
    """Bytes of all sources, for the progress."""
    skipped: list[Skipped]
    """What was left out before reading."""
    description: str

    def __iter__(self) -> Iterator[Document | Skipped]: ...


@dataclass(frozen=True)
class BuildReport:
    """What was built.

    Args:
        name: of the store.
        documents: how many.
        tokens: how many, the separators included.
        skipped: what was left out, and why.
        seconds: by stage.
    """

    name: str
    documents: int
    tokens: int
    skipped: list[Skipped] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def build_store(corpus: Documents, name: str, tokenizer: Any, *, max_shard_tokens: int = MAX_SHARD_TOKENS,
                replace: bool = False, progress: Progress = lambda stage, fraction: None,
                cancelled: Callable[[], bool] = lambda: False) -> BuildReport:
    """Build the store ``name`` and put it into ``datastores/``.

    Args:
        corpus: the documents.
        name: letters, digits, ``.``, ``-``, ``_`` and spaces; at most 64.
        tokenizer: a fast transformers tokenizer. No special tokens are added.
        max_shard_tokens: a shard ends with the document that would pass it.
        replace: take the place of a store of that name.
        progress: called with a stage of ``STAGES`` (``datastore.stage.…`` in the catalogue)
            and the share of it that is done.
        cancelled: asked often; True ends the build.

    Raises:
        StoreError: a bad or taken name, nothing to read, or the disk refused.
        Cancelled: ``cancelled`` said so; nothing is left of the build.
    """
    clock = _Clock(progress, cancelled)
    with StoreWriter(name, replace) as writer:
        clock.tick("read", 0.0)
        width = 2 if vocabulary_size(tokenizer) <= np.iinfo(np.uint16).max else 4
        manifest = Manifest(datetime.now(UTC).isoformat(timespec="seconds"), corpus.description,
                            fingerprint(tokenizer), vocabulary_size(tokenizer), width)
        encode = encoder(tokenizer)
        clock.tick("read", 1.0)
        skipped = list(corpus.skipped)
        shards = _Shards(writer, manifest, max_shard_tokens)
        for documents, done in _batches(corpus, skipped):
            encodings = encode.encode_batch_fast([document.text for document in documents], add_special_tokens=False)
            for document, encoded in zip(documents, encodings, strict=True):
                if encoded.ids:
                    shards.add(document.name, encoded.ids)
                else:
                    skipped.append(Skipped(document.name, "empty", document.size))
            clock.tick("tokenise", done)
        shards.end()
        if not shards.counts:
            raise StoreError("datastore.nothing_to_build", name=name)
        _sort_shards(writer, shards, clock)
        clock.tick("write", 0.0)
        finished = Manifest(manifest.created, manifest.source, manifest.fingerprint, manifest.vocabulary, width,
                            tuple(shards.finished()))
        folder = writer.finish(finished)
    store = Store.just_written(folder)
    clock.tick("write", 1.0, may_cancel=False)
    return BuildReport(store.name, finished.documents, finished.tokens, skipped, clock.seconds)


def ensure_default(tokenizer: Any, progress: Progress = lambda stage, fraction: None,
                   cancelled: Callable[[], bool] = lambda: False) -> Store:
    """The store of Python's standard library for this tokenizer; built at first use, in seconds.

    A damaged one is built anew. Raises what ``build_store`` raises.
    """
    name = default_store_name(tokenizer)
    try:
        return open_store(name, tokenizer)
    except StoreError as error:
        damaged = error.key != "datastore.unknown"
    try:
        build_store(python_stdlib(), name, tokenizer, replace=damaged, progress=progress, cancelled=cancelled)
    except StoreError as error:
        if error.key != "datastore.name_taken":  # else another process was quicker
            raise
    return open_store(name, tokenizer)


def default_store_name(tokenizer: Any) -> str:
    """``python-stdlib``, or with the tokenizer's fingerprint where that one belongs to another tokenizer."""
    try:
        taken = Manifest.read(store_folder(DEFAULT_STORE)).fingerprint != fingerprint(tokenizer)
    except StoreError:  # not there, or damaged and to be built anew
        taken = False
    return f"{DEFAULT_STORE}--{fingerprint(tokenizer)[:8]}" if taken else DEFAULT_STORE


class _Clock:
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

    def __init__(self, writer: StoreWriter, manifest: Manifest, max_tokens: int) -> None:
        self.writer, self.manifest, self.max_tokens = writer, manifest, max_tokens
        self.kind = np.dtype("<u2" if manifest.token_bytes == 2 else "<u4")
        self.counts: list[tuple[int, int]] = []
        self.segments: list[dict[str, tuple[int, str]]] = []
        self._tokens = self._documents = 0  # of the present shard
        self._position = self._name_end = 0  # in the whole store

    def add(self, name: str, ids: list[int]) -> None:
        """One document, and the separator after it."""
        array = np.array([*ids, self.manifest.separator], dtype=np.uint32)
        if array[:-1].max() >= self.manifest.vocabulary:
            raise StoreError("datastore.ids", name=self.writer.place.name, vocabulary=self.manifest.vocabulary)
        array = array.astype(self.kind)
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


def _batches(corpus: Documents, skipped: list[Skipped]) -> Iterator[tuple[list[Document], float]]:
    """Documents in handfuls of about ``BATCH_BYTES``, and the share of the corpus read so far."""
    total, read, pending, batch = max(corpus.size, 1), 0, 0, []
    for item in corpus:
        read += item.size
        if isinstance(item, Skipped):
            skipped.append(item)
            continue
        batch.append(item)
        pending += item.size
        if pending >= BATCH_BYTES:
            yield batch, read / total
            pending, batch = 0, []
    yield batch, 1.0


def _sort_shards(writer: StoreWriter, shards: _Shards, clock: _Clock) -> None:
    """Sort shard after shard; only the one in hand takes memory."""
    writer.flush()
    total, begin = sum(tokens for tokens, _ in shards.counts), 0
    clock.tick("sort", 0.0)
    for (count, _), segments in zip(shards.counts, shards.segments, strict=True):
        tokens = np.fromfile(writer.folder / TOKENS, shards.kind, count, offset=begin * shards.kind.itemsize)
        writer.append(SUFFIXES, suffix_array(tokens, clock.stop_if_cancelled, may_spoil=True).astype("<u4", copy=False))
        segments[SUFFIXES] = writer.end_segment(SUFFIXES)
        begin += count
        clock.tick("sort", begin / total)
