"""What to say to a program that looked for files, a network or processes, which there are none of."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["name_the_lack"]

_MAX_CAUSES = 20
# What libraries say of a Python without OpenSSL.
_OF_NETWORKS = ("the SSL module is not available", "unknown url type: http")
_NO_TEMPORARY = "No usable temporary directory"


def name_the_lack(error: BaseException) -> str | None:
    """Return what an error comes from, where a program has asked for what is outside; None where it has not."""
    if isinstance(error, (PermissionError, FileNotFoundError)) and (error.filename or _NO_TEMPORARY in str(error)):
        return "there are no files in here"
    if any(isinstance(cause, socket.gaierror) for cause in _causes(error)):
        return "there is no network in here"
    if isinstance(error, OSError) and error.errno == errno.EPERM:
        return "there is no network and there are no other processes in here"
    if isinstance(error, (ImportError, OSError)) and any(map(str(error).__contains__, _OF_NETWORKS)):
        return "there is no network in here"
    return None


def _causes(error: BaseException) -> Iterator[object]:
    """Yield an error and those that it comes from, in the ways that Python and libraries have of keeping one."""
    cause: object = error
    for _ in range(_MAX_CAUSES):
        yield cause
        following = getattr(cause, "reason", None) or getattr(cause, "__cause__", None)
        cause = following or getattr(cause, "__context__", None)
