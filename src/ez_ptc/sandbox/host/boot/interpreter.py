"""Finding the interpreter for the sandbox: the given one, or this process's, but never an application.

`sys.executable` is an interpreter only in a process started as `python`. In a frozen application it is the application,
and in an embedded Python it is anything or nothing; running it would start the application again. So it is used only
if it is known to be an interpreter.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ez_ptc._forks import without_forks
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.host.boot.host import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Interpreter", "describe_interpreter", "find_interpreter"]

_OLDEST = (3, 11)
_NAME = re.compile(r"python[\d.]*[a-z]*")
_MAGIC = b"\x7fELF"
_NAME_ONE = "name a Python interpreter, as in ProcessSandbox(python='/usr/bin/python3')"
_ASK = """
import sys
name = getattr(getattr(sys, "implementation", None), "name", "python")
print("%s %d %d" % (name, sys.version_info[0], sys.version_info[1]))
"""
_ASK_VERSION = "import platform, sys; print(platform.python_implementation(), sys.version)"
_ASK_SECONDS = 20.0
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The path of an interpreter, and the environment variables it needs to start."""

    path: str
    environment: Mapping[str, str]


def find_interpreter(named: str | None, *, same_version: bool) -> Interpreter:
    """Return the given interpreter or, by default, this process's.

    Args:
        named: A path, or the name of a command.
        same_version: Whether it must have the minor version of this process, to import its packages.

    Raises:
        SandboxError: No usable interpreter; the message says what was expected and what to do.
    """
    if named is None:
        return Interpreter(_find_own(), _pick_environment("LD_LIBRARY_PATH", "PYTHONHOME"))
    import shutil

    # A frozen application's library path leads to its bundled libraries, and its PYTHONHOME to another interpreter.
    if _is_frozen():
        environment = _pick_environment()
    else:
        environment = _pick_environment("LD_LIBRARY_PATH")
    path = shutil.which(named)
    if path is None:
        message = (
            f"expected the path of a Python interpreter, got python={_quote(named)}, which is not an executable file"
        )
        raise SandboxError(message)
    if _is_this_application(path):
        message = f"expected a Python interpreter, got python={_quote(named)}, which is this application: {_NAME_ONE}"
        raise SandboxError(message)
    # Links are kept: in a virtual environment, the link's folder identifies the environment.
    path = os.path.abspath(path)  # noqa: PTH100 - Path.resolve follows links
    wanted = f"CPython {_OLDEST[0]}.{_OLDEST[1]} or later"
    if same_version:
        major, minor = sys.version_info[:2]
        wanted = f"CPython {major}.{minor}, for which the packages of allow_imports are installed"
    answer = _ask(path, environment)
    match = re.fullmatch(r"(\w+) (\d+) (\d+)", answer)
    if match is None:
        message = f"expected {wanted}, but {_quote(path)} is not a Python interpreter: it answered {_quote(answer)}"
        raise SandboxError(message)
    version = (int(match[2]), int(match[3]))
    if same_version:
        fits = version == sys.version_info[:2]
    else:
        fits = version >= _OLDEST
    if match[1] != "cpython" or not fits:
        message = f"expected {wanted}, got {match[1]} {match[2]}.{match[3]} at {_quote(path)}: name another interpreter"
        raise SandboxError(message)
    return Interpreter(path, environment)


def describe_interpreter(named: str) -> str:
    """Return the name and version of an interpreter. Raises SandboxError as `find_interpreter` does."""
    interpreter = find_interpreter(named, same_version=False)
    return _ask(interpreter.path, interpreter.environment, _ASK_VERSION)


def _pick_environment(*names: str) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def _is_frozen() -> bool:
    return bool(getattr(sys, "frozen", False))


def _find_own() -> str:
    """Return this process's interpreter: `sys.executable`, or the one its standard library belongs to."""
    if _is_frozen():
        message = (
            f"expected a Python interpreter to run programs in, but this process is a frozen application, and "
            f"sys.executable ({_quote(sys.executable)}) is the application itself: {_NAME_ONE}"
        )
        raise SandboxError(message)
    if sys.implementation.name != "cpython":
        message = f"expected CPython to run programs in, got {sys.implementation.name}: {_NAME_ONE}"
        raise SandboxError(message)
    major, minor = sys.version_info[:2]
    installed = f"{sys.base_exec_prefix}/bin/python{major}.{minor}{sys.abiflags}"
    if sys.executable and _is_interpreter(sys.executable, installed):
        return sys.executable
    if _is_executable(installed):
        return installed
    message = (
        f"expected a Python interpreter to run programs in, but sys.executable is {_quote(sys.executable)}, which may "
        f"be an application, and there is no {_quote(installed)}: {_NAME_ONE}"
    )
    raise SandboxError(message)


def _is_interpreter(path: str, installed: str) -> bool:
    """Return whether a file is the installed interpreter, or a program named `python`, as copies of it are."""
    if not _is_executable(path):
        return False
    if _is_executable(installed) and os.path.samefile(path, installed):  # noqa: PTH121 - a Path would be made for nothing
        return True
    if _NAME.fullmatch(os.path.basename(os.path.realpath(path))) is None:  # noqa: PTH119 - as above
        return False
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        return file.read(len(_MAGIC)) == _MAGIC


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - as above


def _is_this_application(path: str) -> bool:
    applications = [sys.executable] if _is_frozen() else []
    applications += sys.argv[:1]
    return any(name and os.path.isfile(name) and os.path.samefile(path, name) for name in applications)  # noqa: PTH113, PTH121 - as above


def _ask(path: str, environment: Mapping[str, str], program: str = _ASK) -> str:
    """Return what an interpreter prints about itself, or how it fails."""
    try:
        with without_forks():
            process = subprocess.Popen(
                [path, "-E", "-S", "-c", program],
                env={**environment, MARK: "1"},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        with process, ExitStack() as on_failure:
            on_failure.callback(process.kill)
            output, errors = process.communicate(timeout=_ASK_SECONDS)
            on_failure.pop_all()
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (output or errors).decode(errors="replace").strip()


def _quote(text: str | None) -> str:
    return repr(text and text[:_MAX_SHOWN])
