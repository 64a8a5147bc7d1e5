"""The machine: environment, threads, device and dtype. Import this before torch.

OpenMP threads that spin while they wait make a step 20 to 50 times slower on small
shared machines; the wait policy is read once, when torch loads, so it is set here.
"""

from __future__ import annotations

import os
import platform
import threading
from functools import cache
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("KMP_BLOCKTIME", "0")  # the same wish in Intel's words
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("TQDM_DISABLE", "1")  # progress is shown by the lab itself

if TYPE_CHECKING:
    import torch

DTYPES = ("auto", "float32", "bfloat16")


def cpus() -> int:
    """Processors that this process may really use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def prepare_torch() -> None:
    """Set threads and quieten the libraries, once."""
    import torch
    from transformers.utils import logging

    torch.set_num_threads(min(cpus(), 16))
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def give_way() -> None:
    """Let other work of this machine go first: the browser and the server beside the thread that computes.

    Lowers the priority of the calling thread and of the threads that torch starts for it, on
    Linux; a machine with nothing else to do computes as fast as before.
    """
    if hasattr(os, "setpriority") and platform.system() == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def choose_device() -> torch.device:
    """CUDA where there is one, then MPS, then the CPU."""
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """The dtype of a run. ``auto``: bfloat16 where the hardware multiplies it natively, else float32."""
    import torch

    if name != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[name]
    fast = torch.cuda.is_bf16_supported() if device.type == "cuda" else device.type == "cpu" and _cpu_has_bfloat16()
    return torch.bfloat16 if fast else torch.float32


@cache
def _cpu_has_bfloat16() -> bool:
    import torch

    return torch.cpu._is_amx_tile_supported()


def describe_machine() -> str:
    """One line for benchmark tables: processor, cores, torch, threads."""
    import torch

    prepare_torch()
    device = choose_device()
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor() or platform.machine()
    return f"{name}, {cpus()} cores, {torch.get_num_threads()} threads, torch {torch.__version__}, {device.type}"
