"""Comparisons beside runs on one device; what the page may ask for, and what it is answered."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import replace

import gradio as gr
import pytest

from fakes import FakeLab, run_coroutine
from spec_core.compare import Comparison
from spec_core.drafters import KINDS
from spec_core.drafters.costs import CostCurve
from spec_core.lab import Request, check
from spec_core.messages import LANGUAGES, UserError, catalogue
from ui import compare
from ui.comparisons import ComparisonJob, Comparisons, export
from ui.form import Defaults
from ui.runs import Bounds, Runs

DEFAULTS = Defaults("smollm2-135m", 64)
CURVE = CostCurve((0, 1, 63), (1.0, 1.1, 3.0))
ASKED = {"common": {"target": "smollm2-135m", "max_new_tokens": 8, "seed": 1}, "prompts": "a\n---\nb", "repetitions": 2,
         "lanes": [{"drafter": "prompt-lookup", "settings": {"length": 4}}, {"drafter": "context"}]}


class DecodingLab(FakeLab):
    """Its plain decoding gives the tokens of its other drafters, one a step."""

    def prepare(self, request, progress, cancelled):
        generation = super().prepare(request, progress, cancelled)
        make = generation.steps
        generation.trace.run = generation.trace.run | {"acceptance": {"rule": "one-draw", "lossless": True, "temperature": 0.0}}

        def steps():
            for step in make():
                generation.trace.output_ids.extend(step.committed.ids)
                yield step

        generation.steps = steps
        return generation


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch):
    """(lab, runs, comparisons) without a model."""
    lab = DecodingLab(steps=3)
    monkeypatch.setattr("ui.comparisons.cost_curve", lambda target: CURVE)
    runs = Runs(lab, lambda step: {"index": step.index}, lambda run: {}, bounds=Bounds(abandoned_after=60.0, queue=2))
    return lab, runs, Comparisons(runs, target=lambda request: None)


def begin(place, repetitions: int = 2, requests=(Request("", drafter="context"),)) -> ComparisonJob:
    lab, _, comparisons = place
    return comparisons.start(Comparison(list(requests), ["a", "b"], repetitions, lambda: lab.prepare))


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def status(job: ComparisonJob) -> dict:
    return json.loads(job.answer())["status"]


# --- the job ----------------------------------------------------------------------------


def test_a_comparison_goes_from_the_line_to_its_figures(place):
    job = begin(place)
    until(lambda: job.over)
    said = status(job)
    assert said["state"] == "finished" and said["costs"] and said["standing"] is None
    assert [lane["plain"] for lane in said["lanes"]] == [True, False]
    assert said["lanes"][1]["figures"]["runs"] == 4 and said["lanes"][1]["compared"] == 4
    assert said["lanes"][1]["divergence"] is None
    assert {row["metric"] for row in said["table"]} >= {"tokens_per_second", "speedup", "hit_rate"}


def test_runs_and_comparisons_never_compute_at_once(place):
    lab, runs, _ = place
    lab.gate.clear()
    run = runs.start(Request("x"))
    until(lambda: run.state == "running")
    job = begin(place)
    assert job.state == "queued" and job.queue_position == 1
    later = runs.start(Request("y"))
    assert later.queue_position == 2
    with pytest.raises(UserError) as caught:
        begin(place)
    assert caught.value.key == "run.queue_full"
    lab.gate.set()
    until(lambda: job.over and later.over)
    assert job.state == later.state == "finished"


def test_a_paused_run_gives_way_to_a_comparison(monkeypatch):
    lab = DecodingLab(steps=50, step_seconds=0.002)
    monkeypatch.setattr("ui.comparisons.cost_curve", lambda target: CURVE)
    runs = Runs(lab, lambda step: {}, lambda run: {}, bounds=Bounds(abandoned_after=60.0, give_way_after=0.05))
    run = runs.start(Request("x"))
    until(lambda: run.state == "running")
    runs.control(run, "pause")
    until(lambda: run.state == "paused")
    job = begin((lab, runs, Comparisons(runs, target=lambda request: None)), repetitions=1)
    until(lambda: job.over, 30)
    assert run.error.key == "run.gave_way" and job.state == "finished"


def test_stopping_keeps_what_is_measured(place):
    lab, runs, comparisons = place
    lab.step_seconds = 0.02
    job = begin(place, repetitions=20)
    until(lambda: len(job.comparison.lanes[1].runs) >= 2)
    runs.stop(job)
    until(lambda: job.over)
    said = status(job)
    assert said["state"] == "stopped" and said["error"] is None and said["costs"]
    assert 2 <= said["lanes"][1]["figures"]["runs"] < 40


def test_one_that_waits_is_stopped_at_once(place):
    lab, runs, _ = place
    lab.gate.clear()
    run, job = runs.start(Request("x")), None
    until(lambda: run.state == "running")
    job = begin(place)
    runs.stop(job)
    assert job.state == "stopped"
    lab.gate.set()
    until(lambda: run.over)
    assert status(job)["lanes"][1]["figures"] is None


def test_nobody_who_follows_ends_it(monkeypatch):
    lab = DecodingLab(steps=50, step_seconds=0.01)
    monkeypatch.setattr("ui.comparisons.cost_curve", lambda target: CURVE)
    runs = Runs(lab, lambda step: {}, lambda run: {}, bounds=Bounds(abandoned_after=0.1))
    job = begin((lab, runs, Comparisons(runs, target=lambda request: None)), repetitions=20)
    until(lambda: job.over)
    assert job.state == "stopped" and job.error.key == "run.abandoned"


def test_a_lane_that_fails_says_so_in_its_lane_and_hides_what_is_inside(place):
    lab, _, _ = place
    made = lab.prepare

    def prepare(request, progress, cancelled):
        if request.drafter == "rest":
            raise UserError("datastore.unknown", name="x", known="y")
        if request.drafter == "suffix":
            raise RuntimeError("secret path /home/somebody")
        return made(request, progress, cancelled)

    lab.prepare = prepare
    job = begin(place, 1, [Request("", drafter=name) for name in ("rest", "context", "suffix")])
    until(lambda: job.over)
    plain, rest, context, suffix = status(job)["lanes"]
    assert rest["error"]["key"] == "datastore.unknown" and rest["error"]["zh"] and rest["figures"] is None
    assert suffix["error"]["key"] == "run.failed" and "secret" not in job.answer().decode()
    assert plain["error"] is context["error"] is None and context["figures"]["runs"] == 2


def test_where_every_lane_fails_it_still_ends(place):
    lab, _, _ = place
    lab.prepare = lambda *arguments: (_ for _ in ()).throw(UserError("model.unknown", name="x", known="y"))
    job = begin(place)
    until(lambda: job.over)
    assert job.state == "finished" and all(lane["error"]["key"] == "model.unknown" for lane in status(job)["lanes"])


def test_the_oldest_comparisons_go_first(place):
    _, _, comparisons = place
    jobs = []
    for _ in range(20):
        jobs.append(begin(place, 1))
        until(lambda: jobs[-1].over)
    assert comparisons.get(jobs[0].id) is None and comparisons.get(jobs[-1].id) is jobs[-1]


def test_the_export_holds_every_trace(place):
    job = begin(place)
    until(lambda: job.over)
    data = json.loads(export(job))
    assert data["format"] == "speculation-comparison" and len(data["lanes"][1]["runs"]) == 4
    for lane in data["lanes"]:
        for run in lane["runs"]:
            assert len(run["trace"]["steps"]) == 3


# --- what a page asks for -----------------------------------------------------------------


def test_a_page_s_request_becomes_lanes():
    comparison, swept, _ = compare.read_request(ASKED, DEFAULTS)
    assert [lane.name for lane in comparison.lanes] == ["plain", "prompt-lookup length=4", "context"]
    assert comparison.prompts == ["a", "b"] and comparison.repetitions == 2 and swept is None
    assert all(lane.request.seed == 1 for lane in comparison.lanes)


def test_a_page_s_sweep_becomes_lanes():
    comparison, swept, _ = compare.read_request(
        ASKED | {"sweep": {"setting": "length", "values": "2, 4，8"}}, DEFAULTS)
    assert swept == ("length", [2, 4, 8])
    assert [lane.request.drafter_settings.get("length") for lane in comparison.lanes] == [None, 2, 4, 8]


OTHERWISE = {"target": "gemma3-270m", "chat": True, "dtype": "float32", "max_new_tokens": 7, "temperature": 0.5, "top_k": 9,
             "top_p": 0.25, "repetition_penalty": 1.5, "seed": 3}
"""Nothing of it is what a form begins with."""


@pytest.mark.parametrize("change", [
    {}, {"common": OTHERWISE}, {"prompts": ["a", "b\n"]}, {"repetitions": 3},
    *({"lanes": [{"drafter": name, "datastore": "mine", "settings": {
        setting: described.get("least", described["default"]) for setting, described in kind["settings"].items()}}]}
      for name, kind in compare.offer(DEFAULTS)["kinds"].items()),
    {"lanes": [{"drafter": "suffix"}, {"drafter": "rest", "rule": "one-draw"}, {"drafter": "draft-model", "draft_model": "smollm2-135m"}]},
    {"sweep": {"setting": "length", "values": "2, 8"}},
    {"sweep": {"setting": "temperature", "values": "0，0.5"}, "common": OTHERWISE},
    {"lanes": [{"drafter": "multi-candidate"}], "sweep": {"setting": "shape", "values": "2x2, 3"}},
])
def test_what_was_asked_is_kept_and_asks_for_the_same_again(monkeypatch, place, change):
    monkeypatch.setattr(place[1], "enqueue", lambda job, work: None)  # nothing is to be measured
    comparison, sweep, asked = compare.read_request(ASKED | change, DEFAULTS)
    job = place[2].start(comparison, sweep, asked)
    kept = body(functions(place)["asked"]({"run": job.id}))
    again, sweep_again, asked_again = compare.read_request(kept, DEFAULTS)
    assert asked_again == kept == asked and sweep_again == sweep
    for one, other in zip(again.lanes, comparison.lanes, strict=True):
        assert check(replace(one.request, prompt="x")) == check(replace(other.request, prompt="x"))
        for name in ("drafter", "target", "chat", "dtype", "datastore", "draft_model", "rule"):
            assert getattr(one.request, name) == getattr(other.request, name)
    assert (again.prompts, again.repetitions) == (comparison.prompts, comparison.repetitions)
    given = ASKED | change
    assert all(kept["common"][name] == (value if name == "chat" else str(value)) for name, value in given["common"].items())


def test_of_an_unknown_comparison_nothing_is_known_to_have_been_asked(place):
    asked = functions(place)["asked"]
    assert asked({"run": "x"}) == asked(None) == asked({"run": begin(place).id}) == {"gone": True}


@pytest.mark.parametrize("change, key", [
    ({"prompts": " "}, "compare.no_prompts"), ({"prompts": None}, "compare.no_prompts"), ({"prompts": []}, "compare.no_prompts"),
    ({"lanes": []}, "compare.no_lanes"), ({"lanes": "x"}, "compare.no_lanes"),
    ({"lanes": [{"drafter": "oracle"}]}, "request.unknown"),
    ({"lanes": [{"x": 1}]}, "compare.unknown_part"), ({"lanes": [{"drafter": "rest", "budget": 4}]}, "compare.unknown_part"),
    ({"lanes": [{"drafter": "rest"}, 3]}, "compare.no_object"), ({"lanes": ["rest"]}, "compare.no_object"),
    ({"lanes": [{"drafter": "rest", "settings": [4]}]}, "compare.no_object"),
    ({"lanes": [{"drafter": "rest", "settings": {"colour": 4}}]}, "request.unknown_setting"),
    ({"lanes": [{"drafter": "context"}] * (compare.MOST_LANES + 1)}, "compare.count.lanes"),
    ({"common": {"target": "smollm2-135m", "temprature": 1}}, "compare.unknown_part"),
    ({"common": "smollm2-135m"}, "compare.no_object"),
    ({"sweep": {"setting": "length", "values": "4", "lane": 2}}, "compare.unknown_part"), ({"sweep": "length"}, "compare.no_object"),
    *(({"sweep": {"setting": "length", "values": f"4, {value}"}}, key) for value, key in (
        ("0x2", "request.not_a_number"), ("nan", "request.range"), ("inf", "request.range"), ("1e999", "request.range"),
        ("4.5", "request.not_whole"))),
    ({"lanes": [{"drafter": "multi-candidate"}], "sweep": {"setting": "shape", "values": "2x2, 0x2"}}, "request.shape"),
    ({"lanes": [{"drafter": "multi-candidate"}], "sweep": {"setting": "shape", "values": "1e1"}}, "request.shape"),
    ({"lanes": [{"drafter": "rest", "settings": {"budget": "many"}}]}, "request.budget"),
    ({"lanes": [{"drafter": "context", "settings": {"budget": 1e9}}]}, "request.budget"),
    ({"repetitions": 0}, "request.range"), ({"repetitions": "x"}, "request.not_a_number"),
    ({"common": {"target": " "}}, "run.no_target"),
    ({"common": {"target": "smollm2-135m", "max_new_tokens": 65}}, "run.too_many_tokens"),
    ({"common": {"target": "smollm2-135m", "temperature": "hot"}}, "request.not_a_number"),
    ({"sweep": {"setting": "length", "values": ""}}, "compare.no_values"),
    ({"sweep": {"setting": "colour", "values": "1"}}, "request.unknown_setting"),
    ({"sweep": {"setting": "length", "values": ",".join(["4"] * 30)}}, "compare.count.lanes"),
])
def test_what_a_page_should_not_ask(change, key):
    with pytest.raises(UserError) as caught:
        compare.read_request(ASKED | change, DEFAULTS)
    assert caught.value.key == key


@pytest.mark.parametrize("data", [None, 3, [], {}, {"lanes": [3]}, {"common": [], "lanes": [{}], "prompts": {}}])
def test_nonsense_is_refused_with_a_sentence(place, data):
    start = functions(place)["start"]
    assert start(data).get("problem", {}).get("en")


def test_the_page_asks_for_nothing_that_is_refused():
    """Every part that the form's script sends is one that is read."""
    offered = compare.offer(DEFAULTS)
    common = {name: offered["usual"][name] for name in compare.COMMON}
    for name, kind in offered["kinds"].items():
        lane = {"drafter": name, "datastore": "python-stdlib", "draft_model": "auto", "rule": "auto",
                "settings": {setting: described["default"] for setting, described in kind["settings"].items()}}
        comparison, *_ = compare.read_request(ASKED | {"common": common, "lanes": [lane], "sweep": None}, DEFAULTS)
        assert comparison.lanes[1].name == name


