"""How much a corpus may be, and the account of what it has taken so far."""

from __future__ import annotations

from dataclasses import dataclass

from ...messages import UserError
from .text import Unreadable

MIB = 2**20
RATIO_FROM = 16 * MIB
"""Below so many bytes no archive is a bomb, whatever its ratio."""


@dataclass(frozen=True)
class Limits:
    """What is read at most.

    Args:
        total_bytes: of all files together, taken out of their archives, and of the text that they hold.
        file_bytes: of one file; a larger one is skipped. Archives are measured by what they hold.
        parsed_bytes: of one ``.json``, ``.html`` or ``.ipynb``, which takes many times its size while it is parsed.
        entries: of one archive.
        documents: of a corpus.
        ratio: bytes that an archive may hold for each byte of its own.
    """

    total_bytes: int = 1024 * MIB
    file_bytes: int = 64 * MIB
    parsed_bytes: int = 16 * MIB
    entries: int = 100_000
    documents: int = 2_000_000
    ratio: int = 100


class Account:
    """What one pass over a corpus has taken of its limits; each method raises ``UserError`` at the end of one."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._bytes = self._characters = self._documents = 0

    def take_bytes(self, count: int) -> None:
        """Bytes read, whether a document comes of them or not."""
        self._bytes += count
        if self._bytes > self.limits.total_bytes:
            raise UserError("ingest.too_large", most=self.limits.total_bytes // MIB)

    def take_document(self, characters: int) -> None:
        """A document: a table may hold far more text than bytes."""
        self._documents += 1
        self._characters += characters
        if self._documents > self.limits.documents:
            raise UserError("ingest.too_many_documents", most=self.limits.documents)
        if self._characters > self.limits.total_bytes:
            raise UserError("ingest.too_large", most=self.limits.total_bytes // MIB)


class ArchiveAccount:
    """The same for one archive: real bytes that came out of it, never those that it declares."""

    def __init__(self, account: Account, size: int) -> None:
        self._account = account
        self._most = max(RATIO_FROM, account.limits.ratio * size)
        self._bytes = self._entries = 0

    def take_bytes(self, count: int) -> None:
        """Bytes that came out of the archive. Raises ``Unreadable`` where it is a bomb, ``UserError`` as ``Account`` does."""
        self._bytes += count
        if self._bytes > self._most:
            raise Unreadable("bomb")
        self._account.take_bytes(count)

    def take_entry(self) -> None:
        """One more entry, of any kind. Raises ``Unreadable``."""
        self._entries += 1
        if self._entries > self._account.limits.entries:
            raise Unreadable("too_many_entries")
