"""What holds for every retrieval drafter: greedy identity, state, limits, honest details."""

import json

import numpy as np
import pytest

from spec_core.acceptance import OneDraw
from spec_core.decoder import Budget, decode
from spec_core.drafters import KINDS, Material, complete_settings
from spec_core.drafters.base import Limits
from spec_core.drafters.costs import CostCurve
from spec_core.drafters.none import NoDrafter
from spec_core.messages import UserError
from spec_core.pieces import Pieces
from spec_core.processors import Sampling
from tests.spec_core.datastore.datastore_reference import memory_store
from tests.tiny import TinyTokenizer, tiny_gemma, tiny_llama

VOCAB = 13
WIDE = Limits(max_depth=100, max_nodes=1000)
FREE = CostCurve((0, 63), (1.0, 1.0))
BUDGETS = (3, 40, "auto")
WAYS = [("prompt-lookup", {}), *(("rest", {"min_suffix": 1, "budget": budget}) for budget in BUDGETS),
        *((name, {"budget": budget}) for name in ("context", "suffix", "fusion") for budget in BUDGETS)]


class NamedStore:
    """A store in memory, with names."""

    def __init__(self, shards):
        plain = memory_store(shards, VOCAB)
        self.tokens, self.suffixes, self.bounds, self.manifest = plain.tokens, plain.suffixes, plain.bounds, plain.manifest
        ends = np.flatnonzero(self.tokens == np.iinfo(np.uint16).max)
        self.document_starts = np.array([0, *(ends[:-1] + 1)])

    def document_of(self, positions):
        return np.maximum(np.searchsorted(self.document_starts, positions, side="right") - 1, 0)

    def document_name(self, document):
        return f"document {document}"


@pytest.fixture(scope="module")
def store():
    rng = np.random.default_rng(5)
    target = tiny_llama()
    documents = [rng.integers(0, VOCAB, 60).tolist() for _ in range(4)]
    documents.append(run(target, NoDrafter(), prompt=(4, 5), new=60)[1])  # some of it is right
    return NamedStore([documents[:3], documents[3:]])


def make(way, store, costs=FREE):
    name, settings = way
    return KINDS[name].make(Material(Pieces(TinyTokenizer()), store, costs), complete_settings(name, settings))


def past_the_first(drafter, way, token=1):
    """An automatic budget leaves the first step without a draft."""
    first = drafter.propose(WIDE)
    assert (first.details.get("resting") == "first") == (way[1].get("budget") == "auto")
    drafter.commit([token])


def run(target, drafter, sampling=Sampling(), prompt=(1, 2, 3), new=40):
    steps = list(decode(target, drafter, OneDraw(), sampling, list(prompt), Budget(new)))
    return steps, [token for step in steps for token in step.committed.ids]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("model", [tiny_llama, tiny_gemma])
def test_greedy_equals_plain_decoding(way, model, store):
    target, drafter = model(), make(way, store)
    for prompt in ([7], [1, 2, 3, 1, 2], [4, 5]):
        steps, output = run(target, drafter, prompt=prompt, new=60)
        assert output == run(target, NoDrafter(), prompt=prompt, new=60)[1]
        assert len(steps) < 60 or way[0] == "rest"  # random models repeat themselves, not the random store
        assert all(len(step.tree.tokens) <= drafter.settings.get("budget", 40) for step in steps
                   if drafter.settings.get("budget") != "auto")


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_same_seed_gives_the_same_text(way, store):
    target = tiny_llama()
    for seed in range(5):
        sampling = Sampling(1.0, top_k=5, seed=seed)
        assert run(target, make(way, store), sampling)[1] == run(target, NoDrafter(), sampling)[1]