def test_no_chart_offers_an_upload():
    """plotly's own bar has a button that sends the chart away; every chart is drawn without it, by one call."""
    from pathlib import Path

    scripts = {path.name: path.read_text(encoding="utf-8") for path in (Path(compare.__file__).parent / "web").glob("*.js")}
    drawn = {name: text for name, text in scripts.items() if "Plotly." in text}
    assert set(drawn) == {"compare-charts.js"}
    text = drawn["compare-charts.js"]
    assert "displayModeBar: false" in text and text.count("Plotly.react(") == 1 and "Plotly.newPlot(" not in text
    assert "...PLOT_LOOK" in text and "sendChartToCloud" not in text and "showSendToCloud" not in text


def test_the_form_offers_every_drafter_and_every_word_of_it_exists():
    offered = compare.offer(DEFAULTS)
    assert set(offered["kinds"]) == set(KINDS) - {"none"}
    json.dumps(offered)
    for language in LANGUAGES:
        words = catalogue(language)
        for name, kind in offered["kinds"].items():
            assert f"live.drafter.choice.{name}" in words
            for setting in kind["settings"]:
                assert f"live.{name}.{setting}" in words


# --- the server functions ------------------------------------------------------------------


def functions(place) -> dict[str, Callable]:
    _, runs, comparisons = place
    found = [compare._start(comparisons, DEFAULTS), *compare._following(comparisons), *compare._pictures(comparisons),
             *compare._taking_away(comparisons), compare.read_file, compare.chart_library]
    return {function.__name__: function for function in found}


