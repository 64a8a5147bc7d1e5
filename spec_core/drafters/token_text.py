"""Tokens as bytes: where each token begins and ends in the text, and text back to tokens.

Two tokenizers meet in the bytes of the text. A byte position where both have a token
boundary is a place where one may go over from the tokens of the one to those of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ..pieces import Pieces


class TokenText:
    """One tokenizer's view of a text.

    Args:
        tokenizer: a fast ``transformers`` tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._encode = tokenizer.backend_tokenizer.encode
        self.pieces = Pieces(tokenizer)

    def bytes_of(self, token: int) -> bytes:
        """The bytes that a token stands for."""
        return self.pieces.bytes_of(token)

    def join(self, tokens: Sequence[int]) -> bytes:
        """The bytes of several tokens."""
        return b"".join(map(self.bytes_of, tokens))

    def ends(self, tokens: Sequence[int]) -> list[int]:
        """The byte position behind each token."""
        return list(accumulate(len(self.bytes_of(token)) for token in tokens))

    def split(self, data: bytes) -> tuple[list[int], list[int]]:
        """Token ids of ``data``, and their boundaries in it, 0 included.

        A space that the tokenizer puts before the text (SentencePiece) is not counted. ``([], [0])``
        where ``data`` is no text, or the tokenizer changes it otherwise.
        """
        if not is_text(data):
            return [], [0]
        ids = self._encode(data.decode("utf-8"), add_special_tokens=False).ids
        made, ends = self.join(ids), self.ends(ids)
        if made == data:
            return ids, [0, *ends]
        if made == b" " + data:
            return ids, [0, *(end - 1 for end in ends)]
        return [], [0]


def is_text(data: bytes) -> bool:
    """Whether ``data`` is complete UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def split_unfinished(data: bytes) -> tuple[bytes, bytes]:
    """``data`` up to its last complete UTF-8 character, and the bytes of the character that has begun."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:  # a continuation byte
            continue
        needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return (data, b"") if needed <= back else (data[:-back], data[-back:])
    return data, b""
