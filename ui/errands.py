"""Errands: work that takes a while and needs no device, off the event loop; started, asked about, cancelled.

No gradio. What needs the device is a ``Job`` of ``runs.py``.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from spec_core.messages import UserError
from spec_core.models import Cancelled, IsCancelled, Progress

from .job import sentence

log = logging.getLogger(__name__)

Work = Callable[[Progress, IsCancelled], Any]


class Errand:
    """One piece of work.

    Args:
        work: (progress, cancelled) → a JSON-ready result.
        waiting: the stage shown before it begins, a key of the catalogue.
        patience: seconds without a question after which nobody waits for it any more and
            it is cancelled; None: it is done whoever asks.
    """

    def __init__(self, work: Work, waiting: str, patience: float | None) -> None:
        self.id = secrets.token_urlsafe(12)
        """A secret of who started it."""
        self._work, self._patience = work, patience
        self._asked = time.monotonic()
        self._cancel = threading.Event()
        self._said: dict[str, Any] = {"state": "running", "stage": waiting, "fraction": None}

    @property
    def over(self) -> bool:
        """Whether it is done, failed or cancelled."""
        return self._said["state"] != "running"

    def look(self) -> dict[str, Any]:
        """``state`` (running, done, failed, cancelled), with ``stage`` and ``fraction``, ``result`` or ``problem``."""
        self._asked = time.monotonic()
        return {"state": "cancelled"} if self._cancel.is_set() and not self.over else self._said

    def cancel(self) -> None:
        """It counts as cancelled at once, and ends at its next report."""
        self._cancel.set()

    def run(self) -> None:
        """Do the work; called once, in a worker thread."""
        try:
            if self._is_cancelled():
                raise Cancelled
            result = self._work(self._report, self._is_cancelled)
            self._said = {"state": "done", "result": result}
        except Cancelled:
            self._said = {"state": "cancelled"}
        except UserError as error:
            self._said = {"state": "failed", "problem": sentence(error)}
        except Exception:
            log.exception("an errand failed")
            self._said = {"state": "failed", "problem": sentence(UserError("explore.failed"))}

    def _report(self, stage: str, fraction: float | None) -> None:
        self._said = {"state": "running", "stage": stage, "fraction": fraction}

    def _is_cancelled(self) -> bool:
        left = self._patience is not None and time.monotonic() - self._asked > self._patience
        return left or self._cancel.is_set()


class Errands:
    """Errands of one kind, one after the other.

    Args:
        waiting: the stage of an errand that has not begun, a key of the catalogue.
        most: how many may wait or run.
        kept: how many that are over are remembered, for who asks late.
        patience: see ``Errand``.
    """

    def __init__(self, waiting: str, most: int = 8, kept: int = 16, patience: float | None = 30.0) -> None:
        self._waiting, self._most, self._kept, self._patience = waiting, most, kept, patience
        self._errands: dict[str, Errand] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="errand")

    def start(self, work: Work, key: str | None = None) -> str:
        """Begin, or wait for the turn; returns the errand's id. With a ``key``, an unfinished errand of that key is joined.

        Raises:
            UserError: too many wait.
        """
        with self._lock:
            under_way = [errand for errand in self._errands.values() if not errand.over]
            if key is not None and key in self._errands and not self._errands[key].over:
                return key
            if len(under_way) >= self._most:
                raise UserError("explore.busy")
            errand = Errand(work, self._waiting, self._patience)
            if key is not None:
                errand.id = key
            for old in [known for known, errand in self._errands.items() if errand.over][:-self._kept]:
                del self._errands[old]
            self._errands[errand.id] = errand
        self._pool.submit(errand.run)
        return errand.id

    def get(self, errand: str) -> Errand | None:
        """The errand of an id."""
        return self._errands.get(errand)
