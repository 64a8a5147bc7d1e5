"""The channel between a run and its followers: a gr.HTML that draws itself, and its server functions.

The template is static, so gradio never re-renders it; steps reach the page through a long
poll (a coroutine, so a waiting follower costs no thread), each once, and never through
gradio's queue. What a page sends is judged here: it may be anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.responses import Response

from spec_core.messages import UserError
from spec_core.trace import MAX_FILE_BYTES, TraceError

from .run import Run, sentence
from .runs import Runs

HOLD_SECONDS = 10.0
"""How long a fetch waits for news; well below ``Bounds.abandoned_after``."""

GONE = {"gone": True}


def player(runs: Runs, tab: str, first_run: str | None) -> gr.HTML:
    """The element of one tab's player; ``first_run`` is followed when the address names none."""
    component = gr.HTML(
        html_template='<div class="lab-player"></div>',
        js_on_load=part(f"lab.{tab}Player({{ element, props, server, watch, adopt: (what) => trigger('adopt', what) }})"),
        server_functions=server_functions(runs), elem_id=f"lab-{tab}-player", elem_classes="lab-stage",
        apply_default_css=False, first_run=first_run,
    )
    component.props["component_id"] = component._id  # the page's farewell goes past gradio's client
    return component


def part(script: str) -> str:
    """JavaScript that runs with the page's library, whichever of the two comes first."""
    return f"(window.speculationLabParts ??= []).push((lab) => {script});"


def server_functions(runs: Runs) -> list[Callable[..., Any]]:
    """What the page's scripts may call; each takes one object."""

    async def changes(data: Any) -> Any:
        answer = await runs.changes(_text(data, "run"), _text(data, "follower"), _whole(data, "after"),
                                    _whole(data, "version"), _value(data, "opened") is True, HOLD_SECONDS)
        return GONE if answer is None else Response(answer, media_type="application/json")

    def control(data: Any) -> dict[str, Any]:
        run = _run(runs, data)
        if run is None:
            return GONE
        if _text(data, "key") == run.key:
            runs.control(run, _text(data, "action"), _text(data, "pace"))
        return {}

    def leave(data: Any) -> dict[str, Any]:
        run = _run(runs, data)
        if run is not None:
            run.leave(_text(data, "follower"))
        return {}

    def trace(data: Any) -> dict[str, Any]:
        run = _run(runs, data)
        if run is None or run.trace is None:
            return GONE
        # as text: a browser would round a large whole number, such as a seed; in ASCII: half a
        # character of a hostile trace could not be sent
        return {"text": json.dumps(run.trace.to_json())}

    def open_trace(data: Any) -> dict[str, Any]:
        text = _text(data, "text")
        try:
            if len(text) > MAX_FILE_BYTES:
                raise TraceError("trace.too_large", name=_text(data, "name"), size=len(text) // 2**20,
                                 most=MAX_FILE_BYTES // 2**20)
            return {"run": runs.add_foreign(text).id}
        except UserError as error:
            return {"problem": sentence(error)}

    return [changes, control, leave, trace, open_trace]


def _run(runs: Runs, data: Any) -> Run | None:
    return runs.get(_text(data, "run"))


def _value(data: Any, name: str) -> Any:
    return data.get(name) if isinstance(data, dict) else None


def _text(data: Any, name: str) -> str:
    value = _value(data, name)
    return value if isinstance(value, str) else ""


def _whole(data: Any, name: str) -> int:
    value = _value(data, name)
    return value if isinstance(value, int) else 0