def body(response) -> dict:
    return json.loads(response.body)


def test_the_pictures_of_a_finished_comparison(place):
    job = begin(place)
    until(lambda: job.over)
    asked = {"run": job.id, "prompt": 0, "language": "zh", "dark": True}
    page = functions(place)
    lanes = page["race_of"](asked)["lanes"]
    assert len(lanes) == 2 and len(lanes[0]["ends"]) == 3
    figures = body(page["charts"](asked))
    assert figures.keys() == {"tokens", "depth", "split", "cost", "budget"}
    assert figures["depth"]["layout"]["xaxis"]["title"]["text"] == catalogue("zh")["compare.chart.depth"]
    explored = body(page["break_even"](asked | {"alpha": 0.8, "gamma": 4, "c": 0.1}))
    label = status(job)["lanes"][1]["label"]["zh"]
    assert explored["answer"]["measured"] and explored["answer"]["lanes"][0]["name"] == label == "上下文"
    for name in ("tokens", "depth", "budget"):
        assert label in [trace.get("name") for trace in figures[name]["data"]], name
    assert label in figures["split"]["data"][0]["y"]
    assert page["break_even"](asked | {"alpha": 2, "gamma": 4, "c": 0.1})["problem"]["key"] == "request.range"
    assert page["charts"]({"run": "nonsense"}) == page["race_of"](None) == {"gone": True}


