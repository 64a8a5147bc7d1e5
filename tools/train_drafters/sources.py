"""Texts that anyone has who installed the lab: sources, docstrings, READMEs and translations of installed packages."""

from __future__ import annotations

import ast
import importlib.metadata
import random
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path


MOST_FILES = 150
"""Files of one package: some generate thousands that are all alike."""


def python_files() -> list[Path]:
    """Python sources of the standard library and of installed packages, in a fixed order, tests left out."""
    files: list[Path] = []
    for root in (Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))):
        for package in sorted(path for path in root.iterdir() if path.name != "site-packages"):
            found = [package] if package.suffix == ".py" else sorted(package.rglob("*.py")) if package.is_dir() else []
            wanted = [path for path in found if not re.search(r"/(tests?|testing|idlelib|lib2to3|validators)/", str(path))
                      and 500 < path.stat().st_size < 200_000]
            files += random.Random(package.name).sample(wanted, min(len(wanted), MOST_FILES))
    return files


def function_stubs(path: Path) -> Iterator[str]:
    """Functions of a file up to the end of their docstring: the form of a code completion prompt."""
    try:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (UnicodeDecodeError, SyntaxError, ValueError, RecursionError):
        return
    lines = text.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or not (doc := ast.get_docstring(node)) or not 60 < len(doc) < 900:
            continue
        body = node.body[0]
        stub = lines[node.lineno - 1:body.end_lineno]
        indent = len(stub[0]) - len(stub[0].lstrip())
        yield "\n".join(line[indent:] if not line[:indent].strip() else line for line in stub) + "\n"


def code_heads(path: Path, lines: int) -> str:
    """The beginning of a file, cut in the middle of the work."""
    return "\n".join(path.read_text(encoding="utf-8", errors="ignore").splitlines()[:lines]) + "\n"


def passages() -> list[str]:
    """Paragraphs of prose, 60 to 450 words, from the READMEs of installed packages and from long docstrings."""
    found: dict[str, None] = {}
    for distribution in sorted(importlib.metadata.distributions(), key=lambda d: str(d.metadata["Name"])):
        text = distribution.metadata.get_payload() or distribution.metadata.get("Description") or ""
        for passage in _paragraph_groups(text):
            found.setdefault(passage)
    for path in python_files():
        match = re.match(r'\s*(?:r|u)?"""(.+?)"""', path.read_text(encoding="utf-8", errors="ignore"), re.DOTALL)
        if match:
            for passage in _paragraph_groups(match[1]):
                found.setdefault(passage)
    return list(found)


def german_sentences() -> list[str]:
    """German sentences of the translations that Django ships, longer than five words."""
    root = Path(sysconfig.get_path("purelib")) / "django"
    found: dict[str, None] = {}
    for path in sorted(root.rglob("locale/de/LC_MESSAGES/django.po")):
        for message in re.findall(r'^msgstr(?:\[\d\])? ((?:".*"\n?)+)', path.read_text(encoding="utf-8"), re.MULTILINE):
            text = "".join(re.findall(r'"(.*)"', message)).replace('\\"', '"').replace("\\n", " ").strip()
            text = re.sub(r"%\(\w+\)s|%s|\{\w*\}", "Beispiel", text)
            if len(text.split()) > 5 and "<" not in text and not text.startswith("Project-Id"):
                found.setdefault(text)
    return list(found)


def _paragraph_groups(text: str) -> Iterator[str]:
    """Neighbouring paragraphs of prose, joined up to 60–450 words."""
    group: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        words = paragraph.split()
        letters = sum(c.isalpha() or c.isspace() for c in paragraph)
        if len(words) < 12 or letters < 0.85 * len(paragraph):
            continue
        group.append(" ".join(words))
        if sum(len(p.split()) for p in group) >= 60:
            joined = " ".join(group)
            if len(joined.split()) <= 450:
                yield joined
            group = []
