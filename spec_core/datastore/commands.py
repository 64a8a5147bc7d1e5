"""The command ``datastore`` with its verbs: build, grow, survey, list, search, coverage, verify, rename, delete, export, import."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from ..messages import UserError, say
from ..terminal import check_writable, counted, printable
from . import corpus_commands, explore_commands


def add_parser(subparsers: Any) -> None:
    """``datastore`` with its verbs; each sets ``run`` to its handler."""
    parser = subparsers.add_parser("datastore", help="the stores that REST drafts from: build, grow, list, search and more")
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    corpus_commands.add_verbs(verbs)
    verbs.add_parser("list", help="the stores there are").set_defaults(run=_list)

    explore_commands.add_verbs(verbs)
    for verb, run, does in (("verify", _verify, "check every checksum of a store"), ("delete", _delete, "delete a store"),
                            ("rename", _rename, "give a store another name"),
                            ("export", _export, "write a store to one file"),
                            ("import", _import, "put a store that was exported into its place")):
        command = verbs.add_parser(verb, help=does)
        if verb == "import":
            command.add_argument("file", metavar="FILE", type=Path, help="a .tar that export wrote")
            command.add_argument("--name", metavar="NAME", default="", help="of the store (default: the one it had)")
        else:
            command.add_argument("name", metavar="NAME", help="a store")
        if verb == "rename":
            command.add_argument("new", metavar="NEW", help="its new name")
        if verb == "export":
            command.add_argument("file", metavar="FILE", nargs="?", type=Path, help="(default: NAME.tar)")
        command.set_defaults(run=run)


def _list(options: argparse.Namespace) -> None:
    from .manage import listed

    stores = listed()
    if not stores:
        print(say("datastore.build.none_yet"))
    for store in stores:
        if store.manifest is None:
            print(printable(f"{store.name}  {store.problem}"))
            continue
        manifest = store.manifest
        print(printable(f"{store.name:24} {manifest.documents:>8,} documents {manifest.tokens:>12,} tokens "
                        f"{store.bytes / 1e6:>9,.1f} MB  tokenizer {manifest.tokenizer or manifest.fingerprint[:8]}  "
                        f"{manifest.created[:10]}  {manifest.source}"))


def _verify(options: argparse.Namespace) -> None:
    from .manage import verify_store

    store = verify_store(options.name)
    print(f"{store.name}: every checksum is right ({counted(store.token_count, 'token')}, {counted(len(store.manifest.shards), 'shard')})")


def _delete(options: argparse.Namespace) -> None:
    from .manage import delete_store

    delete_store(options.name)
    print(f"{options.name} is deleted")


def _rename(options: argparse.Namespace) -> None:
    from .manage import rename_store

    rename_store(options.name, options.new)
    print(f"{options.name} is called {options.new} now")


def _export(options: argparse.Namespace) -> None:
    from .manage import export_store

    export = export_store(options.name)
    path = options.file or Path(export.filename)
    check_writable(path)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            file.writelines(export.blocks)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    print(f"{path}: {export.size:,} bytes")


def _import(options: argparse.Namespace) -> None:
    from .manage import import_store

    if not options.file.is_file():
        raise UserError("datastore.no_path", path=options.file)
    store = import_store(options.file, options.name)
    print(f"{store.name}: {counted(store.manifest.documents, 'document')}, {counted(store.token_count, 'token')}, every checksum is right")
