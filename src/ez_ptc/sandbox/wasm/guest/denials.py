"""What WebAssembly has not: the same errors as where the kernel denies it, since programs and models know those.

They inform, and protect nothing: there is nothing to be reached.
"""

from __future__ import annotations

import builtins
import errno
import io
import ipaddress
import os
import socket
import subprocess
from typing import Any, NoReturn, cast

from .loop import HostLoop

__all__ = ["install"]

# Their numbers in Linux, where a program's author has seen them.
_EPERM, _EACCES, _EAI_AGAIN = 1, 13, -3
_NOBODY = 65534
_ON_PATHS = (
    "chdir chmod link listdir lstat mkdir open readlink remove rename replace rmdir scandir stat symlink truncate "
    "unlink utime"
)
_IDS = "getegid geteuid getgid getuid"
_MISSING_IN_OS = (
    "chown chroot execv execve fchdir fchmod fchown forkpty getlogin killpg lchown mkfifo mknod nice openpty pipe "
    "posix_spawn posix_spawnp spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe statvfs umask wait "
    "waitpid"
)


def install() -> None:
    """Deny files, connections and processes."""
    numbers: Any = errno
    numbers.EPERM, numbers.EACCES = _EPERM, _EACCES
    numbers.errorcode.update({_EPERM: "EPERM", _EACCES: "EACCES"})
    _install_for_files()
    for names, owner in _DENIED:
        for name in names.split():
            setattr(owner, name, _deny)
    for name in _IDS.split():
        setattr(os, name, lambda: _NOBODY)
    made: Any = socket
    made.getaddrinfo, made.gethostbyname = _find_address, _find_by_name


def _install_for_files() -> None:
    open_file: Any = io.open

    def open_descriptor(file: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as in Python
        if isinstance(file, int):
            return open_file(file, *args, **kwargs)
        return _deny_path(file)

    builtins.open = io.open = open_descriptor
    for name in _ON_PATHS.split():
        setattr(os, name, _deny_path)


def _deny_path(path: Any = None, other: object = None, *_: object, **__: object) -> NoReturn:  # noqa: ANN401 - as in Python
    name = path if path is None or isinstance(path, int) else os.fspath(cast("str", path))
    second = other if isinstance(other, str) else None
    raise PermissionError(_EACCES, "Permission denied", name, None, second)


def _deny(*_: object, **__: object) -> NoReturn:
    raise PermissionError(_EPERM, "Operation not permitted")


def _find_address(host: Any, port: Any, *_: object, **__: object) -> list[tuple[Any, ...]]:  # noqa: ANN401 - as in Python
    """Return the address that is its own name; there is no one to ask for others."""
    try:
        address = str(ipaddress.ip_address(host or "0.0.0.0"))  # noqa: S104 - nothing is bound
    except ValueError:
        raise socket.gaierror(_EAI_AGAIN, "Temporary failure in name resolution") from None
    return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))]


def _find_by_name(host: Any) -> str:  # noqa: ANN401 - as in Python
    return _find_address(host, 0)[0][4][0]


_DENIED: tuple[tuple[str, Any], ...] = (
    ("__init__", socket.socket),
    ("socketpair", socket),
    ("__init__", subprocess.Popen),
    (f"fork system popen kill {_MISSING_IN_OS}", os),
    ("subprocess_exec subprocess_shell", HostLoop),
)
