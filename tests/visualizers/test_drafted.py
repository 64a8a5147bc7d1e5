"""Runs of drafters with a q: what the views say of every rule's decisions, of q beside p, and of two tokenizations."""

from __future__ import annotations

import json
import re

import pytest
from drafted import DRAFTERS, SHAPES, details, drafted_trace
from synthetic import synthetic_trace

from spec_core.acceptance import RULES
from spec_core.messages import LANGUAGES, catalogue
from spec_core.trace import Committed, Step, TreeRecord
from visualizers.alignment import alignment
from visualizers.arithmetic import bars, decisions
from visualizers.details import read_details
from visualizers.views import MAX_VIEW_BYTES, step_view, view_bytes

EVERY_RULE = sorted(SHAPES)


def step_of(**changes: object) -> Step:
    values = {"index": 0, "context_length": 9, "tree": TreeRecord(), "committed": Committed([5], ["a"], ["bonus"])}
    return Step(**{**values, **changes})


def test_every_rule_has_a_made_up_run() -> None:
    assert set(EVERY_RULE) == set(RULES)


@pytest.mark.parametrize("rule", EVERY_RULE)
def test_views_of_drafted_steps_are_json_and_small(rule: str) -> None:
    for step in drafted_trace(rule).steps:
        view = step_view(step)
        assert json.loads(json.dumps(view, allow_nan=False)) == view
        assert view_bytes(view) <= MAX_VIEW_BYTES
        assert len(view["q"]) == view["selected"]


@pytest.mark.parametrize("rule", EVERY_RULE)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_decision_can_be_said_whole(rule: str, language: str) -> None:
    words = catalogue(language, "player")
    assert f"player.rule.name.{rule}" in words and f"player.rule.about.{rule}" in words
    for step in drafted_trace(rule).steps:
        said = decisions(step)
        assert len(said) == len(step.arithmetic)
        for decision in said:
            assert not decision["key"].startswith("other")
            text = words[f"player.rule.{decision['key']}"].format(**decision["values"] | {"piece": "·"})
            text += words[f"player.outcome.{decision['outcome']}"].format(index=decision["values"]["index"])
            assert "None" not in text


@pytest.mark.parametrize("rule", EVERY_RULE)
def test_the_sign_says_what_the_rule_did(rule: str) -> None:
    """The inequality that is printed holds for the numbers beside it."""
    words = catalogue("en", "player")
    compared = 0
    for step in drafted_trace(rule, steps=40).steps:
        for decision, entry in zip(decisions(step), step.arithmetic, strict=True):
            if "candidate" not in entry:
                continue
            values, message = decision["values"], words[f"player.rule.{decision['key']}"]
            left = values["u"] if "{u}" in message else values["p"]
            sign = re.search("[<≥>≤]", message)[0]
            holds = {"<": left < values["threshold"], "≥": left >= values["threshold"],
                     ">": left > values["threshold"], "≤": left <= values["threshold"]}
            assert holds[sign], (decision, entry)
            assert decision["tone"] == ("accepted" if entry["accepted"] else "rejected")
            compared += 1
    assert compared or rule == "one-draw"


def test_a_later_candidate_is_held_against_what_is_left() -> None:
    keys = [decision["key"] for step in drafted_trace("multi-candidate", steps=40).steps for decision in decisions(step)]
    assert any(key.startswith("next") for key in keys) and any(key.startswith("candidate") for key in keys)
    assert "residual" in keys


def test_a_rule_that_is_not_known_is_said_as_far_as_it_goes() -> None:
    tree = TreeRecord([1, 2], ["a", "b"], [-1, 0], None, None, [0.5, None], ["rejected", "unreached"])
    arithmetic = [{"node": -1, "rule": "new", "candidate": 0, "piece": "a", "u": 0.9, "threshold": 0.5, "accepted": False},
                  {"node": -1, "rule": "new", "candidate": 1, "piece": "b", "p": 0.25},
                  {"node": -1, "rule": "new", "draw": 3, "piece": "c"}]
    said = decisions(step_of(tree=tree, arithmetic=arithmetic))
    assert [decision["key"] for decision in said] == ["other.falls", "other", "other"]
    assert said[2]["values"] == {"place": -1, "index": -1, "piece": "c", "p": None, "rule": "new"}


def test_bars_hold_p_and_q_of_the_same_tokens() -> None:
    step = drafted_trace("speculative").steps[0]
    rows = bars(step)["-1"]
    assert rows == [[piece, float(f"{p:.3g}"), float(f"{q:.3g}")] for piece, p, q in step.arithmetic[0]["bars"]]


def test_without_bars_the_most_probable_tokens_serve() -> None:
    entry = {"node": -1, "rule": "one-draw", "draw": 1, "piece": "a", "p": 0.5, "top": [["a", 0.5], ["b", 0.25]]}
    assert bars(step_of(arithmetic=[entry])) == {"-1": [["a", 0.5, None], ["b", 0.25, None]]}
    assert bars(step_of(arithmetic=[entry | {"top": "x"}])) == {}


@pytest.mark.parametrize("drafter", sorted({*DRAFTERS.values()}))
def test_how_it_was_drafted_is_said(drafter: str) -> None:
    for index in range(4):
        step = step_of(tree=TreeRecord([1, 2], ["a", "bc"], [-1, 0], None, [0.5, 0.5], [0.0, None], ["rejected", "unreached"]),
                       details=details(drafter, ["a", "bc"], index))
        facts = step_view(step)["facts"]
        assert len(facts) == 3
        for language in LANGUAGES:
            catalogue(language, "player")[facts[0]["key"]].format(**facts[0]["values"])


def test_a_drafter_that_was_not_sure_says_so() -> None:
    facts = step_view(step_of(details={"source": "draft-model", "length": 5, "stopped_below": 0.125}))["facts"]
    assert facts[0] == {"key": "player.fact.unsure", "values": {"p": 0.125}}


def aligned(assistant: list[str], target: list[str], **more: object) -> dict | None:
    def side(pieces: list[str]) -> dict:
        ends = [len("".join(pieces[:i + 1]).encode()) for i in range(len(pieces))]
        return {"pieces": pieces, "ends": ends}

    step = step_of(tree=TreeRecord([0] * len(target), target, list(range(-1, len(target) - 1)), None, None,
                                   [None] * len(target), ["unreached"] * len(target)),
                   details={"source": "universal", "assistant": side(assistant), "target": side(target), **more})
    return alignment(read_details(step), step.tree.parents)


def test_the_same_text_stands_between_shared_boundaries() -> None:
    found = aligned([" re", "turn", " x", " y"], [" return", " ", "x"], dropped=2, window="before")
    assert found["groups"] == [[0, 7, 2, 1], [7, 9, 1, 2]]
    assert found["drafter"][-1] == [" y", 9, 11]  # not handed over
    assert (found["dropped"], found["window"], found["nodes"]) == (2, "before", True)


def test_boundaries_are_those_of_bytes() -> None:
    found = aligned(["你", "好"], ["你好"])
    assert found["groups"] == [[0, 6, 2, 1]]


def test_a_character_that_was_begun_stands_before_the_targets_tokens() -> None:
    found = aligned(["你", "a"], ["⟨a0⟩"], begun=2)
    assert found["target"][0][1] == 2


def test_no_alignment_without_two_tokenizers() -> None:
    assert all(step_view(step)["alignment"] is None for step in synthetic_trace(steps=6).steps)
