"""The command `ez-ptc`: what is started when a person types it."""

from __future__ import annotations

import os
import sys
from typing import Final

from ez_ptc._extras import import_extra
from ez_ptc.cli.terminal import escape_unencodable, harmless, show_progress
from ez_ptc.errors import EzPtcError

__all__ = ["main"]

# Exit codes: a program that failed or an answer that is wrong, and a command that could not be carried out.
_COULD_NOT: Final = 2
_INTERRUPTED: Final = 130


def main(arguments: list[str] | None = None) -> int:
    """Carry out a command line, the process's own by default, and return the exit code.

    0 means that all went well, 1 that a program failed or an answer is wrong or an isolation is missing, and 2 that the
    command could not be carried out: then standard error says why and what to do.
    """
    try:
        escape_unencodable()
        for module in ("cyclopts", "rich.console"):
            import_extra(module, extra="cli")
        from ez_ptc.cli.commands import run_command

        with show_progress():
            return run_command(arguments)
    except EzPtcError as error:
        print(f"ez-ptc: {harmless(str(error))}", file=sys.stderr)
        return _COULD_NOT
    except KeyboardInterrupt:
        print("ez-ptc: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # Who reads our output has gone; Python would complain of it once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _COULD_NOT
