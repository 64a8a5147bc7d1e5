"""What ``context`` and ``fusion`` share: a suffix automaton of the context, and a blended tree within a budget."""

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
from .budget import NodeBudget
from .costs import Costs
from .evidence import CONTEXT_ABSENT, STORE_ABSENT, weights

LONGEST = 64
"""Longest suffix matched in the context."""
SHOWN_UNSELECTED = 64
SHOWN_ATTEMPTS = 16


class BlendDrafter:
    """Drafts the most promising continuations of the context.

    Args:
        pieces: display strings of the target's tokens.
        source: the store that is drafted from, beside the context.
        costs: what nodes cost, for the budget "auto".
        settings: those of the kind; ``continuation`` and ``budget`` are among them.
    """

    name: str

    def __init__(self, pieces: Pieces, source: Source, costs: Costs | None, **settings: Any) -> None:
        self.settings: dict[str, Any] = complete_settings(self.name, settings)
        self._pieces, self._source = pieces, source
        self._automaton = SuffixAutomaton(LONGEST + 1)
        self._end = self._automaton.begin()
        self._budget = NodeBudget(self.settings["budget"], costs)
        self._recent: list[int] = []
        self._draft(Limits(1, 1))  # the kernels are compiled or loaded before the first step

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
        if self._budget.rests():
            return Draft(DraftTree(), {"source": self.name, "sources": [], **self._budget.details})
        return self._draft(limits)

    def _draft(self, limits: Limits) -> Draft:
        match = self._look_up()
        most = self._budget.most(limits.max_nodes)
        found = blend(self._automaton, self._end, self._source, match, np.array(self._recent, dtype=np.int64),
                      weights(self.name), most, min(self.settings["continuation"], limits.max_depth),
                      SHOWN_UNSELECTED)
        n = self._budget.choose(found["path"][:most])
        nodes = breadth_first(found[:n + SHOWN_UNSELECTED], n)
        tokens, parents = nodes["token"].tolist(), nodes["parent"].tolist()
        counts = (nodes["context_count"] + nodes["store_count"]).tolist()
        return Draft(DraftTree(tuple(tokens[:n]), tuple(parents[:n]), tuple(counts[:n])), {
            "source": self.name, **self._budget.details,
            **self._matches(match),
            "sources": [[name for name, seen in (("context", in_context), ("rest", in_store)) if seen]
                        for in_context, in_store in zip((nodes["context_class"][:n] < CONTEXT_ABSENT).tolist(),
                                                        (nodes["store_class"][:n] < STORE_ABSENT).tolist(),
                                                        strict=True)],
            "estimates": [round(path, 3) for path in nodes["path"][:n].tolist()],
            **self._passages(nodes[:n]),
            "unselected": {"tokens": tokens[n:], "pieces": self._pieces.of(tokens[n:]),
                           "parents": parents[n:], "weights": counts[n:]},
        })

    def _look_up(self) -> Match | None:
        """The longest match in the store; there is none."""
        return None

    def _passages(self, nodes: np.ndarray) -> dict[str, Any]:
        """Where the nodes were seen; the context shows itself."""
        return {}

    def _matches(self, match: Match | None) -> dict[str, Any]:
        """What of the context's end was found."""
        states = self._automaton.states
        state, matched = self._automaton.repeated(self._end)
        attempts, length = [], matched
        while state > INITIAL and len(attempts) < SHOWN_ATTEMPTS:
            attempts.append({"length": length, "hits": int(states["count"][state]) - 1})
            state = int(states["link"][state])
            length = int(states["length"][state])
        return {"matched": matched, "suffix": self._pieces.of(self._recent[len(self._recent) - matched:]),
                "attempts": attempts, "hits": attempts[0]["hits"] if attempts else 0}


def breadth_first(found: np.ndarray, selected: int) -> np.ndarray:
    """``NODE`` array with its first ``selected`` nodes in pseudo-sequence order, and parents to match."""
    order = np.argsort(found["depth"][:selected], kind="stable")
    index = np.arange(-1, len(found))  # one further, so that -1, the root, finds itself first
    index[order + 1] = np.arange(selected)
    nodes = found.copy()
    nodes[:selected] = found[order]
    nodes["parent"] = index[nodes["parent"] + 1]
    return nodes
