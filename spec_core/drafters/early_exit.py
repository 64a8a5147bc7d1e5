"""The target's own first layers draft, in the target's own cache.

Source: Elhoushi et al., "LayerSkip" (2024); Zhang et al., "Draft & Verify" (2023).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch

from ..language_model import LanguageModel
from ..target import TargetModel
from ..tree import DraftTree


class EarlyExitAssistant:
    """Drafts with the first ``layers`` layers, the final norm and the head of the target.

    The committed rows of the target's cache serve as they are. Root and drafted nodes become
    pending rows behind them, which the verification then drops and writes anew: nothing
    that the target relies on is changed, nor is its configuration.

    Args:
        target: the model that will verify.
        layers: how many of its layers draft.
    """

    def __init__(self, target: TargetModel, layers: int) -> None:
        self._model = _first_layers(target, layers)
        self._vocab_size = target.vocab_size
        self._root = 0
        self._rows: list[int] = []

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._root = context[-1]

    def begin(self) -> torch.Tensor:
        """Read the root. Returns the logits (vocabulary,) that follow it."""
        cache = self._model.cache
        cache.drop_pending()
        self._rows = []
        logits, _ = self._model.forward([self._root], np.ones((1, 1), dtype=bool), np.array([cache.length]))
        return logits[0, :self._vocab_size]

    def read_nodes(self, tree: DraftTree, nodes: Sequence[int]) -> torch.Tensor:
        """One forward over ``nodes`` of the growing draft; see ``Assistant.read_nodes``."""
        self._rows += nodes
        new = np.array(nodes) + 1
        mask = tree.mask[np.ix_(new, np.array([0, *(row + 1 for row in self._rows)]))]
        logits, _ = self._model.forward([tree.tokens[node] for node in nodes], mask,
                                        tree.positions(self._model.cache.length)[new])
        return logits[:, :self._vocab_size]

    def commit(self, tokens: Sequence[int]) -> None:
        """The target keeps its cache itself; only the root is new."""
        self._root = tokens[-1]

    @property
    def room(self) -> int:
        """Tokens that the model can still read within its context."""
        return self._model.context_limit - self._model.cache.length


def _first_layers(target: TargetModel, layers: int) -> LanguageModel:
    """A model of the target's first layers: the same modules, in a body of its own."""
    model = copy.copy(target.model)
    model._modules = dict(target.model._modules)
    prefix = target.model.base_model_prefix
    body = copy.copy(getattr(target.model, prefix))
    body._modules = dict(body._modules)
    body.config = copy.copy(body.config)
    body.config.num_hidden_layers = layers
    body.layers = torch.nn.ModuleList(body.layers[:layers])
    setattr(model, prefix, body)
    shallow = LanguageModel(target.name, model, target.tokenizer)
    shallow.cache = target.cache
    return shallow
