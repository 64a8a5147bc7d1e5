"""A corpus of any kind of files: iterating opens archives, tells kinds, and gives documents one by one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from ..corpus import Document, Skipped, Source, files_corpus
from . import pages, records
from .archives import File, printed, tar_files, zip_files
from .chat import Render, plain
from .kinds import ARCHIVES, HEAD, PARSED, kind_of, promised_damage
from .limits import Account, Limits
from .text import Unreadable, decode


class Gathered:
    """Documents of files, folders and archives.

    Args:
        sources: files; an archive among them stands for what it holds.
        skipped: what the search for them left out.
        description: where it came from, for people.
        limits: see ``Limits``.
        field: of record files and tables, the field to read; empty: each file's own choice.
        render: makes a text of a chat.

    Attributes:
        size: of all items that iterating gives, for the progress; about, until a survey has set it.
        fields: of the record files that the latest iteration met.
    """

    def __init__(self, sources: list[Source], skipped: list[Skipped], description: str, limits: Limits = Limits(),
                 field: str = "", render: Render = plain) -> None:
        self.sources, self.skipped, self.description = sources, skipped, description
        self.limits, self.field, self.render = limits, field, render
        self.size = sum(source.size for source in sources)
        self.fields = records.Fields()

    def __iter__(self) -> Iterator[Document | Skipped]:
        """Every document, and everything that only reading shows to be none.

        Raises:
            UserError: the corpus passes a limit.
        """
        self.fields = records.Fields()
        account, names = Account(self.limits), Counter[str]()
        for source in self.sources:
            for item in self._files(source, account):
                if isinstance(item, Skipped):
                    yield item
                    continue
                name = _numbered(printed(item.name), names)
                for document in self._documents(name, item.data):
                    if isinstance(document, Document):
                        account.take_document(len(document.text))
                    yield document

    def _files(self, source: Source, account: Account) -> Iterator[File | Skipped]:
        try:
            with source.path.open("rb") as file:
                kind = kind_of(source.name, file.read(HEAD))
                if kind not in ARCHIVES:
                    file.seek(0)
                    data = file.read(self.limits.file_bytes + 1)
        except OSError:
            yield Skipped(source.name, "unreadable", source.size)
            return
        if kind in ARCHIVES:
            try:
                yield from (zip_files if kind == "zip" else tar_files)(source.path, source.name, account)
            except Unreadable as error:
                yield Skipped(source.name, error.reason)
        elif len(data) > self.limits.file_bytes:
            yield Skipped(source.name, "too_large", source.size)
        else:
            account.take_bytes(len(data))
            yield File(source.name, data)

    def _documents(self, name: str, data: bytes) -> Iterator[Document | Skipped]:
        kind = kind_of(name, data[:HEAD])
        try:
            if kind in ARCHIVES or kind in ("office", "other_archive"):
                raise Unreadable("nested" if kind in ARCHIVES else kind)
            if kind in PARSED and len(data) > self.limits.parsed_bytes:
                raise Unreadable("parse_too_large")
            if kind in ("jsonl", "csv", "tsv", "parquet"):
                yield from self._records(name, data, kind)
            elif kind == "json":
                yield from self._json(name, data)
            else:
                text, encoding = _single_text(kind, data)
                if not text.strip():
                    raise Unreadable("empty")
                yield Document(name, text, len(data), kind, encoding)
        except Unreadable as error:
            damage = promised_damage(name) if error.reason in ("binary", "encoding") else None
            yield Skipped(name, damage or error.reason, len(data))

    def _json(self, name: str, data: bytes) -> Iterator[Document | Skipped]:
        text, encoding = decode(data)
        try:
            found, broken = records.json_records(text), False
        except ValueError:
            found, broken = None, True
        if found is None:
            yield Document(name, text, len(data), "text", encoding, broken)
        else:
            yield from self._each(name, found, "json", encoding)

    def _records(self, name: str, data: bytes, kind: str) -> Iterator[Document | Skipped]:
        if kind == "parquet":
            yield from self._each(name, records.parquet_records(data, self.field), kind, "utf-8")
            return
        text, encoding = decode(data)
        if kind == "jsonl":
            found: Iterable[object] = records.jsonl_records(text)
        else:
            found = records.table_records(text, "\t" if kind == "tsv" else None)
        yield from self._each(name, found, kind, encoding)

    def _each(self, name: str, found: Iterable[object], kind: str, encoding: str) -> Iterator[Document | Skipped]:
        """A document a record; a file that breaks off keeps the records before."""
        for number, text in enumerate(records.texts(found, self.field, self.fields, self.render), start=1):
            part = f"{name} #{number}"
            if isinstance(text, Unreadable):
                yield Skipped(part, text.reason)
            else:
                yield Document(part, text, len(text), kind, encoding)


def _numbered(name: str, names: Counter[str]) -> str:
    """A name that was met before gets a number, before its suffix, which tells its kind."""
    names[name] += 1
    if names[name] == 1:
        return name
    path = PurePosixPath(name)
    return _numbered(f"{name.removesuffix(path.suffix)} ({names[name]}){path.suffix}", names)


def _single_text(kind: str, data: bytes) -> tuple[str, str]:
    if kind == "html":
        return pages.html_text(data)
    if kind == "ipynb":
        return pages.notebook_text(data)
    return (pages.pdf_text(data), "") if kind == "pdf" else decode(data)


def gather(paths: Iterable[str | os.PathLike[str]], limits: Limits = Limits(), field: str = "",
           render: Render = plain) -> Gathered:
    """The documents of files, folders (with all files below them) and archives.

    Raises:
        UserError: a path that does not exist.
    """
    found = files_corpus(paths, limits.total_bytes)
    return Gathered(found.sources, found.skipped, found.description, limits, field, render)
