"""The command line: ``python -m spec_core generate | datastore | models``."""

from __future__ import annotations

import argparse
import os
import sys

from . import commands
from .datastore import commands as datastore_commands
from .messages import UserError, say


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0, 2 for something the user can mend, 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="python -m spec_core", description="Speculation Lab without a browser.")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    commands.add_generate(subparsers)
    datastore_commands.add_parser(subparsers)
    commands.add_models(subparsers)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except BrokenPipeError:
        raise
    except (UserError, OSError) as error:
        print(f"error: {_sentence(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    return 0


def _sentence(error: UserError | OSError) -> str:
    """What to tell of an error; of the system's own ones what happened, and to which file."""
    if isinstance(error, OSError) and error.strerror:
        return say("command.file_failed", path=error.filename, reason=error.strerror) if error.filename else error.strerror
    return str(error)


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) went away: nothing more to say, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)
