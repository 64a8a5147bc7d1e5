"""The target: one forward over a draft tree, and a cache that follows the accepted path.

The cache holds every committed token but the last, the *root*. Each step verifies root
and tree in one forward; with an empty tree this is plain decoding.

The prompt is read whole, root included, so that plain decoding of N tokens takes N
forwards and not one more: what the reading says after the root answers the first
``verify`` if its tree is empty. Before a tree, the root's row is computed anew with it.

Source: SpecInfer (Miao et al., 2023), §4.2 "tree-based parallel decoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .language_model import LanguageModel
from .tree import DraftTree, mask_sha256


@dataclass(frozen=True)
class Verification:
    """What one target forward gave.

    Args:
        logits: (n + 1, vocabulary); row 0 follows the root, row i + 1 follows node i.
        mask_sha256: checksum of the (n + 1) × (n + 1) mask, read back from the tensor that was used.
    """

    logits: torch.Tensor
    mask_sha256: str


class TargetModel(LanguageModel):
    """The model whose text is generated."""

    _after_root: torch.Tensor | None = None
    """Logits (vocabulary,) that follow the root of a sequence just begun."""

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence: read ``context``. Its last token, the root, is rolled back to be verified."""
        self.cache.clear()
        self._after_root = self.read(context)
        self.cache.crop(len(context) - 1)

    def verify(self, root: int, tree: DraftTree) -> Verification:
        """One forward over ``[root] + tree``. What is committed of it, ``commit`` says."""
        self.cache.drop_pending()
        after_root, self._after_root = self._after_root, None
        positions = tree.positions(self.cache.length)
        if after_root is not None and not len(tree):
            self.cache.append(positions.tolist())  # the row still lies behind the committed ones
            return Verification(after_root[None], mask_sha256(tree.mask))
        logits, used = self.forward([root, *tree.tokens], tree.mask, positions)
        return Verification(logits, mask_sha256(used))

    def commit(self, nodes: Sequence[int]) -> None:
        """Keep root and these accepted nodes of the last ``verify``; the other rows are rolled back."""
        self.cache.keep([0, *(node + 1 for node in nodes)])
