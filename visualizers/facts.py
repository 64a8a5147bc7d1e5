"""The step in a few sentences: message keys and values, worded in the viewer's language later.

A value that is a string is shown as a token, a number as a number. ``count`` chooses
between singular and plural where a language has both (key and ``key.one``).
``{datastore}`` is filled in by the player from the run. Why a draft is empty at the limit
of tokens the player says, too: a step alone does not know the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spec_core.drafters.budget import RESTING
from spec_core.trace import Step

Fact = dict[str, Any]


def step_facts(step: Step, details: Mapping[str, Any]) -> list[Fact]:
    """What was looked up or drafted, what went through the target, and what came of it.

    Args:
        step: the step.
        details: its details as ``read_details`` gives them.
    """
    return [*_retrieval(details), *_drafting(len(step.tree.tokens), details), _verification(step, details), _outcome(step)]


def _fact(name: str, **values: Any) -> Fact:
    return {"key": f"player.fact.{name}", "values": values}


def match_place(details: Mapping[str, Any]) -> str:
    """Where the longest match was found: "rest" (the datastore), "context" or "past" (outputs)."""
    source = details.get("source", "rest")
    if source in ("prompt-lookup", "context"):
        return "context"
    if source == "suffix":
        followed = [place for places in details.get("sources", ()) for place in places]
        tried = [attempt["source"] for attempt in details.get("attempts", ()) if attempt["length"] == details.get("matched")]
        return next((place for place in (*followed, *tried) if place in ("context", "past")), "context")
    if source == "fusion" and details.get("matches"):
        matches = details["matches"]
        return max(matches, key=lambda place: (matches[place]["length"], place == "context"))
    return "rest"


def _retrieval(details: Mapping[str, Any]) -> list[Fact]:
    if "hits" not in details:
        return []
    place = match_place(details)
    if details["hits"]:
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
    if lengths:
        return [_fact(f"no_match.{place}_even", count=min(lengths))]
    return [_fact("no_match.rest_short" if place == "rest" else f"no_match.{place}")]  # REST looks up unless it is too short


def _drafting(n: int, details: Mapping[str, Any]) -> list[Fact]:
    """How a model drafted."""
    source = details.get("source")
    if source in ("draft-model", "early-exit"):
        return _chain(n, details)
    if source == "multi-candidate" and details.get("shape") and n:
        shape = "×".join(map(str, details["shape"]))
        return [_fact("shape_replaced" if details.get("replacement") else "shape", shape=shape)]
    if source == "dynamic-tree" and details.get("considered", 0) > n > 0:
        return [_fact("considered", count=details["considered"])]
    if source == "universal" and "assistant" in details:
        drafted = len(details["assistant"]["pieces"])
        if details.get("method") == "intersection":
            return [_fact("shared", count=drafted)] if n else []
        return [_fact("handed_over" if n else "handed_over_nothing", count=drafted, target=n)] if drafted else []
    return []


def _chain(n: int, details: Mapping[str, Any]) -> list[Fact]:
    stopped = details.get("stopped_below")
    if stopped is not None:
        return [_fact("unsure_after", count=n, p=stopped) if n else _fact("unsure", p=stopped)]
    return [_fact("chain", count=n)] if n else []


def _verification(step: Step, details: Mapping[str, Any]) -> Fact:
    n = len(step.tree.tokens)
    if n == 0:
        return _fact(f"resting.{details['resting']}" if details.get("resting") in RESTING else "plain")
    unselected = len(details.get("unselected", {}).get("pieces", ()))
    if unselected:
        # Some drafters weigh nodes by how often they were seen, others estimate their acceptance.
        return _fact("promising" if "estimates" in details else "selected", count=n, total=n + unselected)
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
