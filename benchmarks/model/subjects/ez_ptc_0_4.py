"""ez-ptc 0.4.0 from the registry, in its prompt mode and with the shapes of results."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.model.subject import Outcome, Subject

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Subject:
    """Return a toolkit over the functions."""
    return _Old(functions)


class _Old:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        library: Any = importlib.import_module("ez_ptc")
        self._toolkit: Any = library.Toolkit([library.ez_tool(each) for each in functions], assist_tool_chaining=True)
        self.system: str = self._toolkit.prompt()
        self.tools: list[dict[str, Any]] = []
        self.stop: list[str] = []

    def question(self, text: str) -> str:
        return text

    def run(self, answer: str) -> Outcome:
        code = self._toolkit.extract_code(answer)
        if code is None:
            return Outcome("", success=False, told="There was no program in your answer.")
        result = self._toolkit.execute_sync(code)
        told: str = result.to_string()
        return Outcome(told, result.success, told)

    def begin(self) -> None:
        """Each program has names of its own."""
