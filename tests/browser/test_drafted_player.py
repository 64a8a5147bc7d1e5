"""Runs of drafters with a q in the player: q beside p, the arithmetic of every rule, two tokenizations."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from drafted import SHAPES, drafted_trace
from players import DRAWN, go_to, page_of
from playwright.sync_api import Page
from synthetic import synthetic_trace
from test_hostile import KEYS, WRONG

from spec_core.messages import catalogue
from spec_core.trace import Trace
from visualizers.arithmetic import decisions
from visualizers.views import run_view, step_view

__all__ = ["page_of"]  # a fixture


def shown(probability: float) -> str:
    """As ``SpecPlayer.probability`` writes it, between 0.01 and 0.995."""
    return f"{probability:.2f}"


@pytest.mark.parametrize("rule", SHAPES)
def test_every_decision_is_in_words(page_of: Callable[..., Page], rule: str) -> None:
    trace = drafted_trace(rule, steps=8)
    page = page_of(trace)
    assert page.locator(".sp-rule").inner_text() == catalogue("en", "player")[f"player.rule.name.{rule}"]
    for language in ("zh", "en"):
        page.locator(f"[data-language={language}]").click()
        for step in trace.steps:
            go_to(page, step.index)
            texts = page.locator(".sp-decision").all_inner_texts()
            assert len(texts) == len(decisions(step))
            assert not any("{" in text.replace(decision["values"]["piece"].strip(), "") or "player." in text
                           for text, decision in zip(texts, decisions(step), strict=True))


def test_the_arithmetic_holds_on_screen(page_of: Callable[..., Page]) -> None:
    trace = drafted_trace("speculative")
    page = page_of(trace)
    index, entry = next((step.index, entry) for step in trace.steps for entry in step.arithmetic[:1]
                        if 0.02 < entry["threshold"] < 0.98 and entry["p"] > 0.02)
    go_to(page, index)
    text = page.locator(".sp-decision").first.inner_text()
    assert f"p/q = {shown(entry['p'])}/{shown(entry['q'])} = {shown(entry['threshold'])}" in text
    assert ("✓ accepted" if entry["accepted"] else "✗ rejected") in text


@pytest.mark.parametrize("rule", SHAPES)
def test_a_greedy_run_says_that_its_draft_counts_as_certain(page_of: Callable[..., Page], rule: str) -> None:
    """Where the arithmetic says q = 1 beside a tree that shows the drafter's own q; nowhere else."""
    for temperature in (0.0, 0.8):
        trace = drafted_trace(rule, steps=6)
        trace.run["acceptance"]["temperature"] = temperature
        page = page_of(trace)
        for language in ("zh", "en"):
            page.locator(f"[data-language={language}]").click()
            for step in trace.steps:
                go_to(page, step.index)
                said = temperature == 0 and any("q" in decision["values"] for decision in decisions(step))
                note = catalogue(language, "player")["player.rule.certain"]
                assert page.locator(".sp-panel-facts").get_by_text(note).count() == said


def test_numbers_that_round_to_the_same_are_told_apart(page_of: Callable[..., Page]) -> None:
    page = page_of(drafted_trace("speculative"))
    assert page.evaluate("SpecPlayer.apart(0.7841, 0.7838)") == ["0.7841", "0.7838"]
    assert page.evaluate("SpecPlayer.apart(0.9996, 1)") == ["0.9996", "1.0000"]
    assert page.evaluate("SpecPlayer.apart(0.31, 0.62)") == ["0.31", "0.62"]


def test_a_low_projector_shows_root_and_four_nodes(page_of: Callable[..., Page]) -> None:
    page = page_of(drafted_trace("multi-candidate"))
    page.keyboard.press("p")
    page.evaluate(DRAWN)
    whole = page.evaluate("""() => {
      const list = document.querySelector(".sp-chips"), {bottom} = list.getBoundingClientRect();
      return [...list.children].filter((chip) => chip.getBoundingClientRect().bottom <= bottom).length;
    }""")
    assert whole >= 5


