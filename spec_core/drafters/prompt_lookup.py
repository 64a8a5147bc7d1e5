"""Prompt lookup: what followed the last few tokens when they stood in the context before.

Source: Saxena, "Prompt Lookup Decoding" (2023), and ``PromptLookupCandidateGenerator`` of
``transformers``: the longest n-gram that occurs earlier, its first occurrence, a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..pieces import Pieces
from ..tree import DraftTree
from .base import Draft, Limits


class PromptLookupDrafter:
    """Drafts a chain copied from prompt and output.

    Args:
        pieces: display strings of the target's tokens.
        max_ngram: the longest n-gram looked for, then shorter ones down to one token.
        length: most tokens copied.

    ``Draft.details``::

        {"source": "prompt-lookup",
         "matched": 2,                    # tokens of the n-gram found, 0: none
         "suffix": ["for", " i"],         # its pieces
         "attempts": [{"length": 3, "hits": 0}, {"length": 2, "hits": 4}],
         "hits": 4,                       # earlier occurrences; the first is copied
         "position": 17,                  # in the context, of the first copied token; None: nothing copied
         "sources": [["context"], …]}     # of each node
    """

    name = "prompt-lookup"

    def __init__(self, pieces: Pieces, *, max_ngram: int = 3, length: int = 10) -> None:
        self.settings: dict[str, Any] = {"max_ngram": max_ngram, "length": length}
        self._pieces = pieces
        self._context = np.zeros(0, np.int64)

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._context = np.array(context, dtype=np.int64)

    def commit(self, tokens: Sequence[int]) -> None:
        """The context grew."""
        self._context = np.append(self._context, np.array(tokens, dtype=np.int64))

    def propose(self, limits: Limits) -> Draft:
        """A chain within the limits; an empty tree when nothing matches."""
        context, attempts, found, n = self._context, [], np.zeros(0, np.int64), 0
        for n in range(min(self.settings["max_ngram"], len(context) - 1), 0, -1):
            windows = np.lib.stride_tricks.sliding_window_view(context[:-1], n)  # something follows each
            found = np.flatnonzero((windows == context[-n:]).all(axis=1))
            attempts.append({"length": n, "hits": len(found)})
            if len(found):
                break
        matched = n if len(found) else 0
        copied: list[int] = []
        if matched:
            start = int(found[0]) + n
            length = max(0, min(self.settings["length"], limits.max_depth, limits.max_nodes))
            copied = context[start:start + length].tolist()
        return Draft(DraftTree.chain(copied), {
            "source": self.name, "matched": matched,
            "suffix": self._pieces.of(context[len(context) - matched:].tolist()),
            "attempts": attempts, "hits": len(found),
            "position": start if copied else None,
            "sources": [["context"]] * len(copied),
        })
