"""Bytes to text: byte order marks, UTF-8, else whatever charset-normalizer makes of it."""

from __future__ import annotations

import codecs
import io

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
         (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))  # UTF-32's begins with UTF-16's
SAMPLE = 2**18
"""Bytes that the encoding is told from; the whole must agree with them."""
WESTERN, CLOSE = "cp1252", 0.06
"""The most common of all the old encodings is believed where it looks about as good as the best."""


class Unreadable(Exception):
    """A file of which nothing can be read. ``reason`` is the last part of a key ``datastore.skip.…``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def decode(data: bytes) -> tuple[str, str]:
    """The text of a file and its encoding, as Python names it.

    Raises:
        Unreadable: ``binary``, ``encoding`` (none fits the whole file), or ``empty``.
    """
    text, encoding = _decode(data)
    if not text.strip():
        raise Unreadable("empty")
    return text, encoding


def _decode(data: bytes) -> tuple[str, str]:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return data.removeprefix(mark).decode(encoding), encoding
            except UnicodeDecodeError as error:
                raise Unreadable("encoding") from error
    if b"\0" in data:
        raise Unreadable("binary")
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        encoding = _guess(data)
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError as error:
        raise Unreadable("encoding") from error


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    lines, size = [], 0
    for line in io.BytesIO(data):
        if not line.isascii():  # the others tell nothing, and outweigh the rest
            lines.append(line)
            size += len(line)
            if size >= SAMPLE:
                break
    matches = from_bytes(b"".join(lines)[:SAMPLE])
    best = matches.best()
    if best is None:
        raise Unreadable("encoding")
    western = any(match.encoding == WESTERN and match.chaos < best.chaos + CLOSE for match in matches)
    return WESTERN if western else best.encoding
