"""The registry of drafters: what there is, what each can be told, and how one is made.

A new drafter is a file beside this one and an entry in ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..messages import UserError
from .base import Drafter
from .settings import Budget, Number, Setting, WholeNumber

if TYPE_CHECKING:
    from ..datastore.store import Store
    from ..pieces import Pieces
    from .budget import CostCurve


@dataclass(frozen=True)
class Material:
    """What drafters are made from.

    Args:
        pieces: display strings of the target's tokens.
        datastore: opened, for the kinds that need one.
        costs: what nodes cost with this target, for the budget "auto".
    """

    pieces: Pieces
    datastore: Store | None = None
    costs: CostCurve | None = None


@dataclass(frozen=True)
class Kind:
    """One family of drafts.

    Args:
        make: (material, settings) → drafter; imports what it needs.
        settings: what it can be told, by name.
        needs_datastore: whether it drafts from a datastore.
    """

    make: Callable[[Material, dict[str, Any]], Drafter]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    needs_datastore: bool = False


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
    "none": Kind(_none),
}


def complete_settings(drafter: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a drafter: what is given, and defaults for the rest.

    Raises:
        UserError: a setting that the drafter does not have, or a value outside its range.
    """
    known = KINDS[drafter].settings
    for name in given:
        if name not in known:
            raise UserError("request.unknown_setting", drafter=drafter, name=name, choices=", ".join(known) or "–")
    values = {name: setting.check(name, given.get(name, setting.default)) for name, setting in known.items()}
    if "min_suffix" in values and values["min_suffix"] > values["max_suffix"]:
        raise UserError("request.range", name="min_suffix", value=values["min_suffix"], least=1,
                        most=values["max_suffix"])
    return values
