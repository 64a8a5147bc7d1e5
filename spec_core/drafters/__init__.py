"""The registry of drafters: what there is, what each can be told, and how one is made.

A new drafter is a file beside this one and an entry in ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..messages import Term, UserError
from .base import Drafter
from .settings import Budget, Choice, Number, Setting, Shape, WholeNumber

if TYPE_CHECKING:
    from ..datastore.store import Store
    from ..language_model import LanguageModel
    from ..pieces import Pieces
    from ..processors import Sampling
    from ..target import TargetModel
    from .costs import Costs

AUTO = "auto"
"""The acceptance rule that is the drafter's own."""


@dataclass(frozen=True)
class Material:
    """What drafters are made from.

    Args:
        pieces: display strings of the target's tokens.
        datastore: opened, for the kinds that need one.
        costs: what nodes cost with this target, for the budget "auto".
        target: the model that will verify.
        assistant: the model that drafts, for the kinds that need one.
        sampling: of the run: a draft model draws as the target does.
    """

    pieces: Pieces
    datastore: Store | None = None
    costs: Costs | None = None
    target: TargetModel | None = None
    assistant: LanguageModel | None = None
    sampling: Sampling | None = None


FITTING = {
    "nothing": ("one-draw",),
    "chosen": ("one-draw", "multi-candidate", "typical"),
    "chain": ("speculative", "block", "one-draw", "typical"),
    "siblings": ("multi-candidate", "one-draw", "typical"),
    "replacement": ("multi-candidate", "k-seq", "one-draw", "typical"),
}
"""What is drafted → the acceptance rules that judge it exactly (``typical`` is lossy), the best first.

``chosen``: nodes picked, not drawn; ``chain``, ``siblings``: drawn from a known q, one a node or several;
``replacement``: siblings drawn independently.
"""


@dataclass(frozen=True)
class Kind:
    """One family of drafts.

    Args:
        make: (material, settings) → drafter; imports what it needs.
        settings: what it can be told, by name.
        needs_datastore: whether it drafts from a datastore.
        draft_model: which models can draft: ``same`` (the target's tokenizer), ``any``, or none at all.
        drafts: settings → what it drafts, a key of ``FITTING``.
    """

    make: Callable[[Material, dict[str, Any]], Drafter]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    needs_datastore: bool = False
    draft_model: str | None = None
    drafts: Callable[[Mapping[str, Any]], str] = lambda settings: "chosen"


def _rest(material: Material, settings: dict[str, Any]) -> Drafter:
    from .rest import RestDrafter

    return RestDrafter(material.datastore, material.pieces, costs=material.costs, **settings)


def _prompt_lookup(material: Material, settings: dict[str, Any]) -> Drafter:
    from .prompt_lookup import PromptLookupDrafter

    return PromptLookupDrafter(material.pieces, **settings)


def _context(material: Material, settings: dict[str, Any]) -> Drafter:
    from .context import ContextDrafter

    return ContextDrafter(material.pieces, costs=material.costs, **settings)


def _suffix(material: Material, settings: dict[str, Any]) -> Drafter:
    from .suffix import SuffixDrafter

    return SuffixDrafter(material.pieces, costs=material.costs, **settings)


def _fusion(material: Material, settings: dict[str, Any]) -> Drafter:
    from .fusion import FusionDrafter

    return FusionDrafter(material.datastore, material.pieces, costs=material.costs, **settings)


def _none(material: Material, settings: dict[str, Any]) -> Drafter:
    from .none import NoDrafter

    return NoDrafter()


def _draft_model(material: Material, settings: dict[str, Any]) -> Drafter:
    from .assisted import draft_model

    return draft_model(material, settings)


def _multi_candidate(material: Material, settings: dict[str, Any]) -> Drafter:
    from .assisted import multi_candidate

    return multi_candidate(material, settings)


def _universal(material: Material, settings: dict[str, Any]) -> Drafter:
    from .assisted import universal

    return universal(material, settings)


def _early_exit(material: Material, settings: dict[str, Any]) -> Drafter:
    from .assisted import early_exit

    return early_exit(material, settings)


_CHAIN: dict[str, Setting] = {
    "length": WholeNumber(8, 1, 64),
    "stop_below": Number(0.15, 0.0, 1.0),
    "schedule": Choice("fixed", ("fixed", "heuristic")),
}

