"""This library, through the door that its users take, with the sandbox that it chooses or a given one."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.peers.subject import TOOLS, Subject

if TYPE_CHECKING:
    from ez_ptc import ExecutionResult, Sandbox

__all__ = ["start", "start_with"]


def start() -> Subject:
    """Return a toolkit over the tools."""
    return _Ours()


def start_with(sandbox: "Sandbox") -> Subject:
    """Return a toolkit over the tools that runs programs in a sandbox; closing it does not close the sandbox."""
    return _Ours(sandbox)


class _Ours:
    offers_tools = True

    def __init__(self, sandbox: "Sandbox | None" = None) -> None:
        from ez_ptc import Toolkit, ez_tool

        self._toolkit = Toolkit([ez_tool(function) for function in TOOLS.values()], sandbox=sandbox)

    def run(self, code: str) -> object:
        return _value(self._toolkit.execute(code))

    @contextmanager
    def session(self) -> Generator[Callable[[str], object]]:
        with self._toolkit.session() as session:
            yield lambda code: _value(session.execute(code))

    def close(self) -> None:
        self._toolkit.close()


def _value(result: "ExecutionResult") -> object:
    result.raise_for_error()
    return result.return_value
