"""Writing a store so that it stands whole under its name, or not at all.

Everything goes to a hidden folder beside the store's place, which is renamed when it
is whole and on disk. The folder holds a lock for as long as its writer lives, so that
what a crash or ``kill -9`` left behind is told from a build under way, and cleared.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from .format import FILES, Manifest, StoreError, datastores_folder, store_folder

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed: that protects as well
    fcntl = None

PREFIX = ".building-"
LOCK = ".lock"
GRACE_SECONDS = 60
"""A folder without a lock is left alone so long: its writer may be about to lock it."""


class StoreWriter:
    """A store in the making; use it in a ``with`` statement and end with ``finish``.

    Args:
        name: of the store to be.
        replace: put it in the place of a store of that name.

    Attributes:
        folder: where the files lie until ``finish``.

    Raises:
        StoreError: a bad name, a name that is taken, or a disk that is full or refuses.
    """

    def __init__(self, name: str, replace: bool = False) -> None:
        self.place = store_folder(name)
        self.replace = replace
        self._refuse_taken_name()
        self._files: dict[str, IO[bytes]] = {}
        self._segments: dict[str, Any] = {}
        try:
            root = datastores_folder()
            root.mkdir(parents=True, exist_ok=True)
            clear_leftovers(root)
            self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{name}-", dir=root))
            self.folder.chmod(0o755)
            self._lock = (self.folder / LOCK).open("w")
        except OSError as error:
            raise self.failure(error) from error
        _lock(self._lock)

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        for file in self._files.values():
            with suppress(OSError):  # closing flushes; the disk may still be full
                file.close()
        self._lock.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise self.failure(error) from error

    def append(self, name: str, data: np.ndarray | bytes) -> None:
        """Add to the present segment of one of ``FILES``."""
        if name not in self._files:
            self._files[name] = (self.folder / name).open("wb")
        view = memoryview(np.ascontiguousarray(data)).cast("B") if isinstance(data, np.ndarray) else data
        count, digest = self._segments.setdefault(name, (0, hashlib.sha256()))
        self._files[name].write(view)
        digest.update(view)
        self._segments[name] = (count + len(view), digest)

    def end_segment(self, name: str) -> tuple[int, str]:
        """Close the present segment of a file: its bytes, and their SHA-256."""
        count, digest = self._segments.pop(name, (0, hashlib.sha256()))
        return count, digest.hexdigest()

    def flush(self) -> None:
        """Hand all that was appended to the system, so that it can be read back."""
        for file in self._files.values():
            file.flush()

    def finish(self, manifest: Manifest) -> Path:
        """Write the manifest and move everything into place.

        Raises:
            StoreError: the name was taken meanwhile.
        """
        for name in FILES:
            file = self._files.pop(name)
            file.flush()
            os.fsync(file.fileno())
            file.close()
        manifest.write(self.folder, self.place.name)
        self._refuse_taken_name()
        (self.folder / LOCK).unlink()
        if self.place.exists():
            aside = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self.place.parent))
            os.rename(self.place, aside / "old")
            os.rename(self.folder, self.place)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            os.rename(self.folder, self.place)
        _sync_folder(self.place.parent)
        return self.place

    def failure(self, error: OSError) -> StoreError:
        """What to tell the user of an error of the disk."""
        return StoreError("datastore.write_failed", name=self.place.name, reason=error.strerror or str(error))

    def _refuse_taken_name(self) -> None:
        if self.place.exists() and not self.replace:
            raise StoreError("datastore.name_taken", name=self.place.name)


def clear_leftovers(root: Path) -> None:
    """Remove what builds that ended abruptly left in ``root``; builds under way stay."""
    for folder in root.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = folder / LOCK
            if not lock.exists():
                abandoned = time.time() - folder.stat().st_mtime > GRACE_SECONDS
            else:
                with lock.open("r+") as file:
                    abandoned = _lock(file)
            if abandoned:
                shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[str]) -> bool:
    """Take the lock of an open file without waiting; False when another holds it. It ends with its process."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems cannot open a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
