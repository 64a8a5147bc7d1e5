"""The builds of datastores: they wait in line, one is built at a time, and none needs its page to stay open.

No gradio. A build belongs to nobody's session; who started it has its key, and may cancel it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spec_core import models
from spec_core.datastore.build import BuildReport, build_store, grow_store
from spec_core.datastore.format import Manifest, new_store_folder, store_folder
from spec_core.datastore.ingest.chat import templated
from spec_core.datastore.shards import STAGES
from spec_core.messages import UserError
from spec_core.runtime import give_way

from .job import Job
from .runs import new_id
from .uploads import Upload, Uploads

log = logging.getLogger(__name__)

SHARES = dict(zip(STAGES, (0.02, 0.68, 0.25, 0.05), strict=True))
"""Of the time of a build; for the time left, which is about."""
IN_FORM = {"datastore.name_taken": "studio.name_taken", "model.terms": "studio.terms"}
"""Messages of the core, and those that say what to do on the page."""
KEPT = 32
MOST_WAITING = 16


@dataclass(frozen=True)
class Order:
    """What to build.

    Args:
        name: of the store.
        target: whose tokenizer is used.
        chat: write chats with the target's template.
        field: of record files, what to read; empty: each file's own choice.
        grow: add to the store of that name.
    """

    name: str
    target: str
    chat: bool = False
    field: str = ""
    grow: bool = False


class Build(Job):
    """One build as every page sees it.

    Args:
        order: what to build.
        upload: of what.
        board: is told of every change.
    """

    def __init__(self, order: Order, upload: Upload, board: Job) -> None:
        super().__init__(new_id())
        self.order, self.upload = order, upload
        self.report: BuildReport | None = None
        self.bytes = 0
        """Of the corpus, known once it is gathered."""
        self._board = board
        self._begun = self._stage_begun = time.monotonic()

    def wake(self) -> None:
        """Tell who waits for news of any build."""
        super().wake()
        self._board.wake()

    def begin(self) -> None:
        """The clock runs from here."""
        self._begun = self._stage_begun = time.monotonic()
        self.set(state="running", queue_position=None)

    def advance(self, stage: str, fraction: float | None) -> None:
        """Progress of ``build_store``."""
        key = f"datastore.stage.{stage}"
        if key != self.stage:
            self._stage_begun = time.monotonic()
        self.progress(key, fraction)

    def status(self) -> dict[str, Any]:
        """The build's state, JSON-ready; ``rate`` in bytes of the corpus a second, ``left`` in seconds."""
        now, share = time.monotonic(), self._share()
        rate = left = None
        if share is not None and share > 0.05:
            left = (now - self._begun) * (1 - share) / share
            rate = self.bytes * (self.fraction or 0) / max(now - self._stage_begun, 0.1)
        report = self.report
        return super().status() | {
            "id": self.id, "name": self.order.name, "grow": self.order.grow, "share": share, "rate": rate or None,
            "left": left, "report": None if report is None else {
                "documents": report.documents, "tokens": report.tokens, "skipped": len(report.skipped),
                "seconds": sum(report.seconds.values())}}

    def _share(self) -> float | None:
        stage = (self.stage or "").rpartition(".")[2]
        if self.state != "running" or stage not in SHARES:
            return None
        before = sum(share for name, share in SHARES.items() if STAGES.index(name) < STAGES.index(stage))
        return before + SHARES[stage] * (self.fraction or 0)


