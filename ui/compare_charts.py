"""The charts of a comparison as the page's script takes them. plotly loads when the first one is asked for."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from starlette.responses import Response

from spec_core.breakeven import best_gamma, by_budget, contradicts, observed, of_trees, predicted
from spec_core.drafters.costs import CAUTIOUS
from spec_core.lane_names import setting_label, value_label

from .channel import text_of, value_of
from .comparisons import ComparisonJob


def chart_library(data: Any) -> Response:
    """plotly's script as one JSON text, from this server: the page asks nobody else. Sent when first needed."""
    return Response(_packed_library(), media_type="application/json", headers={"Content-Encoding": "gzip"})


@cache
def _packed_library() -> bytes:
    from plotly.offline import get_plotlyjs

    return gzip.compress(json.dumps({"script": get_plotlyjs()}).encode(), 6)


def look_of(data: Any) -> Any:
    """The ``Look`` that a page asks for."""
    from visualizers.charts import Look

    return Look("zh" if text_of(data, "language") == "zh" else "en", value_of(data, "dark") is True)


def charts_of(job: ComparisonJob, prompt: int, look: Any) -> Response:
    """The figures of the section "why", by name, as plotly takes them."""
    from visualizers import charts, cost_charts

    lanes = job.comparison.lanes
    measured = [(view["label"][look.language], view["figures"]) for view in job.status()["lanes"]]
    names = [name for name, _ in measured]
    figures: dict[str, Any] = {}
    if job.sweep is not None:
        setting, values = job.sweep
        drafter = lanes[-1].request.drafter
        shown = [value_label(drafter, setting, value, look.language) if isinstance(value, str) else value for value in values]
        points = list(zip(shown, [found for _, found in measured[-len(values):]], strict=True))
        figures["sweep"] = cost_charts.sweep(setting_label(drafter, setting, look.language), points, look)
    else:
        figures["tokens"] = charts.tokens_along([(name, lane.typical_run(prompt)) for name, lane in zip(names, lanes, strict=True)], look)
        figures["depth"] = charts.acceptance_by_depth(measured, look)
        figures["split"] = charts.time_split(measured, look)
    if job.curve is not None:
        figures["cost"] = cost_charts.cost_curve(job.curve, look)
        budgets = [(i, names[i], by_budget(list(lane.runs.values()), job.curve)) for i, lane in enumerate(lanes)
                   if lane.baseline is not None and lane.runs]
        budgets = [budget for budget in budgets if len(budget[2]) > 1]
        if budgets and job.sweep is None:
            figures["budget"] = cost_charts.tree_budget(budgets, look)
    return _response({name: figure.to_json() for name, figure in figures.items()})


def break_even_of(job: ComparisonJob | None, alpha: float, gamma: int, c: float, look: Any) -> Response:
    """The break-even explorer at the sliders' place: its figure, what it recommends, and what the lanes show."""
    from visualizers import cost_charts

    curve = job.curve if job and job.curve else CAUTIOUS
    measured, lanes, trees = [], [], []
    for index, lane in enumerate(job.comparison.lanes if job else []):
        runs = list(lane.runs.values())
        seen = observed(runs, list(lane.baseline.runs.values())) if lane.baseline and runs else None
        if seen is None:
            continue
        view = job.status()["lanes"][index]
        name, found = view["label"][look.language], view["figures"]
        lanes.append({"lane": index, "name": name, **asdict(seen)})
        if found["speedup"]:
            measured.append((index, name, seen.gamma, found["speedup"]))
        trees.append({"name": name, "budget": max(by_budget(runs, curve), key=lambda point: point[1])[0],
                      "predicted": of_trees(runs, list(lane.baseline.runs.values()), curve),
                      "measured": found["speedup"] and found["speedup"]["overall"]})
    best = best_gamma(alpha, c, curve)
    answer = {"gamma": best, "speedup": predicted(alpha, best, c, curve), "here": predicted(alpha, gamma, c, curve),
              "measured": bool(job and job.curve), "doubtful": any(contradicts(tree["predicted"], tree["measured"]) for tree in trees),
              "lanes": lanes, "trees": trees}
    figure = cost_charts.break_even(alpha, gamma, c, curve, measured, look)
    return _response({"answer": json.dumps(answer), "figure": figure.to_json()})


def _response(parts: Mapping[str, str]) -> Response:
    """An object of parts that are JSON text already."""
    return Response("{" + ",".join(f'"{name}":{text}' for name, text in parts.items()) + "}",
                    media_type="application/json")
