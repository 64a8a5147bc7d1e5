"""What would become of a corpus: read once, before anything is built."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ...models import Cancelled
from ..corpus import Document, Skipped
from .gathered import Gathered
from .kinds import is_disguised
from .records import SHOWN, Field
from .text import Guess

MOST_NAMED = 100
"""Files that a survey names of one sort."""
OUTSIDE_ASCII = re.compile(r"[^\x00-\x7f]")


@dataclass
class Survey:
    """What a corpus holds.

    Args:
        files: how many files gave documents.
        documents: how many.
        characters: of their texts.
        size: see ``Gathered.size``.
        kinds: documents by kind; see ``kinds.kind_of``.
        encodings: documents by encoding.
        skipped: what was left out, each with its reason.
        fields: that record files offer, in the order met.
        disguised: names that promise another kind than the content is, with that kind.
        broken: names of JSON files that could not be parsed, and are read as text.
        guessed: names of files whose encoding was guessed, with the encoding and a passage to judge it by.
        seconds: that reading took.
    """

    files: int = 0
    documents: int = 0
    characters: int = 0
    size: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    encodings: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    disguised: list[tuple[str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    guessed: list[tuple[str, str, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def reasons(self) -> Counter[str]:
        """What was left out, by reason."""
        return Counter(skipped.reason for skipped in self.skipped)


def survey(corpus: Gathered, progress: Callable[[float], None] = lambda fraction: None,
           cancelled: Callable[[], bool] = lambda: False) -> Survey:
    """Read a corpus once, and set its ``size``.

    Args:
        corpus: what to read.
        progress: called with the share of it that is read.
        cancelled: asked often.

    Raises:
        UserError: it passes a limit.
        Cancelled: ``cancelled`` said so.
    """
    begun, found, before, passage = time.perf_counter(), Survey(skipped=list(corpus.skipped)), "", ""
    for item in corpus:
        if cancelled():
            raise Cancelled
        found.size += item.size
        if isinstance(item, Skipped):
            found.skipped.append(item)
            continue
        _count(found, item)
        file = item.name.rpartition(" #")[0] if item.kind in ("json", "jsonl", "csv", "tsv", "parquet") else item.name
        if file != before:
            found.files += 1
            if is_disguised(file, item.kind) and len(found.disguised) < MOST_NAMED:
                found.disguised.append((file, item.kind))
            if item.broken and len(found.broken) < MOST_NAMED:
                found.broken.append(file)
            before, passage = file, ""
        if isinstance(item.encoding, Guess) and not passage:
            passage = _passage(item.text)
            if passage and len(found.guessed) < MOST_NAMED:
                found.guessed.append((file, str(item.encoding), passage))
        progress(min(found.size / max(corpus.size, 1), 1.0))
    found.fields = list(corpus.fields.found.values())
    found.seconds = time.perf_counter() - begun
    corpus.size = found.size
    return found


def _passage(text: str) -> str:
    """Where a text first has a character outside ASCII, in one line; empty where it has none."""
    odd = OUTSIDE_ASCII.search(text)
    return "" if odd is None else " ".join(text[max(0, odd.start() - SHOWN // 2):odd.start() + SHOWN // 2].split())


def _count(found: Survey, item: Document) -> None:
    found.documents += 1
    found.characters += len(item.text)
    found.kinds[item.kind] += 1
    if item.encoding:
        found.encodings[str(item.encoding)] += 1
