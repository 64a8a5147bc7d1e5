"""Conversations that the target has with itself: user turns and answers, written in one go.

Given the beginning of a user turn, an instruct model writes one (Magpie, Xu et al., 2024). All rows
of a batch stand at the same position, so nothing is padded, and the labels fall out of the very
forwards that generate: the cheapest data there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from .prompts import SYSTEM, USER

TURN_TEMPERATURE = 0.9
ANSWER_TEMPERATURE = 0.8
MOST_TURN, MOST_ANSWER = 96, 128
"""Tokens; a longer one is ended: greedy answers of a small model fall into loops."""


@torch.inference_mode()
def converse(model: Any, tokenizer: Any, openings: list[list[int]] | None, rows: int, length: int,
             top: int) -> dict[str, np.ndarray]:
    """Conversations of ``length`` tokens; every second row answers greedily, the others sample.

    Args:
        openings: of each row, what is answered first, shorter than ``length``; None begins with turns of its own.

    Returns:
        tokens: int32 (rows, length); generated: bool (rows, length), of an answer; label_tokens int32 and
        label_probs float16 (rows, length, top): the target's distribution of the token after each position.
    """
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    scripts = {"turn": tokenizer("\n" + USER).input_ids, "answer": tokenizer("\n<|im_start|>assistant\n").input_ids}
    begin = tokenizer(SYSTEM + USER).input_ids
    speakers = [_Speaker(row % 2 == 0, end, scripts, openings[row] if openings else begin, openings is not None)
                for row in range(rows)]
    cache = BatchCache(model.config.num_hidden_layers, length)
    tokens = np.zeros((rows, length), dtype=np.int32)
    generated = np.zeros((rows, length), dtype=bool)
    label_tokens = np.zeros((rows, length, top), dtype=np.int32)
    label_probs = np.zeros((rows, length, top), dtype=np.float16)
    logits = likeliest = None
    for t in range(length):
        for row, speaker in enumerate(speakers):
            tokens[row, t], generated[row, t] = speaker.script() or speaker.next(likeliest[row], logits[row])
        positions = torch.full((rows, 1), t)
        logits = model(input_ids=torch.from_numpy(tokens[:, t:t + 1]).long(), position_ids=positions,
                       cache=cache, use_cache=True).logits[:, 0].float()
        best = logits.topk(top)
        likeliest = best.indices[:, 0].tolist()
        label_tokens[:, t] = best.indices.numpy()
        label_probs[:, t] = (best.values - logits.logsumexp(-1, keepdim=True)).exp().numpy()
    return {"tokens": tokens, "generated": generated, "label_tokens": label_tokens, "label_probs": label_probs}


class _Speaker:
    """Whose turn it is in one conversation, and what is said next.

    Args:
        opening: read first.
        answering: whether an answer follows it, or the user's turn.
    """

    def __init__(self, greedy: bool, end: int, scripts: dict[str, list[int]], opening: list[int], answering: bool) -> None:
        self._greedy, self._end, self._scripts = greedy, end, scripts
        self._script = list(reversed(opening))
        self._answering, self._said = answering, 0

    def script(self) -> tuple[int, bool] | None:
        """The next token of what is read, if there is any left."""
        return (self._script.pop(), False) if self._script else None

    def next(self, likeliest: int, logits: torch.Tensor) -> tuple[int, bool]:
        """The next token that is said, and whether it belongs to an answer."""
        answering = self._answering
        if self._said >= (MOST_ANSWER if answering else MOST_TURN):
            token = self._end
        elif answering and self._greedy:
            token = likeliest
        else:
            token = _drawn(logits / (ANSWER_TEMPERATURE if answering else TURN_TEMPERATURE))
        self._said += 1
        if token == self._end:
            self._answering, self._said = not answering, 0
            self._script = list(reversed(self._scripts["answer" if self._answering else "turn"]))
        return token, answering


def _drawn(logits: torch.Tensor) -> int:
    """A token by inversion: one uniform, where ``multinomial`` draws an exponential for every entry."""
    cumulative = logits.softmax(-1).cumsum(-1)
    return int(torch.searchsorted(cumulative, torch.rand(1) * cumulative[-1]).clamp(max=len(logits) - 1))


class BatchCache(Cache):
    """Keys and values of rows that all stand at the same position, in buffers that never grow."""

    def __init__(self, layers: int, length: int) -> None:
        super().__init__(layers=[_BatchLayer(length) for _ in range(layers)])


class _BatchLayer(CacheLayerMixin):
    is_sliding = False

    def __init__(self, length: int) -> None:
        super().__init__()
        self._most, self._length = length, 0
        self._keys = self._values = None
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Buffers are made at the first update."""

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor,
               *_: object, **__: object) -> tuple[torch.Tensor, torch.Tensor]:
        """Append, and return all keys and values so far."""
        if self._keys is None:
            batch, heads, _, dim = key_states.shape
            self._keys, self._values = (key_states.new_empty(batch, heads, self._most, dim) for _ in range(2))
        begin, self._length = self._length, self._length + key_states.shape[2]
        self._keys[:, :, begin:self._length], self._values[:, :, begin:self._length] = key_states, value_states
        return self._keys[:, :, :self._length], self._values[:, :, :self._length]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Keys that a query of this length sees, and their offset."""
        return self._length + query_length, 0

    def get_seq_length(self) -> int:
        """Rows so far."""
        return self._length

    def get_max_length(self) -> int:
        """Room in the buffers."""
        return self._most
