"""One row of a nano drafter on a CPU, in one compiled call.

Through torch a lone row is some eighty calls, each of which costs more than its work,
and it is bound by reading the weights. Here it is one call, over weights of a byte each.
Both paths compute with the same rounded weights, so it does not matter which one reads
a token.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numba import njit

from ..cache import TreeCache
from .nano_model import NanoModel

EPSILON = np.finfo(np.float32).eps


class Rounded(NamedTuple):
    """Weights (…, out, in) as int8, and the float32 (…, out) that each row is to be multiplied by."""

    values: np.ndarray
    scales: np.ndarray


class Weights(NamedTuple):
    """A nano drafter as the kernel takes it; those of its blocks are stacked (layers, …)."""

    embeddings: np.ndarray  # float32 (vocabulary, embedding)
    token_in: Rounded
    hint_in: Rounded
    match: np.ndarray       # float32 (lengths, width)
    qkv: Rounded
    proj: Rounded
    gate_up: Rounded
    down: Rounded
    out: Rounded
    copy: np.ndarray        # float32 (width,)
    copy_bias: float
    head: Rounded
    places: np.ndarray      # int64 (vocabulary,): of a token in the head, or -1
    rates: np.ndarray       # float32 (dim,) of the rotary positions


class CompiledRow:
    """The compiled form of a drafter; rounds the weights of the layers that it is made from.

    Args:
        model: on the CPU, in float32; its norms' weights are folded into the layers that follow.
        head: scores features against the embeddings of the trimmed vocabulary.
        embeddings: float32 (vocabulary, embedding) of the tokens that it reads.
        vocabulary: int64 (trimmed,), the ids that it emits.
    """

    def __init__(self, model: NanoModel, head: torch.nn.Linear, embeddings: torch.Tensor, vocabulary: torch.Tensor) -> None:
        for block in model.blocks:
            _fold(block.norm_attention, block.qkv)
            _fold(block.norm_feed_forward, block.gate_up)
        places = np.full(len(embeddings), -1, dtype=np.int64)
        places[vocabulary.numpy()] = np.arange(len(vocabulary))
        stacks = {name: _stacked([getattr(block, name) for block in model.blocks])
                  for name in ("qkv", "proj", "gate_up", "down")}
        self._weights = Weights(
            embeddings=embeddings.numpy(), token_in=_rounded(model.token_in), hint_in=_rounded(model.hint_in),
            match=model.match.weight.detach().numpy(), **stacks, out=_rounded(model.out),
            copy=model.copy.weight.detach().numpy()[0], copy_bias=float(model.copy.bias), head=_rounded(head),
            places=places, rates=model.rates.numpy())
        self._vocabulary = vocabulary.numpy()
        self._kind = torch.empty((1, model.config.heads, 1, model.config.width // model.config.heads))

    def read(self, token: int, hint: int, match: int, position: int, cache: TreeCache, visible: np.ndarray,
             logits: np.ndarray | None) -> None:
        """Put one more pending row into the cache.

        Args:
            token: the row's own.
            hint, match: its copying hint and the length of the match; see ``copy_hints``.
            position: of the row.
            cache: of the drafter.
            visible: bool (keys,), which of the last rows it attends to; the last of them is itself.
            logits: float32 (vocabulary,), where to put those that follow it; None: they are not computed.
        """
        buffer = cache.room_for(self._kind).numpy()
        scores = np.empty(0 if logits is None else len(self._vocabulary), dtype=np.float32)
        _forward(self._weights, token, hint, match, position, buffer, cache.length + cache.pending, visible, scores)
        cache.append([position])
        if logits is not None:
            logits[self._vocabulary] = scores


def _fold(norm: torch.nn.Parameter, layer: torch.nn.Linear) -> None:
    layer.weight *= norm
    norm.fill_(1.0)


def _rounded(layer: torch.nn.Linear) -> Rounded:
    """A layer's weights rounded to 255 steps a row, in place and as the kernel takes them."""
    weight = layer.weight.detach()
    scales = weight.abs().amax(dim=1).clamp(min=1e-12) / 127
    values = (weight / scales[:, None]).round()
    weight.copy_(values * scales[:, None])
    return Rounded(values.to(torch.int8).numpy(), scales.numpy())


def _stacked(layers: list[torch.nn.Linear]) -> Rounded:
    rounded = [_rounded(layer) for layer in layers]
    return Rounded(np.stack([one.values for one in rounded]), np.stack([one.scales for one in rounded]))


