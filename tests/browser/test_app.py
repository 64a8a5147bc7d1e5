"""The real page, driven as a person would: with the default model, in headless Chromium."""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from addresses import place_of
from playwright.sync_api import Page, expect

from spec_core.datastore.build import build_store
from spec_core.datastore.corpus import files_corpus
from spec_core.datastore.manage import delete_store
from spec_core.models import local_tokenizer
from ui.bundled import TRACES

pytestmark = pytest.mark.filterwarnings("ignore")

PANELS = ("text", "run", "timeline", "facts", "trie", "mask", "pseudo")
CODE = "import os\nimport sys\n\n\ndef main(argv=None):\n    for name in"
SECOND_PACE = '[name="lab-pace"][value="second"]'
ENOUGH = 60_000
"""Milliseconds for the first run: the target loads."""

FILLED = """name => {
  const body = document.querySelector(`.lab-stage .sp-panel-${name} .sp-body`);
  const canvas = body.querySelector('canvas');
  if (canvas && canvas.width) {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.some((value) => value !== 0);
  }
  return body.innerText.trim() !== '' || body.querySelectorAll('svg text, svg circle, svg rect').length > 2;
}"""

OpenPage = Callable[..., Page]


def expect_panels_filled(page: Page) -> None:
    for name in PANELS:
        page.wait_for_function(FILLED, arg=name)


def state(page: Page):
    return page.locator('#lab-controls [data-part="state"]')


def press(page: Page, name: str) -> None:
    page.locator(f'#lab-controls [data-part="{name}"]').click()


def steps(page: Page) -> int:
    found = re.search(r"\d+", state(page).inner_text())
    return int(found.group()) if found else 0


def start(page: Page, prompt: str = CODE, pace: str = "full", tokens: int | None = None) -> None:
    page.locator("#lab-prompt textarea").fill(prompt)
    if tokens is not None:
        page.get_by_text("Generation settings").click()
        page.locator("#lab-max_new_tokens input[type=number]").fill(str(tokens))
    page.locator(f'[name="lab-pace"][value="{pace}"]').check()
    press(page, "run")
    expect(state(page)).to_have_text(re.compile("Running|Finished|运行中|已完成"), timeout=ENOUGH)


def stop(page: Page) -> None:
    press(page, "stop")
    expect(state(page)).to_have_text(re.compile("Stopped|已停止"))


def test_the_page_opens_with_a_replay_and_without_a_model(fresh_server, open_page: OpenPage):
    page = open_page(on=fresh_server)
    expect(state(page)).to_have_text(re.compile(r"Recorded run · [1-9]"))
    expect_panels_filled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280, "the page scrolls sideways"
    expect(page.locator('#lab-controls [data-part="run"]')).to_be_in_viewport(ratio=1)
    if sys.platform == "linux":
        assert "libtorch" not in Path(f"/proc/{fresh_server.pid}/maps").read_text(), "torch is loaded before a run"


def test_run_pause_step_scrub_and_stop(open_page: OpenPage):
    page = open_page()
    start(page, pace="second")
    expect_panels_filled(page)
    run = page.evaluate("new URL(location.href).searchParams.get('run')")
    assert run
    press(page, "pause")
    expect(state(page)).to_have_text(re.compile("Paused"))
    made = steps(page)
    press(page, "step")
    expect(state(page)).to_have_text(f"Paused · {made + 1} steps")
    press(page, "step")
    expect(state(page)).to_have_text(f"Paused · {made + 2} steps")

    page.locator(".sp-panel-timeline .sp-title").click()
    page.keyboard.press("Home")
    expect(page.locator(".sp-count-text")).to_have_text(f"Step 1 of {made + 2}")
    page.wait_for_url(re.compile("step=1$"))
    page.keyboard.press("ArrowRight")
    expect(page.locator(".sp-count-text")).to_have_text(f"Step 2 of {made + 2}")
    page.keyboard.press("End")
    page.keyboard.press("f")

    page.locator('[name="lab-pace"][value="full"]').check()
    press(page, "pause")  # resumes
    expect(state(page)).to_have_text(re.compile("Running|Finished"))
    page.wait_for_function(f"() => !document.querySelector('.lab-state').textContent.includes('{made + 2} ')")
    if "Running" in state(page).inner_text():
        stop(page)
    expect(page.locator('#lab-controls [data-part="run"]')).to_be_enabled()
    expect(page.locator('#lab-controls [data-part="stop"]')).to_be_disabled()


