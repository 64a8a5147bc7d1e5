"""Views tell what the step tells: from indices, small, and never growing with the run."""

from __future__ import annotations

import json

import pytest
from synthetic import synthetic_trace

from spec_core.drafters.budget import RESTING
from spec_core.messages import LANGUAGES, catalogue
from spec_core.trace import Committed, Step, Trace, TreeRecord
from visualizers.views import MAX_VIEW_BYTES, run_view, step_view, view_bytes


@pytest.fixture(scope="module")
def trace() -> Trace:
    return synthetic_trace(steps=60, selected=64, unselected=64)


def test_views_are_json_and_small(trace: Trace) -> None:
    for step in trace.steps:
        view = step_view(step)
        assert json.loads(json.dumps(view, allow_nan=False)) == view
        assert view_bytes(view) <= MAX_VIEW_BYTES


def test_size_does_not_depend_on_the_number_of_the_step(trace: Trace) -> None:
    step = trace.steps[3]
    early = view_bytes(step_view(step))
    late = view_bytes(step_view(Step(**{**step.__dict__, "index": 90_000, "context_length": step.context_length + 9})))
    assert late - early < 10


def test_nodes_are_the_trees_then_the_unselected(trace: Trace) -> None:
    for step in trace.steps:
        view = step_view(step)
        rest = step.details["unselected"]
        assert view["selected"] == len(step.tree.tokens)
        assert view["pieces"] == step.tree.pieces + rest["pieces"]
        assert view["parents"] == step.tree.parents + rest["parents"]
        assert view["weights"] == (step.tree.weights + rest["weights"] or None)
        assert len(view["columns"]) == len(view["rows"]) == len(view["pieces"])
        assert [{"a": "accepted", "r": "rejected", "u": "unreached"}[v] for v in view["verdicts"]] == step.tree.verdicts
        assert view["mask_checked"] is True


def test_committed_tokens_point_to_the_nodes_they_were(trace: Trace) -> None:
    for step in trace.steps:
        committed = step_view(step)["committed"]
        for piece, kind, node in zip(committed["pieces"], committed["kinds"], committed["nodes"], strict=True):
            assert (node is None) == (kind != "accepted")
            if node is not None:
                assert step.tree.pieces[node] == piece
                assert step.tree.verdicts[node] == "accepted"


def test_a_mask_that_was_not_used_is_called_so(trace: Trace) -> None:
    step = trace.steps[0]
    assert step_view(Step(**{**step.__dict__, "mask_sha256": "0" * 64}))["mask_checked"] is False
    assert step_view(Step(**{**step.__dict__, "mask_sha256": ""}))["mask_checked"] is None


def test_passages_give_way_when_a_view_grows_too_large(trace: Trace) -> None:
    step = trace.steps[1]
    many = [{"document": i, "offset": 0, "before": "x" * 150, "match": "y" * 150, "after": "z" * 150} for i in range(64)]
    details = {**step.details, "snippets": many, "documents": [f"d{i}" for i in range(64)],
               "provenance": list(range(len(step.tree.tokens)))}
    view = step_view(Step(**{**step.__dict__, "details": details}))
    assert view_bytes(view) <= MAX_VIEW_BYTES
    assert 0 < len(view["snippets"]) < 64
    assert view["document_count"] == 64
    for node, place in enumerate(view["provenance"]):
        if place is not None:
            assert view["documents"][view["snippets"][place]["document"]] == f"d{node}"


def test_a_plain_step_of_any_drafter_has_a_view() -> None:
    step = Step(index=0, context_length=1, tree=TreeRecord(), committed=Committed([5], ["a"], ["bonus"]))
    view = step_view(step)
    assert (view["selected"], view["match"], view["provenance"]) == (0, None, [])
    assert [fact["key"] for fact in view["facts"]] == ["player.fact.plain", "player.fact.emitted"]


