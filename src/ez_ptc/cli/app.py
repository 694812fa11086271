"""The entry point of the command `ez-ptc`."""

from __future__ import annotations

import errno
import os
import sys
from typing import Final

from ez_ptc._extras import import_extra
from ez_ptc.cli.terminal import escape_unencodable, open_closed_streams, printable_lines, show_progress
from ez_ptc.errors import EzPtcError

__all__ = ["main"]

# Exit codes other than 0 and 1.
_COMMAND_FAILED: Final = 2
_INTERRUPTED: Final = 130
# Errors of a write, as when standard output is a file on a full disk.
_FULL: Final = frozenset({errno.ENOSPC, errno.EFBIG})


def main(arguments: list[str] | None = None) -> int:
    """Run a command line (default: the process's own) and return the exit code.

    0 means success. 1 means a failed program, a wrong answer, or missing isolation. 2 means that the command itself
    failed; standard error has the reason and a remedy. 3 means that a run waits for a person's decision.
    """
    try:
        open_closed_streams()
        escape_unencodable()
        for module in ("cyclopts", "rich.console"):
            import_extra(module, extra="cli")
        from ez_ptc.cli.commands import run_command

        with show_progress():
            code = run_command(arguments)
        sys.stdout.flush()
        return code
    except EzPtcError as error:
        print(f"ez-ptc: {printable_lines(str(error))}", file=sys.stderr)
        return _COMMAND_FAILED
    except KeyboardInterrupt:
        print("ez-ptc: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except OSError as error:
        if error.errno in _FULL:
            message = f"cannot write the output: {error.strerror}; make room, or send it elsewhere"
            print(f"ez-ptc: {message}", file=sys.stderr)
        elif not isinstance(error, BrokenPipeError):
            raise
        # Output is left that no one reads or that has no room. Python would report it again on closing the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _COMMAND_FAILED
