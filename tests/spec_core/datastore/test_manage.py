"""Built stores: listed, renamed, deleted, verified, grown, and carried elsewhere."""

import errno
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import numpy as np
import pytest
from datastore_reference import TEXTS, breadth_first, brute_match, brute_trie
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spec_core.datastore import writer
from spec_core.datastore.build import build_store, grow_store
from spec_core.datastore.corpus import Document, files_corpus
from spec_core.datastore.format import FILES, MANIFEST, StoreError, names
from spec_core.datastore.index import longest_match
from spec_core.datastore.manage import (delete_store, export_store, import_store, listed, rename_store, verify_store)
from spec_core.datastore.store import open_store
from spec_core.datastore.trie import heaviest_nodes
from spec_core.models import Cancelled

HOUSE = Path(__file__).resolve().parents[3]


class Texts:
    """Documents from memory."""

    description, skipped = "memory", []

    def __init__(self, texts):
        self.texts, self.size = texts, sum(map(len, texts))

    def __iter__(self):
        return (Document(f"d{i}", text, len(text)) for i, text in enumerate(self.texts))


@pytest.fixture
def built(corpus_folder, tokenizer):
    build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    return open_store("mine")


def state(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name in (MANIFEST, *FILES)}


def test_list_tells_what_each_store_is(built, stores, tokenizer):
    build_store(Texts(["other"]), "broken", tokenizer)
    (stores / "broken" / MANIFEST).write_text("{")
    broken, mine = listed()
    assert (broken.name, broken.manifest) == ("broken", None) and "damaged" in str(broken.problem)
    assert mine.manifest == built.manifest and mine.problem is None
    assert mine.bytes == sum((stores / "mine" / file).stat().st_size for file in FILES)
    delete_store("broken")
    assert names() == ["mine"]


def test_the_tokenizers_name_is_kept(corpus_folder, tokenizer):
    tokenizer.name_or_path = "/somewhere/private/smollm2-135m/"
    try:
        build_store(files_corpus([corpus_folder]), "mine", tokenizer)
    finally:
        tokenizer.name_or_path = ""
    assert open_store("mine").manifest.tokenizer == "smollm2-135m"


def test_a_store_of_before_has_no_tokenizers_name(built):
    path = built.folder / MANIFEST
    data = json.loads(path.read_text())
    del data["tokenizer"]
    path.write_text(json.dumps(data))
    assert open_store("mine").manifest.tokenizer == ""


def test_rename_and_delete(built, stores, tokenizer):
    rename_store("mine", "yours")
    assert names() == os.listdir(stores) == ["yours"] and open_store("yours").token_count == built.token_count
    build_store(Texts(["other"]), "mine", tokenizer)
    for act, key in ((lambda: rename_store("yours", "mine"), "datastore.name_taken"),
                     (lambda: rename_store("yours", "../up"), "datastore.bad_name"),
                     (lambda: rename_store("none", "x"), "datastore.unknown"),
                     (lambda: delete_store("none"), "datastore.unknown"),
                     (lambda: delete_store("../stores/mine"), "datastore.bad_name"),
                     (lambda: export_store(".."), "datastore.bad_name")):
        with pytest.raises(StoreError) as error:
            act()
        assert error.value.key == key
    delete_store("yours")
    assert os.listdir(stores) == ["mine"]


@pytest.mark.parametrize(("name", "key"), [
    *((name, "datastore.reserved_name") for name in ("con", "CON", "prn", "Aux", "nul", "com1", "COM9", "lpt1", "nul.txt", "con .x", "com¹")),
    *((name, "datastore.name_case") for name in ("Mine", "MINE", "STRASSE")),
    *((name, None) for name in ("console", "com", "com10", "x con", "auxiliary.txt", "mine2"))])
def test_every_disk_can_keep_every_name(built, tmp_path, tokenizer, name, key):
    build_store(Texts(["street"]), "straße", tokenizer)
    build_store(Texts(["other"]), "other", tokenizer)
    path = exported(tmp_path)
    before = names()
    for act in (lambda: build_store(Texts(["x"]), name, tokenizer), lambda: rename_store("other", name),
                lambda: build_store(Texts(["x"]), name, tokenizer, replace=True), lambda: import_store(path, name)):
        if key is None:
            act()
            if name in names():
                delete_store(name)
            if "other" not in names():
                build_store(Texts(["other"]), "other", tokenizer)
            continue
        with pytest.raises(StoreError) as error:
            act()
        assert error.value.key == key
    assert names() == before


