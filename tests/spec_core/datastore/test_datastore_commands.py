"""``python -m spec_core datastore …``: what it prints, and what it refuses."""

import pytest

from spec_core import models
from spec_core.__main__ import main
from spec_core.datastore.store import open_store


@pytest.fixture(autouse=True)
def _small_target(tokenizer, monkeypatch):
    monkeypatch.setattr(models, "load_tokenizer", lambda name, progress=None: tokenizer)


def test_build_list_search_verify(corpus_folder, capsys):
    (corpus_folder / "binary").write_bytes(b"\0")
    assert main(["datastore", "build", str(corpus_folder), "--name", "mine"]) == 0
    printed = capsys.readouterr().out
    assert "mine: 3 documents" in printed and "corpus/binary: not text" in printed
    assert main(["datastore", "list"]) == 0
    printed = capsys.readouterr().out
    assert "mine" in printed and "3 documents" in printed and "corpus" in printed
    assert main(["datastore", "search", "mine", "for i in", "--budget", "4"]) == 0
    printed = capsys.readouterr().out
    assert "'for i in', 6 hits" in printed and " 6 100%" in printed and "\n       3  50%" in printed
    assert main(["datastore", "verify", "mine"]) == 0
    assert "every checksum is right" in capsys.readouterr().out


def test_search_without_a_match(corpus_folder, capsys):
    main(["datastore", "build", str(corpus_folder), "--name", "mine"])
    assert main(["datastore", "search", "mine", "\x07"]) == 0
    assert "no suffix of the text occurs" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [
    ["build", "--name", "x"], ["build", "/no/such/path", "--name", "x"], ["build", ".", "--from-stdlib", "--name", "x"],
    ["build", ".", "--name", "../x"], ["search", "none", "text"], ["search", "none", ""], ["verify", "none"],
    ["search", "none", "text", "--budget", "-1"], ["search", "none", "text", "--budget", "many"],
    ["search", "none", "text", "--min-suffix", "9", "--max-suffix", "8"],
])
def test_one_line_and_status_2(arguments, capsys):
    assert main(["datastore", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1 and not captured.out


def test_a_broken_store_is_listed_with_its_reason(corpus_folder, capsys):
    main(["datastore", "build", str(corpus_folder), "--name", "mine"])
    (open_store("mine").folder / "manifest.json").write_text("{")
    capsys.readouterr()
    assert main(["datastore", "list"]) == 0
    assert "mine  The datastore mine is damaged" in capsys.readouterr().out
