"""A process that kills itself at a point: before or after a statement of SQL, a lock, an effect or a frame."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from types import FrameType
from typing import Final

__all__ = ["KillPoints"]

# Functions in C; a frame is received once `recv` has returned.
_BEFORE: Final = {"execute", "fcntl", "send", "write"}
_AFTER: Final = _BEFORE | {"recv"}
# Functions in Python, which send a statement and wait for its result.
_STATEMENTS: Final = {"execute", "executemany", "connect"}


class KillPoints:
    """Counts the points of this process, in every thread that starts from now on, and kills it at one of them."""

    def __init__(self, last: int) -> None:
        """Kill the process at point `last`, from 1; 0 only counts."""
        self._last = last
        self._numbers = itertools.count(1)
        self.count = 0

    def begin(self) -> None:
        """Begin to count."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def end(self) -> None:
        """End it, for this thread."""
        sys.setprofile(None)
        threading.setprofile(None)

    def _look(self, frame: FrameType, event: str, function: object) -> None:
        name = getattr(function, "__name__", "")
        if event in {"call", "return"}:
            is_point = frame.f_code.co_name in _STATEMENTS and "psycopg" in frame.f_code.co_filename
        else:
            is_point = (event == "c_call" and name in _BEFORE) or (event == "c_return" and name in _AFTER)
        if is_point:
            self.count = next(self._numbers)
            if self.count == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
