"""What the tab *Explore drafts* is fed with: a draft without a target, the documents behind a node, a replay."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from spec_core.coverage import Coverage
from spec_core.explore import Look, Sources

from .facts import Fact
from .views import run_view, step_view

RETRIEVAL = ("player.fact.match", "player.fact.hits.", "player.fact.no_match.")
"""Facts of a step that hold without a target, too."""


def draft_view(found: Look) -> dict[str, Any]:
    """Views of run and step for the player, with facts that claim no more than was done: nothing was verified."""
    step = found.step
    view = step_view(step)
    least = found.run["drafter"]["settings"]["min_suffix"]
    if step.context_length == 0:
        view["facts"] = [_fact("empty")]
    elif step.context_length < least:
        view["facts"] = [_fact("too_short", least=least)]
    else:
        view["facts"] = [*(fact for fact in view["facts"] if fact["key"].startswith(RETRIEVAL)), _selection(found)]
    return {"run": run_view(found.run), "step": view}


def sources_view(sources: Sources) -> dict[str, Any]:
    """Documents with their passages, as plain dicts."""
    return asdict(sources)


def coverage_view(coverage: Coverage) -> dict[str, Any]:
    """The figures of a replay, and a row a length that occurred, rising: its share of the positions, and
    the tokens per target call of the calls that began there (None: none did)."""
    positions = sum(coverage.positions)
    calls = sum(coverage.calls)
    rows = [{"length": length, "positions": count, "share": count / positions, "calls": coverage.calls[length],
             "tokens_per_call": 1 + coverage.accepted[length] / coverage.calls[length] if coverage.calls[length] else None}
            for length, count in enumerate(coverage.positions) if count]
    return {"tokens": coverage.tokens, "calls": calls, "longest": len(coverage.positions) - 1, "drafted_per_call": sum(coverage.drafted) / calls,
            "hit_share": coverage.hit_share, "tokens_per_call": coverage.tokens_per_call, "rows": rows}


def _selection(found: Look) -> Fact:
    n = len(found.step.tree.tokens)
    rest = len(found.step.details["unselected"]["tokens"])
    if n == 0:
        return _fact("nothing")
    return _fact("drafted", count=n, total=n + rest) if rest else _fact("all", count=n)


def _fact(name: str, **values: Any) -> Fact:
    return {"key": f"explore.fact.{name}", "values": values}
