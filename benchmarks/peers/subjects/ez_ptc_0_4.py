"""ez-ptc 0.4.0 from the registry: the same import name, so it is only ever imported in an environment of its own.

It runs programs in the host's own process, under names that it takes away; that is no isolation.
"""

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Final, Protocol, cast

from benchmarks.peers.subject import TOOLS, Subject

__all__ = ["VERSION", "start"]

VERSION: Final = "0.4.0"


class _Result(Protocol):
    success: bool
    error: str | None
    return_value: object


class _Toolkit(Protocol):
    def execute_sync(self, code: str) -> _Result: ...


class _Library(Protocol):
    @staticmethod
    def ez_tool(function: Callable[..., object], /) -> object: ...

    @staticmethod
    def Toolkit(tools: Sequence[object], /) -> _Toolkit: ...  # noqa: N802 - the class's name


def start() -> Subject:
    """Return a toolkit over the tools. Raises ImportError in an environment that has another version."""
    found = version("ez-ptc")
    if found != VERSION:
        message = f"ez-ptc {found} is installed here, not {VERSION}"
        raise ImportError(message)
    return _Old(cast("_Library", cast("object", importlib.import_module("ez_ptc"))))


class _Old:
    offers_tools = True

    def __init__(self, library: _Library) -> None:
        self._toolkit = library.Toolkit([library.ez_tool(function) for function in TOOLS.values()])

    def run(self, code: str) -> object:
        result = self._toolkit.execute_sync(code)
        if not result.success:
            raise RuntimeError(result.error)
        return result.return_value

    def session(self) -> AbstractContextManager[Callable[[str], object] | None]:
        """Return nothing: it has none."""
        return nullcontext()

    def close(self) -> None:
        """Nothing was started."""
