"""The step in a few sentences: message keys and values, worded in the viewer's language later.

A value that is a string is shown as a token, a number as a number. ``count`` chooses
between singular and plural where a language has both (key and ``key.one``).
``{datastore}`` is filled in by the player from the run.
"""

from __future__ import annotations

from typing import Any

from spec_core.trace import Step

Fact = dict[str, Any]


def step_facts(step: Step) -> list[Fact]:
    """What was looked up, what went through the target, and what came of it."""
    return [*_retrieval(step), _verification(step), _outcome(step)]


def _fact(name: str, **values: Any) -> Fact:
    return {"key": f"player.fact.{name}", "values": values}


def _retrieval(step: Step) -> list[Fact]:
    details = step.details
    if "hits" not in details:
        return []
    if details["hits"]:
        return [_fact("match", count=details.get("matched", 0)),
                _fact("hits", count=details["hits"])]
    lengths = [attempt["length"] for attempt in details.get("attempts", [])]
    if not lengths:
        return [_fact("no_match")]
    return [_fact("no_match_even", count=min(lengths))]


def _verification(step: Step) -> Fact:
    n = len(step.tree.tokens)
    if n == 0:
        return _fact("plain")
    unselected = len((step.details.get("unselected") or {}).get("tokens", ()))
    if unselected:
        return _fact("selected", count=n, total=n + unselected)
    return _fact("verified", count=n)


def _outcome(step: Step) -> Fact:
    kinds = step.committed.kinds
    accepted = kinds.count("accepted")
    extra = step.committed.pieces[-1] if kinds and kinds[-1] != "accepted" else None
    if not step.tree.tokens:
        return _fact("emitted", piece=extra or "")
    if extra is None:
        return _fact("accepted_only", count=accepted)
    if accepted == 0:
        return _fact("none_accepted", piece=extra)
    return _fact(f"accepted_then_{kinds[-1]}", count=accepted, piece=extra)
