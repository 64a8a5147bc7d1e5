"""Scaled dot product attention with grouped key/value heads, without copying them.

Query heads that share a key/value head are laid one after the other along the query
axis, so that the cache is read as it lies: (1, kv heads, groups × queries, dim). The
mask is given in that shape by ``fold_mask``. The result equals attention with repeated
heads; only the copies, which grow with the context, are gone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

NAME = "grouped_sdpa"


def grouped_sdpa(module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                 attention_mask: torch.Tensor | None, scaling: float | None = None,
                 **_: Any) -> tuple[torch.Tensor, None]:
    """Attention in the signature of ``transformers``' attention interface.

    Args:
        query: (batch, heads, queries, dim); key, value: (batch, kv heads, keys, dim).
        attention_mask: a folded float mask (1, 1, groups × queries, keys); None where a lone query sees
            everything, or where several begin an empty cache and are causal.

    Returns:
        (batch, queries, heads, dim), and None for the weights.
    """
    batch, heads, queries, dim = query.shape
    if attention_mask is None and queries > 1:
        output = scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling,
                                              enable_gqa=heads != key.shape[1])
        return output.transpose(1, 2).contiguous(), None
    folded = query.reshape(batch, key.shape[1], -1, dim)
    output = scaled_dot_product_attention(folded, key, value, attn_mask=attention_mask, scale=scaling)
    return output.reshape(batch, heads, queries, value.shape[-1]).transpose(1, 2).contiguous(), None


def fold_mask(visible: torch.Tensor, groups: int, dtype: torch.dtype) -> torch.Tensor:
    """bool (queries, keys) → float (1, 1, groups × queries, keys): 0 where seen, the lowest number elsewhere."""
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    mask.masked_fill_(~visible, torch.finfo(dtype).min)
    return mask.repeat(groups, 1)[None, None]


AttentionInterface.register(NAME, grouped_sdpa)
