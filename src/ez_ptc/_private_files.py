"""Databases that only their owner may read."""

import os
import stat
import warnings
from pathlib import Path
from typing import Final

__all__ = ["create_private_file"]

_OWNER_ONLY: Final = 0o600
_OTHERS: Final = 0o077
_MAGIC: Final = b"SQLite format 3\0"


def create_private_file(path: Path) -> None:
    """Create an empty database for its owner only, whatever the process's mask, unless there is one.

    A `UserWarning` names an existing database that other users may access. Raises OSError if the file cannot be
    created, also if there is a link to nothing in its place.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except FileExistsError:
        mode = path.stat().st_mode
        if os.name == "posix" and stat.S_ISREG(mode) and mode & _OTHERS:
            # Anything else will be refused.
            with path.open("rb") as file:
                is_database = file.read(len(_MAGIC)) in {b"", _MAGIC}
            if not is_database:
                return
            message = f"other users may access {path} (mode {stat.S_IMODE(mode):04o}): if they should not, chmod 600 it"
            warnings.warn(message, UserWarning, stacklevel=2)
        return
    try:
        if hasattr(os, "fchmod"):  # elsewhere, files have no modes for others
            os.fchmod(descriptor, _OWNER_ONLY)
    finally:
        os.close(descriptor)
