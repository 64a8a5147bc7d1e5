"""The command line of app.py: help without torch, and one clear line on a mistake."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ui.flags import parse

ROOT = Path(__file__).resolve().parents[2]


def app(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "app.py", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_help_lists_the_flags():
    result = app("--help")
    assert result.returncode == 0
    for flag in ("--host", "--port", "--share", "--auth", "--default-target", "--max-new-tokens", "--queue-size",
                 "--kept-runs", "--max-file-size", "--no-read-only-datastores", "--no-browser"):
        assert flag in result.stdout
    assert "127.0.0.1" in result.stdout and "7860" in result.stdout


@pytest.mark.parametrize("arguments", [("--auth", "nobody"), ("--queue-size", "0"), ("--port", "web"), ("--nonsense",)])
def test_a_mistake_is_one_line_and_status_2(arguments: tuple[str, ...]):
    result = app(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr.strip().splitlines()[-1].startswith("app.py: error: ")


def test_a_port_in_use_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = app("--port", port, "--no-browser")
    assert result.returncode == 2
    assert port in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(("arguments", "expected"), [
    ([], False), (["--host", "localhost"], False), (["--host", "127.0.0.7"], False), (["--host", "::1"], False),
    (["--share"], True), (["--host", "0.0.0.0"], True), (["--host", "::"], True), (["--host", "lab.example"], True),
    (["--share", "--auth", "a:b"], False), (["--host", "0.0.0.0", "--auth", "a:b"], False),
    (["--share", "--no-read-only-datastores"], False), (["--read-only-datastores"], True),
    (["--read-only-datastores", "--auth", "a:b"], True)])
def test_who_comes_in_without_a_login_changes_no_datastores(arguments: list[str], expected: bool, monkeypatch):
    monkeypatch.delenv("SPECULATION_LAB_AUTH", raising=False)
    assert parse(arguments).read_only_datastores is expected


def test_a_login_from_the_environment_counts(monkeypatch):
    monkeypatch.setenv("SPECULATION_LAB_AUTH", "a:b")
    assert parse(["--share"]).read_only_datastores is False
