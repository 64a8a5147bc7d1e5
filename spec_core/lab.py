"""One request, from what the user typed to a running generation: the door to the core.

The page and the command line both come in here. Light to import: torch loads when the
first target does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from . import draft_models, models, runtime
from .drafters import AUTO, FITTING, KINDS, Material, choose_rule, complete_settings
from .drafters.settings import Budget as NodeBudget
from .drafters.settings import any_number, number, short, whole_number
from .messages import Term, UserError
from .models import DEFAULT, KNOWN, Cancelled, IsCancelled, Progress
from .run_head import MadeDrafter, run_head
from .trace import Step, Trace

if TYPE_CHECKING:
    from .datastore.store import Store
    from .processors import Sampling
    from .target import TargetModel

DEFAULT_DATASTORE = "python-stdlib"
DEFAULT_DRAFT_MODEL = draft_models.AUTO
MOST_NEW_TOKENS = 4096
LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.01, 10
"""Of sampling; 0 is greedy. Logits divided by much less leave the range of float32."""

__all__ = ["Cancelled", "Generation", "Request", "check", "check_sampling", "choices", "make_drafter", "prepare"]


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

    @classmethod
    def of(cls, target: TargetModel, drafter: MadeDrafter, rule: str, sampling: Sampling, prompt: str, chat: bool,
           prompt_ids: list[int], max_new_tokens: int) -> Self:
        """A run that begins when its first step is asked for; everything is checked already."""
        from .acceptance import RULES
        from .decoder import Budget, decode

        judge = RULES[rule]
        return cls(Trace(run_head(target, prompt, chat, prompt_ids, drafter, judge, sampling, max_new_tokens)),
                   lambda: decode(target, drafter, judge, sampling, prompt_ids, Budget(max_new_tokens)),
                   lambda ids: target.tokenizer.decode(ids, skip_special_tokens=True))

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
    from .datastore.bundled import BUNDLED
    from .datastore.format import names

    rules = dict.fromkeys(rule for fitting in FITTING.values() for rule in fitting)
    return {"targets": list(KNOWN), "drafters": list(KINDS), "dtypes": list(runtime.DTYPES),
            "draft_models": [draft_models.AUTO, *draft_models.SHIPPED, *KNOWN], "rules": [AUTO, *rules],
            "datastores": list(dict.fromkeys([*BUNDLED, *names()]))}


def check(request: Request) -> dict[str, Any]:
    """Check all that can be checked without loading a model.

    Returns:
        what was checked: ``sampling`` (keyword arguments), ``drafter_settings``, ``max_new_tokens``, ``rule``.

    Raises:
        UserError: an empty prompt, an unknown name, a setting outside its range, or a rule or model that does not fit.
    """
    for what, value, known in (("drafter", request.drafter, list(KINDS)), ("dtype", request.dtype, runtime.DTYPES)):
        if value not in known:
            raise UserError("request.unknown", what=Term(what, f"live.{what}"), value=value, choices=", ".join(known))
    target = str(request.target)
    checked = check_decoding(request, settings_for(target, request.drafter, request.drafter_settings))
    if KINDS[request.drafter].draft_model == "same":
        problem = draft_models.pair_problem(str(request.draft_model), target)
        if problem is not None:
            raise problem
    return checked


def settings_for(target: str, drafter: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Complete settings of a drafter, within what the target allows where it is on this machine. Raises ``UserError``."""
    layers = models.layers_of(target) if "layers" in KINDS[drafter].settings else None
    return complete_settings(drafter, given, layers)


def check_decoding(request: Request, settings: dict[str, Any]) -> dict[str, Any]:
    """The part of ``check`` that needs no more of target and drafter than the drafter's complete settings."""
    if not request.prompt:
        raise UserError("request.prompt_empty")
    return {
        "sampling": check_sampling(request),
        "drafter_settings": settings,
        "rule": choose_rule(request.drafter, settings, request.rule),
        "max_new_tokens": whole_number(Term("max new tokens", "live.max_new_tokens"), request.max_new_tokens, 1,
                                       MOST_NEW_TOKENS),
    }


def check_sampling(asked: Request | Sampling) -> dict[str, Any]:
    """Keyword arguments of ``processors.Sampling``. Raises ``UserError``: a value outside its range."""
    return {
        "temperature": _temperature(asked.temperature),
        "top_k": whole_number(Term("top-k", "live.top_k"), asked.top_k, 0, 1_000_000),
        "top_p": number(Term("top-p", "live.top_p"), asked.top_p, 1e-6, 1),
        "repetition_penalty": number(Term("repetition penalty", "live.repetition_penalty"), asked.repetition_penalty, 0.1, 10),
        "seed": whole_number(Term("seed", "live.seed"), asked.seed, 0, 2**63 - 1),
    }


def _temperature(asked: Any) -> float:
    name = Term("temperature", "live.temperature")
    value = any_number(name, asked)
    if value != 0 and not LEAST_TEMPERATURE <= value <= MOST_TEMPERATURE:  # also refuses nan
        raise UserError("request.temperature", name=name, value=short(asked), least=LEAST_TEMPERATURE, most=MOST_TEMPERATURE)
    return value


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
    from .processors import Sampling

    sampling = Sampling(**checked["sampling"])
    drafter = make_drafter(request.drafter, target, checked["drafter_settings"], sampling, request.datastore,
                           request.draft_model, progress, cancelled)
    return Generation.of(target, drafter, checked["rule"], sampling, request.prompt, request.chat, prompt_ids,
                         checked["max_new_tokens"])


def make_drafter(name: str, target: TargetModel, settings: Mapping[str, Any], sampling: Sampling, datastore: str,
                 draft_model: str, progress: Progress = lambda stage, fraction: None,
                 cancelled: IsCancelled = lambda: False) -> MadeDrafter:
    """A drafter with all that it drafts from.

    Args:
        name: a key of ``KINDS``.
        settings: those that are not the default ones, or all.
        datastore, draft_model: used by the kinds that need one.

    Raises:
        UserError: as ``prepare``.
        Cancelled: the caller asked to stop.
    """
    kind = KINDS[name]
    settings = complete_settings(name, settings, len(target.cache.layers))
    store = open_datastore(datastore, target, progress, cancelled) if kind.needs_datastore else None
    assistant = None
    if kind.draft_model:
        model = draft_models.chosen(draft_model, kind.draft_model)
        assistant = draft_models.load(model, target, str(target.dtype).removeprefix("torch."), progress, cancelled)
        if kind.draft_model == "same":
            draft_models.check_pair(draft_model, assistant, target)
    if cancelled():
        raise Cancelled
    costs = None
    if settings.get("budget") == NodeBudget.AUTO:
        from .drafters.costs import RunCosts, cost_curve

        progress("stage.measure", None)
        costs = RunCosts(cost_curve(target), perf_counter)
    made = kind.make(Material(target.pieces, store, costs, target, assistant, sampling), settings)
    return MadeDrafter(name, settings, made, store, assistant)


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
    """The opened store; a bundled one is built at first use."""
    from .datastore.bundled import BUNDLED, ensure_bundled
    from .datastore.store import open_store

    if name in BUNDLED:
        return ensure_bundled(name, target.tokenizer, lambda stage, fraction: progress(f"datastore.stage.{stage}", fraction), cancelled)
    return open_store(name, target.tokenizer)
