"""A causal language model with one sequence in its cache: what targets and draft models share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .attention import NAME as GROUPED_SDPA
from .attention import fold_mask
from .cache import TreeCache
from .pieces import Pieces

PREFILL_CHUNK = 512
"""Prompt tokens a forward: bounds the mask and the activations of a long prompt."""


class LanguageModel:
    """A model of ``transformers``, its tokenizer, and a cache of committed and pending rows.

    Args:
        name: shown to users.
        model: from ``AutoModelForCausalLM``, in evaluation mode.
        tokenizer: the model's tokenizer.
    """

    def __init__(self, name: str, model: Any, tokenizer: Any) -> None:
        self.name = name
        self.model = model
        self.tokenizer = tokenizer
        self.pieces = Pieces(tokenizer)
        config = model.config.get_text_config()
        self.vocab_size: int = config.vocab_size
        self.context_limit: int = config.max_position_embeddings
        self.eos_ids = _eos_ids(model, tokenizer)
        self.cache = TreeCache(config.num_hidden_layers)
        self._layer_types = set(getattr(config, "layer_types", None) or ["full_attention"])
        self._window: int | None = getattr(config, "sliding_window", None)
        self._groups = 1
        self._groups_folded = model.config._attn_implementation == GROUPED_SDPA
        if self._groups_folded:
            self._groups = config.num_attention_heads // config.num_key_value_heads

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        """What the model computes in."""
        return self.model.dtype

    def read(self, tokens: Sequence[int]) -> torch.Tensor | None:
        """Commit ``tokens`` behind the context, in chunks.

        Returns:
            logits (vocabulary,) that follow the last of them; None where there are none.
        """
        self.cache.drop_pending()
        logits = None
        for start in range(0, len(tokens), PREFILL_CHUNK):
            chunk = tokens[start:start + PREFILL_CHUNK]
            logits = self._read_chunk(chunk, last=start + len(chunk) == len(tokens))
            self.cache.keep(range(len(chunk)))
        return logits

    @torch.inference_mode()
    def _read_chunk(self, tokens: Sequence[int], last: bool) -> torch.Tensor | None:
        """One forward over causal rows: the last chunk's last row gives logits, before it the head is not computed."""
        causal = np.tril(np.ones((len(tokens), len(tokens)), dtype=bool))
        positions = np.arange(self.cache.length, self.cache.length + len(tokens))
        # rows that begin an empty cache are plainly causal, which attention does without a mask
        plain = self.cache.length == 0 and self._groups_folded and "sliding_attention" not in self._layer_types
        masks = None if plain else self._masks(causal, positions)[0]
        if not last:
            self._run(self.model.base_model, tokens, masks, positions)
            return None
        return self._run(self.model, tokens, masks, positions, logits_to_keep=1).logits[0, -1]

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], mask: np.ndarray,
                positions: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
        """One forward over new rows, which become pending.

        Args:
            tokens: n token ids.
            mask: bool (n, pending + n): which pending and new rows a row sees; it sees all committed ones.
            positions: int64 (n,) position ids.

        Returns:
            logits (n, vocabulary), and the mask read back from the tensor that was used.
        """
        masks, used = self._masks(mask, positions)
        return self._run(self.model, tokens, masks, positions).logits[0], used

    def _run(self, model: Any, tokens: Sequence[int], masks: Any, positions: np.ndarray, **settings: Any) -> Any:
        """What ``model``, with or without its head, makes of new rows, which become pending."""
        output = model(
            input_ids=torch.tensor([tokens], device=self.device),
            attention_mask=masks,
            position_ids=torch.from_numpy(positions)[None].to(self.device),
            cache=self.cache, use_cache=True, **settings,
        )
        self.cache.append(positions.tolist())
        return output

    def _masks(self, mask: np.ndarray, positions: np.ndarray) -> tuple[Any, np.ndarray]:
        """Float masks over ``[committed] + pending + new`` by layer type, and the part behind the committed rows."""
        committed, rows = self.cache.length, len(mask)
        visible = torch.ones((rows, committed + mask.shape[1]), dtype=torch.bool)
        visible[:, committed:] = torch.from_numpy(mask)
        masks = {}
        for layer_type in self._layer_types:
            seen = visible
            if layer_type == "sliding_attention" and self._window:
                seen = visible & self._within_window(positions)
            # a lone row that sees everything needs no mask, and is faster without
            lone = rows == 1 and bool(seen.all())
            masks[layer_type] = None if lone else fold_mask(seen.to(self.device), self._groups, self.dtype)
        full = masks.get("full_attention")
        used = mask if full is None else (full[0, 0, :rows, committed:] == 0).cpu().numpy()
        return (full if set(masks) == {"full_attention"} else masks), used

    def _within_window(self, positions: np.ndarray) -> torch.Tensor:
        """bool (n, committed + pending + n): keys less than a window behind, by position, not by row."""
        keys = np.concatenate([np.arange(self.cache.length), self.cache.pending_positions, positions])
        return torch.from_numpy(positions[:, None] - keys[None, :] < self._window)


def _eos_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    ids = model.generation_config.eos_token_id if model.generation_config else None
    ids = tokenizer.eos_token_id if ids is None else ids
    return frozenset([] if ids is None else [ids] if isinstance(ids, int) else ids)
