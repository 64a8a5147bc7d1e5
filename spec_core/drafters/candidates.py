"""Drawing sibling candidates, and putting a draft together level by level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..draws import Draws
from ..processors import Processors
from ..tree import ROOT, DraftTree
from .base import Draft


def draw_candidates(q: np.ndarray, k: int, replacement: bool, draws: Draws) -> list[int]:
    """``k`` tokens drawn from q, in the order drawn; fewer where q without replacement runs out.

    Source: Yang et al., "Multi-Candidate Speculative Decoding" (2024), §4.
    """
    tokens: list[int] = []
    possible = np.flatnonzero(q)  # a trimmed vocabulary's are few
    rest = q[possible]
    for _ in range(k):
        if not rest.any():
            break
        drawn = draws.choose(rest)
        tokens.append(int(possible[drawn]))
        if not replacement:
            rest[drawn] = 0.0
    return tokens


class ChainDraws:
    """The tokens of one chain, drawn one after the other, and before each whether the chain goes on.

    At temperature 0 the token is the argmax of q. Going on is decided before the draw:
    dropping a token after seeing it would bias the output.

    Args:
        processors: of the run's sampling; the drafter's own copy.
        draws: the drafter's own chance.
        stop_below: the chain ends where its probability, the product of those of the most
            probable tokens, falls below this.
    """

    def __init__(self, processors: Processors, draws: Draws, stop_below: float) -> None:
        self._processors, self._draws, self._stop_below = processors, draws, stop_below
        self._reach = 1.0
        self.stopped_below: float | None = None

    def next(self, logits: torch.Tensor, path: Sequence[int]) -> tuple[int, np.ndarray | None, float] | None:
        """The token that follows ``path``: itself, q where it was drawn from q, and its probability; None ends the chain."""
        q = self._processors.plain(logits, path)
        likeliest = int(q.argmax())
        self._reach *= float(q[likeliest])
        if self._reach < self._stop_below:
            self.stopped_below = self._reach
            return None
        if self._processors.sampling.temperature == 0.0:
            return likeliest, None, float(q[likeliest])
        token, = draw_candidates(q, 1, True, self._draws)
        return token, q, float(q[token])


class DraftBuilder:
    """Collects the nodes of a draft in pseudo-sequence order, with the q and the order of their draws."""

    def __init__(self, replacement: bool = False) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self._probs: list[float] = []
        self._q: dict[int, np.ndarray] = {}
        self._drawn: dict[int, list[int]] = {}
        self._replacement = replacement

    def add(self, parent: int, tokens: list[int], q: np.ndarray) -> list[int]:
        """Children of ``parent``, as drawn from q. Returns their nodes; a token drawn twice is one node."""
        nodes = {token: self.choose(parent, token, float(q[token])) for token in dict.fromkeys(tokens)}
        self._q[parent] = q
        self._drawn[parent] = [nodes[token] for token in tokens]
        return list(nodes.values())

    def extend(self, parent: int, token: int, q: np.ndarray | None, prob: float) -> int:
        """One child of ``parent``, as ``ChainDraws`` gave it. Returns its node."""
        return self.choose(parent, token, prob) if q is None else self.add(parent, [token], q)[0]

    def choose(self, parent: int, token: int, prob: float) -> int:
        """A child of ``parent`` that was chosen, not drawn. Returns its node."""
        self.tokens.append(token)
        self.parents.append(parent)
        self._probs.append(prob)
        return len(self.tokens) - 1

    def draft(self, details: dict, kept: list[int] | None = None) -> Draft:
        """The finished draft; of chosen nodes, those in ``kept`` only (rising, closed under parents)."""
        if kept is None:
            kept = list(range(len(self.tokens)))
        place = {node: i for i, node in enumerate(kept)} | {ROOT: ROOT}
        tree = DraftTree(tuple(self.tokens[node] for node in kept), tuple(place[self.parents[node]] for node in kept),
                         draft_probs=tuple(self._probs[node] for node in kept))
        return Draft(tree, details, self._q, self._drawn, self._replacement)
