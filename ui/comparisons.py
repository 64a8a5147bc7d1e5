"""Comparisons as jobs: they wait in the same line as runs, so that nothing disturbs what is measured.

No gradio.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from spec_core import lab
from spec_core.compare import Comparison, Lane, Standing
from spec_core.divergence import Divergence, compare_outputs, measure_logits
from spec_core.drafters.costs import CostCurve, cost_curve
from spec_core.measures import figures
from spec_core.messages import LANGUAGES, UserError
from visualizers.comparison import table

from .job import Job, encode, sentence
from .runs import Runs, new_id

log = logging.getLogger(__name__)

KEPT = 16
"""Comparisons that are kept; the oldest that are over go first."""

TELL_EVERY = 0.2
"""Seconds between two reports of a comparison's progress."""

Target = Callable[[lab.Request], Any]


class ComparisonJob(Job):
    """A comparison that waits, computes now, or is over.

    Args:
        comparison: what to measure.
        sweep: (setting, values) where its lanes are the values of one setting.
        asked: what was asked for as the page's form holds it, JSON-ready; None where it came by another way.
    """

    def __init__(self, job_id: str, comparison: Comparison, sweep: tuple[str, Sequence[Any]] | None = None,
                 asked: dict[str, Any] | None = None) -> None:
        super().__init__(job_id)
        self.comparison, self.sweep, self.asked = comparison, sweep, asked
        self.standing: Standing | None = None
        self.divergences: dict[int, Divergence] = {}
        self.curve: CostCurve | None = None
        self._lanes = self._table = self._runs_done = None
        self.refresh()

    def refresh(self) -> None:
        """Make the figures anew, where a run was done or a lane has failed."""
        lanes = self.comparison.lanes
        done = [(len(lane.runs), lane.error is None) for lane in lanes]
        if done == self._runs_done:
            return
        measured = [figures(lane) for lane in lanes]
        views = [self._lane(i, lane, found) for i, (lane, found) in enumerate(zip(lanes, measured, strict=True))]
        with self._lock:
            self._lanes, self._table, self._runs_done = views, table(measured), done

    def conclude(self, target: Target) -> None:
        """Measure what the runs do not tell: the two logits at each divergence, and what nodes cost."""
        for index, lane in enumerate(self.comparison.lanes):
            found = compare_outputs(lane.pairs())
            if found:
                own = next(own for prompt, _, own in lane.pairs() if prompt == found.prompt)
                measure_logits(found, own, target(lane.request))
                self.divergences[index] = found
        self.curve = cost_curve(target(self.comparison.lanes[0].request))
        self._runs_done = None
        self.refresh()

    def status(self) -> dict[str, Any]:
        """The job's state and all that is measured so far, JSON-ready."""
        standing = self.standing
        with self._lock:
            return super().status() | {
                "standing": None if standing is None or self.over else asdict(standing),
                "prompts": self.comparison.prompts, "repetitions": self.comparison.repetitions,
                "sweep": None if self.sweep is None else {"setting": self.sweep[0], "values": list(self.sweep[1])},
                "lanes": self._lanes, "table": self._table, "costs": self.curve is not None,
            }

    def answer(self) -> bytes:
        """The answer to one fetch."""
        with self._lock:
            return b'{"version":%d,"status":%s}' % (self.version, encode(self.status()))

    def _lane(self, index: int, lane: Lane, found: dict[str, Any] | None) -> dict[str, Any]:
        pairs = lane.pairs()
        request = lane.request
        run = next(iter(lane.runs.values()), None)
        divergence = self.divergences.get(index) or compare_outputs(pairs)
        return {
            "name": lane.name, "label": {language: lane.label(language) for language in LANGUAGES}, "drafter": request.drafter, "plain": lane.baseline is None, "figures": found,
            "error": None if lane.error is None else sentence(_user_error(lane.error)),
            "compared": len(pairs), "divergence": divergence and divergence.to_json(),
            "lossless": run.run["acceptance"].get("lossless") if run else None,
            "dtype": run.run["target"].get("dtype") if run else None,
            "sampled": float(request.temperature) > 0,
        }


class Comparisons:
    """All comparisons of this server.

    Args:
        runs: the registry whose line they wait in.
        target: gives the loaded target of a request.
    """

    def __init__(self, runs: Runs, target: Target = lambda request: lab.load_target(request.target, request.dtype)) -> None:
        self.runs = runs
        self._target = target
        self._kept: dict[str, ComparisonJob] = {}
        self._lock = threading.Lock()

    def start(self, comparison: Comparison, sweep: tuple[str, Sequence[Any]] | None = None,
              asked: dict[str, Any] | None = None) -> ComparisonJob:
        """Put a comparison in line; arguments as ``ComparisonJob``. Raises ``UserError`` where the line is full."""
        job = ComparisonJob(new_id(), comparison, sweep, asked)
        self.runs.enqueue(job, self._compute)
        with self._lock:
            self._kept[job.id] = job
            for old in [kept for kept in self._kept.values() if kept.over][:max(0, len(self._kept) - KEPT)]:
                del self._kept[old.id]
        return job

    def get(self, job_id: str) -> ComparisonJob | None:
        """The comparison of this id; None where it is unknown or no longer kept."""
        return self._kept.get(job_id)

    def _compute(self, job: ComparisonJob) -> None:
        """In the worker's thread: measure, and keep what was measured however it ends."""
        job.set(state="loading", queue_position=None)
        work = job.comparison.run(job.progress, lambda: self.runs.unwanted(job))
        told = 0.0
        try:
            for standing in work:
                if time.monotonic() - told < TELL_EVERY:
                    continue
                told = time.monotonic()
                job.refresh()
                job.set(state="running", stage=None, fraction=standing.fraction, standing=standing)
        except lab.Cancelled:
            pass
        finally:
            work.close()
        job.set(stage="stage.measure", fraction=None)
        self._conclude(job)
        stopped = self.runs.unwanted(job)
        job.set(state="stopped" if stopped else "finished", stage=None,
                error=self.runs.why_stopped(job) if stopped else None)

    def _conclude(self, job: ComparisonJob) -> None:
        if not any(lane.runs for lane in job.comparison.lanes):  # nothing ran: its errors say why
            return job.refresh()
        try:
            job.conclude(self._target)
        except Exception as error:  # the figures stand without it
            log.warning("a comparison has no cost curve", exc_info=error)
            job.refresh()


def _user_error(error: Exception) -> UserError:
    """What to show in the lane; what is no user's mistake goes to the log."""
    if isinstance(error, UserError):
        return error
    log.error("a lane failed", exc_info=error)
    return UserError("run.failed")


def export(job: ComparisonJob) -> str:
    """The whole comparison as JSON text: every lane's request, figures, and traces."""
    lanes = [{"name": lane.name, "request": asdict(lane.request), "figures": figures(lane),
              "error": None if lane.error is None else str(_user_error(lane.error)),
              "runs": [{"prompt": prompt, "repetition": repetition, "trace": run.to_json()}
                       for (prompt, repetition), run in sorted(lane.runs.items())]} for lane in job.comparison.lanes]
    return json.dumps({"format": "speculation-comparison", "version": 1, "prompts": job.comparison.prompts,
                       "repetitions": job.comparison.repetitions, "lanes": lanes}, ensure_ascii=True)
