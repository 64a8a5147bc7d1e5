"""The shape of the house: imports run one way, every word stands in both catalogues, small files stay small."""

from __future__ import annotations

import ast
import json
import re
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spec_core.messages import CATALOGUES, LANGUAGES, catalogue

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("spec_core", "visualizers", "ui", "app")
HOLE = "\0"  # a part of a text that is filled in when the program runs
KEY = re.compile(r"[a-z]\w*(\.[\w-]+)+")


def sources(layer: str) -> list[Path]:
    return [ROOT / "app.py"] if layer == "app" else sorted((ROOT / layer).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_run_downwards(layer: str):
    above = set(LAYERS[LAYERS.index(layer) + 1:])
    for path in sources(layer):
        assert not above & set(imports(path)), f"{path.relative_to(ROOT)} imports from above"


@pytest.mark.parametrize(("layer", "strange"), [("spec_core", {"gradio", "plotly"}), ("visualizers", {"gradio", "torch"}),
                                                ("ui", {"torch", "transformers"})])
def test_each_layer_keeps_to_its_libraries(layer: str, strange: set[str]):
    for path in sources(layer):
        assert not strange & set(imports(path)), path.relative_to(ROOT)


def test_the_registry_knows_nothing_of_gradio():
    for name in ("run", "runs", "bundled"):
        assert "gradio" not in set(imports(ROOT / "ui" / f"{name}.py"))


def test_the_entry_point_is_short():
    assert len((ROOT / "app.py").read_text(encoding="utf-8").splitlines()) <= 80


def test_the_page_is_built_without_torch():
    script = "import sys; from ui import page; from ui.form import Defaults; " \
             "page.build(Defaults('smollm2-135m', 64)); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=120)


# --- catalogues ---------------------------------------------------------------------


def rooms() -> list[str]:
    return sorted({path.name.partition(".")[0] for path in CATALOGUES.glob("*.json")})


@pytest.mark.parametrize("room", rooms())
def test_a_room_says_the_same_in_every_language(room: str):
    english = catalogue("en", room)
    for language in LANGUAGES:
        other = catalogue(language, room)
        assert other.keys() == english.keys()
        for key, text in other.items():
            assert text or key.endswith(".join"), key  # Chinese joins sentences with nothing
            assert holes(text) == holes(english[key]), f"{key}: the values to fill in differ"


def holes(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_no_key_is_said_twice():
    for language in LANGUAGES:
        catalogue(language)  # raises for a key that stands in two rooms
        for path in CATALOGUES.glob(f"*.{language}.json"):
            json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)


def once(pairs: list[tuple[str, str]]) -> dict[str, str]:
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"said twice: {[key for key in keys if keys.count(key) > 1]}"
    return dict(pairs)


def texts_of_python(path: Path) -> Iterator[str]:
    """Every string of a file; what an f-string fills in is a ``HOLE``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def texts_of_script(path: Path) -> Iterator[str]:
    """Every string of a JavaScript file; one that something is added to ends in a ``HOLE``."""
    script = path.read_text(encoding="utf-8")
    for literal, added in re.findall(r'"((?:[^"\\\n]|\\.)*)"(\s*\+)?', script):
        yield literal + (HOLE if added else "")
    for literal in re.findall(r"`([^`]*)`", script):
        yield re.sub(r"\$\{[^}]*\}", HOLE, literal)


def keys_of_the_page() -> set[str]:
    """What ``ui`` asks the catalogues for, holes included."""
    texts = [text for path in sources("ui") for text in texts_of_python(path)]
    texts += [text for path in (ROOT / "ui" / "web").glob("*.js") for text in texts_of_script(path)]
    asked = {key for text in texts for key in re.findall(r'data-say(?:-title)?="([^"]+)"', text)}
    first_parts = {key.partition(".")[0] for key in catalogue("en", "ui")}
    return asked | {text for text in texts
                    if text.partition(".")[0] in first_parts and KEY.fullmatch(text.replace(HOLE, "x"))
                    and not text.endswith(".js")}


def test_every_key_of_the_page_exists():
    known = catalogue("en")
    for key in keys_of_the_page():
        pattern = re.compile(re.escape(key).replace(re.escape(HOLE), r"[\w.-]+"))
        assert any(pattern.fullmatch(one) for one in known), f"{key!r} is in no catalogue"


def test_every_message_of_the_page_is_used():
    asked = [re.compile(re.escape(key).replace(re.escape(HOLE), r"[\w.-]+") + r"(\.info|\.placeholder|\.choice\.\w+)?")
             for key in keys_of_the_page()]
    for key in catalogue("en", "ui"):
        assert any(pattern.fullmatch(key) for pattern in asked), f"{key} is never said"


def test_every_key_of_an_error_exists():
    known = catalogue("en")
    for layer in LAYERS:
        for path in sources(layer):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
                    continue
                name, key = getattr(node.func, "id", getattr(node.func, "attr", "")), node.args[0].value
                if (name in ("say", "progress") or name.endswith("Error")) and isinstance(key, str) and KEY.fullmatch(key):
                    assert key in known, f"{path.relative_to(ROOT)}:{node.lineno}: {key!r} is in no catalogue"
