"""A list of prompts from text: what stands in a field, or in a file that somebody brought."""

from __future__ import annotations

import json
from typing import Any

from .messages import UserError

BETWEEN = "---"
"""A line that separates prompts."""


def read_prompts(text: str, name: str = "") -> list[str]:
    """The prompts of a text.

    Args:
        text: JSON lines of objects with a ``prompt`` or of texts (a name that ends in .jsonl or .ndjson), a JSON
            list of the same (.json), or plain text, in which a line ``---`` begins another prompt.
        name: of the file.

    Raises:
        UserError: nothing in it, a line that is no prompt, or a zero byte: no text, or one in two bytes a character.
    """
    if "\0" in text:
        raise UserError("prompts.not_utf8")
    ending = name.lower().rpartition(".")[2]
    if ending in ("jsonl", "ndjson"):
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        prompts = [_prompt(_json(line, number), number) for number, line in lines]
    elif ending == "json":
        items = _json(text, 1)
        if not isinstance(items, list):
            raise UserError("prompts.no_list")
        prompts = [_prompt(item, number) for number, item in enumerate(items, start=1)]
    else:
        prompts = split(text)
    prompts = [prompt for prompt in prompts if prompt.strip()]
    if not prompts:
        raise UserError("prompts.empty")
    return prompts


def split(text: str) -> list[str]:
    """The prompts of plain text; without the line ends around the separating lines."""
    found: list[list[str]] = [[]]
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.rstrip() == BETWEEN:
            found.append([])
        else:
            found[-1].append(line)
    return ["\n".join(lines) for lines in found]


def join(prompts: list[str]) -> str:
    """Plain text of prompts: the inverse of ``split``, unless a prompt holds a separating line itself."""
    return f"\n{BETWEEN}\n".join(prompts)


def _json(text: str, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError("prompts.not_json", line=number) from error


def _prompt(item: Any, number: int) -> str:
    found = item.get("prompt") if isinstance(item, dict) else item
    if not isinstance(found, str):
        raise UserError("prompts.no_prompt", line=number)
    return found
