"""The page's own looks, where the newcomer's eye stumbled: one look over all tabs, light and dark, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from spec_core.messages import say

OpenPage = Callable[..., Page]
LIVE_BOX, COMPARE_BOX = ".lab-form input[type=checkbox]", ".lab-compare [name=chat]"


def looks(page: Page, selector: str, *properties: str) -> list[str]:
    """Computed styles of the first element that fits ``selector``."""
    return page.locator(selector).first.evaluate("(node, names) => names.map((name) => getComputedStyle(node)[name])", list(properties))


@pytest.mark.parametrize(("scheme", "check", "box"), [("light", "white", "rgb(22, 25, 29)"), ("dark", "%23191c20", "rgb(236, 238, 240)")])
@pytest.mark.parametrize(("tab", "selector"), [("live", LIVE_BOX), ("compare", COMPARE_BOX)])
def test_a_ticked_box_shows_its_check(open_page: OpenPage, tab: str, selector: str, scheme: str, check: str, box: str) -> None:
    page = open_page(f"?tab={tab}", color_scheme=scheme)
    page.locator(selector).first.check()
    image, colour = looks(page, selector, "backgroundImage", "backgroundColor")
    assert f"fill='{check}'" in image
    assert colour == box


def test_colours_follow_the_systems_theme_while_the_page_is_open(open_page: OpenPage) -> None:
    page = open_page("?tab=compare", color_scheme="light")
    expect(page.locator(COMPARE_BOX)).to_be_visible()
    page.locator(".lab-compare-stage").evaluate("(stage) => stage.insertAdjacentHTML('beforeend', '<i class=lab-badge data-same=true></i>')")
    badge = ".lab-compare-stage > .lab-badge"
    assert looks(page, badge, "color") == ["rgb(0, 105, 76)"]
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_class(re.compile(r"\bdark\b"))
    assert looks(page, badge, "color") == ["rgb(79, 216, 174)"]
    assert looks(page, "html", "colorScheme") == ["dark"]


def test_a_long_choice_ends_before_its_arrow(open_page: OpenPage) -> None:
    page = open_page()
    field = page.locator("#lab-drafter")
    right, padding = field.locator("input").evaluate("(node) => [node.getBoundingClientRect().right, parseFloat(getComputedStyle(node).paddingRight)]")
    assert right - padding <= field.locator(".icon-wrap").bounding_box()["x"]
    assert looks(page, "#lab-drafter input", "textOverflow") == ["ellipsis"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("key", ["by_hand", "error"])
def test_a_state_and_its_count_stand_on_one_line(open_page: OpenPage, key: str, language: str) -> None:
    page = open_page(f"?lang={language}")
    expect(page.locator(".lab-more-files").first).to_be_visible()
    height = page.locator(".lab-line .lab-state").evaluate(
        "(node, text) => { node.textContent = text; return node.getBoundingClientRect().height / parseFloat(getComputedStyle(node).lineHeight); }",
        say(f"controls.state.{key}", language, steps=128))
    assert height < 1.5


def test_compare_looks_like_the_other_tabs(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.locator("#lab-controls")).to_be_visible()
    live, prompt = page.locator("#lab-controls").bounding_box(), looks(page, "#lab-prompt textarea", "fontFamily", "fontWeight")
    page = open_page("?tab=compare")
    form = ".lab-compare-form"
    expect(page.locator(form)).to_be_visible()
    compare = page.locator(form).bounding_box()
    assert (compare["x"], compare["width"]) == (live["x"], live["width"])
    assert looks(page, form, "borderTopWidth", "borderLeftWidth", "borderRightWidth") == ["1px"] * 3
    assert looks(page, ".lab-compare textarea", "fontFamily", "fontWeight") == prompt
    assert looks(page, ".lab-panel-race [data-part=seek]", "paddingLeft", "borderLeftWidth") == ["0px", "0px"]  # its thumb reaches both ends
    for picker in page.locator(".lab-lane-head select").all():
        assert picker.get_attribute("title").startswith(picker.locator("option:checked").text_content() + " – ")
