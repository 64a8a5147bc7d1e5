"""The target: one forward over a draft tree, and a cache that follows the accepted path.

The cache holds every committed token but the last, the *root*. Each step verifies root
and tree in one forward; with an empty tree this is plain decoding.

Source: SpecInfer (Miao et al., 2023), §4.2 "tree-based parallel decoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .attention import NAME as GROUPED_SDPA
from .attention import fold_mask
from .cache import TreeCache
from .pieces import Pieces
from .tree import DraftTree, mask_sha256

PREFILL_CHUNK = 512
"""Prompt tokens a forward: bounds the mask and the activations of a long prompt."""


@dataclass(frozen=True)
class Verification:
    """What one target forward gave.

    Args:
        logits: (n + 1, vocabulary); row 0 follows the root, row i + 1 follows node i.
        mask_sha256: checksum of the (n + 1) × (n + 1) mask, read back from the tensor that was used.
    """

    logits: torch.Tensor
    mask_sha256: str


class TargetModel:
    """A causal language model of ``transformers`` with one sequence in its cache.

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
        self._layer_types = set(getattr(config, "layer_types", None) or ["full_attention"])
        self._window: int | None = getattr(config, "sliding_window", None)
        self._groups = 1
        if model.config._attn_implementation == GROUPED_SDPA:
            self._groups = config.num_attention_heads // config.num_key_value_heads
        self._cache = TreeCache(config.num_hidden_layers)

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        """What the model computes in."""
        return self.model.dtype

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence: read all of ``context`` but its last token, the root."""
        self._cache.clear()
        for start in range(0, len(context) - 1, PREFILL_CHUNK):
            chunk = context[start:min(start + PREFILL_CHUNK, len(context) - 1)]
            causal = np.tril(np.ones((len(chunk), len(chunk)), dtype=bool))
            positions = np.arange(start, start + len(chunk))
            self._forward(chunk, causal, positions, logits_to_keep=1)
            self._cache.keep(range(len(chunk)))

    def verify(self, root: int, tree: DraftTree) -> Verification:
        """One forward over ``[root] + tree``. The cache is changed by ``commit`` only."""
        positions = tree.positions(self._cache.length)
        logits, used = self._forward([root, *tree.tokens], tree.mask, positions, logits_to_keep=0)
        return Verification(logits, mask_sha256(used))

    def commit(self, nodes: Sequence[int]) -> None:
        """Keep root and these accepted nodes of the last ``verify``; the other rows are rolled back."""
        self._cache.keep([0, *(node + 1 for node in nodes)])

    @torch.inference_mode()
    def _forward(self, tokens: Sequence[int], mask: np.ndarray, positions: np.ndarray,
                 logits_to_keep: int) -> tuple[torch.Tensor, np.ndarray]:
        masks, used = self._masks(mask, positions)
        output = self.model(
            input_ids=torch.tensor([tokens], device=self.device),
            attention_mask=masks,
            position_ids=torch.from_numpy(positions)[None].to(self.device),
            cache=self._cache, use_cache=True, logits_to_keep=logits_to_keep,
        )
        return output.logits[0], used

    def _masks(self, mask: np.ndarray, positions: np.ndarray) -> tuple[Any, np.ndarray]:
        """The float masks over ``[context] + new rows`` and, read back from them, the part over the new rows."""
        past = self._cache.length
        visible = torch.ones((len(mask), past + len(mask)), dtype=torch.bool)
        visible[:, past:] = torch.from_numpy(mask)
        masks = {}
        for layer_type in self._layer_types:
            seen = visible
            if layer_type == "sliding_attention" and self._window:
                keys = np.concatenate([np.arange(past), positions])
                seen = visible & torch.from_numpy(positions[:, None] - keys[None, :] < self._window)
            # a lone row that sees everything needs no mask, and is faster without
            lone = len(mask) == 1 and bool(seen.all())
            masks[layer_type] = None if lone else fold_mask(seen.to(self.device), self._groups, self.dtype)
        used = mask if masks.get("full_attention") is None else (
            masks["full_attention"][0, 0, :len(mask), past:] == 0).cpu().numpy()
        return (masks["full_attention"] if set(masks) == {"full_attention"} else masks), used


def _eos_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    ids = model.generation_config.eos_token_id if model.generation_config else None
    ids = tokenizer.eos_token_id if ids is None else ids
    return frozenset([] if ids is None else [ids] if isinstance(ids, int) else ids)
