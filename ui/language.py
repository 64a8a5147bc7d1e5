"""Words in two languages: a component is made under a catalogue key, and follows the language switch.

Nothing is re-rendered: a switch answers with new labels, explanations, placeholders and
choices, and what was typed or chosen stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from spec_core.messages import LANGUAGES, catalogue

DEFAULT = "en"


class Words:
    """Makes components that speak, and remembers their keys.

    A component under the key ``live.prompt`` is labelled with that message; the messages
    ``live.prompt.info`` and ``live.prompt.placeholder``, where the catalogue has them,
    explain it. A choice ``x`` of a component with ``named=True`` shows
    ``live.prompt.choice.x``.
    """

    def __init__(self) -> None:
        self._said: list[tuple[gr.blocks.Block, Callable[[str], dict[str, Any]]]] = []

    def make(self, kind: Callable[..., Any], key: str, *, named: bool = False, choices: list[str] | None = None,
             slot: str = "label", **arguments: Any) -> Any:
        """A component of ``kind`` under ``key``.

        Args:
            kind: a gradio component or layout class.
            key: of the label.
            named: the choices have messages of their own.
            choices: values to choose from.
            slot: where the message goes: ``label``, or ``value`` for a button.

        Raises:
            KeyError: a catalogue lacks the key.
        """
        def texts(language: str) -> dict[str, Any]:
            words = catalogue(language)
            said: dict[str, Any] = {slot: words[key]}
            for extra in ("info", "placeholder"):
                if f"{key}.{extra}" in words:
                    said[extra] = words[f"{key}.{extra}"]
            if choices is not None and named:
                said["choices"] = [(words[f"{key}.choice.{choice}"], choice) for choice in choices]
            return said

        for language in LANGUAGES:  # a key that one language lacks is found now, not on the switch
            texts(language)
        if choices is not None and not named:
            arguments["choices"] = choices
        component = kind(**texts(DEFAULT), **arguments)
        self._said.append((component, texts))
        return component

    @property
    def components(self) -> list[Any]:
        """Everything that follows the switch, in the order of ``updates``."""
        return [component for component, _ in self._said]

    def updates(self, language: str) -> list[Any]:
        """One gradio update a component; an unknown language counts as the default."""
        language = language if language in LANGUAGES else DEFAULT
        return [gr.update(**texts(language)) for _, texts in self._said]
