"""Coverage: how often a store knows what comes next in a text, and what that would be worth.

A simulation, and an honest one: it is what REST would have given to a target that wrote
exactly this text, greedily. A real target writes its own text, so a run can be better or
worse. No target and no torch.

Source: the walk is greedy acceptance over the draft tree, REST (He et al., NAACL 2024), §3.3;
tokens per target call is the paper's M.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .datastore.index import longest_match
from .datastore.store import Store
from .drafters.base import Limits
from .drafters.rest import RestDrafter
from .messages import UserError
from .models import Cancelled, IsCancelled, Progress
from .tree import ROOT, DraftTree

MAX_NODES = 2**16
EVERY = 256
"""Positions between two reports."""


@dataclass(frozen=True)
class Coverage:
    """What a replay of ``tokens`` tokens found, by the length of the matched suffix.

    A position is a token after the first: what stands before it is the context. Entry
    ``n`` of each list is for a matched suffix of ``n`` tokens; entry 0 for none.

    Args:
        tokens: of the text.
        positions: how many positions had such a longest match.
        calls: how many target calls of the simulation started there.
        accepted: draft tokens accepted in these.
        drafted: nodes drafted in these.
    """

    tokens: int
    positions: list[int]
    calls: list[int]
    accepted: list[int]
    drafted: list[int]

    @property
    def hit_share(self) -> float:
        """Positions with a match of any length ÷ all positions."""
        return 1 - self.positions[0] / sum(self.positions)

    @property
    def tokens_per_call(self) -> float:
        """Tokens after the first ÷ target calls."""
        return (self.tokens - 1) / sum(self.calls)

    def to_json(self) -> dict[str, Any]:
        """Counts, and the two figures made of them."""
        return {"tokens": self.tokens, "positions": self.positions, "calls": self.calls, "accepted": self.accepted,
                "drafted": self.drafted, "hit_share": self.hit_share, "tokens_per_call": self.tokens_per_call}


def replay(drafter: RestDrafter, store: Store, ids: Sequence[int], progress: Progress = lambda stage, fraction: None,
           cancelled: IsCancelled = lambda: False) -> Coverage:
    """Replay a text: at each step the drafter proposes, and the longest path equal to the text is accepted.

    Args:
        drafter: of ``store``; it is reset.
        store: looked up at the positions between the steps, too.
        ids: the tokens of the text; the first one is given, the others are written.
        progress: called with "coverage.replay" and the share that is done.
        cancelled: asked as often.

    Raises:
        UserError: fewer than two tokens.
        Cancelled: ``cancelled`` said so.
    """
    n = len(ids)
    if n < 2:
        raise UserError("coverage.too_short")
    longest, shortest, depth = (drafter.settings[name] for name in ("max_suffix", "min_suffix", "continuation"))
    positions, calls, accepted, drafted = ([0] * (longest + 1) for _ in range(4))
    drafter.reset(ids[:1])
    turn = 1
    for i in range(1, n):
        if i % EVERY == 1:
            progress("coverage.replay", i / n)
            if cancelled():
                raise Cancelled
        if i < turn:
            positions[longest_match(store, ids[max(0, i - longest):i], longest, shortest).length] += 1
            continue
        match, trie = drafter.look_up(Limits(n - i - 1, MAX_NODES))
        tree = trie.tree()
        agreed = agreement(tree, ids[i:min(i + depth, n - 1)])
        positions[match.length] += 1
        calls[match.length] += 1
        accepted[match.length] += agreed
        drafted[match.length] += len(tree)
        turn = i + agreed + 1
        drafter.commit(ids[i:turn])
    progress("coverage.replay", 1.0)
    return Coverage(n, positions, calls, accepted, drafted)


def agreement(tree: DraftTree, text: Sequence[int]) -> int:
    """Length of the longest path from the root that ``text`` begins with."""
    node = ROOT
    for depth, token in enumerate(text):
        node = next((child for child in tree.children(node) if tree.tokens[child] == token), None)
        if node is None:
            return depth
    return len(text)
