"""The Live tab: settings at the left, the transport under them, the player at the right."""

from __future__ import annotations

import itertools
import logging
from typing import Any

import gradio as gr

from spec_core.messages import UserError

from .channel import part, player
from .form import QUIET, Defaults, Form
from .language import Words
from .run import sentence
from .runs import Runs
from .templates import CONTROLS

log = logging.getLogger(__name__)


def build(runs: Runs, words: Words, defaults: Defaults, first_run: str | None) -> Form:
    """Lay out the tab inside the Blocks that is being built; returns its form."""
    with gr.Row(elem_classes="lab-tab", equal_height=False):
        with gr.Column(elem_classes="lab-side", scale=0, min_width=312):
            form = Form(words, defaults)
            controls = gr.HTML(html_template=CONTROLS, elem_id="lab-controls", apply_default_css=False,
                               js_on_load=part("lab.controls({ element, run: (how) => trigger('run', how), "
                                               "listStores: () => trigger('stores') })"))
        stage = player(runs, "live", first_run)

    numbers = itertools.count()  # so that the page sees the same answer twice as two answers
    fields = list(form.fields.values())

    def start(event: gr.EventData, *values: Any) -> dict[str, Any]:
        """Answer Run with the run to follow, or with what is wrong, in every language."""
        number = next(numbers)
        try:
            run = runs.start(form.request(*values), str(event._data.get("pace", "full")))
        except UserError as error:
            return {"problem": sentence(error), "number": number}
        except Exception:
            log.exception("a run could not be started")
            return {"problem": sentence(UserError("run.failed")), "number": number}
        return {"run": run.id, "key": run.key, "number": number}

    def adopt(event: gr.EventData) -> list[Any]:
        """Show in the form what the run of a link was asked for."""
        run = runs.get(str(event._data.get("run", "")))
        return [gr.skip()] * len(fields) if run is None or run.request is None else form.values(run.request)

    controls.run(start, inputs=fields, outputs=stage, **QUIET | {"trigger_mode": "once"})  # a double click is one run
    controls.stores(form.fresh_stores, outputs=form.fields["datastore"], **QUIET)
    stage.adopt(adopt, outputs=fields, **QUIET)
    return form
