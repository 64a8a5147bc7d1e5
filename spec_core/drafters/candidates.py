"""Drawing sibling candidates, and putting a draft together level by level."""

from __future__ import annotations

import numpy as np

from ..draws import Draws
from ..tree import ROOT, DraftTree
from .base import Draft


def draw_candidates(q: np.ndarray, k: int, replacement: bool, draws: Draws) -> list[int]:
    """``k`` tokens drawn from q, in the order drawn; fewer where q without replacement runs out.

    Source: Yang et al., "Multi-Candidate Speculative Decoding" (2024), §4.
    """
    tokens: list[int] = []
    rest = q.copy()
    for _ in range(k):
        if not rest.any():
            break
        token = draws.choose(rest)
        tokens.append(token)
        if not replacement:
            rest[token] = 0.0
    return tokens


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
