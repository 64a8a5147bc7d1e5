"""Charts of a comparison, one function a figure: traces and figures of lanes in, plotly out.

Lanes are told apart by colour, by dash and by marker, so no chart depends on colour alone.
Text in a figure is read as markup by plotly, so every name is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from spec_core.messages import say
from spec_core.trace import PARTS, Trace

COLOURS = ("#767d87", "#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Plain decoding, then the lanes: Okabe and Ito's, safe for colour-blind readers; the page's swatches are the same."""
DARK_COLOURS = ("#767d87", "#4aa8e0", "#f0823a", "#12b886", "#d98fb8")
DASHES = ("dot", "solid", "dash", "dashdot", "longdash")
MARKERS = ("x", "circle", "square", "diamond", "triangle-up")
PART_COLOURS = {"draft": "#CC79A7", "verify": "#8a929c", "accept": "#56B4E9", "overhead": "#c4c4be"}
MARK = "#E69F00"

FONT = "system-ui, -apple-system, Segoe UI, Noto Sans, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, sans-serif"


@dataclass(frozen=True)
class Look:
    """The viewer's language, and light or dark."""

    language: str = "en"
    dark: bool = False

    def text(self, key: str, **values: Any) -> str:
        """A message, safe as plotly's text."""
        return escape(say(f"compare.chart.{key}", self.language, **values), quote=False)

    @property
    def ink(self) -> str:
        """Colour of text."""
        return "#eceef0" if self.dark else "#191c20"

    @property
    def line(self) -> str:
        """Colour of grid lines."""
        return "#30353c" if self.dark else "#e3e3df"

    def colour(self, lane: int) -> str:
        """Colour of a lane; 0 is plain decoding."""
        return (DARK_COLOURS if self.dark else COLOURS)[lane % len(COLOURS)]

    def style(self, lane: int) -> dict[str, Any]:
        """Line and marker of a lane."""
        place = lane % len(COLOURS)
        return {"line": {"color": self.colour(lane), "dash": DASHES[place], "width": 2},
                "marker": {"color": self.colour(lane), "symbol": MARKERS[place], "size": 8}}

    def figure(self, traces: Sequence[Any], x: str, y: str, **layout: Any) -> go.Figure:
        """A figure of ``traces``; ``x`` and ``y`` are what the axes say."""
        axis = {"gridcolor": self.line, "zeroline": False, "linecolor": self.line, "ticks": "outside",
                "tickcolor": self.line, "automargin": True}
        return go.Figure(list(traces), {
            "template": "none", "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": FONT, "size": 13, "color": self.ink},
            "margin": {"l": 56, "r": 16, "t": 12, "b": 48}, "hovermode": "closest",
            "hoverlabel": {"font": {"family": FONT, "size": 13}},
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12.5}},
            "xaxis": {**axis, "title": {"text": x, "font": {"size": 12.5}}},
            "yaxis": {**axis, "title": {"text": y, "font": {"size": 12.5}}, "rangemode": "tozero"},
        } | layout)


def tokens_along(runs: Sequence[tuple[str, Trace | None]], look: Look = Look()) -> go.Figure:
    """Tokens that each step commits, along the output: where does which drafter win?

    Args:
        runs: (name, trace of one prompt) of each lane; None where it has none.
    """
    traces = []
    for lane, (name, trace) in enumerate(runs):
        if trace is None or not trace.steps:
            continue
        counts = [len(step.committed.ids) for step in trace.steps]
        places = [sum(counts[:i]) for i in range(len(counts) + 1)]
        traces.append(go.Scatter(
            x=places, y=[*counts, counts[-1]], name=escape(name), mode="lines", line_shape="hv", line=look.style(lane)["line"],
            hovertemplate=look.text("tokens.hover") + "<extra>%{fullData.name}</extra>"))
    return look.figure(traces, look.text("position"), look.text("tokens_a_step"))


def acceptance_by_depth(lanes: Sequence[tuple[str, Mapping[str, Any] | None]], look: Look = Look()) -> go.Figure:
    """Acceptance rate by depth of each lane.

    Args:
        lanes: (name, ``spec_core.measures.figures``) of each lane.
    """
    traces = []
    for lane, (name, figures) in enumerate(lanes):
        rates = (figures or {}).get("acceptance_by_depth")
        if rates:
            traces.append(go.Scatter(x=list(range(1, len(rates) + 1)), y=rates, name=escape(name), mode="lines+markers",
                                     hovertemplate="%{x}: %{y:.0%}<extra>%{fullData.name}</extra>", **look.style(lane)))
    figure = look.figure(traces, look.text("depth"), look.text("acceptance"))
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%")
    figure.update_xaxes(dtick=1 if max((len(t.x) for t in traces), default=0) <= 16 else None)
    return figure


def time_split(lanes: Sequence[tuple[str, Mapping[str, Any] | None]], look: Look = Look()) -> go.Figure:
    """Milliseconds a token of each lane, by part."""
    measured = [(escape(name).replace(" · ", "<br>"), figures) for name, figures in lanes if figures]  # room for the bars
    names = [name for name, _ in measured]
    traces = [go.Bar(y=names, x=[figures["ms"][part] for _, figures in measured], name=look.text(f"part.{part}"),
                     orientation="h", marker_color=PART_COLOURS[part],
                     hovertemplate="%{x:.2f} ms<extra>%{fullData.name}</extra>") for part in PARTS]
    figure = look.figure(traces, look.text("ms_a_token"), "", barmode="stack")
    figure.update_yaxes(autorange="reversed", ticks="", tickfont_size=11)
    figure.update_layout(legend_traceorder="normal")
    figure.update_traces(width=0.6)
    return figure
