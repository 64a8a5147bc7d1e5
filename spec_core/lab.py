"""One request, from what the user typed to a running generation: the door to the core.

The page and the command line both come in here. Light to import: torch loads when the
first target does.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from . import draft_models, models, runtime
from .drafters import AUTO, FITTING, KINDS, Material, choose_rule, complete_settings
from .drafters.settings import Budget as NodeBudget
from .drafters.settings import number, whole_number
from .messages import UserError
from .models import DEFAULT, KNOWN, Cancelled, IsCancelled, Progress
from .trace import Step, Trace

if TYPE_CHECKING:
    from .datastore.store import Store
    from .target import TargetModel

DEFAULT_DATASTORE = "python-stdlib"
DEFAULT_DRAFT_MODEL = "nano"
MOST_NEW_TOKENS = 4096
DEFAULT_RULE = "one-draw"

__all__ = ["Cancelled", "Generation", "Request", "check", "choices", "prepare"]


@dataclass(frozen=True)
class Request:
    """What the user asks for. See ``processors.Sampling`` and ``drafters.KINDS`` for the settings."""

    prompt: str
    chat: bool = False
    target: str = DEFAULT
    drafter: str = "rest"
    datastore: str = DEFAULT_DATASTORE
    draft_model: str = DEFAULT_DRAFT_MODEL
    rule: str = AUTO
    dtype: str = "auto"
    max_new_tokens: int = 128
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int = 0
    drafter_settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Generation:
    """A prepared run: its trace, which grows with every step taken."""

    trace: Trace
    _steps: Callable[[], Generator[Step, None, str]]
    _text: Callable[[list[int]], str]

    def steps(self) -> Iterator[Step]:
        """The steps, made as they are asked for. Closing the iterator between two steps stops the run."""
        trace = self.trace
        steps = self._steps()
        try:
            while True:
                try:
                    step = next(steps)
                except StopIteration as end:
                    trace.stop = end.value
                    return
                trace.steps.append(step)
                trace.output_ids.extend(step.committed.ids)
                yield step
        except Exception as error:
            trace.stop, trace.error = "error", f"{type(error).__name__}: {error}"
            raise
        finally:
            steps.close()
            trace.output_text = self._text(trace.output_ids)


def choices() -> dict[str, list[str]]:
    """The names that a request can hold."""
    from .datastore.format import names

    stores = names()
    rules = dict.fromkeys(rule for fitting in FITTING.values() for rule in fitting)
    return {"targets": list(KNOWN), "drafters": list(KINDS), "dtypes": list(runtime.DTYPES),
            "draft_models": [*draft_models.SHIPPED, *KNOWN], "rules": [AUTO, *rules],
            "datastores": [DEFAULT_DATASTORE, *(name for name in stores if name != DEFAULT_DATASTORE)]}


def check(request: Request) -> dict[str, Any]:
    """Check all that can be checked without loading anything.

    Returns:
        what was checked: ``sampling`` (keyword arguments), ``drafter_settings``, ``max_new_tokens``, ``rule``.

    Raises:
        UserError: an empty prompt, an unknown name, a setting outside its range, or a rule that does not fit.
    """
    if not request.prompt:
        raise UserError("request.prompt_empty")
    for what, value, known in (("drafter", request.drafter, list(KINDS)), ("dtype", request.dtype, runtime.DTYPES)):
        if value not in known:
            raise UserError("request.unknown", what=what, value=value, choices=", ".join(known))
    settings = complete_settings(request.drafter, request.drafter_settings)
    return {
        "sampling": {
            "temperature": number("temperature", request.temperature, 0, 10),
            "top_k": whole_number("top-k", request.top_k, 0, 1_000_000),
            "top_p": number("top-p", request.top_p, 1e-6, 1),
            "repetition_penalty": number("repetition penalty", request.repetition_penalty, 0.1, 10),
            "seed": whole_number("seed", request.seed, 0, 2**63 - 1),
        },
        "drafter_settings": settings,
        "rule": choose_rule(request.drafter, settings, request.rule),
        "max_new_tokens": whole_number("max new tokens", request.max_new_tokens, 1, MOST_NEW_TOKENS),
    }


def prepare(request: Request, progress: Progress = lambda stage, fraction: None,
            cancelled: IsCancelled = lambda: False) -> Generation:
    """Load what the request needs, building it where it is the first time.

    Args:
        progress: called with a stage (a key of the catalogue) and a fraction, or None where it is unknown.
        cancelled: asked now and then; True makes this raise ``Cancelled``.

    Raises:
        UserError: anything that the user can mend.
        Cancelled: the caller asked to stop.
    """
    checked = check(request)
    target = load_target(request.target, request.dtype, progress, cancelled)
    prompt_ids = encode_prompt(target, request.prompt, request.chat)
    kind = KINDS[request.drafter]
    store = open_datastore(request.datastore, target, progress, cancelled) if kind.needs_datastore else None
    assistant = None
    if kind.draft_model:
        assistant = draft_models.load(request.draft_model, target, request.dtype, progress, cancelled)
        if kind.draft_model == "same":
            draft_models.check_pair(assistant, target)
    if cancelled():
        raise Cancelled

    from .acceptance import RULES
    from .decoder import Budget, decode
    from .drafters.budget import cost_curve
    from .processors import Sampling

    settings = checked["drafter_settings"]
    costs = None
    if settings.get("budget") == NodeBudget.AUTO:
        progress("stage.measure", None)
        costs = cost_curve(target)
    rule, sampling = RULES[checked["rule"]], Sampling(**checked["sampling"])
    drafter = kind.make(Material(target.pieces, store, costs, target, assistant, sampling), settings)
    run = {
        "id": uuid.uuid4().hex[:12],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "prompt": request.prompt, "chat": request.chat,
        "prompt_ids": prompt_ids, "prompt_pieces": target.pieces.of(prompt_ids),
        "target": {"name": target.name, "dtype": str(target.dtype).removeprefix("torch."),
                   "device": target.device.type, "vocab_size": target.vocab_size},
        "drafter": {"name": request.drafter, "settings": settings,
                    "model": None if assistant is None else assistant.name},
        "datastore": None if store is None else {"name": store.name, "tokens": store.token_count,
                                                 "fingerprint": store.fingerprint},
        "acceptance": {"rule": rule.name, "lossless": rule.lossless, **checked["sampling"]},
        "limits": {"max_new_tokens": checked["max_new_tokens"], "context": target.context_limit},
    }
    return Generation(
        Trace(run),
        lambda: decode(target, drafter, rule, sampling, prompt_ids, Budget(checked["max_new_tokens"])),
        lambda ids: target.tokenizer.decode(ids, skip_special_tokens=True),
    )


def encode_prompt(target: TargetModel, prompt: str, chat: bool) -> list[int]:
    """Prompt token ids, through the chat template where asked.

    Raises:
        UserError: no template, nothing left to read, or more than the context holds.
    """
    tokenizer = target.tokenizer
    if chat:
        if not tokenizer.chat_template:
            raise UserError("request.no_chat_template", target=target.name)
        text = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], tokenize=False,
                                             add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False).input_ids
    else:
        ids = tokenizer(prompt).input_ids
    if not ids:
        raise UserError("request.prompt_empty")
    if len(ids) >= target.context_limit:
        raise UserError("request.prompt_too_long", tokens=len(ids), target=target.name, limit=target.context_limit - 1)
    return list(ids)


_loaded: dict[tuple[str, str], TargetModel] = {}
_loading = threading.Lock()


def load_target(name: str, dtype: str = "auto", progress: Progress = lambda stage, fraction: None,
                cancelled: IsCancelled = lambda: False) -> TargetModel:
    """The target, kept between runs: one at a time, since a model is what fills the memory."""
    with _loading:
        if (name, dtype) not in _loaded:
            _loaded.clear()
            _loaded[name, dtype] = models.load_target(name, dtype, progress, cancelled)
        return _loaded[name, dtype]


def open_datastore(name: str, target: TargetModel, progress: Progress = lambda stage, fraction: None,
                   cancelled: IsCancelled = lambda: False) -> Store:
    """The opened store; the default one is built at first use."""
    from .datastore.build import ensure_default
    from .datastore.store import open_store

    if name == DEFAULT_DATASTORE:
        return ensure_default(target.tokenizer, lambda stage, fraction: progress(f"datastore.stage.{stage}", fraction), cancelled)
    return open_store(name, target.tokenizer)
