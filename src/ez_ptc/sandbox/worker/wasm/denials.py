"""What WebAssembly has not: the same errors as where the kernel denies it, since programs and models know those.

They inform, and protect nothing: there is nothing to be reached.
"""

from __future__ import annotations

import builtins
import io
import os
import socket
import subprocess
from typing import Any, NoReturn, cast

from .loop import HostLoop

__all__ = ["install"]

# Their numbers in Linux, where a program's author has seen them.
_EPERM, _EACCES = 1, 13


def install() -> None:
    """Deny files, connections and processes."""
    open_file: Any = io.open

    def open_descriptor(file: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as in Python
        if isinstance(file, int):
            return open_file(file, *args, **kwargs)
        raise PermissionError(_EACCES, "Permission denied", os.fspath(cast("str", file)))

    def deny(*_: object, **__: object) -> NoReturn:
        raise PermissionError(_EPERM, "Operation not permitted")

    builtins.open = io.open = open_descriptor
    for names, owner in _DENIED:
        for name in names.split():
            setattr(owner, name, deny)


_DENIED: tuple[tuple[str, Any], ...] = (
    ("create_connection create_server getaddrinfo gethostbyname socketpair", socket),
    ("__init__", socket.socket),
    ("__init__", subprocess.Popen),
    ("fork system popen kill", os),
    ("subprocess_exec subprocess_shell", HostLoop),
)
