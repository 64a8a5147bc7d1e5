"""The charts: what is drawn is what was measured, in both languages, light and dark, and no name is markup."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from synthetic import synthetic_trace

from spec_core.breakeven import best_gamma, by_budget, predicted
from spec_core.drafters.costs import CostCurve
from spec_core.messages import LANGUAGES, catalogue
from spec_core.trace import totals
from visualizers import charts, cost_charts
from visualizers.charts import COLOURS, Look
from visualizers.comparison import METRICS, OF_TIME, STEP_COLUMNS, race, steps_csv, table

CURVE = CostCurve((0, 1, 7, 63), (1.0, 1.1, 1.5, 4.0))
TRACE = synthetic_trace(steps=8)
FIGURES = {**totals(TRACE.steps), "ms": {"draft": 1.0, "verify": 20.0, "accept": 0.5, "overhead": 0.2}, "runs": 2,
           "speedup": {"median": 1.5, "low": 1.2, "high": 1.8, "least": 1.0, "most": 2.0, "count": 4,
                       "overall": 1.5},
           "nodes_per_call": 9.0, "accepted_share": 0.2, "hit_rate": 0.9, "depth": 4.0}
PLAIN = FIGURES | {"speedup": None, "accepted_share": None, "drafted": 0, "acceptance_by_depth": [],
                   "tokens_per_call": 1.0, "tokens_per_second": 1.0, "hit_rate": 0.0}
HOSTILE = '<a href="javascript:alert(1)">x</a>'


def all_figures(name: str = "rest", look: Look = Look()):
    lanes = [("none", PLAIN), (name, FIGURES), ("broken", None)]
    return {
        "tokens": charts.tokens_along([("none", None), (name, TRACE)], look),
        "depth": charts.acceptance_by_depth(lanes, look),
        "split": charts.time_split(lanes, look),
        "cost": cost_charts.cost_curve(CURVE, look),
        "break_even": cost_charts.break_even(0.8, 5, 0.1, CURVE, [(1, name, 4.0, FIGURES["speedup"])], look),
        "budget": cost_charts.tree_budget([(1, name, by_budget([TRACE], CURVE))], look),
        "sweep": cost_charts.sweep("budget", [(4, PLAIN | {"speedup": FIGURES["speedup"] | {"overall": 1.1}}), (8, FIGURES),
                                              (16, None)], look),
    }


def test_tokens_along_the_output_are_those_of_the_steps():
    trace, = all_figures()["tokens"].data
    counts = [len(step.committed.ids) for step in TRACE.steps]
    assert list(trace.y[:-1]) == counts and trace.x[-1] == sum(counts) and trace.line.shape == "hv"


def test_acceptance_and_time_are_those_of_the_figures():
    figures = all_figures()
    assert list(figures["depth"].data[0].y) == FIGURES["acceptance_by_depth"]
    assert {trace.name: list(trace.x) for trace in figures["split"].data}["verify"] == [20.0, 20.0]
    assert list(figures["split"].data[0].y) == ["none", "rest"], "a lane without figures has no bar"


def test_the_cost_curve_shows_what_was_measured():
    line, dots, _ = all_figures()["cost"].data
    assert list(dots.x) == list(CURVE.nodes) and list(dots.y) == list(CURVE.costs) and len(line.x) == 64


def test_break_even_shows_prediction_recommendation_and_the_measured_lane():
    line, _, best, chosen, measured = all_figures()["break_even"].data
    assert list(line.y) == [predicted(0.8, gamma, 0.1, CURVE) for gamma in range(33)]
    assert best.x == (best_gamma(0.8, 0.1, CURVE),) and best.y[0] == max(line.y)
    assert (chosen.x, chosen.y) == ((5,), (line.y[5],))
    assert (measured.x, measured.y, measured.error_y.array[0]) == ((4.0,), (1.5,), pytest.approx(0.3))


def test_stars_that_lie_close_keep_their_numbers_apart():
    stars = [trace for trace in cost_charts.tree_budget([(1, "rest", [(4, 1.2), (8, 1.40)]), (2, "fusion", [(4, 1.41), (8, 1.3)])]).data
             if trace.mode == "markers+text"]
    assert [(star.text[0], star.textposition) for star in stars] == [("8", "bottom center"), ("4", "top center")]
    assert len({star.marker.line.color for star in stars}) == 2, "a star tells its lane"
    same = cost_charts.tree_budget([(1, "rest", [(0, 1.0)]), (2, "fusion", [(0, 1.0)])]).data
    assert [trace.text[0] for trace in same if trace.mode == "markers+text"] == ["0", ""]


def test_a_sweep_marks_the_measured_optimum():
    speed, calls, star = all_figures()["sweep"].data
    assert list(speed.x) == [4, 8] and list(speed.y) == [1.1, 1.5] and (star.x, star.y) == ((8,), (1.5,))
    words = cost_charts.sweep("schedule", [("fixed", FIGURES), ("heuristic", None)])
    assert words.layout.xaxis.type == "category" and cost_charts.best_value([("a", None)]) is None
    assert cost_charts.sweep("budget", [(4, None)]).data[0].x == ()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dark", [False, True])
def test_every_chart_speaks_and_fits_light_and_dark(language: str, dark: bool):
    look = Look(language, dark)
    said = {text.replace("{{", "{").replace("}}", "}") for text in catalogue(language, "compare").values()}
    for name, figure in all_figures(look=look).items():
        assert figure.layout.font.color == look.ink and figure.layout.paper_bgcolor == "rgba(0,0,0,0)", name
        for title in (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text):
            assert not title or title in said or title == "budget", f"{name}: {title}"
        json.loads(figure.to_json())


def test_names_are_never_markup():
    for name, figure in all_figures(HOSTILE).items():
        assert HOSTILE not in figure.to_json().replace('\\"', '"'), name
        assert "<a " not in figure.to_json() and "\\u003ca " not in figure.to_json(), name


def contrast(first: str, second: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((light(first), light(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_lanes_differ_in_more_than_colour_and_words_are_readable():
    styles = [Look().style(lane) for lane in range(5)]
    for one, other in combinations(styles, 2):
        assert one["line"]["dash"] != other["line"]["dash"] and one["marker"]["symbol"] != other["marker"]["symbol"]
    assert len(set(COLOURS)) == 5
    assert contrast(Look().ink, "#ffffff") > 7 and contrast(Look(dark=True).ink, "#191c20") > 7


def test_lanes_have_the_colours_of_the_page_s_swatches_light_and_dark():
    css = (Path(charts.__file__).parent.parent / "ui" / "web" / "compare.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--lane-(\d): (#[0-9a-f]{6})", rule[1]))
                   for rule in (re.search(r"^\.lab-compare \{([^}]*)\}", css, re.M), re.search(r"^\.dark \.lab-compare \{([^}]*)\}", css, re.M)))
    for look, swatches in ((Look(), light), (Look(dark=True), light | dark)):
        for lane in range(5):
            style = look.style(lane)
            assert style["line"]["color"] == style["marker"]["color"] == swatches[str(lane)]
            assert contrast(swatches[str(lane)], "#191c20" if look.dark else "#ffffff") > 2.5
    changed = {light[lane] for lane in dark}
    for name, figure in all_figures(look=Look(dark=True)).items():
        if name == "split":
            continue  # its bars are parts of a step, not lanes
        lines = [colour for trace in figure.data if trace.type == "scatter" for colour in re.findall(r"#[0-9a-f]{6}", str(trace))]
        assert lines and changed.isdisjoint(lines), f"{name} keeps the light page's colours"


# --- table, race, files ---------------------------------------------------------------


def test_the_table_marks_the_best_of_each_row():
    rows = {row["metric"]: row for row in table([PLAIN, FIGURES, None])}
    assert rows.keys() == METRICS.keys()
    assert rows["tokens_per_call"]["best"] == [False, True, False] and rows["tokens_per_call"]["values"][2] is None
    assert table([FIGURES, FIGURES, PLAIN])[2]["best"] == [True, True, False], "equals share the mark"
    assert not any(rows["speedup"]["best"]), "one lane alone is not the best of anything"
    assert not any(rows["nodes_per_call"]["best"] + rows["runs"]["best"])


def of_time(per_second: float, overall: float | None, low: float = 0.0, high: float = 0.0, ms: float | None = None):
    speedup = overall and {"overall": overall, "low": low, "high": high, "median": overall}
    return FIGURES | {"tokens_per_second": per_second, "speedup": speedup, "ms": {"verify": ms or 1000 / per_second}}


@pytest.mark.parametrize("lanes, fastest", [
    ([of_time(10, None), of_time(15, 1.5, 1.4, 1.6), of_time(12, 1.2, 1.1, 1.3)], 1),
    ([of_time(10, None), of_time(9, 0.9, 0.8, 0.95), of_time(8, 0.8, 0.7, 0.9)], 0),
    ([of_time(10, None), of_time(15, 1.5, 1.2, 1.6), of_time(14, 1.4, 1.1, 1.5)], None),  # the ranges overlap
    ([of_time(10, None), of_time(15, 1.5, 0.9, 1.6), of_time(9, 0.9, 0.8, 0.95)], None),  # not told from plain decoding
    ([of_time(10, None), of_time(15, 1.5, 1.4, 1.6, ms=90), of_time(12, 1.2, 1.1, 1.3)], None),  # the rows disagree
    ([of_time(10, None), of_time(9, 1.5, 1.4, 1.6), of_time(8, 1.2, 1.1, 1.3)], None),
    ([None, None], None), ([of_time(10, None), None], None),
])
def test_rows_that_say_which_lane_is_the_fastest_never_contradict_one_another(lanes, fastest):
    for row in table(lanes):
        if row["metric"] in OF_TIME:
            known = sum(value is not None for value in row["values"])
            assert row["best"] == [i == fastest and known > 1 and row["values"][i] is not None for i in range(len(lanes))], row


def test_every_metric_is_defined_in_every_language():
    for language in LANGUAGES:
        for metric in METRICS:
            assert catalogue(language)[f"compare.metric.{metric}.about"]


def test_the_race_is_the_recorded_time():
    lane = race(TRACE)
    assert lane["ends"] == sorted(lane["ends"]) and len(lane["ends"]) == 8
    assert lane["ends"][-1] == pytest.approx(sum(TRACE.totals["ms"].values()), abs=0.01)
    assert [len(kinds) for kinds in lane["kinds"]] == [len(step.committed.ids) for step in TRACE.steps]
    assert set("".join(lane["kinds"])) <= set("arb") and race(None) is None


def test_steps_as_csv():
    trace = synthetic_trace(steps=5)
    trace.steps[0].committed.pieces = ["=1+1", ',"\n']
    rows = list(csv.reader(io.StringIO(steps_csv(trace))))
    assert tuple(rows[0]) == STEP_COLUMNS and len(rows) == 6
    assert [int(row[4]) for row in rows[1:]] == [len(step.committed.ids) for step in trace.steps]
    assert rows[1][-1] == "'=1+1,\"\n", "a spreadsheet would compute it"
    assert not re.search(r"^[=+@-]", rows[1][-1])
