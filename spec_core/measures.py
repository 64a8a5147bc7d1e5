"""The figures of a lane of a comparison: pure functions of traces. What each means, its docstring says."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from .compare import Lane, seconds
from .trace import PARTS, Step, Trace, totals


def speedups(pairs: Sequence[tuple[int, Trace, Trace]]) -> list[float]:
    """Of each pair (prompt, plain run, own run): the plain run's seconds a token ÷ the own run's."""
    ratios = []
    for _, plain, own in pairs:
        times = [seconds(run) / len(run.output_ids) if run.output_ids else 0.0 for run in (plain, own)]
        if all(times):
            ratios.append(times[0] / times[1])
    return ratios


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
        those of ``trace.totals`` over all its runs, but
        tokens_per_second: the median of its runs, so that a run that was disturbed counts as one.
        ms: milliseconds a token by part, of each part the median of the runs.
        runs: how many.
        speedup: ``spread`` of ``speedups``; None for plain decoding.
        nodes_per_call: drafted nodes ÷ target calls.
        accepted_share: accepted nodes ÷ drafted nodes, None where nothing was drafted.
        hit_rate: see ``hit_rate``.
        depth: mean depth of the draft trees, empty ones included.
    """
    steps = [step for run in lane.runs.values() for step in run.steps]
    if not steps:
        return None
    found = totals(steps)
    each = [run.totals for run in lane.runs.values()]
    found["tokens_per_second"] = median(one["tokens_per_second"] for one in each)
    found["ms"] = {part: median(one["ms"][part] / one["tokens"] for one in each) for part in PARTS}
    return {
        **found, "runs": len(lane.runs), "speedup": spread(speedups(lane.pairs())),
        "nodes_per_call": found["drafted"] / found["steps"],
        "accepted_share": found["accepted"] / found["drafted"] if found["drafted"] else None,
        "hit_rate": hit_rate(steps), "depth": float(np.mean(draft_depths(steps))),
    }
