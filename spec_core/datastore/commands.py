"""The command ``datastore build | list | search | verify``."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..messages import UserError
from ..terminal import ProgressLine, coloured, printable
from .format import StoreError, names, store_folder

if TYPE_CHECKING:
    from ..pieces import Pieces
    from .trie import Trie

SHOWN_SKIPPED = 20


def add_parser(subparsers: Any) -> None:
    """``datastore`` with its verbs; each sets ``run`` to its handler."""
    parser = subparsers.add_parser("datastore", help="the stores that REST drafts from: build, list, search, verify")
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    build = verbs.add_parser("build", help="build a store from files and folders")
    build.add_argument("paths", metavar="PATH", nargs="*", help="a text file, or a folder of them")
    build.add_argument("--name", metavar="NAME", required=True, help="of the store")
    build.add_argument("--from-stdlib", action="store_true", help="build from the running Python's standard library")
    build.add_argument("--max-file-mb", metavar="MB", type=float, default=8,
                       help="skip larger files (default: %(default)s)")
    build.add_argument("--replace", action="store_true", help="take the place of a store of that name")
    _add_target(build)
    build.set_defaults(run=_build)

    verbs.add_parser("list", help="the stores there are").set_defaults(run=_list)

    search = verbs.add_parser("search", help="show what a store would draft after a text", description=(
        "Print the longest suffix of TEXT that occurs in the store, its hits, and the heaviest nodes of the trie "
        "of their continuations with their counts."))
    search.add_argument("name", metavar="NAME", help="a store")
    search.add_argument("text", metavar="TEXT", help="the context")
    for option, default, does in (("--max-suffix", 16, "longest suffix tried"), ("--min-suffix", 1, "shortest"),
                                  ("--continuation", 10, "depth of the trie"), ("--budget", 24, "nodes shown")):
        search.add_argument(option, metavar="N", default=default, help=f"{does} (default: %(default)s)")
    _add_target(search)
    search.set_defaults(run=_search)

    verify = verbs.add_parser("verify", help="check every checksum of a store")
    verify.add_argument("name", metavar="NAME", help="a store")
    verify.set_defaults(run=_verify)


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default="smollm2-135m", help="whose tokenizer is used (default: %(default)s)")


def _build(options: argparse.Namespace) -> None:
    from ..models import load_tokenizer
    from .build import build_store
    from .corpus import files_corpus, python_stdlib

    if options.paths and options.from_stdlib:
        raise UserError("datastore.build.both_named")
    if not options.paths and not options.from_stdlib:
        raise UserError("datastore.build.nothing_named")
    store_folder(options.name)  # a bad name is told before anything is fetched
    corpus = python_stdlib() if options.from_stdlib else files_corpus(options.paths, int(options.max_file_mb * 2**20))
    line = ProgressLine()
    try:
        tokenizer = load_tokenizer(options.target, line)
        report = build_store(corpus, options.name, tokenizer, replace=options.replace,
                             progress=lambda stage, fraction: line(f"datastore.stage.{stage}", fraction))
    finally:
        line.done()
    times = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.seconds.items())
    print(f"{report.name}: {report.documents:,} documents, {report.tokens:,} tokens ({times})")
    if report.skipped:
        reasons = Counter(skipped.say() for skipped in report.skipped)
        print("skipped: " + "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()))
        for skipped in report.skipped[:SHOWN_SKIPPED]:
            print(printable(f"  {skipped.name}: {skipped.say()}"))
        if len(report.skipped) > SHOWN_SKIPPED:
            print(f"  … and {len(report.skipped) - SHOWN_SKIPPED} more")


def _list(options: argparse.Namespace) -> None:
    from .store import Store

    for name in names():
        try:
            manifest = Store(store_folder(name)).manifest
        except StoreError as error:
            print(f"{name}  {error}")
            continue
        print(printable(f"{name:24} {manifest.documents:>8,} documents {manifest.tokens:>12,} tokens  "
                        f"tokenizer {manifest.fingerprint[:8]}  {manifest.created[:10]}  {manifest.source}"))


def _search(options: argparse.Namespace) -> None:
    from ..drafters import complete_settings
    from ..models import load_tokenizer
    from ..pieces import Pieces
    from .index import longest_match
    from .store import open_store
    from .trie import heaviest_nodes

    settings = complete_settings("rest", {name: getattr(options, name) for name in (
        "max_suffix", "min_suffix", "continuation", "budget")})
    if not options.text:
        raise UserError("datastore.search.empty")
    store = open_store(options.name)
    line = ProgressLine()
    try:
        tokenizer = load_tokenizer(options.target, line)
    finally:
        line.done()
    store.check_tokenizer(tokenizer)
    pieces = Pieces(tokenizer)
    context = tokenizer(options.text, add_special_tokens=False).input_ids
    match = longest_match(store, context, settings["max_suffix"], settings["min_suffix"])
    print("tried: " + ", ".join(f"{length} tokens: {hits:,} hits" for length, hits in match.attempts))
    if not match.hits:
        print("no suffix of the text occurs in the store")
        return
    suffix = "".join(pieces.of(context[-match.length:]))
    print(f"matched {match.length} tokens {coloured(repr(suffix), 'bold')}, {match.hits:,} hits")
    _print_trie(heaviest_nodes(store, match, settings["continuation"], settings["budget"]), pieces, match.hits)


def _print_trie(trie: Trie, pieces: Pieces, hits: int) -> None:
    """The nodes as an indented tree, depth first, each with its count and its share of the hits."""
    tree = trie.tree()
    pending = [(node, 0) for node in reversed(tree.children())]
    while pending:
        node, depth = pending.pop()
        count = f"{trie.weights[node]:>8,} {trie.weights[node] / hits:4.0%}"
        print(f"{coloured(count, 'dim')}  {'  ' * depth}{coloured(repr(pieces[tree.tokens[node]]), 'accepted')}")
        pending += [(child, depth + 1) for child in reversed(tree.children(node))]


def _verify(options: argparse.Namespace) -> None:
    from .store import open_store

    store = open_store(options.name)
    store.verify()
    print(f"{store.name}: every checksum is right ({store.token_count:,} tokens, {len(store.manifest.shards)} shards)")
