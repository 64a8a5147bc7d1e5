"""What a page sends to the Datastores tab may be anything, and what it gets is its own."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes import run_coroutine
from test_builds import TEXT, Gate, builds, gate, stores, tokenizer, uploads  # noqa: F401  fixtures
from test_layers import HOLE, KEY, texts_of_python, texts_of_script

from spec_core.messages import LANGUAGES, catalogue
from ui import page, studio
from ui.builds import IN_FORM, Builds
from ui.form import Defaults
from ui.uploads import Uploads

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def functions(uploads: Uploads, builds: Builds, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:  # noqa: F811
    monkeypatch.setattr(studio, "HOLD_SECONDS", 0.05)
    return {function.__name__: function for function in studio.server_functions(uploads, builds)}


def call(function: Any, data: Any) -> Any:
    answer = function(data)
    answer = run_coroutine(answer) if asyncio.iscoroutine(answer) else answer
    return json.loads(answer.body) if hasattr(answer, "body") else answer


def sent(functions: dict[str, Any], data: bytes = TEXT, name: str = "a.txt", **more: Any) -> dict[str, Any]:
    return call(functions["send"], {"parts": [{"file": 0, "name": name, "at": 0, "data": base64.b64encode(data).decode()}], **more})


def finished(functions: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    for _ in range(2000):
        look = call(functions["look"], answer)
        if look["state"] != "running":
            return look
        time.sleep(0.01)
    raise AssertionError("the errand does not end")


def built(functions: dict[str, Any], name: str = "mine") -> None:
    call(functions["build_it"], {"upload": sent(functions)["upload"], "name": name, "target": "small"})
    for _ in range(2000):
        news = call(functions["news"], {"version": -1})
        if all(build["state"] == "finished" for build in news["builds"]):
            return
        time.sleep(0.01)
    raise AssertionError(news)


@pytest.mark.parametrize("data", [None, 3, "x", [], {}, {"upload": 5}, {"parts": [None, 3]}, {"parts": [{"file": True}]},
                                  {"parts": [{"file": 0, "name": "a", "at": 0, "data": "not base64"}]}, {"name": "../x"},
                                  {"errand": ["x"], "build": {}, "name": 7}, {"parts": [{"file": 0, "at": -1, "data": ""}]}])
def test_nonsense_is_answered_calmly(functions: dict[str, Any], stores: Path, data: Any):  # noqa: F811
    for name, function in functions.items():
        answer = call(function, data)
        assert isinstance(answer, dict), name
        if "problem" in answer:
            assert {"key", *LANGUAGES} <= answer["problem"].keys() and answer["problem"]["key"] != "studio.failed", name
    assert call(functions["news"], None)["stores"] == []


def test_a_survey_goes_to_who_has_the_upload(functions: dict[str, Any]):
    upload = sent(functions, b'{"text": "one"}\n{"text": "two", "title": "T"}', "a.jsonl")["upload"]
    look = finished(functions, call(functions["look_through"], {"upload": upload}))
    result = look["result"]
    assert (result["documents"], result["files"], result["kinds"]) == (2, 1, {"jsonl": 2})
    assert [field["name"] for field in result["fields"]] == ["text", "title"]
    look = finished(functions, call(functions["look_through"], {"upload": upload, "field": "title"}))
    assert look["result"]["documents"] == 1
    assert call(functions["look_through"], {"upload": "a guess"})["problem"]["key"] == "studio.upload_lost"


def test_a_survey_tells_guesses_and_broken_files(functions: dict[str, Any]):
    for data, name, told in (("un café".encode("latin-1"), "a.txt", {"guessed": [["a.txt", "cp1252", "un café"]], "broken": []}),
                             (b'{"text": "unterminated', "b.json", {"guessed": [], "broken": ["b.json"]})):
        result = finished(functions, call(functions["look_through"], sent(functions, data, name)))["result"]
        assert {key: result[key] for key in told} == told and orjson.loads(orjson.dumps(result)) == result, "as gradio sends it"


def test_an_archive_beyond_a_limit_is_told(functions: dict[str, Any]):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for i in range(30):
            file.writestr(f"{i}.txt", "x")
    upload = sent(functions, data.getvalue(), "many.zip")["upload"]
    look = finished(functions, call(functions["look_through"], {"upload": upload}))
    assert look["result"]["reasons"] == {"too_many_entries": 1}


def test_build_list_rename_verify_download_bring_and_delete(functions: dict[str, Any], tmp_path: Path):
    built(functions)
    (store,) = call(functions["news"], {})["stores"]
    assert (store["name"], store["documents"], store["source"]) == ("mine", 1, "a.txt")
    assert call(functions["rename"], {"name": "mine", "new": " yours "}) == {}
    assert finished(functions, call(functions["verify"], {"name": "yours"}))["result"]["tokens"] == store["tokens"]

    async def whole() -> bytes:
        return b"".join([block async for block in functions["download"]({"name": "yours"}).body_iterator])

    tar = run_coroutine(whole())
    assert call(functions["delete"], {"name": "yours"}) == {} and call(functions["news"], {})["stores"] == []
    upload = sent(functions, tar, "yours.tar", store=True)["upload"]
    assert finished(functions, call(functions["bring"], {"upload": upload}))["result"] == {"name": "yours"}
    upload = sent(functions, tar[:-20_000] if len(tar) > 40_000 else tar[:2000], "cut.tar", store=True)["upload"]
    look = finished(functions, call(functions["bring"], {"upload": upload}))
    assert look["state"] == "failed" and look["problem"]["key"] != "studio.failed"
    assert [store["name"] for store in call(functions["news"], {})["stores"]] == ["yours"]


def test_what_is_brought_under_a_name_that_cannot_be_has_a_remedy_on_the_page(functions: dict[str, Any]):
    built(functions)

    async def whole() -> bytes:
        return b"".join([block async for block in functions["download"]({"name": "mine"}).body_iterator])

    tar = run_coroutine(whole())
    for name, key, named in (("mine", "studio.bring.taken", "mine"), ("MINE", "studio.bring.taken", "mine"), ("con", "studio.bring.reserved", "con")):
        upload = sent(functions, retarred(tar, name), "x.tar", store=True)["upload"]
        problem = finished(functions, call(functions["bring"], {"upload": upload}))["problem"]
        assert problem["key"] == key and f" {named}" in problem["en"]


def retarred(tar: bytes, name: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(tar)) as old, tarfile.open(fileobj=data, mode="w") as new:
        for member in old:
            content = old.extractfile(member)
            member.name = f"{name}/{member.name.partition('/')[2]}"
            new.addfile(member, content)
    return data.getvalue()


def test_no_message_of_the_page_names_a_flag():
    """What only the command line says stands under keys of its own, which nothing else raises."""
    commands = [path for path in (ROOT / "spec_core").rglob("*.py") if path.name.endswith("commands.py")]
    elsewhere = [path for folder in ("spec_core", "ui", "visualizers") for path in (ROOT / folder).rglob("*.py") if path not in commands]
    raised = "\n".join(path.read_text(encoding="utf-8") for path in elsewhere)
    for language in LANGUAGES:
        for room in ("studio", "datastore", "explore", "core"):
            for key, text in catalogue(language, room).items():
                if key == "studio.read_only" or key in IN_FORM:  # speaks to who starts the lab; is said otherwise here
                    continue
                assert not re.search(r"--[a-z]", text) or key.startswith("datastore.build."), f"{key}: {text}"
                assert not key.startswith("datastore.build.") or f'"{key}"' not in raised, f"{key} is raised beside the command line"


def test_a_store_that_is_being_built_upon_is_left_alone(functions: dict[str, Any], gate: Gate):  # noqa: F811
    built(functions)
    gate.open.clear()
    try:
        started = call(functions["build_it"], {"upload": sent(functions)["upload"], "name": "mine", "target": "small", "grow": True})
        for act in ("rename", "delete"):
            assert call(functions[act], {"name": "mine", "new": "other"})["problem"]["key"] == "store.busy"
        call(functions["cancel"], {"build": started["build"], "key": "a guess"})
        assert call(functions["news"], {})["builds"][-1]["state"] in ("queued", "running")
        call(functions["cancel"], started)
    finally:
        gate.open.set()


def test_no_answer_gives_keys_uploads_or_paths_away(functions: dict[str, Any], gate: Gate, stores: Path):  # noqa: F811
    gate.open.clear()
    try:
        upload = sent(functions)["upload"]
        started = call(functions["build_it"], {"upload": upload, "name": "mine", "target": "small"})
        news = json.dumps(call(functions["news"], {}))
        for secret in (started["key"], upload, str(stores), ".upload-"):
            assert secret not in news
        call(functions["cancel"], started)
    finally:
        gate.open.set()


def test_where_datastores_are_read_only_the_server_changes_none(functions: dict[str, Any], uploads: Uploads, builds: Builds,  # noqa: F811
                                                                stores: Path):  # noqa: F811
    built(functions)
    upload = sent(functions)["upload"]
    before = {path: path.stat().st_mtime_ns for path in stores.rglob("*")}
    guarded = {function.__name__: function for function in studio.server_functions(uploads, builds, read_only=True)}
    assert guarded.keys() == functions.keys()
    data = {"name": "mine", "new": "other", "upload": upload, "target": "small", "grow": True, "parts": []}
    refused = {name for name, function in guarded.items() if name not in ("news", "verify", "download", "look", "give_up")
               and call(function, data)["problem"]["key"] == "studio.read_only"}
    assert refused == {"send", "forget", "look_through", "build_it", "cancel", "rename", "delete", "bring"}
    call(guarded["build_it"], data | {"name": "new", "grow": False})
    assert {path: path.stat().st_mtime_ns for path in stores.rglob("*")} == before
    assert [store["name"] for store in call(guarded["news"], {})["stores"]] == ["mine"] and len(builds.statuses()) == 1
    assert finished(guarded, call(guarded["verify"], {"name": "mine"}))["state"] == "done"


@pytest.mark.parametrize("read_only", [True, False])
def test_the_page_hands_the_rule_on(read_only: bool, stores: Path):  # noqa: F811
    blocks = page.build(Defaults("smollm2-135m", 64), read_only=read_only)
    tab, = [block for block in blocks.blocks.values() if getattr(block, "elem_id", None) == "lab-studio"]
    delete, = [function for function in tab.server_fns if function.__name__ == "delete"]
    key = call(delete, {"name": "nowhere"})["problem"]["key"]
    assert tab.props["read_only"] is read_only and (key == "studio.read_only") is read_only


def test_every_message_of_the_studio_exists_and_is_used():
    texts = [text for name in ("studio", "builds", "uploads", "templates_studio", "page")
             for text in texts_of_python(ROOT / "ui" / f"{name}.py")]
    texts += [text for path in (ROOT / "ui" / "web").glob("studio*.js") for text in texts_of_script(path)]
    texts += [key for text in texts for key in re.findall(r'data-say(?:-title)?="([^"]+)"', text)]
    asked = {text for text in texts if text.startswith("studio.") and KEY.fullmatch(text.replace(HOLE, "x"))
             and not text.endswith((".js", ".css"))}
    patterns = [re.compile(re.escape(key).replace(re.escape(HOLE), r"[\w.-]+")) for key in asked]
    known = {key for key in catalogue("en", "studio") if key.startswith("studio.")}
    for pattern in patterns:
        assert any(pattern.fullmatch(key) for key in known), pattern
    for key in known:
        assert any(pattern.fullmatch(key) for pattern in patterns), f"{key} is never said"
