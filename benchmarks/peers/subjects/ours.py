"""This library, through the door that its users take."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.peers.subject import TOOLS, Subject

if TYPE_CHECKING:
    from ez_ptc import ExecutionResult

__all__ = ["start"]


def start() -> Subject:
    """Return a toolkit over the tools."""
    return _Ours()


class _Ours:
    offers_tools = True

    def __init__(self) -> None:
        from ez_ptc import Toolkit, ez_tool

        self._toolkit = Toolkit([ez_tool(function) for function in TOOLS.values()])

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
