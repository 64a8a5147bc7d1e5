"""The Explore drafts tab, driven as a person would; no model runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import quote, urlsplit

import pytest
from addresses import place_of
from playwright.sync_api import Page, Route, expect

from spec_core.datastore.build import build_store
from spec_core.datastore.corpus import files_corpus
from spec_core.datastore.manage import delete_store
from spec_core.models import local_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore")

OpenPage = Callable[..., Page]
FIRST = 60_000
"""Milliseconds for the first draft: tokenizer and store are opened."""
HOSTILE = "<script>globalThis.struck = true</script><img src=x onerror=globalThis.struck=true>"
CORPUS = f"# 投机解码 🎉\n草稿模型先写，目标模型再验证。\n{HOSTILE}\nthe zyzzyva eats the grass\n" * 3
STORE = "explore-test"


@pytest.fixture(scope="module")
def second_store(prepared, tmp_path_factory):
    """A small store beside the default one."""
    path = tmp_path_factory.mktemp("corpus") / "甲虫.md"
    path.write_text(CORPUS, encoding="utf-8")
    build_store(files_corpus([path]), STORE, local_tokenizer("smollm2-135m"), replace=True)
    yield STORE
    delete_store(STORE)


def lane(page: Page, number: int = 0):
    return page.locator(".lab-explore-lane").nth(number)


def test_an_empty_context_asks_for_a_text(open_page: OpenPage):
    page = explore(open_page)
    type_context(page, "")
    expect(page.locator('.lab-explore [data-part="said"]')).to_have_text("Type a text: its end is looked up.")
    expect(lane(page).locator(".sp-panel-trie .sp-empty")).to_have_text("There is no text yet: type one.")
    type_context(page, "zyzzyva qqqq")
    expect(page.locator('.lab-explore [data-part="said"]')).not_to_contain_text("Type a text")


def test_a_context_below_the_shortest_suffix_is_not_said_to_be_missing(open_page: OpenPage):
    page = explore(open_page)
    type_context(page, "x")
    said, facts = page.locator('.lab-explore [data-part="said"]'), lane(page).locator(".sp-panel-facts")
    for place in (said, facts):
        expect(place).to_contain_text("The text is shorter than the shortest suffix (2).")
        expect(place).not_to_contain_text("found")
    expect(lane(page).locator(".sp-panel-trie .sp-empty")).to_have_text("Nothing would be drafted, so there is no trie.")
    page.locator('[data-language="zh"]').click()
    for place in (said, facts):
        expect(place).to_contain_text("文本短于最短后缀（2）。")


def labels(page: Page, number: int = 0) -> list[str]:
    return lane(page, number).locator(".sp-trie .sp-node:not([style*=none]) .sp-label").all_inner_texts()


def type_context(page: Page, text: str) -> None:
    with page.expect_response(lambda response: "component_server" in response.url and is_look(response.request, text)):
        page.locator("#lab-explore-context").fill(text)


def is_look(request, text: str) -> bool:
    sent = json.loads(request.post_data)
    return sent["fn_name"] == "look" and sent["data"]["text"] == text


def explore(open_page: OpenPage, text: str = "import os\nimport sys\n", **options) -> Page:
    page = open_page("?tab=explore", **options)
    expect(lane(page).locator(".sp-panel-facts .sp-sentence")).to_contain_text("python-stdlib", timeout=FIRST)
    type_context(page, text)
    return page


def test_typing_changes_the_trie_and_underlines_the_suffix(open_page: OpenPage):
    page = explore(open_page, "def main(argv=None):\n    parser = argparse.")
    expect(lane(page).locator(".sp-panel-trie")).to_contain_text("ArgumentPar")
    suffix = lane(page).locator(".sp-panel-text .sp-suffix")
    expect(suffix.last).to_have_text(".")
    assert suffix.count() >= 2
    expect(lane(page).locator(".sp-attempts")).to_contain_text("✓")
    expect(lane(page).locator(".sp-chips .sp-chip").nth(1)).to_be_visible()
    expect(page.locator('[data-part="said"]')).to_contain_text("suffix of")
    type_context(page, "for i in range(len(")
    expect(lane(page).locator(".sp-panel-trie")).not_to_contain_text("ArgumentPar")
    expect(lane(page).locator(".sp-panel-text .sp-suffix").last).to_have_text("(")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280, "the page scrolls sideways"


def test_a_slider_changes_the_draft(open_page: OpenPage):
    page = explore(open_page)
    chips = lane(page).locator(".sp-chips .sp-chip:not([style*=none])")
    expect(chips).to_have_count(41)
    page.locator("#lab-explore-budget").fill("7")
    expect(chips).to_have_count(8)
    page.locator("#lab-explore-max_suffix").fill("1")
    expect(page.locator("#lab-explore-min_suffix")).to_have_value("1")
    expect(lane(page).locator(".sp-panel-text .sp-suffix")).to_have_count(1)


def test_a_click_shows_documents_with_the_passage_marked(open_page: OpenPage, second_store):
    page = explore(open_page, "the zyzzyva eats")
    page.select_option("#lab-explore-store", second_store)
    node = lane(page).locator('.sp-trie .sp-node[data-node="0"] .sp-circle')
    expect(lane(page).locator('.sp-trie .sp-node[data-node="0"] .sp-label')).to_have_text("·the", timeout=FIRST)
    node.click()
    sheet = page.locator(".lab-explore-sources")
    expect(sheet).to_be_in_viewport(ratio=0.9)
    expect(sheet.locator("h3").first).to_contain_text("甲虫.md")
    expect(sheet.locator("pre .lab-explore-match").first).to_have_text("the zyzzyva eats")
    expect(sheet.locator("pre .lab-explore-path").first).to_have_text(" the")
    expect(sheet.locator("pre").first).to_contain_text(HOSTILE)
    assert page.evaluate("globalThis.struck") is None and sheet.locator("script, img").count() == 0
    type_context(page, "the zyzzyva")  # the node is there no more: nothing is pinned, and the sheet goes
    expect(sheet).to_be_hidden()


def test_pin_and_zoom_survive_typing(open_page: OpenPage, second_store):
    page = explore(open_page, "the zyzzyva eats")
    page.select_option("#lab-explore-store", second_store)
    label = lane(page).locator('.sp-trie .sp-node[data-node="0"] .sp-label')
    expect(label).to_have_text("·the", timeout=FIRST)
    lane(page).locator(".sp-panel-trie .sp-tools button").nth(1).click()
    lane(page).locator('.sp-trie .sp-node[data-node="0"] .sp-circle').click()
    expect(page.locator(".lab-explore-sources")).to_be_visible()
    page.mouse.move(5, 5)
    scale = "/scale\\(([^)]*)/.exec(document.querySelector('.lab-explore-lane .sp-trie > g').getAttribute('transform'))[1]"
    before = page.evaluate(scale)
    type_context(page, "and then the zyzzyva eats")
    expect(page.locator('[data-part="said"]')).to_contain_text(re.compile(r"\d+ tokens"))
    assert page.evaluate(scale) == before
    expect(lane(page).locator('.sp-trie .sp-node[data-node="0"]')).to_have_class(re.compile("sp-lit"))
    expect(page.locator(".lab-explore-sources pre .lab-explore-match").first).to_have_text(" zyzzyva eats")


def test_a_link_shows_the_same_drafts(open_page: OpenPage, second_store):
    page = explore(open_page, "# 投机 & 解码\nthe zyzzyva eats")
    page.select_option("#lab-explore-store", second_store)
    page.select_option("#lab-explore-second", "python-stdlib")
    page.locator("#lab-explore-budget").fill("7")
    page.locator("#lab-explore-min_suffix").fill("1")
    page.wait_for_url(re.compile("min_suffix=1"))
    asked = {"tab": "explore", "context": "# 投机 & 解码\nthe zyzzyva eats", "store": STORE, "second": "python-stdlib",
             "budget": "7", "min_suffix": "1"}
    assert place_of(page.url) == asked

    other = open_page(f"?{urlsplit(page.url).query}")
    expect(lane(other, 1).locator(".sp-run-name")).to_contain_text("python-stdlib", timeout=FIRST)
    expect(lane(other).locator(".sp-run-name")).to_contain_text(STORE)
    assert labels(other) == labels(page) != [] and labels(other, 1) == labels(page, 1)
    assert other.locator("#lab-explore-context").input_value() == asked["context"] and place_of(other.url) == asked

    other.locator("#lab-tab-datastores-button").click()
    other.wait_for_url(lambda url: urlsplit(url).query == "tab=datastores")
    other.locator("#lab-tab-explore-button").click()
    other.wait_for_url(re.compile("budget=7"))
    assert place_of(other.url) == asked
    type_context(other, "投机解码" * 120)
    expect(other.locator('.lab-explore [data-part="said"]')).to_contain_text("too long for the address")
    other.wait_for_url(lambda url: "context=" not in url)
    assert place_of(other.url)["budget"] == "7"


@pytest.mark.parametrize("query", [
    f"context={quote(HOSTILE)}&store={quote(HOSTILE)}&second={quote(HOSTILE)}&target={quote(HOSTILE)}",
    "store=../../etc/passwd&second=%00&target=../../etc&context=%ED%A0%80%00%FF", f"context={'x' * 30_000}&store={'y' * 9000}",
    "budget=-1&max_suffix=1e9&min_suffix=2.5&continuation=NaN", "budget=&max_suffix=%F0%9F%8E%89&store=&second=&target="])
def test_whatever_the_address_says_the_tab_works(open_page: OpenPage, query: str):
    page = open_page(f"?tab=explore&{query}")
    expect(lane(page).locator(".lab-explore-trouble, .sp-panel-facts .sp-sentence").locator("visible=true").first).not_to_be_empty(timeout=FIRST)
    page.select_option("#lab-explore-store", "python-stdlib")
    page.select_option("#lab-explore-second", "")
    page.locator("#lab-explore-target").fill("smollm2-135m")
    page.locator("#lab-explore-target").press("Tab")
    type_context(page, "import os\nimport sys\n")
    expect(lane(page).locator(".sp-panel-facts .sp-sentence")).to_contain_text("python-stdlib", timeout=FIRST)
    assert page.evaluate("globalThis.struck") is None


def test_sliders_of_an_address_stay_on_their_rails(open_page: OpenPage):
    page = open_page("?tab=explore&budget=999999999&min_suffix=9&max_suffix=3&continuation=0")
    expect(lane(page).locator(".sp-panel-facts .sp-sentence")).to_contain_text("python-stdlib", timeout=FIRST)
    values = {name: page.locator(f"#lab-explore-{name}") for name in ("budget", "min_suffix", "max_suffix", "continuation")}
    assert values["budget"].input_value() == values["budget"].get_attribute("max")
    assert (values["min_suffix"].input_value(), values["max_suffix"].input_value()) == ("3", "3")
    assert values["continuation"].input_value() == values["continuation"].get_attribute("min")


def test_two_stores_stand_side_by_side(open_page: OpenPage, second_store):
    page = explore(open_page, "# 投机解码")
    page.select_option("#lab-explore-second", second_store)
    expect(lane(page, 1).locator(".sp-panel-trie")).to_be_visible()
    expect(lane(page, 1).locator(".sp-run-name")).to_contain_text(second_store)
    expect(lane(page, 1).locator(".sp-panel-facts .sp-sentence")).to_contain_text("3 times")
    left, right = lane(page).bounding_box(), lane(page, 1).bounding_box()
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"] and right["x"] + right["width"] <= 1280
    page.select_option("#lab-explore-second", "")
    expect(lane(page, 1)).to_be_hidden()


@pytest.mark.parametrize("text", ["", "ᚠᛇᚻ᛫ᛒᛦᚦ", "投机解码", "👩‍👩‍👧‍👦🎉", HOSTILE])
def test_any_text_just_works(open_page: OpenPage, text: str):
    page = explore(open_page, text)
    expect(page.locator('.lab-explore [data-part="problem"]')).to_have_text("")
    expect(lane(page).locator(".sp-panel-text .sp-flow")).to_have_text(text)
    assert page.evaluate("globalThis.struck") is None


def test_a_late_answer_does_not_overwrite_a_newer_one(open_page: OpenPage):
    page = explore(open_page)
    held: list[Route] = []

    def hold(route: Route) -> None:
        if is_look(route.request, "import json\n"):
            held.append(route)
        else:
            route.continue_()

    page.route(re.compile("component_server"), hold)
    with page.expect_request(lambda request: "component_server" in request.url and is_look(request, "import json\n")):
        page.locator("#lab-explore-context").fill("import json\n")
    page.locator("#lab-explore-context").fill("for i in range(len(")
    page.wait_for_timeout(400)
    assert len(held) == 1
    held.pop().continue_()
    expect(lane(page).locator(".sp-panel-text .sp-flow")).to_contain_text("for i in range(len(")
    page.wait_for_timeout(200)
    expect(lane(page).locator(".sp-panel-text .sp-flow")).to_contain_text("for i in range(len(")


def test_coverage_of_a_pasted_text_and_of_a_file(open_page: OpenPage, second_store, tmp_path):
    page = explore(open_page)
    page.select_option("#lab-explore-second", second_store)
    page.locator('[name="lab-explore-mode"][value="coverage"]').check()
    page.locator("#lab-explore-held").fill("import os\nimport sys\n" * 20)
    page.locator('.lab-explore [data-part="replay"]').click()
    cards = page.locator(".lab-explore-coverage")
    expect(cards).to_have_count(2)
    for number in range(2):
        expect(cards.nth(number)).to_contain_text("Simulation")
        expect(cards.nth(number).locator(".lab-explore-figures")).to_contain_text("tokens per target call, simulated")
        assert cards.nth(number).locator("tbody tr").count() >= 1
    rate = float(cards.first.locator(".lab-explore-figures b").nth(1).inner_text())
    assert rate > 1
    (tmp_path / "held.txt").write_text(CORPUS, encoding="utf-8")
    page.set_input_files('.lab-explore [data-part="file"]', tmp_path / "held.txt")
    page.locator('.lab-explore [data-part="replay"]').click()
    expect(cards.nth(1).locator("h2")).to_contain_text("held.txt")
    assert float(cards.nth(1).locator(".lab-explore-figures b").nth(1).inner_text()) > 2
    (tmp_path / "noise.bin").write_bytes(b"\xff\xfe\x00")
    page.set_input_files('.lab-explore [data-part="file"]', tmp_path / "noise.bin")
    expect(page.locator('.lab-explore [data-part="problem"]')).to_contain_text("noise.bin is no UTF-8 text")


def test_a_long_replay_is_cancelled(open_page: OpenPage, tmp_path):
    page = explore(open_page)
    page.locator('[name="lab-explore-mode"][value="coverage"]').check()
    (tmp_path / "long.txt").write_text("import os, sys; print(len(os.path))\n" * 90_000, encoding="utf-8")
    page.set_input_files('.lab-explore [data-part="file"]', tmp_path / "long.txt")
    page.locator('.lab-explore [data-part="replay"]').click()
    page.locator('.lab-explore [data-part="cancel"]').click()
    expect(page.locator('.lab-explore [data-part="problem"]')).to_contain_text("cancelled")
    expect(page.locator('.lab-explore [data-part="replay"]')).to_be_visible()


def test_the_tab_speaks_chinese(open_page: OpenPage):
    page = explore(open_page, locale="zh-CN")
    expect(page.locator(".lab-explore summary")).to_have_text("检索")
    expect(lane(page).locator(".sp-panel-text .sp-title")).to_have_text("上下文")
    page.get_by_role("button", name="EN", exact=True).click()
    expect(page.locator(".lab-explore summary")).to_have_text("Retrieval")
    expect(lane(page).locator(".sp-panel-text .sp-title")).to_have_text("Context")
