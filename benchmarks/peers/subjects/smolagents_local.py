"""smolagents' executor: a Python interpreter written in Python, in the host's own process; that is no isolation."""

import importlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Protocol, cast

from benchmarks.peers.subject import TOOLS, Subject

__all__ = ["start"]


class _Output(Protocol):
    output: object


class _Executor(Protocol):
    def send_tools(self, tools: dict[str, Callable[..., object]], /) -> None: ...
    def __call__(self, code: str, /) -> _Output: ...


class _Library(Protocol):
    @staticmethod
    def LocalPythonExecutor(*, additional_authorized_imports: Sequence[str]) -> _Executor: ...  # noqa: N802 - its name


def start() -> Subject:
    """Return what makes an executor for each program. Raises ImportError where smolagents is not installed."""
    return _Smolagents(cast("_Library", cast("object", importlib.import_module("smolagents"))))


class _Smolagents:
    offers_tools = True

    def __init__(self, library: _Library) -> None:
        self._library = library

    def run(self, code: str) -> object:
        with self.session() as run:
            return run(code)

    @contextmanager
    def session(self) -> Generator[Callable[[str], object]]:
        executor = self._library.LocalPythonExecutor(additional_authorized_imports=["time"])
        executor.send_tools(dict(TOOLS))
        yield lambda code: executor(code).output

    def close(self) -> None:
        """Nothing was started."""
