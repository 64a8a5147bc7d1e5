"""The words of the form: both languages, and nothing that speaks outside the catalogues."""

from __future__ import annotations

import gradio as gr
import pytest
from gradio.components.api_component import Api

from spec_core.messages import catalogue
from ui import page
from ui.form import Defaults
from ui.language import Words


@pytest.fixture(scope="module")
def blocks() -> gr.Blocks:
    return page.build(Defaults("smollm2-135m", 64))


def test_a_switch_words_everything_anew():
    words = Words()
    with gr.Blocks():
        words.make(gr.Textbox, "live.prompt")
        words.make(gr.Button, "live.example.code", slot="value")
        words.make(gr.Dropdown, "live.drafter", choices=["rest", "none"], named=True)
    text, button, choice = words.updates("zh")
    chinese = catalogue("zh")
    assert text["label"] == chinese["live.prompt"] and text["placeholder"] == chinese["live.prompt.placeholder"]
    assert button["value"] == chinese["live.example.code"]
    assert choice["choices"][0] == (chinese["live.drafter.choice.rest"], "rest")
    assert "value" not in text, "what was typed would be lost"
    assert words.updates("nonsense") == words.updates("en")


def test_a_key_that_is_missing_is_found_when_the_page_is_built():
    with pytest.raises(KeyError), gr.Blocks():
        Words().make(gr.Textbox, "live.no_such_key")


def test_nothing_that_is_done_while_the_server_answers_is_lost(blocks: gr.Blocks):
    """A language chosen before the first one's words have come, say. Only Run counts once, however often it is pressed."""
    lost = {target[1] for listener in blocks.config["dependencies"] for target in listener["targets"]
            if listener["trigger_mode"] != "always_last"}
    assert lost == {"run"}


def test_every_label_stands_in_the_catalogue(blocks: gr.Blocks):
    said = set(catalogue("en").values())
    for component in blocks.blocks.values():
        for name in ("label", "info", "placeholder"):
            text = getattr(component, name, None)
            if text and not isinstance(component, gr.HTML | gr.State | Api):
                assert text in said, f"{type(component).__name__}.{name}: {text!r}"


def test_only_what_is_named_is_offered_as_an_api(blocks: gr.Blocks):
    offered = {event.api_name for event in blocks.fns.values() if event.api_visibility != "private"}
    assert offered == {"generate", "compare", "search"}


def test_fonts_come_with_the_system():
    theme = page.look()["theme"]
    assert not theme._stylesheets