def test_q_stands_beside_p(page_of: Callable[..., Page]) -> None:
    trace = drafted_trace("multi-candidate")
    page = page_of(trace, height=1300)
    view = step_view(trace.steps[3])
    node = next(i for i, p in enumerate(view["p"]) if p is not None and 0.02 < p and 0.02 < view["q"][i])
    far = view["p"].index(None)
    q, p = shown(view["q"][node]), shown(view["p"][node])
    assert page.locator(f".sp-chip[data-node='{node}'] .sp-chip-chances").inner_text() == f"q {q} p {p}"
    assert " p " not in page.locator(f".sp-chip[data-node='{far}'] .sp-chip-chances").inner_text()
    assert page.locator(f".sp-trie .sp-node[data-node='{node}'] .sp-count").text_content() == f"{q}→{p}"
    page.locator(f".sp-chip[data-node='{node}']").click()
    page.evaluate(DRAWN)
    card = page.locator(".sp-hint").inner_text()
    assert "q drafter" in card and q in card and p in card
    chips = page.locator(".sp-chip:visible")
    assert chips.evaluate_all("(list) => list.filter((chip) => chip.scrollHeight > chip.clientHeight + 1).length") == 0


def test_the_clicked_node_shows_bars_of_both(page_of: Callable[..., Page]) -> None:
    trace = drafted_trace("speculative")
    page = page_of(trace, height=1300)
    rows = step_view(trace.steps[0])["bars"]["-1"]
    go_to(page, 0)
    page.locator(".sp-chip[data-node='-1']").click()
    page.evaluate(DRAWN)
    pieces = page.locator(".sp-hint .sp-bar-piece")
    assert pieces.count() == len(rows)
    for name, column in (("p", 1), ("q", 2)):
        widths = page.locator(f".sp-hint .sp-bar-of-{name}").evaluate_all("(bars) => bars.map((bar) => parseFloat(bar.style.width))")
        assert widths == pytest.approx([max(1, 100 * row[column]) if row[column] else 0 for row in rows], abs=0.1)


def test_two_tokenizations_stand_one_above_the_other(page_of: Callable[..., Page]) -> None:
    trace = drafted_trace("one-draw")
    page = page_of(trace, height=1000)
    alignment = step_view(trace.steps[3])["alignment"]
    for side in ("drafter", "target"):
        assert page.locator(f".sp-align-token.sp-align-{side}:visible").count() == len(alignment[side])
    edges = page.evaluate("""() => Object.fromEntries(["drafter", "target"].map((side) => [side,
      [...document.querySelectorAll(`.sp-align-token.sp-align-${side}`)].map((node) => [node.offsetLeft, node.offsetLeft + node.offsetWidth])]))""")
    for side in ("drafter", "target"):  # no two overlap, and none is too narrow for its text
        assert all(after[0] >= before[1] for before, after in zip(edges[side], edges[side][1:], strict=False))
    assert page.locator(".sp-align-token").evaluate_all("(list) => list.filter((node) => node.scrollWidth > node.clientWidth).length") == 0
    for begin, end, _, _ in alignment["groups"]:  # what is shared ends at one place on both sides
        ends = [edges[side][[token[2] for token in alignment[side]].index(end)][1] for side in ("drafter", "target")]
        assert abs(ends[0] - ends[1]) <= 1
    assert "3 tokens dropped from the drafter's cache" in page.locator(".sp-align-caption").inner_text()
    page.locator(".sp-align-token[data-node='1']").hover()
    page.evaluate(DRAWN)
    assert page.locator(".sp-chip.sp-lit[data-node='1']").count() == 1


def test_only_such_a_run_has_the_panel(page_of: Callable[..., Page]) -> None:
    page = page_of(drafted_trace("one-draw"))
    assert page.locator(".sp-panel-align").is_visible()
    other = synthetic_trace(steps=4)
    page.evaluate("([run, steps]) => { specPlayer.open(run); specPlayer.append(steps); }",
                  [run_view(other.run), [step_view(step) for step in other.steps]])
    page.evaluate(DRAWN)
    assert page.locator(".sp-panel-align").is_hidden()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("width", "projector"), [(700, False), (980, False), (1280, False), (1920, False), (1280, True)])