def test_by_hand_says_so_and_goes_on_at_full_speed(open_page: OpenPage):
    page = open_page()
    page.locator('[name="lab-pace"][value="hand"]').check()
    press(page, "run")
    expect(state(page)).to_have_text("By hand: press Step · 0 steps", timeout=ENOUGH)
    expect(page.locator(".sp-state").first).to_have_text("By hand: waits for each step")
    press(page, "step")
    expect(state(page)).to_have_text("By hand: press Step · 1 step")
    page.locator('[name="lab-pace"][value="full"]').check()
    expect(state(page)).to_have_text(re.compile("Running|Finished"))
    page.wait_for_function("() => speculationLab.channels.live.steps > 1")
    if "Running" in state(page).inner_text():
        stop(page)


def test_the_address_counts_steps_as_the_screen_does(open_page: OpenPage):
    last = len(json.loads((TRACES / "rest-code.json").read_text(encoding="utf-8"))["steps"])
    linked = open_page("?run=bundled-rest-code&step=25")
    expect(linked.locator(".sp-count-text").first).to_have_text(f"Step 25 of {last}")
    beyond = open_page(f"?run=bundled-rest-code&step={last + 900}")
    expect(beyond.locator(".sp-count-text").first).to_have_text(f"Step {last} of {last}")
    beyond.wait_for_url(re.compile(f"step={last}$"))


def test_the_address_names_the_view_of_the_player(open_page: OpenPage):
    page = open_page("?run=bundled-rest-code&step=25")
    stage = page.locator("#lab-live-player")
    expect(stage.locator(".sp-count-text")).to_have_text(re.compile("Step 25 of"))
    stage.locator(".sp-chip[data-node='3']").click()
    stage.locator(".sp-mode").nth(1).click()
    page.wait_for_url(lambda url: place_of(url) == {"run": "bundled-rest-code", "step": "25", "node": "4", "mask": "causal"})
    for path in (page.url.partition("?")[2], page.url.partition("?")[2] + "&tab=replay"):
        other = open_page("?" + path)
        stage = other.locator(f"#lab-{'replay' if 'tab' in path else 'live'}-player")
        expect(stage.locator(".sp-chip.sp-lit[data-node='3']")).to_be_attached()
        expect(stage.locator(".sp-count-text")).to_have_text(re.compile("Step 25 of"))
        expect(stage.locator(".sp-mode").nth(1)).to_have_attribute("aria-pressed", "true")
    other.locator("#lab-tab-replay-button").click()
    stage.locator(".sp-count-text").click()
    other.keyboard.press("Escape")  # releases the node
    other.keyboard.press("f")  # the run is followed: no step
    stage.locator(".sp-mode").first.click()
    other.wait_for_url(lambda url: place_of(url) == {"run": "bundled-rest-code", "tab": "replay"})


@pytest.mark.parametrize("view", ["step=25&node=100000", "step=25&node=-1", "step=25&node=1e1&mask=__proto__", "node=3", "step=<b>&node=<b>",
                                  "step=99999999999999999999&node=1&mask=<script>"])
def test_a_hostile_address_shows_a_step(open_page: OpenPage, view: str):
    page = open_page(f"?run=bundled-rest-code&{view}")
    stage = page.locator("#lab-live-player")
    expect(stage.locator(".sp-count-text")).to_have_text(re.compile("Step (25|70) of 70"))
    page.wait_for_url(re.compile(r"\?run=bundled-rest-code(&step=25)?$"))
    expect(stage.locator(".sp-lit")).to_have_count(0)
    expect(stage.locator(".sp-mode").first).to_have_attribute("aria-pressed", "true")


def test_gradios_own_words_are_in_the_viewers_language(open_page: OpenPage):
    page = open_page(locale="zh-CN")
    more = page.locator("#lab-tabs .overflow-menu > button")
    expect(more).to_have_attribute("aria-label", "更多标签页")
    page.locator('[data-language="en"]').click()
    expect(more).to_have_attribute("aria-label", "More tabs")


