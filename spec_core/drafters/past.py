"""What was generated before, kept between runs: bounded, in memory only."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from ..pieces import Pieces
from .automaton import SuffixAutomaton

MOST_TOKENS = 200_000
"""Of all outputs together: about 50 MB."""


DEPTH = 65
"""Substrings of at most so many tokens are counted."""


class Output:
    """One output, growing."""

    def __init__(self, past: PastOutputs) -> None:
        self._past = past
        self._start_over()

    def extend(self, tokens: Sequence[int]) -> None:
        """Add what was committed."""
        with self._past.lock:
            if not self.tokens:
                self._past.outputs.append(self)
            self.tokens += tokens
            self._past.automaton.extend(self._cursor, tokens)

    def _start_over(self) -> None:
        self.tokens: list[int] = []
        self._cursor = self._past.automaton.begin()

    def _enter_again(self) -> None:
        self._cursor = self._past.automaton.begin()
        self._past.automaton.extend(self._cursor, self.tokens)


class PastOutputs:
    """A suffix automaton of the latest outputs.

    Where they exceed the bound when an output begins, the older half is forgotten.

    Args:
        most_tokens: the bound.

    Attributes:
        automaton: of all outputs.
        outputs: those in it, oldest first.
        generation: grows when the automaton's states lose their meaning, because something was forgotten.
        lock: held while the automaton is written or walked.
    """

    def __init__(self, most_tokens: int = MOST_TOKENS) -> None:
        self.automaton = SuffixAutomaton(DEPTH)
        self.outputs: list[Output] = []
        self.generation = 0
        self.lock = threading.Lock()
        self._most = most_tokens

    def begin(self) -> Output:
        """Begin an output."""
        with self.lock:
            if len(self.automaton) > self._most:
                self._forget()
        return Output(self)

    def _forget(self) -> None:
        kept, size = len(self.outputs), 0
        while kept and size + len(self.outputs[kept - 1].tokens) <= self._most // 2:
            kept -= 1
            size += len(self.outputs[kept].tokens)
        forgotten, self.outputs = self.outputs[:kept], self.outputs[kept:]
        self.automaton = SuffixAutomaton(DEPTH)
        self.generation += 1
        for output in forgotten:  # a run may still be writing it
            output._start_over()
        for output in self.outputs:
            output._enter_again()


_pasts: WeakKeyDictionary[Pieces, PastOutputs] = WeakKeyDictionary()


def past_outputs(pieces: Pieces) -> PastOutputs:
    """The outputs of a loaded target, known by its pieces; they go when it goes."""
    return _pasts.setdefault(pieces, PastOutputs())
