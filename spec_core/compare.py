"""Several drafters side by side: the same prompts, target, seed and limits, measured in turn.

A *lane* is one request, run on every prompt and as often as asked. Plain decoding is always
a lane too, the *baseline*. Lanes never compute at the same time; they take turns on each
prompt, and who begins changes, so whatever else the machine does meets all of them. Runs are
compared in pairs: a lane's run with the baseline's run of the same prompt and repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from . import lab
from .drafters import KINDS
from .lane_names import PLAIN, lane_label, lane_name
from .messages import UserError
from .models import IsCancelled, Progress
from .pieces import Pieces
from .trace import Trace

WARM_UP_TOKENS = 8
MOST_PROMPTS = 64
MOST_REPETITIONS = 20
MOST_LANES = 16

Prepare = Callable[[lab.Request, Progress, IsCancelled], Any]
"""As ``lab.prepare``: a request becomes a ``Generation``."""


def nothing_past() -> Prepare:
    """``lab.prepare`` for one lane in one repetition.

    A drafter that remembers outputs (``suffix``) remembers those of this lane and repetition
    only: else it would draft a prompt's second run from its first.
    """
    kept: list[Pieces] = []

    def prepare(request: lab.Request, progress: Progress, cancelled: IsCancelled) -> lab.Generation:
        target = lab.load_target(request.target, request.dtype, progress, cancelled)
        if not kept:
            kept.append(Pieces(target.tokenizer))
        shared, target.pieces = target.pieces, kept[0]  # past outputs are known by the pieces
        try:
            return lab.prepare(request, progress, cancelled)
        finally:
            target.pieces = shared

    return prepare


@dataclass
class Lane:
    """One way to decode, and what became of it.

    Args:
        request: how; its prompt is filled in.
        baseline: the plain lane that it is compared with; None for a plain lane.
        telling: what else of the request its name says, because lanes differ in it.
        number: which of the lanes that are all alike it is.

    Attributes:
        runs: (prompt, repetition) → the trace of a run that went to its end.
        error: what ended the lane; the other lanes go on.
    """

    request: lab.Request
    baseline: Lane | None = None
    telling: Sequence[str] = ()
    number: int = 1
    runs: dict[tuple[int, int], Trace] = field(default_factory=dict)
    error: Exception | None = None

    @property
    def name(self) -> str:
        """Its drafter, the settings that are not the default ones, and what tells it from other lanes."""
        return self._numbered(lane_name(self.request, self.telling))

    def label(self, language: str) -> str:
        """The same, as the catalogue of a language calls it."""
        return self._numbered(lane_label(self.request, self.telling, language))

    def _numbered(self, name: str) -> str:
        return f"{name} ({self.number})" if self.number > 1 else name

    def pairs(self) -> list[tuple[int, Trace, Trace]]:
        """(prompt, baseline's run, own run) of each prompt and repetition that both have."""
        if self.baseline is None:
            return []
        plain = self.baseline.runs
        return [(key[0], plain[key], run) for key, run in sorted(self.runs.items()) if key in plain]

    def typical_run(self, prompt: int) -> Trace | None:
        """Of the runs of a prompt, the one of median time."""
        runs = sorted((run for (of, _), run in self.runs.items() if of == prompt), key=seconds)
        return runs[(len(runs) - 1) // 2] if runs else None


@dataclass(frozen=True)
class Standing:
    """How far a comparison is.

    Args:
        lane: index of the lane that computes.
        prompt, repetition: which run of it.
        tokens: committed in that run so far.
        fraction: of all the work.
        seconds_left: estimated from the runs so far; None before the first is done.
    """

    lane: int
    prompt: int
    repetition: int
    tokens: int
    fraction: float
    seconds_left: float | None


class Comparison:
    """Lanes, prompts and repetitions; ``run`` measures them.

    Args:
        requests: one a lane. Their prompt counts for nothing, ``prompts`` does.
        prompts: texts.
        repetitions: runs of each lane on each prompt.
        preparing: makes the ``prepare`` of one lane in one repetition.

    Raises:
        UserError: no prompt, too many of something, or a request that cannot run.
    """

    def __init__(self, requests: Sequence[lab.Request], prompts: Sequence[str], repetitions: int = 1,
                 preparing: Callable[[], Prepare] = nothing_past) -> None:
        self.prompts = [prompt for prompt in prompts if prompt.strip()]
        self.repetitions = repetitions
        self._preparing = preparing
        if not self.prompts:
            raise UserError("compare.no_prompts")
        if not requests:
            raise UserError("compare.no_lanes")
        for what, count, most in (("prompts", len(self.prompts), MOST_PROMPTS), ("lanes", len(requests), MOST_LANES),
                                  ("repetitions", repetitions, MOST_REPETITIONS)):
            if not 1 <= count <= most:
                raise UserError(f"compare.count.{what}", count=count, most=most)
        for request in requests:
            lab.check(replace(request, prompt=self.prompts[0]))
        self.lanes = _with_baselines(requests)

    def run(self, progress: Progress = lambda stage, fraction: None,
            cancelled: IsCancelled = lambda: False) -> Iterator[Standing]:
        """Measure; the work is done as the iterator is read, a step at a time.

        Closing the iterator stops it; runs that went to their end stay. A lane that fails keeps its error, and
        its runs so far, and is left out from then on.
        """
        yield from self._warm_up(progress, cancelled)
        clock = _Clock(len(self.prompts) * self.repetitions * len(self.lanes))
        for repetition in range(self.repetitions):
            prepares = [self._preparing() for _ in self.lanes]
            for prompt in range(len(self.prompts)):
                first = (repetition * len(self.prompts) + prompt) % len(self.lanes)
                for lane in [*range(first, len(self.lanes)), *range(first)]:
                    for tokens, share in self._run(lane, prompt, repetition, prepares[lane], progress, cancelled):
                        yield Standing(lane, prompt, repetition, tokens, *clock.at(share))
                    clock.run_done()
                    yield Standing(lane, prompt, repetition, 0, *clock.at(0))

    def _warm_up(self, progress: Progress, cancelled: IsCancelled) -> Iterator[Standing]:
        """A few tokens of each lane: what is loaded, built or compiled once is not measured."""
        for index, lane in enumerate(self.lanes):
            short = min(WARM_UP_TOKENS, int(lane.request.max_new_tokens))
            request = replace(lane.request, prompt=self.prompts[0], max_new_tokens=short)
            for step in self._steps(lane, request, self._preparing(), progress, cancelled):
                yield Standing(index, 0, 0, 0, 0.0, None)

    def _run(self, index: int, prompt: int, repetition: int, prepare: Prepare, progress: Progress,
             cancelled: IsCancelled) -> Iterator[tuple[int, float]]:
        """One run; yields the tokens committed so far, and their share of the most."""
        lane = self.lanes[index]
        request = replace(lane.request, prompt=self.prompts[prompt])
        tokens = 0
        for trace, step in self._steps(lane, request, prepare, progress, cancelled):
            tokens += len(step.committed.ids)
            yield tokens, min(tokens / int(request.max_new_tokens), 1.0)
        if lane.error is None:
            lane.runs[prompt, repetition] = trace

    def _steps(self, lane: Lane, request: lab.Request, prepare: Prepare, progress: Progress,
               cancelled: IsCancelled) -> Iterator[tuple[Trace, Any]]:
        """The steps of one run, each with its growing trace; none of a lane that has failed. A failure is kept."""
        if lane.error is not None:
            return
        try:
            generation = prepare(request, progress, cancelled)
            for step in generation.steps():
                if cancelled():
                    raise lab.Cancelled
                yield generation.trace, step
        except lab.Cancelled:
            raise
        except Exception as error:
            if cancelled():  # whatever loading raised on being cancelled
                raise lab.Cancelled from error
            lane.error = error


def seconds(trace: Trace) -> float:
    """Of the whole run, reading the prompt included."""
    return sum(step.total_ms for step in trace.steps) / 1000


class _Clock:
    """Estimates what is left from what is done."""

    def __init__(self, runs: int) -> None:
        self._runs, self._done, self._began = runs, 0, monotonic()

    def run_done(self) -> None:
        self._done += 1

    def at(self, share: float) -> tuple[float, float | None]:
        """Fraction of all, and seconds left, with ``share`` of a run beside those that are done."""
        fraction = (self._done + share) / self._runs
        return fraction, (monotonic() - self._began) * (1 - fraction) / fraction if self._done else None


def plain_request(request: lab.Request) -> lab.Request:
    """Plain decoding under the same conditions."""
    common = {name: getattr(request, name) for name in (
        "prompt", "chat", "target", "dtype", "max_new_tokens", "temperature", "top_k", "top_p", "repetition_penalty",
        "seed")}
    return lab.Request(**common, drafter=PLAIN)


def _with_baselines(requests: Sequence[lab.Request]) -> list[Lane]:
    """The lanes, before them the baselines that they need: one where only their drafters differ."""
    differing = [name for name in ("temperature", "datastore", "draft_model", "rule")
                 if len({getattr(request, name) for request in requests if _matters(name, request)}) > 1]
    plain: dict[str, Lane] = {}
    others = []
    for request in requests:
        alone = plain_request(replace(request, prompt=""))
        baseline = plain.setdefault(repr(alone), Lane(alone, telling=[n for n in differing if _matters(n, alone)]))
        if request.drafter != PLAIN:
            lane = Lane(request, baseline, [name for name in differing if _matters(name, request)])
            lane.number += sum(lane_name(other.request, other.telling) == lane.name for other in others)
            others.append(lane)
    return [*plain.values(), *others]


def _matters(name: str, request: lab.Request) -> bool:
    """Whether a part of the request changes what its lane does."""
    kind = KINDS[request.drafter]
    return {"datastore": kind.needs_datastore, "draft_model": kind.draft_model is not None,
            "rule": request.drafter != PLAIN}.get(name, True)


def sweep(request: lab.Request, setting: str, values: Sequence[Any]) -> list[lab.Request]:
    """The requests of a sweep: one setting of the drafter, or ``temperature``, over ``values``.

    Raises:
        UserError: no values, or a setting that the drafter does not have.
    """
    if not values:
        raise UserError("compare.no_values")
    if setting == "temperature":
        return [replace(request, temperature=value) for value in values]
    checked = [lab.settings_for(request.target, request.drafter, {**request.drafter_settings, setting: value})
               for value in values]
    return [replace(request, drafter_settings={**request.drafter_settings, setting: settings[setting]})
            for settings in checked]
