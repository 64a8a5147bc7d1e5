"""The step in a few sentences: message keys and values, worded in the viewer's language later.

A value that is a string is shown as a token, a number as a number. ``count`` chooses
between singular and plural where a language has both (key and ``key.one``).
``{datastore}`` is filled in by the player from the run. Why a draft is empty at the limit
of tokens the player says, too: a step alone does not know the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spec_core.trace import Step

Fact = dict[str, Any]


def step_facts(step: Step) -> list[Fact]:
    """What was looked up, what went through the target, and what came of it."""
    return [*_retrieval(step), _verification(step), _outcome(step)]


def _fact(name: str, **values: Any) -> Fact:
    return {"key": f"player.fact.{name}", "values": values}


def match_place(details: Mapping[str, Any]) -> str:
    """Where the longest match was found: "rest" (the datastore), "context" or "past" (outputs)."""
    source = details.get("source", "rest")
    if source in ("prompt-lookup", "context"):
        return "context"
    if source == "suffix":
        followed = [place for places in details.get("sources", ()) for place in places]
        tried = [attempt["source"] for attempt in details.get("attempts", ()) if attempt["length"] == details["matched"]]
        return next(iter(followed or tried), "context")
    if source == "fusion" and details["hits"]:
        return max(("context", "rest"), key=lambda place: details["matches"][place]["length"])  # the first of equals
    return "rest"


def _retrieval(step: Step) -> list[Fact]:
    details = step.details
    if "hits" not in details:
        return []
    if details["hits"]:
        place = match_place(details)
        found = [(place, details.get("matched", 0), details["hits"])]
        for other, match in details.get("matches", {}).items():
            if other != place and match["hits"]:
                found.append((other, match["length"], match["hits"]))
        return [fact for place, length, hits in found
                for fact in (_fact("match", count=length), _fact(f"hits.{place}", count=hits))]
    source = details.get("source", "rest")
    lengths = [attempt["length"] for attempt in details.get("attempts", [])]
    if source in ("suffix", "fusion"):
        return [_fact(f"no_match.{source}")]
    name = f"no_match.{match_place(details)}"
    return [_fact(f"{name}_even", count=min(lengths))] if lengths else [_fact(name)]


def _verification(step: Step) -> Fact:
    n = len(step.tree.tokens)
    if n == 0:
        return _fact("plain")
    unselected = len((step.details.get("unselected") or {}).get("tokens", ()))
    if unselected:
        # Some drafters weigh nodes by how often they were seen, others estimate their acceptance.
        return _fact("promising" if "estimates" in step.details else "selected", count=n, total=n + unselected)
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
