"""The run registry: line, pause, step, stop, followers, bounds, errors."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

import pytest

from fakes import FakeLab, fake_trace, run_coroutine
from spec_core.lab import Request
from spec_core.messages import UserError
from ui.run import BATCH_BYTES, BATCH_STEPS, Run
from ui.runs import Bounds, Runs

PATIENT = Bounds(abandoned_after=60.0)


def registry(lab: FakeLab, bounds: Bounds = PATIENT, **arguments) -> Runs:
    return Runs(lab, lambda step: {"index": step.index}, lambda run: {"prompt": run["prompt"]}, bounds=bounds,
                **arguments)


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def fetch(runs: Runs, run: Run, after: int = 0, version: int = 0, opened: bool = False, timeout: float = 2.0,
          follower: str = "a") -> dict:
    body = run_coroutine(runs.changes(run.id, follower, after, version, opened, timeout))
    return None if body is None else json.loads(body)


def start(runs: Runs, prompt: str = "x", pace: str = "full") -> Run:
    return runs.start(Request(prompt=prompt), pace)


def test_a_run_goes_from_the_line_to_its_end():
    runs = registry(FakeLab(steps=3))
    run = start(runs)
    until(lambda: run.over)
    answer = fetch(runs, run)
    assert [step["index"] for step in answer["steps"]] == [0, 1, 2]
    assert answer["status"]["state"] == "finished" and answer["status"]["stop"] == "length"
    assert answer["run"] == {"prompt": "x"}


def test_the_head_and_each_step_are_sent_once():
    runs = registry(FakeLab(steps=3))
    run = start(runs)
    until(lambda: run.over)
    first = fetch(runs, run)
    again = fetch(runs, run, after=3, version=first["version"], opened=True, timeout=0.05)
    assert again["steps"] == [] and again["run"] is None


def test_one_computes_and_the_others_see_their_place():
    lab = FakeLab(steps=2)
    lab.gate.clear()
    runs = registry(lab)
    first, second, third = (start(runs) for _ in range(3))
    until(lambda: first.state == "running")
    assert (second.state, second.queue_position) == ("queued", 1)
    assert (third.state, third.queue_position) == ("queued", 2)
    lab.gate.set()
    until(lambda: third.over)
    assert [run.total for run in (first, second, third)] == [2, 2, 2]


def test_a_full_line_is_said():
    lab = FakeLab()
    lab.gate.clear()
    runs = registry(lab, Bounds(queue=1, abandoned_after=60.0))
    first = start(runs)
    until(lambda: first.state == "running")
    start(runs)
    with pytest.raises(UserError) as error:
        start(runs)
    assert error.value.key == "run.queue_full"
    lab.gate.set()


def test_pause_step_and_resume():
    runs = registry(FakeLab(steps=50, step_seconds=0.01))
    run = start(runs)
    until(lambda: run.total >= 2)
    runs.control(run, "pause")
    until(lambda: run.state == "paused")
    made = run.total
    time.sleep(0.1)
    assert run.total == made
    runs.control(run, "step")
    until(lambda: run.total == made + 1 and run.state == "paused")
    runs.control(run, "resume")
    until(lambda: run.state == "finished")
    assert run.total == 50


def test_a_run_by_hand_goes_on_when_another_pace_is_chosen():
    runs = registry(FakeLab(steps=20))
    run = start(runs, pace="hand")
    until(lambda: run.state == "paused")
    runs.control(run, "step")
    until(lambda: run.total == 1 and run.state == "paused")
    runs.control(run, "pace", "full")
    until(lambda: run.state == "finished")


def test_a_paused_run_stays_paused_at_another_pace_until_it_goes_by_hand():
    runs = registry(FakeLab(steps=500, step_seconds=0.005))
    run = start(runs)
    runs.control(run, "pause")
    until(lambda: run.state == "paused")
    made = run.total
    runs.control(run, "pace", "second")
    time.sleep(0.1)
    assert run.state == "paused" and run.total == made
    runs.control(run, "pace", "hand")
    runs.control(run, "pace", "full")
    until(lambda: run.total > made)
    runs.control(run, "stop")


def test_a_run_in_line_knows_that_a_paused_one_holds_the_device():
    runs = registry(FakeLab(steps=500, step_seconds=0.005), Bounds(abandoned_after=60.0, give_way_after=90.0))
    first = start(runs)
    until(lambda: first.total >= 1)
    second = start(runs)
    assert second.status()["gives_way_after"] is None
    runs.control(first, "pause")
    until(lambda: second.status()["gives_way_after"] == 2)
    third = start(runs)
    assert third.status()["gives_way_after"] == 2
    runs.control(first, "resume")
    until(lambda: second.status()["gives_way_after"] is third.status()["gives_way_after"] is None)
    for run in (third, second, first):
        runs.control(run, "stop")


def test_a_step_asked_for_while_running_pauses_after_it():
    runs = registry(FakeLab(steps=500, step_seconds=0.005))
    run = start(runs)
    until(lambda: run.total >= 1)
    runs.control(run, "step")
    until(lambda: run.state == "paused")
    runs.control(run, "stop")
    until(lambda: run.state == "stopped")


def test_by_hand_waits_before_the_first_step():
    runs = registry(FakeLab(steps=3))
    run = start(runs, pace="hand")
    until(lambda: run.state == "paused")
    assert run.total == 0 and run.trace is not None
    for made in (1, 2, 3):
        runs.control(run, "step")
        until(lambda made=made: run.total == made)
    runs.control(run, "step")
    until(lambda: run.state == "finished")


def test_the_pace_changes_during_the_run():
    runs = registry(FakeLab(steps=400, step_seconds=0.002))
    run = start(runs, pace="second")
    until(lambda: run.total == 1)
    time.sleep(0.2)
    assert run.total == 1
    runs.control(run, "pace", "full")
    until(lambda: run.state == "finished")


def test_stop_ends_the_work_within_one_step():
    lab = FakeLab(steps=1000, step_seconds=0.01)
    runs = registry(lab)
    run = start(runs)
    until(lambda: run.total >= 3)
    made = run.total
    runs.control(run, "stop")
    until(lambda: run.state == "stopped")
    assert run.total <= made + 2 and lab.closed == 1 and run.error is None


@pytest.mark.parametrize("state", ["queued", "loading", "paused"])
def test_stop_ends_a_run_that_does_not_step(state: str):
    lab = FakeLab(steps=1000, step_seconds=0.01, load_seconds=30.0 if state != "paused" else 0.0)
    runs = registry(lab)
    run = start(runs, pace="hand" if state == "paused" else "full")
    if state == "queued":
        blocker, run = run, start(runs)
    until(lambda: run.state == state)
    runs.control(run, "stop")
    until(lambda: run.state == "stopped", seconds=1.0)
    if state == "queued":
        runs.control(blocker, "stop")
        until(lambda: blocker.over)


def test_a_run_that_nobody_follows_any_more_is_stopped():
    runs = registry(FakeLab(steps=10_000, step_seconds=0.01), Bounds(abandoned_after=0.3))
    run = start(runs)
    fetch(runs, run)
    until(lambda: run.state == "stopped", seconds=3.0)
    assert run.total < 200 and run.error.key == "run.abandoned"


def test_a_closed_page_halts_the_run_at_once_and_a_reload_goes_on():
    runs = registry(FakeLab(steps=10_000, step_seconds=0.01), Bounds(abandoned_after=5.0))
    run = start(runs)
    fetch(runs, run, follower="tab")
    until(lambda: run.total >= 2)
    run.leave("tab")
    time.sleep(0.05)
    made = run.total
    time.sleep(0.2)
    assert run.total == made and not run.over
    fetch(runs, run, follower="the reloaded tab")
    until(lambda: run.total > made)
    runs.control(run, "stop")


def test_one_of_two_followers_may_go():
    runs = registry(FakeLab(steps=10_000, step_seconds=0.01))
    run = start(runs)
    fetch(runs, run, follower="teacher")
    fetch(runs, run, follower="pupil")
    run.leave("pupil")
    assert not run.held
    runs.control(run, "stop")


def test_followers_wait_without_threads_and_are_woken_by_a_step():
    lab = FakeLab(steps=1)
    lab.gate.clear()
    runs = registry(lab)
    run = start(runs)
    until(lambda: run.state == "running")

    async def follow() -> tuple[list[dict], float]:
        version = run.version
        waiting = [asyncio.create_task(runs.changes(run.id, str(i), 0, version, True, 5.0)) for i in range(50)]
        await asyncio.sleep(0.2)
        assert not any(task.done() for task in waiting)
        began = time.monotonic()
        lab.gate.set()
        return [json.loads(body) for body in await asyncio.gather(*waiting)], time.monotonic() - began

    answers, seconds = run_coroutine(follow())
    assert all(len(answer["steps"]) == 1 for answer in answers)
    assert seconds < 1.0


def test_attaching_to_a_long_run_streams_in_pieces():
    runs = registry(FakeLab())
    run = runs.add(fake_trace(3 * BATCH_STEPS + 1))
    got: list[int] = []
    while len(got) < run.total:
        answer = fetch(runs, run, after=len(got))
        assert 0 < len(answer["steps"]) <= BATCH_STEPS
        got += [step["index"] for step in answer["steps"]]
    assert got == list(range(run.total))


def test_a_piece_is_bounded_in_bytes():
    runs = Runs(FakeLab(), lambda step: {"index": step.index, "text": "x" * BATCH_BYTES}, lambda run: {})
    answer = fetch(runs, runs.add(fake_trace(3)))
    assert len(answer["steps"]) == 1


def test_bytes_do_not_grow_with_the_steps_number():
    runs = registry(FakeLab(steps=200))
    run = start(runs)
    until(lambda: run.over)
    run.state = "running"  # the sizes while it ran
    sizes = [len(run_coroutine(runs.changes(run.id, "a", after, 0, True, 0))) for after in (100, 168)]
    assert abs(sizes[0] - sizes[1]) < 8


def test_old_runs_go_first_and_unfinished_ones_stay():
    lab = FakeLab(steps=1)
    runs = registry(lab, Bounds(kept=3, abandoned_after=60.0))
    finished = [start(runs) for _ in range(3)]
    until(lambda: all(run.over for run in finished))
    lab.gate.clear()
    unfinished = start(runs)
    extra = runs.add(fake_trace(1))
    assert runs.get(finished[0].id) is None and runs.get(finished[1].id) is None
    assert runs.get(unfinished.id) is unfinished and runs.get(extra.id) is extra
    assert fetch(runs, finished[0]) is None
    lab.gate.set()


def test_steps_are_bounded():
    runs = registry(FakeLab(steps=1000), Bounds(steps=7, abandoned_after=60.0))
    run = start(runs)
    until(lambda: run.over)
    assert run.total == 7 and run.error.key == "run.too_many_steps"


def test_a_mistake_of_the_user_is_a_sentence_in_each_language():
    lab = FakeLab()
    lab.fails_at, lab.failure = 1, UserError("request.prompt_empty")
    runs = registry(lab)
    run = start(runs)
    until(lambda: run.over)
    error = fetch(runs, run)["status"]["error"]
    assert error["key"] == "request.prompt_empty" and error["en"] != error["zh"]


def test_a_fault_of_the_lab_goes_to_the_log_only(caplog: pytest.LogCaptureFixture):
    lab = FakeLab()
    lab.fails_at = 2
    runs = registry(lab)
    run = start(runs)
    until(lambda: run.over)
    answer = fetch(runs, run)
    assert answer["status"]["state"] == "error" and len(answer["steps"]) == 2
    assert "/home/somebody" not in json.dumps(answer) and "/home/somebody" in caplog.text
    following = start(runs)  # the worker lives on
    lab.fails_at = None
    until(lambda: following.state == "finished")


def test_bad_input_is_refused_before_the_line():
    with pytest.raises(UserError):
        start(registry(FakeLab()), prompt="")


def test_a_paused_run_gives_way_in_the_end():
    runs = registry(FakeLab(steps=2), Bounds(give_way_after=0.2, abandoned_after=60.0))
    paused = start(runs, pace="hand")
    until(lambda: paused.state == "paused")
    other = start(runs)
    until(lambda: other.state == "finished")
    assert paused.state == "stopped" and paused.error.key == "run.gave_way"


def test_the_library_is_asked_for_unknown_runs():
    runs = registry(FakeLab(), library=lambda run_id: fake_trace(2) if run_id == "bundled-x" else None)
    assert runs.get("bundled-x").total == 2 and runs.get("bundled-x") is runs.get("bundled-x")
    assert runs.get("other") is None


def test_a_brought_trace_is_shown_or_refused():
    good = json.dumps(fake_trace(3).to_json())
    runs = registry(FakeLab())
    first = runs.add_foreign(good)
    assert first.total == 3
    assert runs.add_foreign(json.dumps(fake_trace(3).to_json(), indent=1)) is first, "the same run again"
    assert runs.add_foreign(json.dumps(fake_trace(2).to_json())) is not first
    with pytest.raises(UserError) as error:
        runs.add_foreign("{}")
    assert error.value.key == "trace.other_format"

    def hostile(step):
        raise KeyError("details")

    with pytest.raises(UserError) as error:
        Runs(FakeLab(), hostile, lambda run: {}).add_foreign(good)
    assert error.value.key == "replay.not_drawable"


def test_a_step_that_cannot_be_drawn_ends_the_run_with_an_error():
    def broken(step):
        if step.index == 2:
            raise KeyError("pieces")
        return {"index": step.index}

    runs = Runs(FakeLab(steps=5), broken, lambda run: {}, bounds=PATIENT)
    run = start(runs)
    until(lambda: run.over)
    answer = fetch(runs, run)
    assert answer["status"]["state"] == "error" and len(answer["steps"]) == answer["total"] == 2
