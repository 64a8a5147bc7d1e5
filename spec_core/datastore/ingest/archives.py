"""The files inside a zip or tar, read one after the other; nothing is ever written under their names.

What an archive says about itself is not believed: bytes are counted as they come out. A
member that is no plain file, or whose name leaves the archive, is skipped. An archive
inside an archive is skipped as well.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...messages import UserError
from ..corpus import GENERATED_FOLDERS, Skipped
from .limits import Account, ArchiveAccount
from .text import Unreadable

DIRECTORY_BYTES_AN_ENTRY = 512
"""A zip's table of contents is loaded as a whole: a longer one is no honest archive's."""
BLOCK = 2**16
# zipfile raises NotImplementedError for a compression that it does not know
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, NotImplementedError,
          UnicodeError, ValueError, RuntimeError, OSError)


@dataclass(frozen=True)
class File:
    """A file's name and all its bytes."""

    name: str
    data: bytes


def zip_files(path: Path, name: str, account: Account) -> Iterator[File | Skipped]:
    """The files of a zip.

    Raises:
        Unreadable: it is damaged or passes a limit of its own, maybe after some of its files.
        UserError: with it, the corpus passes a limit.
    """
    inside = ArchiveAccount(account, path.stat().st_size)
    try:
        _check_directory(path, account.limits.entries)
        archive = zipfile.ZipFile(path)
    except BROKEN as error:
        raise Unreadable("bad_archive") from error
    with archive:
        for entry in archive.infolist():
            inside.take_entry()
            if entry.is_dir():
                continue
            inner = f"{name}/{entry.orig_filename}"
            kind = stat.S_IFMT(entry.external_attr >> 16)
            reason = refused(entry.orig_filename) or (
                "link" if kind == stat.S_IFLNK else "special" if kind not in (0, stat.S_IFREG)
                else "encrypted" if entry.flag_bits & 1
                else "too_large" if entry.file_size > account.limits.file_bytes else None)
            if reason:
                yield Skipped(printed(inner), reason, entry.file_size)
                continue
            try:
                with archive.open(entry) as file:
                    data = _read(file, account.limits.file_bytes, inside)
            except BROKEN as error:
                if isinstance(error, UserError):
                    raise
                yield Skipped(printed(inner), "unreadable", entry.file_size)
                continue
            yield File(inner, data) if data is not None else Skipped(printed(inner), "too_large", entry.file_size)


def tar_files(path: Path, name: str, account: Account) -> Iterator[File | Skipped]:
    """The files of a tar, plain or compressed with gzip, bzip2 or xz.

    Raises:
        Unreadable: it is damaged or passes a limit of its own, maybe after some of its files.
        UserError: with it, the corpus passes a limit.
    """
    inside = ArchiveAccount(account, path.stat().st_size)
    try:
        with _decompressed(path) as stream, tarfile.open(fileobj=_Counted(stream, inside), mode="r|") as archive:
            for member in archive:
                inside.take_entry()
                if member.isdir():
                    continue
                inner = f"{name}/{member.name}"
                reason = refused(member.name) or (
                    "link" if member.issym() or member.islnk() else "special" if not member.isreg() or member.issparse()
                    else "too_large" if member.size > account.limits.file_bytes else None)
                if reason:
                    yield Skipped(printed(inner), reason, member.size)
                else:
                    yield File(inner, archive.extractfile(member).read())
    except BROKEN as error:
        if isinstance(error, UserError):
            raise
        raise Unreadable("bad_archive") from error


def printed(name: str) -> str:
    """A name from an archive as it may be shown and stored: control characters and halves of characters visible."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)


def refused(name: str) -> str | None:
    """Why a member of that name is skipped."""
    parts = re.split(r"[/\\]", name)
    if not name or name[0] in "/\\" or ".." in parts or re.match("[A-Za-z]:", name) or "\0" in name:
        return "unsafe_path"
    if GENERATED_FOLDERS & set(parts[:-1]):
        return "generated"
    return "hidden" if any(part.startswith(".") and part != "." for part in parts) else None


def _read(file: IO[bytes], most: int, account: ArchiveAccount) -> bytes | None:
    """All bytes of a member, counted as they come; None where there are more than ``most``."""
    blocks, size = [], 0
    while block := file.read(BLOCK):
        account.take_bytes(len(block))
        blocks.append(block)
        size += len(block)
        if size > most:
            return None
    return b"".join(blocks)


class _Counted(io.RawIOBase):
    """A stream whose bytes are counted, those that tarfile skips as well."""

    def __init__(self, stream: IO[bytes], account: ArchiveAccount) -> None:
        self._stream, self._account = stream, account

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(BLOCK if size < 0 else min(size, BLOCK))
        self._account.take_bytes(len(data))
        return data


def _decompressed(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        head = file.read(6)
    if head.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if head.startswith(b"BZh"):
        return bz2.open(path)
    return lzma.open(path) if head.startswith(b"\xfd7zXZ") else path.open("rb")


def _check_directory(path: Path, entries: int) -> None:
    """Refuse a zip whose table of contents would fill the memory: its end record gives the table's size."""
    with path.open("rb") as file:
        end = file.seek(0, io.SEEK_END)
        file.seek(max(0, end - 2**16 - 22))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 20:
        raise zipfile.BadZipFile
    count, size = struct.unpack_from("<HI", tail, at + 10)
    if size == 0xFFFFFFFF or count == 0xFFFF:  # zip64: the true numbers stand in another record
        wide = tail.rfind(b"PK\x06\x06")
        if wide >= 0 and len(tail) >= wide + 48:
            size = struct.unpack_from("<Q", tail, wide + 40)[0]
    if size > entries * DIRECTORY_BYTES_AN_ENTRY:
        raise Unreadable("too_many_entries")
