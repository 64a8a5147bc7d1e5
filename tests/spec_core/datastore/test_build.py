"""Building: whole or not at all, whatever happens on the way."""

import errno
import json
import lzma
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from spec_core.datastore import build, bundled, writer
from spec_core.datastore.build import build_store, grow_store
from spec_core.datastore.bundled import BUNDLED, bundled_store_name, ensure_bundled
from spec_core.datastore.corpus import Corpus, files_corpus
from spec_core.datastore.format import StoreError, names
from spec_core.datastore.shards import STAGES
from spec_core.datastore.store import open_store
from spec_core.models import Cancelled

HOUSE = Path(__file__).resolve().parents[3]


def everything_in(folder):
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_what_is_built_is_what_was_read(corpus_folder, tokenizer, stores):
    seen = []
    report = build_store(files_corpus([corpus_folder]), "mine", tokenizer, progress=lambda *step: seen.append(step))
    store = open_store("mine", tokenizer)
    assert everything_in(stores) == names() == ["mine"]
    assert (report.name, report.documents, report.tokens) == ("mine", 3, store.token_count)
    assert list(dict.fromkeys(stage for stage, _ in seen)) == list(STAGES) == list(report.seconds)
    for stage in STAGES:
        fractions = [fraction for s, fraction in seen if s == stage]
        assert fractions == sorted(fractions) and fractions[-1] == 1.0
    starts = [*store.document_starts.tolist(), store.token_count]
    for i, path in enumerate(("loops.py", "页面.md", "sub/words.txt")):
        assert store.document_name(i) == f"corpus/{path}"
        ids = store.tokens[starts[i]:starts[i + 1]].tolist()
        assert ids[-1] == store.manifest.separator == 65535
        assert tokenizer.decode(ids[:-1]) == (corpus_folder / path).read_text(encoding="utf-8")
    assert store.document_of([0, starts[1] - 1, starts[1], store.token_count - 1]).tolist() == [0, 0, 1, 2]


def test_shards_end_with_documents_and_are_sorted_apart(corpus_folder, tokenizer):
    build_store(files_corpus([corpus_folder]), "one", tokenizer)
    build_store(files_corpus([corpus_folder]), "three", tokenizer, max_shard_tokens=10)
    one, three = open_store("one"), open_store("three")
    assert len(three.manifest.shards) == 3 and one.tokens.tolist() == three.tokens.tolist()
    assert three.bounds[:-1].tolist() == three.document_starts.tolist()
    for begin, end in zip(three.bounds[:-1], three.bounds[1:], strict=True):
        assert np.array_equal(np.sort(three.suffixes[begin:end]), np.arange(end - begin))
    three.verify()


def test_a_large_vocabulary_takes_four_bytes_a_token(tmp_path, wide_tokenizer):
    (tmp_path / "words.txt").write_text("w69999 w1 w69999 w1 w65535 w2")
    build_store(files_corpus([tmp_path / "words.txt"]), "wide", wide_tokenizer)
    store = open_store("wide", wide_tokenizer)
    assert store.tokens.dtype == np.uint32
    assert store.tokens.tolist() == [69999, 1, 69999, 1, 65535, 2, 2**32 - 1]


def test_ids_beyond_the_vocabulary_are_refused(corpus_folder, tokenizer, stores, monkeypatch):
    monkeypatch.setattr(build, "vocabulary_size", lambda tokenizer: 100)
    with pytest.raises(StoreError, match="token ids beyond its vocabulary of 100"):
        build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    assert everything_in(stores) == []


def test_skipped_files_are_reported(corpus_folder, tokenizer):
    (corpus_folder / "binary").write_bytes(b"\0")
    (corpus_folder / "empty").write_bytes(b"")
    (corpus_folder / "latin").write_bytes(b"\xe9")
    report = build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    assert {s.name: s.reason for s in report.skipped} == {
        "corpus/binary": "binary", "corpus/empty": "empty", "corpus/latin": "not_utf8"}


def test_nothing_to_read(tokenizer, stores):
    with pytest.raises(StoreError, match="nothing to build"):
        build_store(Corpus([], [], "nothing"), "mine", tokenizer)
    assert everything_in(stores) == []


@pytest.mark.parametrize("name", ["", "../up", "a/b", "/abs", ".hidden", "a\\b", "x" * 65, "dot.", "a\nb", "a\0b"])
def test_names_are_plain(name, tokenizer, stores):
    with pytest.raises(StoreError, match="cannot name"):
        build_store(Corpus([], [], ""), name, tokenizer)
    with pytest.raises(StoreError, match="cannot name"):
        open_store(name)
    assert everything_in(stores) == []


