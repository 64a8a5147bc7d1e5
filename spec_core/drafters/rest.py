"""REST: drafts are looked up in a datastore.

The longest suffix of the context that occurs in the store is found, the continuations
of all its hits form a weighted trie, and its heaviest nodes are the draft tree.

Source: He et al., "REST: Retrieval-Based Speculative Decoding" (NAACL 2024), §3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..datastore.index import Match, longest_match
from ..datastore.store import Store
from ..datastore.trie import Trie, heaviest_nodes
from ..pieces import Pieces
from ..tree import DraftTree
from . import complete_settings
from .base import Draft, Limits
from .budget import NodeBudget
from .costs import Costs
from .evidence import heaviest_estimates
from .snippets import Span, snippets_of

SHOWN_UNSELECTED = 64
MAX_SNIPPETS = 32


class RestDrafter:
    """Drafts the heaviest continuations of the longest matching suffix.

    Args:
        store: an opened store of the target's tokenizer.
        pieces: display strings of its tokens.
        max_suffix: longest suffix tried.
        min_suffix: shortest suffix tried.
        continuation: tokens looked at after each hit: the depth of the trie.
        budget: most nodes of the draft tree, or "auto".
        costs: what nodes cost, for "auto".

    Raises:
        UserError: a setting outside its range, or ``min_suffix`` above ``max_suffix``.

    ``Draft.details`` (JSON-ready, about 5 kB at 40 nodes)::

        {"source": "rest",
         "matched": 7,                     # tokens of the matched suffix, 0: none
         "suffix": ["for", " i", …],       # its pieces
         "attempts": [{"length": 9, "hits": 0}, …],   # in the order tried
         "hits": 94,
         "provenance": [0, 0, 1, …],       # a selected node's snippet, or None
         "documents": […], "snippets": […],   # see snippets.snippets_of
         "unselected": {"tokens", "pieces", "parents", "weights"}}

    A snippet is one hit of the node, one for each leaf and the nodes above it; past
    ``MAX_SNIPPETS`` nodes have none. ``unselected`` are the heaviest nodes outside the
    draft tree, in falling order; with n selected nodes, a parent below n is a selected
    node, n is the first unselected one, and -1 the root.
    """

    name = "rest"

    def __init__(self, store: Store, pieces: Pieces, *, max_suffix: int = 16, min_suffix: int = 2,
                 continuation: int = 10, budget: int | str = 40, costs: Costs | None = None) -> None:
        self.settings: dict[str, Any] = complete_settings(self.name, {
            "max_suffix": max_suffix, "min_suffix": min_suffix, "continuation": continuation, "budget": budget})
        self._store = store
        self._pieces = pieces
        self._budget = NodeBudget(self.settings["budget"], costs)
        self._recent: list[int] = []  # as much of the context as a suffix can reach
        # a match that is sure, so that the kernels are compiled or loaded before the first step
        heaviest_nodes(store, longest_match(store, [int(store.tokens[0])], 1, 1), 1, 1)

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._recent = list(context[-self.settings["max_suffix"]:])
        self._budget.reset()

    def commit(self, tokens: Sequence[int]) -> None:
        """The context grew."""
        self._recent = [*self._recent, *tokens][-self.settings["max_suffix"]:]
        self._budget.commit(len(tokens))

    def propose(self, limits: Limits) -> Draft:
        """The heaviest nodes within the limits; an empty tree when nothing matches."""
        if self._budget.rests():
            return Draft(DraftTree(), {"source": self.name, **self._budget.details})
        match, trie = self.look_up(limits, SHOWN_UNSELECTED)
        return Draft(trie.tree(), self._details(match, trie))

    def look_up(self, limits: Limits, others: int = 0) -> tuple[Match, Trie]:
        """What a draft is made from: the longest match, the nodes to select and the ``others`` next heaviest."""
        settings = self.settings
        match = longest_match(self._store, self._recent, settings["max_suffix"], settings["min_suffix"])
        most, depth = self._budget.most(limits.max_nodes), min(settings["continuation"], limits.max_depth)
        trie = heaviest_nodes(self._store, match, depth, most, others)
        if self._budget.automatic:
            most = self._budget.choose(heaviest_estimates(trie, match.length, match.hits))
            trie = heaviest_nodes(self._store, match, depth, most, others)
        return match, trie

    def _details(self, match: Match, trie: Trie) -> dict[str, Any]:
        n = trie.selected
        provenance, leaves = _cover(trie)
        return {
            "source": self.name, **self._budget.details,
            "matched": match.length,
            "suffix": self._pieces.of(self._recent[len(self._recent) - match.length:]),
            "attempts": [{"length": length, "hits": hits} for length, hits in match.attempts],
            "hits": match.hits,
            "provenance": provenance,
            **snippets_of(self._store, self._pieces, [_span(trie, leaf, match.length) for leaf in leaves]),
            "unselected": {"tokens": trie.tokens[n:], "pieces": self._pieces.of(trie.tokens[n:]),
                           "parents": trie.parents[n:], "weights": trie.weights[n:]},
        }


def _span(trie: Trie, leaf: int, matched: int) -> Span:
    """Where a hit of the leaf has the matched suffix and the path to the leaf."""
    path = trie.positions[leaf] + matched
    depth = 0
    while leaf >= 0:
        depth += 1
        leaf = trie.parents[leaf]
    return Span(path - matched, path, path + depth)


def _cover(trie: Trie) -> tuple[list[int | None], list[int]]:
    """For each selected node the index of a leaf at or below it; and these leaves."""
    covered: list[int | None] = [None] * trie.selected
    leaves: list[int] = []
    has_child = set(trie.parents[:trie.selected])
    for node in range(trie.selected):
        if node in has_child or len(leaves) == MAX_SNIPPETS:
            continue
        leaves.append(node)
        above = node
        while above >= 0 and covered[above] is None:
            covered[above] = len(leaves) - 1
            above = trie.parents[above]
    return covered, leaves
