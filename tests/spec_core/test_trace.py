"""The trace file: a round trip, metrics by hand, and every way in which a file can be bad."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from spec_core import trace as trace_module
from spec_core.trace import Committed, Step, Trace, TraceError, TreeRecord, totals


def make_trace() -> Trace:
    tree = TreeRecord([1, 2, 3], ["a", "<script>", "⟨e4⟩"], [-1, -1, 0], [3.0, 1.0, 2.0], None,
                      [0.7, 0.1, 0.2], ["accepted", "rejected", "rejected"])
    steps = [
        Step(0, 2, tree, Committed([1, 9], ["a", "z"], ["accepted", "recovered"]), {"matched": 2}, [{"node": -1}],
             "00", {"draft": 1.0, "verify": 7.0, "accept": 1.0, "overhead": 1.0}),
        Step(1, 4, TreeRecord(), Committed([5], ["e"], ["bonus"]),
             ms={"draft": 0.0, "verify": 10.0, "accept": 0.0, "overhead": 0.0}),
    ]
    run = {"id": "x", "prompt": "hi", "prompt_ids": [4, 5], "prompt_pieces": ["h", "i"], "target": {}, "drafter": {},
           "datastore": None, "acceptance": {}, "limits": {}}
    return Trace(run, steps, [1, 9, 5], "aze", "length")


def test_round_trip(tmp_path):
    trace = make_trace()
    again = Trace.load(trace.save(tmp_path / "t.json"))
    assert again == trace
    assert list(tmp_path.iterdir()) == [tmp_path / "t.json"]


def test_unknown_keys_are_ignored():
    data = make_trace().to_json()
    data["novelty"] = data["steps"][0]["novelty"] = data["steps"][0]["tree"]["novelty"] = 1
    assert Trace.from_text(json.dumps(data)) == make_trace()


def test_totals_by_hand():
    figures = totals(make_trace().steps)
    assert figures["steps"] == 2 and figures["tokens"] == 3 and figures["tokens_per_call"] == 1.5
    assert figures["drafted"] == 3 and figures["accepted"] == 1
    assert figures["acceptance_by_depth"] == [1.0, 0.0]
    assert figures["tokens_per_second"] == pytest.approx(3 / 0.020)
    assert figures["ms"]["verify"] == 17.0


def test_totals_of_nothing():
    assert totals([])["tokens_per_call"] == 0.0 and totals([])["tokens_per_second"] == 0.0


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = make_trace().save(tmp_path / "t.json")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trace_module.os, "replace", full)
    with pytest.raises(OSError):
        make_trace().save(path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def set_at(data, keys, value):
    for key in keys[:-1]:
        data = data[key]
    data[keys[-1]] = value


@pytest.mark.parametrize("keys, value", [
    (["format"], "gguf"), (["version"], 2), (["version"], "1"), (["version"], True), (["run"], None), (["steps"], {}),
    (["run", "prompt_ids"], ["4", 5]), (["run", "prompt_pieces"], ["h"]), (["run", "target"], []),
    (["run", "datastore"], 3), (["steps", 0], None), (["steps", 0, "tree"], []), (["steps", 0, "tree", "tokens"], [1]),
    (["steps", 0, "tree", "parents"], [-1, 1, 0]), (["steps", 0, "tree", "parents"], [-1, -2, 0]),
    (["steps", 0, "tree", "pieces"], ["a", 1, "b"]), (["steps", 0, "tree", "verdicts"], ["accepted"] * 2 + ["maybe"]),
    (["steps", 0, "tree", "weights"], [1]), (["steps", 0, "tree", "target_probs"], [0.1, "x", None]),
    (["steps", 0, "committed", "kinds"], ["accepted", "invented"]), (["steps", 0, "committed", "ids"], [1.5, 2]),
    (["steps", 0, "context_length"], None), (["steps", 0, "ms"], {"draft": "long"}), (["steps", 0, "details"], []),
    (["steps", 0, "arithmetic"], {}), (["stop"], "exploded"), (["output_ids"], "123"),
    (["steps", 0, "tree", "tokens"], list(range(5000))), (["output_ids"], [1, 9]), (["steps", 1, "context_length"], 3),
])
def test_a_broken_trace_gives_one_sentence(keys, value):
    data = copy.deepcopy(make_trace().to_json())
    set_at(data, keys, value)
    with pytest.raises(TraceError) as caught:
        Trace.from_text(json.dumps(data))
    assert "\n" not in str(caught.value) and caught.value.say("zh") != str(caught.value)


def test_an_empty_and_a_cut_file_are_called_so():
    whole = json.dumps(make_trace().to_json())
    for text, key in (("", "trace.empty"), ("  \n", "trace.empty"), (whole[:101], "trace.cut_off"),
                      (whole + "}", "trace.not_json"), ("hello", "trace.not_json")):
        with pytest.raises(TraceError) as caught:
            Trace.from_text(text)
        assert caught.value.key == key, text[-20:]


@pytest.mark.parametrize("text", ["{", "[]", "NaN", '{"format": NaN}', "[" * 100_000, "null", '"text"'])
def test_what_is_no_trace_is_refused(text):
    with pytest.raises(TraceError):
        Trace.from_text(text)


def test_a_bad_file_is_told_what_to_do_and_steps_are_counted_as_on_the_page():
    broken = make_trace().to_json()
    broken["steps"][0]["tree"] = []
    for text, said in (("hello", "Choose a .json or .html file"), ("{}", "Choose a .json or .html file"),
                       (json.dumps(broken), "Save it again")):
        with pytest.raises(TraceError, match=said) as caught:
            Trace.from_text(text)
        assert "@" not in str(caught.value) and "speculation-trace" not in str(caught.value)
    assert "step 1: tree" in str(caught.value)


def test_nan_in_a_number_is_refused():
    text = json.dumps(make_trace().to_json()).replace("0.7", "NaN", 1)
    with pytest.raises(TraceError):
        Trace.from_text(text)
    with pytest.raises(TraceError):
        Trace.from_text(text.replace("NaN", "1e999", 1))
    with pytest.raises(TraceError):
        Trace.from_text(text.replace("NaN", "9" * 400, 1))


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(TraceError, match="cannot be read"):
        Trace.load(tmp_path / "missing.json")
    (tmp_path / "latin.json").write_bytes(b'"\xe9"')
    with pytest.raises(TraceError, match="not JSON"):
        Trace.load(tmp_path / "latin.json")
    monkeypatch.setattr(trace_module, "MAX_FILE_BYTES", 10)
    with pytest.raises(TraceError, match="at most"):
        Trace.load(make_trace().save(tmp_path / "big.json"))


def test_reading_a_trace_needs_no_torch(tmp_path):
    import subprocess
    import sys

    path = make_trace().save(tmp_path / "t.json")
    code = ("import sys; from spec_core.trace import Trace; import spec_core.tree; "
            f"Trace.load({str(path)!r}); assert 'torch' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("path", sorted((Path(__file__).resolve().parents[2] / "assets" / "traces").glob("*.json")), ids=lambda path: path.stem)
def test_bundled_runs_call_rejected_only_what_was_judged(path):
    for step in Trace.load(path).steps:
        in_turn = [entry for entry in step.arithmetic if "candidate" in entry]
        held, places = {entry["candidate"] for entry in in_turn}, {entry["node"] for entry in in_turn}
        for node, (parent, verdict) in enumerate(zip(step.tree.parents, step.tree.verdicts, strict=True)):
            assert verdict != "rejected" or parent not in places or node in held