@pytest.mark.parametrize("way", [way for way in WAYS if way[1].get("budget") != "auto"], ids=str)
def test_state_follows_reset_and_commit_only(way, store):
    rng = np.random.default_rng(1)
    context = rng.integers(0, 4, 90).tolist()
    stepwise, whole = make(way, store), make(way, store)
    stepwise.reset(context[::-1])
    stepwise.commit([1, 2, 3])
    stepwise.reset(context[:3])
    for at in range(3, 87, 3):
        stepwise.commit(context[at:at + 3])
        for limits in (Limits(2, 2), WIDE):
            stepwise.propose(limits)
        if way[0] != "suffix":  # whose memory of past outputs is another
            whole.reset(context[:at + 3])
            assert whole.propose(WIDE) == stepwise.propose(WIDE)
        assert stepwise.propose(WIDE) == stepwise.propose(WIDE)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_limits_hold(way, store):
    drafter = make(way, store)
    drafter.reset([1, 2, 3, 4, 5, 6] * 7)
    past_the_first(drafter, way)
    drafter.commit([2, 3, 4, 5, 6])
    assert len(drafter.propose(WIDE).tree)
    for limits in (Limits(2, 9), Limits(9, 1), Limits(1, 1), Limits(0, 9), Limits(9, 0), Limits(-1, -1)):
        tree = drafter.propose(limits).tree
        assert len(tree) <= max(limits.max_nodes, 0)
        assert max(tree.depths, default=0) <= max(limits.max_depth, 0)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_nothing_known_is_no_draft(way, store):
    drafter = make(way, store)
    for context in ([], [VOCAB + 4], [-4]):
        drafter.reset(context)
        past_the_first(drafter, way, VOCAB + 3)
        draft = drafter.propose(WIDE)
        assert len(draft.tree) == 0 and draft.details["matched"] == 0 and draft.details["hits"] == 0


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_details_are_small_and_tell_each_nodes_source(way, store):
    drafter = make(way, store)
    rng = np.random.default_rng(2)
    context = rng.integers(0, VOCAB, 400).tolist()
    drafter.reset(context)
    past_the_first(drafter, way)
    for _ in range(20):
        draft = drafter.propose(WIDE)
        details = json.loads(json.dumps(draft.details))
        assert details == draft.details
        assert len(json.dumps(details, ensure_ascii=False).encode()) < 8192
        assert details["source"] == way[0] and len(details["suffix"]) == details["matched"]
        if "sources" in details:
            assert len(details["sources"]) == len(draft.tree)
            assert all(sources and set(sources) <= {"context", "rest", "past"} for sources in details["sources"])
        unselected = details.get("unselected", {"tokens": [], "parents": []})
        assert all(-1 <= parent < len(draft.tree) + i for i, parent in enumerate(unselected["parents"]))
        siblings = list(zip([*draft.tree.parents, *unselected["parents"]], [*draft.tree.tokens, *unselected["tokens"]]))
        assert len(siblings) == len(set(siblings))
        drafter.commit(rng.integers(0, VOCAB, 3).tolist())


@pytest.mark.parametrize("name", ["rest", "context", "suffix", "fusion"])
def test_absurd_budgets_are_refused(name):
    for auto in ("auto", "Auto", " AUTO "):
        assert complete_settings(name, {"budget": auto})["budget"] == "auto"
    assert complete_settings(name, {"budget": "16"})["budget"] == 16
    for budget in (0, 1000, "automatic", "many", "", 2.5, None, float("nan")):
        with pytest.raises(UserError, match="a whole number from 1 to .*, or auto"):
            complete_settings(name, {"budget": budget})


def test_prompt_lookup_copies_from_the_first_longest_ngram():
    drafter = make(("prompt-lookup", {"length": 4}), None)
    drafter.reset([5, 1, 2, 3, 7, 8, 9, 1, 2, 3, 6, 2, 3])
    draft = drafter.propose(WIDE)
    assert draft.tree.tokens == (7, 8, 9, 1) and draft.tree.parents == (-1, 0, 1, 2)
    assert draft.details["attempts"] == [{"length": 3, "hits": 0}, {"length": 2, "hits": 2}]
    assert draft.details["position"] == 4
    drafter.reset([1, 1])
    assert drafter.propose(WIDE).tree.tokens == (1,)


def test_prompt_lookup_equals_transformers():
    import torch
    from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

    rng = np.random.default_rng(0)
    theirs = PromptLookupCandidateGenerator(num_output_tokens=10, max_matching_ngram_size=3, max_length=10_000)
    ours = make(("prompt-lookup", {}), None)
    for _ in range(200):
        context = rng.integers(0, 5, rng.integers(2, 40)).tolist()
        ours.reset(context)
        expected = theirs.get_candidates(torch.tensor([context]))[0][0, len(context):].tolist()
        assert list(ours.propose(WIDE).tree.tokens) == expected


def test_fusion_credits_both_sources_and_shows_the_passage(store):
    document = store.tokens[:60].tolist()
    drafter = make(("fusion", {"budget": 8}), store)
    drafter.reset([*document[10:22], 0, 0, *document[10:18]])
    draft = drafter.propose(WIDE)
    assert draft.tree.tokens[0] == document[18]
    assert draft.details["sources"][0] == ["context", "rest"]
    assert draft.details["matches"]["context"]["length"] >= 8 and draft.details["matches"]["rest"]["length"] >= 8
    snippet = draft.details["snippets"][draft.details["provenance"][0]]
    assert draft.details["documents"][snippet["document"]] == "document 0"
    assert snippet["match"].endswith(f"t{document[17]}") and snippet["after"].startswith(f"t{document[18]}")
