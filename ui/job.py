"""One piece of work for the device as its followers see it: a state, a version, and who is there.

No gradio. The worker thread of ``runs.py`` writes, the event loop and other threads read;
every change goes through a method that takes the job's lock and wakes the waiting followers.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from spec_core.messages import LANGUAGES, UserError

OVER = ("finished", "stopped", "error")


class Job:
    """Work that waits in line, computes now, or is over.

    Args:
        job_id: stands in links.
    """

    def __init__(self, job_id: str) -> None:
        self.id = job_id
        self.key = secrets.token_urlsafe(12)
        """Known to the browser that started the job; who has it may pause and stop."""
        self.work: Callable[[Any], None] | None = None
        """What the worker does with it; None for a job that was never to be computed."""
        self.state = "queued"
        """queued, loading, running, paused, or one of ``OVER``."""
        self.stage: str | None = None
        self.fraction: float | None = None
        self.queue_position: int | None = None
        self.gives_way_after: float | None = None
        """Seconds that the paused run that holds the device may keep this one waiting; None where none does."""
        self.error: UserError | None = None
        self.stop_wanted = False
        self.held = False
        """Every follower has said good-bye: no step is made until one comes back."""
        self.version = 1
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

    # --- who is there -----------------------------------------------------------

    def touch(self, follower: str) -> None:
        """A follower has fetched."""
        with self._lock:
            self._seen = self._followers[follower] = time.monotonic()
            came_back, self.held = self.held, False
        if came_back:
            self.wake()

    def leave(self, follower: str) -> None:
        """A follower's page says that it closes. The last one to go holds the job."""
        with self._lock:
            if self._followers.pop(follower, None) is not None and not self._followers and not self.over:
                self.held = True

    def abandoned(self, after: float) -> bool:
        """Nobody has fetched for ``after`` seconds."""
        return time.monotonic() - self._seen > after

    # --- what followers read ----------------------------------------------------

    @property
    def over(self) -> bool:
        """The job will not change any more."""
        return self.state in OVER

    def status(self) -> dict[str, Any]:
        """The job's state, JSON-ready."""
        seconds = self.gives_way_after
        return {
            "state": self.state, "stage": self.stage, "fraction": self.fraction,
            "queue_position": self.queue_position,
            "gives_way_after": None if seconds is None else math.ceil(seconds / 60),  # minutes
            "error": None if self.error is None else sentence(self.error),
        }

    def news(self, version: int, after: int) -> bool:
        """There is something that a follower at this version, who has seen ``after`` items, has not seen."""
        return self.version > version

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


def encode(value: Any) -> bytes:
    """``value`` as JSON that every encoding can carry."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
