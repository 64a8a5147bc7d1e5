"""The stores that come with the lab: corpora that every machine has, built at first use, in seconds."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .build import build_store
from .corpus import Document, Skipped, python_stdlib
from .encoding import fingerprint
from .format import Manifest, StoreError, store_folder
from .shards import Documents, Progress
from .store import Store, open_store

ANSWERS = Path(__file__).resolve().parents[2] / "assets" / "corpora" / "smollm2-answers.jsonl.xz"


class Answers:
    """What SmolLM2-135M-Instruct answered: one document a line, ``{"text": …}``.

    Made by ``tools/train_drafters`` (``assets/corpora/README.md``). REST's own observation:
    a store of the target's kind of text is worth more than a larger one of another (He et
    al., NAACL 2024, §4).
    """

    name = "SmolLM2-135M-Instruct answers"

    def __init__(self) -> None:
        self.skipped: list[Skipped] = []
        self.description = self.edition()
        self._lines = lzma.decompress(ANSWERS.read_bytes()).splitlines()
        self.size = sum(map(len, self._lines))

    def __iter__(self) -> Iterator[Document | Skipped]:
        for number, line in enumerate(self._lines, start=1):
            yield Document(f"answers/{number}", json.loads(line)["text"], len(line))

    @classmethod
    def edition(cls) -> str:
        """The name, and a checksum that tells one making of the answers from another."""
        return f"{cls.name} ({hashlib.sha256(ANSWERS.read_bytes()).hexdigest()[:8]})"

    @classmethod
    def outdated(cls, source: str) -> bool:
        """Whether a store of this ``source`` holds another making of the answers, and nothing that a user added."""
        older = re.fullmatch(re.escape(cls.name) + r"( \([0-9a-f]{8}\))?", source)
        return older is not None and source != cls.edition()


ANSWERS_STORE = "smollm2-answers"
BUNDLED: dict[str, Callable[[], Documents]] = {"python-stdlib": python_stdlib, ANSWERS_STORE: Answers}
"""Corpora by the names of their stores; the first is the default."""
DEFAULT_STORE = next(iter(BUNDLED))


def ensure_bundled(name: str, tokenizer: Any, progress: Progress = lambda stage, fraction: None,
                   cancelled: Callable[[], bool] = lambda: False) -> Store:
    """The bundled store ``name`` for this tokenizer, built where it is missing, damaged or of an older corpus.

    Raises what ``build_store`` raises.
    """
    folder = bundled_store_name(name, tokenizer)
    try:
        store = open_store(folder, tokenizer)
        if name != ANSWERS_STORE or not Answers.outdated(store.manifest.source):
            return store
        replace = True
    except StoreError as error:
        replace = error.key != "datastore.unknown"
    try:
        build_store(BUNDLED[name](), folder, tokenizer, replace=replace, progress=progress, cancelled=cancelled)
    except StoreError as error:
        if error.key != "datastore.name_taken":  # else another process was quicker
            raise
    return open_store(folder, tokenizer)


def bundled_store_name(name: str, tokenizer: Any) -> str:
    """``name``, or with the tokenizer's fingerprint where that one belongs to another tokenizer."""
    try:
        taken = Manifest.read(store_folder(name)).fingerprint != fingerprint(tokenizer)
    except StoreError:  # not there, or damaged and to be built anew
        taken = False
    return f"{name}--{fingerprint(tokenizer)[:8]}" if taken else name
