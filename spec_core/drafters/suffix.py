"""SuffixDecoding: what followed the longest suffixes, in this request and in past outputs.

A longer match is trusted further: it may draft as many nodes as it has tokens, times a
factor. From each suffix that occurs, the nodes of highest probability (their share of
what followed) are taken down to a floor; the sum of their probabilities is the expected
number of accepted tokens, and the best sum wins, over all lengths and both structures.

Source: Oliaro et al., "SuffixDecoding: Extreme Speculative Decoding for Emerging AI
Applications" (NeurIPS 2025), §3 and Algorithm 1. There suffix trees cut at a depth; here
a suffix automaton, in which the suffixes that end at the same places are one state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numba import njit

from ..pieces import Pieces
from ..tree import DraftTree
from . import complete_settings
from .automaton import INITIAL, SuffixAutomaton
from .base import Draft, Limits
from .blended import SHOWN_ATTEMPTS, breadth_first
from .budget import NodeBudget
from .costs import Costs
from .past import DEPTH, PastOutputs, past_outputs

NODE = np.dtype([("token", np.int64), ("parent", np.int64), ("depth", np.int64), ("count", np.int64),
                 ("path", np.float64)])  # product of the shares down to the node


class SuffixDrafter:
    """Drafts what followed before, here and in past outputs.

    Args:
        pieces: display strings of the target's tokens.
        past: the past outputs; by default those of ``pieces``.
        factor: nodes for each token of the match.
        min_prob: floor of a node's probability.
        depth: longest match and longest path.
        budget: most nodes of the draft tree, or "auto".
        costs: what nodes cost, for "auto".

    ``Draft.details`` (JSON-ready, about 2 kB at 40 nodes)::

        {"source": "suffix",
         "matched": 7,                      # tokens of the suffix that the draft follows, 0: none
         "suffix": ["for", " i", …],        # its pieces
         "attempts": [{"length": 9, "hits": 1, "source": "context", "score": 0.8}, …],   # longest first
         "hits": 3,                         # occurrences of the suffix
         "score": 2.7,                      # expected accepted tokens
         "sources": [["past"], …],          # "context" or "past", the same for all nodes
         "estimates": [0.91, …]}            # probability of each node
    """

    name = "suffix"

    def __init__(self, pieces: Pieces, past: PastOutputs | None = None, *, factor: float = 1.0, min_prob: float = 0.1,
                 depth: int = 64, budget: int | str = 40, costs: Costs | None = None) -> None:
        self.settings: dict[str, Any] = complete_settings(self.name, {
            "factor": factor, "min_prob": min_prob, "depth": depth, "budget": budget})
        self._pieces = pieces
        self._past = past or past_outputs(pieces)
        self._automaton = SuffixAutomaton(DEPTH)
        self._budget = NodeBudget(self.settings["budget"], costs)
        self.reset([])
        self._speculate(self._automaton, INITIAL, 0, 1, 1)  # compiled or loaded before the first step

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence; the one before is a past output now."""
        self._automaton.clear()
        self._end = self._automaton.begin()
        self._automaton.extend(self._end, context)
        self._recent = list(context[-DEPTH:])
        self._output = self._past.begin()
        self._match_in_past()
        self._budget.reset()

    def commit(self, tokens: Sequence[int]) -> None:
        """The context and the output grew."""
        self._automaton.extend(self._end, tokens)
        self._recent = [*self._recent, *tokens][-DEPTH:]
        with self._past.lock:
            if self._generation == self._past.generation:
                self._in_past = self._past.automaton.follow(*self._past.automaton.settled(*self._in_past), tokens)
        self._output.extend(tokens)
        self._budget.commit(len(tokens))

    def propose(self, limits: Limits) -> Draft:
        """The draft of the best score within the limits; an empty tree when nothing matches."""
        if self._budget.rests():
            return Draft(DraftTree(), {"source": self.name, "sources": [], **self._budget.details})
        most, deepest = self._budget.most(limits.max_nodes), min(self.settings["depth"], limits.max_depth)
        with self._past.lock:
            if self._generation != self._past.generation:
                self._match_in_past()
            past = self._speculate(self._past.automaton, *self._past.automaton.settled(*self._in_past), most, deepest)
        here = self._speculate(self._automaton, *self._automaton.repeated(self._end), most, deepest)
        source, best = max(("context", here), ("past", past), key=lambda named: named[1].score)
        n = self._budget.choose(best.found["path"])
        nodes = breadth_first(best.found[:n], n)
        attempts = [{**attempt, "source": name} for name, found in (("context", here), ("past", past))
                    for attempt in found.attempts]
        attempts.sort(key=lambda attempt: -attempt["length"])
        return Draft(DraftTree(tuple(nodes["token"].tolist()), tuple(nodes["parent"].tolist()),
                               tuple(nodes["count"].tolist())), {
            "source": self.name, **self._budget.details, "matched": best.length,
            "suffix": self._pieces.of(self._recent[len(self._recent) - best.length:]),
            "attempts": attempts[:SHOWN_ATTEMPTS],
            "hits": best.hits, "score": round(best.score, 3),
            "sources": [[source]] * n,
            "estimates": [round(path, 3) for path in nodes["path"].tolist()],
        })

    def _match_in_past(self) -> None:
        """Walk the end of the context through the past outputs from the start."""
        self._generation = self._past.generation
        self._in_past = self._past.automaton.follow(INITIAL, 0, self._recent)

    def _speculate(self, automaton: SuffixAutomaton, state: int, length: int, most: int, deepest: int) -> Speculation:
        """The best draft of one structure, over all suffixes from ``length`` tokens down."""
        settings, states = self.settings, automaton.states
        best, attempts = Speculation(np.empty(0, NODE), 0, 0, 0.0, []), []
        length = min(length, settings["depth"])
        while state > INITIAL:
            link = int(states["link"][state])
            if length > int(states["length"][link]):  # else the bound on the depth cut this state off
                found = speculate(states, automaton.edges, automaton.depth, state,
                                  min(most, int(settings["factor"] * length)), deepest, settings["min_prob"])
                score, hits = float(found["path"].sum()), int(states["count"][state])
                attempts.append({"length": length, "hits": hits, "score": round(score, 3)})
                if score > best.score:
                    best = Speculation(found, length, hits, score, attempts)
            state, length = link, min(int(states["length"][link]), settings["depth"])
        return replace(best, attempts=attempts)


