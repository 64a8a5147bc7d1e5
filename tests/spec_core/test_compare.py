"""Comparisons: interleaved, repeated, stopped, failing; their figures, divergences and predictions."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest

from spec_core import lab
from spec_core.breakeven import best_gamma, by_budget, contradicts, expected_tokens, observed, of_trees, predicted
from spec_core.compare import Comparison, lane_name, seconds, sweep
from spec_core.divergence import compare_outputs, first_divergence, measure_logits
from spec_core.drafters.costs import CostCurve
from spec_core.drafters.past import past_outputs
from spec_core.lab import Request
from spec_core.measures import figures, hit_rate, speedups, spread
from spec_core.messages import LANGUAGES, UserError
from spec_core.prompts import join, read_prompts, split
from spec_core.trace import Committed, Step, Trace, TreeRecord

FREE = CostCurve((0, 1, 255), (1.0, 1.0, 1.0))
PLAIN, LOOKUP = Request("", drafter="none", max_new_tokens=6), Request("", drafter="prompt-lookup", max_new_tokens=6)


def step(index: int, length: int, ids: list[int], nodes: int = 0, ms: float = 10.0, accepted: int | None = None) -> Step:
    """A step whose tree is a chain; of it as many nodes are accepted as tokens were committed beside the last."""
    accepted = len(ids) - 1 if accepted is None else accepted
    nodes = max(nodes, accepted)
    verdicts = ["accepted"] * accepted + ["rejected"] * (nodes > accepted) + ["unreached"] * max(0, nodes - accepted - 1)
    return Step(index, length, TreeRecord(list(range(nodes)), ["x"] * nodes, list(range(-1, nodes - 1)), None, None,
                                          [None] * nodes, verdicts),
                Committed(ids, [f"t{i}" for i in ids], ["accepted"] * accepted + ["bonus"] * (len(ids) - accepted)),
                ms={"draft": 1.0, "verify": ms - 1.0, "accept": 0.0, "overhead": 0.0})


def run_of(request: Request, parts: list[list[int]], nodes: int = 0, ms: float = 10.0) -> Trace:
    """A finished run that committed ``parts``."""
    steps, length = [], 1
    for index, ids in enumerate(parts):
        steps.append(step(index, length, ids, nodes, ms))
        length += len(ids)
    run = {"prompt": request.prompt, "prompt_ids": [0], "prompt_pieces": ["p"], "acceptance": {"temperature": 0.0}}
    return Trace(run, steps, [i for ids in parts for i in ids], "", "length")


class FakeGeneration:
    def __init__(self, trace: Trace, fails_at: int | None = None) -> None:
        self.made, self.trace, self.fails_at = trace, replace(trace, steps=[], output_ids=[]), fails_at

    def steps(self):
        for number, one in enumerate(self.made.steps):
            if number == self.fails_at:
                raise RuntimeError("in the middle")
            self.trace.steps.append(one)
            self.trace.output_ids.extend(one.committed.ids)
            yield one


class FakeLab:
    """Notes what is prepared; fails where it is told to."""

    def __init__(self, failing: str = "", fails_at: int | None = None, after: int = 0) -> None:
        self.prepared: list[Request] = []
        self.failing, self.fails_at, self.after = failing, fails_at, after

    def preparing(self):
        return self.prepare

    def prepare(self, request: Request, progress, cancelled):
        self.prepared.append(request)
        progress("stage.load", None)
        seen = sum(one.drafter == request.drafter for one in self.prepared)
        bad = request.drafter == self.failing and seen > self.after
        if bad and self.fails_at is None:
            raise UserError("datastore.unknown", name="x", known="y")
        return FakeGeneration(run_of(request, [[1], [2], [3, 4]]), self.fails_at if bad else None)


def compared(lanes, prompts=("a", "b"), repetitions=2, fake=None) -> tuple[Comparison, FakeLab]:
    fake = fake or FakeLab()
    comparison = Comparison(lanes, list(prompts), repetitions, fake.preparing)
    for _ in comparison.run():
        pass
    return comparison, fake


# --- the measuring --------------------------------------------------------------------


def test_plain_decoding_is_always_measured_and_lanes_take_turns():
    comparison, fake = compared([LOOKUP, replace(LOOKUP, drafter="context")])
    assert [lane.name for lane in comparison.lanes] == ["plain", "prompt-lookup", "context"]
    assert all(lane.runs.keys() == {(p, r) for p in (0, 1) for r in (0, 1)} for lane in comparison.lanes)
    measured = [(one.prompt, one.drafter) for one in fake.prepared[3:]]  # behind a warm-up of each
    rounds = [measured[i:i + 3] for i in range(0, 12, 3)]
    assert [{prompt for prompt, _ in one} for one in rounds] == [{"a"}, {"b"}, {"a"}, {"b"}]
    assert all({drafter for _, drafter in one} == {"none", "prompt-lookup", "context"} for one in rounds)
    assert len({one[0][1] for one in rounds}) == 3, "the same lane would always go first"


def test_the_warm_up_is_not_measured():
    _, fake = compared([LOOKUP], prompts=["a"], repetitions=1)
    assert len(fake.prepared) == 4  # each lane twice


def test_the_baseline_is_measured_under_the_same_conditions():
    hot = replace(LOOKUP, temperature=0.7, seed=3, drafter_settings={"length": 4})
    comparison, _ = compared([hot])
    plain = comparison.lanes[0].request
    assert (plain.drafter, plain.temperature, plain.seed, dict(plain.drafter_settings)) == ("none", 0.7, 3, {})
    assert comparison.lanes[1].baseline is comparison.lanes[0]


@pytest.mark.parametrize("fails_at", [None, 1])
def test_a_lane_that_fails_keeps_its_error_and_the_others_go_on(fails_at):
    comparison, _ = compared([LOOKUP, replace(LOOKUP, drafter="context")], fake=FakeLab("context", fails_at, after=2))
    plain, lookup, broken = comparison.lanes
    assert isinstance(broken.error, UserError if fails_at is None else RuntimeError)
    assert len(plain.runs) == len(lookup.runs) == 4
    assert len(broken.runs) == 1, "what was measured before stays"
    assert figures(broken)["runs"] == 1 and not plain.error


def test_stopping_keeps_what_is_done():
    fake = FakeLab()
    comparison = Comparison([LOOKUP], ["a"], 5, fake.preparing)
    with pytest.raises(lab.Cancelled):
        for standing in comparison.run(cancelled=lambda: len(comparison.lanes[1].runs) == 2):
            assert 0 <= standing.fraction <= 1
    assert [len(lane.runs) for lane in comparison.lanes] == [1, 2], "in the second round the lane goes first"
    assert all(lane.error is None for lane in comparison.lanes)


def test_progress_grows_to_one_and_the_time_left_is_estimated():
    standings = list(Comparison([LOOKUP], ["a", "b"], 1, FakeLab().preparing).run())
    fractions = [one.fraction for one in standings if one.fraction]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert standings[0].seconds_left is None and standings[-1].seconds_left == 0.0


@pytest.mark.parametrize("requests, prompts, repetitions, key", [
    ([LOOKUP], ["", "  \n"], 1, "compare.no_prompts"),
    ([], ["a"], 1, "compare.no_lanes"),
    ([LOOKUP], ["a"] * 65, 1, "compare.count.prompts"),
    ([LOOKUP] * 17, ["a"], 1, "compare.count.lanes"),
    ([LOOKUP], ["a"], 0, "compare.count.repetitions"),
    ([replace(LOOKUP, drafter="oracle")], ["a"], 1, "request.unknown"),
    ([replace(LOOKUP, drafter_settings={"length": 0})], ["a"], 1, "request.range"),
])
def test_what_cannot_be_compared_is_refused_at_once(requests, prompts, repetitions, key):
    with pytest.raises(UserError) as caught:
        Comparison(requests, prompts, repetitions)
    assert caught.value.key == key and caught.value.say("zh") != str(caught.value)


def test_a_sweep_is_a_lane_a_value():
    lanes = sweep(replace(LOOKUP, drafter_settings={"max_ngram": 2}), "length", [2, 4])
    assert [dict(lane.drafter_settings) for lane in lanes] == [{"max_ngram": 2, "length": 2}, {"max_ngram": 2, "length": 4}]
    assert [lane_name(lane) for lane in lanes] == ["prompt-lookup max_ngram=2 length=2", "prompt-lookup max_ngram=2 length=4"]
    hot = Comparison(sweep(LOOKUP, "temperature", [0.0, 0.5]), ["a"], 1).lanes
    assert [lane.request.temperature for lane in hot if lane.baseline is None] == [0.0, 0.5], "each has its own baseline"
    assert [lane.name for lane in Comparison(sweep(LOOKUP, "temperature", [0.0, 0.5]), ["a"], 1).lanes] == [
        "plain temperature=0", "plain temperature=0.5", "prompt-lookup temperature=0", "prompt-lookup temperature=0.5"]
    for setting, values, key in (("colour", [1], "request.unknown_setting"), ("length", [0], "request.range"),
                                 ("length", [], "compare.no_values")):
        with pytest.raises(UserError) as caught:
            sweep(LOOKUP, setting, values)
        assert caught.value.key == key


# --- the figures ------------------------------------------------------------------------


def test_figures_by_hand():
    comparison = Comparison([LOOKUP], ["a"], 2)
    plain, own = comparison.lanes
    for repetition, ms in ((0, 10.0), (1, 20.0)):
        plain.runs[0, repetition] = run_of(PLAIN, [[1], [2], [3], [4]], ms=ms)
        own.runs[0, repetition] = run_of(LOOKUP, [[1], [2, 3, 4]], nodes=3, ms=ms)
    assert speedups(own.pairs()) == [2.0, 2.0]
    found = figures(own)
    assert found["speedup"] == spread([2.0, 2.0]) | {"overall": 2.0} and found["speedup"]["count"] == 2
    assert found["tokens_per_call"] == 2.0 and found["nodes_per_call"] == 3.0 and found["hit_rate"] == 1.0
    assert found["tokens_per_second"] == pytest.approx(8 / (0.02 + 0.04))
    assert found["acceptance_by_depth"] == [0.5, 1.0, 0.0] and found["accepted_share"] == 4 / 12
    assert found["ms"]["draft"] == pytest.approx(0.5) and found["ms"]["verify"] == pytest.approx((4.5 + 9.5) / 2)
    assert figures(plain)["speedup"] is None and figures(plain)["accepted_share"] is None
    assert seconds(own.runs[0, 0]) == pytest.approx(0.02) and own.typical_run(0) is own.runs[0, 0]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_figures_of_unequal_prompts_rank_the_lanes_alike():
    """A lane that is slow on a short prompt and fast on a long one: means of rates or of ratios would say otherwise."""
    comparison = Comparison([LOOKUP, replace(LOOKUP, drafter="context")], ["a", "b"], 1)
    milliseconds = {0: (1.0, 20.0), 1: (6.0, 8.0), 2: (1.5, 18.0)}  # of a step, by lane and prompt
    for lane, (short, long) in milliseconds.items():
        of = comparison.lanes[lane]
        of.runs[0, 0] = run_of(of.request, [[1]] * 2, ms=short)
        of.runs[1, 0] = run_of(of.request, [[1]] * 40, ms=long)
    found = [figures(lane) for lane in comparison.lanes]
    for one in found:
        assert one["tokens_per_second"] == pytest.approx(1000 / sum(one["ms"].values()))
    for lane in (1, 2):
        assert found[lane]["speedup"]["overall"] == pytest.approx(found[lane]["tokens_per_second"] / found[0]["tokens_per_second"])
    assert found[1]["speedup"]["median"] < found[1]["speedup"]["overall"], "the pairs' ratios are its spread"


def test_the_label_of_a_lane_is_the_catalogue_s_and_tells_lanes_apart_as_its_name_does():
    requests = [LOOKUP, *sweep(LOOKUP, "length", [2, 4]), replace(LOOKUP, drafter="rest", drafter_settings={"budget": "auto"}),
                replace(LOOKUP, drafter="rest", datastore="mine"), replace(LOOKUP, drafter="draft-model", rule="typical"),
                replace(LOOKUP, drafter="draft-model", drafter_settings={"schedule": "heuristic", "stop_below": 0.5}),
                replace(LOOKUP, drafter="multi-candidate", drafter_settings={"shape": "2x2"}, temperature=0.5)]
    lanes = Comparison(requests, ["a"], 1).lanes
    for language in LANGUAGES:
        labels = [lane.label(language) for lane in lanes]
        assert len(set(labels)) == len({lane.name for lane in lanes}) == len(lanes)
        assert not any("_" in label or "=" in label or "live." in label or " – " in label for label in labels), labels
    shown = [[lane.label(language) for lane in lanes] for language in LANGUAGES]
    assert shown[0][0] == "Plain decoding · Temperature 0" and shown[1][0] == "普通解码 · 温度 0"
    assert shown[0][-1] == "Multi-candidate · Shape 2x2 · Temperature 0.5" and "草稿模型" in shown[1][-2]
    assert "Length schedule Heuristic" in shown[0][-2] and "Acceptance rule Typical acceptance, Medusa" in shown[0][-3]


def test_lanes_that_are_all_alike_are_numbered():
    lanes = Comparison([LOOKUP, LOOKUP, replace(LOOKUP, drafter="context"), LOOKUP], ["a"], 1).lanes
    assert [lane.name for lane in lanes] == ["plain", "prompt-lookup", "prompt-lookup (2)", "context", "prompt-lookup (3)"]
    assert len({lane.label("zh") for lane in lanes}) == len(lanes)


def test_nothing_measured_has_no_figures():
    lane = Comparison([LOOKUP], ["a"], 1).lanes[1]
    assert figures(lane) is None and lane.typical_run(0) is None and spread([]) is None and hit_rate([]) == 0.0


# --- divergence -------------------------------------------------------------------------


def test_the_same_output_does_not_diverge_and_a_stopped_one_neither():
    whole, cut = run_of(PLAIN, [[1], [2], [3]]), run_of(LOOKUP, [[1, 2]])
    assert first_divergence(whole, whole) is None and first_divergence(whole, cut) is None


def test_the_first_divergence_names_both_tokens_and_their_step():
    plain, own = run_of(PLAIN, [[1], [2], [3], [4]]), run_of(LOOKUP, [[1, 2], [9, 8]], nodes=2)
    own.steps[1].arithmetic = [{"node": -1, "top": [["t9", 0.6], ["t3", 0.3]]}]
    found = compare_outputs([(0, plain, plain), (4, plain, own)])
    assert (found.prompt, found.position, found.step) == (4, 2, 1)
    assert (found.plain_id, found.own_id, found.plain, found.own) == (3, 9, ["t3", "t4"], ["t9", "t8"])
    assert found.before == ["p", "t1", "t2"] and found.own_gap == pytest.approx(math.log(2)) and found.gap is None


def test_the_logits_are_those_of_the_target(smollm2):
    import torch

    ids = smollm2.tokenizer("def add(a, b):\n    return").input_ids
    own = run_of(LOOKUP, [[253], [7, 9]])
    own.run |= {"prompt_ids": ids, "prompt_pieces": smollm2.pieces.of(ids)}
    plain = run_of(PLAIN, [[253], [8]])
    plain.run |= own.run
    found = first_divergence(plain, own)
    measure_logits(found, own, smollm2)
    smollm2.model.set_attn_implementation("sdpa")
    with torch.inference_mode():
        row = smollm2.model(torch.tensor([[*ids, 253]])).logits[0, -1]
    smollm2.model.set_attn_implementation("grouped_sdpa")
    assert found.plain_logit == pytest.approx(float(row[8]), abs=1e-3)
    assert found.gap == pytest.approx(float(row[8] - row[7]), abs=2e-3)
    json.dumps(found.to_json(), allow_nan=False)


# --- predictions ------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("gamma", [0, 1, 5])
def test_expected_tokens_by_enumeration(alpha, gamma):
    """Over all outcomes: the first rejection comes at place k with probability α^k (1 − α), and gives k + 1 tokens."""
    law = [alpha ** k * (1 - alpha) for k in range(gamma)] + [alpha ** gamma]
    assert sum(law) == pytest.approx(1)
    assert expected_tokens(alpha, gamma) == pytest.approx(sum((k + 1) * p for k, p in enumerate(law)))
    if alpha < 1:
        assert expected_tokens(alpha, gamma) == pytest.approx((1 - alpha ** (gamma + 1)) / (1 - alpha))


def test_the_prediction_is_theorem_3_8_where_rows_are_free():
    alpha, gamma, c = 0.8, 5, 0.05  # Leviathan et al.: (1 − α^(γ+1)) / ((1 − α)(γc + 1))
    assert predicted(alpha, gamma, c, FREE) == pytest.approx((1 - alpha ** 6) / ((1 - alpha) * (gamma * c + 1)))


def test_the_recommended_gamma_is_the_best_of_all_and_zero_where_nothing_pays():
    curve = CostCurve((0, 1, 7, 63), (1.0, 1.2, 1.5, 4.0))
    best = best_gamma(0.7, 0.1, curve)
    assert all(predicted(0.7, best, 0.1, curve) >= predicted(0.7, gamma, 0.1, curve) for gamma in range(33))
    assert 0 < best < 32 and best_gamma(0.05, 1.0, curve) == 0


def test_what_is_observed_and_what_smaller_trees_would_have_brought():
    plain = [run_of(PLAIN, [[1], [2], [3], [4]])]
    own = [run_of(LOOKUP, [[1], [2, 3, 4]], nodes=3)]
    seen = observed(own, plain)
    assert (seen.alpha, seen.gamma, seen.c) == (pytest.approx(2 / 4), 3.0, pytest.approx(0.1 / 3))
    assert observed(plain, plain) is None
    assert by_budget(own, FREE) == [(0, 1.0), (1, 1.5), (2, 2.0), (3, 2.0)]
    dear = CostCurve((0, 1, 3), (1.0, 2.0, 4.0))
    assert by_budget(own, dear) == [(0, 1.0), (1, 0.75), (2, pytest.approx(2 / 3)), (3, 0.5)]
    assert of_trees(own, plain, dear) == pytest.approx(4 / (2 * (4 + 0.1))) and of_trees([], plain, dear) is None


def test_the_most_promising_nodes_stay():
    one = step(0, 1, [5, 6], nodes=2)
    one.tree = TreeRecord([4, 5], ["a", "b"], [-1, -1], [1.0, 9.0], None, [0.0, 1.0], ["rejected", "accepted"])
    trace = run_of(LOOKUP, [[5, 6]])
    trace.steps = [one]
    assert by_budget([trace], FREE) == [(0, 1.0), (1, 2.0), (2, 2.0)]


# --- prompts ----------------------------------------------------------------------------


def test_lists_of_prompts():
    assert split("a\nb\n---\nc") == ["a\nb", "c"] and split(join(["x\n", "y"])) == ["x\n", "y"]
    assert read_prompts('{"prompt": "a"}\n\n"b"\n', "p.jsonl") == ["a", "b"]
    assert read_prompts('["a", {"prompt": "b"}]', "p.JSON") == ["a", "b"]
    assert read_prompts("<script>\n---\n二", "p.txt") == ["<script>", "二"]


@pytest.mark.parametrize("text, name, key", [
    ("", "p.txt", "prompts.empty"), ("---\n \n---", "p.txt", "prompts.empty"), ("[]", "p.json", "prompts.empty"),
    ("{}", "p.json", "prompts.no_list"), ('{"prompt": 1}', "p.jsonl", "prompts.no_prompt"),
    ("nonsense", "p.jsonl", "prompts.not_json"), ("[" * 100_000, "p.json", "prompts.not_json"),
])
def test_files_that_hold_no_prompts(text, name, key):
    with pytest.raises(UserError) as caught:
        read_prompts(text, name)
    assert caught.value.key == key


# --- for real ---------------------------------------------------------------------------


def test_comparing_does_not_load_torch_before_it_runs():
    subprocess.run([sys.executable, "-c", "import sys, spec_core.compare, spec_core.measures, spec_core.breakeven, "
                                          "spec_core.divergence; assert 'torch' not in sys.modules"], check=True)


def test_a_draft_model_of_another_vocabulary_is_its_lane_s_error(smollm2, monkeypatch):
    """The other lanes are measured; the sentence says what does not fit."""
    from tiny import tiny_llama

    monkeypatch.setattr("spec_core.draft_models.load", lambda *arguments, **named: tiny_llama())
    common = {"prompt": "", "dtype": "float32", "max_new_tokens": 4}
    comparison = Comparison([Request(**common, drafter="draft-model"), Request(**common, drafter="prompt-lookup")], ["x = 1\n"])
    for _ in comparison.run():
        pass
    plain, assisted, lookup = comparison.lanes
    assert isinstance(assisted.error, UserError) and not assisted.runs
    assert plain.error is lookup.error is None and len(lookup.runs) == 1


def test_a_real_comparison(smollm2):
    common = {"prompt": "", "dtype": "float32", "max_new_tokens": 24}
    lanes = [Request(**common, drafter="suffix"), Request(**common, drafter="prompt-lookup"),
             Request(**common, drafter="rest", datastore="no-such-store")]
    before = len(past_outputs(smollm2.pieces).outputs)
    comparison = Comparison(lanes, ["def add(a, b):\n    return a + b\n\ndef sub(a, b):\n"], 2)
    for _ in comparison.run():
        pass
    plain, suffix, lookup, rest = comparison.lanes
    assert rest.error.key == "datastore.unknown" and not rest.runs
    for lane in (suffix, lookup):
        assert len(lane.pairs()) == 2 and compare_outputs(lane.pairs()) is None
        first, second = (lane.runs[0, r] for r in (0, 1))
        assert [one.tree for one in first.steps] == [one.tree for one in second.steps], "the second knew the first"
        assert figures(lane)["tokens_per_call"] >= 1.0
    assert figures(plain)["tokens_per_call"] == 1.0
    assert len(past_outputs(smollm2.pieces).outputs) == before, "comparisons leave no past outputs behind"


@pytest.mark.parametrize("prediction, measured, doubtful", [
    (0.52, 1.34, True), (2.1, 1.0, True), (1.2, 1.0, False), (1.0, 1.45, False), (None, 1.0, False), (1.0, None, False),
])
def test_a_prediction_far_off_the_measurement_is_doubted(prediction, measured, doubtful):
    assert contradicts(prediction, measured) is doubtful