def test_a_sweep_has_its_own_chart(place):
    lab, _, comparisons = place
    requests = [Request("", drafter="prompt-lookup", drafter_settings={"length": n}) for n in (2, 4)]
    job = comparisons.start(Comparison(requests, ["a"], 1, lambda: lab.prepare), ("length", [2, 4]))
    until(lambda: job.over)
    figures = body(functions(place)["charts"]({"run": job.id, "language": "en"}))
    assert figures.keys() == {"sweep", "cost"} and figures["sweep"]["data"][0]["x"] == [2, 4]
    assert figures["sweep"]["layout"]["xaxis"]["title"]["text"] == "Draft length"


def test_files_to_take_away(place):
    job = begin(place)
    until(lambda: job.over)
    page, asked = functions(place), {"run": job.id, "lane": 1, "prompt": 0}
    assert json.loads(page["take"](asked | {"what": "trace"})["text"])["format"] == "speculation-trace"
    assert page["take"](asked | {"what": "steps"})["text"].startswith("step,")
    assert page["take"](asked | {"what": "page", "language": "zh"})["text"].startswith("<!doctype html>")
    assert place[1].get(page["take"](asked | {"what": "player"})["run"]).trace.steps
    assert json.loads(page["take"](asked | {"what": "comparison"})["text"])["prompts"] == ["a", "b"]
    assert page["take"](asked | {"prompt": 9, "what": "trace"}) == {"gone": True}
    assert page["take"](asked | {"lane": -5, "what": "steps"})["text"]


