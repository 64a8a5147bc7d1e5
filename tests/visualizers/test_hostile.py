"""Traces from anywhere: whatever a step's details and arithmetic hold, it is drawn as far as it can be."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from drafted import SHAPES, drafted_trace
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import synthetic_trace

from spec_core.messages import catalogue
from spec_core.trace import Step, Trace
from visualizers.page import standalone_html
from visualizers.views import run_view, step_view

WRONG: list[Any] = [None, True, -1, 0, 7, 2**70, -1.5, 1e308, "", "<script>", [], {}, [None], [[1]], [{}], {"a": 1}, [1, "x"],
                    {"pieces": 3}, [[-1]], [2**70], ["x"] * 3, {"context": []}, {"rest": {"length": "x", "hits": 1}}]


def steps() -> dict[str, Step]:
    """One step of every kind of details: of retrieval in all its forms, and of every drafter with a model."""
    found = {f"drafted-{rule}": drafted_trace(rule, steps=3).steps[1] for rule in SHAPES}
    step = synthetic_trace(steps=5).steps[3]
    n, matches = len(step.tree.tokens), {"context": {"length": 9, "hits": 1}, "rest": {"length": 2, "hits": 94}}
    attempts = [{"length": 3, "hits": 2, "source": "past", "score": 0.5}]
    for source in ("rest", "prompt-lookup", "context", "suffix", "fusion", "unheard-of"):
        details = {**step.details, "source": source, "sources": [["context", "rest"]] * n, "estimates": [0.5] * n,
                   "matches": matches, "attempts": attempts}
        found[source] = replace(step, details=details)
    return found


STEPS = steps()


def spoiled(value: Any, wrong: Any) -> list[Any]:
    """Copies of ``value`` in each of which one place, at any depth, holds ``wrong``."""
    places = value.keys() if isinstance(value, dict) else range(min(len(value), 2)) if isinstance(value, list) else ()
    copies = [wrong]
    for place in places:
        for inner in spoiled(value[place], wrong):
            copy = value.copy()
            copy[place] = inner
            copies.append(copy)
    return copies


def draw(step: Step) -> None:
    view = step_view(step)
    assert json.loads(json.dumps(view, allow_nan=False)) == view
    words = catalogue("en", "player")
    for fact in view["facts"]:
        words[fact["key"]].format(datastore="d", **fact["values"])
    for decision in view["decisions"]:
        assert f"player.rule.{decision['key']}" in words and f"player.outcome.{decision['outcome']}" in words
        assert -1 <= decision["node"] < view["selected"]
    assert len(view["columns"]) == len(view["pieces"]) == len(view["parents"])
    assert all(place is None or 0 <= place < len(view["snippets"]) for place in view["provenance"])
    assert all(0 <= snippet["document"] < len(view["documents"]) for snippet in view["snippets"])


@pytest.mark.parametrize("kind", STEPS)
def test_wrong_details_are_left_out(kind: str) -> None:
    step = STEPS[kind]
    for wrong in WRONG:
        for details in spoiled(step.details, wrong):
            if isinstance(details, dict):
                draw(replace(step, details=details))


@pytest.mark.parametrize("rule", SHAPES)
def test_wrong_arithmetic_is_left_out(rule: str) -> None:
    step = STEPS[f"drafted-{rule}"]
    for wrong in WRONG:
        for arithmetic in spoiled(step.arithmetic, wrong):
            if isinstance(arithmetic, list):
                draw(replace(step, arithmetic=arithmetic))


JSON = st.recursive(st.none() | st.booleans() | st.integers(-3, 9) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
                    | st.text(max_size=4), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
                        st.sampled_from(["length", "hits", "pieces", "ends", "parents", "document", "a"]), inner, max_size=4),
                    max_leaves=12)
KEYS = sorted({key for step in STEPS.values() for key in step.details})


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(STEPS)), st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1))
def test_any_details_can_be_drawn(kind: str, wrong: dict[str, Any]) -> None:
    draw(replace(STEPS[kind], details={**STEPS[kind].details, **wrong}))


def test_a_trace_of_wrong_types_everywhere_is_a_page() -> None:
    trace = synthetic_trace(steps=4)
    data = deepcopy(trace.to_json())
    for i, step in enumerate(data["steps"]):
        step["details"] = {key: WRONG[(i + j) % len(WRONG)] for j, key in enumerate(KEYS)}
        step["arithmetic"] = WRONG
    data["run"].update(id=3, created=[], target={"name": {}, "dtype": 7}, drafter={"name": ["x"]}, datastore={"name": 1, "tokens": "x"},
                       acceptance={"rule": {}, "lossless": "yes"}, limits={"max_new_tokens": "all", "context": -1})
    hostile = Trace.from_json(json.loads(json.dumps(data)))
    assert run_view(hostile.run)["target"] == {"name": None, "dtype": None, "device": None}
    assert "</html>" in standalone_html(hostile)
