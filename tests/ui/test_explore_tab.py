"""The Explore drafts tab's server functions: what a page sends may be anything, and nothing blocks the event loop."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "spec_core" / "datastore"))

from datastore_reference import TEXTS, trained  # noqa: E402
from fakes import run_coroutine  # noqa: E402

from spec_core import models  # noqa: E402
from spec_core.datastore.build import build_store  # noqa: E402
from spec_core.datastore.corpus import files_corpus  # noqa: E402
from spec_core.messages import UserError, catalogue  # noqa: E402
from spec_core.models import Cancelled  # noqa: E402
from ui import explore  # noqa: E402
from ui.errands import Errands  # noqa: E402
from ui.explore import Explorers, server_functions  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TEXT = "for i in range(30):\n    print(i"


@pytest.fixture(scope="module")
def tokenizer():
    return trained(list(TEXTS.values()))


@pytest.fixture
def folder(tmp_path, monkeypatch, tokenizer) -> Path:
    """Two stores, and a tokenizer that is on this machine."""
    monkeypatch.setenv("SPECLAB_DATASTORES", str(tmp_path / "stores"))
    monkeypatch.setattr(models, "local_tokenizer", lambda name: tokenizer)
    for name, text in TEXTS.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    build_store(files_corpus([tmp_path / "corpus"]), "first", tokenizer)
    build_store(files_corpus([tmp_path / "corpus" / "sub"]), "second", tokenizer)
    return tmp_path


@pytest.fixture
def functions(folder) -> dict[str, Any]:
    return {function.__name__: function for function in server_functions(Explorers())}


def call(functions: dict[str, Any], name: str, data: Any) -> Any:
    answer = run_coroutine(functions[name](data))
    json.dumps(answer, allow_nan=False).encode()
    return answer


def finish(functions: dict[str, Any], started: dict[str, Any]) -> dict[str, Any]:
    async def wait() -> dict[str, Any]:
        while True:
            now = await functions["errand"](started)
            if now["state"] != "running":
                return now
            await asyncio.sleep(0.01)

    return run_coroutine(wait())


def test_two_stores_draft_side_by_side(functions):
    drafts = call(functions, "look", {"stores": ["first", "second"], "text": TEXT, "settings": {"budget": 7}})["drafts"]
    first, second = drafts
    assert first["run"]["datastore"]["name"] == "first" and 0 < first["step"]["selected"] <= 7
    assert first["step"]["match"]["hits"] and second["step"]["match"]["hits"] == 0
    assert [fact["key"] for fact in second["step"]["facts"]][-1] == "explore.fact.nothing"
    assert "".join(first["run"]["prompt_pieces"]) == TEXT
    keys = {fact["key"] for draft in drafts for fact in draft["step"]["facts"]}
    assert keys <= catalogue("en").keys() and not {"player.fact.verified", "player.fact.selected"} & keys


def test_nothing_typed_is_an_empty_draft(functions):
    step = call(functions, "look", {"stores": ["first"], "text": "", "settings": {}})["drafts"][0]["step"]
    assert step["selected"] == 0 and [fact["key"] for fact in step["facts"]] == ["explore.fact.empty"]


@pytest.mark.parametrize(("least", "too_short"), [(1, False), (2, True), (5, True)])
def test_what_was_not_looked_up_is_not_said_to_be_missing(functions, least, too_short):
    draft = call(functions, "look", {"stores": ["first"], "text": "~", "settings": {"min_suffix": least}})["drafts"][0]
    facts = [(fact["key"], fact["values"]) for fact in draft["step"]["facts"]]
    assert len(draft["run"]["prompt_pieces"]) == 1
    assert (facts == [("explore.fact.too_short", {"least": least})]) is too_short
    assert not too_short or not draft["step"]["match"]["attempts"]


def test_a_very_long_context_is_cut(functions):
    draft = call(functions, "look", {"stores": ["first"], "text": "x" * 100_000 + TEXT})["drafts"][0]
    assert sum(map(len, draft["run"]["prompt_pieces"])) == explore.MAX_CONTEXT and draft["step"]["match"]["hits"]


@pytest.mark.parametrize("data", [None, 3, "x", [], {}, {"stores": 5}, {"stores": [None, {}]}, {"stores": ["../../etc"]},
                                  {"stores": ["first"], "settings": {"budget": "many"}}, {"stores": [""], "text": 7},
                                  {"stores": ["first"], "settings": {"min_suffix": 20, "max_suffix": 2}},
                                  {"stores": ["nowhere"], "node": "x"}, {"stores": ["\ud800"]}])
def test_nonsense_is_answered_with_a_sentence(functions, data):
    problem = call(functions, "look", data)["drafts"][0]["problem"]
    assert problem["en"] and problem["zh"] and problem["en"] != problem["zh"]
    assert "problem" in call(functions, "sources", data)
    replay = call(functions, "replay", data)
    assert "problem" in (replay if "problem" in replay else finish(functions, replay))
    assert call(functions, "errand", data) == {"state": "cancelled"}
    call(functions, "stores", data)


def test_a_node_out_of_range_and_half_a_character_are_answered(functions):
    asked = {"stores": ["first"], "text": TEXT + "\ud83c", "settings": {}}
    call(functions, "look", asked)
    assert call(functions, "sources", asked | {"node": 10**12})["problem"]["key"] == "explore.no_node"


def test_a_click_gives_documents_with_what_to_highlight(functions):
    asked = {"stores": ["first"], "text": TEXT, "settings": {}}
    piece = call(functions, "look", asked)["drafts"][0]["step"]["pieces"][0]
    answer = call(functions, "sources", asked | {"node": 0})
    passage = answer["passages"][0]
    assert passage["document"] == "corpus/loops.py" and passage["path"] == piece and TEXT.endswith(passage["match"])


def test_a_replay_runs_beside_the_page(functions):
    held = TEXTS["sub/words.txt"]
    end = finish(functions, call(functions, "replay", {"stores": ["first", "second"], "text": held}))
    assert end["state"] == "done" and [result["store"] for result in end["result"]] == ["first", "second"]
    for result in end["result"]:
        assert result["tokens_per_call"] > 1 and 0 < result["hit_share"] <= 1
        assert sum(row["share"] for row in result["rows"]) == pytest.approx(1)


def test_a_text_that_is_too_large_or_too_short_is_told(functions, monkeypatch):
    end = finish(functions, call(functions, "replay", {"stores": ["first"], "text": ""}))
    assert end["state"] == "failed" and end["problem"]["key"] == "coverage.too_short"
    monkeypatch.setattr(explore, "MAX_REPLAY", 10)
    assert call(functions, "replay", {"stores": ["first"], "text": "x" * 11})["problem"]["key"] == "explore.too_large"


def test_a_store_that_is_rebuilt_is_opened_again(functions, folder, tokenizer):
    asked = {"stores": ["second"], "text": TEXT}
    assert not call(functions, "look", asked)["drafts"][0]["step"]["match"]["hits"]
    build_store(files_corpus([folder / "corpus"]), "second", tokenizer, replace=True)
    assert call(functions, "look", asked)["drafts"][0]["step"]["match"]["hits"]


def test_the_default_store_can_be_built_here(functions, folder, monkeypatch, tokenizer):
    draft = call(functions, "look", {"stores": ["python-stdlib"], "text": TEXT})["drafts"][0]
    assert draft["build"] is True and "problem" in draft
    assert call(functions, "look", {"stores": ["nowhere"], "text": TEXT})["drafts"][0]["build"] is False
    listed = call(functions, "stores", {})
    assert listed["stores"][0] == "python-stdlib" and listed["built"] == ["first", "second"]

    def prepare(store, target, progress, cancelled):
        build_store(files_corpus([folder / "corpus"]), "python-stdlib", tokenizer)

    monkeypatch.setattr(explore, "prepare_bundled", prepare)
    assert finish(functions, call(functions, "build", {}))["state"] == "done"
    assert call(functions, "look", {"stores": ["python-stdlib"], "text": TEXT})["drafts"][0]["step"]["match"]["hits"]


def test_retrieval_does_not_hold_the_event_loop(functions, monkeypatch):
    """While a look waits in its thread, the loop goes on: it is the loop that lets the look end."""
    gate = threading.Event()
    real = explore.draft_view
    monkeypatch.setattr(explore, "draft_view", lambda found: gate.wait(20) and real(found))

    async def both() -> dict[str, Any]:
        looking = asyncio.create_task(functions["look"]({"stores": ["first"], "text": TEXT}))
        await asyncio.sleep(0)
        gate.set()
        return await looking

    assert run_coroutine(both())["drafts"][0]["step"]["match"]["hits"]


# --- errands ------------------------------------------------------------------------------


def until_over(errands: Errands, name: str) -> dict[str, Any]:
    while not errands.get(name).over:
        threading.Event().wait(0.005)
    return errands.get(name).look()


def test_an_errand_is_cancelled_by_who_started_it():
    errands, begun = Errands("coverage.waiting"), threading.Event()

    def work(progress, cancelled):
        progress("coverage.replay", 0.5)
        begun.set()
        while not cancelled():
            threading.Event().wait(0.005)
        raise Cancelled

    name = errands.start(work)
    begun.wait(20)
    assert errands.get(name).look() == {"state": "running", "stage": "coverage.replay", "fraction": 0.5}
    errands.get(name).cancel()
    assert until_over(errands, name) == {"state": "cancelled"}


def test_an_errand_that_nobody_asks_about_ends():
    errands, asked = Errands("coverage.waiting", patience=0.0), []

    def work(progress, cancelled):
        asked.append(cancelled())
        raise Cancelled

    name = errands.start(work)
    while not errands.get(name).over:
        threading.Event().wait(0.005)
    assert asked in ([True], [])  # before it began, or at its first report


def test_errands_are_bounded_and_joined():
    errands, gate = Errands("coverage.waiting", most=2, kept=1), threading.Event()
    first = errands.start(lambda progress, cancelled: gate.wait(20), key="the same")
    assert errands.start(lambda progress, cancelled: None, key="the same") == first
    second = errands.start(lambda progress, cancelled: 2)
    with pytest.raises(UserError):
        errands.start(lambda progress, cancelled: 3)
    gate.set()
    assert until_over(errands, second) == {"state": "done", "result": 2}
    for _ in range(5):
        until_over(errands, errands.start(lambda progress, cancelled: None))
    assert errands.get(first) is None, "errands that are over are forgotten"


def test_a_failing_errand_tells_no_secrets():
    def work(progress, cancelled):
        raise RuntimeError("secret path /home/somebody")

    errands = Errands("coverage.waiting")
    end = until_over(errands, errands.start(work))
    assert end["state"] == "failed" and "secret" not in json.dumps(end)


# --- words --------------------------------------------------------------------------------


def test_every_word_of_the_tab_is_known_and_used():
    sources = [ROOT / "ui" / "explore.py", ROOT / "visualizers" / "explore.py", ROOT / "ui" / "errands.py",
               *(ROOT / "ui" / "web").glob("explore*.js"), ROOT / "ui" / "page.py", ROOT / "spec_core" / "explore.py",
               ROOT / "spec_core" / "models.py", ROOT / "spec_core" / "coverage.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    said = set(re.findall(r'["\'`]((?:explore|coverage)\.[\w.]+)["\'`]', text))
    said |= {f"explore.fact.{name}" for name in re.findall(r'_fact\("(\w+)"', text)}
    said |= {f"explore.{name}" for name in explore.SETTINGS}
    said |= {f"coverage.{name}" for name in ("hit_share", "tokens_per_call", "length", "share", "per_call")}
    said |= {f"coverage.{name}.about" for name in ("hit_share", "tokens_per_call")}
    known = catalogue("en", "explore").keys()
    said = {key for key in said if not key.endswith((".js", ".css"))} - {"explore.player."}
    assert said <= known, said - known
    unused = {key for key in known if key not in said and not key.startswith("explore.player.") and not key.endswith(".one")}
    assert not unused
    for key in known:
        if key.startswith("explore.player."):
            assert key.removeprefix("explore.") in catalogue("en", "player"), f"{key} stands in for nothing"