def test_a_store_may_change_the_case_of_its_own_name_and_an_old_one_keeps_its(built, stores):
    rename_store("mine", "Mine")
    assert names() == ["Mine"]
    os.rename(stores / "Mine", stores / "con")  # of a lab that did not mind
    assert [store.problem for store in listed()] == [None] and open_store("con")
    rename_store("con", "mine")
    assert names() == ["mine"]


def test_verify_finds_a_changed_byte(built):
    verify_store("mine")
    for file in FILES:
        path = built.folder / file
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with pytest.raises(StoreError, match="checksum differs"):
            verify_store("mine")
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    verify_store("mine")


# --- growing ------------------------------------------------------------------------


def test_growing_adds_shards_and_keeps_the_old_ones(built, tmp_path, tokenizer):
    before = state(built.folder)
    (tmp_path / "new.txt").write_text("for i in mats: the cat sat\n")
    report = grow_store(files_corpus([tmp_path / "new.txt"]), "mine", tokenizer)
    grown = open_store("mine", tokenizer)
    assert (report.documents, report.tokens) == (1, grown.token_count - built.token_count)
    assert grown.manifest.shards[:1] == built.manifest.shards and len(grown.manifest.shards) == 2
    assert grown.manifest.source == "corpus, new.txt" and grown.manifest.created == built.manifest.created
    for file in FILES:
        assert (grown.folder / file).read_bytes().startswith(before[file])
    assert [grown.document_name(i) for i in range(4)] == ["corpus/loops.py", "corpus/页面.md", "corpus/sub/words.txt", "new.txt"]
    last = int(grown.document_starts[3])
    assert tokenizer.decode(grown.tokens[last:-1].tolist()) == "for i in mats: the cat sat\n"
    verify_store("mine")


ALPHABET = st.text(alphabet="ab \n", min_size=1, max_size=20)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lots=st.lists(st.lists(ALPHABET, min_size=1, max_size=4), min_size=2, max_size=4), context=ALPHABET)
def test_retrieval_from_a_grown_store_is_exact(lots, context, tokenizer):
    check_growing(lots, context, tokenizer)


def test_retrieval_from_a_grown_store_of_wide_tokens_is_exact(wide_tokenizer):
    check_growing([["w1 w2 w69999 w1", "w2 w69999"], ["w3 w2 w69999 w69999", "w1 w2 w65535"], ["w2 w69999 w1 w2"]],
                  "w1 w2 w69999", wide_tokenizer)


def check_growing(lots, context, tokenizer):
    """A store that grows lot by lot answers as brute force does."""
    build_store(Texts(lots[0]), "grown", tokenizer, replace=True)
    for lot in lots[1:]:
        grow_store(Texts(lot), "grown", tokenizer, max_shard_tokens=20)
    store = open_store("grown", tokenizer)
    encode = lambda text: tokenizer(text, add_special_tokens=False).input_ids  # noqa: E731
    documents, query = [encode(text) for lot in lots for text in lot], encode(context)
    match = longest_match(store, query, 16, 1)
    length, continuations = brute_match(documents, query, 16, 1)
    assert (match.length, match.hits) == (length, len(continuations))
    if length:
        picked = brute_trie(continuations, 5, 16)
        assert weight_by_path(heaviest_nodes(store, match, 5, 16)) == dict(breadth_first(picked))


def weight_by_path(trie):
    """Weight by path of the selected nodes."""
    tree, paths = trie.tree(), []
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        paths.append(((*paths[parent], token) if parent >= 0 else (token,)))
    return dict(zip(paths, trie.weights[:len(paths)], strict=True))


def test_a_store_grows_with_its_own_tokenizer_only(built, other_tokenizer):
    before = state(built.folder)
    with pytest.raises(StoreError, match="another tokenizer"):
        grow_store(Texts(["x"]), "mine", other_tokenizer)
    with pytest.raises(StoreError, match="no datastore"):
        grow_store(Texts(["x"]), "none", other_tokenizer)
    assert state(built.folder) == before and names() == ["mine"]


