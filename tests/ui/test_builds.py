"""The build queue and the uploads: one after the other, whole or not at all, and no file stays behind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from spec_core.datastore.format import names
from spec_core.datastore.ingest import Limits
from spec_core.datastore.store import open_store
from spec_core.messages import UserError
from ui.builds import Build, Builds, Order
from ui.uploads import Part, Upload, Uploads

TEXT = b"the cat sat on the mat and the cat ran " * 50


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "stores"
    monkeypatch.setenv("SPECLAB_DATASTORES", str(folder))
    return folder


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    words = {word: i for i, word in enumerate(["<unk>", *"the cat sat on mat and ran more".split()])}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made)


class Gate:
    """A loader of tokenizers that can be made to wait: the build stands still meanwhile."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer, self.open = tokenizer, threading.Event()
        self.open.set()

    def __call__(self, name: str, progress: Callable[..., None], cancelled: Callable[[], bool]) -> PreTrainedTokenizerFast:
        while not self.open.wait(0.01):
            if cancelled():
                raise InterruptedError
        if name == "broken":
            raise RuntimeError("secret path /home/somebody")
        if name == "unknown":
            raise UserError("model.unknown", name=name, known="")
        return self.tokenizer


@pytest.fixture
def gate(tokenizer: PreTrainedTokenizerFast) -> Gate:
    return Gate(tokenizer)


@pytest.fixture
def uploads(stores: Path) -> Uploads:
    return Uploads(Limits(total_bytes=10**6, file_bytes=10**5, entries=5))


@pytest.fixture
def builds(uploads: Uploads, gate: Gate) -> Builds:
    return Builds(uploads, gate)


def brought(uploads: Uploads, data: bytes = TEXT, name: str = "a.txt") -> Upload:
    upload = uploads.open()
    upload.add([Part(0, name, 0, data)])
    return upload


def over(build: Build) -> Build:
    for _ in range(3000):
        if build.over and build.upload.users == 0:
            return build
        time.sleep(0.01)
    raise AssertionError(f"the build is still {build.state}")


def order(name: str = "mine", target: str = "small", **more: object) -> Order:
    return Order(name, target, **more)  # type: ignore[arg-type]


def test_a_build_is_built_and_its_files_are_gone(uploads: Uploads, builds: Builds, stores: Path):
    upload = brought(uploads)
    assert os.listdir(stores) == [upload.folder.name] and upload.folder.name.startswith(".")
    assert oct(upload.folder.stat().st_mode & 0o777) == "0o700"
    version = builds.board.version
    build = over(builds.start(order(), upload.id))
    assert build.state == "finished" and build.status()["report"]["documents"] == 1
    assert builds.board.version > version
    assert names() == os.listdir(stores) == ["mine"]
    assert open_store("mine").manifest.source == "a.txt"
    with pytest.raises(UserError, match="does not have these files"):
        uploads.get(upload.id)


def test_builds_wait_in_line_and_tell_their_places(uploads: Uploads, builds: Builds, gate: Gate):
    gate.open.clear()
    waiting = [builds.start(order(f"s{i}"), brought(uploads).id) for i in range(3)]
    while waiting[0].state == "queued":
        time.sleep(0.01)
    assert [build.status()["queue_position"] for build in waiting] == [None, 1, 2]
    builds.cancel(waiting[1].id, "a guess")
    assert waiting[1].state == "queued"
    builds.cancel(waiting[1].id, waiting[1].key)
    assert waiting[1].state == "stopped" and waiting[2].queue_position == 1
    assert not waiting[1].upload.folder.exists()
    gate.open.set()
    assert over(waiting[0]).state == over(waiting[2]).state == "finished"
    assert names() == ["s0", "s2"]


@pytest.mark.parametrize("stage", ["read", "tokenise", "sort"])
def test_a_build_under_way_is_cancelled_and_nothing_is_left(uploads: Uploads, builds: Builds, stores: Path, stage: str,
                                                            monkeypatch: pytest.MonkeyPatch):
    real = Build.advance

    def advance(self: Build, now: str, fraction: float | None) -> None:
        real(self, now, fraction)
        if now == stage:
            builds.cancel(self.id, self.key)

    monkeypatch.setattr(Build, "advance", advance)
    assert over(builds.start(order(), brought(uploads).id)).state == "stopped"
    assert os.listdir(stores) == []


@pytest.mark.parametrize(("target", "data", "key"), [
    ("broken", TEXT, "studio.failed"), ("unknown", TEXT, "model.unknown"), ("small", b"\0", "datastore.nothing_to_build")])
def test_a_build_that_fails_says_why_and_leaves_nothing(uploads: Uploads, builds: Builds, stores: Path, target: str,
                                                        data: bytes, key: str):
    build = over(builds.start(order(target=target), brought(uploads, data).id))
    status = build.status()
    assert status["state"] == "error" and status["error"]["key"] == key and "secret" not in str(status)
    assert os.listdir(stores) == []
    assert over(builds.start(order(), brought(uploads).id)).state == "finished", "the next one is built"


def test_names_are_judged_before_the_wait(uploads: Uploads, builds: Builds, gate: Gate):
    over(builds.start(order("taken"), brought(uploads).id))
    gate.open.clear()
    first = builds.start(order("mine"), brought(uploads).id)
    upload = brought(uploads)
    for wanted, key in ((order("mine"), "studio.name_in_line"), (order("taken"), "studio.name_taken"),
                        (order("MINE"), "studio.name_in_line"), (order("Taken"), "datastore.name_case"), (order("con"), "datastore.reserved_name"),
                        (order("../up"), "datastore.bad_name"), (order("x", target=" "), "run.no_target"),
                        (order("none", grow=True), "datastore.unknown"), (order("mine", grow=True), "datastore.unknown")):
        with pytest.raises(UserError) as error:
            builds.start(wanted, upload.id)
        assert error.value.key == key
    assert builds.busy_with("mine") and not builds.busy_with("taken")
    gate.open.set()
    assert over(first).state == "finished"
    assert uploads.get(upload.id) is upload, "what was refused may be tried again"