def test_a_taken_name_is_refused_unless_it_is_to_be_replaced(corpus_folder, tokenizer, stores):
    build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    with pytest.raises(StoreError, match="exists already"):
        build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    build_store(files_corpus([corpus_folder / "loops.py"]), "mine", tokenizer, replace=True)
    assert open_store("mine").manifest.documents == 1
    assert everything_in(stores) == ["mine"]


@pytest.mark.parametrize("stage", STAGES[:-1])
def test_cancel_at_each_stage_leaves_nothing(stage, corpus_folder, tokenizer, stores):
    reached = []
    with pytest.raises(Cancelled):
        build_store(files_corpus([corpus_folder]), "mine", tokenizer, progress=lambda s, f: reached.append(s),
                    cancelled=lambda: stage in reached)
    assert everything_in(stores) == []


@pytest.mark.parametrize("file", ["tokens.bin", "suffixes.bin"])
def test_a_full_disk_leaves_nothing(file, corpus_folder, tokenizer, stores, monkeypatch):
    real = writer.StoreWriter.append

    def append(self, name, data):
        if name == file:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, name, data)

    monkeypatch.setattr(writer.StoreWriter, "append", append)
    with pytest.raises(StoreError, match="No space left"):
        build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    assert everything_in(stores) == []


def test_a_folder_that_cannot_be_written(corpus_folder, tokenizer, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SPECLAB_DATASTORES", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="could not be written"):
        build_store(files_corpus([corpus_folder]), "mine", tokenizer)


def test_kill_leaves_no_store_and_the_next_build_clears_up(corpus_folder, tokenizer, stores, tmp_path):
    tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
        import sys, time
        from tokenizers import Tokenizer
        from spec_core.datastore.build import build_store, grow_store
        from spec_core.datastore.corpus import files_corpus

        class Fast:
            backend_tokenizer = Tokenizer.from_file(sys.argv[1])

        def progress(stage, fraction):
            if stage == "sort":
                print("sorting", flush=True)
                time.sleep(60)

        build_store(files_corpus([sys.argv[2]]), "mine", Fast(), progress=progress)
    """), tmp_path / "tokenizer.json", corpus_folder], cwd=HOUSE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "sorting\n"
        (under_way,) = everything_in(stores)
        writer.clear_leftovers(stores)
        assert everything_in(stores) == [under_way], "a build under way is not a leftover"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert names() == [] and everything_in(stores) == [under_way]
    build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    assert everything_in(stores) == ["mine"]


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_store(name, corpus_folder, tokenizer, other_tokenizer, stores, monkeypatch):
    monkeypatch.setitem(bundled.BUNDLED, name, lambda: files_corpus([corpus_folder]))
    first = ensure_bundled(name, tokenizer)
    assert first.name == name and bundled_store_name(name, tokenizer) == name
    assert ensure_bundled(name, tokenizer).manifest.created == first.manifest.created
    second = ensure_bundled(name, other_tokenizer)
    assert second.name.startswith(f"{name}--") and ensure_bundled(name, other_tokenizer).name == second.name
    (first.folder / "tokens.bin").write_bytes(b"cut")
    assert ensure_bundled(name, tokenizer).token_count == first.token_count, "a damaged one is built anew"


def test_a_store_of_older_answers_is_built_anew_unless_something_was_added(corpus_folder, tokenizer, stores, monkeypatch, tmp_path):
    def documents(*answers):
        path = tmp_path / "answers.xz"
        path.write_bytes(lzma.compress("\n".join(json.dumps({"text": text}) for text in answers).encode()))
        monkeypatch.setattr(bundled, "ANSWERS", path)
        return ensure_bundled(bundled.ANSWERS_STORE, tokenizer).manifest.documents

    assert [documents("for", "for"), documents("for"), documents("for", "for", "in")] == [2, 1, 3]
    kept = open_store(bundled.ANSWERS_STORE).manifest.created
    assert documents("for", "for", "in") == 3 and open_store(bundled.ANSWERS_STORE).manifest.created == kept
    grow_store(files_corpus([corpus_folder]), bundled.ANSWERS_STORE, tokenizer)
    assert documents("for") == 6, "what a user added is kept"


def test_the_answers_that_come_with_the_lab_are_texts():
    documents = list(bundled.Answers())
    assert len(documents) > 1000 and all(document.text.strip() for document in documents)
    assert not any(mark in document.text for document in documents for mark in ("<|im_start|>", "<|im_end|>", "\ufffd"))