@dataclass(frozen=True)
class Speculation:
    """A draft of one structure.

    Args:
        found: ``NODE`` [n] in the order of picking.
        length: of the suffix that it follows.
        hits: of that suffix.
        score: expected accepted tokens.
        attempts: length, hits and score of each suffix tried.
    """

    found: np.ndarray
    length: int
    hits: int
    score: float
    attempts: list[dict[str, Any]]


@njit(cache=True, nogil=True)
def speculate(states, edges, counted, state, most, deepest, floor):
    """The ``most`` nodes of highest probability behind ``state``; none has less than ``floor``."""
    nodes = np.empty(most, NODE)
    heap = [(0.0, np.int64(0), np.int64(0), np.int64(0), np.int64(0))]
    heap.pop()
    count, parent, path, depth = 0, np.int64(-1), 1.0, np.int64(0)
    while True:
        if depth < deepest and count < most:
            total = 0
            edge = states[state].edges
            while edge >= 0:
                total += states[edges[edge].target].count
                edge = edges[edge].next
            edge = states[state].edges
            while edge >= 0:
                share = path * states[edges[edge].target].count / total
                if share >= floor:
                    heappush(heap, (-share, depth + 1, np.int64(edges[edge].token), parent,
                                    np.int64(edges[edge].target)))
                edge = edges[edge].next
        if not heap or count == most:
            return nodes[:count]
        negative, depth, token, above, state = heappop(heap)
        while states[states[state].link].length >= counted - 1:  # what follows a longer substring is not counted
            state = np.int64(states[state].link)
        path, parent = -negative, np.int64(count)
        nodes[count].token, nodes[count].parent, nodes[count].depth = token, above, depth
        nodes[count].count, nodes[count].path = states[state].count, path
        count += 1
