"""What people bring is hostile until it is read: archives, names, and everything that happens at the same time."""

import io
import os
import struct
import tarfile
import threading
import zipfile

import pytest

from spec_core.datastore import writer
from spec_core.datastore.build import build_store, grow_store
from spec_core.datastore.corpus import Document, Skipped, files_corpus
from spec_core.datastore.format import StoreError, names
from spec_core.datastore.ingest import Limits, gather
from spec_core.datastore.index import longest_match
from spec_core.datastore.manage import delete_store, rename_store
from spec_core.datastore.store import open_store
from spec_core.datastore.trie import heaviest_nodes
from spec_core.messages import UserError

FLAGS = {"zip": "", "tar": "w:", "tgz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}


def archive(folder, kind, members):
    """An archive with these names and contents, whatever they are."""
    path = folder / f"x.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in members:
                file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    else:
        with tarfile.open(path, FLAGS[kind]) as file:
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                file.addfile(info, io.BytesIO(data))
    return path


def read(path, limits=Limits()):
    items = list(gather([path], limits))
    return ({item.name: item.text for item in items if isinstance(item, Document)},
            {item.name: item.reason for item in items if isinstance(item, Skipped)})


@pytest.mark.parametrize("kind", FLAGS)
def test_archives_are_read_in_place(tmp_path, kind):
    path = archive(tmp_path, kind, [("a.txt", b"one"), ("sub/b.py", b"two"), ("c.bin", b"\0")])
    before = set(tmp_path.rglob("*"))
    assert read(path) == ({f"x.{kind}/a.txt": "one", f"x.{kind}/sub/b.py": "two"}, {f"x.{kind}/c.bin": "binary"})
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", ["zip", "tar"])
@pytest.mark.parametrize("name", ["../out.txt", "a/../../out.txt", "/etc/out.txt", "..\\out.txt", "C:\\out.txt", "C:out.txt"])
def test_names_that_leave_the_archive(tmp_path, kind, name):
    documents, reasons = read(archive(tmp_path, kind, [("good.txt", b"good"), (name, b"evil")]))
    assert list(documents.values()) == ["good"] and list(reasons.values()) == ["unsafe_path"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_members_that_are_no_files(tmp_path, kind):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as file:
        for name in ("a.txt", "good.txt"):
            info = tarfile.TarInfo(name)
            if name == "a.txt":
                info.type, info.linkname = kind, "/etc/passwd"
                file.addfile(info)
            else:
                info.size = 4
                file.addfile(info, io.BytesIO(b"good"))
    documents, reasons = read(path)
    assert documents == {"x.tar/good.txt": "good"}
    assert reasons == {"x.tar/a.txt": "link" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else "special"}


def test_a_symlink_in_a_zip(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as file:
        info = zipfile.ZipInfo("a.txt")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        file.writestr(info, "/etc/passwd")
    assert read(path) == ({}, {"x.zip/a.txt": "link"})


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_hidden_and_generated_members(tmp_path, kind):
    members = [(".git/config", b"x"), ("__MACOSX/a.txt", b"x"), ("node_modules/a.js", b"x"), ("./a.txt", b"good")]
    documents, reasons = read(archive(tmp_path, kind, members))
    assert list(documents.values()) == ["good"] and list(reasons.values()) == ["hidden", "generated", "generated"]


@pytest.mark.parametrize("kind", ["zip", "tgz", "tar.bz2", "tar.xz"])
def test_an_archive_bomb_is_refused_by_what_comes_out_of_it(tmp_path, kind):
    path = archive(tmp_path, kind, [(f"{i}.txt", bytes(2**20)) for i in range(40)])
    assert path.stat().st_size < 2**18
    documents, reasons = read(path)
    assert documents == {} and reasons[f"x.{kind}"] == "bomb"
    assert len(reasons) <= 1 + 17, "it was read on"


def test_a_zip_that_lies_about_its_sizes(tmp_path):
    path = archive(tmp_path, "zip", [("a.txt", b"x" * 2**21)])
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24:at + 28] = struct.pack("<I", 10)  # the size in the table of contents
    path.write_bytes(data)
    documents, reasons = read(path, Limits(file_bytes=2**20))
    assert documents == {} and reasons["x.zip/a.txt"] in ("too_large", "unreadable")


def test_too_many_entries(tmp_path):
    for kind in ("zip", "tar"):
        documents, reasons = read(archive(tmp_path, kind, [(f"{i}.txt", b"x") for i in range(5)]), Limits(entries=3))
        assert len(documents) <= 3 and reasons == {f"x.{kind}": "too_many_entries"}


def test_a_table_of_contents_that_would_fill_the_memory(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(b"PK\x03\x04" + bytes(100) + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 9, 9, 2**31, 0, 0))
    assert read(path) == ({}, {"x.zip": "too_many_entries"})


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_in_an_archive_is_skipped(tmp_path, kind):
    inner = archive(tmp_path, "zip", [("a.txt", b"inner")]).read_bytes()
    tgz = archive(tmp_path, "tgz", [("a.txt", b"inner")]).read_bytes()
    documents, reasons = read(archive(tmp_path, kind, [("in.zip", inner), ("in.txt", tgz), ("a.txt", b"outer")]))
    assert documents == {f"x.{kind}/a.txt": "outer"}
    assert reasons == {f"x.{kind}/in.zip": "nested", f"x.{kind}/in.txt": "nested"}


@pytest.mark.parametrize("data", [b"PK\x03\x04 nonsense", b"\x1f\x8b nonsense", b"BZh91AY&SY nonsense", b"\xfd7zXZ\0 nonsense",
                                  bytes(257) + b"ustar nonsense"])
def test_a_damaged_archive_is_skipped_and_the_rest_is_read(tmp_path, data):
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "x.zip").write_bytes(data)
    (folder / "y.txt").write_text("good")
    assert read(folder) == ({"c/y.txt": "good"}, {"c/x.zip": "bad_archive"})


def test_a_cut_off_archive_keeps_what_came_before(tmp_path):
    for kind, cut in (("tar", 20_000), ("tgz", 9000), ("zip", 9000)):
        path = archive(tmp_path, kind, [(f"{i}.txt", os.urandom(5000).hex().encode()) for i in range(9)])
        path.write_bytes(path.read_bytes()[:cut])
        documents, reasons = read(path)
        assert reasons == {f"x.{kind}": "bad_archive"} and len(documents) == {"tar": 1, "tgz": 0, "zip": 0}[kind], kind


def test_an_archive_counts_against_the_whole(tmp_path):
    path = archive(tmp_path, "zip", [(f"{i}.txt", b"ab" * 25_000) for i in range(5)])
    with pytest.raises(UserError, match="larger than"):
        read(path, Limits(total_bytes=200_000))


def test_an_encrypted_member(tmp_path):
    path = archive(tmp_path, "zip", [("a.txt", b"x" * 100)])
    data = bytearray(path.read_bytes())
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(sign) + place] |= 1
    path.write_bytes(data)
    assert read(path) == ({}, {"x.zip/a.txt": "encrypted"})


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_occur_twice_and_names_that_steer_a_terminal(tmp_path, kind):
    with pytest.warns(UserWarning) if kind == "zip" else pytest.MonkeyPatch.context():
        path = archive(tmp_path, kind, [("a.txt", b"one"), ("a.txt", b"two"), ("b\x1b[31m\n.txt", b"three")])
    assert read(path)[0] == {f"x.{kind}/a.txt": "one", f"x.{kind}/a (2).txt": "two", f"x.{kind}/b\\x1b[31m\\x0a.txt": "three"}


