"""Files that only their owner may read, and paths of files."""

import contextlib
import os
import re
import stat
import uuid
import warnings
from pathlib import Path
from typing import Final

__all__ = ["create_private_file", "path_problem", "warn_of_other_users", "write_private_file"]

_OWNER_ONLY: Final = 0o600
_OTHERS: Final = 0o077
# Of two letters at least: C:// is a drive of Windows.
_ADDRESS: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]+)://")
_MAX_PATH: Final = 200


def create_private_file(path: Path) -> None:
    """Create an empty database for its owner only, whatever the process's mask, unless there is one.

    Raises OSError if the file cannot be created, also if there is a link to nothing in its place.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except FileExistsError:
        path.stat()
        return
    try:
        if hasattr(os, "fchmod"):  # elsewhere, files have no modes for others
            os.fchmod(descriptor, _OWNER_ONLY)
    finally:
        os.close(descriptor)


def write_private_file(path: Path, content: bytes) -> None:
    """Write a file for its owner only; it appears under its name once it is complete and on disk. Raises OSError."""
    partial = path.with_name(f"{path.name}-{uuid.uuid4().hex[:8]}-partial")
    try:
        create_private_file(partial)
        with partial.open("r+b") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def warn_of_other_users(path: Path) -> None:
    """Name a file that other users may access in a `UserWarning`.

    The file is not opened: closing it would release the locks that SQLite has on it in this process.
    """
    mode = path.stat().st_mode
    if os.name == "posix" and stat.S_ISREG(mode) and mode & _OTHERS:
        message = f"other users may access {path} (mode {stat.S_IMODE(mode):04o}): if they should not, chmod 600 it"
        warnings.warn(message, UserWarning, stacklevel=2)


def path_problem(path: str | os.PathLike[str], rule: str) -> str | None:
    """Return why a path names no file.

    It is SQLite's name for memory, an address, has a `~` for a home folder, or begins in a deleted folder.

    `rule` begins the message. As a file's name, an address would be shown with its password.
    """
    text = os.fspath(path)
    if text == ":memory:":
        return f"{rule}, got ':memory:': give its path, in a test under pytest's tmp_path"
    address = _ADDRESS.match(text)
    if address is not None:
        return f"{rule}, got an address that begins with {address[1]}: give its path"
    if text.startswith(("~/", "~\\")) and not Path("~").is_dir():
        return f"{rule}, got {text[:_MAX_PATH]!r}, in which '~' stays as it is: write Path(...).expanduser()"
    if not Path(text).is_absolute():
        try:
            Path.cwd()
        except FileNotFoundError:
            return f"{rule}, got {text[:_MAX_PATH]!r}, but the working directory was deleted: give an absolute path"
    return None
