"""Snippets are text for people: characters that several tokens share stand whole in them."""

import re

import pytest

from spec_core.datastore.build import build_store
from spec_core.datastore.corpus import files_corpus
from spec_core.datastore.store import open_store
from spec_core.drafters.base import Limits
from spec_core.drafters.fusion import FusionDrafter
from spec_core.drafters.rest import RestDrafter
from spec_core.pieces import Pieces
from tests.spec_core.datastore.datastore_reference import trained

TEXT = "投机解码：草稿模型先写，目标模型再验证。🎉👩‍👩‍👧 é\n" * 3
CUT = re.compile(r"(⟨[0-9a-f]{2}⟩){1,3}$")


@pytest.fixture(params=[256, 290], ids=["a token a byte", "some merged"])
def tokenizer(request):
    return trained([TEXT], request.param)


@pytest.fixture(params=[lambda *made: RestDrafter(*made, continuation=7), FusionDrafter], ids=["rest", "fusion"])
def drafter(request, tokenizer, tmp_path, monkeypatch):
    monkeypatch.setenv("SPECLAB_DATASTORES", str(tmp_path / "stores"))
    (tmp_path / "页面.md").write_text(TEXT, encoding="utf-8")
    build_store(files_corpus([tmp_path / "页面.md"]), "chinese", tokenizer)
    return request.param(open_store("chinese", tokenizer), Pieces(tokenizer))


def test_every_character_is_whole_but_one_that_the_end_cuts(drafter, tokenizer):
    ids = tokenizer.encode(TEXT)
    cut = 0
    for end in range(2, len(ids) // 2):
        drafter.reset(ids[:end])
        details = drafter.propose(Limits(7, 20)).details
        assert details["snippets"] and details["documents"] == ["页面.md"]
        for snippet in details["snippets"]:
            around = snippet["before"] + snippet["match"] + snippet["after"]
            begun = CUT.search(around)
            cut += begun is not None
            assert CUT.sub("", around) in TEXT and (begun is None or snippet["after"].endswith(begun[0]))
    assert cut, "no snippet ended inside a character: this proved nothing"


@pytest.mark.parametrize("tokenizer", [256], indirect=True, ids=["a token a byte"])
def test_a_match_that_begins_or_ends_inside_a_character_shows_it_once(drafter, tokenizer):
    ids = tokenizer.encode("先写")
    drafter.reset(ids[1:-1])  # 先 without its first token, 写 without its last
    snippet = drafter.propose(Limits(7, 20)).details["snippets"][0]
    around = snippet["before"] + snippet["match"] + snippet["after"]
    assert "先" in snippet["match"] and snippet["after"].startswith("写") and around.count("写") == 1
    assert CUT.sub("", around) in TEXT
