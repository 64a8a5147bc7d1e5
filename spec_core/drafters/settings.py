"""What a drafter can be told: settings with a default, and the check of what a user gives."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import Any, ClassVar

from ..messages import UserError


@dataclass(frozen=True)
class WholeNumber:
    """A whole number in [least, most]."""

    default: int
    least: int
    most: int

    def check(self, name: str, value: Any) -> int:
        """``value`` as such a number. Raises ``UserError``."""
        return whole_number(name, value, self.least, self.most)


@dataclass(frozen=True)
class Budget(WholeNumber):
    """Nodes of a draft tree: a whole number in [least, most], or ``AUTO``: what pays, decided at each step."""

    AUTO: ClassVar[str] = "auto"

    def check(self, name: str, value: Any) -> int | str:
        """``value`` as such a number, or ``AUTO``. Raises ``UserError``."""
        if isinstance(value, str) and value.strip().lower() == self.AUTO:
            return self.AUTO
        try:
            return super().check(name, value)
        except UserError:
            raise UserError("request.budget", name=name, value=short(value), least=self.least, most=self.most) from None


@dataclass(frozen=True)
class Number:
    """A number in [least, most]."""

    default: float
    least: float
    most: float

    def check(self, name: str, value: Any) -> float:
        """``value`` as such a number. Raises ``UserError``."""
        return number(name, value, self.least, self.most)


@dataclass(frozen=True)
class Choice:
    """One of a few words; ``governs``: the settings that matter under one of them only."""

    default: str
    options: Sequence[str]
    governs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def check(self, name: str, value: Any) -> str:
        """``value`` if it is one of them. Raises ``UserError``."""
        if value not in self.options:
            raise UserError("request.unknown", what=name, value=short(value), choices=", ".join(self.options))
        return value


@dataclass(frozen=True)
class Shape:
    """Candidates a node, by depth, written as in ``4x2x2x1x1``; at most ``most_nodes`` nodes."""

    default: str
    most_depth: int
    most_nodes: int

    def check(self, name: str, value: Any) -> str:
        """``value`` in that form. Raises ``UserError``."""
        text = str(value).strip().lower().replace("×", "x").replace("*", "x").replace(" ", "")
        if not re.fullmatch(r"[1-9]\d{0,2}(x[1-9]\d{0,2})*", text):
            raise UserError("request.shape", name=name, value=short(value), example=self.default)
        widths = self.widths(text)
        nodes = sum(accumulate(widths, mul))
        if len(widths) > self.most_depth or nodes > self.most_nodes:
            raise UserError("request.shape_too_large", name=name, value=text[:40], depth=len(widths), nodes=nodes,
                            most_depth=self.most_depth, most_nodes=self.most_nodes)
        return text

    @staticmethod
    def widths(text: str) -> list[int]:
        """The numbers of a checked shape."""
        return [int(width) for width in text.split("x")]


Setting = WholeNumber | Number | Choice | Shape


def number(name: str, value: Any, least: float, most: float) -> float:
    """``value`` as a finite number in [least, most]. Raises ``UserError``."""
    result = any_number(name, value)
    if not least <= result <= most:  # also refuses nan
        raise UserError("request.range", name=name, value=short(value), least=least, most=most)
    return result


def any_number(name: str, value: Any) -> float:
    """``value`` as a number, be it nan or infinite. Raises ``UserError``."""
    try:
        return float(value)
    except OverflowError:  # a whole number that no float reaches
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise UserError("request.not_a_number", name=name, value=short(value)) from None


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """``value`` as a whole number in [least, most]. Raises ``UserError``."""
    result = number(name, value, least, most)
    if result != int(result):
        raise UserError("request.not_whole", name=name, value=short(value))
    return int(result)


def short(value: Any) -> str | None:
    """What was given, as a sentence can hold it; None stays, which a sentence calls empty."""
    return None if value is None else str(value)[:40]
