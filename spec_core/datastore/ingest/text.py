"""Bytes to text: byte order marks, UTF-8, else a guess: Western European, or whatever charset-normalizer makes of it."""

from __future__ import annotations

import codecs
import io
from contextlib import suppress

from .western import ICELANDIC, WESTERN, is_western

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
         (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))  # UTF-32's begins with UTF-16's
SAMPLE = 2**18
"""Bytes that the encoding is told from; the whole must agree with them."""
CLOSE = 0.06
"""Icelandic is believed where it looks about as good as the best."""


class Guess(str):
    """The name of an encoding that nothing says, neither a mark nor the file: it was told from the bytes."""


class Unreadable(Exception):
    """A file of which nothing can be read. ``reason`` is the last part of a key ``datastore.skip.…``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def decode(data: bytes, declared: str = "") -> tuple[str, str]:
    """The text of a file and its encoding, as Python names it; a ``Guess`` where it is one.

    Args:
        data: the file.
        declared: what the file itself says its encoding is; not believed where it does not fit.

    Raises:
        Unreadable: ``binary``, ``encoding`` (none fits the whole file), or ``empty``.
    """
    text, encoding = _decode(data, declared)
    if not text.strip():
        raise Unreadable("empty")
    return text, encoding


def _decode(data: bytes, declared: str) -> tuple[str, str]:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return data.removeprefix(mark).decode(encoding), encoding
            except UnicodeDecodeError as error:
                raise Unreadable("encoding") from error
    if declared and not declared.startswith(("utf-16", "utf-32")):  # in which nobody could have read the declaration
        with suppress(LookupError, UnicodeError):
            return data.decode(declared), declared
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


def _guess(data: bytes) -> Guess:
    lines, size = [], 0
    for line in io.BytesIO(data):
        if not line.isascii():  # the others tell nothing, and outweigh the rest
            lines.append(line)
            size += len(line)
            if size >= SAMPLE:
                break
    sample = b"".join(lines)[:SAMPLE]
    return Guess(WESTERN if is_western(sample) else _detected(sample))


def _detected(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        raise Unreadable("encoding")
    close = any(match.encoding == WESTERN and match.chaos < best.chaos + CLOSE for match in matches)
    return WESTERN if close and is_western(sample, ICELANDIC) else best.encoding
