"""Several candidates a node, drafted by a small model with one forward a level.

Static shape: Yang et al., "Multi-Candidate Speculative Decoding" (2024), §4: a
k-configuration such as 4×2×2×1×1. Dynamic tree: EAGLE-2 (Li et al., 2024), §4: expand
the nodes with the greatest cumulative draft probability, keep the best.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..draws import Draws
from ..processors import Processors, largest
from ..tree import ROOT, DraftTree
from .assistant import Assistant
from .base import Draft, Limits
from .budget import NodeBudget
from .costs import Costs
from .candidates import DraftBuilder, draw_candidates


class MultiCandidateDrafter:
    """A tree of fixed shape: every node of depth d gets the d-th number of candidates.

    At temperature 0 the candidates are the most probable tokens; else they are drawn from
    q. A node is expanded whole or not at all: a drawn candidate is never dropped.

    Args:
        assistant: the small model.
        processors: of the run's sampling; this drafter's own copy.
        draws: its own chance.
        shape: candidates a node, by depth.
        replacement: whether siblings are drawn with replacement.

    ``Draft.details``: ``{"source": "multi-candidate", "shape": [4, 2, …], "replacement": bool}``.
    """

    name = "multi-candidate"

    def __init__(self, assistant: Assistant, processors: Processors, draws: Draws, *,
                 shape: Sequence[int] = (4, 2, 2, 1, 1), replacement: bool = False) -> None:
        self.settings: dict[str, Any] = {"shape": "x".join(map(str, shape)), "replacement": replacement}
        self._assistant, self._processors, self._draws = assistant, processors, draws
        self._shape, self._replacement = list(shape), replacement

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._assistant.reset(context)
        self._processors.reset(context)

    def propose(self, limits: Limits) -> Draft:
        """Draft level by level."""
        builder = DraftBuilder(self._replacement)
        depth = min(len(self._shape), limits.max_depth, self._assistant.room - 1)
        level: list[int] = [ROOT]
        for width in self._shape[:max(depth, 0)]:
            if not level:
                break
            tree = DraftTree(tuple(builder.tokens), tuple(builder.parents))
            rows = self._assistant.begin()[None] if level == [ROOT] else self._assistant.read_nodes(tree, level)
            following: list[int] = []
            for node, logits in zip(level, rows, strict=True):
                if len(builder.tokens) + width > limits.max_nodes:
                    break
                following += self._expand(builder, node, logits, _path(builder, node), width)
            level = following
        return builder.draft({"source": self.name, "shape": self._shape, "replacement": self._replacement})

    def commit(self, tokens: Sequence[int]) -> None:
        """The context grew."""
        self._assistant.commit(tokens)
        self._processors.commit(tokens)

    def _expand(self, builder: DraftBuilder, node: int, logits: torch.Tensor, path: list[int], width: int) -> list[int]:
        if self._processors.sampling.temperature == 0.0:
            q = self._processors.plain(logits, path)
            return [builder.choose(node, token, float(q[token])) for token in largest(q, width)]
        q = self._processors.probabilities(logits, path)
        return builder.add(node, draw_candidates(q, width, self._replacement, self._draws), q)


class DynamicTreeDrafter:
    """A tree that grows where the small model is sure: most cumulative draft probability first.

    Nodes are chosen, not drawn, so one draw a node of the target judges them exactly at
    any temperature.

    Args:
        assistant, processors: as above.
        depth: forwards of the small model a step, and the deepest path.
        width: nodes expanded a level, and candidates of each.
        stop_below: nodes with less cumulative draft probability than this are not considered.
        budget: nodes kept, or "auto": as many as pay.
        costs: what nodes cost, for the budget "auto".

    ``Draft.details``: ``{"source": "dynamic-tree", "considered": nodes before the best were kept}``.
    """

    name = "dynamic-tree"

    def __init__(self, assistant: Assistant, processors: Processors, *, depth: int = 5, width: int = 6,
                 stop_below: float = 0.0, budget: int | str = 24, costs: Costs | None = None) -> None:
        self.settings: dict[str, Any] = {"depth": depth, "width": width, "stop_below": stop_below, "budget": budget}
        self._assistant, self._processors = assistant, processors
        self._budget = NodeBudget(budget, costs)

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._assistant.reset(context)
        self._processors.reset(context)
        self._budget.reset()

    def propose(self, limits: Limits) -> Draft:
        """Grow level by level, then keep the best nodes: a prefix-closed set, since no child outweighs its parent."""
        if self._budget.rests():
            return Draft(DraftTree(), {"source": self.name, **self._budget.details})
        settings, builder = self.settings, DraftBuilder()
        depth = min(settings["depth"], limits.max_depth, self._assistant.room - 1)
        gain: list[float] = []  # cumulative draft probability
        level: list[int] = [ROOT]
        for _ in range(max(depth, 0)):
            if not level:
                break
            tree = DraftTree(tuple(builder.tokens), tuple(builder.parents))
            rows = self._assistant.begin()[None] if level == [ROOT] else self._assistant.read_nodes(tree, level)
            first = len(builder.tokens)
            for node, logits in zip(level, rows, strict=True):
                q = self._processors.plain(logits, _path(builder, node))
                above = 1.0 if node == ROOT else gain[node]
                for token in largest(q, settings["width"]):
                    if above * q[token] >= settings["stop_below"]:
                        builder.choose(node, token, float(q[token]))
                        gain.append(above * float(q[token]))
            fresh = range(first, len(gain))
            level = sorted(heapq.nlargest(settings["width"], fresh, key=lambda node: (gain[node], -node)))
        best = heapq.nlargest(self._budget.most(limits.max_nodes), range(len(gain)), key=lambda node: (gain[node], -node))
        kept = sorted(best[:self._budget.choose(np.array([gain[node] for node in best]))])
        return builder.draft({"source": self.name, "considered": len(gain), **self._budget.details}, kept)

    def commit(self, tokens: Sequence[int]) -> None:
        """The context grew."""
        self._assistant.commit(tokens)
        self._processors.commit(tokens)
        self._budget.commit(len(tokens))


def _path(builder: DraftBuilder, node: int) -> list[int]:
    tokens: list[int] = []
    while node != ROOT:
        tokens.append(builder.tokens[node])
        node = builder.parents[node]
    return tokens[::-1]
