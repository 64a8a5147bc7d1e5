"""The command line of ``app.py``. No gradio: ``--help`` answers at once."""

from __future__ import annotations

import argparse
import ipaddress
import os
import sys
from collections.abc import Sequence

from spec_core.terminal import byte_count


def flags() -> argparse.ArgumentParser:
    """Every flag, with its default."""
    parser = argparse.ArgumentParser(prog="app.py", description="Speculative decoding, made visible in the browser.",
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 opens it to the network")
    parser.add_argument("--port", type=int, default=7860, help="port to listen on")
    parser.add_argument("--share", action="store_true", help="also serve through a public gradio.live link")
    parser.add_argument("--auth", action="append", metavar="NAME:PASSWORD",
                        help="ask for a login; may be repeated. SPECULATION_LAB_AUTH does the same, unseen by ps")
    parser.add_argument("--default-target", default="smollm2-135m", help="target that the page begins with")
    parser.add_argument("--max-new-tokens", type=int, default=1024, help="most new tokens of a run")
    parser.add_argument("--queue-size", type=int, default=16, help="most runs that wait for the device")
    parser.add_argument("--kept-runs", type=int, default=32, help="most runs kept for followers; the oldest go first")
    parser.add_argument("--max-file-size", type=byte_count, default="64mb", help="most bytes of an uploaded file")
    parser.add_argument("--max-corpus-size", type=byte_count, default="1gb", help="most bytes of a datastore's files")
    parser.add_argument("--read-only-datastores", action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS,
                        help="visitors build, add to, rename and delete no datastores; the "
                        "default where other machines are let in (--share, --host) without --auth")
    parser.add_argument("--browser", action=argparse.BooleanOptionalAction, help="open the page in a browser",
                        default=bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
                        or sys.platform in ("darwin", "win32"))
    return parser


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The flags as they were given, and checked: ``auth`` is (name, password) pairs or None. A mistake ends the process, in one line."""
    parser = flags()
    given = parser.parse_args(arguments)
    for name in ("max_new_tokens", "queue_size", "kept_runs"):
        if getattr(given, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is at least 1")
    if not 0 <= given.port <= 65535:
        parser.error("--port is between 0 and 65535")
    given.auth = _logins(given, parser)
    given.read_only_datastores = _read_only(given)
    return given


def _logins(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> list[tuple[str, ...]] | None:
    """The names and passwords to ask for, or None."""
    given = arguments.auth or [login for login in [os.environ.get("SPECULATION_LAB_AUTH")] if login]
    pairs = [tuple(login.split(":", 1)) for login in given]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        parser.error("a login is written NAME:PASSWORD")
    return pairs or None


def _read_only(arguments: argparse.Namespace) -> bool:
    """Whether visitors change no datastores: as was said, or where other machines are let in without a login."""
    if hasattr(arguments, "read_only_datastores"):
        return arguments.read_only_datastores
    try:
        local = arguments.host == "localhost" or ipaddress.ip_address(arguments.host).is_loopback
    except ValueError:  # the name of a machine
        local = False
    return not arguments.auth and (arguments.share or not local)
