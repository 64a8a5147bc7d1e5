"""From folders and files to documents: what is read, and what is left out and why."""

from __future__ import annotations

import codecs
import os
import stat
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..messages import UserError, say

MAX_FILE_BYTES = 8 * 2**20
GENERATED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages", "venv", "__MACOSX"})
TEST_FOLDERS = frozenset({"test", "tests", "idle_test"})


@dataclass(frozen=True)
class Document:
    """One text of a corpus, with the bytes it took in its source, what kind of file that was, and its encoding.

    ``broken``: the file was to be of another kind by its name, but could not be parsed as that.
    """

    name: str
    text: str
    size: int
    kind: str = "text"
    encoding: str = "utf-8"
    broken: bool = False


@dataclass(frozen=True)
class Skipped:
    """Something that was left out. ``reason`` is the last part of a key ``datastore.skip.…``."""

    name: str
    reason: str
    size: int = 0

    def say(self, language: str = "en") -> str:
        """The reason as a sentence."""
        return say(f"datastore.skip.{self.reason}", language)


@dataclass(frozen=True)
class Source:
    """A file that is to become a document."""

    name: str
    path: Path
    size: int


class Corpus:
    """Files to read, one document each. Iterating reads them, in order, one at a time.

    Args:
        sources: the files.
        skipped: what the search for them left out.
        description: where it came from, for people.
    """

    def __init__(self, sources: list[Source], skipped: list[Skipped], description: str) -> None:
        self.sources = sources
        self.skipped = skipped
        self.description = description

    @property
    def size(self) -> int:
        """Bytes of all sources."""
        return sum(source.size for source in self.sources)

    def __iter__(self) -> Iterator[Document | Skipped]:
        """Each source as a document, or as skipped for what only reading shows."""
        for source in self.sources:
            yield read_document(source)


def files_corpus(paths: Iterable[str | os.PathLike[str]], max_file_bytes: int = MAX_FILE_BYTES) -> Corpus:
    """The text files at ``paths``; a folder stands for all files below it, in sorted order.

    Args:
        paths: files and folders. A document's name starts with the last part of its path.
        max_file_bytes: a larger file is skipped.

    Raises:
        UserError: a path that does not exist.
    """
    sources: list[Source] = []
    skipped: list[Skipped] = []
    roots = [Path(path) for path in paths]
    for root in roots:
        if not root.exists():
            raise UserError("datastore.no_path", path=root)
        base = root.resolve()
        if base.is_dir():
            for path in _walk(base, base.name, skipped):
                name = f"{base.name}/{path.relative_to(base).as_posix()}"
                _consider(path, name, base, max_file_bytes, sources, skipped)
        else:
            _consider(base, base.name, base.parent, max_file_bytes, sources, skipped)
    return Corpus(sources, skipped, ", ".join(root.name or str(root) for root in roots))


def python_stdlib() -> Corpus:
    """The sources of the running Python's standard library, its tests left out."""
    base = Path(sysconfig.get_path("stdlib")).resolve()
    sources: list[Source] = []
    skipped: list[Skipped] = []
    for path in _walk(base, base.name, skipped, TEST_FOLDERS):
        if path.suffix == ".py":
            _consider(path, path.relative_to(base).as_posix(), base, MAX_FILE_BYTES, sources, skipped)
    files = [s for s in skipped if s.name.endswith(".py")]  # folders are left out by design, not for a fault
    return Corpus(sources, files, f"Python {sysconfig.get_python_version()} standard library")


def read_document(source: Source) -> Document | Skipped:
    """Read one file as UTF-8 text (with or without a byte order mark)."""
    try:
        data = source.path.read_bytes()
    except OSError:
        return Skipped(source.name, "unreadable", source.size)
    if b"\0" in data:
        return Skipped(source.name, "binary", source.size)
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        return Skipped(source.name, "not_utf8", source.size)
    if not text.strip():
        return Skipped(source.name, "empty", source.size)
    return Document(source.name, text, source.size)


def _walk(base: Path, name: str, skipped: list[Skipped], without: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Files below ``base``, sorted; notes the folders that are not entered."""
    def unreadable(error: OSError) -> None:
        skipped.append(Skipped(f"{name}/{Path(error.filename).relative_to(base).as_posix()}", "unreadable"))

    for folder, folders, files in os.walk(base, onerror=unreadable):
        entered = []
        for inner in sorted(folders):
            path = Path(folder, inner)
            reason = ("hidden" if inner.startswith(".") else "generated" if inner in GENERATED_FOLDERS | without
                      else "link" if path.is_symlink() else None)
            if reason:
                skipped.append(Skipped(f"{name}/{path.relative_to(base).as_posix()}", reason))
            else:
                entered.append(inner)
        folders[:] = entered
        yield from (Path(folder, file) for file in sorted(files))


def _consider(path: Path, name: str, base: Path, max_file_bytes: int,
              sources: list[Source], skipped: list[Skipped]) -> None:
    """Add one file to the sources, or to the skipped for what its name and size show."""
    try:
        outside = path.is_symlink() and not path.resolve().is_relative_to(base)
        status = path.stat()
    except (OSError, RuntimeError):  # a broken link, or a loop of links
        skipped.append(Skipped(name, "unreadable"))
        return
    reason = ("hidden" if path.name.startswith(".") else "link" if outside
              else "special" if not stat.S_ISREG(status.st_mode)
              else "empty" if status.st_size == 0
              else "too_large" if status.st_size > max_file_bytes else None)
    if reason:
        skipped.append(Skipped(name, reason, status.st_size))
    else:
        sources.append(Source(name, path, status.st_size))
