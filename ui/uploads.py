"""Files on their way into a datastore: in a hidden folder of this process, under numbers, for one visitor.

No gradio, whose own uploads any visitor with the address may fetch. Files leave the disk with the
build, when their owner takes them back, or after an hour without a word; those of a server that was
killed, when the next one starts.
"""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from spec_core.datastore.corpus import Skipped, Source
from spec_core.datastore.format import datastores_folder
from spec_core.datastore.ingest import Gathered, Limits
from spec_core.datastore.ingest.archives import printed, refused
from spec_core.datastore.ingest.limits import MIB
from spec_core.datastore.writer import clear_leftovers, locked_folder
from spec_core.messages import UserError

PREFIX = ".upload-"
MOST = 16
IDLE_SECONDS = 3600.0
STORE_FACTOR = 8
"""A built store has more bytes than its corpus: two to eight for each."""


@dataclass(frozen=True)
class Part:
    """Some bytes of a file: which one by the visitor's own number, and where they begin."""

    file: int
    name: str
    at: int
    data: bytes


class Upload:
    """The files of one visitor. Made by ``Uploads``."""

    def __init__(self, most_bytes: int, most_files: int) -> None:
        self.id = secrets.token_urlsafe(18)
        """A secret of who brought the files."""
        self.seen = time.monotonic()
        self.users = 0
        """Surveys and builds that read the files now or soon."""
        self._most_bytes, self._most_files = most_bytes, most_files
        self._lock = threading.Lock()
        self._names: dict[int, str] = {}
        self._sizes: dict[int, int] = {}
        self._bytes = 0
        try:
            self.folder, self._alive = locked_folder(datastores_folder(), PREFIX)
        except OSError as error:
            raise _disk(error) from error

    def add(self, parts: Sequence[Part]) -> None:
        """Write parts of files.

        Raises:
            UserError: more bytes or files than are allowed, a full disk, or a part that does not follow
                the one before, as where the server was started anew.
        """
        self.seen = time.monotonic()
        with self._lock:
            for part in parts:
                if self._sizes.get(part.file, 0) != part.at:
                    raise UserError("studio.upload_lost")
                if self._bytes + len(part.data) > self._most_bytes:
                    raise UserError("ingest.too_large", most=self._most_bytes // MIB)
                if part.file not in self._names and len(self._names) >= self._most_files:
                    raise UserError("studio.too_many_files", most=self._most_files)
                self._names.setdefault(part.file, part.name)
                try:
                    with self._path(part.file).open("ab") as file:
                        file.write(part.data)
                except OSError as error:
                    raise _disk(error) from error
                self._sizes[part.file] = part.at + len(part.data)
                self._bytes += len(part.data)

    def remove(self, files: Sequence[int]) -> None:
        """Take files back."""
        with self._lock:
            for file in files:
                if self._names.pop(file, None) is not None:
                    self._bytes -= self._sizes.pop(file)
                    self._path(file).unlink(missing_ok=True)

    def corpus(self, limits: Limits, field: str = "") -> Gathered:
        """What the files hold. Raises ``UserError`` where there are none."""
        sources, skipped = [], []
        with self._lock:
            for file, name in self._names.items():
                reason = refused(name)
                if reason:
                    skipped.append(Skipped(printed(name), reason, self._sizes[file]))
                else:
                    sources.append(Source(printed(name), self._path(file), self._sizes[file]))
        if not sources and not skipped:
            raise UserError("studio.no_files")
        return Gathered(sources, skipped, _description(list(self._names.values())), limits, field)

    def single(self) -> tuple[str, Path]:
        """The name and path of the only file. Raises ``UserError`` where there is not just one."""
        with self._lock:
            if len(self._names) != 1:
                raise UserError("studio.no_files")
            (file, name), = self._names.items()
            return name, self._path(file)

    def close(self) -> None:
        """Remove all files."""
        with self._lock:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._alive.close()
            shutil.rmtree(self.folder, ignore_errors=True)  # where an open file cannot be removed

    def _path(self, file: int) -> Path:
        return self.folder / str(file)


class Uploads:
    """The uploads of all visitors.

    Args:
        limits: of one upload.
    """

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self._uploads: dict[str, Upload] = {}
        self._lock = threading.Lock()
        with suppress(OSError):
            clear_leftovers(datastores_folder(), PREFIX)

    def open(self, store: bool = False) -> Upload:
        """A new upload, of a corpus or of a built store. Raises ``UserError`` where there are too many."""
        with self._lock:
            now = time.monotonic()
            for old in [old for old in self._uploads.values() if not old.users and now - old.seen > IDLE_SECONDS]:
                self._uploads.pop(old.id).close()
            if len(self._uploads) >= MOST:
                raise UserError("studio.busy")
            most = self.limits.total_bytes * (STORE_FACTOR if store else 1)
            upload = Upload(most, 1 if store else self.limits.entries)
            self._uploads[upload.id] = upload
            return upload

    def get(self, upload: str) -> Upload:
        """The upload of an id. Raises ``UserError`` where there is none, or none any more."""
        found = self._uploads.get(upload)
        if found is None:
            raise UserError("studio.upload_lost")
        found.seen = time.monotonic()
        return found

    def take(self, upload: str, for_good: bool = False) -> Upload:
        """The upload of an id, whose files stay until it is given back; ``for_good``: its owner reaches it no more."""
        with self._lock:
            found = self.get(upload)
            found.users += 1
            if for_good:
                del self._uploads[upload]
            return found

    def give_back(self, upload: Upload, drop: bool) -> None:
        """End a use; with ``drop`` the files are removed as soon as nobody uses them."""
        with self._lock:
            upload.users -= 1
            if drop:
                self._uploads.pop(upload.id, None)
            unused = upload.users == 0 and upload.id not in self._uploads
        if unused:
            upload.close()

    def drop(self, upload: str) -> None:
        """Remove an upload, now or when nobody uses it any more."""
        with self._lock:
            found = self._uploads.pop(upload, None)
            unused = found is not None and found.users == 0
        if unused:
            found.close()


def _description(names: Sequence[str]) -> str:
    """Where a corpus came from, for people: its first files or folders."""
    tops = list(dict.fromkeys(printed(name).partition("/")[0][:60] for name in names))
    return ", ".join(tops if len(tops) <= 4 else [*tops[:3], "…"])


def _disk(error: OSError) -> UserError:
    return UserError("studio.disk", reason=error.strerror or str(error))
