"""Speculation Lab: parse the flags, build the page, serve it."""

from __future__ import annotations

import spec_core.runtime  # noqa: F401  first: sets the environment that torch reads when it loads
from spec_core.terminal import byte_count

import argparse
import logging
import os
import sys

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"


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
    parser.add_argument("--browser", action=argparse.BooleanOptionalAction, help="open the page in a browser",
                        default=bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
                        or sys.platform in ("darwin", "win32"))
    return parser


def logins(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> list[tuple[str, ...]] | None:
    """The names and passwords to ask for, or None."""
    given = arguments.auth or [login for login in [os.environ.get("SPECULATION_LAB_AUTH")] if login]
    pairs = [tuple(login.split(":", 1)) for login in given]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        parser.error("a login is written NAME:PASSWORD")
    return pairs or None


def main() -> None:
    """Serve until interrupted."""
    parser = flags()
    arguments = parser.parse_args()
    for name in ("max_new_tokens", "queue_size", "kept_runs"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is at least 1")
    if not 0 <= arguments.port <= 65535:
        parser.error("--port is between 0 and 65535")
    auth = logins(arguments, parser)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    from spec_core.datastore.ingest.limits import Limits
    from ui import page  # after the flags: --help answers at once
    from ui.form import Defaults
    from ui.runs import Bounds

    blocks = page.build(Defaults(arguments.default_target, arguments.max_new_tokens),
                        Bounds(queue=arguments.queue_size, kept=arguments.kept_runs),
                        Limits(total_bytes=arguments.max_corpus_size, file_bytes=arguments.max_file_size))
    blocks.queue(max_size=64)
    look = page.look()
    try:
        _, local, public = blocks.launch(
            server_name=arguments.host, server_port=arguments.port, share=arguments.share, auth=auth,
            inbrowser=arguments.browser, run_history=False, max_file_size=arguments.max_file_size,
            ssr_mode=False, quiet=True, prevent_thread_lock=True, **look)
    except OSError:
        parser.exit(2, f"app.py: {arguments.host}:{arguments.port} is taken or not allowed; choose another --port\n")
    print(f"Speculation Lab: {public or local} (Ctrl+C stops it)", flush=True)
    blocks.block_thread()


if __name__ == "__main__":
    main()