def type_name(page: Page, field: str, name: str, end: str = "Enter") -> None:
    box = page.locator(f"#{field} input")
    box.click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.type(name)
    page.keyboard.press(end)
    expect(box).to_have_value(name)


def test_what_a_name_field_shows_is_what_runs(open_page: OpenPage):
    page = open_page()
    problem = page.locator('#lab-controls [data-part="problem"]')
    for name in ("nosuch", "nosuch-either"):  # each fails before its first picture
        type_name(page, "lab-target", name)
        press(page, "run")
        expect(problem).to_contain_text(f"named {name}.", timeout=ENOUGH)
    page.reload()
    expect(page.locator("#lab-target input")).to_have_value("nosuch-either")
    type_name(page, "lab-target", "nosuch-third", end="Control+Enter")
    expect(problem).to_contain_text("named nosuch-third.", timeout=ENOUGH)
    type_name(page, "lab-target", "", end="Tab")
    press(page, "run")
    expect(problem).to_have_text("Choose a target.")
    type_name(page, "lab-target", "smollm2-135m", end="Tab")
    type_name(page, "lab-datastore", "nosuch-store")
    press(page, "run")
    expect(problem).to_contain_text("nosuch-store", timeout=ENOUGH)
    type_name(page, "lab-datastore", "python-stdlib")
    start(page, tokens=8)
    expect(problem).to_have_text("")


def test_a_list_closes_when_its_field_is_left(open_page: OpenPage):
    page = open_page()
    lists = page.locator('ul[role="listbox"]')
    for keys in (["Tab"], ["Escape", "Tab"], ["ArrowDown", "Tab"], ["Shift+Tab"], ["Escape", "Shift+Tab"]):
        page.locator("#lab-drafter input").focus()
        expect(lists).to_have_count(1)
        page.keyboard.press(keys[0])
        for key in keys[1:]:
            page.keyboard.press(key)
        page.locator("#lab-prompt textarea").focus()  # whatever list the next field opened
        page.wait_for_timeout(300)
        expect(lists).to_have_count(0)
    page.locator("#lab-target input").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
    page.wait_for_timeout(300)
    focused = page.evaluate("document.activeElement.getAttribute('role') === 'combobox'")
    expect(lists).to_have_count(1 if focused else 0)


def test_a_store_that_somebody_deleted_leaves_the_list(open_page: OpenPage, tmp_path: Path):
    (tmp_path / "a.txt").write_text("one two three one two three", encoding="utf-8")
    build_store(files_corpus([tmp_path]), "live-gone", local_tokenizer("smollm2-135m"), replace=True)
    page = open_page()
    field, options = page.locator("#lab-datastore input"), page.locator("[role=option]")
    field.click()
    expect(options.filter(has_text="live-gone")).to_have_count(1)
    options.filter(has_text="live-gone").click()
    delete_store("live-gone")
    press(page, "run")
    expect(page.locator('#lab-controls [data-part="problem"]')).to_contain_text("Build one in the tab Datastores", timeout=ENOUGH)
    page.wait_for_timeout(500)
    field.click()
    field.fill("")
    expect(options.filter(has_text="python-stdlib").first).to_be_visible()
    expect(options.filter(has_text="live-gone")).to_have_count(0)


def test_the_controls_have_room_in_a_low_window(open_page: OpenPage):
    page = open_page()
    expect(page.locator("#lab-link")).to_have_value(re.compile("run="))
    assert page.evaluate("document.querySelector('#lab-link').scrollLeft") == 0
    page.evaluate("""() => { document.querySelector('.lab-state').textContent = 'Converting the model, once, which takes a while 0 %'; }""")
    inside = page.evaluate("""() => {
      const box = (selector) => document.querySelector(selector).getBoundingClientRect();
      return [box('.lab-state').top - box('.lab-transport').bottom, box('.lab-paces').top - box('.lab-state').bottom];
    }""")
    assert min(inside) >= 6, inside
    expect(page.locator("#lab-link")).to_be_in_viewport(ratio=1)


