"""One run as its followers see it: a state, a growing list of encoded views, and who is there.

No gradio. The worker thread of ``runs.py`` writes, the event loop and other threads read;
every change goes through a method that takes the run's lock and wakes the waiting followers.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from spec_core.messages import LANGUAGES, UserError
from spec_core.trace import Step, Trace

OVER = ("finished", "stopped", "error")
PACES = ("full", "second", "hand")

BATCH_STEPS = 32
BATCH_BYTES = 256 * 1024

StepView = Callable[[Step], Mapping[str, Any]]


class Run:
    """A run that computes now, waits, is over, or was read from a trace.

    Args:
        run_id: stands in links.
        request: what was asked for; None for a run read from a trace.
        step_view: makes the view of a step.
        run_view: makes the view of the run's head.
    """

    def __init__(self, run_id: str, request: Any, step_view: StepView,
                 run_view: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        self.id = run_id
        self.key = secrets.token_urlsafe(12)
        """Known to the browser that started the run; who has it may pause and stop."""
        self.request = request
        self.trace: Trace | None = None
        self.state = "queued"
        """queued, loading, running, paused, or one of ``OVER``."""
        self.stage: str | None = None
        self.fraction: float | None = None
        self.queue_position: int | None = None
        self.gives_way_after: float | None = None
        """Seconds that the paused run that holds the device may keep this one waiting; None where none does."""
        self.error: UserError | None = None
        self.pace = "full"
        self.paused = False
        self.credits = 0
        """Steps asked for by hand and not yet made."""
        self.stop_wanted = False
        self.held = False
        """Every follower has said good-bye: no step is made until one comes back."""
        self.version = 1
        self.weight = 0
        """Bytes that it takes beside its views."""
        self._step_view, self._run_view = step_view, run_view
        self._views: list[bytes] = []
        self._made = 0
        """When the latest step was committed, in milliseconds since 1970, as a browser counts."""
        self._lock = threading.RLock()
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._followers: dict[str, float] = {}
        self._seen = time.monotonic()
        self._told = 0.0

    # --- what the worker writes -------------------------------------------------

    def set(self, **changes: Any) -> None:
        """Change attributes, and wake the followers."""
        with self._lock:
            for name, value in changes.items():
                setattr(self, name, value)
        self.wake()

    def progress(self, stage: str, fraction: float | None) -> None:
        """Show how far loading is; at most ten times a second."""
        now = time.monotonic()
        if stage == self.stage and now - self._told < 0.1:
            return
        self._told = now
        self.set(stage=stage, fraction=fraction)

    def wake(self) -> None:
        """Tell every waiting follower that there is something new."""
        with self._lock:
            self.version += 1
            waiters = list(self._waiters)
        for loop, event in waiters:
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:  # that loop is closed: the server is going down
                pass

    def make_views(self, upto: int | None = None) -> None:
        """Encode the views of the first ``upto`` steps, or of all, each once."""
        with self._lock:
            self._made = int(time.time() * 1000)
            steps = self.trace.steps
            while len(self._views) < len(steps) and (upto is None or len(self._views) < upto):
                view = self._step_view(steps[len(self._views)])
                self._views.append(_encode(view))

    # --- who is there -----------------------------------------------------------

    def touch(self, follower: str) -> None:
        """A follower has fetched."""
        with self._lock:
            self._seen = self._followers[follower] = time.monotonic()
            came_back, self.held = self.held, False
        if came_back:
            self.wake()

    def leave(self, follower: str) -> None:
        """A follower's page says that it closes. The last one to go holds the run."""
        with self._lock:
            if self._followers.pop(follower, None) is not None and not self._followers and not self.over:
                self.held = True

    def abandoned(self, after: float) -> bool:
        """Nobody has fetched for ``after`` seconds."""
        return time.monotonic() - self._seen > after

    # --- what followers read ----------------------------------------------------

    @property
    def over(self) -> bool:
        """The run will not change any more."""
        return self.state in OVER

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
        seconds = self.gives_way_after
        return {
            "state": self.state, "stage": self.stage, "fraction": self.fraction,
            "queue_position": self.queue_position,
            "gives_way_after": None if seconds is None else math.ceil(seconds / 60),  # minutes
            "pace": self.pace, "recorded": self.request is None,
            "stop": trace.stop if over else None,
            "output_text": trace.output_text if over else None,
            "error": None if self.error is None else sentence(self.error),
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
            version, total, after, self._made, _encode(status), _encode(head), b",".join(steps))

    def news(self, version: int, after: int) -> bool:
        """There is something that a follower at this version and step has not seen."""
        return self.version > version or self.total > after

    async def changed(self, version: int, after: int, timeout: float) -> None:
        """Return at once when there is news, else when there is some, else after ``timeout`` seconds."""
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            if self.news(version, after):
                return
            self._waiters.add(waiter)
        try:
            await asyncio.wait_for(waiter[1].wait(), timeout)
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiters.discard(waiter)


def sentence(error: UserError) -> dict[str, str]:
    """A user's mistake in every language of the page, with its key."""
    return {"key": error.key} | {language: whole_characters(error.say(language)) for language in LANGUAGES}


def whole_characters(text: str) -> str:
    """The text without halves of characters (lone surrogates), which no encoding can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
