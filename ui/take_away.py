"""Runs as files to take away."""

from __future__ import annotations

import json

from spec_core.messages import LANGUAGES
from spec_core.trace import Trace
from visualizers.comparison import steps_csv
from visualizers.page import standalone_html

from .job import whole_characters


def file_of(trace: Trace, what: str, language: str = "en") -> str:
    """A run as text to save: its ``steps`` as CSV, its standalone ``page`` as HTML, else the trace as JSON."""
    if what == "steps":
        return whole_characters(steps_csv(trace))
    if what == "page":
        return whole_characters(standalone_html(trace, language if language in LANGUAGES else LANGUAGES[0]))
    # as text: a browser would round a large whole number, such as a seed; in ASCII: half a
    # character of a hostile trace could not be sent
    return json.dumps(trace.to_json())
