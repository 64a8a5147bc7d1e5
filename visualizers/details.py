"""What the views read of a drafter's details, checked: a trace may come from anywhere.

Each drafter documents its details. What is missing, or of another kind than documented, is
left out here, and the step is drawn without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spec_core.trace import MAX_NODES_A_STEP, Step

Details = dict[str, Any]
PLACES = ("rest", "context", "past")
"""Where a retrieving drafter looks: the datastore, the text so far, past outputs."""
MOST_ATTEMPTS = 32
MOST_SHOWN = 2**53
"""Whole numbers beyond it are none in a browser."""


def read_details(step: Step) -> Details:
    """The details of a step that the views know, each as documented by its drafter, or not there at all."""
    n = len(step.tree.tokens)
    found = {key: read(step.details.get(key)) for key, read in _READERS.items()}
    found["sources"] = _sources(step.details.get("sources"), n)
    found["unselected"] = _unselected(step.details.get("unselected"), n)
    found.update(_passages(step.details, n))
    return {key: value for key, value in found.items() if value is not None}


def text(value: Any) -> str | None:
    """``value`` if it is text."""
    return value if isinstance(value, str) else None


def flag(value: Any) -> bool | None:
    """``value`` if it is true or false."""
    return value if isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """``value`` if it is a whole number from 0 on."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_SHOWN else None


def real(value: Any) -> float | None:
    """``value`` if it is a number that a browser can hold."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if -1e300 < value < 1e300 else None


def every(value: Any, read: Callable[[Any], Any], most: int = MAX_NODES_A_STEP) -> list[Any] | None:
    """``value`` if it is a list of at most ``most`` entries that all pass ``read``."""
    if not isinstance(value, list) or len(value) > most:
        return None
    items = [read(item) for item in value]
    return None if any(item is None for item in items) else items


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _attempts(value: Any) -> list[dict[str, Any]]:
    attempts = [{"length": count(item.get("length")), "hits": count(item.get("hits")), "source": item.get("source")}
                for item in _mappings(value)[:MOST_ATTEMPTS]]
    return [attempt for attempt in attempts if attempt["length"] is not None and attempt["hits"] is not None]


def _matches(value: Any) -> dict[str, dict[str, int]]:
    matches = value if isinstance(value, Mapping) else {}
    found = {place: {key: count(matches[place].get(key)) for key in ("length", "hits")}
             for place in PLACES if isinstance(matches.get(place), Mapping)}
    return {place: match for place, match in found.items() if None not in match.values()}


def _tokens(value: Any) -> dict[str, list[Any]] | None:
    """Pieces with the byte position behind each: rising, one a piece."""
    if not isinstance(value, Mapping):
        return None
    pieces, ends = every(value.get("pieces"), text), every(value.get("ends"), count)
    if pieces is None or ends is None or len(pieces) != len(ends) or ends != sorted(ends):
        return None
    return {"pieces": pieces, "ends": ends}


def _sources(value: Any, n: int) -> list[list[str]] | None:
    places = every(value, lambda item: every(item, text))
    if places is None or len(places) != n:
        return None
    return [[place for place in seen if place in PLACES] for seen in places]


def _unselected(value: Any, n: int) -> dict[str, list[Any]] | None:
    """Nodes beside the ``n`` of the draft tree; a parent may be one of either."""
    if not isinstance(value, Mapping):
        return None
    pieces, weights = every(value.get("pieces"), text), every(value.get("weights"), real)
    parents = every(value.get("parents"), lambda item: -1 if item == -1 else count(item))
    if not pieces or parents is None or len(parents) != len(pieces):
        return None
    if any(parent >= n + i for i, parent in enumerate(parents)):
        return None
    return {"pieces": pieces, "parents": parents,
            "weights": weights if weights and len(weights) == len(pieces) and min(weights) >= 0 else []}


def _passages(details: Mapping[str, Any], n: int) -> Details:
    """Documents and snippets behind the nodes: ``provenance[i]`` is the snippet of node i, or None."""
    documents = details.get("documents") if isinstance(details.get("documents"), list) else []
    names = [text(name) or "?" for name in documents]
    snippets, place = [], {}
    for i, raw in enumerate(details.get("snippets") if isinstance(details.get("snippets"), list) else []):
        if (snippet := _snippet(raw, len(names))) is not None:
            place[i] = len(snippets)
            snippets.append(snippet)
    behind = details.get("provenance")
    behind = behind if isinstance(behind, list) and len(behind) == n else []
    return {"documents": names, "snippets": snippets,
            "provenance": [None if count(i) is None else place.get(i) for i in behind]}


def _snippet(raw: Any, documents: int) -> dict[str, Any] | None:
    if not isinstance(raw, Mapping):
        return None
    document, parts = count(raw.get("document")), {key: text(raw.get(key)) for key in ("before", "match", "after")}
    if document is None or document >= documents or None in parts.values():
        return None
    return {"document": document, "offset": count(raw.get("offset")), **parts}


_READERS: dict[str, Callable[[Any], Any]] = {
    "source": text, "method": text, "window": text, "resting": text,
    "matched": count, "hits": count, "length": count, "considered": count, "dropped": count, "begun": count,
    "stopped_below": real, "replacement": flag,
    "attempts": _attempts, "matches": _matches,
    "estimates": lambda value: value if isinstance(value, list) else None,
    "shape": lambda value: every(value, count, most=64),
    "assistant": _tokens, "target": _tokens, "forgotten": lambda value: every(value, text, most=64),
}
