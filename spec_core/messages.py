"""The message catalogues: every sentence a user reads, in English and Chinese.

``assets/i18n/<room>.<language>.json`` are flat objects of dotted keys; the rooms of a
language are merged, and a key stands in one room only. Values may hold ``{names}``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

CATALOGUES = Path(__file__).resolve().parent.parent / "assets" / "i18n"
LANGUAGES = ("en", "zh")


@cache
def catalogue(language: str, room: str = "*") -> dict[str, str]:
    """All messages of a language, or those of one room. Raises ``ValueError`` for a key said twice."""
    messages: dict[str, str] = {}
    for path in sorted(CATALOGUES.glob(f"{room}.{language}.json")):
        for key, text in json.loads(path.read_text(encoding="utf-8")).items():
            if key in messages:
                raise ValueError(f"{path.name}: the key {key} stands in another room too")
            messages[key] = text
    return messages


def say(key: str, language: str = "en", **values: Any) -> str:
    """The message of ``key`` with its values filled in. Raises ``KeyError`` for an unknown key."""
    return catalogue(language)[key].format(**values)


class Term(str):
    """A name to fill into a message: as it is in English, in another language what the catalogue says under ``key``."""

    key: str

    def __new__(cls, name: str, key: str) -> Term:
        term = super().__new__(cls, name)
        term.key = key
        return term

    def say(self, language: str) -> str:
        """The name in ``language``."""
        return str(self) if language == "en" else catalogue(language)[self.key]


class UserError(ValueError):
    """Something the user can mend: a key of the catalogue, and what to fill in.

    ``str(error)`` is the English sentence; ``error.say("zh")`` the Chinese one.
    """

    def __init__(self, key: str, **values: Any) -> None:
        self.key = key
        self.values = values
        super().__init__(self.say("en"))

    def say(self, language: str) -> str:
        """The sentence in ``language``."""
        return say(self.key, language, **{name: _shown(value, language) for name, value in self.values.items()})


def _shown(value: Any, language: str) -> Any:
    """A value as a sentence shows it: a term in the reader's language, and nothing as such, so that no gap is left."""
    if isinstance(value, Term):
        return value.say(language)
    if value is None or (isinstance(value, str) and not value.strip()):
        return say("value.empty", language)
    return value
