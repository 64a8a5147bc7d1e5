"""Drafts from the context alone: what followed earlier occurrences of its suffixes, of every length."""

from __future__ import annotations

from ..pieces import Pieces
from .blend import Source
from .blended import BlendDrafter
from .costs import Costs


class ContextDrafter(BlendDrafter):
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
                 costs: Costs | None = None) -> None:
        super().__init__(pieces, Source.of(None), costs, continuation=continuation, budget=budget)
