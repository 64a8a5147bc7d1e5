"""The player in a standalone page, in a real Chromium: every panel, linked, by pointer and by key."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from players import DRAWN, FORK, go_to, page_of
from playwright.sync_api import Page
from synthetic import synthetic_trace

from spec_core.pieces import read_bytes, show_bytes
from spec_core.trace import Committed, Step, Trace, TreeRecord
from spec_core.tree import DraftTree
from visualizers.views import run_view, step_view

__all__ = ["page_of"]  # a fixture


@pytest.fixture(scope="module")
def trace() -> Trace:
    return synthetic_trace(steps=40)


def step_of(page: Page) -> int:
    return page.evaluate(f"{DRAWN}.then(() => specPlayer.state().step)")


def whole_text(trace: Trace) -> str:
    """Prompt and output, bytes of split characters put together."""
    text = "".join(trace.run["prompt_pieces"]) + trace.output_text
    return re.sub(r"(⟨[0-9a-f]{2}⟩)+", lambda found: bytes.fromhex(re.sub("[⟨⟩]", "", found[0])).decode(), text)


def painted(page: Page, selector: str) -> int:
    """How many different colours a canvas shows."""
    return page.locator(selector).first.evaluate(
        """(canvas) => new Set(new Uint32Array(canvas.getContext("2d")
             .getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size""")


def camera(page: Page) -> str:
    return page.locator(".sp-trie > g").get_attribute("transform")


def test_pieces_that_share_a_character_join_to_it(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for pieces in (["a⟨e4⟩⟨bd⟩", "⟨a0⟩b"], ["⟨e4⟩⟨bd⟩"], ["⟨f0⟩⟨9f⟩⟨a6⟩", "⟨9c⟩⟨e4⟩"], ["⟨a0⟩", "x", "⟨e4⟩y"], ["plain ", "text"], []):
        expected = show_bytes(read_bytes("".join(pieces)))
        assert page.evaluate("(pieces) => SpecPlayer.joinPieces(pieces)", pieces) == expected


def test_no_panel_is_empty(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    view = step_view(trace.steps[FORK])
    assert page.evaluate("SpecPlayer.writtenText(document.querySelector('.sp-flow'))") == whole_text(trace)
    assert page.locator(".sp-tok.sp-output").count() >= sum(len(step.committed.ids) for step in trace.steps)
    assert page.locator(".sp-ghost").count() > 0
    assert page.locator(".sp-tok.sp-suffix").count() >= view["match"]["length"]
    assert painted(page, ".sp-track canvas") > 4
    assert page.locator(".sp-node:visible").count() >= len(view["pieces"])
    assert page.locator(".sp-chip:visible").count() == view["selected"] + 1
    assert painted(page, ".sp-mask canvas") > 3
    assert "94" in page.locator(".sp-sentence").inner_text()
    assert page.locator(".sp-figure-value").first.inner_text() not in ("", "–")
    assert page.locator(".sp-depth:visible").count() > 0
    assert page.locator(".sp-decision").count() == len(trace.steps[FORK].arithmetic)


def test_text_tells_where_each_token_came_from(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    shown = page.evaluate("""[...document.querySelectorAll(".sp-output")].map((node) =>
        [Number(node.dataset.token), ["accepted", "recovered", "bonus"].find((kind) => node.classList.contains("sp-" + kind))])""")
    first = len(trace.run["prompt_pieces"])
    kinds = [kind for step in trace.steps for kind in step.committed.kinds]
    assert dict(shown) == {first + i: kind for i, kind in enumerate(kinds)}


def test_split_characters_are_whole_again(page_of: Callable[..., Page], trace: Trace) -> None:
    assert "⟨e5⟩⟨a5⟩" in trace.output_text
    page = page_of(trace)
    shares = page.locator(".sp-glyph").first.locator(".sp-share")
    assert shares.count() == 2
    assert len({shares.nth(i).get_attribute("data-token") for i in range(2)}) == 2


def test_hostile_pieces_show_as_text(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    text = page.locator(".sp-flow").inner_text()
    assert "<script>alert(1)</script>" in text
    assert '"><img src=x onerror=alert(1)>' in text
    for step in range(len(trace.steps)):
        go_to(page, step)
    assert page.locator("#player img, #player script, #player b").count() == 0


def test_keys_move_through_the_run(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    last = len(trace.steps) - 1
    for key, expected in [("ArrowRight", FORK + 1), ("ArrowLeft", FORK), ("End", last), ("ArrowRight", last),
                          ("Home", 0), ("ArrowLeft", 0)]:
        page.keyboard.press(key)
        assert step_of(page) == expected, key
    page.keyboard.press("f")
    assert step_of(page) == last
    assert page.evaluate("specPlayer.state().following")
    go_to(page, 0)
    page.locator(".sp-select").select_option("10")
    page.locator(".sp-select").blur()
    page.keyboard.press(" ")
    deadline = time.monotonic() + 10
    while step_of(page) < 3 and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    page.keyboard.press(" ")
    halted = step_of(page)
    assert halted >= 3
    page.wait_for_timeout(300)
    assert step_of(page) == halted


def test_keys_leave_typing_alone(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.evaluate("document.body.append(document.createElement('textarea'))")
    page.locator("textarea").focus()
    page.keyboard.type("fp ?")
    page.keyboard.press("ArrowRight")
    assert page.locator("textarea").input_value() == "fp ?"
    assert step_of(page) == FORK
    assert page.locator(".sp-projector").count() == 0


def test_a_node_lights_up_everywhere(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace, height=1300)
    view = step_view(trace.steps[FORK])
    node = view["verdicts"].index("a")
    for place in (f".sp-chip[data-node='{node}']", f".sp-trie .sp-node[data-node='{node}'] circle",
                  f".sp-decision[data-node='{node}']"):
        page.locator(place).first.hover()
        page.evaluate(DRAWN)
        assert page.locator(f".sp-chip.sp-lit[data-node='{node}']").count() == 1, place
        assert page.locator(f".sp-trie .sp-lit[data-node='{node}']").count() == 1, place
        assert page.locator(".sp-tok.sp-lit").count() >= 1, place
        assert f"#{node + 1}" in page.locator(".sp-caption").inner_text(), place
        assert page.locator(".sp-hint").is_visible(), place
    page.mouse.move(2, 2)
    page.evaluate(DRAWN)
    assert page.locator(".sp-chip.sp-lit, .sp-trie .sp-lit").count() == 0
    assert page.locator(".sp-hint").is_hidden()


def test_a_pin_outlasts_the_pointer_and_new_steps(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace, height=1300)
    page.locator(".sp-chip[data-node='2']").click()
    page.mouse.move(2, 2)
    page.evaluate(DRAWN)
    assert page.locator(".sp-chip.sp-lit[data-node='2']").count() == 1
    assert page.locator(".sp-hint").is_visible()
    more = {**step_view(trace.steps[5]), "index": len(trace.steps)}
    page.evaluate("(view) => specPlayer.append([view])", more)
    assert step_of(page) == FORK
    assert page.locator(".sp-chip.sp-lit[data-node='2']").count() == 1
    page.keyboard.press("Escape")
    page.evaluate(DRAWN)
    assert page.locator(".sp-chip.sp-lit").count() == 0


def test_pinning_stops_following_and_an_empty_click_does_not(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace, height=1300)
    page.keyboard.press("f")
    assert page.evaluate(f"{DRAWN}.then(() => specPlayer.state().following)")
    box = page.locator(".sp-trie").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)
    assert page.evaluate("specPlayer.state().following")
    page.locator(".sp-chip[data-node='0']").click()
    assert not page.evaluate("specPlayer.state().following")


def test_nodes_can_be_walked_by_key(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.locator(".sp-chips").focus()
    for expected in (-1, 0, 1):
        page.keyboard.press("ArrowDown")
        page.evaluate(DRAWN)
        assert page.locator(".sp-chip.sp-lit").get_attribute("data-node") == str(expected)
    page.keyboard.press("ArrowUp")
    page.evaluate(DRAWN)
    assert page.locator(".sp-chip.sp-lit").get_attribute("data-node") == "0"
    assert step_of(page) == FORK


def test_zoom_and_pan_survive_steps(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace, height=1300)
    before = camera(page)
    box = page.locator(".sp-trie").bounding_box()
    x, y = box["x"] + box["width"] - 40, box["y"] + box["height"] - 30
    page.mouse.move(x, y)
    page.mouse.move(x - 5, y - 5)
    page.mouse.wheel(0, -300)
    page.evaluate(DRAWN)
    zoomed = camera(page)
    assert zoomed != before
    page.mouse.down()
    page.mouse.move(x - 80, y - 60, steps=3)
    page.mouse.up()
    moved = camera(page)
    assert moved != zoomed
    page.keyboard.press("ArrowRight")
    assert step_of(page) == FORK + 1
    page.evaluate("(view) => specPlayer.append([view])", {**step_view(trace.steps[5]), "index": len(trace.steps)})
    page.evaluate(DRAWN)
    assert camera(page) == moved
    page.locator(".sp-panel-trie .sp-icon").last.click()
    go_to(page, FORK)
    assert camera(page) == before


def test_no_labels_of_the_trie_overlap(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for step in range(0, len(trace.steps), 4):
        go_to(page, step)
        clashes = page.evaluate("""() => {
          const boxes = [...document.querySelectorAll(".sp-trie .sp-node")].filter((node) => node.style.display !== "none")
            .flatMap((node) => [...node.querySelectorAll("text, circle")].filter((part) => part.tagName === "circle" || part.textContent)
              .map((part) => ({ node, box: part.getBoundingClientRect() })));
          const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top + 3 < b.bottom - 3 && b.top + 3 < a.bottom - 3;
          return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.node !== b.node && overlap(a.box, b.box))
            .map((b) => a.node.textContent + " / " + b.node.textContent));
        }""")
        assert not clashes


def test_the_mask_is_that_of_the_tree(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for step in trace.steps:
        tree = DraftTree(tuple(step.tree.tokens), tuple(step.tree.parents))
        assert page.evaluate("(parents) => SpecPlayer.maskFromParents(parents)", step.tree.parents) == tree.mask.tolist()


def test_the_plain_causal_mask_shows_what_would_leak(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    before = painted(page, ".sp-mask canvas")
    page.locator(".sp-mode").nth(1).click()
    page.evaluate(DRAWN)
    assert painted(page, ".sp-mask canvas") > before
    go_to(page, FORK + 1)
    assert page.locator(".sp-mode").nth(1).get_attribute("aria-pressed") == "true"


def test_running_totals_are_those_of_the_trace(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    shown = page.evaluate("(views) => views.reduce((before, view) => SpecPlayer.addTotals(before, view), null)",
                          [step_view(step) for step in trace.steps])
    totals = trace.totals
    assert (shown["steps"], shown["tokens"]) == (totals["steps"], totals["tokens"])
    assert shown["tokensPerCall"] == pytest.approx(totals["tokens_per_call"])
    assert shown["tokensPerSecond"] == pytest.approx(totals["tokens_per_second"], rel=1e-3)
    rates = [accepted / reached for accepted, reached in zip(shown["accepted"], shown["reached"], strict=True)]
    assert rates == pytest.approx(totals["acceptance_by_depth"])
    go_to(page, len(trace.steps) - 1)
    assert page.locator(".sp-figure-value").first.inner_text() == str(round(totals["tokens_per_call"] + 1e-9, 2))


def test_language_changes_at_once(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.locator("[data-language=zh]").click()
    page.evaluate(DRAWN)
    shown = page.locator("#player").inner_text()
    assert "伪序列" in shown and "注意力掩码" in shown
    assert "player." not in shown
    assert step_of(page) == FORK
    page.locator("[data-language=en]").click()
    page.evaluate(DRAWN)
    assert "Pseudo-sequence" in page.locator("#player").inner_text()


def test_every_figure_has_its_definition(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace, height=1300)
    defined = page.locator(".sp-defined:visible")
    assert defined.count() >= 14
    for i in range(defined.count()):
        defined.nth(i).focus()
        text = page.locator(".sp-hint").inner_text()
        assert len(text) > 30 and not text.startswith("player."), text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_projector_is_large_and_complete(page_of: Callable[..., Page], trace: Trace, language: str) -> None:
    page = page_of(trace, color_scheme="dark" if language == "zh" else "light")
    page.locator(f"[data-language={language}]").click()
    page.keyboard.press("p")
    page.evaluate(DRAWN)
    small = page.evaluate("""() => [...document.querySelectorAll("#player *")]
      .filter((node) => node.checkVisibility() && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
      .filter((node) => !node.matches(".sp-live, .sp-probe") && parseFloat(getComputedStyle(node).fontSize) < 18)
      .map((node) => node.className.baseVal ?? node.className)""")
    assert not small
    outside = page.evaluate("""() => [...document.querySelectorAll(".sp-panel, .sp-top")].filter((node) => node.checkVisibility()).filter((node) => {
      const box = node.getBoundingClientRect();
      return box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight || box.height < 30;
    }).map((node) => node.className)""")
    assert not outside
    page.keyboard.press("p")
    page.evaluate(DRAWN)
    assert page.locator(".sp-projector").count() == 0


@pytest.mark.parametrize(("scheme", "projector"), [("light", False), ("dark", False), ("light", True), ("dark", True)])
def test_text_has_contrast(page_of: Callable[..., Page], trace: Trace, scheme: str, projector: bool) -> None:
    page = page_of(trace, height=1300, color_scheme=scheme)
    if projector:
        page.keyboard.press("p")
    page.evaluate(DRAWN)
    weak = page.evaluate("""(least) => {
      const read = (color) => (color.match(/[0-9.]+/g) ?? []).map(Number);
      const light = ([r, g, b]) => [r, g, b].map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (node) => {
        for (let at = node; at; at = at.parentElement) {
          const color = read(getComputedStyle(at).backgroundColor);
          if (color.length === 3 || color[3] === 1) return color;
        }
        return [255, 255, 255];
      };
      return [...document.querySelectorAll("#player *")]
        .filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.matches(".sp-live, .sp-probe, option, :disabled"))
        .filter((node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
        .map((node) => {
          const style = getComputedStyle(node);
          const [a, b] = [light(read(node.ownerSVGElement ? style.fill : style.color)), light(ground(node))].sort((x, y) => y - x);
          return [(a + 0.05) / (b + 0.05), node.className.baseVal ?? node.className, node.textContent.slice(0, 20)];
        }).filter(([contrast]) => contrast < least);
    }""", 7 if projector else 4.5)
    assert not weak


def test_help_opens_and_closes(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.keyboard.press("?")
    assert page.locator("dialog.sp-help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog.sp-help").is_hidden()


@pytest.mark.parametrize("width", [700, 950, 1280, 1590])
def test_nothing_is_wider_than_the_player(page_of: Callable[..., Page], trace: Trace, width: int) -> None:
    page = page_of(trace, width=width + 40)
    assert page.evaluate("document.documentElement.scrollWidth") <= width + 40
    spilling = page.evaluate("""() => [...document.querySelectorAll(".sp-head, .sp-top, .sp-sentence, .sp-figures")]
      .filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.className + node.textContent)""")
    assert not spilling


def test_two_players_live_in_one_page(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.evaluate("""(data) => {
      const root = document.createElement("div");
      root.id = "second";
      document.body.append(root);
      globalThis.second = SpecPlayer.create(root, { strings: { en: {}, zh: {} }, language: "en" });
      second.open(data.run);
      second.append(data.steps);
    }""", {"run": run_view(trace.run), "steps": [step_view(step) for step in trace.steps[:4]]})
    page.evaluate(DRAWN)
    page.mouse.move(1, 1)
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == FORK and page.evaluate("second.state().step") == 3
    page.locator("#second .sp-chips").focus()
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == FORK and page.evaluate("second.state().step") == 2
    page.evaluate("second.destroy()")
    assert page.locator("#second *").count() == 0
    page.locator("#player .sp-chips").focus()
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == FORK - 1


def test_a_step_asked_for_before_it_came_is_shown_when_it_comes(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.evaluate("(run) => { specPlayer.open(run); specPlayer.goTo(2); }", run_view(trace.run))
    page.evaluate("(views) => specPlayer.append(views)", [step_view(step) for step in trace.steps[:2]])
    page.evaluate("(views) => specPlayer.append(views)", [step_view(step) for step in trace.steps[2:6]])
    assert step_of(page) == 2
    # The same steps again, as after a lost connection, change nothing.
    page.evaluate("(views) => specPlayer.append(views)", [step_view(step) for step in trace.steps[3:6]])
    assert page.locator(".sp-count-text").inner_text() == "Step 3 of 6"


def test_a_long_run_costs_no_more_elements_a_step(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    count = "document.querySelectorAll('#player *').length"
    views = [{**step_view(trace.steps[i % 10]), "index": i} for i in range(400)]
    page.evaluate("(run) => specPlayer.open(run)", run_view(trace.run))
    sizes = []
    for start in range(0, 400, 100):
        page.evaluate("(views) => specPlayer.append(views)", views[start:start + 100])
        page.evaluate(DRAWN)
        sizes.append(page.evaluate(count))
    growth = [after - before for before, after in zip(sizes, sizes[1:], strict=False)]
    assert max(growth) - min(growth) < 60


def with_run(trace: Trace, steps: list[Step], **run: object) -> Trace:
    return replace(trace, run={**trace.run, **run}, steps=steps)


def test_an_empty_draft_at_the_limit_says_why(page_of: Callable[..., Page], trace: Trace) -> None:
    prompt = len(trace.run["prompt_pieces"])
    plain = [Step(index=i, context_length=prompt + i, tree=TreeRecord(), committed=Committed([5], ["a"], ["bonus"]),
                  details={"source": "rest", "matched": 3, "hits": 12, "attempts": [{"length": 3, "hits": 12}]})
             for i in range(2)]
    page = page_of(with_run(trace, plain, limits={"max_new_tokens": 2}))
    assert "Only one token was left" in page.locator(".sp-sentence").inner_text()
    go_to(page, 0)
    assert "Nothing was drafted" in page.locator(".sp-sentence").inner_text()


def test_a_tree_of_several_sources_names_them(page_of: Callable[..., Page], trace: Trace) -> None:
    steps = []
    for step in trace.steps[:FORK + 1]:
        n = len(step.tree.tokens)
        details = {**step.details, "source": "fusion", "sources": [["context", "rest"]] * n, "estimates": [0.5] * n,
                   "matches": {"context": {"length": 9, "hits": 1}, "rest": {"length": 2, "hits": 94}}}
        steps.append(replace(step, details=details))
    page = page_of(with_run(trace, steps, drafter={"name": "fusion"}), height=1300)
    assert page.locator(".sp-panel-trie .sp-title").inner_text() == "Draft tree"
    sentence = page.locator(".sp-sentence").inner_text()
    assert "before in the text so far." in sentence and "94 times in python-stdlib." in sentence
    assert "most promising" in sentence
    page.locator(".sp-chip[data-node='0']").hover()
    page.evaluate(DRAWN)
    assert "text so far, datastore" in page.locator(".sp-hint").inner_text()


@pytest.mark.parametrize(("width", "projector"), [(840, False), (1280, False), (1280, True)])
def test_heads_have_room_and_rows_are_whole(page_of: Callable[..., Page], trace: Trace, width: int, projector: bool) -> None:
    page = page_of(trace, width=width)
    if projector:
        page.keyboard.press("p")
        page.evaluate(DRAWN)
    note = page.locator(".sp-panel-trie .sp-note")
    assert note.inner_text().endswith("nodes selected")
    assert note.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    assert page.locator(".sp-panel-trie .sp-head").evaluate("(node) => node.scrollWidth <= node.clientWidth")
    cut = page.locator(".sp-chips").evaluate("""(list) => {
      const edge = list.getBoundingClientRect().bottom;
      return [...list.children].map((chip) => chip.getBoundingClientRect()).filter(({ top, bottom }) => top < edge && bottom > edge).length;
    }""")
    assert cut == 0


@pytest.mark.parametrize("width", [840, 1280])
def test_draws_beyond_the_edge_are_counted(page_of: Callable[..., Page], trace: Trace, width: int) -> None:
    step = trace.steps[FORK]
    many = replace(step, arithmetic=[step.arithmetic[0]] * 15)
    page = page_of(with_run(trace, [*trace.steps[:FORK], many, *trace.steps[FORK + 1:]]), width=width, height=900)
    more = page.locator(".sp-more")
    count = int(re.search(r"\d+", more.inner_text())[0])
    assert 0 < count < 15
    page.locator(".sp-decisions").evaluate("(list) => list.scrollTo(1e6, 1e6)")
    page.evaluate(DRAWN)
    assert more.is_hidden()


def test_a_long_error_can_be_read(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.evaluate("specPlayer.status({ state: 'error', error: 'A reason of many words. '.repeat(20) })")
    page.evaluate(DRAWN)
    state = page.locator(".sp-state")
    assert state.evaluate("(node) => node.scrollWidth <= node.clientWidth && node.scrollHeight <= node.clientHeight + 1")
    assert state.get_attribute("title") == state.text_content()


def test_counts_of_one_are_singular(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    go_to(page, 0)
    assert page.locator(".sp-panel-run .sp-note").inner_text().endswith(" in 1 step")
    go_to(page, 1)
    assert page.locator(".sp-panel-run .sp-note").inner_text().endswith(" in 2 steps")


def test_reading_the_prompt_stands_beside_the_time_of_the_steps(page_of: Callable[..., Page], trace: Trace) -> None:
    first = replace(trace.steps[0], ms={"draft": 100.0, "verify": 300.0, "accept": 50.0, "overhead": 50.0, "prompt": 250.0})
    page = page_of(replace(trace, steps=[first, *trace.steps[1:]]))
    go_to(page, 0)
    time = page.locator(".sp-panel-run").get_by_text("prompt 250 ms")
    assert time.inner_text() == "steps 500 ms + prompt 250 ms"
    rate = page.locator(".sp-figure-tokens_per_second .sp-figure-value").inner_text()
    assert float(rate) == pytest.approx(len(first.committed.ids) / 0.75, abs=0.06), "tokens ÷ both"
    time.hover()
    assert "reading the prompt" in page.locator(".sp-hint:visible, [role=tooltip]:visible").first.inner_text()
    page_without = page_of(trace)
    assert page_without.locator(".sp-panel-run").get_by_text("prompt").count() == 0


def test_the_axis_has_an_even_rhythm(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    assert page.evaluate("SpecPlayer.axisSteps(0, 6, 26, 10)") == [1, 2, 3, 4, 5, 6]
    assert page.evaluate("SpecPlayer.axisSteps(0, 21, 12, 10)") == [1, 5, 10, 15, 20]
    assert page.evaluate("SpecPlayer.axisSteps(12, 21, 5, 10)") == [20, 30]


def test_the_last_step_is_spoken(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for step in range(6):
        go_to(page, step)
    page.wait_for_timeout(2000)
    assert page.locator(".sp-live").text_content().startswith("Step 6:")


def test_marks_touch_neither_line(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for _ in ("usual", "projector"):  # the room below the mark, and above it
        room = page.evaluate("""() => {
          const token = document.querySelector(".sp-flow .sp-first");
          const [box] = token.getClientRects();
          const mark = getComputedStyle(token, "::before");
          const next = box.top + parseFloat(getComputedStyle(token).lineHeight);
          const lower = box.bottom - parseFloat(mark.bottom);
          return [next - lower, lower - parseFloat(mark.lineHeight) - box.bottom];
        }""")
        assert min(room) >= -0.5, room
        page.keyboard.press("p")
        page.evaluate(DRAWN)


def test_a_mark_stays_with_the_first_visible_character_where_lines_wrap(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.add_style_tag(content=".sp-flow { width: 150px; }")
    wrapped, astray = page.evaluate("""() => {
      const first = (token) => token.matches(".sp-first") ? token : token.querySelector(".sp-first");
      const tokens = [...document.querySelectorAll(".sp-flow .sp-tok:not(.sp-share)")].filter((token) => first(token) && token.innerText.trim());
      const astray = tokens.filter((token) => {
        const walker = document.createTreeWalker(token, NodeFilter.SHOW_TEXT);
        while (walker.nextNode() && !walker.currentNode.data.trim());
        const range = document.createRange(), at = walker.currentNode.data.search(/\\S/);
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + 1);
        const [character, boxes] = [range.getBoundingClientRect(), first(token).getClientRects()];
        return boxes.length !== 1 || Math.abs(boxes[0].left - character.left) > 1 || Math.abs(boxes[0].top - character.top) > 4;
      });
      return [tokens.filter((token) => token.getClientRects().length > 1).length, astray.map((token) => token.innerText)];
    }""")
    assert wrapped > 0, "no token wraps: nothing is tested"
    assert not astray


def test_the_text_is_cut_at_whole_lines(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for _ in ("usual", "projector"):
        for look_at_the_end in (lambda: go_to(page, len(trace.steps) - 1), page.get_by_role("button", name="Follow").click):
            look_at_the_end()
            page.evaluate(DRAWN)
            shown, above, line = page.evaluate("""() => {
              const scroller = document.querySelector(".sp-scroll");
              return [scroller.clientHeight, scroller.scrollTop, parseFloat(getComputedStyle(document.querySelector(".sp-flow")).lineHeight)];
            }""")
            assert above > 0 and above % line == 0 and shown % line == 0, (above, shown, line)
        page.keyboard.press("p")
        page.evaluate(DRAWN)


def test_the_shares_of_time_add_up(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for times, expected in (([1, 1, 1, 0], [34, 33, 33, 0]), ([0.5, 98.5, 0.5, 0.5], [1, 99, 0, 0]), ([996, 2, 1, 1], [100, 0, 0, 0]),
                            ([0, 0, 0, 0], [0, 0, 0, 0])):
        assert page.evaluate("(times) => SpecPlayer.wholePercents(times)", times) == expected
    for step in range(len(trace.steps)):
        go_to(page, step)
        assert sum(map(int, re.findall(r"\d+", page.locator(".sp-split-text").inner_text()))) == 100


def test_a_replay_says_how_to_play_it(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    go_to(page, 0)
    assert page.locator(".sp-state").inner_text() == "Recorded run – press Space or ▶ to play"
    page.keyboard.press(" ")
    page.evaluate(DRAWN)
    assert page.locator(".sp-state").inner_text() == "Finished: token limit reached"
    page.keyboard.press(" ")
    page.evaluate(f"specPlayer.status({{ state: 'idle' }}), specPlayer.goTo({FORK}), {DRAWN}")  # as the app replays
    assert page.locator(".sp-state").inner_text() == "Recorded run – press Space or ▶ to play"


def test_a_run_that_is_still_to_be_opened_does_not_wear_the_badges_of_the_one_before(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    name, badge = page.locator(".sp-run-name"), page.locator(".sp-top .sp-badge")
    assert name.inner_text() and badge.is_visible()
    page.evaluate(f"specPlayer.status({{ state: 'loading', stale: true }}), {DRAWN}")
    assert name.inner_text() == "" and badge.is_hidden() and page.locator(".sp-state").inner_text() == "Loading"
    page.evaluate(f"specPlayer.clear(), specPlayer.status({{ state: 'error', error: 'No.' }}), {DRAWN}")
    assert page.locator(".sp-flow").inner_text() == "" and page.locator(".sp-panel-run .sp-note").inner_text() == ""
    assert page.locator(".sp-panel-facts .sp-sentence").inner_text() == "Failed: No."


def test_by_hand_the_head_does_not_say_paused(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    said = []
    for state in ("paused", "running"):
        page.evaluate(f"specPlayer.status({{ state: '{state}', pace: 'hand' }}), {DRAWN}")
        said.append(page.locator(".sp-state").inner_text())
    assert said == ["By hand: waits for each step"] * 2
    page.evaluate(f"specPlayer.status({{ state: 'paused', pace: 'full' }}), {DRAWN}")
    assert page.locator(".sp-state").inner_text() == "Paused"


def test_a_linked_step_that_is_not_here_yet_is_no_step_0(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.evaluate("""(run) => {
      specPlayer.open(run);
      specPlayer.goTo(2);
      specPlayer.status({ state: "finished", stop: "length" });
    }""", run_view(trace.run))
    page.evaluate("(views) => specPlayer.append(views)", [step_view(step) for step in trace.steps[:2]])
    page.evaluate(DRAWN)
    assert page.locator(".sp-count-text").inner_text() == ""
    assert page.locator(".sp-sentence").inner_text() == "Step 3 has not come yet."
    page.evaluate("(views) => specPlayer.append(views)", [step_view(step) for step in trace.steps[2:4]])
    page.evaluate(DRAWN)
    assert page.locator(".sp-count-text").inner_text() == "Step 3 of 4"


def test_the_projector_cuts_no_number_of_a_chip(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.keyboard.press("p")
    page.evaluate(DRAWN)
    numbers = page.locator(".sp-chip:visible .sp-chip-numbers:visible")
    assert "↑root" in numbers.nth(1).inner_text()
    assert numbers.evaluate_all("(list) => list.filter((node) => node.scrollWidth > node.clientWidth || node.scrollHeight > node.clientHeight + 1).length") == 0


def test_the_whole_step_is_in_sight(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for step in (0, 20, 8, 30, 11):
        go_to(page, step)
        page.evaluate(DRAWN)
        hidden = page.evaluate("""() => {
          const frame = document.querySelector(".sp-scroll").getBoundingClientRect();
          return [...document.querySelectorAll(".sp-tok.sp-now")].filter((node) => {
            const box = node.getBoundingClientRect();
            return box.height && (box.top < frame.top - 6 || box.bottom > frame.bottom + 6);
          }).map((node) => node.textContent);
        }""")
        assert not hidden, step


def test_a_run_without_steps_says_so(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(with_run(trace, []))
    assert page.locator(".sp-sentence").inner_text() == "This run has no steps."


def test_a_panels_picture_button_covers_nothing(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    for language in ("en", "zh"):
        page.locator(f"[data-language={language}]").click()
        page.evaluate(DRAWN)
        panels = page.locator(".sp-panel:visible")
        for i in range(panels.count()):
            panel = panels.nth(i)
            panel.hover(position={"x": 4, "y": 4})
            covered, name = panel.evaluate("""(panel) => {
              const button = panel.querySelector(".sp-export-open").getBoundingClientRect();
              const meets = (box) => box.width && box.left < button.right && box.right > button.left && box.top < button.bottom && box.bottom > button.top;
              const texts = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT), covered = [];
              while (texts.nextNode()) {
                const range = document.createRange();
                range.selectNodeContents(texts.currentNode);
                if (!texts.currentNode.parentElement.closest(".sp-export, .sp-scroll") && [...range.getClientRects()].some(meets)) covered.push(texts.currentNode.data);
              }
              const note = panel.querySelector(".sp-note");
              if (note.scrollWidth > note.clientWidth) covered.push(note.textContent + " is cut");
              return [covered, panel.className];
            }""")
            assert not covered, (language, name)


def test_the_picture_menu_is_whole_and_takes_the_keys(page_of: Callable[..., Page], trace: Trace) -> None:
    page = page_of(trace)
    page.locator(".sp-chip[data-node='0']").click()
    page.locator(".sp-panel-timeline .sp-export-open").click()
    menu = page.locator(".sp-panel-timeline .sp-export-menu")
    assert menu.is_visible()
    on_top = menu.locator("button").evaluate_all("""(buttons) => buttons.map((button) => {
      const { left, top, width, height } = button.getBoundingClientRect();
      return document.elementFromPoint(left + width / 2, top + height / 2) === button;
    })""")
    assert on_top == [True, True]
    page.keyboard.press("Escape")
    assert menu.is_hidden()
    assert page.evaluate("specPlayer.state().pin") is not None, "Escape closes the menu, and only that"


@pytest.mark.parametrize("node", [-2, 0.5, 10**6, "x", None])
def test_a_pin_that_is_not_there_is_none(page_of: Callable[..., Page], trace: Trace, node: object) -> None:
    page = page_of(trace)
    page.evaluate("(node) => specPlayer.pin(node)", node)
    page.evaluate(DRAWN)
    assert page.evaluate("specPlayer.state().pin") is None
    page.evaluate("specPlayer.pin(-1)")
    page.evaluate(DRAWN)
    assert page.locator(".sp-chip.sp-lit").get_attribute("data-node") == "-1"
