"""A comparison as plain data: the table of its figures, the race of its lanes, and files to take away."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spec_core.trace import PARTS, Trace

Figures = Mapping[str, Any]
BETTER = {"more": max, "less": min}


def _speedup(figures: Figures) -> float | None:
    return figures["speedup"]["overall"] if figures["speedup"] else None


METRICS: dict[str, tuple[Callable[[Figures], Any], str | None]] = {
    "tokens_per_second": (lambda f: f["tokens_per_second"], "more"),
    "speedup": (_speedup, "more"),
    "tokens_per_call": (lambda f: f["tokens_per_call"], "more"),
    "acceptance": (lambda f: f["acceptance_by_depth"][0] if f["acceptance_by_depth"] else None, "more"),
    "ms_per_token": (lambda f: sum(f["ms"].values()), "less"),
    "hit_rate": (lambda f: f["hit_rate"] if f["drafted"] else None, "more"),
    "accepted_share": (lambda f: f["accepted_share"], "more"),
    "nodes_per_call": (lambda f: f["nodes_per_call"], None),
    "runs": (lambda f: f["runs"], None),
}
"""Row → its number in the figures of a lane, and which is better; what each is, the catalogue says."""

OF_TIME = ("tokens_per_second", "speedup", "ms_per_token")
"""Rows that all say which lane is the fastest."""


def table(lanes: Sequence[Figures | None]) -> list[dict[str, Any]]:
    """The rows of the table: one a metric.

    Returns:
        of each row: metric, values (one a lane, None where there is none), and best (bool a lane: all that share
        the best value; none where fewer than two lanes have one). In the rows ``OF_TIME`` only ``_fastest`` is best.
    """
    rows = []
    fastest = _fastest(lanes)
    for metric, (read, better) in METRICS.items():
        values = [read(figures) if figures else None for figures in lanes]
        known = [value for value in values if value is not None]
        best = BETTER[better](known) if better and len(known) > 1 else None
        rows.append({"metric": metric, "values": values, "best": [
            best is not None and v == best and (metric not in OF_TIME or i in fastest) for i, v in enumerate(values)]})
    return rows


def _fastest(lanes: Sequence[Figures | None]) -> set[int]:
    """The lanes that every row ``OF_TIME`` calls the best, where their pairs of runs tell them from the others.

    Told apart: the middle half of their speed-ups lies above that of each other lane. Plain decoding's is 1.
    """
    measured = {i: figures for i, figures in enumerate(lanes) if figures}
    fastest = set(measured)
    for metric in OF_TIME:
        read, better = METRICS[metric]
        values = {i: 1.0 if (value := read(figures)) is None else value for i, figures in measured.items()}
        fastest &= {i for i, value in values.items() if value == BETTER[better](values.values())}
    ranges = {i: (f["speedup"]["low"], f["speedup"]["high"]) if f["speedup"] else (1.0, 1.0) for i, f in measured.items()}
    others = [high for i, (_, high) in ranges.items() if i not in fastest]
    return {i for i in fastest if ranges[i][0] > max(others, default=0.0)}


def race(trace: Trace | None) -> dict[str, Any] | None:
    """A lane's run as it really went, step by step.

    Returns:
        ends: milliseconds from the begin of reading the prompt to each step's end; pieces and kinds: of each step's
        committed tokens, a kind by its first letter.
    """
    if trace is None:
        return None
    ends, now = [], 0.0
    for step in trace.steps:
        now += step.total_ms
        ends.append(round(now, 3))
    return {"ends": ends, "pieces": [step.committed.pieces for step in trace.steps],
            "kinds": ["".join(kind[0] for kind in step.committed.kinds) for step in trace.steps]}


STEP_COLUMNS = ("step", "context_length", "drafted", "accepted", "committed", *(f"{part}_ms" for part in PARTS), "text")


def steps_csv(trace: Trace) -> str:
    """The steps of a run as CSV (RFC 4180), one a row, under ``STEP_COLUMNS``."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(STEP_COLUMNS)
    for step in trace.steps:
        writer.writerow([step.index + 1, step.context_length, len(step.tree.tokens),
                         step.tree.verdicts.count("accepted"), len(step.committed.ids),
                         *(round(step.ms.get(part, 0.0), 4) for part in PARTS), _plain(step.committed.pieces)])
    return out.getvalue()


def _plain(pieces: Sequence[str]) -> str:
    """Text that a spreadsheet will not take for a formula."""
    text = "".join(pieces)
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
