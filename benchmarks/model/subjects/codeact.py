"""langgraph-codeact from the registry: its prompt and its parsing; programs run as its documentation shows."""

import builtins
import contextlib
import importlib
import io
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.model.subject import Outcome, Subject

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Subject:
    """Return its prompt over the functions."""
    return _CodeAct(functions)


class _CodeAct:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        self._library: Any = importlib.import_module("langgraph_codeact")
        self._parsing: Any = importlib.import_module("langgraph_codeact.utils")
        self._functions = {each.__name__: each for each in functions}
        self.system: str = self._library.create_default_prompt(list(functions))
        self.tools: list[dict[str, Any]] = []
        self.stop: list[str] = []
        self.begin()

    def question(self, text: str) -> str:
        return text

    def begin(self) -> None:
        self._names: dict[str, Any] = {"__builtins__": builtins, **self._functions}

    def run(self, answer: str) -> Outcome:
        code = self._parsing.extract_and_combine_codeblocks(answer)
        if not code:
            return Outcome("", success=False, told="There was no program in your answer.")
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                exec(code, self._names)  # noqa: S102 - what this peer's documentation does with a program
        except Exception as error:  # noqa: BLE001 - a program may raise anything
            return Outcome(output.getvalue(), success=False, told=f"Error during execution: {error!r}")
        printed = output.getvalue() or "<code ran, no output printed to stdout>"
        return Outcome(output.getvalue(), success=True, told=printed)
