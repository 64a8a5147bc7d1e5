"""The shipped drafters, loaded.

Stands in for a ``LanguageModel`` where an ``Assistant`` reads and rolls back. Attention
reaches ``WINDOW`` tokens back, as far as it was trained to; copying hints reach further.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import PreTrainedTokenizerFast

from .. import models
from ..cache import TreeCache
from ..messages import UserError
from ..models import IsCancelled, Progress
from ..target import TargetModel
from .copying import copy_hints
from .nano_model import NanoConfig, NanoModel
from .nano_row import CompiledRow

WINDOW = 448
HINT_REACH = 2048
"""Tokens back that copying hints look."""
FEW = 3
"""On a CPU, so many rows are faster one by one, compiled, than together in torch."""


def load_nano(name: str, folder: Path, target: TargetModel, progress: Progress, cancelled: IsCancelled) -> NanoLanguageModel:
    """A shipped drafter. Raises ``UserError`` where it borrows from a model that cannot be had.

    ``folder`` holds ``nano.safetensors``, ``nano.json`` (the shape; ``borrows``: the model whose
    embeddings and tokenizer it uses, or null), ``vocabulary.npy`` (int32, the ids that it
    emits, rising), and where it borrows nothing, its embeddings and ``tokenizer.json`` as well.
    """
    about = json.loads((folder / "nano.json").read_text(encoding="utf-8"))
    weights = load_file(folder / "nano.safetensors")
    if about["borrows"] is None:
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
        embeddings = weights.pop("embeddings")
    elif about["borrows"] == target.name:
        tokenizer, embeddings = target.tokenizer, target.model.get_input_embeddings().weight.detach()
    else:
        tokenizer = models.load_tokenizer(about["borrows"], progress, cancelled)
        embeddings = _embeddings(models.path_of(about["borrows"], progress, cancelled))
    model = NanoModel(NanoConfig(**about["config"]))
    model.load_state_dict(weights)
    vocabulary = torch.from_numpy(np.load(folder / "vocabulary.npy").astype(np.int64))
    dtype = torch.float32 if target.device.type == "cpu" else target.dtype  # which so small layers are quicker in
    return NanoLanguageModel(name, model.to(target.device, dtype), tokenizer, embeddings.to(target.device, dtype),
                             about["scale"], vocabulary.to(target.device))


def _embeddings(folder: Path) -> torch.Tensor:
    """The token embeddings of a model, without loading the rest of it."""
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for key in file.keys():
                if key.endswith("embed_tokens.weight"):
                    return file.get_tensor(key)
    raise UserError("model.unreadable", name=folder.name, reason="no token embeddings")


class NanoLanguageModel:
    """A nano drafter; tokens outside its trimmed vocabulary get no probability.

    Args:
        name: shown to users.
        model: the network, which is this object's from now on.
        tokenizer: of the tokens that it reads.
        embeddings: (vocabulary, embedding) of these tokens.
        scale: that they are divided by.
        vocabulary: int64 (trimmed,), the ids that it emits, rising.
    """

    context_limit = 2**30
    """None: it attends to the last ``WINDOW`` tokens only."""

    def __init__(self, name: str, model: NanoModel, tokenizer: Any, embeddings: torch.Tensor, scale: float,
                 vocabulary: torch.Tensor) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.vocab_size = len(embeddings)
        self._embeddings = embeddings
        self._model = model.eval().requires_grad_(False)
        for layer in (model.token_in, model.hint_in):
            layer.weight /= scale  # of a few weights once, rather than of the embeddings at every step
        self._vocabulary = vocabulary
        rows = embeddings[vocabulary] / scale
        self._head = torch.nn.Linear(rows.shape[1], len(rows), bias=False, dtype=rows.dtype, device=rows.device)
        self._head.weight = torch.nn.Parameter(rows, requires_grad=False)
        self._row = None
        if rows.device.type == "cpu" and rows.dtype == torch.float32:
            self._row = CompiledRow(model, self._head, embeddings, vocabulary)
        self.cache = _History(model.config.layers)

    def read(self, tokens: Sequence[int]) -> torch.Tensor | None:
        """Commit ``tokens``; see ``LanguageModel.read``."""
        cache, last = self.cache, None
        cache.drop_pending()
        for start in range(0, len(tokens), WINDOW):
            chunk = list(tokens[start:start + WINDOW])
            cache.pending_tokens = chunk
            known = cache.recent()
            hints = copy_hints(np.concatenate([known, np.array(chunk)]), len(known))
            causal = np.tril(np.ones((len(chunk), len(chunk)), dtype=bool))
            positions = np.arange(cache.length, cache.length + len(chunk))
            last = self._run(chunk, hints, causal, positions, 1)
            cache.keep(range(len(chunk)))
        return None if last is None else last[-1]

    def forward(self, tokens: Sequence[int], mask: np.ndarray, positions: np.ndarray,
                logits_to_keep: int = 0) -> tuple[torch.Tensor, np.ndarray]:
        """One forward over new rows, which become pending; see ``LanguageModel.forward``."""
        self.cache.pending_tokens += tokens
        pending, known = np.array(self.cache.pending_tokens), self.cache.recent()
        paths = [np.concatenate([known, pending[row]]) for row in mask]
        hints = np.concatenate([copy_hints(path, len(path) - 1) for path in paths], axis=1)
        return self._run(tokens, hints, mask, positions, logits_to_keep), mask

    def _run(self, tokens: Sequence[int], hints: np.ndarray, mask: np.ndarray, positions: np.ndarray,
             logits_to_keep: int) -> torch.Tensor:
        """Logits (kept, vocabulary) of new rows with these copying hints (2, n)."""
        visible = self._visible(mask, positions)
        if self._row is None or len(tokens) > FEW:
            return self._run_layers(tokens, hints, visible, positions, logits_to_keep)
        kept, behind = logits_to_keep or len(tokens), visible.shape[1] - len(tokens)
        logits = np.full((kept, self.vocab_size), -np.inf, dtype=np.float32)
        for i, (token, hint, match) in enumerate(zip(tokens, *hints.tolist(), strict=True)):
            into = i - (len(tokens) - kept)
            self._row.read(token, hint, match, int(positions[i]), self.cache, visible[i, :behind + i + 1],
                           logits[into] if into >= 0 else None)
        return torch.from_numpy(logits)

    @torch.inference_mode()
    def _run_layers(self, tokens: Sequence[int], hints: np.ndarray, visible: np.ndarray, positions: np.ndarray,
                    logits_to_keep: int) -> torch.Tensor:
        """The same through torch's layers, all rows at once."""
        cache, device = self.cache, self._vocabulary.device
        ids, (hinted, lengths) = torch.tensor([tokens], device=device), torch.from_numpy(hints).to(device)
        features, copy = self._model(self._embeddings[ids], self._embeddings[hinted[None]], lengths[None],
                                     torch.from_numpy(positions)[None].to(device), self._mask(visible), cache.layers)
        cache.append(positions.tolist())
        hinted, lengths, copy = hinted[-logits_to_keep:], lengths[-logits_to_keep:], copy[0, -logits_to_keep:]
        scores = self._head(features[0, -logits_to_keep:]).float()
        logits = scores.new_full((len(scores), self.vocab_size), -torch.inf)
        logits[:, self._vocabulary] = scores
        # a token that is never emitted stays so: -inf and anything is -inf
        logits[torch.arange(len(scores), device=device), hinted] += copy.float() * (lengths > 0)
        return logits

    def _visible(self, mask: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """bool (n, keys): which of the committed rows in reach, then of the pending and new ones, each new row sees."""
        cache = self.cache
        reach = max(0, min(cache.length, WINDOW - 1 - int(positions.min()) + cache.length))
        cache.reach = reach + mask.shape[1]
        near = positions[:, None] - np.arange(cache.length - reach, cache.length) < WINDOW
        return np.concatenate([near, mask], axis=1)

    def _mask(self, visible: np.ndarray) -> torch.Tensor | None:
        """What is added to the scores of attention; None where a lone row sees all."""
        if len(visible) == 1 and visible.all():
            return None
        dtype = self._model.token_in.weight.dtype
        attend = torch.zeros(visible.shape, dtype=dtype).masked_fill_(torch.from_numpy(~visible), torch.finfo(dtype).min)
        return attend.to(self._vocabulary.device)


class _History(TreeCache):
    """A cache that also knows the tokens of its rows, and shows attention the last ``reach`` of them."""

    def __init__(self, layers: int) -> None:
        self.tokens = array("q")
        self.pending_tokens: list[int] = []
        self.reach = 0
        super().__init__(layers)

    def recent(self) -> np.ndarray:
        """The committed tokens that copying hints look at: int64, a copy."""
        return np.array(self.tokens[-HINT_REACH:], dtype=np.int64)

    def keep(self, rows: Sequence[int]) -> None:
        """Commit pending rows, and their tokens."""
        self.tokens.extend(self.pending_tokens[row] for row in rows)
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
