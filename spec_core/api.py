"""The lab from Python: load a target, make a drafter, decode.

    from spec_core import decode, load_target, make_drafter

    target = load_target("smollm2-135m", dtype="float32")
    drafter = make_drafter("fusion", target, budget=40)
    generation = decode(target, drafter, "def fibonacci(n):", max_new_tokens=64)
    for step in generation:
        print("".join(step.committed.pieces), end="")
    print(generation.trace.totals["tokens_per_call"])

Everything is what the page and the command line use; nothing is decoded another way here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from . import lab
from .drafters import AUTO, KINDS
from .messages import UserError
from .run_head import MadeDrafter
from .trace import Step, Trace

if TYPE_CHECKING:
    from .processors import Sampling
    from .target import TargetModel

__all__ = ["Decoding", "decode", "load_target", "make_drafter"]


def load_target(name: str = lab.DEFAULT, dtype: str = "auto") -> TargetModel:
    """The model whose text is generated.

    Args:
        name: a known model, a local folder, or a Hugging Face id; fetched at first use.
        dtype: ``auto``, ``float32`` or ``bfloat16``.

    Raises:
        UserError: it cannot be fetched or loaded.
    """
    return lab.load_target(name, dtype)


def make_drafter(name: str, target: TargetModel, *, datastore: str = lab.DEFAULT_DATASTORE,
                 draft_model: str = lab.DEFAULT_DRAFT_MODEL, sampling: Sampling | None = None,
                 **settings: Any) -> MadeDrafter:
    """A drafter for this target.

    Args:
        name: a key of ``spec_core.drafters.KINDS``; ``none`` is plain decoding.
        target: the model that will verify.
        datastore: the store of those that retrieve; the default one is built at first use.
        draft_model: the model of those that need one.
        sampling: what a draft model draws with; greedy by default. Give ``decode`` the same.
        settings: the drafter's own, such as ``budget``; the others are the default ones.

    Raises:
        UserError: an unknown name or setting, a value outside its range, or models that do not fit together.
    """
    from .processors import Sampling as Greedy

    if name not in KINDS:
        raise UserError("request.unknown", what="drafter", value=name, choices=", ".join(KINDS))
    sampling = sampling or Greedy()
    lab.check_sampling(sampling)
    return lab.make_drafter(name, target, settings, sampling, datastore, draft_model)


class Decoding(lab.Generation):
    """A run: an iterator of ``Step``, each made as it is asked for, and the trace that grows with them."""

    def __iter__(self) -> Iterator[Step]:
        return self.steps()

    def finish(self) -> Trace:
        """Take all the steps that are left; returns the trace."""
        for _ in self:
            pass
        return self.trace


def decode(target: TargetModel, drafter: MadeDrafter, prompt: str, *, chat: bool = False, rule: str = AUTO,
           sampling: Sampling | None = None, max_new_tokens: int = 128) -> Decoding:
    """Generate from a prompt. Nothing is computed before the first step is asked for.

    Args:
        target: from ``load_target``.
        drafter: from ``make_drafter`` with this target.
        prompt: text; with ``chat``, the user's turn in the target's chat template.
        rule: an acceptance rule that fits the drafter; by default the drafter's own.
        sampling: temperature, top-k, top-p, repetition penalty and seed (``spec_core.processors.Sampling``);
            greedy by default.
        max_new_tokens: committed tokens at most.

    Raises:
        UserError: something is outside its range, or does not fit.
    """
    from .processors import Sampling as Greedy

    sampling = sampling or Greedy()
    checked = lab.check_decoding(lab.Request(prompt, drafter=drafter.name, rule=rule, max_new_tokens=max_new_tokens,
                                             **asdict(sampling)), drafter.settings)
    ids = lab.encode_prompt(target, prompt, chat)
    return Decoding.of(target, drafter, checked["rule"], sampling, prompt, chat, ids, max_new_tokens)
