"""The draft tree: what a drafter proposes, and the shape in which the target sees it.

Everything about the *shape* of a draft is derived here and nowhere else: the
pseudo-sequence order, the ancestor mask, the position of each node, its path and
its siblings. No torch: the target turns the mask into a tensor of its own.

Source: SpecInfer (Miao et al., 2023), §4 "token tree verification"; REST (He et
al., NAACL 2024), §3.3 "pseudo-sequence" and "attention mask".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

ROOT = -1
"""The parent of a node that hangs on the root (the last committed token)."""


@dataclass(frozen=True)
class DraftTree:
    """Drafted tokens in pseudo-sequence order: breadth first, parents before children.

    Args:
        tokens: ``n`` token ids.
        parents: ``n`` node indices; ``ROOT`` (-1) for a child of the root.
        weights: ``n`` retrieval counts, or None.
        draft_probs: ``n`` probabilities q(node | its path), or None.

    Raises:
        ValueError: lengths differ, a parent does not come before its child, or the
            order is not breadth first.
    """

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    weights: tuple[float, ...] | None = None
    draft_probs: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "parents", "weights", "draft_probs"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, tuple):
                object.__setattr__(self, name, tuple(value))
        for name in ("parents", "weights", "draft_probs"):
            value = getattr(self, name)
            if value is not None and len(value) != len(self.tokens):
                raise ValueError(f"a draft tree of {len(self.tokens)} tokens has {len(value)} {name}")
        for i, parent in enumerate(self.parents):
            if not ROOT <= parent < i:
                raise ValueError(f"node {i} of a draft tree has parent {parent}; a parent comes before its child")
        depths = self.depths
        if any(depths[i] > depths[i + 1] for i in range(len(depths) - 1)):
            raise ValueError("the nodes of a draft tree are in breadth-first order")

    @classmethod
    def chain(cls, tokens: Sequence[int], draft_probs: Sequence[float] | None = None) -> DraftTree:
        """One candidate after the other: each node is the child of the one before."""
        return cls(tuple(tokens), tuple(range(-1, len(tokens) - 1)),
                   draft_probs=None if draft_probs is None else tuple(draft_probs))

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[int]]) -> DraftTree:
        """Merge token paths that start at the root; a shared prefix becomes one branch."""
        children: dict[tuple[int, ...], None] = {(): None}
        for path in paths:
            for depth in range(1, len(path) + 1):
                children.setdefault(tuple(path[:depth]))
        prefixes = sorted((p for p in children if p), key=len)  # stable: first seen first
        index = {p: i for i, p in enumerate(prefixes)}
        return cls(tuple(p[-1] for p in prefixes), tuple(index.get(p[:-1], ROOT) for p in prefixes))

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """``n`` depths; a child of the root has depth 1."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent == ROOT else depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        for i, parent in enumerate(self.parents):
            children.setdefault(parent, []).append(i)
        return children

    def children(self, node: int = ROOT) -> list[int]:
        """The nodes that hang on ``node``, in pseudo-sequence order."""
        return self._children.get(node, [])

    def ancestors(self, node: int) -> Iterator[int]:
        """``node`` itself, its parent, and so on up to a child of the root."""
        while node != ROOT:
            yield node
            node = self.parents[node]

    def path(self, node: int) -> list[int]:
        """Node indices from a child of the root down to ``node``."""
        return list(self.ancestors(node))[::-1]

    def positions(self, root_position: int) -> np.ndarray:
        """int64[n + 1]: position ids of root and nodes; a node stands at the root's plus its depth."""
        return np.array((0, *self.depths), dtype=np.int64) + root_position

    @cached_property
    def mask(self) -> np.ndarray:
        """bool[n + 1, n + 1], root first: row sees column when it is the row itself or an ancestor."""
        n = len(self)
        mask = np.eye(n + 1, dtype=bool)
        mask[:, 0] = True
        for i, parent in enumerate(self.parents):
            if parent != ROOT:
                mask[i + 1] |= mask[parent + 1]
        return mask

    @property
    def mask_sha256(self) -> str:
        """Checksum of the mask's row-major bytes: ties a picture of the mask to the tensor used."""
        return mask_sha256(self.mask)

    def pruned(self, max_nodes: int, max_depth: int) -> DraftTree:
        """The first ``max_nodes`` nodes of depth ≤ ``max_depth``: a prefix, hence still a tree."""
        kept = min(max_nodes, sum(depth <= max_depth for depth in self.depths))
        if kept >= len(self):
            return self
        kept = max(kept, 0)
        return DraftTree(self.tokens[:kept], self.parents[:kept],
                         None if self.weights is None else self.weights[:kept],
                         None if self.draft_probs is None else self.draft_probs[:kept])


def mask_sha256(mask: np.ndarray) -> str:
    """Hex SHA-256 of a boolean mask (n + 1, n + 1), row-major, one byte an entry."""
    return hashlib.sha256(np.ascontiguousarray(mask, dtype=np.bool_).tobytes()).hexdigest()