KINDS: dict[str, Kind] = {
    "rest": Kind(_rest, {
        "max_suffix": WholeNumber(16, 1, 64),
        "min_suffix": WholeNumber(2, 1, 64),
        "continuation": WholeNumber(10, 1, 64),
        "budget": Budget(40, 1, 256),
    }, needs_datastore=True),
    "prompt-lookup": Kind(_prompt_lookup, {
        "max_ngram": WholeNumber(3, 1, 16),
        "length": WholeNumber(10, 1, 64),
    }),
    "context": Kind(_context, {
        "continuation": WholeNumber(32, 1, 64),
        "budget": Budget(40, 1, 256),
    }),
    "suffix": Kind(_suffix, {
        "factor": Number(1.0, 0.1, 8.0),
        "min_prob": Number(0.1, 0.0, 1.0),
        "depth": WholeNumber(64, 1, 64),
        "budget": Budget(40, 1, 256),
    }),
    "fusion": Kind(_fusion, {
        "max_suffix": WholeNumber(16, 1, 64),
        "continuation": WholeNumber(32, 1, 64),
        "budget": Budget(40, 1, 256),
    }, needs_datastore=True),
    "draft-model": Kind(_draft_model, _CHAIN, draft_model="same", drafts=lambda settings: "chain"),
    "multi-candidate": Kind(_multi_candidate, {
        "tree": Choice("static", ("static", "dynamic"),
                       {"static": ("shape", "siblings"), "dynamic": ("depth", "width", "stop_below", "budget")}),
        "shape": Shape("4x2x2x1x1", 16, 256),
        "siblings": Choice("without-replacement", ("without-replacement", "with-replacement")),
        "depth": WholeNumber(5, 1, 16),
        "width": WholeNumber(6, 1, 32),
        "stop_below": Number(0.05, 0.0, 1.0),
        "budget": Budget(24, 1, 256),
    }, draft_model="same", drafts=lambda settings: (
        "chosen" if settings["tree"] == "dynamic" else
        "replacement" if settings["siblings"] == "with-replacement" else "siblings")),
    "universal": Kind(_universal, {
        "length": WholeNumber(8, 1, 64),
        "stop_below": Number(0.15, 0.0, 1.0),
        "method": Choice("text", ("text", "intersection")),
    }, draft_model="any", drafts=lambda settings: "chosen" if settings["method"] == "text" else "chain"),
    "early-exit": Kind(_early_exit, {"layers": WholeNumber(8, 1, 200)} | _CHAIN, drafts=lambda settings: "chain"),
    "none": Kind(_none, drafts=lambda settings: "nothing"),
}


def fitting_rules(drafter: str, settings: Mapping[str, Any]) -> Sequence[str]:
    """The acceptance rules that fit a drafter with these (complete) settings, its own first."""
    return FITTING[KINDS[drafter].drafts(settings)]


def choose_rule(drafter: str, settings: Mapping[str, Any], asked: str) -> str:
    """The rule of a run: the one asked for, or where that is ``AUTO``, the drafter's own.

    Raises:
        UserError: a rule that does not fit, with the reason.
    """
    fitting = fitting_rules(drafter, settings)
    if asked == AUTO:
        return fitting[0]
    if asked not in fitting:
        known = list(dict.fromkeys(rule for rules in FITTING.values() for rule in rules))
        if asked not in known:
            raise UserError("request.unknown", what=Term("rule", "live.rule"), value=asked, choices=", ".join([AUTO, *known]))
        raise UserError(f"request.rule.{asked}", drafter=drafter, choices=", ".join(fitting))
    return asked


def complete_settings(drafter: str, given: Mapping[str, Any], target_layers: int | None = None) -> dict[str, Any]:
    """The settings of a drafter: what is given, and defaults for the rest.

    Args:
        drafter: a key of ``KINDS``.
        given: values by name.
        target_layers: of the target, where that is known; a drafter that leaves it early reads fewer.

    Raises:
        UserError: a setting that the drafter does not have, or a value outside its range.
    """
    known = dict(KINDS[drafter].settings)
    if target_layers is not None and "layers" in known:
        known["layers"] = replace(known["layers"], most=target_layers - 1)
    for name in given:
        if not known:
            raise UserError("request.no_settings", drafter=drafter, name=name)
        if name not in known:
            raise UserError("request.unknown_setting", drafter=drafter, name=name, choices=", ".join(known))
    values = {name: setting.check(Term(name, f"live.{drafter}.{name}"), given.get(name, setting.default)) for name, setting in known.items()}
    if "min_suffix" in values and values["min_suffix"] > values["max_suffix"]:
        raise UserError("request.range", name=Term("min_suffix", f"live.{drafter}.min_suffix"), value=values["min_suffix"], least=1,
                        most=values["max_suffix"])
    return values