@njit(cache=True, nogil=True, fastmath=True)
def _forward(w, token, hint, match, position, buffer, at, visible, scores):
    """``NanoModel.forward`` of one row, whose keys and values go to row ``at`` of the buffer; fills ``scores``, if any."""
    layers, _, heads, _, dim = buffer.shape
    width = heads * dim
    x, y = np.empty(width, np.float32), np.empty(width, np.float32)
    qkv, gate_up = np.empty(3 * width, np.float32), np.empty(w.gate_up.values.shape[1], np.float32)
    first = at + 1 - len(visible)
    chances = np.empty(len(visible), np.float32)
    inner = len(gate_up) // 2

    _multiply(w.token_in.values, w.token_in.scales, w.embeddings[token], x)
    if match > 0:
        _multiply(w.hint_in.values, w.hint_in.scales, w.embeddings[hint], y)
        x += y
    x += w.match[match]
    for layer in range(layers):
        _normalise(x, y)
        _multiply(w.qkv.values[layer], w.qkv.scales[layer], y, qkv)
        for head in range(heads):
            q, k = qkv[head * dim:(head + 1) * dim], qkv[width + head * dim:width + (head + 1) * dim]
            _rotate(q, position, w.rates)
            _rotate(k, position, w.rates)
            buffer[layer, 0, head, at] = k
            buffer[layer, 1, head, at] = qkv[2 * width + head * dim:2 * width + (head + 1) * dim]
            _attend(q, buffer[layer, 0, head, first:at + 1], buffer[layer, 1, head, first:at + 1], visible, chances,
                    y[head * dim:(head + 1) * dim])
        mixed = qkv[:width]
        _multiply(w.proj.values[layer], w.proj.scales[layer], y, mixed)
        x += mixed
        _normalise(x, y)
        _multiply(w.gate_up.values[layer], w.gate_up.scales[layer], y, gate_up)
        for i in range(inner):
            gate_up[i] = gate_up[i] / (np.float32(1) + np.exp(-gate_up[i])) * gate_up[inner + i]
        _multiply(w.down.values[layer], w.down.scales[layer], gate_up[:inner], mixed)
        x += mixed
    if len(scores) > 0:
        _normalise(x, y)
        features = np.empty(w.out.values.shape[0], np.float32)
        _multiply(w.out.values, w.out.scales, y, features)
        _multiply(w.head.values, w.head.scales, features, scores)
        if match > 0 and w.places[hint] >= 0:
            copy = np.float32(w.copy_bias)
            for i in range(width):
                copy += w.copy[i] * y[i]
            scores[w.places[hint]] += copy


@njit(cache=True, nogil=True, fastmath=True)
def _multiply(values, scales, x, result):
    """result = (values × scales) · x; two rows at a time share the reading of x."""
    for i in range(0, len(values) - 1, 2):
        a = b = np.float32(0)
        for j in range(len(x)):
            a += x[j] * np.float32(values[i, j])
            b += x[j] * np.float32(values[i + 1, j])
        result[i], result[i + 1] = a * scales[i], b * scales[i + 1]
    if len(values) % 2:
        a = np.float32(0)
        for j in range(len(x)):
            a += x[j] * np.float32(values[-1, j])
        result[-1] = a * scales[-1]


@njit(cache=True, nogil=True, fastmath=True)
def _normalise(x, result):
    """result = x ÷ its root mean square."""
    total = np.float32(0)
    for i in range(len(x)):
        total += x[i] * x[i]
    factor = np.float32(1) / np.sqrt(total / np.float32(len(x)) + np.float32(EPSILON))
    for i in range(len(x)):
        result[i] = x[i] * factor


@njit(cache=True, nogil=True, fastmath=True)
def _rotate(x, position, rates):
    """Rotary position of one head, in place, halves as pairs."""
    half = len(x) // 2
    for i in range(half):
        angle = np.float32(position) * rates[i]
        cos, sin = np.cos(angle), np.sin(angle)
        x[i], x[half + i] = x[i] * cos - x[half + i] * sin, x[half + i] * cos + x[i] * sin


@njit(cache=True, nogil=True, fastmath=True)
def _attend(q, keys, values, visible, chances, result):
    """Attention of one head over the visible keys; ``chances`` is room to work in."""
    scale, best = np.float32(len(q) ** -0.5), np.float32(-3e38)
    for k in range(len(visible)):
        if visible[k]:
            score = np.float32(0)
            for i in range(len(q)):
                score += q[i] * keys[k, i]
            chances[k] = score * scale
            best = max(best, chances[k])
    total = np.float32(0)
    result[:] = 0
    for k in range(len(visible)):
        if visible[k]:
            chance = np.exp(chances[k] - best)
            total += chance
            for i in range(len(q)):
                result[i] += chance * values[k, i]
    for i in range(len(q)):
        result[i] /= total
