"""Foreign text for terminals: control characters are escaped."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import TextIO

__all__ = [
    "discard_pending_input",
    "escape_unencodable",
    "open_closed_streams",
    "printable",
    "printable_lines",
    "show_progress",
    "write",
]

# Invisible and printable_lines: used in numbers and emoji.
_BLANKS: Final = "\n\t\xa0\u202f\u200d"


def printable(text: str, *, kept: str = "") -> str:
    """Return text with escapes for unprintable characters, except for those in `kept`.

    A terminal obeys control characters: without escapes, foreign text could forge a question of ours.
    """
    return "".join(
        character if character in kept or character.isprintable() else repr(character)[1:-1] for character in text
    )


def printable_lines(text: str) -> str:
    """Same as `printable`, but keeps line ends and tabs."""
    return printable(text, kept="\n\t")


def write(stream: TextIO, text: str) -> None:
    """Write foreign text, with escapes if the stream is a terminal."""
    if stream.isatty():
        text = printable(text.replace("\r\n", "\n"), kept=_BLANKS)
    stream.write(text)


def open_closed_streams() -> None:
    """Open the null device as each standard stream that was closed by the process that started this one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open as long as the process
            setattr(sys, name, null)


def escape_unencodable() -> None:
    """Use escapes for characters outside the encoding of the standard streams."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _ProgressHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(f"ez-ptc: {printable_lines(record.getMessage())}", file=sys.stderr)


@contextmanager
def show_progress() -> Generator[None]:
    """Print the sandbox's log messages on standard error while the context lasts."""
    log, handler = logging.getLogger("ez_ptc.sandbox"), _ProgressHandler()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


def discard_pending_input() -> None:
    """Discard input typed before now: it cannot be the answer to the next question."""
    with suppress(ImportError, OSError, ValueError):
        if sys.platform == "win32":
            import msvcrt

            while msvcrt.kbhit():
                msvcrt.getwch()
            return
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
