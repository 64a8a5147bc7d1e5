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
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from . import draft_models, lab
from .drafters import AUTO, KINDS, Material, choose_rule, complete_settings
from .drafters.base import Drafter, Limits
from .drafters.settings import Budget as NodeBudget
from .messages import UserError
from .run_head import drafter_head, run_head
from .trace import Step, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .datastore.store import Store
    from .drafters.base import Draft
    from .language_model import LanguageModel
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


@dataclass(frozen=True)
class MadeDrafter:
    """A drafter, and what it was made from: its trace says so. Itself a ``Drafter``."""

    name: str
    settings: dict[str, Any]
    inner: Drafter = field(repr=False)
    datastore: Store | None = field(default=None, repr=False)
    model: LanguageModel | None = field(default=None, repr=False)

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self.inner.reset(context)

    def propose(self, limits: Limits) -> Draft:
        """The drafter's own draft."""
        return self.inner.propose(limits)

    def commit(self, tokens: Sequence[int]) -> None:
        """These tokens now follow the context."""
        self.inner.commit(tokens)


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
    from .drafters.budget import cost_curve
    from .processors import Sampling as Greedy

    if name not in KINDS:
        raise UserError("request.unknown", what="drafter", value=name, choices=", ".join(KINDS))
    kind, complete = KINDS[name], complete_settings(name, settings)
    store = lab.open_datastore(datastore, target) if kind.needs_datastore else None
    assistant = None
    if kind.draft_model:
        assistant = draft_models.load(draft_model, target, str(target.dtype).removeprefix("torch."))
        if kind.draft_model == "same":
            draft_models.check_pair(assistant, target)
    costs = cost_curve(target) if complete.get("budget") == NodeBudget.AUTO else None
    made = kind.make(Material(target.pieces, store, costs, target, assistant, sampling or Greedy()), complete)
    return MadeDrafter(name, complete, made, store, assistant)


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
    from .acceptance import RULES
    from .decoder import Budget
    from .decoder import decode as steps_of
    from .processors import Sampling as Greedy

    sampling = sampling or Greedy()
    lab.check(lab.Request(prompt, chat, drafter=drafter.name, drafter_settings=drafter.settings, rule=rule,
                          max_new_tokens=max_new_tokens, **asdict(sampling)))
    chosen = RULES[choose_rule(drafter.name, drafter.settings, rule)]
    ids = lab.encode_prompt(target, prompt, chat)
    run = run_head(target, prompt, chat, ids, drafter_head(drafter.name, drafter.settings, drafter.model),
                   drafter.datastore, chosen, sampling, max_new_tokens)
    return Decoding(Trace(run), lambda: steps_of(target, drafter, chosen, sampling, ids, Budget(max_new_tokens)),
                    lambda output: target.tokenizer.decode(output, skip_special_tokens=True))