@pytest.mark.parametrize("why", RESTING)
@pytest.mark.parametrize("source", ["rest", "context", "suffix", "fusion", "dynamic-tree"])
def test_a_step_without_a_draft_by_choice_says_why(source: str, why: str) -> None:
    details = {"source": source, "resting": why}
    step = Step(index=0, context_length=1, tree=TreeRecord(), committed=Committed([5], ["a"], ["bonus"]), details=details)
    keys = [f"player.fact.resting.{why}", "player.fact.emitted"]
    assert [fact["key"] for fact in step_view(step)["facts"]] == keys
    assert all(keys[0] in catalogue(language) for language in LANGUAGES)
    step.details["resting"] = "unheard of"
    assert step_view(step)["facts"][0]["key"] == "player.fact.plain"


def test_every_fact_can_be_said_in_every_language(trace: Trace) -> None:
    for step in trace.steps:
        for fact in step_view(step)["facts"]:
            for language in LANGUAGES:
                catalogue(language)[fact["key"]].format(datastore="d", **fact["values"])


def test_the_run_view_holds_what_is_known_before_the_first_step(trace: Trace) -> None:
    view = run_view(trace.run)
    assert view["prompt_pieces"] == trace.run["prompt_pieces"]
    assert view["datastore"] == {"name": "python-stdlib", "tokens": 6_400_000}
    assert run_view({**trace.run, "datastore": None})["datastore"] is None


MATCHED = {"matched": 2, "hits": 3, "attempts": [{"length": 2, "hits": 3, "source": "past"}]}


@pytest.mark.parametrize(("details", "expected"), [
    ({"source": "rest"} | MATCHED, ["match", "hits.rest"]),
    ({"source": "prompt-lookup", "sources": [["context"]]} | MATCHED, ["match", "hits.context"]),
    ({"source": "context", "sources": [["context"]]} | MATCHED, ["match", "hits.context"]),
    ({"source": "suffix", "sources": [["context"]]} | MATCHED, ["match", "hits.context"]),
    ({"source": "suffix", "sources": []} | MATCHED, ["match", "hits.past"]),
    ({"source": "fusion", "matches": {"context": {"length": 1, "hits": 9}, "rest": {"length": 2, "hits": 3}}} | MATCHED,
     ["match", "hits.rest", "match", "hits.context"]),
    ({"source": "fusion", "matches": {"context": {"length": 2, "hits": 3}, "rest": {"length": 0, "hits": 0}}} | MATCHED,
     ["match", "hits.context"]),
    ({"source": "rest", "hits": 0, "attempts": []}, ["no_match.rest_short"]),
    ({"source": "prompt-lookup", "hits": 0, "attempts": [{"length": 1, "hits": 0}]}, ["no_match.context_even"]),
    ({"source": "context", "hits": 0, "attempts": []}, ["no_match.context"]),
    ({"source": "suffix", "hits": 0, "attempts": []}, ["no_match.suffix"]),
    ({"source": "fusion", "hits": 0, "attempts": []}, ["no_match.fusion"]),
])
def test_a_match_is_said_to_be_where_it_was(details: dict, expected: list[str]) -> None:
    n = len(details.get("sources", ()))
    tree = TreeRecord([7] * n, ["a"] * n, [-1] * n, None, None, [0.0] * n, ["rejected"] * n)
    step = Step(index=0, context_length=9, tree=tree, committed=Committed([5], ["a"], ["bonus"]), details=details)
    facts = step_view(step)["facts"]
    last = ("verified", "none_accepted") if n else ("plain", "emitted")
    assert [fact["key"] for fact in facts] == [f"player.fact.{name}" for name in (*expected, *last)]
    for language in LANGUAGES:
        for fact in facts:
            catalogue(language, "player")[fact["key"]].format(datastore="d", **fact["values"])


def test_nodes_keep_their_sources(trace: Trace) -> None:
    step = trace.steps[3]
    sources = [["context", "rest"]] * len(step.tree.tokens)
    assert step_view(step)["sources"] is None
    assert step_view(Step(**{**step.__dict__, "details": {**step.details, "sources": sources}}))["sources"] == sources