@pytest.mark.parametrize("trouble", ["cancel", "disk", "nothing", "manifest"])
def test_growing_in_vain_leaves_the_store_as_it_was(built, tokenizer, trouble, monkeypatch):
    before, reached = state(built.folder), []
    real = writer.SegmentWriter.append

    def append(self, name, data):
        if name == "suffixes.bin":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, name, data)

    def refuse(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if trouble == "disk":
        monkeypatch.setattr(writer.SegmentWriter, "append", append)
    if trouble == "manifest":
        monkeypatch.setattr(writer.Manifest, "write", refuse)
    with pytest.raises(Cancelled if trouble == "cancel" else StoreError):
        grow_store(Texts([] if trouble == "nothing" else ["some text"]), "mine", tokenizer,
                   progress=lambda stage, fraction: reached.append(stage),
                   cancelled=lambda: trouble == "cancel" and "sort" in reached)
    monkeypatch.undo()
    os.environ["SPECLAB_DATASTORES"] = str(built.folder.parent)
    try:
        assert state(built.folder) == before
        verify_store("mine")
        grow_store(Texts(["some text"]), "mine", tokenizer)
        assert verify_store("mine").manifest.documents == 4
    finally:
        del os.environ["SPECLAB_DATASTORES"]


def test_a_kill_while_growing_leaves_the_store_as_it_was(built, tokenizer, tmp_path):
    tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
        import sys, time
        from tokenizers import Tokenizer
        from spec_core.datastore import writer
        from spec_core.datastore.build import grow_store
        from spec_core.datastore.corpus import files_corpus

        class Fast:
            backend_tokenizer = Tokenizer.from_file(sys.argv[1])

        def write(self, folder, name):
            print("writing", flush=True)
            time.sleep(60)

        writer.Manifest.write = write
        grow_store(files_corpus([sys.argv[2]]), "mine", Fast())
    """), tmp_path / "tokenizer.json", tmp_path / "corpus"], cwd=HOUSE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "writing\n"
        with pytest.raises(StoreError, match="being changed"):
            grow_store(Texts(["x"]), "mine", tokenizer)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert (built.folder / "tokens.bin").stat().st_size > built.manifest.bytes("tokens.bin")
    assert verify_store("mine").token_count == built.token_count
    grow_store(Texts(["short"]), "mine", tokenizer)
    grown = verify_store("mine")
    assert grown.manifest.documents == 4 and grown.document_name(3) == "d0"


def test_a_long_document_in_parts_gives_the_tokens_of_the_whole(tokenizer, monkeypatch):
    from spec_core.datastore import shards

    text = "".join(TEXTS.values()) * 3
    monkeypatch.setattr(shards, "PART_CHARACTERS", 64)
    monkeypatch.setattr(shards, "BATCH_BYTES", 100)
    build_store(Texts([text, "short"]), "parts", tokenizer)
    store = open_store("parts")
    ids = store.tokens[:int(store.document_starts[1]) - 1].tolist()
    assert tokenizer.decode(ids) == text and store.manifest.documents == 2
    assert abs(len(ids) - len(tokenizer(text, add_special_tokens=False).input_ids)) <= len(text) // 32


# --- carried elsewhere --------------------------------------------------------------


def exported(folder, name="mine"):
    export = export_store(name)
    data = b"".join(export.blocks)
    assert len(data) == export.size and export.filename == f"{name}.tar"
    path = folder / export.filename
    path.write_bytes(data)
    return path


def repacked(path, change):
    """The tar with its members, name → bytes, changed."""
    with tarfile.open(path) as file:
        members = {m.name: file.extractfile(m).read() for m in file}
    with tarfile.open(path, "w") as file:
        for name, data in change(members).items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return path


def test_a_store_travels(built, tmp_path, tokenizer):
    grow_store(Texts(["more"]), "mine", tokenizer)
    with (built.folder / "tokens.bin").open("ab") as file:
        file.write(b"what a crash left")
    before = open_store("mine")
    tokens = before.tokens.copy()
    path = exported(tmp_path)
    with tarfile.open(path) as file:
        assert [m.name for m in file] == [f"mine/{file}" for file in (MANIFEST, *FILES)]
    with pytest.raises(StoreError, match="exists already"):
        import_store(path)
    assert import_store(path, "copy").manifest == before.manifest
    delete_store("mine")
    store = import_store(path)
    assert store.name == "mine" and np.array_equal(store.tokens, tokens) and names() == ["copy", "mine"]


def test_an_export_goes_on_while_the_store_is_deleted(built, tmp_path):
    export = export_store("mine")
    first = next(export.blocks)
    delete_store("mine")
    (tmp_path / "x.tar").write_bytes(first + b"".join(export.blocks))
    assert import_store(tmp_path / "x.tar").token_count == built.token_count


def without(file):
    return lambda members: {name: data for name, data in members.items() if not name.endswith(file)}


def edited(file, edit):
    return lambda members: {name: edit(data) if name.endswith(file) else data for name, data in members.items()}


def flipped(data):
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(("change", "key"), [
    *[(without(file), "store.not_one") for file in (MANIFEST, *FILES)],
    *[(edited(file, flipped), "datastore.damaged") for file in FILES],
    *[(edited(file, lambda data: data[:-8]), "datastore.damaged") for file in FILES],
    *[(edited(file, lambda data: data + b"more"), "datastore.damaged") for file in FILES],
    (edited(MANIFEST, lambda data: b"{"), "datastore.damaged"),
    (edited(MANIFEST, lambda data: b"[" * 10**6), "datastore.damaged"),
    (edited(MANIFEST, lambda data: data.replace(b'"version": 1', b'"version": 9')), "datastore.newer"),
    (edited(MANIFEST, lambda data: data.replace(b'"vocabulary": ', b'"vocabulary": 1, "x": ')), "datastore.ids"),
    (edited(MANIFEST, lambda data: re.sub(rb'"names.txt": \d+', b'"names.txt": 0', data)), "datastore.damaged"),
    (lambda members: members | {"mine/evil.py": b"x"}, "store.not_one"),
    (lambda members: members | {"other/tokens.bin": b"x"}, "store.not_one"),
    (lambda members: {}, "store.not_one"),
    (lambda members: {name.removeprefix("mine/"): data for name, data in members.items()}, "store.not_one"),
])
def test_a_store_from_elsewhere_is_hostile_until_it_is_read(built, tmp_path, stores, change, key):
    path = repacked(exported(tmp_path), change)
    delete_store("mine")
    with pytest.raises(StoreError) as error:
        import_store(path)
    assert error.value.key == key and ".building" not in str(error.value)
    assert os.listdir(stores) == []


def test_a_path_in_the_tar_is_never_followed(built, tmp_path, stores):
    path = repacked(exported(tmp_path), lambda members: {f"../../{name}": data for name, data in members.items()})
    outside = set(tmp_path.rglob("*"))
    import_store(path, "copy")
    assert {p for p in set(tmp_path.rglob("*")) - outside if stores not in p.parents} == set()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_tar_with_links_is_no_store(tmp_path, kind, stores):
    with tarfile.open(tmp_path / "x.tar", "w") as file:
        info = tarfile.TarInfo("x/tokens.bin")
        info.type, info.linkname = kind, "/etc/passwd"
        file.addfile(info)
    with pytest.raises(StoreError, match="no exported datastore"):
        import_store(tmp_path / "x.tar")


@pytest.mark.parametrize("data", [b"", b"nonsense" * 200, b"PK\x03\x04" * 200])
def test_a_file_that_is_no_tar(tmp_path, data):
    (tmp_path / "x.tar").write_bytes(data)
    with pytest.raises(StoreError, match="no exported datastore"):
        import_store(tmp_path / "x.tar")


def test_an_import_can_be_cancelled(built, tmp_path, stores):
    path = exported(tmp_path)
    with pytest.raises(Cancelled):
        import_store(path, "copy", cancelled=lambda: True)
    assert os.listdir(stores) == ["mine"]


def test_cutting_the_tar_anywhere_is_a_sentence(built, tmp_path, stores):
    path = exported(tmp_path)
    data = path.read_bytes()
    for end in range(0, len(data) - 3 * tarfile.BLOCKSIZE, 700):
        path.write_bytes(data[:end])
        with pytest.raises(StoreError):
            import_store(path, "copy")
    assert os.listdir(stores) == ["mine"]
