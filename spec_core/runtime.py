"""The machine: environment, threads, device and dtype. Import this before torch.

How OpenMP's threads wait is read once, when torch loads, so it is set here. Threads that
spin without end make a step 20 to 50 times slower on small shared machines; threads that
sleep at once wake so late that a second one gains nothing. So they spin for some
microseconds, and as many threads compute as there are processors that others leave free.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from functools import cache
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "50000")
os.environ.setdefault("KMP_BLOCKTIME", "0")  # the same wish in Intel's words
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("TQDM_DISABLE", "1")  # progress is shown by the lab itself

if TYPE_CHECKING:
    import torch

MOST_THREADS = 16
DTYPES = ("auto", "float32", "bfloat16")


def cpus() -> int:
    """Processors that this process may really use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


IMPORTING = threading.RLock()
"""Hold it while importing from ``transformers``: two threads that do so for the first time can find it half made."""


def prepare_torch() -> None:
    """Load the libraries, set threads and quieten them, once. Call it before anything that imports them in a thread."""
    with IMPORTING:
        _prepare_torch()


@cache
def _prepare_torch() -> None:
    import torch
    from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer, cache_utils  # noqa: F401
    from transformers.utils import logging

    torch.set_num_threads(min(cpus(), MOST_THREADS))
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def give_way() -> None:
    """Let other work of this machine go first: the browser and the server beside the thread that computes.

    Lowers the priority of the calling thread and of the threads that torch starts for it, on
    Linux; a machine with nothing else to do computes as fast as before.
    """
    if hasattr(os, "setpriority") and platform.system() == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


class ThreadGovernor:
    """Chooses how many threads compute: as many as there are processors that others leave free.

    A thread that must share its processor holds up all others at every layer. Reads the
    kernel's counters twice a second; where there are none, all processors are used.
    """

    INTERVAL = 0.5

    def __init__(self) -> None:
        self._most = min(cpus(), MOST_THREADS)
        self._seen = self._counters()

    def adjust(self) -> None:
        """Call before a step; does nothing most of the time."""
        if self._seen is None or time.monotonic() - self._seen[0] < self.INTERVAL:
            return
        now = self._counters()
        elapsed, busy, own = (new - old for new, old in zip(now, self._seen, strict=True))
        self._seen = now
        self._use(threads_beside((busy - own) / elapsed, os.cpu_count() or 1, self._most))

    @staticmethod
    def _use(threads: int) -> None:
        import torch

        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)

    @staticmethod
    def _counters() -> tuple[float, float, float] | None:
        """Seconds: of the clock, of all processors at work (steal included), of this process at work."""
        try:
            with open("/proc/stat") as file:
                ticks = [int(field) for field in file.readline().split()[1:9]]
        except (OSError, ValueError):
            return None
        idle = ticks[3] + ticks[4]
        return time.monotonic(), (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK"), time.process_time()


def threads_beside(busy: float, processors: int, most: int) -> int:
    """Threads to use when other work keeps ``busy`` of the processors busy: at least 1, at most ``most``."""
    return max(1, min(most, round(processors - busy)))


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

    return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()


def describe_machine() -> str:
    """One line for benchmark tables: processor, cores, torch, threads."""
    import torch

    prepare_torch()
    device = choose_device()
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor() or platform.machine()
    return f"{name}, {cpus()} cores, {torch.get_num_threads()} threads, torch {torch.__version__}, {device.type}"
