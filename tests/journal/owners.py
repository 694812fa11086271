"""Waiting until a process that was killed owns no run: a child of it may have its locks for a moment."""

from __future__ import annotations

import fcntl
import os
import struct
import time
from pathlib import Path
from typing import Final

from ez_ptc import Journal

__all__ = ["await_locks"]

_SECONDS: Final = 30.0


def await_locks(path: Path) -> None:
    """Wait until no process has a lock of the journal in a file, or in the schema for it."""
    locks = path.with_name(f"{path.name}-lock")
    if locks.exists():
        with locks.open("r+b") as file:
            whole_file = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            fcntl.fcntl(file, fcntl.F_OFD_SETLKW, whole_file)
    elif "EZ_PTC_TEST_POSTGRES" in os.environ:
        deadline = time.monotonic() + _SECONDS
        with Journal(path, retention=None) as journal:
            while journal.runs("running"):
                assert time.monotonic() < deadline, "the server has not seen that the owner died"
