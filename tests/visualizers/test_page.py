"""The player as text: nothing in a trace can leave its script element, and every word is in the catalogues."""

from __future__ import annotations

import json
import re

from synthetic import synthetic_trace

from spec_core.messages import LANGUAGES, catalogue
from visualizers.page import MODULES, PLAYER, STYLES, embedded_json, player_bundle, player_css, standalone_html

KEY = re.compile(r"""player\.[a-z0-9_.-]*[a-z0-9]""")
HOLE = re.compile(r"""[`"'](player\.[a-z0-9_.]*)\$\{""")


def test_embedded_json_cannot_end_its_script() -> None:
    hostile = {"a": "</script><script>alert(1)</script>", "b": "<!-- <script", "c": "\u2028\u2029&amp;", "d": "]]>"}
    text = embedded_json(hostile)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == hostile


def test_the_page_is_one_file_without_requests() -> None:
    html = standalone_html(synthetic_trace(steps=12))
    assert html.count("</script>") == 3
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\((?!#)""", html.replace("<img src=x", ""))
    assert "default-src 'none'" in html


def test_a_hostile_prompt_is_escaped_in_the_title() -> None:
    trace = synthetic_trace(steps=1)
    trace.run["prompt"] = "</title><script>alert(1)</script>"
    assert "</title><script>" not in standalone_html(trace)


def test_every_file_of_the_player_is_in_the_bundle() -> None:
    assert {path.stem for path in PLAYER.glob("*.js")} == set(MODULES)
    assert {path.stem for path in PLAYER.glob("*.css")} == set(STYLES)
    assert "SpecPlayer" in player_bundle() and ".spec-player" in player_css()


def test_both_languages_have_the_same_keys_and_the_same_holes() -> None:
    catalogues = [catalogue(language, "player") for language in LANGUAGES]
    assert all(set(messages) == set(catalogues[0]) for messages in catalogues)
    for key in catalogues[0]:
        holes = [set(re.findall(r"{(\w+)}", messages[key])) for messages in catalogues]
        assert all(one == holes[0] for one in holes), key


def test_every_key_of_the_script_exists() -> None:
    """Whole keys must exist; keys with a hole must have at least one key that fits."""
    messages = catalogue("en", "player")
    source = player_bundle()
    prefixes = set(HOLE.findall(source))
    missing = [key for key in set(re.findall(r"""["'](player\.[a-z0-9_.-]+)["']""", source)) if key not in messages]
    missing += [prefix for prefix in prefixes if not any(key.startswith(prefix) for key in messages)]
    assert not missing


def test_every_message_is_used() -> None:
    source = player_bundle() + (PLAYER.parent.parent / "visualizers" / "facts.py").read_text(encoding="utf-8")
    prefixes = set(HOLE.findall(source))
    names = set(re.findall(r"""[`"']((?:player|fact)\.?[a-z0-9_.-]+)["'`]""", source))
    unused = [key for key in catalogue("en", "player")
              if key.removesuffix(".one") not in names
              and not any(key.startswith(prefix) for prefix in prefixes)
              and not key.startswith(("player.fact.", "player.rule.", "player.outcome."))]
    assert not unused


def test_no_data_reaches_the_page_as_markup() -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", player_bundle())
