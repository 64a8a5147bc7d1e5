"""The registry of drafters: what there is, what each can be told, and how one is made.

A new drafter is a file beside this one and an entry in ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..messages import UserError
from .base import Drafter


@dataclass(frozen=True)
class Setting:
    """A whole number that a drafter can be told, and the range in which it makes sense."""

    default: int
    least: int
    most: int


@dataclass(frozen=True)
class Kind:
    """One family of drafts.

    Args:
        settings: by name.
        needs_datastore: whether it drafts from a datastore.
        make: (settings, pieces, datastore or None) → drafter; imports what it needs.
    """

    make: Callable[[dict[str, int], Any, Any], Drafter]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    needs_datastore: bool = False


def _make_rest(settings: dict[str, int], pieces: Any, datastore: Any) -> Drafter:
    from .rest import RestDrafter

    return RestDrafter(datastore, pieces, **settings)


def _make_none(settings: dict[str, int], pieces: Any, datastore: Any) -> Drafter:
    from .none import NoDrafter

    return NoDrafter()


KINDS: dict[str, Kind] = {
    "rest": Kind(_make_rest, {
        "max_suffix": Setting(16, 1, 64),
        "min_suffix": Setting(2, 1, 64),
        "continuation": Setting(10, 1, 64),
        "budget": Setting(40, 1, 256),
    }, needs_datastore=True),
    "none": Kind(_make_none),
}


def complete_settings(drafter: str, given: Mapping[str, Any]) -> dict[str, int]:
    """The settings of a drafter: what is given, and defaults for the rest.

    Raises:
        UserError: a setting that the drafter does not have, or a value outside its range.
    """
    known = KINDS[drafter].settings
    for name in given:
        if name not in known:
            raise UserError("request.unknown_setting", drafter=drafter, name=name,
                            choices=", ".join(known) or "–")
    values = {name: whole_number(name, given.get(name, setting.default), setting.least, setting.most)
              for name, setting in known.items()}
    if "min_suffix" in values and values["min_suffix"] > values["max_suffix"]:
        raise UserError("request.range", name="min_suffix", value=values["min_suffix"], least=1,
                        most=values["max_suffix"])
    return values


def number(name: str, value: Any, least: float, most: float) -> float:
    """``value`` as a finite number in [least, most]. Raises ``UserError``."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise UserError("request.not_a_number", name=name, value=str(value)[:40]) from None
    if not least <= result <= most:  # also refuses nan
        raise UserError("request.range", name=name, value=value, least=least, most=most)
    return result


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """``value`` as a whole number in [least, most]. Raises ``UserError``."""
    result = number(name, value, least, most)
    if result != int(result):
        raise UserError("request.not_whole", name=name, value=value)
    return int(result)
