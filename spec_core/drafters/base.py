"""What every drafter is: something that proposes a tree of tokens, and learns what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..tree import DraftTree


@dataclass(frozen=True)
class Draft:
    """A draft tree, what exact acceptance needs beside it, and what the views show of its making.

    Args:
        tree: the proposed nodes.
        details: JSON-ready facts for the views; each drafter documents its own.
        q: parent (or ``ROOT``) → the distribution that its children were drawn from, after
            the processors: float64 (vocabulary,). Nothing where they were chosen, not drawn.
        drawn: parent → its children in the order drawn; a child stands twice where a draw
            with replacement hit it twice. Nothing where they were chosen.
        replacement: whether siblings were drawn with replacement.
    """

    tree: DraftTree = DraftTree()
    details: dict[str, Any] = field(default_factory=dict)
    q: Mapping[int, np.ndarray] = field(default_factory=dict)
    drawn: Mapping[int, Sequence[int]] = field(default_factory=dict)
    replacement: bool = False


@dataclass(frozen=True)
class Limits:
    """How much a drafter may propose now: never beyond what can still be committed.

    Args:
        max_depth: longest path; the remaining token budget less the one token that
            the target itself adds.
        max_nodes: most nodes in the tree.
    """

    max_depth: int
    max_nodes: int


class Drafter(Protocol):
    """Proposes drafts for one sequence at a time.

    A drafter never changes the shared state of a model, and what it remembers of the
    sequence follows ``reset`` and ``commit`` only: a draft leaves no trace in it.
    """

    name: str
    settings: dict[str, Any]
    """The settings in force, JSON-ready: they go into the trace."""

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence; ``context`` ends with the root."""

    def propose(self, limits: Limits) -> Draft:
        """Draft the continuation of what was committed so far."""

    def commit(self, tokens: Sequence[int]) -> None:
        """These tokens now follow the context; the last one is the new root."""
