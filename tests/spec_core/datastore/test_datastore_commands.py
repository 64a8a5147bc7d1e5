"""``python -m spec_core datastore …``: what it prints, and what it refuses."""

import zipfile

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
    assert "mine: 3 documents" in printed and "corpus/binary: not text: it holds bytes" in printed and "skipped: 1 × not text" in printed
    assert main(["datastore", "list"]) == 0
    printed = capsys.readouterr().out
    assert "mine" in printed and "3 documents" in printed and "corpus" in printed
    assert main(["datastore", "search", "mine", "for i in", "--budget", "4"]) == 0
    printed = capsys.readouterr().out
    assert "'for i in', 6 hits" in printed and " 6 100%" in printed and "tried, by halving the range: " in printed and "\n       3  50%" in printed
    assert main(["datastore", "verify", "mine"]) == 0
    assert ", 1 shard)" in capsys.readouterr().out


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


def test_survey_tells_and_builds_nothing(corpus_folder, capsys, stores):
    (corpus_folder / "rows.jsonl").write_text('{"text": "one", "title": "T"}\n')
    (corpus_folder / "really.pdf").write_text("a text")
    assert main(["datastore", "survey", str(corpus_folder)]) == 0
    printed = capsys.readouterr().out
    assert "5 documents from 5 files" in printed and "kinds: 4 text, 1 jsonl" in printed and "encodings: 5 utf-8" in printed
    assert "field text: one" in printed and "field title: T" in printed and "really.pdf is read as text" in printed
    assert not stores.exists()


def test_survey_tells_guesses_and_broken_files(tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes("un café".encode("latin-1"))
    (tmp_path / "b.json").write_text('{"text": "unterminated')
    assert main(["datastore", "survey", str(tmp_path / "a.txt"), str(tmp_path / "b.json")]) == 0
    printed = capsys.readouterr().out
    assert "a.txt does not say its encoding. cp1252 is a guess" in printed and "un café" in printed and "b.json is read as text" in printed


def test_a_taken_name_says_how_to_replace_it(corpus_folder, capsys):
    build = ["datastore", "build", str(corpus_folder), "--name", "mine"]
    assert [main(build), main(build), main([*build, "--replace"])] == [0, 2, 0]
    assert "--replace" in capsys.readouterr().err


def test_what_was_not_looked_up_is_not_said_to_be_missing(corpus_folder, capsys):
    main(["datastore", "build", str(corpus_folder), "--name", "mine"])
    capsys.readouterr()
    assert main(["datastore", "search", "mine", "x", "--min-suffix", "2"]) == 0
    assert capsys.readouterr().out == "The text is shorter than the shortest suffix (2).\n"


def test_build_reads_archives_and_the_chosen_field(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("rows.csv", "a,b\nthe cat,sat\n")
        file.writestr("../evil.txt", "evil")
    assert main(["datastore", "build", str(tmp_path / "x.zip"), "--name", "mine", "--field", "b"]) == 0
    assert "leads out of the archive" in capsys.readouterr().out
    store = open_store("mine")
    assert store.manifest.documents == 1 and store.document_name(0) == "x.zip/rows.csv #1"


def test_grow_rename_export_delete_import(corpus_folder, tmp_path, capsys):
    main(["datastore", "build", str(corpus_folder), "--name", "mine"])
    assert main(["datastore", "grow", "mine", str(corpus_folder / "loops.py")]) == 0
    assert "added to mine: 1 document," in capsys.readouterr().out
    assert main(["datastore", "rename", "mine", "yours"]) == 0
    tar = tmp_path / "yours.tar"
    assert main(["datastore", "export", "yours", str(tar)]) == 0
    assert [path.name for path in tmp_path.glob("*yours*")] == ["yours.tar"]
    assert main(["datastore", "delete", "yours"]) == 0
    assert main(["datastore", "import", str(tar), "--name", "again"]) == 0
    assert "again: 4 documents" in capsys.readouterr().out
    open_store("again").verify()


def test_chats_need_a_template(corpus_folder, capsys):
    assert main(["datastore", "build", str(corpus_folder), "--name", "mine", "--chat"]) == 2
    assert "chat template" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [
    ["grow", "none", "."], ["survey"], ["survey", "/no/such/path"], ["rename", "none", "x"], ["delete", "none"],
    ["export", "none"], ["import", "/no/such/file"], ["delete", "../x"], ["survey", ".", "--max-total-mb", "none"],
    ["build", ".", "--name", "x", "--max-file-mb", "-1"],
])
def test_bad_input_of_the_other_verbs(arguments, capsys):
    assert main(["datastore", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1 and not captured.out


def test_a_corpus_beyond_the_limit(corpus_folder, capsys, stores):
    size = sum(path.stat().st_size for path in corpus_folder.rglob("*") if path.is_file()) - 1
    assert main(["datastore", "build", str(corpus_folder), "--name", "mine", "--max-total-mb", str(size / 2**20)]) == 2
    assert "larger than" in capsys.readouterr().err
    assert not list(stores.iterdir())
