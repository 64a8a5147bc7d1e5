"""The commands ``datastore build | grow | survey``: from files, folders and archives."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..drafters.settings import number
from ..messages import UserError, say
from ..terminal import ProgressLine, counted, printable
from .format import Manifest, StoreError, new_store_folder, store_folder

if TYPE_CHECKING:
    from .build import BuildReport
    from .corpus import Skipped
    from .ingest import Gathered, Limits

SHOWN_SKIPPED = 20
MIB = 2**20


def add_verbs(verbs: Any) -> None:
    """``build``, ``grow`` and ``survey``; each sets ``run`` to its handler."""
    build = verbs.add_parser("build", help="build a store from files, folders and archives")
    _add_corpus(build)
    build.add_argument("--name", metavar="NAME", required=True, help="of the store")
    build.add_argument("--from-stdlib", action="store_true", help="build from the running Python's standard library")
    build.add_argument("--replace", action="store_true", help="take the place of a store of that name")
    _add_target(build)
    build.set_defaults(run=_build)

    grow = verbs.add_parser("grow", help="add documents to a store, without building it anew")
    grow.add_argument("name", metavar="NAME", help="a store")
    _add_corpus(grow)
    _add_target(grow)
    grow.set_defaults(run=_grow)

    survey = verbs.add_parser("survey", help="tell what would become of files, without building")
    _add_corpus(survey)
    survey.set_defaults(run=_survey)


def _add_corpus(parser: argparse.ArgumentParser) -> None:
    from .ingest.limits import Limits

    most = Limits()
    parser.add_argument("paths", metavar="PATH", nargs="*",
                        help="a folder, a zip or tar, or a file: text, source code, JSON, CSV, parquet, notebook, HTML, PDF")
    parser.add_argument("--field", metavar="NAME", default="",
                        help="of JSON records and tables, what holds the text (default: each file's own choice)")
    parser.add_argument("--max-file-mb", metavar="MB", default=most.file_bytes // MIB,
                        help="skip larger files (default: %(default)s)")
    parser.add_argument("--max-total-mb", metavar="MB", default=most.total_bytes // MIB,
                        help="refuse a larger corpus (default: %(default)s)")


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default="smollm2-135m", help="whose tokenizer is used (default: %(default)s)")
    parser.add_argument("--chat", action="store_true", help="write chats with the target's chat template")


def _limits(options: argparse.Namespace) -> Limits:
    from .ingest import Limits

    return Limits(total_bytes=int(number("max total MB", options.max_total_mb, 1e-6, 2**40) * MIB),
                  file_bytes=int(number("max file MB", options.max_file_mb, 1e-6, 2**40) * MIB))


def _gathered(options: argparse.Namespace) -> Gathered:
    from .ingest import gather

    if not options.paths:
        raise UserError("datastore.build.nothing_named")
    return gather(options.paths, _limits(options), options.field)


def _build(options: argparse.Namespace) -> None:
    from .build import build_store
    from .corpus import python_stdlib

    if options.paths and options.from_stdlib:
        raise UserError("datastore.build.both_named")
    new_store_folder(options.name)  # a bad name is told before anything is fetched
    corpus = python_stdlib() if options.from_stdlib else _gathered(options)
    try:
        report = _with_tokenizer(options, corpus, lambda tokenizer, progress: build_store(
            corpus, options.name, tokenizer, replace=options.replace, progress=progress))
    except StoreError as error:
        raise UserError("datastore.build.name_taken", name=options.name) if error.key == "datastore.name_taken" else error
    _print_report(report)


def _grow(options: argparse.Namespace) -> None:
    from .build import grow_store

    Manifest.read(store_folder(options.name))
    corpus = _gathered(options)
    _print_report(_with_tokenizer(options, corpus, lambda tokenizer, progress: grow_store(
        corpus, options.name, tokenizer, progress=progress)), "added to ")


def _with_tokenizer(options: argparse.Namespace, corpus: Any, work: Any) -> BuildReport:
    from ..models import load_tokenizer
    from .ingest.chat import templated

    line = ProgressLine()
    try:
        tokenizer = load_tokenizer(options.target, line)
        if options.chat:
            corpus.render = templated(tokenizer, options.target)
        return work(tokenizer, lambda stage, fraction: line(f"datastore.stage.{stage}", fraction))
    finally:
        line.done()


def _print_report(report: BuildReport, before: str = "") -> None:
    times = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.seconds.items())
    print(f"{before}{report.name}: {counted(report.documents, 'document')}, {counted(report.tokens, 'token')} ({times})")
    _print_skipped(report.skipped)


def _survey(options: argparse.Namespace) -> None:
    from .ingest import survey

    corpus = _gathered(options)
    line = ProgressLine()
    try:
        found = survey(corpus, lambda fraction: line("datastore.stage.read", fraction))
    finally:
        line.done()
    print(f"{counted(found.documents, 'document')} from {counted(found.files, 'file')}, {counted(found.characters, 'character')}")
    print("kinds: " + _counts(found.kinds))
    print("encodings: " + _counts(found.encodings))
    for field in found.fields:
        print(printable(f"field {field.name}{' (chat)' if field.chat else ''}: {field.example}"))
    for name, kind in found.disguised[:SHOWN_SKIPPED]:
        print(printable(say("ingest.disguised", name=name, kind=kind)))
    for name in found.broken[:SHOWN_SKIPPED]:
        print(printable(say("ingest.broken", name=name)))
    for name, encoding, passage in found.guessed[:SHOWN_SKIPPED]:
        print(printable(say("ingest.guessed", name=name, encoding=encoding, passage=passage)))
    _print_skipped(found.skipped)


def _print_skipped(skipped: list[Skipped]) -> None:
    if not skipped:
        return
    reasons = Counter(one.say() for one in skipped)
    print("skipped: " + "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common()))
    for one in skipped[:SHOWN_SKIPPED]:
        print(printable(f"  {one.name}: {one.say()}"))
    if len(skipped) > SHOWN_SKIPPED:
        print(f"  … and {len(skipped) - SHOWN_SKIPPED} more")


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counter.most_common()) or "–"
