"""Colours, progress and figures on a terminal."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .messages import UserError, say

COLOURS = {"accepted": "32", "recovered": "34", "bonus": "36", "dim": "2", "bold": "1", "rejected": "31"}


def byte_count(text: str) -> int:
    """``64mb`` as bytes, for argparse. Raises ``ArgumentTypeError``."""
    match = re.fullmatch(r"(\d+) *([kmgt]?)b", text.lower())
    if not match or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text}: a number and a unit, such as 64mb")
    return int(match[1]) * 1024 ** " kmgt".index(match[2] or " ")


def coloured(text: str, colour: str, stream: Any = None) -> str:
    """``text`` in a colour of the lab, where the stream is a terminal that wants colours."""
    stream = stream or sys.stdout
    if not text or not stream.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{COLOURS[colour]}m{text}\033[0m"


def printable(text: str) -> str:
    """``text`` without the control characters that would steer a terminal; tabs and line ends stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def counted(number: int, name: str) -> str:
    """``3 shards``, ``1 shard``."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def check_writable(path: Path) -> None:
    """Whether a file can be written there: told before the work, not after it. Raises ``UserError``."""
    if not path.parent.is_dir():
        raise UserError("command.no_folder", folder=path.parent)
    if path.is_dir():
        raise UserError("command.is_folder", path=path)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UserError("command.not_writable", folder=path.parent, reason=error.strerror) from error


class ProgressLine:
    """One line on stderr that is rewritten as a stage goes on; silent where stderr is no terminal."""

    def __init__(self, quiet: bool = False) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._used = False

    def __call__(self, stage: str, fraction: float | None) -> None:
        """Show a stage (a key of the catalogue) and how far it is."""
        if self._shown:
            bar = "" if fraction is None else f" {'█' * round(20 * fraction):░<20} {fraction:4.0%}"
            print(f"\r\033[K{say(stage)}{bar}", end="", file=sys.stderr, flush=True)
            self._used = True

    def done(self) -> None:
        """Clear the line."""
        if self._used:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def summary(totals: Mapping[str, Any], stop: str) -> str:
    """The figures of a run in three lines."""
    ms = totals["ms"]
    all_ms = sum(ms.values()) or 1.0
    depths = " ".join(f"{rate:.2f}" for rate in totals["acceptance_by_depth"][:8]) or "–"
    shares = ", ".join(f"{part} {100 * value / all_ms:.1f} %" for part, value in ms.items())
    return (f"{totals['tokens']} tokens in {totals['steps']} target calls: "
            f"{totals['tokens_per_call']:.2f} tokens per target call, {totals['tokens_per_second']:.1f} tokens/s "
            f"({stop})\nacceptance rate by depth: {depths}\ntime: {shares}")