def test_a_run_in_one_column_brings_the_stage_into_view(open_page: OpenPage):
    page = open_page(viewport={"width": 700, "height": 800}, reduced_motion="reduce")
    expect(state(page)).to_have_text(re.compile("Recorded"))
    start(page, tokens=8)
    page.wait_for_function("() => Math.abs(document.querySelector('.lab-player').getBoundingClientRect().top) < 120")


def test_a_reload_attaches_again_and_a_second_browser_follows(open_page: OpenPage):
    page = open_page()
    start(page, pace="second")
    run = page.evaluate("new URL(location.href).searchParams.get('run')")
    page.reload()
    expect(state(page)).to_have_text(re.compile("Running"))
    assert page.evaluate("new URL(location.href).searchParams.get('run')") == run
    expect(page.locator("#lab-prompt textarea")).to_have_value(CODE)
    expect(page.locator(SECOND_PACE)).to_be_checked()

    pupil = open_page(f"?run={run}")
    expect(state(pupil)).to_have_text(re.compile(r"Running · [1-9]\d* steps · followed"))
    expect(pupil.locator('#lab-controls [data-part="stop"]')).to_be_disabled()
    expect_panels_filled(pupil)
    press(page, "pause")
    expect(state(pupil)).to_have_text(re.compile("Paused"))
    expect(state(page)).to_have_text(re.compile("Paused"))
    assert steps(pupil) == steps(page)
    stop(page)
    expect(state(pupil)).to_have_text(re.compile("Stopped"))
    expect(pupil.locator(".sp-count-text")).to_have_text(re.compile(f"of {steps(page)}$"))


def test_a_second_run_waits_and_sees_its_place(open_page: OpenPage):
    first, second = open_page(), open_page()
    start(first, pace="second")
    press(first, "pause")
    expect(state(first)).to_have_text(re.compile("Paused"))
    press(second, "run")
    expect(state(second)).to_have_text(re.compile("Place 1 in line. Another run is paused.* after 5 min"))
    press(first, "pause")  # resumes
    expect(state(second)).to_have_text("Waiting for the device, place 1 in line")
    press(first, "pause")
    stop(second)
    expect(state(first)).to_have_text(re.compile("Paused"))
    stop(first)


def test_a_closed_tab_stops_its_run(open_page: OpenPage):
    page = open_page()
    start(page, pace="second")
    link = page.url
    made = steps(page)
    page.close(run_before_unload=False)
    later = open_page()
    later.wait_for_timeout(16_000)  # nobody has fetched for Bounds.abandoned_after
    later.goto(link)
    expect(state(later)).to_have_text(re.compile("Stopped"))
    expect(later.locator('#lab-controls [data-part="problem"]')).to_contain_text("nobody followed it")
    assert steps(later) <= made + 2, "steps were made after the tab was closed"


def test_a_lost_connection_is_said_and_comes_back(open_page: OpenPage):
    page = open_page(may_disconnect=True)
    start(page, pace="second")
    page.context.set_offline(True)
    problem = page.locator('#lab-controls [data-part="problem"]')
    expect(problem).to_contain_text("connection is lost", timeout=15_000)
    page.context.set_offline(False)
    expect(problem).to_have_text("", timeout=15_000)
    before = steps(page)
    page.wait_for_function("before => parseInt(document.querySelector('.lab-state').textContent.match(/\\d+/)) > before",
                           arg=before)
    stop(page)


