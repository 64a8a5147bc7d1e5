"""What the lanes of a comparison are called: short ids for files, and the catalogue's words for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import lab
from .drafters import AUTO, complete_settings
from .messages import catalogue

PLAIN = "none"


def lane_name(request: lab.Request, telling: Sequence[str] = ()) -> str:
    """Such as ``rest budget=16``: the drafter, its settings that are not the default ones, and ``telling`` parts."""
    drafter = "plain" if request.drafter == PLAIN else request.drafter
    return " ".join([drafter, *(f"{name}={_short(value)}" for name, value in _own(request, telling).items())])


def lane_label(request: lab.Request, telling: Sequence[str], language: str) -> str:
    """The name of a lane in the words of the catalogue, such as ``REST · Tree budget 16``."""
    words = catalogue(language)
    drafter = words["compare.plain" if request.drafter == PLAIN else f"live.drafter.choice.{request.drafter}"]
    parts = (f"{setting_label(request.drafter, name, language)} {value_label(request.drafter, name, value, language)}"
             for name, value in _own(request, telling).items())
    return " · ".join([_head(drafter), *parts])


def setting_label(drafter: str, name: str, language: str) -> str:
    """What the catalogue calls a setting of a drafter, or a part of the request."""
    words = catalogue(language)
    return words.get(f"live.{drafter}.{name}") or words.get(f"live.{name}", name)


def value_label(drafter: str, name: str, value: Any, language: str) -> str:
    """What the catalogue calls a value; numbers, and names that users gave, are themselves."""
    words = catalogue(language)
    return _head(words.get(f"live.{drafter}.{name}.choice.{value}") or words.get(f"live.{name}.choice.{value}", _short(value)))


def _own(request: lab.Request, telling: Sequence[str]) -> dict[str, Any]:
    """What is not usual of a request: its drafter's settings, and ``telling`` parts."""
    usual = complete_settings(request.drafter, {})
    own = {name: value for name, value in request.drafter_settings.items() if usual.get(name) != value}
    return own | {name: getattr(request, name) for name in telling if getattr(request, name) != AUTO}


def _head(text: str) -> str:
    """Of a choice that the catalogue explains behind a dash, the name."""
    return text.split(" – ")[0]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
