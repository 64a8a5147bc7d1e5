"""A trace as a standalone page in a real Chromium, for tests of the player."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from spec_core.trace import Trace
from visualizers.page import standalone_html

# One frame to draw, one to be sure that it was drawn.
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
FORK = 3  # a step whose tree forks, with accepted and rejected nodes


@pytest.fixture
def page_of(chromium: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens a trace as a standalone page; a script error or a request anywhere fails the test."""
    troubles: list[str] = []
    contexts = []

    def open_one(trace: Trace, width: int = 1280, height: int = 720, **options: object) -> Page:
        path = tmp_path / "run.html"
        path.write_text(standalone_html(trace), encoding="utf-8")
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: message.type == "error" and troubles.append(message.text))
        page.on("dialog", lambda dialog: (troubles.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith("file://") or troubles.append(request.url))
        page.goto(path.as_uri())
        go_to(page, FORK)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not troubles, troubles


def go_to(page: Page, step: int) -> None:
    """Look at a step, counted from 0."""
    page.evaluate(f"specPlayer.goTo({step}), {DRAWN}")
