"""Tools, programs, and the checkers of a sandbox, for the tests of checkers."""

from __future__ import annotations

import _socket
import threading

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.host.workers.checkers import Checker, Checkers

# No program can tell which worker has checked it.
# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false

__all__ = ["RIGHT", "WRONG", "add_one", "checkers_of", "find_row", "made", "replace_socket", "with_checker"]

RIGHT = "print('before')\nadd_one(1)"
WRONG = "print('before')\nadd_one('one')"


class Calls(list[int]):
    """The arguments that the tool was called with."""


made = Calls()


@ez_tool
def add_one(x: int) -> int:
    """Add one."""
    made.append(x)
    return x + 1


@ez_tool(read_only=True)
def find_row(x: int) -> dict[str, int]:
    """Find a row."""
    return {"name": x}


def checkers_of(sandbox: ProcessSandbox) -> Checkers:
    return sandbox._pool.zygote().ready.checkers


def with_checker(sandbox: ProcessSandbox, toolkit: Toolkit) -> Checker:
    """Run programs until there is a checker, and return it."""
    pause = threading.Event()
    for _ in range(500):
        assert toolkit.execute(RIGHT, 20).success
        for checker in tuple(checkers_of(sandbox)._idle):
            if checker.owner() is toolkit._channel.grants:
                return checker
        pause.wait(0.01)
    raise TimeoutError


def replace_socket(checker: Checker) -> _socket.socket:
    """Return the other end of a checker's connection, for the test to answer."""
    near, far = _socket.socketpair()
    near.setblocking(False)
    checker.worker.socket.close()
    vars(type(checker.worker))["socket"].__set__(checker.worker, near)
    return far
