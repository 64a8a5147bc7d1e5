"""The page: header, tabs, style. A tab is a module with ``build``; a new one is added here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr

from spec_core import lab
from spec_core.datastore.ingest.limits import Limits
from spec_core.messages import LANGUAGES, catalogue
from visualizers.page import player_bundle, player_css
from visualizers.views import run_view, step_view

from . import api, bundled, compare, explore, live, replay, studio
from .comparisons import Comparisons
from .form import QUIET, Defaults
from .language import Words
from .runs import Bounds, Runs
from .templates import HEADER

WEB = Path(__file__).parent / "web"
SCRIPTS = ("lab.js", "take-away.js", "channel.js", "controls.js", "replay.js", "explore-place.js", "explore-sliders.js", "explore.js",
           "explore-coverage.js", "compare-form.js", "compare-table.js", "compare-race.js", "compare-charts.js", "compare.js",
           "studio-corpus.js", "studio-survey.js", "studio-builds.js", "studio-stores.js",
           "studio-form.js", "studio.js", "header.js", "begin.js")
STYLES = ("style.css", "explore.css", "compare.css", "studio.css")
ICON = Path(__file__).resolve().parent.parent / "assets" / "icons" / "lab.png"
TITLE = "Speculation Lab"
SYSTEM_FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "PingFang SC", "Microsoft YaHei",
               "Noto Sans CJK SC", "sans-serif")
MONO_FONT = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "Noto Sans Mono CJK SC",
             "monospace")


def build(defaults: Defaults, bounds: Bounds = Bounds(), limits: Limits = Limits(), read_only: bool = False) -> gr.Blocks:
    """The whole application, not launched yet; ``read_only``: visitors do not change datastores."""
    runs = Runs(lab, step_view, run_view, library=bundled.load, bounds=bounds)
    comparisons = Comparisons(runs)
    words = Words()
    first = next((bundled.run_id(name) for name in bundled.names()), None)
    with gr.Blocks(title=TITLE, fill_width=True, analytics_enabled=False, delete_cache=(3600, 3600)) as page:
        header = gr.HTML(html_template=HEADER, js_on_load=_bundle(), elem_id="lab-header", apply_default_css=False)
        with gr.Tabs(elem_id="lab-tabs"):
            with words.make(gr.Tab, "live.tab", id="live", elem_id="lab-tab-live"):
                form = live.build(runs, words, defaults, first)
            with words.make(gr.Tab, "explore.tab", id="explore", elem_id="lab-tab-explore"):
                explore.build(defaults.target)
            with words.make(gr.Tab, "studio.tab", id="datastores", elem_id="lab-tab-datastores"):
                studio.build(limits, defaults.target, read_only, form.fresh_stores, [form.fields["datastore"]])
            with words.make(gr.Tab, "compare.tab", id="compare", elem_id="lab-tab-compare"):
                compare.build(comparisons, defaults)
            with words.make(gr.Tab, "replay.tab", id="replay", elem_id="lab-tab-replay"):
                replay.build(runs, first)
        api.add(runs, comparisons, defaults)
        page.load(form.fresh_stores, outputs=form.fields["datastore"], **QUIET)
        _follow_language(header, words)
    return page


def look() -> dict[str, Any]:
    """Arguments of ``launch``: theme, style and icon; system fonts only, so nothing is fetched elsewhere."""
    theme = gr.themes.Base(primary_hue="neutral", secondary_hue="neutral", neutral_hue="neutral", spacing_size="sm",
                           radius_size="md", text_size="sm", font=SYSTEM_FONT, font_mono=MONO_FONT)
    style = "\n".join((WEB / name).read_text(encoding="utf-8") for name in STYLES)
    return {"theme": theme, "css": player_css() + style, "favicon_path": str(ICON), "pwa": True, "footer_links": []}


def _follow_language(header: gr.HTML, words: Words) -> None:
    def speak(event: gr.EventData) -> list[Any]:
        return words.updates(str(event._data.get("language", "")))

    header.speak(speak, outputs=words.components, **QUIET)


def _bundle() -> str:
    """The scripts of the page: the player, the strings of both languages, and the parts of ``ui/web``."""
    strings = json.dumps({language: catalogue(language) for language in LANGUAGES}, ensure_ascii=False)
    own = "\n".join((WEB / name).read_text(encoding="utf-8") for name in SCRIPTS)
    start = "(window.speculationLabParts ??= []).unshift((lab) => " \
            "lab.header({ element, speak: (how) => trigger('speak', how) }));"
    return f"{player_bundle()}\n;(() => {{\nconst STRINGS = {strings};\n{start}\n{own}\n}})();"
