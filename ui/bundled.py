"""The runs that come with the lab: ``assets/traces/*.json``, read when they are first looked at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spec_core.messages import LANGUAGES, catalogue
from spec_core.trace import Trace

TRACES = Path(__file__).resolve().parent.parent / "assets" / "traces"
PREFIX = "bundled-"
SHOWN_FIRST = "rest-code"


def names(folder: Path = TRACES) -> list[str]:
    """Names of the bundled runs: the one that the page opens with, then in the order of their file names."""
    return sorted((path.stem for path in folder.glob("*.json")), key=lambda name: (name != SHOWN_FIRST, name))


def run_id(name: str) -> str:
    """The run id under which a bundled run is followed."""
    return PREFIX + name


def title(name: str, folder: Path = TRACES) -> dict[str, str]:
    """What the gallery calls a bundled run, in each language: the catalogue's words, else drafter and prompt."""
    run = Trace.load(folder / f"{name}.json").run
    plain = plain_title(run) or name
    return {language: catalogue(language).get(f"bundled.{name}", plain) for language in LANGUAGES}


def plain_title(run: Mapping[str, Any]) -> str:
    """Drafter and prompt of a run, on one line."""
    parts = [str(run["drafter"].get("name") or ""), str(run.get("prompt", "")).strip().partition("\n")[0][:40]]
    return " · ".join(part for part in parts if part)


def load(run: str, folder: Path = TRACES) -> Trace | None:
    """The trace of a bundled run's id; None where there is none.

    Raises:
        TraceError: the bundled file is damaged.
    """
    name = run.removeprefix(PREFIX)
    if name == run or name not in names(folder):  # a name from the list: never a path from a browser
        return None
    return Trace.load(folder / f"{name}.json")
