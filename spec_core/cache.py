"""A model's key/value cache: one buffer for all layers, rolled back to the accepted path in place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

FIRST_CAPACITY = 512


class TreeCache(Cache):
    """Keys and values of the committed tokens, and behind them the pending rows of the tree in hand.

    A forward writes its rows behind the pending ones, and ``append`` counts them in;
    ``keep`` moves the rows of the accepted path together and forgets the rest. Nothing is
    copied that grows with the context, but when the buffer doubles.

    Args:
        layers: number of attention layers of the model.
    """

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[_Layer(self, i) for i in range(layers)])
        self.length = 0
        self.pending_positions: list[int] = []
        self._buffer: torch.Tensor | None = None  # (layers, keys | values, heads, capacity, dim)

    def clear(self) -> None:
        """Forget everything; the buffer stays for the next sequence."""
        self.crop(0)

    @property
    def pending(self) -> int:
        """Rows that were computed and neither committed nor dropped."""
        return len(self.pending_positions)

    def append(self, positions: Sequence[int]) -> None:
        """The last forward's rows are now pending; these are their position ids."""
        self.pending_positions += positions

    def drop_pending(self) -> None:
        """Forget the pending rows."""
        self.pending_positions = []

    def crop(self, length: int) -> None:
        """Forget the pending rows, and the committed ones from ``length`` on."""
        self.length = min(self.length, length)
        self.drop_pending()

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Commit the given pending rows, in this order; the others are gone.

        Args:
            rows: strictly increasing, so ``rows[i] ≥ i`` and moving forward in place is safe.
        """
        moved = [(i, row) for i, row in enumerate(rows) if i != row]
        if moved:
            target = slice(self.length + moved[0][0], self.length + len(rows))
            source = torch.tensor([self.length + row for _, row in moved], device=self._buffer.device)
            self._buffer[:, :, :, target] = self._buffer.index_select(3, source)
        self.length += len(rows)
        self.drop_pending()

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Put (1, heads, n, dim) behind all rows; returns views (1, heads, length + pending + n, dim)."""
        begin = self.length + self.pending
        end = begin + keys.shape[-2]
        buffer = self.room_for(keys)
        buffer[layer, 0, :, begin:end] = keys[0]
        buffer[layer, 1, :, begin:end] = values[0]
        return buffer[layer, 0, None, :, :end], buffer[layer, 1, None, :, :end]

    def room_for(self, keys: torch.Tensor) -> torch.Tensor:
        """The buffer (layers, 2, heads, capacity, dim) of keys and values, with room for (1, heads, n, dim) behind all rows."""
        end = self.length + self.pending + keys.shape[-2]
        if self._buffer is None or end > self._buffer.shape[3] or self._buffer.dtype != keys.dtype:
            self._grow(keys, end)
        return self._buffer

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
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        """Committed and pending rows."""
        return self._cache.length + self._cache.pending

    def get_max_length(self) -> int:
        """No maximum."""
        return -1
