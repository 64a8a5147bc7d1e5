"""Drafts from the context alone: what followed earlier occurrences of its suffixes, of every length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..datastore.index import Match
from ..pieces import Pieces
from ..tree import DraftTree
from . import complete_settings
from .automaton import INITIAL, SuffixAutomaton
from .base import Draft, Limits
from .blend import Source, blend
from .budget import CostCurve, NodeBudget
from .evidence import CONTEXT_ABSENT, STORE_ABSENT, weights

LONGEST = 64
"""Longest suffix matched in the context."""
SHOWN_UNSELECTED = 64
SHOWN_ATTEMPTS = 16


class ContextDrafter:
    """Drafts the most promising continuations of the suffixes that occur in prompt or output before.

    All match lengths count: a suffix automaton holds them with their counts, and each
    candidate's estimate comes from the longest match that it was seen behind (see ``blend``).

    Args:
        pieces: display strings of the target's tokens.
        continuation: longest path.
        budget: most nodes of the draft tree, or "auto".
        costs: what nodes cost, for "auto".

    ``Draft.details`` (JSON-ready, about 5 kB at 40 nodes)::

        {"source": "context",
         "matched": 7,                     # tokens of the longest matching suffix, 0: none
         "suffix": ["for", " i", …],       # its pieces
         "attempts": [{"length": 7, "hits": 1}, …],   # suffixes with other hits than the next longer one
         "hits": 1,                        # earlier occurrences of the longest
         "sources": [["context"], …],      # who saw each selected node there
         "estimates": [0.91, …],           # probability that the node is accepted, as estimated
         "unselected": {"tokens", "pieces", "parents", "weights"}}

    A node's weight is how often it was seen behind the match that its estimate comes from.
    ``unselected`` are the most promising nodes outside the draft tree, in falling order, as
    in REST's details.
    """

    name = "context"

    def __init__(self, pieces: Pieces, *, continuation: int = 32, budget: int | str = 40,
                 costs: CostCurve | None = None, **more: Any) -> None:
        self.settings: dict[str, Any] = complete_settings(self.name, {
            "continuation": continuation, "budget": budget, **more})
        self._pieces = pieces
        self._source = Source.of(None)
        self._automaton = SuffixAutomaton(LONGEST + 1)
        self._end = self._automaton.begin()
        self._budget = NodeBudget(self.settings["budget"], costs)
        self._recent: list[int] = []
        self.propose(Limits(1, 1))  # the kernels are compiled or loaded before the first step

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._automaton.clear()
        self._end = self._automaton.begin()
        self._automaton.extend(self._end, context)
        self._recent = list(context[-LONGEST:])
        self._budget.reset()

    def commit(self, tokens: Sequence[int]) -> None:
        """The context grew."""
        self._automaton.extend(self._end, tokens)
        self._recent = [*self._recent, *tokens][-LONGEST:]
        self._budget.commit(len(tokens))

    def propose(self, limits: Limits) -> Draft:
        """The most promising nodes within the limits; an empty tree when nothing matches."""
        match = self._look_up()
        found = blend(self._automaton, self._end, self._source, match, np.array(self._recent, dtype=np.int64),
                      weights(self.name), self._budget.most(limits.max_nodes),
                      min(self.settings["continuation"], limits.max_depth), SHOWN_UNSELECTED)
        picked = min(len(found), self._budget.most(limits.max_nodes))
        nodes = _numbered(found, self._budget.choose(found["path"][:picked]))
        counts = (nodes.all["context_count"] + nodes.all["store_count"]).tolist()
        n, tokens, parents = nodes.selected, nodes.all["token"].tolist(), nodes.all["parent"].tolist()
        shown = slice(n, n + SHOWN_UNSELECTED)
        return Draft(DraftTree(tuple(tokens[:n]), tuple(parents[:n]), tuple(counts[:n])), {
            "source": self.name,
            **self._matches(match),
            "sources": _sources(nodes.all[:n]),
            "estimates": [round(path, 3) for path in nodes.all["path"][:n].tolist()],
            **self._passages(nodes.all[:n]),
            "unselected": {"tokens": tokens[shown], "pieces": self._pieces.of(tokens[shown]),
                           "parents": parents[shown], "weights": counts[shown]},
        })
