"""An opened store: its arrays, memory-mapped, and the way from a token back to its document."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .encoding import fingerprint
from .format import (DOCUMENTS, FILES, MANIFEST, NAMES, SUFFIXES, TOKENS, VERIFIED, Manifest, StoreError,
                     store_folder)

CHUNK = 2**22
"""Bytes or entries looked at in one go while verifying."""


class Store:
    """A store opened for reading; nothing is loaded before it is used.

    Args:
        folder: the store's folder.

    Attributes:
        name: the folder's name.
        manifest: see ``Manifest``.
        tokens: uint16 or uint32 [tokens], read-only.
        suffixes: uint32 [tokens], read-only.
        bounds: int64 [shards + 1]: first token of each shard, and the end.

    Raises:
        StoreError: no such store, newer, damaged, or a file is shorter than it should
            be. Checksums are computed when the files changed since they were last right.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.manifest = Manifest.read(folder)
        self._check_sizes()
        kind = np.dtype("<u2" if self.manifest.token_bytes == 2 else "<u4")
        self.bounds = np.cumsum([0, *(shard.tokens for shard in self.manifest.shards)], dtype=np.int64)
        self.tokens = self._map(TOKENS, kind)
        self.suffixes = self._map(SUFFIXES, np.dtype("<u4"))
        # mapped now: a store that is deleted or renamed while a run uses it stays whole for that run
        self._documents = self._map(DOCUMENTS, np.dtype("<i8")).reshape(-1, 2)
        self._names = self._map(NAMES, np.dtype("u1"))
        if not _is_stamped(folder):
            self.verify()

    @classmethod
    def just_written(cls, folder: Path) -> Store:
        """Open a store that this process wrote: its checksums are right by construction."""
        _write_stamp(folder)
        return cls(folder)

    @property
    def token_count(self) -> int:
        """Tokens, the separators included."""
        return self.manifest.tokens

    @property
    def fingerprint(self) -> str:
        """Of the tokenizer that it was built with."""
        return self.manifest.fingerprint

    def check_tokenizer(self, tokenizer: Any) -> None:
        """Raises ``StoreError`` when the store was built with another tokenizer."""
        if fingerprint(tokenizer) != self.fingerprint:
            raise StoreError("datastore.other_tokenizer", name=self.name)

    def document_of(self, positions: np.ndarray | list[int]) -> np.ndarray:
        """int64 indices of the documents that hold the tokens at ``positions``."""
        return np.maximum(np.searchsorted(self.document_starts, positions, side="right") - 1, 0)

    def document_name(self, document: int) -> str:
        """The name of a document; bytes that are not UTF-8 show as ``\\xnn``."""
        begin = int(self._documents[document - 1, 1]) if document else 0
        end = int(self._documents[document, 1])
        return self._names[begin:end].tobytes().decode("utf-8", "backslashreplace").removesuffix("\n")

    @cached_property
    def document_starts(self) -> np.ndarray:
        """int64 [documents]: first token of each."""
        return np.ascontiguousarray(self._documents[:, 0])

    def verify(self) -> None:
        """Check every checksum and every number of the store, and remember that they are right.

        Raises:
            StoreError: something is not as it was written, or an id is beyond the vocabulary.
        """
        for file in FILES:
            self._verify_checksums(file)
        for shard, (begin, end) in zip(self.manifest.shards, zip(self.bounds, self.bounds[1:]), strict=True):
            for at in range(int(begin), int(end), CHUNK):
                part = slice(at, min(at + CHUNK, int(end)))
                tokens = self.tokens[part]
                if (tokens[tokens != self.manifest.separator] >= self.manifest.vocabulary).any():
                    raise StoreError("datastore.ids", name=self.name, vocabulary=self.manifest.vocabulary)
                if (self.suffixes[part] >= shard.tokens).any():
                    raise self._damaged(f"{SUFFIXES}: a position beyond its shard")
            if self.tokens[end - 1] != self.manifest.separator:
                raise self._damaged(f"{TOKENS}: a shard without an end")
        starts, ends = self.document_starts, self._documents[:, 1]
        if starts[0] != 0 or (np.diff(starts) <= 0).any() or starts[-1] >= self.bounds[-1] \
                or (np.diff(ends) < 0).any() or ends[0] < 0 or ends[-1] > self.manifest.bytes(NAMES):
            raise self._damaged(f"{DOCUMENTS}: the documents are not in order")
        _write_stamp(self.folder)

    def _check_sizes(self) -> None:
        for file in FILES:
            try:
                size = os.stat(self.folder / file).st_size
            except OSError as error:
                raise self._damaged(f"{file}: {error.strerror}") from error
            if size < self.manifest.bytes(file):
                raise self._damaged(f"{file}: {size} of {self.manifest.bytes(file)} bytes")

    def _verify_checksums(self, name: str) -> None:
        with (self.folder / name).open("rb") as file:
            for shard in self.manifest.shards:
                digest, left = hashlib.sha256(), shard.bytes[name]
                while left and (part := file.read(min(CHUNK, left))):
                    digest.update(part)
                    left -= len(part)
                if left or digest.hexdigest() != shard.sha256[name]:
                    raise self._damaged(f"{name}: the checksum differs")

    def _map(self, file: str, kind: np.dtype) -> np.ndarray:
        count = self.manifest.bytes(file) // kind.itemsize
        return np.memmap(self.folder / file, dtype=kind, mode="r", shape=(count,)).view(np.ndarray)

    def _damaged(self, what: str) -> StoreError:
        return StoreError("datastore.damaged", name=self.name, what=what)


def _write_stamp(folder: Path) -> None:
    """Note sizes and times of the files: until they change, opening skips the checksums."""
    with suppress(OSError):  # a read-only store is verified at each opening
        (folder / VERIFIED).write_text(json.dumps(_present_state(folder)), encoding="utf-8")


def _is_stamped(folder: Path) -> bool:
    try:
        return json.loads((folder / VERIFIED).read_text(encoding="utf-8")) == _present_state(folder)
    except (OSError, ValueError):
        return False


def _present_state(folder: Path) -> dict[str, list[int]]:
    stats = {file: os.stat(folder / file) for file in (MANIFEST, *FILES)}
    return {file: [stat.st_size, stat.st_mtime_ns] for file, stat in stats.items()}


def open_store(name: str, tokenizer: Any = None) -> Store:
    """Open the store ``name`` of ``datastores/``.

    Args:
        name: one of ``format.names()``.
        tokenizer: when given, it must be the one that the store was built with.

    Raises:
        StoreError: it cannot be used; the message says why.
    """
    store = Store(store_folder(name))
    if tokenizer is not None:
        store.check_tokenizer(tokenizer)
    return store
