"""Universal assisted generation: a small model with another tokenizer drafts.

Source: Timor et al. and Gante, "Universal Assisted Generation" (Hugging Face and Intel,
2024); the intersection of vocabularies is their "token-level intersection" (2025).

Both tokenizers are held against each other in the bytes of the text, over a short window
behind its end: history is never tokenised as a whole, and the target's is never rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..draws import Draws
from ..language_model import LanguageModel
from ..processors import Processors
from ..tree import ROOT, DraftTree
from .base import Draft, Limits
from .candidates import ChainDraws, DraftBuilder
from .token_text import TokenText, is_text, split_unfinished

WINDOW = 24
"""Tokens looked back at, on either side: far beyond what a merge across the end can reach."""


class ForeignContext:
    """The text so far in the assistant's tokens, and the cache that follows it.

    Args:
        model: the assistant, with a cache of its own.
    """

    def __init__(self, model: LanguageModel, text: TokenText) -> None:
        self.model = model
        self.text = text
        self.ids: list[int] = []
        self._begun = b""  # bytes of a character that is not complete yet
        self._drafted: list[int] = []

    def reset(self, data: bytes) -> None:
        """Begin with the bytes of a context."""
        self.model.cache.clear()
        bos = self.model.tokenizer.bos_token_id
        adds_bos = bos is not None and self.model.tokenizer("").input_ids == [bos]
        self.ids, self._begun, self._drafted = ([bos] if adds_bos else []), b"", []
        self.extend(data)

    @property
    def begun(self) -> bytes:
        """Bytes at the end of the text that the assistant cannot read yet: the begin of a character."""
        return self._begun

    def extend(self, data: bytes) -> list[int]:
        """Follow the text by ``data``. Returns the assistant's tokens that stopped matching.

        The last tokens are made anew together with the new text. Those up to the last
        boundary that old and new have in common stay, with their rows in the cache; rows
        of drafted tokens that the new text confirms are kept too.
        """
        whole, self._begun = split_unfinished(self._begun + data)
        window = self.ids[-WINDOW:]
        while window and not is_text(self.text.join(window)):  # it begins inside a character
            window = window[1:]
        ids, new = self.text.split(self.text.join(window) + whole)
        if not ids:
            window = []
            ids, new = self.text.split(whole)
        old = [0, *self.text.ends(window)]
        shared = max(set(old) & set(new))
        dropped = len(window) - old.index(shared)
        fresh = ids[new.index(shared):]
        length = len(self.ids) - dropped
        self._settle(length, fresh)
        forgotten = self.ids[length:]
        self.ids[length:] = fresh
        return forgotten

    def _settle(self, length: int, fresh: list[int]) -> None:
        """Keep the pending rows of drafted tokens that came true; forget rows that no longer match."""
        cache = self.model.cache
        if cache.length == length and cache.pending:
            confirmed = 0
            for drafted, token in zip(self._drafted[:cache.pending], fresh):
                if drafted != token:
                    break
                confirmed += 1
            cache.keep(range(confirmed))
        else:
            cache.crop(length)
        self._drafted = []

    def next_logits(self) -> Any:
        """Logits (assistant's vocabulary,) that follow the text, or the drafted tokens read so far."""
        cache = self.model.cache
        cache.crop(len(self.ids) - 1)  # the last token is read again: what follows it is asked for
        return self.model.read(self.ids[cache.length:])

    def read_drafted(self, token: int) -> Any:
        """Read one drafted token, as a pending row. Returns the logits that follow it."""
        self._drafted.append(token)
        rows = len(self._drafted)
        logits, _ = self.model.forward([token], np.ones((1, rows), dtype=bool), np.array([self.model.cache.length + rows - 1]))
        return logits[0]

    @property
    def room(self) -> int:
        """Tokens that the assistant can still read."""
        return self.model.context_limit - len(self.ids)


class UniversalDrafter:
    """Drafts a chain in the assistant's tokens, and hands it over in the target's.

    ``method="text"``: the assistant's tokens become text, and the text the target's tokens. They
    count as chosen: one draw a node judges them exactly.
    ``method="intersection"``: only tokens that both vocabularies hold are drafted; q, restricted to them
    and renormalised, is known, and speculative sampling is exact.

    Args:
        model: the assistant.
        target_tokenizer: of the target.
        processors: of the run's sampling, over the assistant's vocabulary for ``text``, over the
            target's for ``intersection``.
        draws: its own chance.
        length: most assistant tokens a step.
        stop_below: as for ``DraftModelDrafter``.

    ``Draft.details``::

        {"source": "universal", "method": "text",
         "assistant": {"pieces": […], "ends": [byte positions from the end of the text]},
         "target": {"pieces": […], "ends": […]},
         "begun": bytes of a character at the end of the text, which the assistant drafts anew,
         "window": "the text that was looked back at",
         "dropped": assistant tokens that stopped matching, "forgotten": […their pieces]}
    """

    name = "universal"

    def __init__(self, model: LanguageModel, target_tokenizer: Any, processors: Processors, draws: Draws, *,
                 length: int = 6, stop_below: float = 0.0, method: str = "text") -> None:
        self.settings: dict[str, Any] = {"length": length, "stop_below": stop_below, "method": method}
        self._target = TokenText(target_tokenizer)
        self._context = ForeignContext(model, TokenText(model.tokenizer))
        self._processors, self._draws = processors, draws
        self._recent: list[int] = []  # target tokens, as far back as the window reaches
        self._forgotten: list[int] = []
        self._shared: dict[int, int] | None = None
        if method == "intersection":
            self._shared = shared_ids(self._target, len(target_tokenizer), self._context.text, len(model.tokenizer))
            self._own_ids, self._their_ids = list(self._shared), list(self._shared.values())

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._recent = list(context[-WINDOW:])
        self._context.reset(self._target.join(context))
        self._forgotten = []
        self._processors.reset(context if self._shared is not None else self._context.ids)

    def propose(self, limits: Limits) -> Draft:
        """Draft, and hand over what the target can read of it."""
        most = min(self.settings["length"], limits.max_depth, limits.max_nodes, self._context.room - 1)
        if most < 1 or not self._context.ids:
            return Draft(DraftTree(), self._details([], []))
        return self._propose_shared(most) if self._shared is not None else self._propose_text(most, limits)

    def commit(self, tokens: Sequence[int]) -> None:
        """The text grew."""
        self._recent = [*self._recent, *tokens][-WINDOW:]
        known = len(self._context.ids)
        self._forgotten = self._context.extend(self._target.join(tokens))
        known -= len(self._forgotten)
        self._processors.commit(tokens if self._shared is not None else self._context.ids[known:])

    def _propose_text(self, most: int, limits: Limits) -> Draft:
        drafted: list[int] = []
        chain = ChainDraws(self._processors, self._draws, self.settings["stop_below"])
        while len(drafted) < most and (drawn := chain.next(self._next_logits(drafted), drafted)):
            drafted.append(drawn[0])
        tokens = self._hand_over(self._context.text.join(drafted))[:min(limits.max_depth, limits.max_nodes)]
        return Draft(DraftTree.chain(tokens), self._details(drafted, tokens))

    def _hand_over(self, drafted: bytes) -> list[int]:
        """The target's tokens for drafted bytes, with the boundary where the committed text ends."""
        begun = self._context.begun
        if not drafted.startswith(begun):  # the character that has begun is another one
            return []
        drafted = drafted[len(begun):]
        for window in (self._recent, []):
            while window and not is_text(split_unfinished(self._target.join(window) + drafted)[0]):
                window = window[1:]
            before = self._target.join(window)
            ids, boundaries = self._target.split(split_unfinished(before + drafted)[0])
            if len(before) in boundaries[:len(ids)]:
                return ids[boundaries.index(len(before)):]
        return []

    def _propose_shared(self, most: int) -> Draft:
        builder = DraftBuilder()
        if self._context.begun:  # no shared token begins inside a character
            return Draft(DraftTree(), self._details([], []))
        drafted: list[int] = []
        chain, node = ChainDraws(self._processors, self._draws, self.settings["stop_below"]), ROOT
        while len(drafted) < most:
            logits = self._next_logits(drafted)
            scores = logits.new_full((self._processors.vocab_size,), -np.inf)
            scores[self._own_ids] = logits[self._their_ids]
            drawn = chain.next(scores, builder.tokens)
            if drawn is None:
                break
            node = builder.extend(node, *drawn)
            drafted.append(self._shared[drawn[0]])
        return builder.draft(self._details(drafted, builder.tokens))

    def _next_logits(self, drafted: Sequence[int]) -> Any:
        """Logits of the assistant behind the text and what was drafted of it."""
        return self._context.read_drafted(drafted[-1]) if drafted else self._context.next_logits()

    def _details(self, drafted: list[int], tokens: Sequence[int]) -> dict[str, Any]:
        text = self._context.text
        return {
            "source": self.name, "method": self.settings["method"],
            "assistant": {"pieces": text.pieces.of(drafted), "ends": text.ends(drafted)},
            "target": {"pieces": self._target.pieces.of(tokens), "ends": self._target.ends(tokens)},
            "begun": len(self._context.begun),
            "window": self._target.join(self._recent).decode("utf-8", errors="ignore"),
            "dropped": len(self._forgotten), "forgotten": text.pieces.of(self._forgotten),
        }


def shared_ids(target: TokenText, target_size: int, assistant: TokenText, assistant_size: int) -> dict[int, int]:
    """Target id → assistant id of the tokens that stand for the same bytes in both vocabularies."""
    theirs: dict[bytes, int] = {}
    for token in range(assistant_size):
        theirs.setdefault(assistant.bytes_of(token), token)
    shared = {token: theirs.get(target.bytes_of(token)) for token in range(target_size)}
    return {token: other for token, other in shared.items() if other is not None}
