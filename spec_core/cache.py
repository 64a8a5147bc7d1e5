"""The target's key/value cache: one buffer for all layers, rolled back to the accepted path in place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

FIRST_CAPACITY = 512


class TreeCache(Cache):
    """Keys and values of the committed tokens, and behind them those of the tree in hand.

    ``forward`` appends the rows of root and tree; ``keep`` moves the rows of the accepted
    path together and forgets the rest. Nothing is copied that grows with the context,
    but when the buffer doubles.

    Args:
        layers: number of attention layers of the model.
    """

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[_Layer(self, i) for i in range(layers)])
        self.length = 0
        self._buffer: torch.Tensor | None = None  # (layers, keys | values, heads, capacity, dim)

    def clear(self) -> None:
        """Forget everything; the buffer stays for the next sequence."""
        self.length = 0

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Commit the given rows of the last forward, in this order; the others are gone.

        Args:
            rows: strictly increasing; 0 is the root. ``rows[i] ≥ i``, so moving forward in place is safe.
        """
        moved = [(i, row) for i, row in enumerate(rows) if i != row]
        if moved:
            target = slice(self.length + moved[0][0], self.length + len(rows))
            source = torch.tensor([self.length + row for _, row in moved], device=self._buffer.device)
            self._buffer[:, :, :, target] = self._buffer.index_select(3, source)
        self.length += len(rows)

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Put (1, heads, n, dim) behind the committed rows; returns views (1, heads, length + n, dim)."""
        end = self.length + keys.shape[-2]
        if self._buffer is None or end > self._buffer.shape[3] or self._buffer.dtype != keys.dtype:
            self._grow(keys, end)
        self._buffer[layer, 0, :, self.length:end] = keys[0]
        self._buffer[layer, 1, :, self.length:end] = values[0]
        return self._buffer[layer, 0, None, :, :end], self._buffer[layer, 1, None, :, :end]

    def _grow(self, keys: torch.Tensor, needed: int) -> None:
        _, heads, _, dim = keys.shape
        old = self._buffer if self._buffer is not None and self._buffer.dtype == keys.dtype else None
        capacity = FIRST_CAPACITY if old is None else old.shape[3]
        while capacity < needed:
            capacity *= 2
        self._buffer = keys.new_empty((len(self.layers), 2, heads, capacity, dim))
        if old is not None:
            self._buffer[:, :, :, :old.shape[3]] = old


class _Layer(CacheLayerMixin):
    """The view of one attention layer, as ``transformers`` asks for it."""

    is_sliding = False

    def __init__(self, cache: TreeCache, index: int) -> None:
        super().__init__()
        self._cache = cache
        self._index = index
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing to do: the cache owns the buffer."""

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor,
               *_: object, **__: object) -> tuple[torch.Tensor, torch.Tensor]:
        """Append, and return all keys and values so far."""
        return self._cache.write(self._index, key_states, value_states)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Keys that a query of this length sees, and their offset."""
        return self._cache.length + query_length, 0

    def get_seq_length(self) -> int:
        """Committed rows."""
        return self._cache.length

    def get_max_length(self) -> int:
        """No maximum."""
        return -1
