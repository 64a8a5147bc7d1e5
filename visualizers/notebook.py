"""A trace in a notebook: the player in a frame of its own, complete in itself."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from html import escape
from pathlib import Path

from spec_core.trace import Trace

from .page import standalone_html

HEIGHT = 860


def frame(trace: Trace, language: str = "en", height: int = HEIGHT) -> str:
    """HTML of an inline frame with the run's standalone page. It may run its script and save files, nothing else."""
    page = escape(standalone_html(trace, language))
    return (f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" title="Speculation Lab" '
            f'style="width:100%;height:{height}px;border:0"></iframe>')


def show(trace: Trace, language: str = "en") -> None:
    """Show a run: under the cell of a notebook, elsewhere as a page in the browser."""
    if "IPython" in sys.modules:
        from IPython import get_ipython
        from IPython.display import HTML, display

        if get_ipython() is not None:
            display(HTML(frame(trace, language)))
            return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".html", delete=False) as file:
        file.write(standalone_html(trace, language))
    webbrowser.open(Path(file.name).as_uri())
