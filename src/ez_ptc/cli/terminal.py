"""Text on its way to a terminal, which obeys characters that cannot be seen."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import TextIO

__all__ = ["drop_typed_ahead", "escape_unencodable", "harmless", "printable", "show_progress", "write"]

# They have no ink and do no harm: numbers and emoji are written with them.
_BLANKS: Final = "\n\t\xa0\u202f\u200d"


def printable(text: str, *, kept: str = "") -> str:
    """Return text with escapes for what a terminal would obey or not show: a forged question must not look like ours.

    It is part of a line, unless ends of lines are among the characters that are `kept`.
    """
    return "".join(each if each in kept or each.isprintable() else repr(each)[1:-1] for each in text)


def harmless(text: str) -> str:
    """Do the same as `printable`, but keep ends of lines and tabs."""
    return printable(text, kept="\n\t")


def write(stream: TextIO, text: str) -> None:
    """Write foreign text: as it is where another program reads it, with escapes where a person does."""
    stream.write(printable(text.replace("\r\n", "\n"), kept=_BLANKS) if stream.isatty() else text)


def escape_unencodable() -> None:
    """Let all text be written and read, whatever the encoding of the standard streams: with escapes."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _Progress(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(f"ez-ptc: {harmless(record.getMessage())}", file=sys.stderr)


@contextmanager
def show_progress() -> Generator[None]:
    """Write to standard error what the sandbox does meanwhile, where a person waits for it."""
    log, handler = logging.getLogger("ez_ptc.sandbox"), _Progress()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


def drop_typed_ahead() -> None:
    """Forget what was typed at the terminal before now: it cannot be the answer to what is asked next."""
    with suppress(ImportError, OSError, ValueError):
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
