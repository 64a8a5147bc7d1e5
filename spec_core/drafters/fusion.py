"""REST and context merged: one tree under one budget, each node credited to its sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..datastore.index import Match, longest_match
from ..datastore.store import Store
from ..pieces import Pieces
from .blend import Source
from .blended import BlendDrafter
from .costs import Costs
from .snippets import Span, snippets_of

MAX_SNIPPETS = 12


class FusionDrafter(BlendDrafter):
    """Drafts the most promising continuations that the datastore and the context know.

    A node's estimate weighs what both say of it: length of the match, counts, source (see
    ``evidence``). A path can begin in one source and go on in the other.

    Args:
        store: an opened store of the target's tokenizer.
        pieces: display strings of its tokens.
        max_suffix: longest suffix looked up in the store.
        continuation, budget, costs: as for ``ContextDrafter``.

    ``Draft.details``: those of ``ContextDrafter``, and of REST ``documents``, ``provenance``
    and ``snippets``, for the nodes seen in the store. ``sources`` holds "context", "rest" or
    both; ``matched``, ``suffix``, ``attempts`` and ``hits`` are those of the source with
    the longer match, and ``matches`` has both: ``{"context": {"length": 7, "hits": 1},
    "rest": {"length": 4, "hits": 311}}``. A snippet's ``match`` is what stands before its
    first node in the store and in context and path alike.
    """

    name = "fusion"

    def __init__(self, store: Store, pieces: Pieces, *, max_suffix: int = 16, continuation: int = 32,
                 budget: int | str = 40, costs: Costs | None = None) -> None:
        self._store = store
        super().__init__(pieces, Source.of(store, max_suffix), costs, max_suffix=max_suffix,
                         continuation=continuation, budget=budget)

    def _look_up(self) -> Match:
        return longest_match(self._store, self._recent, self.settings["max_suffix"], 1)

    def _matches(self, match: Match) -> dict[str, Any]:
        matches = super()._matches(match)
        both = {"context": {"length": matches["matched"], "hits": matches["hits"]},
                "rest": {"length": match.length, "hits": match.hits}}
        if match.length > matches["matched"]:
            matches = {"matched": match.length,
                       "suffix": self._pieces.of(self._recent[len(self._recent) - match.length:]),
                       "attempts": [{"length": length, "hits": hits} for length, hits in match.attempts],
                       "hits": match.hits}
        return {**matches, "matches": both}

    def _passages(self, nodes: np.ndarray) -> dict[str, Any]:
        """One snippet a run of nodes that stand one behind the other in the store."""
        positions, parents, behind = (nodes[field].tolist() for field in ("position", "parent", "behind"))
        provenance: list[int | None] = [None] * len(nodes)
        runs: list[tuple[int, int]] = []  # first and last node
        for node in range(len(nodes) - 1, -1, -1):
            if positions[node] < 0 or provenance[node] is not None or len(runs) == MAX_SNIPPETS:
                continue
            first = node
            provenance[node] = len(runs)
            while (above := parents[first]) >= 0 and provenance[above] is None \
                    and positions[above] == positions[first] - 1:
                first = above
                provenance[first] = len(runs)
            runs.append((first, node))
        spans = [Span(positions[first] - behind[first], positions[first], positions[last] + 1) for first, last in runs]
        return {"provenance": provenance, **snippets_of(self._store, self._pieces, spans)}
