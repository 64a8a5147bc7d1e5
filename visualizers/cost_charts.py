"""Charts of what pays: the cost curve, the break-even explorer, the tree budget, and a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

from spec_core.breakeven import MOST_GAMMA, best_gamma, predicted
from spec_core.drafters.costs import CostCurve

from .charts import MARK, Look

STAR = {"symbol": "star", "size": 16, "color": MARK, "line": {"color": "#7a5200", "width": 1}}

AROUND = ("top center", "bottom center", "middle left", "middle right")
"""Where the number of a star stands, from the highest star down: stars that lie close keep their numbers apart."""


def cost_curve(curve: CostCurve, look: Look = Look()) -> go.Figure:
    """v(n + 1) as measured: a target forward over root and n nodes, in forwards over the root alone."""
    most = curve.nodes[-1]
    traces = [
        go.Scatter(x=list(range(most + 1)), y=curve.upto(most).tolist(), mode="lines", showlegend=False,
                   line={"color": look.colour(1), "width": 2}, hoverinfo="skip"),
        go.Scatter(x=list(curve.nodes), y=list(curve.costs), mode="markers", name=look.text("measured"),
                   marker={"color": look.colour(1), "size": 9},
                   hovertemplate=look.text("cost.hover") + "<extra></extra>"),
        go.Scatter(x=[0, most], y=[1, 1], mode="lines", name=look.text("free"),
                   line={"color": look.colour(0), "dash": "dot"}, hoverinfo="skip"),
    ]
    return look.figure(traces, look.text("nodes"), look.text("plain_forwards"))


def break_even(alpha: float, gamma: int, c: float, curve: CostCurve,
               measured: Sequence[tuple[int, str, float, Mapping[str, Any]]] = (), look: Look = Look()) -> go.Figure:
    """The predicted speed-up for each draft length γ, the chosen γ, the best one, and the measured lanes.

    Args:
        alpha, gamma, c: the sliders: acceptance rate, draft length, cost of a draft token in plain forwards.
        curve: v, of this machine.
        measured: (lane, name, mean draft depth, ``spread`` of the speed-up) of each lane.
    """
    gammas = list(range(MOST_GAMMA + 1))
    best = best_gamma(alpha, c, curve)
    hover = look.text("gamma.hover") + "<extra></extra>"
    traces: list[Any] = [
        go.Scatter(x=gammas, y=[predicted(alpha, g, c, curve) for g in gammas], mode="lines",
                   name=look.text("predicted"), line={"color": look.colour(1), "width": 2.5}, hovertemplate=hover),
        go.Scatter(x=[0, MOST_GAMMA], y=[1, 1], mode="lines", name=look.text("break_even"),
                   line={"color": look.colour(0), "dash": "dot"}, hoverinfo="skip"),
        go.Scatter(x=[best], y=[predicted(alpha, best, c, curve)], mode="markers", name=look.text("best"),
                   marker=STAR, hovertemplate=hover),
        go.Scatter(x=[gamma], y=[predicted(alpha, gamma, c, curve)], mode="markers", name=look.text("chosen"),
                   marker={"color": look.colour(1), "size": 12, "symbol": "circle-open", "line": {"width": 3}},
                   hovertemplate=hover),
    ]
    for lane, name, depth, speedup in measured:
        traces.append(go.Scatter(
            x=[depth], y=[speedup["overall"]], name=escape(name), mode="markers",
            marker={**look.style(lane)["marker"], "size": 11}, error_y=_error([speedup], look.colour(lane)),
            hovertemplate=look.text("gamma.hover") + "<extra>%{fullData.name}</extra>"))
    return look.figure(traces, look.text("gamma"), look.text("speedup"))


def tree_budget(lanes: Sequence[tuple[int, str, Sequence[tuple[int, float]]]], look: Look = Look()) -> go.Figure:
    """What smaller trees would have brought, as ``spec_core.breakeven.by_budget`` estimates; the best is marked."""
    traces: list[Any] = []
    tops = [max(points, key=lambda point: point[1]) for _, _, points in lanes]
    from_above = sorted(range(len(tops)), key=lambda i: -tops[i][1])
    for i, (lane, name, points) in enumerate(lanes):
        best, line, rank = tops[i], look.style(lane)["line"], from_above.index(i)
        said = any(tops[above][0] == best[0] for above in from_above[:rank])  # the same number once
        traces.append(go.Scatter(x=[n for n, _ in points], y=[ratio for _, ratio in points], name=escape(name),
                                 mode="lines", line=line,
                                 hovertemplate=look.text("budget.hover") + "<extra>%{fullData.name}</extra>"))
        traces.append(go.Scatter(x=[best[0]], y=[best[1]], mode="markers+text", showlegend=False,
                                 marker=STAR | {"size": 13, "line": {"color": line["color"], "width": 1.5}},
                                 text=["" if said else str(best[0])], textposition=AROUND[rank % len(AROUND)],
                                 hovertemplate=look.text("budget.hover") + "<extra></extra>"))
    figure = look.figure(traces, look.text("budget"), look.text("speedup_estimated"))
    figure.update_yaxes(range=[0, 1.2 * max(ratio for _, _, points in lanes for _, ratio in points)])  # room for the numbers
    return figure


def sweep(setting: str, points: Sequence[tuple[Any, Mapping[str, Any] | None]], look: Look = Look()) -> go.Figure:
    """The measured speed-up for each value of a setting, its quartiles, and the best value marked.

    Args:
        points: (value, ``spec_core.measures.figures``) in the order of the sweep; None where a run failed.
    """
    done = [(value, figures) for value, figures in points if figures and figures["speedup"]]
    numeric = all(isinstance(value, int | float) for value, _ in points)
    values = [value if numeric else str(value) for value, _ in done]
    spreads = [figures["speedup"] for _, figures in done]
    traces = [
        go.Scatter(x=values, y=[spread["overall"] for spread in spreads], mode="lines+markers",
                   name=look.text("speedup_measured"), **look.style(1), error_y=_error(spreads, look.colour(1)),
                   hovertemplate="%{x}: %{y:.2f}×<extra></extra>"),
        go.Scatter(x=values, y=[figures["tokens_per_call"] for _, figures in done], mode="lines+markers",
                   name=look.text("tokens_per_call"), **look.style(4), hovertemplate="%{x}: %{y:.2f}<extra></extra>"),
    ]
    if done:
        best = best_value(points)
        place = [value for value, _ in done].index(best)
        traces.append(go.Scatter(x=[values[place]], y=[spreads[place]["overall"]], mode="markers",
                                 name=look.text("optimum", value=best), marker=STAR,
                                 hovertemplate="%{x}: %{y:.2f}×<extra></extra>"))
    figure = look.figure(traces, escape(setting), look.text("speedup_and_tokens"))
    figure.update_xaxes(type="linear" if numeric else "category")
    return figure


def best_value(points: Sequence[tuple[Any, Mapping[str, Any] | None]]) -> Any:
    """The value of the largest speed-up; None where nothing was measured."""
    done = [(figures["speedup"]["overall"], i) for i, (_, figures) in enumerate(points)
            if figures and figures["speedup"]]
    return points[max(done, key=lambda one: (one[0], -one[1]))[1]][0] if done else None


def _error(spreads: Sequence[Mapping[str, Any]], colour: str) -> dict[str, Any]:
    """Quartiles as error bars; the overall speed-up may lie beyond one of them."""
    return {"type": "data", "symmetric": False, "color": colour, "thickness": 1.2, "width": 4,
            "array": [max(0.0, spread["high"] - spread["overall"]) for spread in spreads],
            "arrayminus": [max(0.0, spread["overall"] - spread["low"]) for spread in spreads]}
