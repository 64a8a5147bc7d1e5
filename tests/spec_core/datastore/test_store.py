"""Opening: a store that is not right is told in one sentence."""

import hashlib
import json
import os

import numpy as np
import pytest
from datastore_reference import TEXTS, trained

from spec_core.datastore.build import build_store
from spec_core.datastore.corpus import files_corpus
from spec_core.datastore.encoding import fingerprint, fingerprint_of_file, vocabulary_size
from spec_core.datastore.format import DOCUMENTS, FILES, MANIFEST, NAMES, SUFFIXES, TOKENS, VERIFIED, StoreError, names
from spec_core.datastore.store import Store, open_store
from spec_core.messages import UserError


@pytest.fixture
def folder(corpus_folder, tokenizer, stores):
    """A sound store, to be spoilt."""
    build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    return stores / "mine"


def edit(folder, change):
    data = json.loads((folder / MANIFEST).read_text())
    change(data)
    (folder / MANIFEST).write_text(json.dumps(data))


def refused(folder, words):
    with pytest.raises(StoreError, match=words) as caught:
        Store(folder).verify()
    assert caught.value.say("zh") != str(caught.value)


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("file", FILES)
def test_truncated(folder, file):
    path = folder / file
    path.write_bytes(path.read_bytes()[:-1])
    refused(folder, f"damaged .*{file}.* bytes.*build it anew")


@pytest.mark.parametrize("file", FILES)
def test_missing(folder, file):
    (folder / file).unlink()
    refused(folder, f"damaged .*{file}")


@pytest.mark.parametrize("file", FILES)
def test_a_flipped_bit(folder, file):
    flip(folder / file, 5)
    refused(folder, f"damaged .*{file}: the checksum differs")


def test_checksums_are_not_computed_again_until_a_file_changes(folder, monkeypatch):
    monkeypatch.setattr(Store, "verify", lambda self: pytest.fail("verified again"))
    Store(folder)
    monkeypatch.undo()
    os.utime(folder / TOKENS)
    verified = []
    real = Store.verify
    monkeypatch.setattr(Store, "verify", lambda self: (verified.append(1), real(self)))
    Store(folder)
    Store(folder)
    assert verified == [1]


def test_a_copy_without_a_stamp_is_verified(folder):
    (folder / VERIFIED).unlink()
    Store(folder)
    assert (folder / VERIFIED).exists()
    (folder / VERIFIED).write_text("no json {")
    Store(folder)


def test_bytes_of_an_unfinished_append_are_ignored(folder):
    before = Store(folder).tokens.tolist()
    for file in FILES:
        with (folder / file).open("ab") as stream:
            stream.write(b"leftover")
    assert Store(folder).tokens.tolist() == before


def test_newer(folder):
    edit(folder, lambda m: m.update(version=2))
    refused(folder, "version 2; this lab reads version 1")


def test_other_tokenizer(folder, tokenizer, other_tokenizer):
    open_store("mine", tokenizer)
    with pytest.raises(StoreError, match="built with another tokenizer"):
        open_store("mine", other_tokenizer)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": "else"}', "\udcff", "[" * 100_000])
def test_a_manifest_that_is_none(folder, text):
    (folder / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(folder, "damaged|not a datastore")


@pytest.mark.parametrize("change", [
    lambda m: m.update(shards=[]), lambda m: m.update(shards=None), lambda m: m.pop("fingerprint"),
    lambda m: m.update(token_bytes=3), lambda m: m.update(token_bytes=4), lambda m: m.update(vocabulary=10**6),
    lambda m: m.update(vocabulary="many"), lambda m: m["shards"][0].update(tokens=-1),
    lambda m: m["shards"][0].update(tokens=True), lambda m: m["shards"][0].update(documents=0),
    lambda m: m["shards"][0].update(tokens=m["shards"][0]["tokens"] + 1),
    lambda m: m["shards"][0]["bytes"].pop(TOKENS), lambda m: m["shards"][0].update(sha256=7),
])
def test_a_manifest_that_contradicts_itself(folder, change):
    edit(folder, change)
    refused(folder, f"damaged .*{MANIFEST}")


@pytest.mark.parametrize("file, kind, at, value, words", [
    (TOKENS, "<u2", 3, 60_000, "token ids beyond its vocabulary"),
    (TOKENS, "<u2", -1, 1, "a shard without an end"),
    (SUFFIXES, "<u4", 3, 2**31, "a position beyond its shard"),
    (DOCUMENTS, "<i8", 2, 0, "the documents are not in order"),
    (DOCUMENTS, "<i8", 5, 10**9, "the documents are not in order"),
])
def test_right_checksums_over_wrong_numbers(folder, file, kind, at, value, words):
    """What a broken program could have written, not a broken disk."""
    data = np.fromfile(folder / file, dtype=kind)
    data[at] = value
    data.tofile(folder / file)
    edit(folder, lambda m: m["shards"][0]["sha256"].update({file: hashlib.sha256(data.tobytes()).hexdigest()}))
    refused(folder, words)


def test_unknown_names_the_known(folder):
    with pytest.raises(StoreError, match="no datastore other. Known: mine"):
        open_store("other")


def test_names_are_sound_even_where_stores_are_not(folder, stores):
    (stores / "empty").mkdir()
    (stores / "broken").mkdir()
    (stores / "broken" / MANIFEST).write_text("{")
    assert names() == ["broken", "mine"]


def test_names_of_documents_with_damaged_bytes_are_shown(folder):
    store = Store(folder)
    flip(folder / NAMES, 0)
    data = bytearray((folder / NAMES).read_bytes())
    data[0] = 0xFF
    (folder / NAMES).write_bytes(data)
    assert store.document_name(0).startswith("\\xff")


def test_fingerprint(tokenizer, other_tokenizer, wide_tokenizer, tmp_path):
    assert fingerprint(tokenizer) == fingerprint(trained(list(TEXTS.values())))
    assert len({fingerprint(t) for t in (tokenizer, other_tokenizer, wide_tokenizer)}) == 3
    for each in (tokenizer, other_tokenizer, wide_tokenizer):
        each.save_pretrained(tmp_path)
        assert fingerprint_of_file(tmp_path / "tokenizer.json") == fingerprint(each)
    before = fingerprint(tokenizer)
    tokenizer.backend_tokenizer.enable_truncation(5)
    again = trained(list(TEXTS.values()))
    again.backend_tokenizer.enable_truncation(5)
    assert fingerprint(again) == before, "what a call switches on and off is not part of it"
    tokenizer.backend_tokenizer.no_truncation()
    assert vocabulary_size(wide_tokenizer) == 70_000


def test_no_fast_tokenizer():
    class Slow:
        pass

    with pytest.raises(UserError, match="needs a fast tokenizer"):
        fingerprint(Slow())
