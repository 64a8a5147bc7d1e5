"""The Replay tab: recorded runs, the bundled ones or a trace file, without a model and without torch."""

from __future__ import annotations

import gradio as gr

from . import bundled
from .channel import part, player, server_functions
from .runs import Runs
from .templates import REPLAY


def build(runs: Runs, first_run: str | None) -> None:
    """Lay out the tab inside the Blocks that is being built."""
    gallery = [{"id": bundled.run_id(name), "title": bundled.title(name)} for name in bundled.names()]
    with gr.Row(elem_classes="lab-tab", equal_height=False):
        with gr.Column(elem_classes="lab-side", scale=0, min_width=312):
            # a file is sent as text in one call and read at once: it never lies on the server's disk
            gr.HTML(html_template=REPLAY, elem_id="lab-replay", apply_default_css=False, bundled=gallery,
                    js_on_load=part("lab.replayPanel({ element, props, server })"),
                    server_functions=server_functions(runs))
        player(runs, "replay", first_run)
