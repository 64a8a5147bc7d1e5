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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from .format import FILES, Manifest, StoreError, datastores_folder, new_store_folder, store_folder

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed: that protects as well
    fcntl = None

PREFIX = ".building-"
LOCK = ".lock"
GRACE_SECONDS = 60
"""A folder without a lock is left alone so long: its writer may be about to lock it."""


class SegmentWriter:
    """Writes ``FILES`` in segments, one a shard, and computes the checksum of each.

    Args:
        place: the store's folder when all is done; its name is the store's.
    """

    folder: Path
    """Where the files lie meanwhile."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._files: dict[str, IO[bytes]] = {}
        self._segments: dict[str, Any] = {}

    def append(self, name: str, data: np.ndarray | bytes) -> None:
        """Add to the present segment of one of ``FILES``."""
        if name not in self._files:
            self._files[name] = self._open(name)
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

    def failure(self, error: OSError) -> StoreError:
        """What to tell the user of an error of the disk."""
        return StoreError("datastore.write_failed", name=self.place.name, reason=error.strerror or str(error))

    def _open(self, name: str) -> IO[bytes]:
        return (self.folder / name).open("wb")

    def _sync(self) -> None:
        """All that was appended is on disk afterwards."""
        for name in FILES:
            file = self._files.pop(name)
            file.flush()
            os.fsync(file.fileno())
            file.close()

    def _close(self) -> None:
        for file in self._files.values():
            with suppress(OSError):  # closing flushes; the disk may still be full
                file.close()


class StoreWriter(SegmentWriter):
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
        super().__init__(new_store_folder(name))
        self.replace = replace
        self._refuse_taken_name()
        try:
            clear_leftovers(datastores_folder())
            self.folder, self._lock = locked_folder(datastores_folder(), f"{PREFIX}{name}-")
            self.folder.chmod(0o755)
        except OSError as error:
            raise self.failure(error) from error

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._close()
        self._lock.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise self.failure(error) from error

    def finish(self, manifest: Manifest) -> Path:
        """Write the manifest and move everything into place.

        Raises:
            StoreError: the name was taken meanwhile.
        """
        self._sync()
        manifest.write(self.folder, self.place.name)
        self._refuse_taken_name()
        if fcntl is None:  # where an open file cannot be removed
            self._lock.close()
        (self.folder / LOCK).unlink()
        if self.place.exists():
            with kept_still(self.place):
                aside = set_aside(self.place)
                os.rename(self.folder, self.place)
                shutil.rmtree(aside, ignore_errors=True)
        else:
            try:
                os.rename(self.folder, self.place)
            except OSError as error:
                if self.place.exists():  # another build was quicker by a moment
                    raise StoreError("datastore.name_taken", name=self.place.name) from error
                raise
        _sync_folder(self.place.parent)
        return self.place

    def _refuse_taken_name(self) -> None:
        if self.place.exists() and not self.replace:
            raise StoreError("datastore.name_taken", name=self.place.name)


class StoreGrower(SegmentWriter):
    """Appends shards to a store that stands; use it in a ``with`` statement and end with ``finish``.

    What is appended belongs to nobody until the new manifest takes the old one's place, so
    that readers and whoever comes after a crash see the store as it was.

    Args:
        name: of the store.

    Attributes:
        manifest: of the store as it is.

    Raises:
        StoreError: no such store, a damaged one, or somebody else is changing it.
    """

    def __init__(self, name: str) -> None:
        super().__init__(store_folder(name))
        self.folder = self.place
        Manifest.read(self.folder)  # before a lock is made in a folder that is no store
        self._still = ExitStack()
        try:
            self._still.enter_context(kept_still(self.place))
        except OSError as error:
            raise self.failure(error) from error
        self.manifest = Manifest.read(self.folder)

    def __enter__(self) -> StoreGrower:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._close()
        if error is not None:
            for name in FILES:
                with suppress(OSError):
                    os.truncate(self.folder / name, self.manifest.bytes(name))
        self._still.close()
        if isinstance(error, OSError):
            raise self.failure(error) from error

    def finish(self, manifest: Manifest) -> Path:
        """Write the manifest that counts the new shards."""
        self._sync()
        manifest.write(self.folder, self.place.name)
        _sync_folder(self.folder)
        return self.folder

    def _open(self, name: str) -> IO[bytes]:
        file = (self.folder / name).open("r+b")
        file.seek(self.manifest.bytes(name))  # over whatever a crash left there
        return file


@contextmanager
def kept_still(place: Path) -> Iterator[None]:
    """While a store grows, is renamed, replaced or deleted, nobody else does so.

    Raises:
        StoreError: somebody else does.
    """
    with (place / LOCK).open("w") as file:
        if not _lock(file):
            raise StoreError("store.busy", name=place.name)
        yield


def set_aside(place: Path) -> Path:
    """Move a store out of its place, at once, into a hidden folder, which is returned to be removed."""
    aside = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place.parent))
    os.rename(place, aside / "old")
    return aside


def locked_folder(root: Path, prefix: str) -> tuple[Path, IO[str]]:
    """A new hidden folder in ``root`` that ``clear_leftovers`` leaves alone while the file returned with it is open."""
    root.mkdir(parents=True, exist_ok=True)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
        lock = (folder / LOCK).open("w")
        if _lock(lock) and (folder / LOCK).exists():
            return folder, lock
        lock.close()  # somebody who clears up came between the file and its lock


def clear_leftovers(root: Path, prefix: str = PREFIX) -> None:
    """Remove what builds that ended abruptly left in ``root``; builds under way stay."""
    for folder in root.glob(f"{prefix}*"):
        with suppress(OSError):
            lock = folder / LOCK
            if not lock.exists():
                abandoned = time.time() - folder.stat().st_mtime > GRACE_SECONDS
            else:
                with lock.open("r+") as file:
                    abandoned = _lock(file)
                    if abandoned:  # with the lock held: its writer may only now be about to take it
                        shutil.rmtree(folder, ignore_errors=True)
            if abandoned:  # anew, where an open file cannot be removed
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