# --- at the same time ---------------------------------------------------------------


def test_two_builds_of_one_name(corpus_folder, tokenizer, stores):
    """The second to end loses, whole: also where it looked for the name before the first was there."""
    inside = threading.Barrier(2, timeout=120)
    results = []

    def build():
        waited = []

        def progress(stage, fraction):
            if stage == "sort" and not waited:
                waited.append(True)
                inside.wait()

        try:
            build_store(files_corpus([corpus_folder]), "mine", tokenizer, progress=progress)
            results.append("built")
        except Exception as error:
            results.append(getattr(error, "key", repr(error)))

    threads = [threading.Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["built", "datastore.name_taken"]
    open_store("mine", tokenizer).verify()
    assert os.listdir(stores) == ["mine"]


def test_a_store_in_use_may_be_deleted_renamed_replaced_and_grown(corpus_folder, tokenizer):
    def whole(store):
        match = longest_match(store, tokenizer("for i in", add_special_tokens=False).input_ids, 8, 1)
        assert match.hits == 6 and len(heaviest_nodes(store, match, 4, 8).tree().tokens)
        assert [store.document_name(i) for i in range(3)] == ["corpus/loops.py", "corpus/页面.md", "corpus/sub/words.txt"]

    build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    opened = [open_store("mine")]
    grow_store(files_corpus([corpus_folder / "loops.py"]), "mine", tokenizer)
    rename_store("mine", "other")
    build_store(files_corpus([corpus_folder / "loops.py"]), "other", tokenizer, replace=True)
    delete_store("other")
    for store in opened:
        whole(store)
    assert names() == []


def test_a_store_that_grows_is_neither_deleted_nor_renamed_replaced_or_grown_twice(corpus_folder, tokenizer):
    build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    refused = []

    def meanwhile(stage, fraction):
        if stage != "sort" or refused:
            return
        for act in (lambda: delete_store("mine"), lambda: rename_store("mine", "other"),
                    lambda: grow_store(files_corpus([corpus_folder]), "mine", tokenizer),
                    lambda: build_store(files_corpus([corpus_folder]), "mine", tokenizer, replace=True)):
            with pytest.raises(StoreError) as error:
                act()
            refused.append(error.value.key)

    grow_store(files_corpus([corpus_folder]), "mine", tokenizer, progress=meanwhile)
    assert refused == ["store.busy"] * 4
    open_store("mine").verify()
    delete_store("mine")
    assert names() == [] and writer.datastores_folder().is_dir()