def test_only_who_started_it_stops_it(place):
    lab, _, _ = place
    lab.gate.clear()
    job = begin(place)
    stop = functions(place)["stop"]
    stop({"run": job.id, "key": "guess"})
    assert not job.stop_wanted
    stop({"run": job.id, "key": job.key})
    assert job.stop_wanted
    lab.gate.set()
    until(lambda: job.over)


def test_following_answers_with_news(place):
    job = begin(place)
    until(lambda: job.over)
    page = functions(place)
    answer = body(run_coroutine(page["changes"]({"run": job.id, "follower": "a", "version": 0})))
    assert answer["status"]["state"] == "finished" and answer["version"] == job.version
    assert run_coroutine(page["changes"]({"run": "x"})) == {"gone": True}


def test_files_of_prompts():
    assert compare.read_file({"name": "p.jsonl", "text": '{"prompt": "a"}\n{"prompt": "b"}'}) == {"prompts": "a\n---\nb", "count": 2}
    many = "\n".join(['"x"'] * 65)
    assert compare.read_file({"name": "p.jsonl", "text": many})["problem"]["key"] == "compare.count.prompts"
    assert compare.read_file({"name": "p.txt", "text": "x" * (64 * 2**20 + 1)})["problem"]["key"] == "prompts.too_large"
    assert compare.read_file(None)["problem"]["key"] == "prompts.empty"
    for name in ("p.txt", "p.json", "p.jsonl"):
        utf16_without_mark = '["prompt"]'.encode("utf-16-le").decode("utf-8")
        assert compare.read_file({"name": name, "text": utf16_without_mark})["problem"]["key"] == "prompts.not_utf8"


