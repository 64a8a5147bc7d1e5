"""What people do with built stores: list, rename, delete, verify, and carry them elsewhere.

A store travels as a plain tar with its files in one folder. One that comes from elsewhere
is hostile until every file is counted, every checksum computed and every number looked at;
it lies in a hidden folder meanwhile.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO

from ..models import Cancelled
from .format import (FILES, MANIFEST, MAX_MANIFEST_BYTES, NAME, Manifest, StoreError, known_names,
                     names, new_store_folder, store_folder)
from .store import Store, open_store
from .writer import StoreWriter, kept_still, set_aside

BLOCK = 2**20


@dataclass(frozen=True)
class Listed:
    """A store as a list shows it: its manifest and bytes, or why it cannot be used."""

    name: str
    manifest: Manifest | None
    bytes: int
    problem: StoreError | None = None


def listed() -> list[Listed]:
    """All stores, by name; only manifests are read."""
    stores = []
    for name in names():
        folder = store_folder(name)
        try:
            manifest = Manifest.read(folder)
            stores.append(Listed(name, manifest, sum(manifest.bytes(file) for file in FILES)))
        except StoreError as error:
            stores.append(Listed(name, None, 0, error))
    return stores


def rename_store(name: str, new: str) -> None:
    """Give a store another name. A run that has it open goes on.

    Raises:
        StoreError: no such store, a bad or taken name, or somebody else is changing it.
    """
    folder, place = _existing(name), new_store_folder(new, instead=name)
    if place.exists() and (new == name or not place.samefile(folder)):  # the same where case is not told apart
        raise StoreError("datastore.name_taken", name=new)
    _change(name, folder, lambda: os.rename(folder, place))


def delete_store(name: str) -> None:
    """Delete a store, sound or not: it is gone at once, its files a moment later. A run that has it open goes on.

    Raises:
        StoreError: no such store, or somebody else is changing it.
    """
    folder = _existing(name)
    _change(name, folder, lambda: shutil.rmtree(set_aside(folder), ignore_errors=True))


def verify_store(name: str) -> Store:
    """Check every checksum and every number of a store. Raises ``StoreError`` with what is wrong."""
    store = open_store(name)
    store.verify()
    return store


@dataclass(frozen=True)
class Export:
    """A store as one tar: a file name, its bytes, and the tar itself in blocks. Use it once."""

    filename: str
    size: int
    blocks: Iterator[bytes]


def export_store(name: str) -> Export:
    """A store as a file to keep or to carry elsewhere; it may be renamed, grown or deleted meanwhile.

    Raises:
        StoreError: no such store, or it cannot be read.
    """
    folder = _existing(name)
    opened = ExitStack()
    try:
        with kept_still(folder):  # so that manifest and files belong together
            manifest = Manifest.read(folder)
            data = (folder / MANIFEST).read_bytes()
            files = {file: opened.enter_context((folder / file).open("rb")) for file in FILES}
    except OSError as error:
        opened.close()
        raise StoreError("store.refused", name=name, reason=error.strerror or str(error)) from error
    except StoreError:
        opened.close()
        raise
    when = _seconds(manifest.created)
    sizes = {MANIFEST: len(data)} | {file: manifest.bytes(file) for file in FILES}
    heads = {file: _tar_head(f"{name}/{file}", size, when) for file, size in sizes.items()}
    total = sum(len(heads[file]) + _padded(size) for file, size in sizes.items()) + 2 * tarfile.BLOCKSIZE

    def blocks() -> Iterator[bytes]:
        with opened:
            for file, size in sizes.items():
                yield heads[file]
                yield from [data] if file == MANIFEST else _blocks(files[file], size, file)
                yield bytes(_padded(size) - size)
            yield bytes(2 * tarfile.BLOCKSIZE)

    return Export(f"{name}.tar", total, blocks())


def import_store(path: Path, name: str = "", *, cancelled: Callable[[], bool] = lambda: False) -> Store:
    """Put a store that ``export_store`` wrote into ``datastores/``.

    Args:
        path: the tar.
        name: of the store; empty: the one that the tar says.
        cancelled: asked often.

    Raises:
        StoreError: no store, damaged or incomplete, or a bad or taken name. Nothing is left of it.
        Cancelled: ``cancelled`` said so.
    """
    with _opened(path) as archive:
        member = _next(archive, path)
        name = name or PurePosixPath(member.name).parent.name if member else name
        if member is None or not NAME.fullmatch(name):
            raise StoreError("store.not_one", file=path.name)
        with StoreWriter(name) as writer:
            manifest_seen, written = False, set()
            while member is not None:
                file = PurePosixPath(member.name).name
                if file == MANIFEST and not manifest_seen and member.size <= MAX_MANIFEST_BYTES:
                    data = b"".join(_blocks(_content(archive, member), member.size, path.name))
                    (writer.folder / MANIFEST).write_bytes(data)
                    manifest_seen = True
                elif file in FILES and file not in written:
                    for block in _blocks(_content(archive, member), member.size, path.name):
                        if cancelled():
                            raise Cancelled
                        writer.append(file, block)
                    written.add(file)
                else:
                    raise StoreError("store.not_one", file=path.name)
                member = _next(archive, path)
            if not manifest_seen or written != set(FILES):
                raise StoreError("store.not_one", file=path.name)
            writer.flush()
            try:
                manifest = Store(writer.folder).manifest  # it has no stamp: all is verified
            except StoreError as error:  # which knows the hidden folder's name
                raise StoreError(error.key, **{**error.values, "name": name}) from error
            if any((writer.folder / file).stat().st_size != manifest.bytes(file) for file in FILES):
                raise StoreError("datastore.damaged", name=name, what=f"{MANIFEST}: more bytes than it counts")
            folder = writer.finish(manifest)
    return Store.just_written(folder)


def _existing(name: str) -> Path:
    folder = store_folder(name)
    if name not in names():
        raise StoreError("datastore.unknown", name=name, known=known_names())
    return folder


def _change(name: str, folder: Path, act: Callable[[], None]) -> None:
    try:
        with kept_still(folder):
            act()
    except OSError as error:
        raise StoreError("store.refused", name=name, reason=error.strerror or str(error)) from error


def _opened(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path, "r:")  # never compressed: what it holds is as long as the file
    except (tarfile.TarError, OSError) as error:
        raise StoreError("store.not_one", file=path.name) from error


def _next(archive: tarfile.TarFile, path: Path) -> tarfile.TarInfo | None:
    """The next file; folders are passed over. Raises ``StoreError`` for anything else."""
    try:
        while (member := archive.next()) is not None and member.isdir():
            pass
    except (tarfile.TarError, OSError, ValueError) as error:
        raise StoreError("store.not_one", file=path.name) from error
    if member is not None and (not member.isreg() or member.issparse()):
        raise StoreError("store.not_one", file=path.name)
    return member


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(member)
    assert file is not None, "a regular file has content"
    return file


def _blocks(file: IO[bytes], size: int, name: str) -> Iterator[bytes]:
    """The first ``size`` bytes of a file. Raises ``StoreError`` where it is shorter."""
    while size:
        try:
            block = file.read(min(BLOCK, size))
        except tarfile.TarError:
            block = b""
        if not block:
            raise StoreError("store.cut_off", file=name)
        size -= len(block)
        yield block


def _tar_head(name: str, size: int, when: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = size, when
    return info.tobuf(tarfile.PAX_FORMAT)


def _padded(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


def _seconds(created: str) -> int:
    try:
        return max(int(datetime.fromisoformat(created).timestamp()), 0)
    except (ValueError, OverflowError):
        return 0
