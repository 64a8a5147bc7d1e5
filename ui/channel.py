"""The channel between a run and its followers: a gr.HTML that draws itself, and its server functions.

The template is static, so gradio never re-renders it; steps reach the page through a long
poll (a coroutine, so a waiting follower costs no thread), each once, and never through
gradio's queue. What a page sends is judged here: it may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.responses import Response

from spec_core.messages import UserError
from spec_core.trace import MAX_FILE_BYTES, TraceError

from . import bundled
from .job import sentence, whole_characters
from .run import Run
from .runs import Runs
from .take_away import file_of

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
        answer = await runs.changes(text_of(data, "run"), text_of(data, "follower"), whole_of(data, "after"),
                                    whole_of(data, "version"), value_of(data, "opened") is True, HOLD_SECONDS)
        return GONE if answer is None else Response(answer, media_type="application/json")

    def control(data: Any) -> dict[str, Any]:
        run = _run(runs, data)
        if run is None:
            return GONE
        if text_of(data, "key") == run.key:
            runs.control(run, text_of(data, "action"), text_of(data, "pace"))
        return {}

    def leave(data: Any) -> dict[str, Any]:
        run = _run(runs, data)
        if run is not None:
            run.leave(text_of(data, "follower"))
        return {}

    def trace(data: Any) -> dict[str, Any]:
        run = _run(runs, data)
        if run is None or run.trace is None:
            return GONE
        return {"text": file_of(run.trace, text_of(data, "what"), text_of(data, "language"))}

    def open_trace(data: Any) -> dict[str, Any]:
        text = text_of(data, "text")
        try:
            if len(text) > MAX_FILE_BYTES:
                raise TraceError("trace.too_large", name=text_of(data, "name"), size=len(text) // 2**20,
                                 most=MAX_FILE_BYTES // 2**20)
            run = runs.add_foreign(text)
            return {"run": run.id, "title": whole_characters(bundled.plain_title(run.trace.run))}
        except UserError as error:
            return {"problem": sentence(error)}

    return [changes, control, leave, trace, open_trace]


def _run(runs: Runs, data: Any) -> Run | None:
    return runs.get(text_of(data, "run"))


def value_of(data: Any, name: str) -> Any:
    """What a page's object holds under a name; None where it is no object."""
    return data.get(name) if isinstance(data, dict) else None


def text_of(data: Any, name: str) -> str:
    """The text under a name, empty where there is none."""
    value = value_of(data, name)
    return value if isinstance(value, str) else ""


def whole_of(data: Any, name: str, missing: int = 0) -> int:
    """The whole number under a name, ``missing`` where there is none."""
    value = value_of(data, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else missing


def list_of(data: Any, name: str) -> list[Any]:
    """The list under a name, empty where there is none."""
    value = value_of(data, name)
    return value if isinstance(value, list) else []
