"""What becomes a document, and what is skipped with which reason."""

import os

import pytest

from spec_core.datastore.corpus import Document, Skipped, files_corpus, python_stdlib
from spec_core.messages import UserError


def reasons(corpus):
    return {s.name: s.reason for s in [*corpus.skipped, *(item for item in corpus if isinstance(item, Skipped))]}


def documents(corpus):
    return {item.name: item.text for item in corpus if isinstance(item, Document)}


def test_text_of_any_kind_in_sorted_order(corpus_folder):
    found = documents(files_corpus([corpus_folder]))
    assert list(found) == ["corpus/loops.py", "corpus/页面.md", "corpus/sub/words.txt"]
    assert "<script>alert('x')</script>" in found["corpus/页面.md"] and "🎉" in found["corpus/页面.md"]


def test_each_reason(tmp_path):
    folder = tmp_path / "c"
    for inner in (".git", "__pycache__", "good"):
        (folder / inner).mkdir(parents=True)
    (folder / "good" / "a.txt").write_text("text")
    (folder / "bom.txt").write_bytes(b"\xef\xbb\xbfwith a mark")
    (folder / "binary.bin").write_bytes(b"ab\0cd")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "blank.txt").write_bytes(b" \n\t")
    (folder / "latin.txt").write_bytes("é".encode("latin-1"))
    (folder / "large.txt").write_bytes(b"x" * 200)
    (folder / ".hidden").write_text("x")
    (tmp_path / "outside.txt").write_text("outside")
    (folder / "out.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "in.txt").symlink_to(folder / "good" / "a.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "broken.txt").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe")
    corpus = files_corpus([folder], max_file_bytes=100)
    assert documents(corpus) == {"c/bom.txt": "with a mark", "c/good/a.txt": "text", "c/in.txt": "text"}
    assert reasons(corpus) == {
        "c/.git": "hidden", "c/.hidden": "hidden", "c/__pycache__": "generated", "c/binary.bin": "binary",
        "c/empty.txt": "empty", "c/blank.txt": "empty", "c/latin.txt": "not_utf8", "c/large.txt": "too_large",
        "c/out.txt": "link", "c/loop": "link", "c/broken.txt": "unreadable", "c/pipe": "special"}
    for skipped in corpus.skipped:
        assert skipped.say("en") and skipped.say("zh") != skipped.say("en")


def test_a_file_that_vanishes_is_skipped(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    corpus = files_corpus([tmp_path / "a.txt"])
    (tmp_path / "a.txt").unlink()
    assert [item.reason for item in corpus] == ["unreadable"]


def test_no_such_path(tmp_path):
    with pytest.raises(UserError, match="no file or folder"):
        files_corpus([tmp_path / "none"])


def test_the_standard_library_without_its_tests():
    corpus = python_stdlib()
    names = [source.name for source in corpus.sources]
    assert "argparse.py" in names and "json/decoder.py" in names
    assert not any(part in ("test", "tests", "site-packages") for name in names for part in name.split("/"))
    assert names == [source.name for source in python_stdlib().sources]
    assert corpus.size > 5_000_000
