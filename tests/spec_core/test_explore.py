"""Exploring a store: the draft is REST's, the passages are in the documents, and coverage equals brute force."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies

sys.path.insert(0, str(Path(__file__).parent / "datastore"))

from datastore_reference import TEXTS, brute_match, brute_trie, memory_store, trained  # noqa: E402

from spec_core import models  # noqa: E402
from spec_core.__main__ import main  # noqa: E402
from spec_core.coverage import agreement, replay  # noqa: E402
from spec_core.datastore.build import build_store  # noqa: E402
from spec_core.datastore.corpus import files_corpus  # noqa: E402
from spec_core.datastore.encoding import encoder, fingerprint  # noqa: E402
from spec_core.datastore.store import open_store  # noqa: E402
from spec_core.drafters.base import Limits  # noqa: E402
from spec_core.drafters.rest import RestDrafter  # noqa: E402
from spec_core.explore import MOST_HITS, Explorer  # noqa: E402
from spec_core.messages import UserError  # noqa: E402
from spec_core.models import Cancelled  # noqa: E402
from spec_core.pieces import Pieces  # noqa: E402
from spec_core.tree import ROOT, DraftTree  # noqa: E402

ROOT_FOLDER = Path(__file__).resolve().parents[2]
WITH_ONE = {"min_suffix": 1}


@pytest.fixture(scope="module")
def tokenizer():
    return trained(list(TEXTS.values()))


@pytest.fixture
def explorer(tmp_path, monkeypatch, tokenizer) -> Explorer:
    monkeypatch.setenv("SPECLAB_DATASTORES", str(tmp_path / "stores"))
    for name, text in TEXTS.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    build_store(files_corpus([tmp_path / "corpus"]), "tiny", tokenizer)
    return Explorer(open_store("tiny"), tokenizer)


# --- a look ---------------------------------------------------------------------------


def test_a_look_is_what_rest_proposes(explorer: Explorer):
    text = "for i in range(30):\n    print(i"
    found = explorer.look(text, {"budget": 6, "continuation": 4})
    drafter = RestDrafter(explorer.store, explorer.pieces, budget=6, continuation=4)
    drafter.reset(explorer.ids(text))
    draft = drafter.propose(Limits(4, 100))
    assert found.draft.tree == draft.tree and found.step.details == draft.details
    assert found.step.details["matched"] >= 2 and 0 < len(found.step.tree.tokens) <= 6
    assert found.run["prompt_ids"] == explorer.ids(text) and "".join(found.run["prompt_pieces"]) == text


def test_a_look_claims_nothing_of_a_target(explorer: Explorer):
    step = explorer.look("for i in", {}).step
    assert set(step.tree.verdicts) == {"unreached"} and set(step.tree.target_probs) == {None}
    assert step.committed.ids == [] and step.mask_sha256 == "" and set(step.ms) == {"draft"}


@pytest.mark.parametrize("text", ["", "\0\0", "ᚠᛇᚻ᛫", "👩‍👩‍👧‍👦", "<script>alert('x')</script>", "投机解码", "\ud800 half"])
def test_any_text_is_looked_up(explorer: Explorer, text: str):
    found = explorer.look(text, WITH_ONE)
    assert found.step.context_length == len(explorer.ids(text))
    assert len(found.step.tree.tokens) == len(found.step.tree.weights)


def test_a_wrong_setting_is_told(explorer: Explorer):
    for wrong in ({"budget": 0}, {"min_suffix": 9, "max_suffix": 3}, {"continuation": "many"}, {"nonsense": 1}):
        with pytest.raises(UserError):
            explorer.look("for", wrong)


def test_a_store_of_another_tokenizer_is_refused(explorer: Explorer):
    with pytest.raises(UserError) as refused:
        Explorer(explorer.store, trained(["quite another text about nothing at all"], 300))
    assert refused.value.key == "datastore.other_tokenizer"


# --- where a node comes from ------------------------------------------------------------


def test_every_passage_is_in_its_document(explorer: Explorer):
    text = "for i in range(30):\n    print(i"
    found = explorer.look(text, WITH_ONE)
    n = len(found.step.tree.tokens) + len(found.step.details["unselected"]["tokens"])
    tree = found.draft.tree
    for node in range(ROOT, n):
        sources = explorer.sources(text, WITH_ONE, node)
        weight = found.step.details["hits"] if node == ROOT else \
            (*tree.weights, *found.step.details["unselected"]["weights"])[node]
        assert sources.hits == sources.looked_at == weight
        assert sum(passage.hits for passage in sources.passages) == weight and len(sources.passages) == sources.documents
        for passage in sources.passages:
            whole = TEXTS[passage.document.removeprefix("corpus/")]
            around = passage.before + passage.match + passage.path + passage.after
            assert around in whole
            assert passage.match == "".join(found.step.details["suffix"])
            begin = next(i for i in range(len(whole)) if whole.startswith(around, i)
                         and whole[:i + len(passage.before)].count("\n") + 1 == passage.line)
            assert explorer.ids(whole[:begin + len(passage.before)]) == explorer.ids(whole)[:passage.offset]
    deepest = max(range(len(tree)), key=lambda i: tree.depths[i])
    path = "".join(explorer.pieces.of(tree.tokens[i] for i in tree.path(deepest)))
    assert explorer.sources(text, WITH_ONE, deepest).passages[0].path == path


def test_a_document_says_how_often_it_holds_the_node(explorer: Explorer):
    sources = explorer.sources("the", WITH_ONE, ROOT)
    text = TEXTS["sub/words.txt"]
    assert [p.document for p in sources.passages] == ["corpus/sub/words.txt"]
    ids, sought = explorer.ids(text), explorer.ids("the")
    assert sources.hits == sum(ids[i:i + len(sought)] == sought for i in range(len(ids)))


def test_characters_of_several_tokens_stay_whole(explorer: Explorer):
    for text in ("# 投机解码", "\n草稿模型先写", "再验证。🎉"):
        for node in range(ROOT, 4):
            passages = explorer.sources(text, WITH_ONE, node).passages
            assert passages
            for passage in passages:
                around = passage.before + passage.match + passage.path + passage.after
                assert "⟨" not in around and around in TEXTS[passage.document.removeprefix("corpus/")]


def test_no_match_has_no_documents_and_no_node_is_told(explorer: Explorer):
    assert explorer.sources("ᚠᛇᚻ", {}, ROOT).passages == []
    with pytest.raises(UserError) as told:
        explorer.sources("for i in", {}, 10_000)
    assert told.value.key == "explore.no_node"


def test_of_very_many_hits_some_are_looked_up(explorer: Explorer, monkeypatch):
    monkeypatch.setattr("spec_core.explore.MOST_HITS", 3)
    sources = explorer.sources("the", WITH_ONE, ROOT)
    assert MOST_HITS > sources.hits > sources.looked_at == 3


# --- coverage ---------------------------------------------------------------------------


def brute_coverage(documents, text, longest, shortest, depth, budget):
    """(positions, calls, accepted, drafted) by matched length, by trying everything."""
    positions, calls, accepted, drafted = ([0] * (longest + 1) for _ in range(4))
    turn = 1
    for i in range(1, len(text)):
        length, continuations = brute_match(documents, text[:i], longest, shortest)
        positions[length] += 1
        if i < turn:
            continue
        left = len(text) - i - 1
        paths = {path for path, _ in brute_trie(continuations, min(depth, left), budget)}
        agreed = max((len(path) for path in paths if tuple(text[i:i + len(path)]) == path), default=0)
        calls[length] += 1
        accepted[length] += agreed
        drafted[length] += len(paths)
        turn = i + agreed + 1
    return positions, calls, accepted, drafted


class AnyPieces:
    """Ids are their own pieces."""

    def __getitem__(self, token: int) -> str:
        return f"t{token}"

    def of(self, tokens) -> list[str]:
        return [self[token] for token in tokens]


DOCUMENTS = strategies.lists(strategies.lists(strategies.integers(0, 2), min_size=1, max_size=14), min_size=1, max_size=4)


@settings(deadline=None, max_examples=150)
@given(DOCUMENTS, strategies.lists(strategies.integers(0, 3), min_size=2, max_size=24), strategies.integers(1, 5),
       strategies.integers(1, 3), strategies.integers(1, 4), strategies.integers(1, 9))
def test_coverage_equals_brute_force(documents, text, longest, shortest, depth, budget):
    shortest = min(shortest, longest)
    store = memory_store([documents[:2], documents[2:]] if len(documents) > 2 else [documents], 4, np.uint16)
    drafter = RestDrafter(store, AnyPieces(), max_suffix=longest, min_suffix=shortest, continuation=depth, budget=budget)
    found = replay(drafter, store, text)
    assert (found.positions, found.calls, found.accepted, found.drafted) == brute_coverage(
        documents, text, longest, shortest, depth, budget)
    assert found.tokens_per_call == (len(text) - 1) / sum(found.calls)
    assert sum(found.calls) + sum(found.accepted) == len(text) - 1 == sum(found.positions)
    assert 0 <= found.hit_share <= 1


def test_a_text_of_the_store_is_covered(explorer: Explorer):
    text = TEXTS["sub/words.txt"]
    found = explorer.coverage(text, {"continuation": 10, "min_suffix": 1})
    assert found.hit_share == 1.0 and found.tokens_per_call > 4
    strange = explorer.coverage("ᚠᛇᚻ᛫ᛒᛦᚦ", {})
    assert strange.hit_share == 0.0 and strange.tokens_per_call == 1.0


def test_a_replay_reports_and_can_be_cancelled(explorer: Explorer):
    told: list[float] = []
    with pytest.raises(Cancelled):
        explorer.coverage("the cat " * 2000, {}, lambda stage, done: told.append(done), lambda: len(told) > 3)
    assert len(told) == 4 and told == sorted(told) and told[-1] < 1


def test_a_long_text_is_cancelled_while_it_is_tokenised(explorer: Explorer, monkeypatch):
    monkeypatch.setattr("spec_core.explore.PART_CHARACTERS", 100)
    text, tokenised, told = TEXTS["sub/words.txt"] * 20, [], []
    ids = explorer.ids
    monkeypatch.setattr(explorer, "ids", lambda part: tokenised.append(part) or ids(part))
    with pytest.raises(Cancelled):
        explorer.coverage(text, {}, lambda stage, done: told.append((stage, done)), lambda: len(tokenised) == 3)
    assert [stage for stage, _ in told] == ["coverage.tokenise"] * 4 and told[-1][1] < 0.5
    assert text.startswith("".join(tokenised)) and len(tokenised) == 3


def test_a_text_tokenised_in_parts_is_replayed_as_a_whole(explorer: Explorer, monkeypatch):
    text = TEXTS["loops.py"] * 9 + TEXTS["页面.md"]
    whole = explorer.coverage(text, {})
    monkeypatch.setattr("spec_core.explore.PART_CHARACTERS", 100)
    assert explorer.coverage(text, {}) == whole


def test_a_replay_needs_two_tokens(explorer: Explorer):
    with pytest.raises(UserError) as told:
        explorer.coverage("", {})
    assert told.value.key == "coverage.too_short"


def test_the_longest_agreeing_path_counts():
    tree = DraftTree.from_paths([(1, 2, 3), (1, 4), (5,)])
    assert [agreement(tree, text) for text in ([1, 2, 3, 9], [1, 4, 3], [5], [2], [], [1, 2])] == [3, 2, 1, 0, 0, 2]


# --- the command line, and no torch ------------------------------------------------------


def test_the_commands_share_the_core(explorer: Explorer, tokenizer, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(models, "load_tokenizer", lambda name, progress=None: tokenizer)
    held = tmp_path / "held.txt"
    held.write_text(TEXTS["sub/words.txt"], encoding="utf-8")
    assert main(["datastore", "coverage", "tiny", str(held), "--min-suffix", "1"]) == 0
    printed = capsys.readouterr().out
    found = explorer.coverage(TEXTS["sub/words.txt"], WITH_ONE)
    assert f"simulated, if a target wrote exactly this text: {found.tokens_per_call:.2f} tokens per target call" in printed
    assert f"{found.hit_share:.1%}" in printed and sum(found.positions) == found.tokens - 1
    assert main(["datastore", "search", "tiny", "on the"]) == 0
    details = explorer.look("on the", WITH_ONE).step.details
    assert f"matched {details['matched']} token" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["nowhere.txt", "binary", "short"])
def test_what_cannot_be_replayed_is_told(explorer: Explorer, tokenizer, tmp_path, monkeypatch, capsys, file: str):
    monkeypatch.setattr(models, "load_tokenizer", lambda name, progress=None: tokenizer)
    (tmp_path / "binary").write_bytes(b"\xff\0")
    (tmp_path / "short").write_text("a")
    assert main(["datastore", "coverage", "tiny", str(tmp_path / file)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1 and not captured.out


def test_exploring_needs_no_torch(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECLAB_DATASTORES", str(tmp_path / "stores"))
    (tmp_path / "a.txt").write_text("one two three\n" * 9, encoding="utf-8")
    build_store(files_corpus([tmp_path / "a.txt"]), "small", models.load_tokenizer(models.DEFAULT))
    script = "import sys; from spec_core.explore import open_explorer; e = open_explorer('small'); " \
             "assert e.look('one two', {}).step.tree.tokens; e.coverage('one two three', {}); " \
             "sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT_FOLDER, check=True)


def test_both_ways_to_a_tokenizer_give_the_same(tmp_path):
    whole, light = models.load_tokenizer(models.DEFAULT), models.local_tokenizer(models.DEFAULT)
    assert fingerprint(whole) == fingerprint(light)
    text = "def f(x):\n\treturn  x  # 投机 🎉 <|im_end|>"
    assert encoder(whole).encode(text).ids == encoder(light).encode(text).ids
    assert Pieces(whole).of(range(0, 49_000, 97)) == Pieces(light).of(range(0, 49_000, 97))
    with pytest.raises(UserError) as told:
        models.local_tokenizer("no/such-model")
    assert told.value.key == "explore.no_tokenizer"
