"""This library, where the model writes programs into its text."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from benchmarks.model.subject import Outcome, Subject
from ez_ptc import ExecutionResult, Tool, Toolkit, ez_tool

__all__ = ["Ours", "start"]

_NO_PROGRAM: Final = "There was no program in your answer. Answer with ONE ```python block."

_SEARCHES: Final = ("search_tools(", "describe_tool(")


def start(functions: Sequence[Callable[..., object]]) -> Subject:
    """Return a toolkit over the functions."""
    return Ours([ez_tool(function) for function in functions], called=False)


class Ours:
    """A toolkit as a subject; with `called`, as the one tool that it shows."""

    def __init__(self, tools: Sequence[Tool[..., Any]], *, called: bool) -> None:
        self._toolkit = Toolkit(tools, assist_tool_chaining=True)
        self._called = called
        self.system = "" if called else self._toolkit.prompt()
        self.tools: list[dict[str, Any]] = [self._toolkit.tool_schema("openai")] if called else []
        self.stop: list[str] = []
        self._failed: ExecutionResult | None = None

    def question(self, text: str) -> str:
        """Return the question as it is."""
        return text

    def run(self, answer: str) -> Outcome:
        """Run a program: the one in the text, or the code of the call."""
        code = answer if self._called else self._toolkit.extract_code(answer)
        if code is None:
            return Outcome("", success=False, told=_NO_PROGRAM)
        result = self._toolkit.execute(code, 10, after=self._failed)
        self._failed = None if result.success else result
        mode: Literal["prompt", "tool"] = "tool" if self._called else "prompt"
        told = self._toolkit.answer(code, result, mode=mode, continues=self._failed is not None)
        is_search = result.success and not result.tool_calls and any(name in code for name in _SEARCHES)
        return Outcome(result.to_string(), result.success, told=told, is_search=is_search)

    def begin(self) -> None:
        """Continue no program of another task."""
        self._failed = None
