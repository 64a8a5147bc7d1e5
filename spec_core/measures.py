"""The figures of a lane of a comparison: pure functions of traces. What each means, its docstring says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .compare import Lane, seconds
from .trace import PARTS, Step, Trace, totals


Pairs = Sequence[tuple[int, Trace, Trace]]
"""As ``Lane.pairs``: (prompt, plain run, own run)."""


def speedups(pairs: Pairs) -> list[float]:
    """Of each pair: the plain run's seconds a token ÷ the own run's."""
    return [_seconds_a_token([plain]) / _seconds_a_token([own]) for _, plain, own in _timed(pairs)]


def overall_speedup(pairs: Pairs) -> float | None:
    """Seconds a token of all plain runs together ÷ that of all own runs; None without a pair.

    The mean or median of the pairs' ratios may rank lanes otherwise than their tokens a second do; this may not.
    """
    timed = _timed(pairs)
    return _seconds_a_token([p for _, p, _ in timed]) / _seconds_a_token([o for _, _, o in timed]) if timed else None


def _timed(pairs: Pairs) -> list[tuple[int, Trace, Trace]]:
    """The pairs of which both runs gave tokens, and took time."""
    return [pair for pair in pairs if all(run.output_ids and seconds(run) for run in pair[1:])]


def _seconds_a_token(runs: Sequence[Trace]) -> float:
    return sum(map(seconds, runs)) / sum(len(run.output_ids) for run in runs)


def spread(values: Sequence[float]) -> dict[str, Any] | None:
    """Median, quartiles, least and most, and how many; None of nothing."""
    if not values:
        return None
    least, low, median, high, most = np.percentile(values, [0, 25, 50, 75, 100]).tolist()
    return {"median": median, "low": low, "high": high, "least": least, "most": most, "count": len(values)}


def hit_rate(steps: Sequence[Step]) -> float:
    """Target calls with at least one drafted node ÷ all target calls."""
    return sum(bool(step.tree.tokens) for step in steps) / len(steps) if steps else 0.0


def draft_depths(steps: Sequence[Step]) -> list[int]:
    """Depth of each step's draft tree: 0 where it is empty."""
    return [max(node_depths(step.tree.parents), default=0) for step in steps]


def node_depths(parents: Sequence[int]) -> list[int]:
    """Depth of each node of a tree: 1 for a child of the root."""
    depths: list[int] = []
    for parent in parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return depths


def figures(lane: Lane) -> dict[str, Any] | None:
    """All that is measured of a lane so far, JSON-ready; None before its first run is done.

    Returns:
        those of ``trace.totals`` over all its runs together, but
        ms: milliseconds a token by part.
        runs: how many.
        speedup: ``spread`` of ``speedups``, and overall: ``overall_speedup``; None for plain decoding.
        nodes_per_call: drafted nodes ÷ target calls.
        accepted_share: accepted nodes ÷ drafted nodes, None where nothing was drafted.
        hit_rate: see ``hit_rate``.
        depth: mean depth of the draft trees, empty ones included.
    """
    steps = [step for run in lane.runs.values() for step in run.steps]
    if not steps:
        return None
    found = totals(steps)
    found["ms"] = {part: found["ms"][part] / found["tokens"] for part in PARTS}
    pairs = lane.pairs()
    ratios = spread(speedups(pairs))
    return {
        **found, "runs": len(lane.runs), "speedup": ratios and ratios | {"overall": overall_speedup(pairs)},
        "nodes_per_call": found["drafted"] / found["steps"],
        "accepted_share": found["accepted"] / found["drafted"] if found["drafted"] else None,
        "hit_rate": hit_rate(steps), "depth": float(np.mean(draft_depths(steps))),
    }
