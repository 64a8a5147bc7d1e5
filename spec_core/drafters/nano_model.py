"""The network of the shipped drafters: a small transformer over embeddings that stand outside it.

Inputs are the embedding of a token and that of its copying hint; the output is scored
against the embeddings of the vocabulary. ``nano`` borrows the target's embeddings, frozen
and not shipped, so nearly all its parameters are in the trunk: the idea of EAGLE (Li et
al., 2024), but nothing of the target's hidden states is used. ``nano-universal`` brings its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu

from ..packing import fused_norm
from .copying import MAX_LENGTH


@dataclass(frozen=True)
class NanoConfig:
    """The shape of a nano drafter.

    Args:
        embedding: width of the embeddings.
        width, layers, heads: of the trunk.
        feed_forward: inner width of the gated feed-forward layers.
        rope_base: of the rotary positions.
    """

    embedding: int
    width: int = 320
    layers: int = 2
    heads: int = 5
    feed_forward: int = 896
    rope_base: float = 10000.0


class NanoModel(nn.Module):
    """(token embeddings, hint embeddings, match lengths) → features that are scored against embeddings."""

    def __init__(self, config: NanoConfig) -> None:
        super().__init__()
        self.config = config
        self.token_in = nn.Linear(config.embedding, config.width, bias=False)
        self.hint_in = nn.Linear(config.embedding, config.width, bias=False)
        self.match = nn.Embedding(MAX_LENGTH + 1, config.width)
        self.blocks = nn.ModuleList(_Block(config) for _ in range(config.layers))
        self.out = nn.Linear(config.width, config.embedding, bias=False)
        # a copy is scored directly too: weight of the hint's token, by match length and context
        self.copy = nn.Linear(config.width, 1)
        half = config.width // config.heads // 2
        self.register_buffer("ones", torch.ones(config.width), persistent=False)
        # no buffers: those would be rounded with the parameters
        self.rates = (config.rope_base ** (-torch.arange(half) / half)).repeat(2)
        self._signs = torch.tensor([-1.0, 1.0]).repeat_interleave(half)

    def forward(self, tokens: torch.Tensor, hints: torch.Tensor, lengths: torch.Tensor, positions: torch.Tensor,
                mask: torch.Tensor | None, cache: list | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """One forward.

        Args:
            tokens, hints: (batch, n, embedding) embeddings, already normalised.
            lengths: int64 (batch, n) of the matches.
            positions: int64 (batch, n).
            mask: float (…, n, keys) added to the scores; None is causal.
            cache: one object a layer with ``update(keys, values) → the keys and values to attend to``.

        Returns:
            features (batch, n, embedding), and copy scores (batch, n).
        """
        x = self.token_in(tokens) + self.hint_in(hints) * (lengths > 0).unsqueeze(-1).to(tokens.dtype) + self.match(lengths)
        cos, sin = self._rotation(positions, x.dtype)
        for i, block in enumerate(self.blocks):
            x = block(x, cos, sin, mask, None if cache is None else cache[i])
        x = fused_norm(x, self.ones)
        return self.out(x), self.copy(x).squeeze(-1)

    def _rotation(self, positions: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines, and sines with the sign of the half that they are added to, (batch, n, 1, 1, dim)."""
        rates, signs = self.rates.to(positions.device), self._signs.to(positions.device)
        angles = positions[..., None, None, None].float() * rates
        return angles.cos().to(dtype), (angles.sin() * signs).to(dtype)


class _Block(nn.Module):
    """Attention and a gated feed-forward layer, each on the normalised stream."""

    def __init__(self, config: NanoConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.proj = nn.Linear(config.width, config.width, bias=False)
        self.gate_up = nn.Linear(config.width, 2 * config.feed_forward, bias=False)
        self.down = nn.Linear(config.feed_forward, config.width, bias=False)
        self.norm_attention = nn.Parameter(torch.ones(config.width))
        self.norm_feed_forward = nn.Parameter(torch.ones(config.width))

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor | None,
                cache: object | None) -> torch.Tensor:
        batch, n, width = x.shape
        qkv = self.qkv(fused_norm(x, self.norm_attention)).view(batch, n, 3, self.heads, -1)
        q, k = _rotate(qkv[:, :, :2], cos, sin).permute(2, 0, 3, 1, 4)
        v = qkv[:, :, 2].transpose(1, 2)
        if cache is not None:
            k, v = cache.update(k, v)
        attended = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None and n > 1)
        x = x + self.proj(attended.transpose(1, 2).reshape(batch, n, width))
        gate, up = self.gate_up(fused_norm(x, self.norm_feed_forward)).chunk(2, dim=-1)
        return x + self.down(silu(gate) * up)


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary positions of queries and keys at once: (batch, n, 2, heads, dim), halves as pairs."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)
