"""Building a store: corpus → tokens → shards → suffix arrays → files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from datetime import UTC, datetime
from typing import Any

import numpy as np

from .corpus import Skipped
from .encoding import encoder, fingerprint, tokenizer_name, vocabulary_size
from .format import Manifest, StoreError
from .shards import Clock, Documents, Progress, write_shards
from .store import Store
from .writer import StoreGrower, StoreWriter

MAX_SHARD_TOKENS = 2**26
"""Sorting a shard takes up to 12 bytes a token: 0.8 GB."""
MOST_SOURCES = 8


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
        progress: called with a stage of ``shards.STAGES`` (``datastore.stage.…`` in the catalogue)
            and the share of it that is done.
        cancelled: asked often; True ends the build.

    Raises:
        StoreError: a bad or taken name, nothing to read, or the disk refused.
        Cancelled: ``cancelled`` said so; nothing is left of the build.
    """
    clock = Clock(progress, cancelled)
    with StoreWriter(name, replace) as writer:
        clock.tick("read", 0.0)
        width = 2 if vocabulary_size(tokenizer) <= np.iinfo(np.uint16).max else 4
        manifest = Manifest(datetime.now(UTC).isoformat(timespec="seconds"), corpus.description,
                            fingerprint(tokenizer), vocabulary_size(tokenizer), width,
                            tokenizer=tokenizer_name(tokenizer))
        clock.tick("read", 1.0)
        skipped = list(corpus.skipped)
        shards = write_shards(writer, manifest, corpus, skipped, encoder(tokenizer), max_shard_tokens, clock)
        finished = replace_fields(manifest, shards=shards)
        folder = writer.finish(finished)
    store = Store.just_written(folder)
    clock.tick("write", 1.0, may_cancel=False)
    return BuildReport(store.name, finished.documents, finished.tokens, skipped, clock.seconds)


def grow_store(corpus: Documents, name: str, tokenizer: Any, *, max_shard_tokens: int = MAX_SHARD_TOKENS,
               progress: Progress = lambda stage, fraction: None,
               cancelled: Callable[[], bool] = lambda: False) -> BuildReport:
    """Add documents to the store ``name`` as new shards; what it holds is neither read nor sorted again.

    A run that has the store open goes on with what it opened.

    Returns:
        what was added.

    Raises:
        StoreError: no such store, another tokenizer, nothing to read, somebody else is
            changing the store, or the disk refused. The store is as it was.
        Cancelled: ``cancelled`` said so; the store is as it was.
    """
    clock = Clock(progress, cancelled)
    with StoreGrower(name) as grower:
        clock.tick("read", 0.0)
        before = grower.manifest
        if before.fingerprint != fingerprint(tokenizer):
            raise StoreError("datastore.other_tokenizer", name=name)
        clock.tick("read", 1.0)
        skipped = list(corpus.skipped)
        shards = write_shards(grower, before, corpus, skipped, encoder(tokenizer), max_shard_tokens, clock)
        grown = replace_fields(before, shards=before.shards + shards, source=_joined(before.source, corpus.description))
        folder = grower.finish(grown)
    Store.just_written(folder)
    clock.tick("write", 1.0, may_cancel=False)
    return BuildReport(name, grown.documents - before.documents, grown.tokens - before.tokens, skipped, clock.seconds)


def _joined(source: str, added: str) -> str:
    """Where a grown store came from, kept short."""
    parts = [part for part in dict.fromkeys([*source.split(", "), *added.split(", ")]) if part != "…"]
    return ", ".join(parts if len(parts) <= MOST_SOURCES else [*parts[:MOST_SOURCES], "…"])
