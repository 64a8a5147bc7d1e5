"""Display strings of tokens: one piece a token, or a run of tokens as text; nothing lost, no replacement characters."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SHOWN_BYTE = re.compile(r"(⟨[0-9a-f]{2}⟩)")
_CONTINUATION = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that begin no character."""


class Pieces:
    """``pieces[id]``: the text of one token by itself.

    A byte that is no complete UTF-8 character by itself is written like ``⟨e4⟩``; ``texts``
    puts the characters of several tokens together again.

    Args:
        tokenizer: a ``transformers`` tokenizer (byte-level BPE, or SentencePiece style).
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = set(tokenizer.added_tokens_decoder)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._byte_level = backend is not None and "ByteLevel" in str(backend.decoder)
        self._known: dict[int, str] = {}
        self._bytes_known: dict[int, bytes] = {}

    def __getitem__(self, token: int) -> str:
        piece = self._known.get(token)
        if piece is None:
            piece = self._known[token] = self._make(int(token))
        return piece

    def of(self, tokens: Iterable[int]) -> list[str]:
        """The pieces of several tokens."""
        return [self[token] for token in tokens]

    def bytes_of(self, token: int) -> bytes:
        """The bytes that a token stands for."""
        known = self._bytes_known.get(token)
        if known is None:
            known = self._bytes_known[token] = read_bytes(self[token])
        return known

    def texts(self, runs: Iterable[Sequence[int]], from_start: bool = True, to_end: bool = True) -> list[str]:
        """Runs of tokens that follow one another, as text for people; see ``whole_characters``."""
        return whole_characters([b"".join(map(self.bytes_of, run)) for run in runs], from_start, to_end)

    def _make(self, token: int) -> str:
        text = self._tokenizer.convert_ids_to_tokens(token)
        if text is None:  # an id of the model's padded vocabulary, without a token
            return f"⟨{token}⟩"
        if token in self._special:
            return text
        return show_bytes(self._bytes(text))

    def _bytes(self, text: str) -> bytes:
        if self._byte_level:
            table = _byte_of_character()
            return b"".join(bytes([table[c]]) if c in table else c.encode() for c in text)
        if match := _BYTE_TOKEN.fullmatch(text):
            return bytes([int(match[1], 16)])
        return text.replace("\u2581", " ").encode()


def show_bytes(data: bytes) -> str:
    """Text of ``data``; bytes outside complete UTF-8 characters as ``⟨e4⟩``."""
    text = data.decode("utf-8", errors="surrogateescape")
    return "".join(f"⟨{ord(c) - 0xDC00:02x}⟩" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def whole_characters(parts: Sequence[bytes], from_start: bool = True, to_end: bool = True) -> list[str]:
    """UTF-8 parts of one text as strings: a character that a cut goes through stands in the part that it ends in.

    Args:
        parts: bytes, one after the other.
        from_start, to_end: False where the text was cut there, too: what is left of a
            character at that edge is dropped. Other bytes that are no text show as ``⟨e4⟩``.
    """
    try:
        return [part.decode() for part in parts]  # as nearly always, no cut goes through a character
    except UnicodeDecodeError:
        pass
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    begun, texts = from_start, []
    for part in parts:
        part = part if begun else part.lstrip(_CONTINUATION)
        begun = begun or bool(part)
        texts.append(decoder.decode(part))
    if to_end:
        texts[-1] += decoder.decode(b"", final=True)
    return [show_bytes(text.encode("utf-8", "surrogateescape")) for text in texts]


@cache
def _byte_of_character() -> dict[str, int]:
    """GPT-2's byte alphabet: printable bytes stand for themselves, the rest are moved above 255."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [b for b in range(256) if b not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(moved)}


def read_bytes(piece: str) -> bytes:
    """The bytes that a piece shows: the inverse of ``show_bytes``."""
    return b"".join(bytes([int(part[1:3], 16)]) if _SHOWN_BYTE.fullmatch(part) else part.encode()
                    for part in _SHOWN_BYTE.split(piece))
