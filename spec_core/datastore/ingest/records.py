"""Tables and record files: which of their fields holds the text, and the text of each record.

A field is chosen by the user, or by each file: one that is called like a text, else the one
with the most characters. A record's text is a string, or a chat.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .chat import Render, messages_of
from .text import Unreadable

PREFERRED = ("text", "content", "code", "messages", "conversations", "conversation", "chat", "body", "document",
             "completion", "output", "response", "answer")
PROBED = 50
"""Records that the choice of a field looks at."""
SHOWN = 80
"""Characters of a field's example."""
MOST_FIELDS = 100

csv.field_size_limit(2**31 - 1)  # a file's size is limited already; for all of the process, so once


@dataclass
class Field:
    """A field that holds text: how many records were looked at, an example, and whether it is a chat."""

    name: str
    records: int
    example: str
    chat: bool


class Fields:
    """The fields met so far, by name."""

    def __init__(self) -> None:
        self.found: dict[str, Field] = {}

    def note(self, record: Mapping[str, Any]) -> None:
        """Remember the fields of a record that could be chosen."""
        for name, value in record.items():
            chat = messages_of(value)
            text = chat[0]["content"] if chat else value
            if not isinstance(name, str) or not isinstance(text, str) or not text.strip():
                continue
            if name in self.found:
                self.found[name].records += 1
            elif len(self.found) < MOST_FIELDS:
                self.found[name] = Field(name, 1, " ".join(text[:4 * SHOWN].split())[:SHOWN], chat is not None)


def json_records(text: str) -> list[Any] | None:
    """The records of a ``.json``; None where it holds none, so that it is a text like any other.

    A list of objects or of strings, an object that holds one such list (``{"data": […]}``), a
    single chat, or a single object with a field called like a text.

    Raises:
        ValueError: it is no JSON, or is nested deeper than can be parsed.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if messages_of(value):
        return [{"messages": value}]
    if isinstance(value, dict):
        if any(isinstance(value.get(name), str) or messages_of(value.get(name)) for name in PREFERRED):
            return [value]
        lists = [inner for inner in value.values() if _is_records(inner) and isinstance(inner[0], dict)]
        return lists[0] if len(lists) == 1 else None
    return value if _is_records(value) else None


def jsonl_records(text: str) -> Iterator[Any]:
    """One record a line.

    Raises:
        Unreadable: a line that is no JSON.
    """
    for line in io.StringIO(text):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise Unreadable("not_jsonl") from error


def table_records(text: str, delimiter: str | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a CSV or TSV whose first row names the columns; without a ``delimiter`` it is told from that row."""
    if delimiter is None:
        header = text.lstrip().partition("\n")[0]
        delimiter = max(",;\t|", key=header.count)
    try:
        yield from csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    except csv.Error as error:
        raise Unreadable("not_table") from error


def parquet_records(data: bytes, chosen: str) -> Iterator[dict[str, Any]]:
    """The rows of a parquet file: its string and list columns, or only the chosen one.

    Strings stay dictionary-encoded until they are asked for one by one, so that a small file
    does not become gigabytes at once.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.ParquetFile(io.BytesIO(data)).schema_arrow
        strings = [f.name for f in schema if pyarrow.types.is_string(f.type) or pyarrow.types.is_large_string(f.type)]
        lists = [f.name for f in schema if pyarrow.types.is_list(f.type) or pyarrow.types.is_large_list(f.type)]
        columns = [name for name in (*strings, *lists) if not chosen or name == chosen][:MOST_FIELDS]
        if not columns:
            raise Unreadable("no_field")
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data), read_dictionary=strings)
        for batch in file.iter_batches(batch_size=256, columns=columns):
            for row in range(batch.num_rows):
                yield {name: batch.column(i)[row].as_py() for i, name in enumerate(batch.schema.names)}
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable("not_parquet") from error


def texts(records: Iterable[Any], chosen: str, fields: Fields, render: Render) -> Iterator[str | Unreadable]:
    """The text of each record that has one; a record that cannot become text is given as its reason.

    Args:
        records: objects, or plain strings.
        chosen: a field's name; empty: the file's own choice.
        fields: where the fields are noted.
        render: makes a text of a chat.

    Raises:
        Unreadable: ``no_field`` where no record has the field.
    """
    records = iter(records)
    head = list(itertools.islice(records, PROBED))
    for record in head:
        if isinstance(record, dict):
            fields.note(record)
    name = chosen or _own_choice(head)
    met = False
    for record in itertools.chain(head, records):
        value = record.get(name) if isinstance(record, dict) else record if not chosen else None
        chat = messages_of(value)
        if chat is None and not isinstance(value, str):
            continue
        met = True
        try:
            text = render(chat) if chat else value
        except Unreadable as reason:
            yield reason
            continue
        if text.strip():
            yield text
    if not met:
        raise Unreadable("no_field")


def _own_choice(records: list[Any]) -> str:
    objects = [record for record in records if isinstance(record, dict)]
    lengths: dict[str, int] = {}
    for record in objects:
        for name, value in record.items():
            chat = messages_of(value)
            if isinstance(name, str) and (chat or isinstance(value, str)):
                lengths[name] = lengths.get(name, 0) + (sum(len(m["content"]) for m in chat) if chat else len(value))
    for name in PREFERRED:
        if lengths.get(name):
            return name
    return max(lengths, key=lambda name: lengths[name], default="")


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and (
        all(isinstance(item, dict) for item in value) or all(isinstance(item, str) for item in value))
