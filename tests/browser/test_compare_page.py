"""The Compare tab, and what can be taken away, in a real browser on a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from addresses import place_of
from playwright.sync_api import Browser, Locator, Page, Request, expect

from spec_core.messages import catalogue

OpenPage = Callable[..., Page]
LONG = 240_000
expect.set_options(timeout=30_000)  # the machine may be busy with the model


def tab(page: Page) -> Locator:
    return page.locator(".lab-compare")


def part(page: Page, name: str) -> Locator:
    return tab(page).locator(f'[data-part="{name}"]')


def lane(page: Page, number: int) -> Locator:
    return tab(page).locator(".lab-lane").nth(number)


def choose(page: Page, number: int, drafter: str) -> None:
    lane(page, number).locator(".lab-lane-head select").select_option(drafter)


def form_of(page: Page) -> list:
    """What every field of the form holds, in the order of the page."""
    return tab(page).locator("form").evaluate(
        """(form) => [...form.elements].filter(({ localName }) => ["input", "select", "textarea"].includes(localName))
          .map(({ name, type, value, checked }) => [name, type, ["checkbox", "radio"].includes(type) ? checked : value])""")


def change_everything(page: Page, sweep: bool) -> None:
    """No field holds what it held; what is asked is small."""
    small(page, repetitions=1)
    shared = {"prompts": "x\n---\ny = '''\n", "temperature": "0.5", "top_k": "9", "top_p": "0.5", "repetition_penalty": "1.25", "seed": "7"}
    tab(page).locator("details.lab-more summary").click()
    for name, value in shared.items():
        tab(page).locator(f'[name="{name}"]').fill(value)
    tab(page).locator('[name="chat"]').check()
    for number, drafter in enumerate(("rest", "suffix")):
        choose(page, number, drafter)
        lane(page, number).locator("summary").click()
        for field in lane(page, number).locator("details input:visible").all():
            field.fill(field.get_attribute("min") or "16")  # a budget has no minimum
        for choice in lane(page, number).locator("details select").all():
            choice.select_option(index=1)
    if sweep:
        tab(page).locator('[name="mode"][value="sweep"]').check(force=True)
        lane(page, 1).locator(".lab-remove").evaluate("(button) => button.click()")  # a sweep is of the first lane
        tab(page).locator('[name="sweep-setting"]').select_option("temperature")
        tab(page).locator('[name="sweep-values"]').fill("0, 0.75")


def compare(page: Page, end: str = catalogue("en")["compare.state.finished"]) -> None:
    part(page, "run").click()
    expect(part(page, "state")).to_have_text(end, timeout=LONG)


def small(page: Page, repetitions: int = 1) -> None:
    """One short prompt, two lanes."""
    tab(page).locator('[name="prompts"]').fill("for i in range(10):\n    print(i)\nfor i in range(10):\n")
    tab(page).locator('[name="max_new_tokens"]').fill("12")
    tab(page).locator('[name="dtype"]').select_option("float32")
    tab(page).locator('[name="repetitions"]').fill(str(repetitions))
    lane(page, 2).locator(".lab-remove").click()
    choose(page, 0, "prompt-lookup")
    choose(page, 1, "context")


@pytest.fixture
def compared(open_page: OpenPage) -> Page:
    """A page with a small comparison that is done."""
    page = open_page("?tab=compare", permissions=["clipboard-read", "clipboard-write"])
    small(page)
    compare(page)
    expect(tab(page).locator('[data-chart="tokens"] .main-svg').first).to_be_visible(timeout=LONG)
    return page


def test_a_lane_shows_its_own_settings_only(open_page: OpenPage):
    page = open_page("?tab=compare")
    for drafter in ("suffix", "prompt-lookup"):
        choose(page, 0, drafter)
        lane(page, 0).locator("summary").first.click()
        labels = [label.removesuffix(catalogue("en")["compare.or_auto"])
                  for label in lane(page, 0).locator(".lab-field:visible > span").all_inner_texts()]
        wanted = {text for key, text in catalogue("en").items()
                  if re.fullmatch(rf"live\.{drafter}\.[a-z_]+", key)}
        assert wanted <= set(labels), drafter
    choose(page, 0, "rest")
    expect(lane(page, 0).locator(".lab-field").first).to_contain_text("Datastore")


def test_lanes_come_and_go(open_page: OpenPage):
    page = open_page("?tab=compare")
    expect(tab(page).locator(".lab-lane")).to_have_count(3)
    part(page, "add").click()
    expect(tab(page).locator(".lab-lane")).to_have_count(4)
    expect(part(page, "add")).to_be_hidden()
    for left in (3, 2, 1):
        lane(page, 0).locator(".lab-remove").click()
        expect(tab(page).locator(".lab-lane")).to_have_count(left)
    expect(lane(page, 0).locator(".lab-remove")).to_be_hidden()


def test_a_comparison_from_run_to_take_away(compared: Page):
    page = compared
    names = tab(page).locator(".lab-figures thead .lab-lane-name").all_inner_texts()
    assert [name.strip() for name in names] == ["Plain decoding", "Prompt lookup", "Context"]
    expect(tab(page).locator('.lab-badge[data-same="true"]')).to_have_count(2)
    assert tab(page).locator(".lab-best").count() >= 4  # the rows of time may leave it open
    # sorting by a row keeps the focus, and puts the best first
    row = tab(page).locator('[data-metric="tokens_per_call"]')
    row.click()
    expect(tab(page).locator('[data-metric="tokens_per_call"]')).to_be_focused()
    cells = tab(page).locator("tr", has=page.locator('[data-metric="tokens_per_call"]')).locator("td").all_inner_texts()
    numbers = [float(re.search(r"[\d.]+", cell)[0]) for cell in cells]
    assert numbers == sorted(numbers, reverse=True)
    expect(part(page, "hint")).to_have_text(catalogue("en")["compare.metric.tokens_per_call.about"])
    # copies
    part(page, "markdown").click()
    expect(part(page, "copied")).not_to_be_empty()
    markdown = page.evaluate("navigator.clipboard.readText()")
    assert markdown.splitlines()[1].startswith("| --- |") and "Tokens per target call" in markdown
    assert "Prompt lookup" in markdown and "×" in markdown
    part(page, "csv").click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('metric,plain,prompt-lookup,context'))")
    rows = [line.partition(",")[0] for line in page.evaluate("navigator.clipboard.readText()").splitlines()]
    assert {"speedup", "speedup_least", "speedup_low", "speedup_median", "speedup_high", "speedup_most"} < set(rows)
    with page.expect_download() as download:
        part(page, "comparison").click()
    assert json.loads(Path(download.value.path()).read_text())["format"] == "speculation-comparison"


def test_the_race_runs_on_time_and_on_steps(compared: Page):
    page = compared
    counts = tab(page).locator(".lab-track-count")
    expect(counts.first).to_contain_text("12 tokens")
    whole = tab(page).locator(".lab-track-text").first.inner_text()
    for text in tab(page).locator(".lab-track-text").all_inner_texts():
        assert text == whole, "greedy and float32: the same text in every lane"
    seek = part(page, "seek")
    seek.fill("0")
    expect(counts.first).to_contain_text("0 tokens")
    part(page, "axis").select_option("steps")
    seek.fill("0")
    part(page, "speed").select_option("4")
    part(page, "play").click()
    expect(part(page, "play")).to_have_attribute("title", catalogue("en")["compare.race.pause"])
    expect(part(page, "play")).to_have_attribute("title", catalogue("en")["compare.race.play"], timeout=LONG)
    for count in counts.all_inner_texts():
        assert count.startswith("12 tokens")


def test_the_explorer_answers_to_its_sliders(compared: Page):
    page = compared
    expect(part(page, "advice")).to_contain_text("Tree budget for Prompt lookup")
    before = part(page, "advice").inner_text()
    part(page, "breakeven").locator('[name="alpha"]').fill("0.05")
    part(page, "breakeven").locator('[name="c"]').fill("1")
    expect(part(page, "advice")).to_contain_text(catalogue("en")["compare.advice.none"])
    assert part(page, "advice").inner_text() != before
    expect(part(page, "from")).to_have_value("")


def test_the_link_opens_it_again_in_another_language(compared: Page, open_page: OpenPage):
    link = compared.url
    assert "tab=compare" in link and "run=" in link
    other = open_page("?" + link.partition("?")[2] + "&lang=zh", locale="zh-CN", color_scheme="dark")
    expect(part(other, "state")).to_have_text(catalogue("zh")["compare.state.finished"], timeout=LONG)
    expect(tab(other).locator('[data-chart="depth"] .xtitle')).to_have_text(catalogue("zh")["compare.chart.depth"], timeout=LONG)
    colour = tab(other).locator('[data-chart="depth"] .xtitle').evaluate("(title) => getComputedStyle(title).fill")
    assert colour == "rgb(236, 238, 240)"


def test_the_link_names_the_view(compared: Page, open_page: OpenPage):
    page = compared
    tab(page).locator('[data-metric="tokens_per_call"]').click()
    part(page, "axis").select_option("steps")
    part(page, "seek").fill("500")
    clock = part(page, "clock").inner_text()
    for name, value in (("alpha", "0.3"), ("gamma", "7"), ("c", "0.25")):
        part(page, "breakeven").locator(f'[name="{name}"]').fill(value)
    place = {"sort": "tokens_per_call", "axis": "steps", "alpha": "0.3", "gamma": "7", "c": "0.25"}
    page.wait_for_url(lambda url: place.items() <= place_of(url).items() and "at" in place_of(url))
    link = "?" + page.url.partition("?")[2]
    other = open_page("?" + "&".join(reversed(link[1:].split("&"))))
    expect(tab(other).locator('[data-metric="tokens_per_call"]')).to_have_attribute("aria-pressed", "true", timeout=LONG)
    expect(part(other, "axis")).to_have_value("steps")
    expect(part(other, "clock")).to_have_text(clock)
    expect(part(other, "gamma")).to_have_text("7", timeout=LONG)
    for name, value in (("alpha", "0.3"), ("c", "0.25")):
        expect(part(other, "breakeven").locator(f'[name="{name}"]')).to_have_value(value)
    other.wait_for_url(lambda url: "?" + url.partition("?")[2] == link)  # one view has one address
    other.wait_for_timeout(600)
    assert "?" + other.url.partition("?")[2] == link, "a view that is not touched keeps its address"
    part(other, "from").select_option("2")
    other.wait_for_url(lambda url: place_of(url).get("from") == "2" and "alpha" not in place_of(url))
    other.locator("#lab-tab-live-button").click()
    other.wait_for_url(lambda url: set(place_of(url)) == {"run", "step"})


def test_a_hostile_link_shows_the_usual_view(compared: Page, open_page: OpenPage):
    run = re.search("run=([^&]+)", compared.url)[1]
    hostile = "&sort=constructor&axis=<b>&at=-3e9&prompt=999&from=__proto__&alpha=NaN&gamma=1e9&c=%00&step=x&node=y"
    page = open_page(f"?tab=compare&run={run}{hostile}")
    expect(tab(page).locator('[data-chart="tokens"] .main-svg').first).to_be_visible(timeout=LONG)
    page.wait_for_url(lambda url: place_of(url) == {"tab": "compare", "run": run})
    expect(part(page, "axis")).to_have_value("time")
    expect(tab(page).locator('[data-metric][aria-pressed="true"]')).to_have_count(0)
    expect(tab(page).locator(".lab-track[data-over]")).to_have_count(3)


@pytest.mark.parametrize("sweep", [False, True])
def test_the_form_takes_up_the_comparison_of_the_address(open_page: OpenPage, sweep: bool):
    page = open_page("?tab=compare")
    usual = form_of(page)
    change_everything(page, sweep)
    asked = form_of(page)
    part(page, "run").click()
    page.wait_for_url(lambda url: "run" in place_of(url))
    page.reload()
    expect(tab(page).locator('[name="seed"]')).to_have_value("7")
    assert form_of(page) == asked != usual
    for number in range(1 if sweep else 2):
        expect(lane(page, number)).to_have_attribute("data-lane", str(number + 1))
    page.locator('[data-language="zh"]').click()
    expect(part(page, "run")).to_have_text(catalogue("zh")["compare.run"])
    assert form_of(page) == asked


def test_a_comparison_that_is_unknown_leaves_the_form_as_it_is(open_page: OpenPage):
    page = open_page("?tab=compare")
    usual = form_of(page)
    page = open_page("?tab=compare&run=unknown")
    expect(part(page, "problem")).to_have_text(catalogue("en")["compare.gone"])
    assert form_of(page) == usual


def test_a_form_that_was_changed_meanwhile_is_not_overwritten(open_page: OpenPage):
    page, held = open_page("?tab=compare"), []
    small(page)
    part(page, "run").click()
    page.wait_for_url(lambda url: "run" in place_of(url))

    def asks(request: Request) -> bool:
        return "component_server" in request.url and '"fn_name":"asked"' in (request.post_data or "")

    page.route(re.compile("component_server"), lambda route: held.append(route) if asks(route.request) else route.continue_())
    with page.expect_request(asks):
        page.reload()
    tab(page).locator('[name="repetitions"]').fill("5")
    changed = form_of(page)
    with page.expect_response(lambda response: asks(response.request)):
        held[0].continue_()
    page.wait_for_timeout(300)
    assert form_of(page) == changed


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_switch_keeps_its_size(open_page: OpenPage, language: str):
    page = open_page(f"?tab=compare&lang={language}")
    sizes = []
    for mode in ("lanes", "sweep"):
        tab(page).locator(f'[name="mode"][value="{mode}"]').check(force=True)
        sizes.append([label.bounding_box() for label in tab(page).locator(".lab-modes label").all()])
    assert sizes[0] == sizes[1] and all(box["height"] < 30 for box in sizes[0])


def test_a_lane_that_fails_says_so_and_the_others_go_on(open_page: OpenPage):
    page = open_page("?tab=compare")
    small(page)
    choose(page, 1, "rest")
    store = lane(page, 1).locator(".lab-field select").first
    store.evaluate("(list) => { list.append(new Option('no-such-store')); list.value = 'no-such-store'; }")
    compare(page, catalogue("en")["compare.state.finished_in_part"].format(measured=2, lanes=3))
    expect(tab(page).locator(".lab-figures th .lab-problem")).to_contain_text("no-such-store")
    expect(tab(page).locator('.lab-badge[data-same="true"]')).to_have_count(1)


def test_an_empty_list_of_prompts_and_a_bad_file(open_page: OpenPage, tmp_path: Path):
    page = open_page("?tab=compare")
    tab(page).locator('[name="prompts"]').fill(" \n---\n ")
    part(page, "run").click()
    expect(part(page, "problem")).to_have_text(catalogue("en")["compare.no_prompts"])
    bad, good = tmp_path / "bad.jsonl", tmp_path / "good.jsonl"
    bad.write_text("no json")
    good.write_text('{"prompt": "<script>alert(1)</script>"}\n{"prompt": "二"}\n', encoding="utf-8")
    part(page, "file").set_input_files(bad)
    expect(part(page, "problem")).to_contain_text("Line 1 is not JSON")
    part(page, "file").set_input_files(good)
    expect(tab(page).locator('[name="prompts"]')).to_have_value("<script>alert(1)</script>\n---\n二")
    expect(part(page, "problem")).to_be_empty()


def test_a_file_that_is_no_utf8_text_leaves_the_prompts_alone(open_page: OpenPage):
    page = open_page("?tab=compare")
    prompts = tab(page).locator('[name="prompts"]')
    prompts.fill("mine")
    for name, data in (("x.txt", bytes(range(256))), ("x.md", "café".encode("latin-1")), ("x.txt", "提示".encode("gb18030")),
                       ("x.jsonl", '{"prompt": "a"}'.encode("utf-16")), ("x.txt", "prompt".encode("utf-16-le"))):
        part(page, "file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": data})
        expect(part(page, "problem")).to_have_text(catalogue("en")["prompts.not_utf8"])
        expect(prompts).to_have_value("mine")
        part(page, "file").set_input_files({"name": "x.txt", "mimeType": "text/plain", "buffer": "mine".encode("utf-8-sig")})
        expect(part(page, "problem")).to_be_empty()
        expect(prompts).to_have_value("mine")


def test_stop_keeps_what_is_done(open_page: OpenPage):
    page = open_page("?tab=compare")
    small(page, repetitions=20)
    part(page, "run").click()
    expect(part(page, "stop")).to_be_enabled()
    expect(tab(page).locator(".lab-badge").first).to_be_visible(timeout=LONG)
    part(page, "stop").click()
    expect(part(page, "state")).to_have_text(catalogue("en")["compare.state.stopped"], timeout=LONG)
    expect(part(page, "race")).to_be_visible(timeout=LONG)


def test_the_comparison_before_stays_until_there_are_new_figures(compared: Page):
    page = compared
    before = place_of(page.url)["run"]
    names = tab(page).locator(".lab-figures thead .lab-lane-name")
    tab(page).locator('[name="repetitions"]').fill("20")
    choose(page, 0, "suffix")
    part(page, "run").click()
    expect(part(page, "stop")).to_be_enabled()
    part(page, "stop").click()
    expect(part(page, "state")).to_have_text(catalogue("en")["compare.state.stopped_early"], timeout=LONG)
    assert [name.strip() for name in names.all_inner_texts()] == ["Plain decoding", "Prompt lookup", "Context"]
    for panel in ("table", "race", "why", "breakeven"):
        expect(part(page, panel)).to_be_visible()
    expect(part(page, "before")).to_be_hidden()
    page.wait_for_url(lambda url: place_of(url).get("run") == before)
    tab(page).locator('[name="repetitions"]').fill("1")
    compare(page)
    expect(names.nth(1)).to_have_text("SuffixDecoding")
    expect(tab(page).locator(".lab-track-head b").nth(1)).to_have_text("SuffixDecoding", timeout=LONG)
    page.wait_for_url(lambda url: place_of(url).get("run") not in (None, before))


def test_numbers_are_read_in_decimal_and_words_are_left_alone(open_page: OpenPage):
    page = open_page("?tab=compare")
    small(page)
    choose(page, 0, "multi-candidate")
    choose(page, 1, "rest")
    for number in (0, 1):
        lane(page, number).locator("summary").first.click()
    for number, label, wrong, said in ((0, "Shape", "0x2", "0x2; write the candidates"), (0, "Shape", "1e1", "1e1; write the candidates"),
                                       (1, "Tree budget", "0x10", "0x10; it must be a whole number from 1 to 256, or auto")):
        field = lane(page, number).locator(".lab-field", has_text=label).locator("input").first
        usual = field.input_value()
        field.fill(wrong)
        part(page, "run").click()
        expect(part(page, "problem")).to_contain_text(said)
        field.fill(usual)


def test_a_chart_is_saved_from_this_page_only(compared: Page, tmp_path: Path):
    page = compared
    expect(tab(page).locator('[data-chart="cost"] .main-svg').first).to_be_visible(timeout=LONG)
    expect(part(page, "breakeven-plot").locator(".main-svg").first).to_be_visible(timeout=LONG)
    for chart in tab(page).locator("[data-chart]:visible").all():
        chart.locator(".lab-plot").hover()
        assert chart.locator(".modebar-btn").count() == 0
        with page.expect_download() as download:
            chart.locator(".lab-quiet").click()
        saved = tmp_path / download.value.suggested_filename
        download.value.save_as(saved)
        assert saved.read_bytes()[:4] == b"\x89PNG" and saved.stat().st_size > 3000


def test_lines_follow_the_theme_as_the_swatches_do(compared: Page):
    page = compared
    swatch = tab(page).locator(".lab-figures thead .lab-swatch").nth(1)
    colours = []
    for scheme in ("light", "dark"):
        page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", scheme == "dark")
        colours.append(swatch.evaluate("(swatch) => getComputedStyle(swatch).backgroundColor"))
        expect(tab(page).locator('[data-chart="tokens"] .js-line').nth(1)).to_have_css("stroke", colours[-1])
    assert colours[0] != colours[1]


def test_a_sweep_shows_its_optimum(open_page: OpenPage):
    page = open_page("?tab=compare")
    small(page)
    tab(page).locator('[name="mode"][value="sweep"]').check(force=True)
    tab(page).locator('[name="sweep-setting"]').select_option("length")
    tab(page).locator('[name="sweep-values"]').fill("2, 8")
    compare(page)
    expect(tab(page).locator('[data-chart="sweep"] .legendtext', has_text="optimum:")).to_be_visible(timeout=LONG)
    expect(part(page, "race")).to_be_hidden()


# --- take it away ---------------------------------------------------------------------


@pytest.mark.parametrize("panel", ["text", "run", "timeline", "facts", "trie", "mask", "pseudo"])
def test_any_panel_as_svg_and_png(open_page: OpenPage, panel: str, tmp_path: Path):
    page = open_page()
    node = page.locator(f"#lab-live-player .sp-panel-{panel}")
    expect(page.locator("#lab-live-player .sp-panel-trie circle").first).to_be_attached()
    saved = {}
    for kind in ("SVG", "PNG"):
        node.locator(".sp-export-open").focus()
        page.keyboard.press("Enter")
        button = node.locator(".sp-export-menu button", has_text=kind)
        button.focus()
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])
    root = ElementTree.parse(saved["SVG"]).getroot()
    drawn = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert drawn.count("text") >= 2 and "script" not in drawn and "foreignObject" not in drawn
    assert not [name for element in root.iter() for name in element.attrib if name in ("class", "style") or name.startswith("on")]
    width, height = (round(float(root.get(name))) for name in ("width", "height"))
    data = saved["PNG"].read_bytes()
    assert data[:4] == b"\x89PNG" and abs(int.from_bytes(data[16:20]) - 2 * width) <= 2
    assert abs(int.from_bytes(data[20:24]) - 2 * height) <= 2 and len(data) > 3000, "an empty picture is smaller"


def test_pages_and_traces_open_several_at_once(open_page: OpenPage, chromium: Browser, tmp_path: Path):
    page = open_page("?tab=replay")
    replay = page.locator(".lab-replay")
    expect(replay.locator('[data-part="save"]')).to_be_enabled()
    files = []
    for what, ending in (("trace", "json"), ("page", "html"), ("steps", "csv")):
        replay.locator(".lab-more-files").click()
        with page.expect_download() as download:
            replay.locator(".lab-menu button", has_text=catalogue("en")[f"take.{what}"]).click()
        files.append(tmp_path / f"saved.{ending}")
        download.value.save_as(files[-1])
    assert files[2].read_text().startswith("step,")
    broken = tmp_path / "broken.html"
    broken.write_text("<html></html>")
    others = [tmp_path / "first.json", tmp_path / "second.json"]
    trace = json.loads(files[0].read_text(encoding="utf-8"))
    for path in others:
        path.write_text(json.dumps(trace | {"run": trace["run"] | {"created": path.stem}}), encoding="utf-8")
    replay.locator('input[type="file"]').set_input_files([*others, broken, *files[:2], others[0]])
    expect(replay.locator('[data-part="opened"] button')).to_have_count(2)  # the other files hold runs that are listed already
    expect(replay.locator(".lab-problem")).to_contain_text(catalogue("en")["trace.no_page"])
    expect(replay.locator(".lab-problem")).to_contain_text("broken.html")
    # the page by itself, without any server
    context = chromium.new_context(offline=True)
    alone = context.new_page()
    alone.goto(files[1].as_uri())
    expect(alone.locator(".sp-panel-trie")).to_be_visible()
    alone.keyboard.press("End")
    assert alone.evaluate("specPlayer.state().step") > 0
    context.close()


def test_a_lane_opens_in_the_player(compared: Page):
    tab(compared).locator(".lab-lane-tools button", has_text=catalogue("en")["compare.open"]).nth(1).click()
    expect(compared.locator("#lab-replay-player .sp-run-name")).to_contain_text("prompt-lookup")
    expect(compared).to_have_url(re.compile("tab=replay"))
