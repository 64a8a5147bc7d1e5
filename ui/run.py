"""One run as its followers see it: its state, and a growing list of encoded views.

No gradio.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from spec_core.trace import Step, Trace

from .job import Job, encode, sentence, whole_characters

__all__ = ["PACES", "Run", "StepView", "sentence", "whole_characters"]

PACES = ("full", "second", "hand")

BATCH_STEPS = 32
BATCH_BYTES = 256 * 1024

StepView = Callable[[Step], Mapping[str, Any]]


class Run(Job):
    """A run that computes now, waits, is over, or was read from a trace.

    Args:
        run_id: stands in links.
        request: what was asked for; None for a run read from a trace.
        step_view: makes the view of a step.
        run_view: makes the view of the run's head.
    """

    def __init__(self, run_id: str, request: Any, step_view: StepView,
                 run_view: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        super().__init__(run_id)
        self.request = request
        self.trace: Trace | None = None
        self.pace = "full"
        self.paused = False
        self.credits = 0
        """Steps asked for by hand and not yet made."""
        self.weight = 0
        """Bytes that it takes beside its views."""
        self._step_view, self._run_view = step_view, run_view
        self._views: list[bytes] = []
        self._made = 0
        """When the latest step was committed, in milliseconds since 1970, as a browser counts."""

    def make_views(self, upto: int | None = None) -> None:
        """Encode the views of the first ``upto`` steps, or of all, each once."""
        with self._lock:
            self._made = int(time.time() * 1000)
            steps = self.trace.steps
            while len(self._views) < len(steps) and (upto is None or len(self._views) < upto):
                view = self._step_view(steps[len(self._views)])
                self._views.append(encode(view))

    @property
    def total(self) -> int:
        """Steps that can be fetched: of a live run those whose view is made, of a recorded one all."""
        return len(self._views) if self.request is not None else len(self.trace.steps)

    @property
    def size(self) -> int:
        """Bytes it takes, about."""
        return self.weight + sum(map(len, self._views))

    def status(self) -> dict[str, Any]:
        """The run's state, JSON-ready: the same size at every step."""
        trace = self.trace
        over = self.over and trace is not None
        return super().status() | {
            "pace": self.pace, "recorded": self.request is None,
            "stop": trace.stop if over else None,
            "output_text": trace.output_text if over else None,
        }

    def batch(self, after: int, opened: bool) -> bytes:
        """The answer to one fetch: status, the head where it is not ``opened`` yet, and the steps from ``after``.

        At most ``BATCH_STEPS`` steps or ``BATCH_BYTES`` bytes (one step at least), so that
        re-attaching to a long run streams in pieces.
        """
        with self._lock:
            version, status, total = self.version, self.status(), self.total
            after = min(max(after, 0), total)
            if self.request is None:
                self.make_views(after + BATCH_STEPS)
            steps: list[bytes] = []
            size = 0
            for view in self._views[after:after + BATCH_STEPS]:
                if steps and size + len(view) > BATCH_BYTES:
                    break
                steps.append(view)
                size += len(view)
            head = None if opened or self.trace is None else self._run_view(self.trace.run)
        return b'{"version":%d,"total":%d,"first":%d,"made":%d,"status":%s,"run":%s,"steps":[%s]}' % (
            version, total, after, self._made, encode(status), encode(head), b",".join(steps))

    def news(self, version: int, after: int) -> bool:
        """There is something that a follower at this version and step has not seen."""
        return super().news(version, after) or self.total > after