def test_every_step_of_a_long_run_is_drawn(open_page: OpenPage):
    """From a step's commit to its picture: printed; ``benchmarks/page.py`` measures it."""
    page = open_page()
    start(page, tokens=200)
    expect(state(page)).to_have_text(re.compile("Finished"), timeout=ENOUGH)
    delays = sorted(page.evaluate("speculationLab.channels.live.delays"))
    assert len(delays) > 20
    p50, p95 = delays[len(delays) // 2], delays[int(len(delays) * 0.95)]
    print(f"commit to paint: p50 {p50} ms, p95 {p95} ms over {len(delays)} pictures")
    assert page.evaluate("speculationLab.channels.live.steps") == page.evaluate("speculationLab.channels.live.player.state().step") + 1


def test_the_language_changes_without_a_reload_and_is_remembered(open_page: OpenPage):
    page = open_page()
    page.locator("#lab-prompt textarea").fill("keep me")
    page.locator('[data-language="zh"]').click()
    expect(page.locator("#lab-prompt")).to_contain_text("提示词")
    expect(page.locator("#lab-tab-replay-button")).to_have_text("回放")
    expect(page.locator(".sp-panel-trie .sp-title")).to_have_text("检索到的字典树")
    expect(page.locator("#lab-prompt textarea")).to_have_value("keep me")
    page.get_by_text("生成设置").click()
    expect(page.locator("#lab-temperature")).to_contain_text("温度")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.reload()
    expect(page.locator("#lab-prompt")).to_contain_text("提示词")
    page.locator('[data-language="en"]').click()
    expect(page.locator("#lab-prompt")).to_contain_text("Prompt")


def test_sliders_are_named_in_the_viewers_language(open_page: OpenPage):
    page = open_page(locale="zh-CN")
    page.get_by_text("生成设置").click()
    for selector, name in (('[type="number"]', "温度：数值"), ('[type="range"]', "温度：滑块")):
        expect(page.locator(f"#lab-temperature {selector}")).to_have_attribute("aria-label", name)
    page.locator('[data-language="en"]').click()
    expect(page.locator('#lab-temperature [type="range"]')).to_have_attribute("aria-label", "Temperature: slider")
    english = page.locator(".lab-form input").evaluate_all("(list) => list.map((input) => input.ariaLabel ?? '')")
    assert not [name for name in english if "input for" in name or "slider for" in name]


def test_the_browsers_language_and_the_links_are_heard(open_page: OpenPage):
    expect(open_page(locale="zh-CN").locator("#lab-prompt")).to_contain_text("提示词")
    expect(open_page("?lang=en", locale="zh-CN").locator("#lab-prompt")).to_contain_text("Prompt")


def test_bad_input_gives_a_sentence_and_loses_nothing(open_page: OpenPage):
    page = open_page()
    problem = page.locator('#lab-controls [data-part="problem"]')
    page.get_by_text("Generation settings").click()
    page.locator("#lab-seed input").fill("7")
    page.locator("#lab-prompt textarea").fill("")
    press(page, "run")
    expect(problem).to_contain_text("The prompt is empty")
    page.locator('[data-language="zh"]').click()
    expect(problem).not_to_contain_text("The prompt is empty")
    expect(problem).to_have_text(re.compile("[\u4e00-\u9fff]"))
    page.locator('[data-language="en"]').click()

    page.locator("#lab-prompt textarea").fill("x")
    page.locator("#lab-seed input").fill("-1")
    press(page, "run")
    expect(problem).to_contain_text("seed")
    page.locator("#lab-seed input").fill("")
    press(page, "run")
    expect(problem).to_contain_text("seed")
    page.locator("#lab-seed input").fill("7")
    target = page.locator("#lab-target input")
    target.fill("no-such-model")
    target.press("Enter")
    press(page, "run")
    expect(problem).to_contain_text("no-such-model", timeout=ENOUGH)
    stage = page.locator("#lab-live-player")  # nothing of the run before stands beside what failed
    expect(stage.locator(".sp-state")).to_contain_text("Failed: There is no model")
    for gone in (".sp-run-name", ".sp-panel-run .sp-note", ".sp-flow", ".sp-split-text"):
        expect(stage.locator(gone)).to_have_text("")
    expect(stage.locator(".sp-top .sp-badge")).to_be_hidden()
    expect(page.locator("#lab-prompt textarea")).to_have_value("x")
    expect(page.locator("#lab-seed input")).to_have_value("7")
    expect(page.locator(".toast-body")).to_have_count(0)


def test_markup_in_a_prompt_is_text(open_page: OpenPage):
    page = open_page()
    prompt = "<script>window.broken = 1</script><img src=x onerror='window.broken = 1'> 你好 🙂"
    start(page, prompt, tokens=8)
    expect(state(page)).to_have_text(re.compile("Finished"), timeout=ENOUGH)
    page.keyboard.press("Home")
    expect(page.locator(".sp-panel-text")).to_contain_text("<script>window.broken = 1</script>")
    assert page.evaluate("window.broken") is None


def test_keys(open_page: OpenPage):
    page = open_page()
    expect(page.locator(".sp-count-text")).to_have_text(re.compile("Step"))
    page.locator(".sp-panel-timeline .sp-title").click()
    page.keyboard.press("Home")
    expect(page.locator(".sp-count-text")).to_have_text(re.compile("Step 1 of"))
    page.keyboard.press("p")
    expect(page.locator(".sp-projector")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".sp-projector")).to_have_count(0)
    page.locator('[data-part="projector"]').click()
    expect(page.locator(".sp-projector")).to_be_visible()
    page.keyboard.press("p")
    page.locator('[data-part="help"]').click()
    expect(page.locator("dialog[open]")).to_be_visible()
    page.keyboard.press("Escape")
    # typing stays typing; Ctrl+Enter runs
    page.locator("#lab-prompt textarea").fill("")
    page.keyboard.type("f p")
    expect(page.locator("#lab-prompt textarea")).to_have_value("f p")
    expect(page.locator(".sp-projector")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    expect(state(page)).to_have_text(re.compile("Running|Finished"), timeout=ENOUGH)


def test_a_saved_run_opens_in_replay(open_page: OpenPage, tmp_path: Path):
    page = open_page()
    start(page, tokens=24)
    expect(state(page)).to_have_text(re.compile("Finished"), timeout=ENOUGH)
    made = steps(page)
    with page.expect_download() as download:
        press(page, "save")
    saved = tmp_path / "run.json"
    download.value.save_as(saved)
    assert json.loads(saved.read_text(encoding="utf-8"))["format"] == "speculation-trace"

    page.locator("#lab-tab-replay-button").click()
    replay = page.locator("#lab-replay")
    replay.locator('input[type="file"]').set_input_files(saved)
    stage = page.locator("#lab-replay-player")
    expect(stage.locator(".sp-count-text")).to_have_text(re.compile(f"of {made}$"))
    link = page.url
    assert "tab=replay" in link

    made_entries = replay.locator('[data-part="opened"] .lab-choice')
    replay.locator('input[type="file"]').set_input_files(saved)
    expect(stage.locator(".sp-count-text")).to_have_text(re.compile(f"of {made}$"))
    expect(made_entries).to_have_count(1)
    worse = tmp_path / "worse.json"
    worse.write_text("hello", encoding="utf-8")
    replay.locator('input[type="file"]').set_input_files([saved, worse])
    expect(replay.locator('[data-part="problem"]')).to_have_text(re.compile("^worse.json: This is not a trace.*Choose a .json"))
    expect(made_entries).to_have_count(1)

    broken = tmp_path / "broken.json"
    broken.write_text('{"format": "speculation-trace", "version": 99}', encoding="utf-8")
    replay.locator('input[type="file"]').set_input_files([broken, saved, worse])
    problems = replay.locator('[data-part="problem"] > *')
    expect(problems).to_have_text([re.compile("^broken.json: .*version 99"), re.compile("^worse.json: This is not a trace")])
    replay.locator(".lab-choice").first.click()
    expect(replay.locator(".lab-choice").first).to_have_attribute("aria-pressed", "true")
    expect(replay.locator('[data-part="problem"]')).to_have_text("")

    again = open_page(link.removeprefix(page.evaluate("location.origin") + "/"))
    expect(again.locator("#lab-replay-player .sp-count-text")).to_have_text(re.compile(f"of {made}$"))


def test_a_run_that_is_not_kept_is_said(open_page: OpenPage):
    page = open_page("?run=long-gone")
    expect(page.locator('#lab-controls [data-part="problem"]')).to_contain_text("does not keep this run")
    expect(page.locator('#lab-controls [data-part="run"]')).to_be_enabled()


def test_the_page_installs_as_an_app(server):
    manifest = json.load(urllib.request.urlopen(server.url + "manifest.json"))
    assert manifest["name"] == "Speculation Lab" and manifest["display"] == "standalone"
    for icon in manifest["icons"]:
        assert urllib.request.urlopen(server.url + icon["src"].lstrip("/")).read(8).startswith(b"\x89PNG")
