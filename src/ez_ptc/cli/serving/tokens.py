"""The tokens of servers over HTTP: one file for each toolkit and address, which only its owner can read."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ez_ptc._private_files import write_private_file
from ez_ptc.cli.run import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["keep_token", "token_path"]

_TOKEN_BYTES: Final = 32
_TOKEN: Final = re.compile(rb"[\w-]{16,200}")
_OTHERS: Final = 0o077


def token_path(folder: Path, tools: str, source: str, address: str) -> Path:
    """Return the file of the token of a toolkit from the module file `source`, at an address.

    Another toolkit, or the same at another address, has another file.
    """
    digest = hashlib.sha256(f"{tools}\0{source}\0{address}".encode()).hexdigest()[:16]
    name = re.sub(r"\W+", "-", tools)[:40]
    return folder / f"{name}-{digest}.token"


def keep_token(path: Path, *, instead: str = "pass one in EZ_PTC_MCP_TOKEN instead") -> str:
    """Return the token in a file, after making both if there is no file yet; `instead` says what else errors advise.

    Raises CommandError if the file or its folder may be read or replaced by others, or cannot be used.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_private(path.parent, os.lstat(path.parent), stat.S_ISDIR, instead)
        if not os.path.lexists(path):
            _make_token(path)
        # Neither a link that someone has put there, nor a pipe, which would wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags)
        try:
            _require_private(path, os.fstat(descriptor), stat.S_ISREG, instead)
            token = os.read(descriptor, 1024).strip()
        finally:
            os.close(descriptor)
    except OSError as error:
        message = f"cannot keep the token in {path}: {error.strerror or error}; {instead}"
        raise CommandError(message) from error
    if not _TOKEN.fullmatch(token):
        message = f"{path} has no token that this command has made: remove the file, and a new one will be made"
        raise CommandError(message)
    return token.decode()


def _make_token(path: Path) -> None:
    """Make the file of a token, unless another process makes it at the same time."""
    complete = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
    write_private_file(complete, f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n".encode())
    try:
        # Unlike renaming, linking never replaces the file of the other process, whose token clients may know by now.
        with suppress(FileExistsError):
            os.link(complete, path)
    finally:
        complete.unlink()


def _require_private(path: Path, status: os.stat_result, is_of_type: Callable[[int], bool], instead: str) -> None:
    if not is_of_type(status.st_mode):
        message = f"cannot keep a token in {path}: expected no link or other special file; remove it"
        raise CommandError(message)
    if os.name == "posix" and (status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & _OTHERS):
        message = (
            f"other users may access {path} (mode {stat.S_IMODE(status.st_mode):04o}, owner {status.st_uid}): a token "
            f"in it is no secret; remove it, or {instead}"
        )
        raise CommandError(message)
