"""The player as text to put into a page: its script, its style, and a whole page that works offline.

The files of ``assets/player`` are joined as they are, in ``MODULES`` order: each is a
function that adds to one global, ``SpecPlayer``. No build step, no request to anywhere.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from spec_core.messages import LANGUAGES, catalogue
from spec_core.trace import Trace

from .views import run_view, step_view

PLAYER = Path(__file__).resolve().parent.parent / "assets" / "player"
MODULES = ("dom", "words", "pieces", "store", "totals", "palette", "actions", "utf8", "text-writer", "hints", "panel",
           "card", "text", "timeline", "decisions", "facts", "run-facts", "pan-zoom", "trie-geometry", "trie", "align",
           "pseudo", "mask", "head", "transport", "help", "keys", "shape", "export", "player")
STYLES = ("base", "frame", "text", "facts", "tree", "align", "shape", "projector", "export", "page")

# Nothing may be loaded, whatever a trace holds: the page is complete in itself.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

PAGE = """<!doctype html>
<html lang="{language}" class="sp-page">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{css}</style>
</head>
<body>
<header class="sp-page-head"><span class="sp-page-title">{title}</span>
<button type="button" data-language="en" lang="en">English</button>
<button type="button" data-language="zh" lang="zh-CN">简体中文</button></header>
<main id="player"></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
<script>{start}</script>
</body>
</html>
"""

START = """(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const player = SpecPlayer.create(document.getElementById("player"), { strings: data.strings, language: data.language });
  player.open(data.run);
  player.append(data.steps);
  player.goTo(0);
  player.status(data.status);
  globalThis.specPlayer = player;
  const buttons = document.querySelectorAll("[data-language]");
  const choose = (language) => {
    player.setLanguage(language);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.language === language));
  };
  for (const button of buttons) button.addEventListener("click", () => choose(button.dataset.language));
  choose(data.language);
})();"""


@cache
def player_bundle() -> str:
    """The player's JavaScript, all modules joined; defines the global ``SpecPlayer``."""
    return "\n".join((PLAYER / f"{name}.js").read_text(encoding="utf-8") for name in MODULES)


@cache
def player_css() -> str:
    """The player's style sheet, all files joined."""
    return "\n".join((PLAYER / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)


def player_strings() -> dict[str, dict[str, str]]:
    """The player's messages by language, as ``SpecPlayer.create`` takes them."""
    return {language: catalogue(language, "player") for language in LANGUAGES}


def embedded_json(value: Any) -> str:
    """JSON that may stand inside ``<script>``: no text in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def standalone_html(trace: Trace, language: str = "en") -> str:
    """One HTML file that holds the player and the run: opens offline, all panels and keys work."""
    data = {"strings": player_strings(), "language": language, "run": run_view(trace.run),
            "steps": [step_view(step) for step in trace.steps],
            "status": {"state": "error" if trace.error else "finished", "stop": trace.stop, "error": trace.error,
                       "output_text": trace.output_text},
            "trace": trace.to_json()}  # so that the lab can open the page again
    parts = {"language": language, "policy": POLICY, "title": escape(_title(trace)), "css": player_css(),
             "data": embedded_json(data), "script": player_bundle(), "start": START}
    return PAGE.format(**parts)


def _title(trace: Trace) -> str:
    first_line = str(trace.run.get("prompt", "")).strip().partition("\n")[0]
    return f"Speculation Lab – {first_line[:60]}" if first_line else "Speculation Lab"