def test_the_chart_library_comes_from_here():
    response = compare.chart_library({})
    script = json.loads(gzip.decompress(response.body))["script"]
    assert response.headers["content-encoding"] == "gzip" and "plotly.js v" in script[:200]


def test_divergences_are_shown_with_their_logits(monkeypatch, place):
    lab, _, comparisons = place
    made = lab.prepare

    def prepare(request, progress, cancelled):
        generation = made(request, progress, cancelled)
        if request.drafter == "context":
            steps = generation.steps

            def other():
                for step in steps():
                    step.committed.ids[-1] = 8
                    generation.trace.output_ids[-1] = 8
                    yield step

            generation.steps = other
        return generation

    def measured(divergence, own, target):
        divergence.plain_logit, divergence.own_logit = 2.0, 1.5

    lab.prepare = prepare
    monkeypatch.setattr("ui.comparisons.measure_logits", measured)
    job = begin(place, 1)
    until(lambda: job.over)
    found = status(job)["lanes"][1]["divergence"]
    assert (found["position"], found["plain_id"], found["own_id"], found["gap"]) == (1, 4, 8, 0.5)


def test_every_word_of_the_tab_exists():
    import re
    from pathlib import Path

    web = Path(compare.__file__).parent
    files = [*web.glob("web/compare*.js"), web / "web" / "take-away.js", web / "templates_compare.py", web / "compare.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    words = catalogue("en")
    asked = set(re.findall(r'["`\']((?:compare|prompts|take)\.[a-z_.]*[a-z_])["`\']', text))
    assert asked and all(key in words for key in asked), sorted(asked - words.keys())


def test_building_the_tab():
    runs = Runs(FakeLab(), lambda step: {}, lambda run: {})
    with gr.Blocks() as page:
        compare.build(Comparisons(runs), DEFAULTS)
    assert any(isinstance(block, gr.HTML) for block in page.blocks.values())


def test_a_run_of_any_tab_is_taken_away_and_opened_again():
    from fakes import fake_trace
    from ui.channel import server_functions
    from visualizers.views import run_view, step_view

    runs = Runs(FakeLab(), step_view, run_view)
    page = {function.__name__: function for function in server_functions(runs)}
    run = runs.add(fake_trace(4))
    files = {what: page["trace"]({"run": run.id, "what": what, "language": "zh"})["text"] for what in ("", "steps", "page")}
    assert json.loads(files[""])["format"] == "speculation-trace" and files["steps"].count("\n") == 5
    for what in ("", "page"):
        opened = page["open_trace"]({"name": "x", "text": files[what]})
        assert runs.get(opened["run"]).trace.output_ids == run.trace.output_ids and opened["title"] == "rest · import os"
    assert page["open_trace"]({"name": "x", "text": files["steps"]})["problem"]["key"] == "trace.not_json"
    newer = files["page"].replace('"version":1', '"version":9')
    assert page["open_trace"]({"name": "x", "text": newer})["problem"]["key"] == "trace.newer"


def test_every_message_of_the_tab_is_said_somewhere():
    import re
    from pathlib import Path

    root = Path(compare.__file__).parent.parent
    files = [*root.glob("ui/web/*.js"), *root.glob("ui/*.py"), *root.glob("spec_core/*.py"), *root.glob("visualizers/*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    prefixes = ("compare.metric.", "compare.state.", "compare.figure.", "compare.slider.", "compare.chart.part.",
                "compare.count.", "compare.reason.", "take.")
    for key in catalogue("en", "compare"):
        name = key.removeprefix("compare.chart.").removesuffix(".about")
        assert key.startswith(prefixes) or re.search(rf'["\'`]{re.escape(key)}["\'`]|(?:say|text)\("{re.escape(name)}"', text) \
            or f'data-say="{key}"' in text or key.removeprefix("compare.") in ("race", "table", "why", "breakeven"), key