class Builds:
    """All builds of this server, and a bell for every change of the stores.

    Args:
        uploads: what they are built from.
        load_tokenizer: as ``models.load_tokenizer``.
    """

    def __init__(self, uploads: Uploads, load_tokenizer: Callable[..., Any] = models.load_tokenizer) -> None:
        self.board = Job("builds")
        """Its version grows with every change; see ``Job.changed``."""
        self._uploads, self._load_tokenizer = uploads, load_tokenizer
        self._builds: dict[str, Build] = {}
        self._queue: deque[Build] = deque()
        self._wake = threading.Condition()
        self._worker: threading.Thread | None = None

    def start(self, order: Order, upload: str) -> Build:
        """Put a build in line; the upload belongs to it from now on.

        Raises:
            UserError: a bad or taken name, no target, no files, or the line is full.
        """
        folder = (store_folder if order.grow else new_store_folder)(order.name)
        if not order.target.strip():
            raise UserError("run.no_target")
        if order.grow:
            Manifest.read(folder)
        with self._wake:
            if self.busy_with(order.name):
                raise UserError("studio.name_in_line", name=order.name)
            if folder.exists() and not order.grow:
                raise UserError("studio.name_taken", name=order.name)
            if len(self._queue) >= MOST_WAITING:
                raise UserError("studio.busy")
            self._uploads.get(upload).corpus(self._uploads.limits)  # raises where there is nothing
            taken = self._uploads.take(upload, for_good=True)
            build = Build(order, taken, self.board)
            self._builds[build.id] = build
            self._queue.append(build)
            self._forget_old()
            self._number()
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="builds", daemon=True)
                self._worker.start()
            self._wake.notify_all()
        self.board.wake()
        return build

    def cancel(self, build_id: str, key: str) -> None:
        """Stop a build; nothing is left of it. Others than who started it change nothing."""
        build = self._builds.get(build_id)
        if build is None or key != build.key or build.over:
            return
        with self._wake:
            build.stop_wanted = True
            waiting = build in self._queue
            if waiting:
                self._queue.remove(build)
                build.set(state="stopped", queue_position=None)
                self._number()
        if waiting:
            self._uploads.give_back(build.upload, drop=True)

    def busy_with(self, name: str) -> bool:
        """A build for the store of that name, or of one that differs in case only, waits or is under way."""
        return any(build.order.name.casefold() == name.casefold() and not build.over for build in list(self._builds.values()))

    def statuses(self) -> list[dict[str, Any]]:
        """All builds that are kept, the oldest first."""
        return [build.status() for build in list(self._builds.values())]

    def _work(self) -> None:
        give_way()
        while True:
            with self._wake:
                while not self._queue:
                    self._wake.wait()
                build = self._queue.popleft()
                build.begin()
                self._number()
            try:
                self._build(build)
                ended: dict[str, Any] = {"state": "finished"}
            except Exception as error:
                ended = self._why(build, error)
            try:
                self._uploads.give_back(build.upload, drop=True)
            finally:
                build.set(**ended, stage=None, fraction=None)

    def _build(self, build: Build) -> None:
        order = build.order
        wanted = {"progress": build.advance, "cancelled": lambda: build.stop_wanted}
        tokenizer = self._load_tokenizer(order.target, build.progress, wanted["cancelled"])
        corpus = build.upload.corpus(self._uploads.limits, order.field)
        build.bytes = corpus.size
        if order.chat:
            corpus.render = templated(tokenizer, order.target)
        build.report = (grow_store if order.grow else build_store)(corpus, order.name, tokenizer, **wanted)

    def _why(self, build: Build, error: Exception) -> dict[str, Any]:
        if build.stop_wanted:  # whatever was raised on being cancelled
            return {"state": "stopped"}
        if isinstance(error, UserError):
            there = IN_FORM.get(error.key)
            return {"state": "error", "error": UserError(there, **error.values) if there else error}
        log.error("the build of %s failed", build.order.name, exc_info=error)
        return {"state": "error", "error": UserError("studio.failed")}

    def _number(self) -> None:
        for place, build in enumerate(self._queue, start=1):
            if build.queue_position != place:
                build.set(queue_position=place)

    def _forget_old(self) -> None:
        for old in [build.id for build in self._builds.values() if build.over]:
            if len(self._builds) <= KEPT:
                break
            del self._builds[old]