def test_a_name_that_is_taken_meanwhile(uploads: Uploads, builds: Builds, gate: Gate, stores: Path):
    gate.open.clear()
    build = builds.start(order("mine"), brought(uploads).id)
    (stores / "mine").mkdir()
    gate.open.set()
    assert over(build).error.key == "studio.name_taken"


def test_terms_that_are_not_accepted_say_where_that_is_done(uploads: Uploads):
    def load(*_: object) -> None:
        raise UserError("model.terms", name="x", terms="https://example.org")

    error = over(Builds(uploads, load).start(order(), brought(uploads).id)).error
    assert error.key == "studio.terms" and "example.org" in str(error) and "--" not in str(error)


def test_growing_through_the_queue(uploads: Uploads, builds: Builds):
    over(builds.start(order(), brought(uploads).id))
    build = over(builds.start(order(grow=True), brought(uploads, b"more cat", "more.txt").id))
    assert build.state == "finished" and build.status()["report"]["documents"] == 1
    assert open_store("mine").manifest.documents == 2


def test_progress_gives_rate_and_time_left(uploads: Uploads, builds: Builds, monkeypatch: pytest.MonkeyPatch):
    seen = []
    real = Build.advance
    monkeypatch.setattr(Build, "advance", lambda self, stage, fraction: (real(self, stage, fraction), seen.append(self.status())))
    over(builds.start(order(), brought(uploads).id))
    stages = list(dict.fromkeys(status["stage"] for status in seen))
    assert stages == [f"datastore.stage.{stage}" for stage in ("read", "tokenise", "sort", "write")]
    shares = [status["share"] for status in seen]
    assert shares == sorted(shares) and all(0 <= share <= 1 for share in shares)
    assert all(status["left"] >= 0 for status in seen if status["left"] is not None)
    assert any(status["rate"] for status in seen)


# --- uploads ------------------------------------------------------------------------


def test_parts_follow_each_other(uploads: Uploads):
    upload = uploads.open()
    upload.add([Part(0, "a.txt", 0, b"one "), Part(1, "b/c.txt", 0, b"x"), Part(0, "a.txt", 4, b"two")])
    assert [(d.name, d.text) for d in upload.corpus(uploads.limits)] == [("a.txt", "one two"), ("b/c.txt", "x")]
    for part in (Part(0, "a.txt", 3, b"x"), Part(0, "a.txt", 0, b"x"), Part(9, "z", 5, b"x")):
        with pytest.raises(UserError, match="bring them again"):
            upload.add([part])
    upload.remove([0])
    assert [d.name for d in upload.corpus(uploads.limits)] == ["b/c.txt"]
    upload.remove([1])
    with pytest.raises(UserError, match="no files yet"):
        upload.corpus(uploads.limits)


def test_limits_of_an_upload(uploads: Uploads):
    upload = uploads.open()
    with pytest.raises(UserError, match="larger than"):
        upload.add([Part(0, "a", 0, bytes(600_000)), Part(1, "b", 0, bytes(600_000))])
    with pytest.raises(UserError, match="More than 5 files"):
        upload.add([Part(i, f"{i}", 0, b"x") for i in range(1, 9)])
    store = uploads.open(store=True)
    store.add([Part(0, "a.tar", 0, bytes(2_000_000))])
    with pytest.raises(UserError, match="More than 1 files"):
        store.add([Part(1, "b.tar", 0, b"x")])


@pytest.mark.parametrize("name", ["../../evil.txt", "/etc/evil.txt", "a\\..\\evil.txt", ".hidden", "x/node_modules/a.js", "a\0b"])
def test_a_name_is_never_a_path(uploads: Uploads, stores: Path, name: str):
    upload = brought(uploads, b"evil", name)
    assert {path.name for path in stores.rglob("*") if path.is_file()} == {".lock", "0"}
    (skipped,) = upload.corpus(uploads.limits).skipped
    assert skipped.reason in ("unsafe_path", "hidden", "generated")


def test_forgotten_and_abandoned_uploads_leave_the_disk(uploads: Uploads, stores: Path, monkeypatch: pytest.MonkeyPatch):
    first, second, used = brought(uploads), brought(uploads), brought(uploads)
    uploads.drop(first.id)
    uploads.take(used.id)
    uploads.drop(used.id)
    assert {path.name for path in stores.iterdir()} == {second.folder.name, used.folder.name}
    uploads.give_back(used, drop=False)
    assert not used.folder.exists()
    later = time.monotonic() + 7200
    monkeypatch.setattr("ui.uploads.time.monotonic", lambda: later)
    third = uploads.open()
    assert {path.name for path in stores.iterdir()} == {third.folder.name}


def test_what_a_killed_server_left_is_cleared_and_what_lives_stays(uploads: Uploads, stores: Path):
    alive = brought(uploads)
    (stores / ".upload-dead").mkdir()
    (stores / ".upload-dead" / ".lock").touch()
    (stores / ".upload-dead" / "0").write_text("somebody's text")
    Uploads()
    assert {path.name for path in stores.iterdir()} == {alive.folder.name}


def test_too_many_uploads(uploads: Uploads):
    for _ in range(16):
        uploads.open()
    with pytest.raises(UserError, match="Too much"):
        uploads.open()


def test_a_full_disk_is_a_sentence(uploads: Uploads, monkeypatch: pytest.MonkeyPatch):
    upload = uploads.open()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(UserError, match="No space left"):
        upload.add([Part(0, "a", 0, b"x")])
