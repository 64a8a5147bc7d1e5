"""The REST drafter: its drafts follow the context, its limits and its settings; its details are true."""

import json

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from spec_core.datastore.build import build_store
from spec_core.datastore.corpus import Corpus, Document
from spec_core.datastore.store import open_store
from spec_core.drafters.base import Limits
from spec_core.drafters.rest import MAX_SNIPPETS, RestDrafter
from spec_core.messages import UserError
from spec_core.pieces import Pieces

WIDE = Limits(max_depth=100, max_nodes=1000)
WORDS = "the cat sat on a mat and dog ran <script>alert(1)</script> 投机 🎉".split()


class Texts(Corpus):
    """Documents that need no files."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__([], [], "texts")
        self.texts = texts

    def __iter__(self):
        return (Document(name, text, len(text)) for name, text in self.texts.items())


@pytest.fixture(scope="module")
def tokenizer():
    model = models.WordLevel({"<unk>": 0, **{word: i for i, word in enumerate(WORDS, 1)}}, unk_token="<unk>")
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend)


@pytest.fixture
def drafter(tokenizer, tmp_path, monkeypatch):
    """Makes a drafter over texts."""
    monkeypatch.setenv("SPECLAB_DATASTORES", str(tmp_path))

    def make(texts, **settings):
        build_store(Texts(texts), "texts", tokenizer)
        return RestDrafter(open_store("texts", tokenizer), Pieces(tokenizer), **settings)
    return make


CATS = {"one": "the cat sat on a mat", "two": "a dog and the cat sat on the dog", "three": "the cat ran"}


def test_the_draft_is_the_heaviest_trie_of_the_longest_suffix(drafter, tokenizer):
    rest = drafter(CATS)
    rest.reset(tokenizer.encode("dog the cat"))
    draft = rest.propose(WIDE)
    ids = {word: i for i, word in enumerate(WORDS, 1)}
    assert draft.tree.tokens == tuple(ids[w] for w in ("sat", "ran", "on", "the", "a", "dog", "mat"))
    assert draft.tree.parents == (-1, -1, 0, 2, 2, 3, 4)
    assert draft.tree.weights == (2, 1, 2, 1, 1, 1, 1)
    details = draft.details
    assert details["matched"] == 2 and details["hits"] == 3 and details["suffix"] == ["the", "cat"]
    assert {a["length"]: a["hits"] for a in details["attempts"]} == {2: 3, 3: 0}


def test_details_tell_where_each_node_comes_from(drafter, tokenizer):
    rest = drafter(CATS)
    rest.reset(tokenizer.encode("the cat"))
    draft = rest.propose(WIDE)
    details = json.loads(json.dumps(draft.details))
    assert len(details["provenance"]) == len(draft.tree)
    for node, snippet in enumerate(details["provenance"]):
        snippet = details["snippets"][snippet]
        name = details["documents"][snippet["document"]]
        path = [WORDS[draft.tree.tokens[n] - 1] for n in draft.tree.path(node)]
        words = CATS[name].split()
        at = snippet["offset"]
        assert words[at:at + 2 + len(path)] == ["the", "cat", *path]
        assert snippet["match"] == "thecat" and snippet["after"].startswith("".join(path))
        assert snippet["before"] == "".join(words[:at])
    assert sorted(details["documents"]) == ["one", "three", "two"]


def test_limits_hold_and_what_is_left_out_is_shown(drafter, tokenizer):
    rest = drafter(CATS, budget=3)
    rest.reset(tokenizer.encode("the cat"))
    whole = rest.propose(WIDE)
    rest_of = whole.details["unselected"]
    assert len(whole.tree) == 3 and len(rest_of["tokens"]) == 4
    assert rest_of["weights"] == sorted(rest_of["weights"], reverse=True)
    assert all(parent < 3 + i for i, parent in enumerate(rest_of["parents"]))
    assert rest_of["pieces"] == [WORDS[t - 1] for t in rest_of["tokens"]]
    assert max(rest.propose(Limits(max_depth=2, max_nodes=9)).tree.depths) == 2
    assert len(rest.propose(Limits(max_depth=9, max_nodes=1)).tree) == 1
    for limits in (Limits(0, 9), Limits(9, 0), Limits(-1, -1)):
        draft = rest.propose(limits)
        assert len(draft.tree) == 0 and draft.details["matched"] == 2


def test_commit_is_the_same_as_a_longer_context(drafter, tokenizer):
    texts = {"long": " ".join(np.random.default_rng(0).choice(WORDS[:5], 400))}
    stepwise, whole = drafter(texts, max_suffix=6), None
    context = tokenizer.encode(texts["long"])[:60]
    stepwise.reset(context[:2])
    for at in range(2, 58, 2):
        stepwise.commit(context[at:at + 2])
        whole = RestDrafter(stepwise._store, stepwise._pieces, max_suffix=6)
        whole.reset(context[:at + 2])
        assert stepwise.propose(WIDE) == whole.propose(WIDE) == stepwise.propose(WIDE)
    assert len(stepwise._recent) == 6


def test_no_match_gives_an_empty_tree_that_says_so(drafter, tokenizer):
    rest = drafter(CATS)
    for context in ([], [999_999], [-5], tokenizer.encode("mat mat"), tokenizer.encode("cat")):
        rest.reset(context)
        draft = rest.propose(WIDE)
        assert len(draft.tree) == 0
        assert draft.details["matched"] == 0 and draft.details["hits"] == 0 and draft.details["snippets"] == []
        assert all(attempt["hits"] == 0 for attempt in draft.details["attempts"])
    assert [a["length"] for a in draft.details["attempts"]] == []
    rest.reset(tokenizer.encode("mat mat"))
    assert rest.propose(WIDE).details["attempts"] == [{"length": 2, "hits": 0}]


def test_untrusted_text_stays_text(drafter, tokenizer):
    rest = drafter({"<b>name</b>": "the 投机 🎉 <script>alert(1)</script>"})
    rest.reset(tokenizer.encode("the 投机"))
    details = rest.propose(WIDE).details
    assert details["documents"] == ["<b>name</b>"]
    assert details["snippets"][0]["after"] == "🎉<script>alert(1)</script>"


def test_details_stay_small(drafter, tokenizer):
    words = np.random.default_rng(2).choice(WORDS, 30_000)
    rest = drafter({f"document {i}": " ".join(words[i::10]) for i in range(10)}, budget=256, min_suffix=1)
    rest.reset(tokenizer.encode("the"))
    draft = rest.propose(WIDE)
    assert len(draft.tree) == 256 and len(draft.details["snippets"]) == MAX_SNIPPETS
    assert None in draft.details["provenance"]
    rest = RestDrafter(rest._store, rest._pieces, min_suffix=1)
    rest.reset(tokenizer.encode("the"))
    assert len(json.dumps(rest.propose(WIDE).details, ensure_ascii=False).encode()) < 8192


@pytest.mark.parametrize("settings", [
    {"max_suffix": 0}, {"max_suffix": 10**9}, {"min_suffix": 0}, {"continuation": 0}, {"continuation": 10**6},
    {"budget": 0}, {"budget": 10**6}, {"budget": "many"}, {"budget": 2.5}, {"min_suffix": 9, "max_suffix": 8},
    {"budget": float("nan")},
])
def test_absurd_settings_are_refused(settings, drafter):
    with pytest.raises(UserError):
        drafter(CATS, **settings)


def test_on_the_default_target_and_store_of_real_code(tmp_path, monkeypatch):
    """SmolLM2's tokenizer, and a few modules of the standard library."""
    import json.decoder

    from spec_core.datastore.corpus import files_corpus
    from spec_core.models import load_tokenizer

    monkeypatch.setenv("SPECLAB_DATASTORES", str(tmp_path))
    tokenizer = load_tokenizer("smollm2-135m")
    source = json.decoder.__file__
    build_store(files_corpus([source]), "json", tokenizer)
    rest = RestDrafter(open_store("json", tokenizer), Pieces(tokenizer))
    rest.reset(tokenizer.encode("class JSONDecoder(object):\n    \"\"\"Simple JSON"))
    draft = rest.propose(Limits(10, 40))
    assert draft.details["documents"] == ["decoder.py"]
    assert tokenizer.decode(draft.tree.tokens).startswith(" <https://json.org>")
