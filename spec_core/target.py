"""The target: one forward over a draft tree, and a cache that follows the accepted path.

The cache holds every committed token but the last, the *root*. Each step verifies root
and tree in one forward; with an empty tree this is plain decoding.

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

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence: read all of ``context`` but its last token, the root."""
        self.cache.clear()
        self.read(context[:-1], logits=False)

    def verify(self, root: int, tree: DraftTree) -> Verification:
        """One forward over ``[root] + tree``. What is committed of it, ``commit`` says."""
        self.cache.drop_pending()
        logits, used = self.forward([root, *tree.tokens], tree.mask, tree.positions(self.cache.length))
        return Verification(logits, mask_sha256(used))

    def commit(self, nodes: Sequence[int]) -> None:
        """Keep root and these accepted nodes of the last ``verify``; the other rows are rolled back."""
        self.cache.keep([0, *(node + 1 for node in nodes)])
