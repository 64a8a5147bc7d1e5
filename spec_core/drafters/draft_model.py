"""A chain drafted by a small model, token by token.

Source: Leviathan et al. (2023); Chen et al. (2023). Dynamic length by confidence and the
heuristic schedule are those of ``transformers``' assisted generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..draws import Draws
from ..processors import Processors
from ..tree import ROOT, DraftTree
from .assistant import Assistant
from .base import Draft, Limits
from .candidates import ChainDraws, DraftBuilder

SCHEDULE_UP, SCHEDULE_DOWN = 2, 1


class DraftModelDrafter:
    """Drafts a chain.

    At temperature 0 each token is the argmax; else it is drawn from q, through the same
    processors as the target's p (see ``ChainDraws``).

    Args:
        assistant: the small model.
        processors: of the run's sampling; this drafter's own copy.
        draws: its own chance.
        length: most drafted tokens a step.
        stop_below: end the chain where its probability, the product over its nodes of that of the most
            probable token, falls below this; 0 never does.
        schedule: "fixed", or "heuristic": two longer after a whole chain was accepted, one shorter otherwise.

    ``Draft.details``: ``{"source": "draft-model", "length": planned, "stopped_below": probability or None}``.
    """

    name = "draft-model"

    def __init__(self, assistant: Assistant, processors: Processors, draws: Draws, *, length: int = 5,
                 stop_below: float = 0.0, schedule: str = "fixed") -> None:
        self.settings: dict[str, Any] = {"length": length, "stop_below": stop_below, "schedule": schedule}
        self._assistant, self._processors, self._draws = assistant, processors, draws
        self._length = length
        self._drafted = 0

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._assistant.reset(context)
        self._processors.reset(context)
        self._length = self.settings["length"]

    def propose(self, limits: Limits) -> Draft:
        """Draft token by token."""
        builder = DraftBuilder()
        most = min(self._length, limits.max_depth, limits.max_nodes, self._assistant.room - 1)
        chain = ChainDraws(self._processors, self._draws, self.settings["stop_below"])
        node = ROOT
        while len(builder.tokens) < most:
            logits = self._assistant.begin() if node == ROOT else self._assistant.read_nodes(DraftTree.chain(builder.tokens), [node])[0]
            drawn = chain.next(logits, builder.tokens)
            if drawn is None:
                break
            node = builder.extend(node, *drawn)
        self._drafted = len(builder.tokens)
        return builder.draft({"source": self.name, "length": most, "stopped_below": chain.stopped_below})

    def commit(self, tokens: Sequence[int]) -> None:
        """The context grew; the heuristic schedule learns from how much of the draft stood."""
        self._assistant.commit(tokens)
        self._processors.commit(tokens)
        if self.settings["schedule"] == "heuristic" and self._drafted:
            whole = len(tokens) > self._drafted
            self._length = self._length + SCHEDULE_UP if whole else max(1, self._length - SCHEDULE_DOWN)
