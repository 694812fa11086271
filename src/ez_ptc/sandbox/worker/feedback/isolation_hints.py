"""Hints for programs that need files, a network or processes, which the sandbox lacks."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["name_the_lack"]

_MAX_CAUSES = 20
# Errors of libraries in a Python without OpenSSL.
_OF_NETWORKS = ("the SSL module is not available", "unknown url type: http")
_NO_TEMPORARY = "No usable temporary directory"


def name_the_lack(error: BaseException) -> str | None:
    """Return the sandbox's limitation behind an error, or None."""
    if isinstance(error, (PermissionError, FileNotFoundError)) and (error.filename or _NO_TEMPORARY in str(error)):
        return "no file access in the sandbox"
    if any(isinstance(cause, socket.gaierror) for cause in _causes(error)):
        return "no network access in the sandbox"
    if isinstance(error, OSError) and error.errno == errno.EPERM:
        return "no network access and no other processes in the sandbox"
    if isinstance(error, (ImportError, OSError)) and any(map(str(error).__contains__, _OF_NETWORKS)):
        return "no network access in the sandbox"
    return None


def _causes(error: BaseException) -> Iterator[object]:
    """Yield an error and its causes, in the various ways in which Python and libraries keep them."""
    cause: object = error
    for _ in range(_MAX_CAUSES):
        yield cause
        following = getattr(cause, "reason", None) or getattr(cause, "__cause__", None)
        cause = following or getattr(cause, "__context__", None)
