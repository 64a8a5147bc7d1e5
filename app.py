"""Speculation Lab: parse the flags, build the page, serve it."""

from __future__ import annotations

import spec_core.runtime  # noqa: F401  first: sets the environment that torch reads when it loads
from ui.flags import parse

import logging
import os
import sys

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"


def main() -> None:
    """Serve until interrupted."""
    arguments = parse()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    from spec_core.datastore.ingest.limits import Limits
    from ui import page  # after the flags: --help answers at once
    from ui.form import Defaults
    from ui.runs import Bounds

    blocks = page.build(Defaults(arguments.default_target, arguments.max_new_tokens),
                        Bounds(queue=arguments.queue_size, kept=arguments.kept_runs),
                        Limits(total_bytes=arguments.max_corpus_size, file_bytes=arguments.max_file_size),
                        arguments.read_only_datastores)
    blocks.queue(max_size=64)
    look = page.look()
    try:
        _, local, public = blocks.launch(
            server_name=arguments.host, server_port=arguments.port, share=arguments.share, auth=arguments.auth,
            inbrowser=arguments.browser, run_history=False, max_file_size=arguments.max_file_size,
            ssr_mode=False, quiet=True, prevent_thread_lock=True, **look)
    except OSError:
        print(f"app.py: {arguments.host}:{arguments.port} is taken or not allowed; choose another --port", file=sys.stderr)
        sys.exit(2)
    print(f"Speculation Lab: {public or local} (Ctrl+C stops it)", flush=True)
    blocks.block_thread()


if __name__ == "__main__":
    main()
