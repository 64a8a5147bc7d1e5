"""The shipped drafter, loaded: it reads the target's tokens, and borrows the target's embeddings.

Stands in for a ``LanguageModel`` where an ``Assistant`` reads and rolls back. Attention
reaches ``WINDOW`` tokens back, as far as it was trained to; copying hints reach further.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from ..cache import TreeCache
from ..target import TargetModel
from .copying import copy_hints
from .nano_model import NanoConfig, NanoModel

WINDOW = 448
HINT_REACH = 2048
"""Tokens back that copying hints look."""


class NanoLanguageModel:
    """A nano drafter over the target's vocabulary; tokens outside its trimmed one get no probability.

    Args:
        folder: ``nano.safetensors``, ``nano.json`` and ``vocabulary.npy``.
        target: whose embeddings it borrows.
    """

    def __init__(self, folder: Path, target: TargetModel) -> None:
        about = json.loads((folder / "nano.json").read_text())
        self.config = NanoConfig(**about["config"])
        self.vocab_size, self.context_limit = target.vocab_size, target.context_limit
        dtype = target.dtype
        embeddings = target.model.get_input_embeddings().weight.detach()
        self._scale = about["scale"]
        self._embeddings = embeddings
        model = NanoModel(self.config)
        model.load_state_dict(load_file(folder / "nano.safetensors"))
        self._model = model.to(target.device, dtype).eval().requires_grad_(False)
        self._vocabulary = torch.from_numpy(np.load(folder / "vocabulary.npy").astype(np.int64)).to(target.device)
        head = torch.nn.Linear(self.config.embedding, len(self._vocabulary), bias=False, dtype=dtype, device=target.device)
        with torch.no_grad():
            head.weight.copy_(embeddings[self._vocabulary] / self._scale)
        self._head = head
        self._place = torch.full((self.vocab_size,), -1, device=target.device)
        self._place[self._vocabulary] = torch.arange(len(self._vocabulary), device=target.device)
        self.cache = _History(self.config.layers)

    def read(self, tokens: Sequence[int]) -> torch.Tensor | None:
        """Commit ``tokens``; see ``LanguageModel.read``."""
        self.cache.drop_pending()
        if not tokens:
            return None
        causal = np.tril(np.ones((len(tokens), len(tokens)), dtype=bool))
        positions = np.arange(self.cache.length, self.cache.length + len(tokens))
        logits, _ = self.forward(tokens, causal, positions, logits_to_keep=1)
        self.cache.keep(range(len(tokens)))
        return logits[-1]

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], mask: np.ndarray, positions: np.ndarray,
                logits_to_keep: int = 0) -> tuple[torch.Tensor, np.ndarray]:
        """One forward over new rows, which become pending; see ``LanguageModel.forward``."""
        cache, device, dtype = self.cache, self._vocabulary.device, self._model.token_in.weight.dtype
        cache.pending_tokens += tokens
        hints = np.stack([self._hint(row) for row in mask], axis=1)
        reach = min(cache.length, WINDOW)
        cache.reach = reach + mask.shape[1]
        visible = torch.ones((len(tokens), cache.reach), dtype=torch.bool)
        visible[:, reach:] = torch.from_numpy(mask)
        attend = None if len(tokens) == 1 and bool(visible.all()) else (
            torch.zeros(visible.shape, dtype=dtype).masked_fill_(~visible, torch.finfo(dtype).min).to(device))
        ids, hint_ids, lengths = (torch.from_numpy(x)[None].to(device)
                                  for x in (np.array(tokens), hints[0], hints[1]))
        features, copy = self._model(self._embed(ids), self._embed(hint_ids), lengths,
                                     torch.from_numpy(positions)[None].to(device), attend, cache.layers)
        cache.append(positions.tolist())
        features, copy = features[0, -logits_to_keep:], copy[0, -logits_to_keep:]
        scores = self._head(features).float()
        place = self._place[hint_ids[0, -logits_to_keep:]]
        known = ((place >= 0) & (lengths[0, -logits_to_keep:] > 0)).nonzero().squeeze(-1)
        scores[known, place[known]] += copy[known].float()
        logits = scores.new_full((len(scores), self.vocab_size), -torch.inf)
        logits[:, self._vocabulary] = scores
        return logits, mask

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self._embeddings[ids] / self._scale

    def _hint(self, row: np.ndarray) -> np.ndarray:
        """The copying hint of a row, on the path that its mask shows."""
        cache = self.cache
        path = [token for token, seen in zip(cache.pending_tokens, row, strict=True) if seen]
        return copy_hints(np.array(cache.tokens[-HINT_REACH:] + path, dtype=np.int64), min(len(cache.tokens), HINT_REACH)
                          + len(path) - 1)[:, 0]


class _History(TreeCache):
    """A cache that also knows the tokens of its rows, and shows attention the last ``reach`` of them."""

    def __init__(self, layers: int) -> None:
        self.tokens: list[int] = []
        self.pending_tokens: list[int] = []
        self.reach = 0
        super().__init__(layers)

    def keep(self, rows: Sequence[int]) -> None:
        """Commit pending rows, and their tokens."""
        self.tokens += [self.pending_tokens[row] for row in rows]
        super().keep(rows)

    def crop(self, length: int) -> None:
        """Forget rows and their tokens from ``length`` on."""
        super().crop(length)
        del self.tokens[self.length:]

    def drop_pending(self) -> None:
        """Forget the pending rows."""
        super().drop_pending()
        self.pending_tokens = []

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See ``TreeCache.write``; only the last rows are returned."""
        keys, values = super().write(layer, keys, values)
        return keys[:, :, -self.reach:], values[:, :, -self.reach:]
