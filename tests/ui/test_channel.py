"""What a page sends may be anything: the server functions judge it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from fakes import FakeLab, fake_trace, run_coroutine
from spec_core.lab import Request
from ui import bundled
from ui.channel import GONE, server_functions
from ui.run import Run
from ui.runs import Bounds, Runs


@pytest.fixture
def runs() -> Runs:
    return Runs(FakeLab(steps=1000, step_seconds=0.01), lambda step: {"index": step.index}, lambda run: {},
                library=bundled.load, bounds=Bounds(abandoned_after=60.0))


@pytest.fixture
def functions(runs: Runs) -> dict[str, Any]:
    return {function.__name__: function for function in server_functions(runs)}


@pytest.fixture
def run(runs: Runs):
    run = runs.start(Request(prompt="x"), "hand")
    yield run
    runs.control(run, "stop")


def call(function: Any, data: Any) -> Any:
    answer = function(data)
    return run_coroutine(answer) if asyncio.iscoroutine(answer) else answer


@pytest.mark.parametrize("data", [None, 3, "x", [], {}, {"run": 5}, {"run": "nowhere", "after": "x"},
                                  {"run": "bundled-../../../etc/passwd"}, {"run": "../x", "follower": ["y"]}])
def test_nonsense_is_answered_calmly(functions: dict[str, Any], data: Any):
    for name in ("changes", "control", "trace"):
        assert call(functions[name], data) == GONE
    assert call(functions["leave"], data) == {}
    assert "problem" in call(functions["open_trace"], data)


def test_only_who_started_a_run_controls_it(functions: dict[str, Any], run: Run):
    for key in ("", "guess", None):
        functions["control"]({"run": run.id, "key": key, "action": "stop"})
    assert not run.stop_wanted
    functions["control"]({"run": run.id, "key": run.key, "action": "nonsense"})
    functions["control"]({"run": run.id, "key": run.key, "action": "pace", "pace": "nonsense"})
    assert run.pace == "hand"
    functions["control"]({"run": run.id, "key": run.key, "action": "stop"})
    assert run.stop_wanted


def test_no_answer_gives_the_key_away(functions: dict[str, Any], run: Run):
    answer = call(functions["changes"], {"run": run.id, "follower": "a"})
    assert run.key not in answer.body.decode()


@pytest.mark.parametrize("numbers", [{"after": -5}, {"after": 10**9}, {"version": -1}, {"after": True}])
def test_odd_positions_are_answered(runs: Runs, functions: dict[str, Any], numbers: dict[str, int]):
    kept = runs.add(fake_trace(3))
    answer = json.loads(call(functions["changes"], {"run": kept.id, "follower": "a", **numbers}).body)
    assert answer["total"] == 3 and 0 <= answer["first"] <= 3


@pytest.mark.parametrize(("text", "key"), [
    ("", "trace.empty"), ("{", "trace.cut_off"), ("[" * 100_000, "trace.not_json"), ("{}", "trace.other_format"),
    ('{"format": "speculation-trace", "version": 2}', "trace.newer"),
    ('{"format": "speculation-trace", "version": 1, "run": 5}', "trace.broken"),
])
def test_a_broken_trace_gives_a_sentence(functions: dict[str, Any], text: str, key: str):
    problem = functions["open_trace"]({"name": "x.json", "text": text})["problem"]
    assert problem["key"] == key and problem["en"] != problem["zh"]


def test_a_trace_goes_in_and_out_unchanged(functions: dict[str, Any]):
    text = json.dumps(fake_trace(4).to_json())
    opened = functions["open_trace"]({"name": "x.json", "text": text})
    assert json.loads(functions["trace"](opened)["text"]) == json.loads(text)


def test_half_a_character_of_a_trace_does_not_break_the_answer(runs: Runs, functions: dict[str, Any]):
    trace = fake_trace(2).to_json()
    trace["run"]["prompt_pieces"] = ["\ud800"]
    text = json.dumps(trace)
    opened = functions["open_trace"]({"name": "x.json", "text": text})
    assert json.loads(call(functions["changes"], {**opened, "follower": "a"}).body)["total"] == 2
    functions["trace"](opened)["text"].encode()
    trace["stop"] = "\ud800"
    problem = functions["open_trace"]({"name": "x.json", "text": json.dumps(trace)})["problem"]
    json.dumps(problem, ensure_ascii=False).encode()
