"""Checks of a trace file's values: each returns the value, or raises ``TraceError`` that names the place."""

from __future__ import annotations

import sys
from typing import Any

from .messages import UserError


class TraceError(UserError):
    """A trace that cannot be read; the message says why in one sentence."""


def refuse_constant(name: str) -> float:
    """For ``json.loads``: NaN and infinities are no JSON."""
    raise TraceError("trace.not_json")


def expect(condition: bool, message: str) -> None:
    """Raise ``TraceError`` with ``message`` where the condition does not hold."""
    if not condition:
        raise TraceError("trace.broken", what=message)


def integer(value: Any, what: str) -> int:
    """``value`` if it is a whole number."""
    expect(isinstance(value, int) and not isinstance(value, bool), f"{what} is not a whole number")
    return value


def number(value: Any, what: str) -> float:
    """``value`` if it is a finite number."""
    finite = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    expect(finite, f"{what} is not a number")
    return value


def items(value: Any, length: int | None, what: str) -> list[Any]:
    """``value`` if it is a list, of ``length`` where given."""
    expect(isinstance(value, list), f"{what} is not a list")
    expect(length is None or len(value) == length, f"{what} has {len(value)} entries, not {length}")
    return value


def integers(value: Any, what: str, length: int | None = None) -> list[int]:
    """``value`` if it is a list of whole numbers."""
    return [integer(item, what) for item in items(value, length, what)]


def numbers(value: Any, length: int, what: str, nullable: bool = False) -> list[Any]:
    """``value`` if it is a list of finite numbers, or None where ``nullable``."""
    return [None if nullable and item is None else number(item, what) for item in items(value, length, what)]


def strings(value: Any, length: int, what: str) -> list[str]:
    """``value`` if it is a list of texts."""
    values = items(value, length, what)
    expect(all(isinstance(item, str) for item in values), f"{what} holds something that is not text")
    return values


