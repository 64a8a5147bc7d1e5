"""The verbs of ``datastore`` that look into a store: search and coverage. The page's tab shares their core."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..messages import UserError, say
from ..pieces import read_bytes, whole_characters
from ..terminal import ProgressLine, coloured, counted

if TYPE_CHECKING:
    from ..coverage import Coverage
    from ..explore import Explorer, Look

BAR = 40
"""Characters of the longest bar."""


def add_verbs(verbs: Any) -> None:
    """``search`` and ``coverage``; each sets ``run`` to its handler."""
    search = verbs.add_parser("search", help="show what a store would draft after a text", description=(
        "Print the longest suffix of TEXT that occurs in the store, its hits, and the heaviest nodes of the trie "
        "of their continuations with their counts."))
    search.add_argument("name", metavar="NAME", help="a store")
    search.add_argument("text", metavar="TEXT", help="the context")
    _add_settings(search, min_suffix=1, budget=24)
    search.set_defaults(run=_search)

    coverage = verbs.add_parser("coverage", help="replay a text through a store: how often it knows what comes next", description=(
        "Replay FILE through the store: the share of positions whose context ends in a suffix that the store holds, by "
        "length, and the tokens per target call that REST would have given to a target that wrote exactly this text. "
        "This is a simulation: no target runs."))
    coverage.add_argument("name", metavar="NAME", help="a store")
    coverage.add_argument("file", metavar="FILE", type=Path, help="a held text, UTF-8")
    _add_settings(coverage, min_suffix=2, budget=40)
    coverage.set_defaults(run=_coverage)


def _add_settings(parser: argparse.ArgumentParser, min_suffix: int, budget: int) -> None:
    for option, default, does in (("--max-suffix", 16, "longest suffix tried"), ("--min-suffix", min_suffix, "shortest"),
                                  ("--continuation", 10, "depth of the trie"), ("--budget", budget, "nodes selected")):
        parser.add_argument(option, metavar="N", default=default, help=f"{does} (default: %(default)s)")
    parser.add_argument("--target", default="smollm2-135m", help="whose tokenizer is used (default: %(default)s)")


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    from ..drafters import complete_settings

    return complete_settings("rest", {name: getattr(options, name) for name in (
        "max_suffix", "min_suffix", "continuation", "budget")})


def _explorer(options: argparse.Namespace, line: ProgressLine) -> Explorer:
    from .. import models
    from ..explore import Explorer
    from .store import open_store

    store = open_store(options.name)
    return Explorer(store, models.load_tokenizer(options.target, line))


def _search(options: argparse.Namespace) -> None:
    settings = _settings(options)
    if not options.text:
        raise UserError("datastore.search.empty")
    line = ProgressLine()
    try:
        found = _explorer(options, line).look(options.text, settings)
    finally:
        line.done()
    if found.step.context_length < settings["min_suffix"]:
        print(say("explore.fact.too_short", least=settings["min_suffix"]))
        return
    details = found.step.details
    print("lengths tried, by halving the range: " + ", ".join(f"{counted(a['length'], 'token')}: {counted(a['hits'], 'hit')}" for a in details["attempts"]))
    if not details["hits"]:
        print("no suffix of the text occurs in the store")
        return
    suffix, = whole_characters([b"".join(map(read_bytes, details["suffix"]))])
    print(f"matched {counted(details['matched'], 'token')} {coloured(repr(suffix), 'bold')}, {counted(details['hits'], 'hit')}")
    _print_trie(found)


def _print_trie(found: Look) -> None:
    """The nodes as an indented tree, depth first, each with its count and its share of the hits."""
    tree, pieces, hits = found.draft.tree, found.step.tree.pieces, found.step.details["hits"]
    pending = [(node, 0) for node in reversed(tree.children())]
    while pending:
        node, depth = pending.pop()
        count = f"{tree.weights[node]:>8,} {tree.weights[node] / hits:4.0%}"
        print(f"{coloured(count, 'dim')}  {'  ' * depth}{coloured(repr(pieces[node]), 'accepted')}")
        pending += [(child, depth + 1) for child in reversed(tree.children(node))]


def _coverage(options: argparse.Namespace) -> None:
    settings = _settings(options)
    text = _read(options.file)
    line = ProgressLine()
    try:
        found = _explorer(options, line).coverage(text, settings, line)
    finally:
        line.done()
    _print_coverage(found)


def _read(path: Path) -> str:
    if not path.is_file():
        raise UserError("datastore.no_path", path=path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("explore.not_text", name=path.name) from error


def _print_coverage(found: Coverage) -> None:
    positions, calls = sum(found.positions), sum(found.calls)
    print(f"{found.tokens:,} tokens; {found.hit_share:.1%} of the positions have a hit")
    print(f"simulated, if a target wrote exactly this text: {found.tokens_per_call:.2f} tokens per target call "
          f"({calls:,} calls, {sum(found.drafted) / calls:.1f} nodes drafted a call)")
    print(f"{'matched':>7} {'positions':>12} {'share':>6} {'tokens/call':>11}")
    for length, count in enumerate(found.positions):
        if not count:
            continue
        rate = f"{1 + found.accepted[length] / found.calls[length]:.2f}" if found.calls[length] else "–"
        print(f"{length or 'none':>7} {count:>12,} {count / positions:>6.1%} {rate:>11}  "
              f"{coloured('█' * round(BAR * count / max(found.positions)), 'accepted' if length else 'dim')}")
