"""A small model that drafts: its cache follows what was committed, and no token is read twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..language_model import LanguageModel
from ..tree import ROOT, DraftTree


class Assistant:
    """A language model of the target's vocabulary, one sequence long.

    Its cache holds the committed context. While a draft grows, the drafted nodes that were
    read are pending rows behind it; ``commit`` keeps those of the accepted path.

    Args:
        model: with a cache of its own.
        vocab_size: of the target; the model's logits may be padded beyond it.
    """

    def __init__(self, model: LanguageModel, vocab_size: int) -> None:
        self.model = model
        self.vocab_size = vocab_size
        self._unread: list[int] = []
        self._rows: list[int] = []  # the node of each pending row
        self._tree = DraftTree()

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence; nothing is read before the first draft asks for it."""
        self.model.cache.clear()
        self._unread = list(context)
        self._rows, self._tree = [], DraftTree()

    def begin(self) -> torch.Tensor:
        """Read what was committed since the last draft. Returns the logits (vocabulary,) that follow the root."""
        logits = self.model.read(self._unread)
        self._unread = []
        self._rows, self._tree = [], DraftTree()
        return logits[..., :self.vocab_size]

    def read_nodes(self, tree: DraftTree, nodes: Sequence[int]) -> torch.Tensor:
        """One forward over ``nodes`` of the growing draft ``tree``, whose ancestors were read before.

        Returns:
            logits (nodes, vocabulary) that follow each node.
        """
        self._rows += nodes
        self._tree = tree
        mask = tree.mask[np.ix_(np.array(nodes) + 1, np.array(self._rows) + 1)]
        positions = tree.positions(self.model.cache.length - 1)[np.array(nodes) + 1]
        logits, _ = self.model.forward([tree.tokens[node] for node in nodes], mask, positions)
        return logits[..., :self.vocab_size]

    def commit(self, tokens: Sequence[int]) -> None:
        """Keep the rows of the path that these tokens took through the draft; the rest is yet to be read."""
        row_of = {node: row for row, node in enumerate(self._rows)}
        kept: list[int] = []
        node = ROOT
        for token in tokens[:-1]:  # the last one, the new root, is read again: the next draft needs what follows it
            node = next((c for c in self._tree.children(node) if self._tree.tokens[c] == token and c in row_of), ROOT)
            if node == ROOT:
                break
            kept.append(row_of[node])
        self.model.cache.keep(kept)
        self._unread += tokens[len(kept):]
        self._rows, self._tree = [], DraftTree()

    @property
    def room(self) -> int:
        """Tokens that the model can still read within its own context."""
        return self.model.context_limit - self.model.cache.length - len(self._unread)
