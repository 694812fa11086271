"""Hints for errors of programs reaching outside of the sandbox: for files, a network, processes or a terminal."""

from __future__ import annotations

import ast
import os
import socket
from traceback import walk_tb
from typing import TYPE_CHECKING

from .failing import find_failing

if TYPE_CHECKING:
    from ..signatures import Shapes

__all__ = ["OF_OPENSSL", "outside_hint"]

# The attributes of standard modules that a Python without OpenSSL lacks.
OF_OPENSSL = frozenset({"HTTPSConnection", "HTTPSHandler"})
_MAX_CAUSES = 20
_NO_FILES = "no file access in the sandbox"
_NO_NETWORK = "no network access in the sandbox"
_NO_INPUT = "no input in the sandbox"
_NO_COMMAND_LINE = "no command line in the sandbox"
# The texts of errors of Python and its libraries; many have classes of no meaning, or of modules imported on first use.
_TEXTS = {
    "No usable temporary directory": _NO_FILES,
    "Could not determine home directory": _NO_FILES,
    "unable to open database": f'{_NO_FILES}, only sqlite3.connect(":memory:")',
    "the SSL module is not available": _NO_NETWORK,
    "unknown url type: http": _NO_NETWORK,
    "EOF when reading a line": _NO_INPUT,
    "unsupported locale setting": "no locale but C in the sandbox",
    "getpwuid(): ": "no user accounts in the sandbox",
    "getpwnam(): ": "no user accounts in the sandbox",
    "getgrgid(): ": "no user accounts in the sandbox",
    "getgrnam(): ": "no user accounts in the sandbox",
}
# The numbers of Linux; errors have them in WebAssembly too.
_EPERM, _EACCES = 1, 13
# They end the program after they have printed what is missing.
_PARSERS = ("argparse", "optparse")
_READS_ENVIRONMENT = (type(os.environ).__getitem__.__code__, type(os.environ).__delitem__.__code__)


def outside_hint(error: Exception | SystemExit, shapes: Shapes) -> str | None:
    """Return the sandbox's limitation behind an error, or None."""
    lack = _find_lack(error)
    cause: object = error
    for _ in range(_MAX_CAUSES):
        if isinstance(cause, (socket.gaierror, socket.herror)):
            lack = lack or _NO_NETWORK
        # Python and libraries keep causes in various ways.
        reason = getattr(cause, "reason", None)
        if isinstance(reason, OSError):
            lack = lack or _find_lack(reason)
        cause = reason or getattr(cause, "__cause__", None) or getattr(cause, "__context__", None)
    if lack and shapes:
        return f"{lack}: get data from the tools"
    return lack


def _find_lack(error: Exception | SystemExit) -> str | None:
    lack = next((lack for text, lack in _TEXTS.items() if text in str(error)), None)
    if isinstance(error, PermissionError) and error.errno == _EPERM:
        lack = f"{'no file access' if error.filename else 'no network access'} and no other processes in the sandbox"
    elif isinstance(error, (PermissionError, FileNotFoundError)) and (error.filename or error.errno == _EACCES):
        lack = _NO_FILES
    elif isinstance(error, AttributeError) and error.name in OF_OPENSSL:
        lack = _NO_NETWORK
    elif (isinstance(error, EOFError) and not str(error)) or type(error).__name__ == "BdbQuit":
        lack = _NO_INPUT
    elif isinstance(error, KeyError):
        innermost = [frame.f_code for frame, _ in walk_tb(error.__traceback__)][-1:]
        if innermost and innermost[0] in _READS_ENVIRONMENT:
            lack = "no environment variables in the sandbox"
    elif isinstance(error, (IndexError, SystemExit)):
        lack = _find_lack_of_arguments(error)
    return lack


def _find_lack_of_arguments(error: IndexError | SystemExit) -> str | None:
    node = find_failing(error.__traceback__)[0]
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"argv", "sys.argv"}:
        return _NO_COMMAND_LINE
    modules = {frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__)}
    if modules.isdisjoint(_PARSERS) or not isinstance(node, ast.Call) or node.args or node.keywords:
        return None
    return f"{_NO_COMMAND_LINE}, only values that the program contains"
