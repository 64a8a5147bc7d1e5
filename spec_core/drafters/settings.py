"""What a drafter can be told: settings with a default, and the check of what a user gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
        return value if value == self.AUTO else super().check(name, value)


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
    """One of a few words."""

    default: str
    options: Sequence[str]

    def check(self, name: str, value: Any) -> str:
        """``value`` if it is one of them. Raises ``UserError``."""
        if value not in self.options:
            raise UserError("request.unknown", what=name, value=str(value)[:40], choices=", ".join(self.options))
        return value


Setting = WholeNumber | Number | Choice


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
