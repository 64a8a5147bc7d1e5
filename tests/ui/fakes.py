"""A lab without a model: the same shape as ``spec_core.lab``, steps from thin air."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from spec_core.lab import Request
from spec_core.messages import UserError
from spec_core.trace import Committed, Step, Trace, TreeRecord


def run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns. In a thread: the browser tests leave an event loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


PIECES = ["def", " load", "(", "path", ")", ":", "\n", "   ", " return", " path"]


def fake_step(index: int) -> Step:
    """A step with a small tree: a chain of two, of which one is accepted, and a rejected sibling."""
    n = len(PIECES)
    pieces = [PIECES[index % n], PIECES[(index + 3) % n], PIECES[(index + 1) % n]]
    return Step(
        index=index, context_length=1 + 2 * index,
        tree=TreeRecord([1, 2, 3], pieces, [-1, -1, 0], [5, 3, 2], None, [1.0, 0.0, 0.0],
                        ["accepted", "rejected", "rejected"]),
        committed=Committed([1, 4], [pieces[0], PIECES[(index + 2) % n]], ["accepted", "recovered"]),
        ms={"draft": 0.2, "verify": 40.0, "accept": 0.3, "overhead": 0.1},
    )


def fake_run(prompt: str = "import os\n") -> dict[str, Any]:
    """The head of a trace."""
    return {"id": "fake", "created": "2026-01-01T00:00:00+00:00", "prompt": prompt, "prompt_ids": [1],
            "prompt_pieces": [prompt], "target": {"name": "fake", "dtype": "float32", "device": "cpu", "vocab_size": 9},
            "drafter": {"name": "rest", "settings": {}}, "datastore": None,
            "acceptance": {"rule": "one-draw", "lossless": True, "temperature": 0.0},
            "limits": {"max_new_tokens": 128}}


def fake_trace(steps: int) -> Trace:
    """A finished run of so many steps."""
    made = [fake_step(i) for i in range(steps)]
    return Trace(fake_run(), made, [i for step in made for i in step.committed.ids], "text", "length")


class FakeGeneration:
    """Makes ``lab.steps`` steps, each waiting for ``lab.gate`` and ``lab.step_seconds``."""

    def __init__(self, lab: FakeLab, request: Request) -> None:
        self.trace = Trace(fake_run(request.prompt))
        self._lab = lab

    def steps(self) -> Iterator[Step]:
        try:
            for index in range(self._lab.steps):
                self._lab.gate.wait()
                time.sleep(self._lab.step_seconds)
                if index == self._lab.fails_at:
                    self.trace.stop = "error"
                    raise self._lab.failure
                self.trace.steps.append(fake_step(index))
                yield self.trace.steps[-1]
            self.trace.stop = "length"
        finally:
            self._lab.closed += 1


class FakeLab:
    """Counts what it is asked for, and can be made to wait or to fail."""

    def __init__(self, steps: int = 5, step_seconds: float = 0.0, load_seconds: float = 0.0) -> None:
        self.steps, self.step_seconds, self.load_seconds = steps, step_seconds, load_seconds
        self.gate = threading.Event()
        self.gate.set()
        self.fails_at: int | None = None
        self.failure: Exception = RuntimeError("secret path /home/somebody")
        self.closed = 0

    def check(self, request: Request) -> None:
        if not request.prompt:
            raise UserError("request.prompt_empty")

    def prepare(self, request: Request, progress: Callable[[str, float | None], None],
                cancelled: Callable[[], bool]) -> FakeGeneration:
        until = time.monotonic() + self.load_seconds
        while time.monotonic() < until:
            progress("stage.load", 0.5)
            if cancelled():
                raise InterruptedError
            time.sleep(0.01)
        return FakeGeneration(self, request)
