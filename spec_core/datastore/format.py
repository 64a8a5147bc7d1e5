"""How a store lies on disk.

A store is a folder in ``datastores/``, and its name is the folder's:

``manifest.json``   what it is (see ``Manifest``)
``tokens.bin``      uint16 or uint32 [tokens], shard after shard; after each document
                    stands the separator, the largest value of the type
``suffixes.bin``    uint32 [tokens], shard after shard; the suffix array of each, its
                    positions counted from the shard's first token
``documents.bin``   int64 [documents, 2]: first token (counted from the store's first),
                    end of the name in ``names.txt`` (bytes)
``names.txt``       UTF-8 names of the documents, one a line
``verified.json``   sizes and times of the files when their checksums were last right

All little-endian. A shard is a run of whole documents, and has its own checksums, so
that a store grows by appending to the files and then renaming a new manifest into
place: bytes beyond what the manifest counts belong to nobody and are ignored.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..messages import Term, UserError

FORMAT = "speculation-datastore"
VERSION = 1

MANIFEST = "manifest.json"
TOKENS = "tokens.bin"
SUFFIXES = "suffixes.bin"
DOCUMENTS = "documents.bin"
NAMES = "names.txt"
VERIFIED = "verified.json"
FILES = (TOKENS, SUFFIXES, DOCUMENTS, NAMES)

MAX_MANIFEST_BYTES = 16 * 2**20
HOME = Path(__file__).resolve().parents[2] / "datastores"
NAME = re.compile(r"\w[\w.\- ]{0,63}(?<![. ])")
RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices, whatever follows after a dot."""


class StoreError(UserError):
    """A store that cannot be used; the message says why, and what to do."""


@dataclass(frozen=True)
class Shard:
    """A run of whole documents that was sorted by itself.

    Args:
        tokens: how many, separators included.
        documents: how many.
        bytes: its share of each of ``FILES``.
        sha256: of that share.
    """

    tokens: int
    documents: int
    bytes: dict[str, int]
    sha256: dict[str, str]


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says.

    Args:
        created: ISO 8601, UTC.
        source: where the documents came from, for people.
        fingerprint: of the tokenizer; see ``encoding.fingerprint``.
        vocabulary: ids are below it.
        token_bytes: 2 or 4.
        shards: in the order of the files.
        tokenizer: what people call it; empty where it has no name.
    """

    created: str
    source: str
    fingerprint: str
    vocabulary: int
    token_bytes: int
    shards: tuple[Shard, ...] = field(default_factory=tuple)
    tokenizer: str = ""

    @property
    def tokens(self) -> int:
        """Tokens of all shards, separators included."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def documents(self) -> int:
        """Documents of all shards."""
        return sum(shard.documents for shard in self.shards)

    def bytes(self, file: str) -> int:
        """How many bytes of ``file`` belong to the store."""
        return sum(shard.bytes[file] for shard in self.shards)

    @property
    def separator(self) -> int:
        """What stands after each document."""
        return 2 ** (8 * self.token_bytes) - 1

    def write(self, folder: Path, name: str) -> None:
        """Put the manifest into ``folder``: the old one or the new one, never half of it.

        The ``name`` is for people: a store goes by the name of its folder.
        """
        data = {"format": FORMAT, "version": VERSION, "name": name,
                "tokens": self.tokens, "documents": self.documents, **asdict(self)}
        temporary = folder / f".{MANIFEST}"
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder / MANIFEST)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read and check the manifest of ``folder``.

        Raises:
            StoreError: unreadable, of another format, newer, or it contradicts itself.
        """
        data = _read_json(folder)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise StoreError("datastore.other_format", name=folder.name)
        version = data.get("version")
        if isinstance(version, int) and version > VERSION:
            raise StoreError("datastore.newer", name=folder.name, version=version, known=VERSION)
        try:
            manifest = cls(
                created=str(data["created"]), source=str(data["source"]), fingerprint=str(data["fingerprint"]),
                vocabulary=_count(data["vocabulary"]), token_bytes=_count(data["token_bytes"]),
                shards=tuple(Shard(_count(s["tokens"]), _count(s["documents"]),
                                   {file: _count(s["bytes"][file]) for file in FILES},
                                   {file: str(s["sha256"][file]) for file in FILES}) for s in data["shards"]),
                tokenizer=str(data.get("tokenizer", "")))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError("datastore.damaged", name=folder.name, what=f"{MANIFEST}: {error}") from error
        if not manifest._is_sound():
            what = f"{MANIFEST}: its counts contradict each other"
            raise StoreError("datastore.damaged", name=folder.name, what=what)
        return manifest

    def _is_sound(self) -> bool:
        return (self.token_bytes in (2, 4) and self.vocabulary <= self.separator and bool(self.shards)
                and all(s.tokens > 0 and s.documents > 0 and s.tokens < 2**31
                        and s.bytes[TOKENS] == s.tokens * self.token_bytes and s.bytes[SUFFIXES] == s.tokens * 4
                        and s.bytes[DOCUMENTS] == s.documents * 16 and s.bytes[NAMES] >= s.documents for s in self.shards))


def datastores_folder() -> Path:
    """Where stores live: ``SPECLAB_DATASTORES``, or ``datastores/`` of the lab."""
    return Path(os.environ.get("SPECLAB_DATASTORES") or HOME)


def store_folder(name: str) -> Path:
    """The folder of the store ``name``, whether it exists or not.

    Raises:
        StoreError: not a plain name (a path, hidden, or too long).
    """
    if not NAME.fullmatch(name):
        raise StoreError("datastore.bad_name", name=name[:80])
    return datastores_folder() / name


def new_store_folder(name: str, instead: str = "") -> Path:
    """The folder of a store that is to be called ``name``, which every system must be able to keep beside the others.

    Whether a store of that very name exists is not asked here.

    Args:
        name: of the store to be.
        instead: the name that the store has until now.

    Raises:
        StoreError: not a plain name, one that Windows keeps for itself, or that of another store but for its case.
    """
    folder = store_folder(name)
    if RESERVED.fullmatch(name):
        raise StoreError("datastore.reserved_name", name=name)
    others = os.listdir(folder.parent) if folder.parent.is_dir() else []
    for other in sorted(others):
        if other.casefold() == name.casefold() and other not in (name, instead):
            raise StoreError("datastore.name_case", name=name, other=other)
    return folder


def names() -> list[str]:
    """The names in ``datastores/`` that hold a manifest, sorted; sound or not."""
    folder = datastores_folder()
    if not folder.is_dir():
        return []
    return sorted(p.name for p in folder.iterdir() if NAME.fullmatch(p.name) and (p / MANIFEST).is_file())


def known_names() -> str:
    """The names of all stores, to fill into a message."""
    return ", ".join(names()) or Term("none yet", "datastore.none_yet")


def _read_json(folder: Path) -> Any:
    path = folder / MANIFEST
    if not path.is_file():
        raise StoreError("datastore.unknown", name=folder.name, known=known_names())
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise ValueError(f"more than {MAX_MANIFEST_BYTES} bytes")
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError("datastore.damaged", name=folder.name, what=f"{MANIFEST}: {error}") from error


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value
