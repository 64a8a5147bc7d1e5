"""A person's way through the Datastores tab: bring a corpus, build, draft with it, delete it."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from spec_core.datastore.format import datastores_folder, names
from spec_core.datastore.manage import delete_store

ROOT = Path(__file__).resolve().parents[2]
NAME = "browser test"
LONG = 60_000
"""Milliseconds for a tokenizer or a target to load."""
CODE = "def total_of_squares(numbers):\n    total = 0\n    for number in numbers:\n        total += number * number\n    return total\n"

OpenPage = Callable[..., Page]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    for name in names():
        if name.startswith(NAME):
            delete_store(name)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "src").mkdir(parents=True)
    for i in range(12):
        (folder / "src" / f"m{i}.py").write_text(CODE.replace("total_of", f"total_{i}_of") * 3, encoding="utf-8")
    (folder / "<img src=x onerror='window.broken = 1'>.txt").write_text("<script>window.broken = 1</script>", encoding="utf-8")
    (folder / "junk.bin").write_bytes(b"\0\1")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret", encoding="utf-8")
    return folder


def studio(page: Page, part: str):
    return page.locator(f'#lab-studio [data-part="{part}"]')


def action(page: Page, what: str, name: str = NAME):
    return page.locator(f'#lab-studio [data-action="{what}"][data-store="{name}"]')


def bring(page: Page, folder: Path) -> None:
    expect(page.locator("#lab-studio-title")).to_have_text("New datastore", timeout=LONG)
    studio(page, "folder").set_input_files(folder)
    expect(studio(page, "survey")).to_be_visible()


def choose(page: Page, field: str, label: str) -> None:
    """From the list, by keyboard: a name that is not listed cannot be chosen so."""
    box = page.locator(f"#{field} input")
    box.click()
    page.keyboard.press("Control+A")
    page.keyboard.type(label)
    expect(page.get_by_role("option", name=label, exact=True)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(box).to_have_value(re.compile(f"^{re.escape(label)} ?$"))


def run_with(page: Page, drafter: str) -> None:
    choose(page, "lab-drafter", drafter)
    choose(page, "lab-datastore", NAME)
    page.locator("#lab-prompt textarea").fill(CODE[:60])
    before = page.evaluate("speculationLab.channels.live.run")
    page.locator('#lab-controls [data-part="run"]').click()
    page.wait_for_function("before => speculationLab.channels.live.run !== before", arg=before)
    expect(page.locator('#lab-controls [data-part="state"]')).to_have_text(re.compile("Finished"), timeout=2 * LONG)
    expect(page.locator('#lab-controls [data-part="problem"]')).to_have_text("")


def test_from_files_to_drafts_and_away(open_page: OpenPage, corpus: Path, server):
    page = open_page("?tab=datastores")
    bring(page, corpus)
    body = studio(page, "survey-body")
    expect(body.locator("dd").first).to_have_text("13")
    expect(body).to_contain_text("not text")
    expect(body).to_contain_text("hidden")
    body.locator('[data-reason="hidden"] summary').click()
    expect(body).to_contain_text("corpus/.git/config")

    # what lies on the server meanwhile can be fetched by nobody
    waiting = max(datastores_folder().glob(".upload-*"), key=lambda path: path.stat().st_mtime)
    for path in (waiting / "0", Path("datastores") / waiting.name / "0", Path(waiting.name) / "0"):
        for route in ("file=", "gradio_api/file="):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{server.url}{route}{path}")
            assert refused.value.code in (403, 404)

    studio(page, "name").fill(NAME)
    studio(page, "build").click()
    expect(studio(page, "build-list").locator("li")).to_have_attribute("data-state", "finished", timeout=LONG)
    expect(action(page, "delete")).to_be_visible()
    assert not waiting.exists()
    assert page.evaluate("window.broken") is None

    page.locator("#lab-tab-live-button").click()
    run_with(page, "REST – retrieval")
    run_with(page, "Fusion – REST and context in one tree")

    page.locator("#lab-tab-datastores-button").click()
    action(page, "verify").click()
    expect(studio(page, "store-said")).to_contain_text("every checksum is right")
    action(page, "delete").focus()
    page.keyboard.press("Enter")
    expect(studio(page, "keep")).to_be_focused()
    page.keyboard.press("Escape")
    expect(action(page, "delete")).to_be_visible()
    action(page, "delete").click()
    studio(page, "sure").click()
    expect(action(page, "delete")).to_have_count(0)
    assert NAME not in names()


def test_a_build_goes_on_without_its_page_and_is_found_again(open_page: OpenPage, corpus: Path):
    page = open_page("?tab=datastores")
    bring(page, corpus)
    studio(page, "name").fill(NAME)
    studio(page, "build").click()
    expect(studio(page, "files").locator("li")).to_have_count(0)
    page.goto("about:blank")
    again = open_page("?tab=datastores")
    expect(action(again, "delete")).to_be_visible(timeout=LONG)
    page.go_back()
    expect(studio(page, "build-list").locator("li").last).to_contain_text("documents: 13", timeout=LONG)


def test_paste_grow_rename_download_and_bring_back(open_page: OpenPage, corpus: Path, tmp_path: Path):
    page = open_page("?tab=datastores")
    page.get_by_text("Paste text").click()
    studio(page, "text").fill("some text to begin with")
    studio(page, "add").click()
    expect(studio(page, "name")).to_have_value(re.compile("^pasted"))
    studio(page, "name").fill(NAME)
    expect(studio(page, "build")).to_be_enabled()
    studio(page, "build").click()
    expect(action(page, "grow")).to_be_enabled(timeout=LONG)

    action(page, "grow").click()
    expect(page.locator("#lab-studio-title")).to_have_text(f"Add documents to {NAME}")
    studio(page, "file").set_input_files(corpus / "src" / "m0.py")
    expect(studio(page, "build")).to_be_enabled()
    studio(page, "build").click()
    row = page.locator("#lab-studio tbody tr", has=page.locator(f'th[data-store="{NAME}"]'))
    expect(row.locator("td").first).to_have_text("2", timeout=LONG)

    new = f"{NAME} renamed"
    action(page, "rename").focus()
    page.keyboard.press("Enter")
    page.keyboard.type(new)
    page.keyboard.press("Enter")
    expect(action(page, "rename", new)).to_be_visible()
    with page.expect_download() as download:
        action(page, "download", new).click()
    tar = tmp_path / "store.tar"
    download.value.save_as(tar)
    assert download.value.suggested_filename == f"{new}.tar"
    assert subprocess.run([sys.executable, "-m", "spec_core", "datastore", "verify", new], cwd=ROOT).returncode == 0
    action(page, "delete", new).click()
    studio(page, "sure").click()
    expect(action(page, "delete", new)).to_have_count(0)
    studio(page, "bring").set_input_files(tar)
    expect(studio(page, "store-said")).to_contain_text("is here; every checksum is right", timeout=LONG)
    expect(action(page, "delete", new)).to_be_visible()
    studio(page, "bring").set_input_files(corpus / "junk.bin")
    expect(studio(page, "store-problem")).to_contain_text("no exported datastore")


def test_a_name_that_is_refused_stays_to_be_mended(open_page: OpenPage, corpus: Path):
    page = open_page("?tab=datastores")
    bring(page, corpus)
    studio(page, "name").fill(NAME)
    studio(page, "build").click()
    expect(action(page, "rename")).to_be_enabled(timeout=LONG)
    field = page.locator(f'#lab-studio th[data-store="{NAME}"] input')
    action(page, "rename").click()
    for name, key, told in (("../x", "Enter", "cannot name"), ("con", "Enter", "Windows"), ("COM1", "Tab", "Windows")):
        field.fill(name)
        field.press(key)
        expect(studio(page, "store-problem")).to_contain_text(told)
        expect(field).to_have_value(name)
        expect(field).to_have_attribute("aria-invalid", "true")
    page.locator("#lab-studio h2").first.click()
    expect(field).to_have_value("COM1")
    field.press("Escape")
    expect(field).to_have_count(0)
    expect(studio(page, "store-problem")).to_be_empty()
    expect(action(page, "rename")).to_be_focused()
    action(page, "rename").click()
    field.fill("../x")
    field.press("Enter")
    expect(studio(page, "store-problem")).to_contain_text("cannot name")
    field.fill(f"{NAME} mended")
    field.press("Enter")
    expect(action(page, "rename", f"{NAME} mended")).to_be_visible()
    expect(studio(page, "store-problem")).to_be_empty()


def test_guesses_and_broken_files_are_seen_before_the_build(open_page: OpenPage, tmp_path: Path):
    page = open_page("?tab=datastores")
    (tmp_path / "latin.txt").write_bytes("café {name} déjà vu".encode("latin-1"))
    (tmp_path / "bad.json").write_text('{"text": "unterminated')
    studio(page, "file").set_input_files([tmp_path / "latin.txt", tmp_path / "bad.json"])
    survey = studio(page, "survey-body")
    expect(survey).to_contain_text("latin.txt does not say its encoding. cp1252 is a guess")
    expect(survey).to_contain_text("café {name} déjà vu")
    expect(survey).to_contain_text("bad.json is read as text: it is no JSON")
    page.locator('[data-language="zh"]').click()
    expect(survey).to_contain_text("bad.json 按文本读取")


def test_a_bad_name_and_a_damaged_archive_are_sentences_in_both_languages(open_page: OpenPage, tmp_path: Path):
    page = open_page("?tab=datastores", locale="zh-CN")
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 nonsense")
    studio(page, "file").set_input_files(tmp_path / "x.zip")
    expect(studio(page, "survey-body")).to_contain_text("已损坏")
    expect(studio(page, "build")).to_be_disabled()
    page.locator('[data-language="en"]').click()
    expect(studio(page, "survey-body")).to_contain_text("damaged")
    studio(page, "clear").click()
    expect(studio(page, "survey")).to_be_hidden()
    (tmp_path / "a.txt").write_text("text")
    studio(page, "file").set_input_files(tmp_path / "a.txt")
    expect(studio(page, "survey")).to_be_visible()
    studio(page, "name").fill("../up")
    studio(page, "build").click()
    expect(studio(page, "problem")).to_contain_text("cannot name a datastore")
    expect(studio(page, "files").locator("li")).to_have_count(1)
