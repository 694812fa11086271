"""This library, where the model writes programs into its text."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from benchmarks.model.subject import Outcome, Subject
from ez_ptc import Toolkit, ez_tool

__all__ = ["NO_PROGRAM", "start"]

NO_PROGRAM: Final = "There was no program in your answer. Answer with ONE ```python block."


def start(functions: Sequence[Callable[..., object]]) -> Subject:
    """Return a toolkit over the functions."""
    return _Ours(functions)


class _Ours:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        self._toolkit = Toolkit([ez_tool(each) for each in functions], assist_tool_chaining=True)
        self.system = self._toolkit.prompt()
        self.tools: list[dict[str, Any]] = []
        self.stop: list[str] = []

    def question(self, text: str) -> str:
        return text

    def run(self, answer: str) -> Outcome:
        code = self._toolkit.extract_code(answer)
        if code is None:
            return Outcome("", success=False, told=NO_PROGRAM)
        result = self._toolkit.execute(code, 10)
        return Outcome(result.to_string(), result.success, self._toolkit.answer(code, result))

    def begin(self) -> None:
        """Each program has a process of its own."""
