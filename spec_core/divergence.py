"""Where two outputs of the same prompt part, and how near the two tokens were.

Greedy decoding with a lossless rule gives the same tokens with any drafter, as long as a
forward over many rows computes the same as one over a single row. In a format of few bits
it does so only nearly: where two tokens are as good as tied, the other one may win. The
logits of both, from one forward over the common context, show whether that is what happened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .trace import Step, Trace

if TYPE_CHECKING:
    from .target import TargetModel

SHOWN = 12
"""Pieces shown before the divergence, and after it."""


@dataclass
class Divergence:
    """The first place where a run differs from plain decoding.

    Args:
        prompt: index of the prompt.
        position: how many output tokens are the same.
        step: index of the run's step that committed its own token.
        before: pieces of the common context's end.
        plain, own: pieces from there on, of plain decoding and of the run; the first are the two tokens.
        plain_id, own_id: the two tokens.
        plain_logit, own_logit: their logits after the repetition penalty, in a forward of one row, as in plain
            decoding; None where they were not computed.
        own_gap: logit of the own token less that of plain's, in the forward of the run itself, as far as its trace
            holds the probabilities of both; None where it does not.
    """

    prompt: int
    position: int
    step: int
    before: list[str]
    plain: list[str]
    own: list[str]
    plain_id: int
    own_id: int
    plain_logit: float | None = None
    own_logit: float | None = None
    own_gap: float | None = None

    @property
    def gap(self) -> float | None:
        """Logit of plain decoding's token less that of the own one."""
        return None if self.plain_logit is None else self.plain_logit - self.own_logit

    def to_json(self) -> dict[str, Any]:
        """All fields, and the gap."""
        return {**asdict(self), "gap": self.gap}


def first_divergence(plain: Trace, own: Trace, prompt: int = 0) -> Divergence | None:
    """The first output token that differs; None where one output is the other or its beginning."""
    pairs = zip(plain.output_ids, own.output_ids, strict=False)
    position = next((i for i, (left, right) in enumerate(pairs) if left != right), None)
    if position is None:
        return None
    context = [*own.run["prompt_pieces"], *_pieces(own)[:position]]
    step, place = _step_of(own, position)
    return Divergence(
        prompt=prompt, position=position, step=step.index, before=context[-SHOWN:],
        plain=_pieces(plain)[position:position + SHOWN], own=_pieces(own)[position:position + SHOWN],
        plain_id=plain.output_ids[position], own_id=own.output_ids[position],
        own_gap=_recorded_gap(own, step, place, _pieces(plain)[position], _pieces(own)[position]),
    )


def compare_outputs(pairs: Sequence[tuple[int, Trace, Trace]]) -> Divergence | None:
    """The first divergence among (prompt, plain run, own run); None where all outputs are the same."""
    found = (first_divergence(plain, own, prompt) for prompt, plain, own in pairs)
    return next((divergence for divergence in found if divergence), None)


def measure_logits(divergence: Divergence, own: Trace, target: TargetModel) -> None:
    """Fill in the two logits: one forward of the target over the common context. Its sequence is lost."""
    from .processors import Processors, Sampling
    from .tree import DraftTree

    context = [*own.run["prompt_ids"], *own.output_ids[:divergence.position]]
    acceptance = own.run["acceptance"]
    sampling = Sampling(repetition_penalty=acceptance.get("repetition_penalty", 1.0))
    processors = Processors(sampling, target.vocab_size)
    for part in (target, processors):
        part.reset(context)
    scores = processors.scores(target.verify(context[-1], DraftTree()).logits[0], [])
    divergence.plain_logit = float(scores[divergence.plain_id])
    divergence.own_logit = float(scores[divergence.own_id])


def _pieces(trace: Trace) -> list[str]:
    return [piece for step in trace.steps for piece in step.committed.pieces]


def _step_of(trace: Trace, position: int) -> tuple[Step, int]:
    """The step that committed output token ``position``, and which of its committed tokens that is."""
    for step in trace.steps:
        if position < len(step.committed.ids):
            return step, position
        position -= len(step.committed.ids)
    raise IndexError(position)


def _recorded_gap(trace: Trace, step: Step, place: int, plain: str, own: str) -> float | None:
    """From the probabilities recorded for the decision: logits differ as their logarithms, times the temperature."""
    shown = [entry["top"] for entry in step.arithmetic if "top" in entry]
    if place >= len(shown):
        return None
    top = {piece: p for piece, p in shown[place]}
    if not (top.get(plain) and top.get(own)):
        return None
    return math.log(top[own] / top[plain]) * (trace.run["acceptance"].get("temperature") or 1.0)
