"""Reading back what the lab saved: a trace file, or a standalone page, which holds its trace."""

from __future__ import annotations

import json
import re

from spec_core.trace import Trace
from spec_core.trace_checks import TraceError, refuse_constant

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
"""Where ``visualizers.page`` puts the data: no text in it can end the element."""


def read_trace(text: str) -> Trace:
    """The trace of a saved file, JSON or page. The page's script is never run, only its data is read.

    Raises:
        TraceError: it is neither, or its trace is damaged, or of a newer version.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        return Trace.from_text(text)
    found = DATA.search(text)
    if not found:
        raise TraceError("trace.no_page")
    try:
        data = json.loads(found[1], parse_constant=refuse_constant)
    except TraceError:
        raise
    except (ValueError, RecursionError) as error:
        raise TraceError("trace.no_page") from error
    if not isinstance(data, dict) or "trace" not in data:
        raise TraceError("trace.no_page")
    return Trace.from_json(data["trace"])