def test_the_times_of_a_step_lie_over_no_words(page_of: Callable[..., Page], width: int, projector: bool, language: str) -> None:
    trace = drafted_trace("speculative")
    trace.run["acceptance"]["temperature"] = 0.0  # a long note
    page = page_of(trace, width=width)
    page.locator(f"[data-language={language}]").click()
    if projector:
        page.keyboard.press("p")
    page.evaluate(DRAWN)
    covered = page.evaluate("""() => {
      const panel = document.querySelector(".sp-panel-facts");
      const boxes = [...panel.querySelectorAll(".sp-note, .sp-title, .sp-sentence, .sp-decision")].map((node) => [node.className, node.getBoundingClientRect()]);
      const times = [...panel.querySelectorAll(".sp-time")].map((node) => node.getBoundingClientRect());
      return boxes.filter(([, a]) => times.some((b) =>
        a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2)).map(([name]) => name);
    }""")
    assert not covered


@pytest.mark.parametrize("rule", ["one-draw", "multi-candidate", "block"])
@pytest.mark.parametrize(("width", "height", "projector"), [(700, 720, False), (980, 720, False), (1600, 1000, False),
                                                            (1280, 720, True), (1920, 1080, True)])
def test_panels_have_room(page_of: Callable[..., Page], rule: str, width: int, height: int, projector: bool) -> None:
    page = page_of(drafted_trace(rule), width=width, height=height)
    if projector:
        page.keyboard.press("p")
    page.evaluate(DRAWN)
    overlapping = page.evaluate("""() => {
      const panels = [...document.querySelectorAll(".sp-panel")].filter((node) => node.checkVisibility());
      const boxes = panels.map((node) => node.getBoundingClientRect());
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1).map(() => panels[i].className));
    }""")
    assert not overlapping
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    spilling = page.evaluate("""() => [...document.querySelectorAll(".sp-head, .sp-panel > .sp-body, .sp-align-line")]
      .filter((node) => node.checkVisibility())
      .filter((node) => node.scrollHeight > node.clientHeight + 1 || (node.matches(".sp-head") && node.scrollWidth > node.clientWidth + 1))
      .map((node) => node.parentNode.className + " " + node.className)""")
    assert not spilling
    cut = page.evaluate("""() => {
      const list = document.querySelector(".sp-chips"), edge = list.getBoundingClientRect().bottom;
      const rows = [...list.children].filter((chip) => chip.checkVisibility()).map((chip) => chip.getBoundingClientRect());
      return [...list.querySelectorAll(".sp-chip-numbers")].filter((node) => node.scrollWidth > node.clientWidth).length
        + rows.filter(({ top, bottom }) => top < edge - 1 && bottom > edge + 1).length;
    }""")
    assert cut == 0
    if projector:
        small = page.evaluate("""() => [...document.querySelectorAll("#player *")]
          .filter((node) => node.checkVisibility() && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
          .filter((node) => !node.matches(".sp-live, .sp-probe") && parseFloat(getComputedStyle(node).fontSize) < 18)
          .map((node) => node.className.baseVal ?? node.className)""")
        assert not small
        outside = page.evaluate("""() => [...document.querySelectorAll(".sp-panel")].filter((node) => {
          const box = node.getBoundingClientRect();
          return node.checkVisibility() && (box.right > innerWidth || box.bottom > innerHeight);
        }).map((node) => node.className)""")
        assert not outside


def test_a_hostile_trace_is_drawn(page_of: Callable[..., Page]) -> None:
    """Wrong types everywhere in details and arithmetic; markup in every piece of text."""
    data = drafted_trace("one-draw", steps=len(WRONG)).to_json()
    for i, step in enumerate(data["steps"]):
        step["details"] = {key: WRONG[(i + j) % len(WRONG)] for j, key in enumerate(KEYS)}
        if i % 2:
            markup = {"pieces": ["<img src=x onerror=alert(1)>"] * 2, "ends": [3, 2**52]}
            step["details"] |= {"source": "universal", "assistant": markup, "target": markup, "window": "<script>alert(1)</script>"}
        step["arithmetic"] = [*WRONG, {"node": -1, "rule": "<b>", "candidate": 0, "piece": "<b>", "u": 1e300, "threshold": -1e300,
                                       "bars": [["<b>", 1e300, -5]]}]
        step["tree"]["weights"] = [-1.0] * len(step["tree"]["tokens"])
    page = page_of(Trace.from_json(json.loads(json.dumps(data))))
    for step in range(len(WRONG)):
        go_to(page, step)
        page.locator(".sp-chip[data-node='-1']").hover()
        page.evaluate(DRAWN)
    assert page.locator("#player img, #player script, #player b").count() == 0
