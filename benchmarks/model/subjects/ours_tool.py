"""This library, where the model calls the one tool that a toolkit shows."""

from collections.abc import Callable, Sequence

from benchmarks.model.subject import Outcome, Subject
from ez_ptc import Toolkit, ez_tool

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Subject:
    """Return a toolkit over the functions."""
    return _Ours(functions)


class _Ours:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        self._toolkit = Toolkit([ez_tool(each) for each in functions], assist_tool_chaining=True)
        self.system = ""
        self.tools = [self._toolkit.tool_schema("openai")]
        self.stop: list[str] = []

    def question(self, text: str) -> str:
        return text

    def run(self, answer: str) -> Outcome:
        result = self._toolkit.execute(answer, 10)
        return Outcome(result.to_string(), result.success, self._toolkit.answer(answer, result))

    def begin(self) -> None:
        """Each program has a process of its own."""
