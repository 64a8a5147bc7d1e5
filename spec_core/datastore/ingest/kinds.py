"""What a file is. Its content decides; its name is asked only where any text would look the same."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

HEAD = 512
"""Bytes from a file's start that tell its kind."""

ARCHIVES = ("zip", "tar")
SIGNS = ((re.compile(rb"%PDF-"), "pdf"), (re.compile(rb"PAR1"), "parquet"),
         (re.compile(rb"PK(\x03\x04|\x05\x06)"), "zip"),
         (re.compile(rb"\x1f\x8b|BZh[1-9]1AY&SY|\xfd7zXZ\0|.{257}ustar", re.DOTALL), "tar"),
         (re.compile(rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x28\xb5\x2f\xfd"), "other_archive"))
SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv",
            ".ipynb": "ipynb", ".html": "html", ".htm": "html", ".xhtml": "html"}
OFFICE = frozenset({".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub"})
"""Zip files by their content, but nobody means them as archives."""
PARSED = frozenset({"json", "html", "ipynb"})
"""Kinds that are parsed as a whole."""
OWN_SUFFIXES = {"pdf": (".pdf",), "parquet": (".parquet", ".pq"),
                "zip": (".zip", ".whl", ".jar"), "tar": (".tar", ".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz")}

DAMAGED = {"pdf": "not_pdf", "parquet": "not_parquet", "zip": "bad_archive", "tar": "bad_archive"}


def kind_of(name: str, head: bytes) -> str:
    """``zip``, ``tar``, ``other_archive``, ``office``, ``pdf``, ``parquet``, one of ``SUFFIXES``, or ``text``."""
    suffix = _suffix(name)
    for sign, kind in SIGNS:
        if sign.match(head):
            return "office" if kind == "zip" and suffix in OFFICE else kind
    return SUFFIXES.get(suffix, "text")


def is_disguised(name: str, kind: str) -> bool:
    """The name promises something else than the content is."""
    suffix = _suffix(name)
    if kind in OWN_SUFFIXES:
        return suffix not in OWN_SUFFIXES[kind]
    return any(suffix in suffixes for suffixes in OWN_SUFFIXES.values())


def promised_damage(name: str) -> str | None:
    """What is said of bytes that are nothing under a name that promises an archive or the like; None where it does not.

    The last part of a key ``datastore.skip.…``.
    """
    suffix = _suffix(name)
    return next((DAMAGED[kind] for kind, suffixes in OWN_SUFFIXES.items() if suffix in suffixes), None)


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
