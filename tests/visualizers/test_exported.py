"""What was saved opens again: traces and standalone pages; hostile and broken ones say what is wrong."""

from __future__ import annotations

import json

import pytest
from synthetic import synthetic_trace

from spec_core.trace import Trace, TraceError
from visualizers.exported import read_trace
from visualizers.notebook import frame
from visualizers.page import embedded_json, standalone_html

TRACE = synthetic_trace(steps=6)


def test_a_page_holds_its_trace():
    assert read_trace(standalone_html(TRACE)) == TRACE
    assert read_trace("\ufeff\n" + standalone_html(TRACE, "zh")).output_ids == TRACE.output_ids
    assert read_trace(json.dumps(TRACE.to_json())) == TRACE


def test_a_script_in_a_piece_comes_back_as_text():
    trace = synthetic_trace(steps=2)
    trace.steps[0].committed.pieces[0] = '</script><script id="data">alert(1)</script>'
    trace.run["prompt"] = '<script type="application/json" id="data">{}</script>'
    assert read_trace(standalone_html(trace)) == trace


def changed(**changes) -> str:
    """A page whose trace was tampered with."""
    data = TRACE.to_json() | changes
    return f'<!doctype html><script type="application/json" id="data">{embedded_json({"trace": data})}</script>'


@pytest.mark.parametrize("text, key", [
    ("<html><body>hello</body></html>", "trace.no_page"),
    ('<script type="application/json" id="data">{"run": {}}</script>', "trace.no_page"),
    ('<script type="application/json" id="data">[1]</script>', "trace.no_page"),
    ('<script type="application/json" id="data">{"trace": </script>', "trace.no_page"),
    ('<script type="application/json" id="data">' + "[" * 100_000 + "</script>", "trace.no_page"),
    (standalone_html(TRACE).partition('"steps"')[0], "trace.no_page"),
    (changed(version=2), "trace.newer"), (changed(format="other"), "trace.other_format"),
    (changed(output_ids=[1]), "trace.broken"), (changed(steps=[{}]), "trace.broken"),
    (changed(output_text="x").replace('"context_length":', '"context_length":NaN,"was":', 1), "trace.not_json"),
    ("", "trace.empty"),
])
def test_what_cannot_be_opened_says_why(text: str, key: str):
    with pytest.raises(TraceError) as caught:
        read_trace(text)
    assert caught.value.key == key and caught.value.say("zh")


def test_a_trace_shows_itself_in_a_notebook():
    html = TRACE._repr_html_()
    assert html == frame(TRACE)
    assert 'sandbox="allow-scripts allow-downloads"' in html and "<script" not in html, "only the frame may run it"


def test_showing_in_a_notebook(monkeypatch: pytest.MonkeyPatch):
    import sys
    from types import ModuleType

    shown = []
    notebook, screen = ModuleType("IPython"), ModuleType("IPython.display")
    notebook.get_ipython = lambda: object()
    screen.HTML, screen.display = str, shown.append
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    TRACE.show("zh")
    assert shown == [frame(TRACE, "zh")]


def test_showing_elsewhere_opens_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path):
    opened = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", opened.append)
    Trace.from_json(TRACE.to_json()).show()
    page, = tmp_path.iterdir()
    assert opened == [page.as_uri()] and read_trace(page.read_text(encoding="utf-8")) == TRACE
