"""The run registry: one job computes at a time, the others wait in line, and anyone may follow.

No gradio. A job is a run, or something else that needs the device, such as a comparison. It
belongs to nobody's session: any number of browsers attach to its id, and one that lost its
connection attaches again. A target holds one sequence in its cache, so a
run keeps the device from its first step to its last, also while it is paused.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from spec_core.messages import UserError
from spec_core.runtime import give_way
from spec_core.trace import Trace
from visualizers.exported import read_trace

from .job import Job
from .run import PACES, Run, StepView

log = logging.getLogger(__name__)

OBJECTS_PER_BYTE = 8
"""Bytes of Python objects that a byte of JSON becomes, about."""


@dataclass(frozen=True)
class Bounds:
    """What the registry keeps at most.

    Args:
        queue: jobs that wait for the device.
        kept: runs in all; the oldest that are over go first.
        kept_bytes: bytes of their views.
        steps: steps of one run.
        abandoned_after: seconds without a fetch after which a run is stopped.
        give_way_after: seconds a paused run may keep others waiting.
    """

    queue: int = 16
    kept: int = 32
    kept_bytes: int = 512 * 2**20
    steps: int = 4096
    abandoned_after: float = 15.0
    give_way_after: float = 300.0


class Lab(Protocol):
    """The part of ``spec_core.lab`` that makes runs."""

    def check(self, request: Any) -> None: ...
    def prepare(self, request: Any, progress: Callable[[str, float | None], None],
                cancelled: Callable[[], bool]) -> Any: ...


class Runs:
    """All runs of this server.

    Args:
        lab: checks requests and prepares generations.
        step_view, run_view: make the views that are sent to browsers.
        library: gives the bundled trace of a run id, or None.
        bounds: what is kept at most.
    """

    def __init__(self, lab: Lab, step_view: StepView, run_view: Callable[[dict[str, Any]], Any],
                 library: Callable[[str], Trace | None] = lambda run_id: None, bounds: Bounds = Bounds()) -> None:
        self._lab, self._library, self._bounds = lab, library, bounds
        self._views = {"step_view": step_view, "run_view": run_view}
        self._runs: dict[str, Run] = {}
        self._queue: deque[Job] = deque()
        self._computing: Job | None = None
        self._wake = threading.Condition()
        self._worker: threading.Thread | None = None

    # --- starting and finding ---------------------------------------------------

    def start(self, request: Any, pace: str = "full") -> Run:
        """Put a run in line.

        Raises:
            UserError: the request cannot run, or the line is full.
        """
        self._lab.check(request)
        run = Run(new_id(), request, **self._views)
        run.pace = pace if pace in PACES else "full"
        with self._wake:
            self.enqueue(run, self._compute)
            self._keep(run)
        return run

    def enqueue(self, job: Job, work: Callable[[Any], None]) -> None:
        """Put any work that needs the device in line: ``work(job)`` is called in the worker's thread.

        It sets the job's state, asks ``unwanted`` now and then, and returns when the job is over; what it raises
        becomes the job's error.

        Raises:
            UserError: the line is full.
        """
        with self._wake:
            self._sweep()
            if len(self._queue) >= self._bounds.queue:
                raise UserError("run.queue_full", most=self._bounds.queue)
            job.work = work
            self._queue.append(job)
            self._number()
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="runs", daemon=True)
                self._worker.start()
            self._wake.notify_all()

    def add(self, trace: Trace, run_id: str | None = None) -> Run:
        """Keep a recorded run, to be followed like any other."""
        run = self._recorded(trace, run_id or new_id())
        with self._wake:
            self._keep(run)
        return run

    def add_foreign(self, text: str) -> Run:
        """Keep the run of a trace file, or of a standalone page, that somebody brought.

        Raises:
            UserError: it is no trace, or one that cannot be shown.
        """
        trace = read_trace(text)
        known = next((run for run in list(self._runs.values()) if run.request is None and run.trace == trace), None)
        if known is not None:  # the same file again
            return known
        run = self._recorded(trace, new_id())
        try:
            run.make_views()
            run.batch(0, opened=False)
        except Exception as error:  # a drafter's details may be anything: what cannot be drawn is refused here
            log.info("a trace cannot be shown", exc_info=error)
            raise UserError("replay.not_drawable", reason=type(error).__name__) from error
        run.weight = OBJECTS_PER_BYTE * len(text)
        with self._wake:
            self._keep(run)
        return run

    def get(self, run_id: str) -> Run | None:
        """The run of this id; None where it is unknown or no longer kept."""
        run = self._runs.get(run_id)
        if run is None and (trace := self._library(run_id)) is not None:
            run = self.add(trace, run_id)
        return run

    def _recorded(self, trace: Trace, run_id: str) -> Run:
        run = Run(run_id, None, **self._views)
        run.trace = trace
        run.state = {"error": "error", "stopped": "stopped"}.get(trace.stop, "finished")
        return run

    # --- controls ---------------------------------------------------------------

    def control(self, run: Run, action: str, pace: str = "") -> None:
        """``pause``, ``resume``, ``step``, ``stop``, or ``pace`` with one of ``PACES``; others do nothing."""
        with self._wake:
            if run.over:
                return
            if action == "pause":
                run.paused = run.pace != "hand"
            elif action == "resume":
                run.paused = False
                run.pace = "full" if run.pace == "hand" else run.pace
            elif action == "step":
                run.paused = run.pace != "hand"  # by hand it waits anyway, until another pace is chosen
                run.credits += 1
            elif action == "stop":
                self.stop(run)
            elif action == "pace" and pace in PACES:
                run.pace = pace
                run.paused = run.paused and pace != "hand"
            self._wake.notify_all()
        run.wake()

    def stop(self, job: Job) -> None:
        """Stop a job; one that waits leaves the line."""
        with self._wake:
            if job.over:
                return
            job.stop_wanted = True
            if job in self._queue:
                self._queue.remove(job)
                job.set(state="stopped", queue_position=None)
                self._number()
            self._wake.notify_all()
        job.wake()

    def touch(self, run: Job, follower: str) -> None:
        """A follower has fetched; a run that was held for want of followers goes on."""
        held = run.held
        run.touch(follower)
        if held:
            with self._wake:
                self._wake.notify_all()

    async def changes(self, run_id: str, follower: str, after: int, version: int, opened: bool,
                      timeout: float) -> bytes | None:
        """Long poll: what is new since ``after`` steps and ``version``, at once or after ``timeout`` seconds.

        Returns:
            the encoded answer of ``Run.batch``; None where the run is unknown or no longer kept.
        """
        # reading a bundled trace and making a recorded run's views take a while: not on the event loop
        run = self._runs.get(run_id) or await asyncio.to_thread(self.get, run_id)
        if run is None:
            return None
        self.touch(run, follower)
        await run.changed(version, after, timeout)
        return await asyncio.to_thread(run.batch, after, opened)

    # --- the worker -------------------------------------------------------------

    def _work(self) -> None:
        give_way()
        while True:
            with self._wake:
                while not self._queue:
                    self._wake.wait()
                job = self._computing = self._queue.popleft()
                self._number()
            try:
                job.work(job)
            except Exception as error:
                self._fail(job, error)
            finally:
                with self._wake:
                    self._computing = None

    def _compute(self, run: Run) -> None:
        run.set(state="loading", queue_position=None)
        generation = self._lab.prepare(run.request, run.progress, lambda: self.unwanted(run))
        run.set(trace=generation.trace, stage=None, fraction=None)
        steps = generation.steps()
        try:
            due = 0.0
            while run.total < self._bounds.steps and self._may_step(run, due):
                due = time.monotonic() + 1.0
                if next(steps, None) is None:
                    run.set(state="finished")
                    return
                run.make_views()
                run.wake()
        finally:
            steps.close()
        run.set(state="stopped", error=self.why_stopped(run))

    def _may_step(self, run: Run, due: float) -> bool:
        """Wait until the run's next step is due; False when it is to be stopped."""
        paused_since = time.monotonic()
        with self._wake:
            while not self.unwanted(run):
                now = time.monotonic()
                by_hand = run.paused or run.pace == "hand"
                if by_hand and run.credits:
                    run.credits -= 1
                    self._show(run, "running")
                    return True
                if not by_hand:
                    paused_since = now
                    self._show(run, "running")
                    if not run.held and (run.pace == "full" or now >= due):
                        run.credits = 0
                        return True
                else:
                    self._show(run, "paused")
                    if self._queue and now - paused_since > self._bounds.give_way_after:
                        return False
                self._sweep()
                self._wake.wait(0.5 if by_hand or run.held else min(0.5, max(due - now, 0.001)))
        return False

    def unwanted(self, job: Job) -> bool:
        """Whether the job is to end: somebody stopped it, or nobody follows it any more."""
        return job.stop_wanted or self._abandoned(job)

    def _abandoned(self, job: Job) -> bool:
        return job.abandoned(self._bounds.abandoned_after)

    def why_stopped(self, run: Job) -> UserError | None:
        """What to tell later followers of a job that nobody stopped by hand."""
        if run.stop_wanted:
            return None
        if self._abandoned(run):
            return UserError("run.abandoned")
        if isinstance(run, Run) and run.total >= self._bounds.steps:
            return UserError("run.too_many_steps", most=self._bounds.steps)
        return UserError("run.gave_way")

    def _show(self, run: Run, state: str) -> None:
        """Set the state of the run that computes, and tell those in line; call it with the lock held."""
        if run.state != state:
            run.set(state=state)
            self._number()

    def _fail(self, run: Job, error: Exception) -> None:
        if self.unwanted(run):  # whatever loading raised on being cancelled
            run.set(state="stopped", error=self.why_stopped(run), stage=None, fraction=None)
            return
        if not isinstance(error, UserError):
            log.error("run %s failed", run.id, exc_info=error)
            error = UserError("run.failed")
        run.set(state="error", error=error, stage=None, fraction=None)

    # --- bounds (call these with the lock held) -----------------------------------

    def _sweep(self) -> None:
        """Take the runs out of the line whose followers have all gone."""
        for run in [run for run in self._queue if self.unwanted(run)]:
            self._queue.remove(run)
            run.set(state="stopped", error=self.why_stopped(run), queue_position=None)
            self._number()

    def _number(self) -> None:
        """Tell the runs in line their places, and whether they wait for a paused run."""
        paused = self._computing is not None and self._computing.state == "paused"
        seconds = self._bounds.give_way_after if paused else None
        for place, run in enumerate(self._queue, start=1):
            if (run.queue_position, run.gives_way_after) != (place, seconds):
                run.set(queue_position=place, gives_way_after=seconds)

    def _keep(self, run: Run) -> None:
        self._runs[run.id] = run
        size = sum(kept.size for kept in self._runs.values())
        for old in [kept for kept in self._runs.values() if kept.over and kept is not run]:
            if len(self._runs) <= self._bounds.kept and size <= self._bounds.kept_bytes:
                break
            size -= old.size
            del self._runs[old.id]


def new_id() -> str:
    return secrets.token_urlsafe(9)
