"""A toolkit as a function `execute_tools(code)`, for frameworks that make tools of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.execution.continuing import LastFailure
from ez_ptc.toolkit.validation import program_problem
from ez_ptc.tools.call_settings import check_max_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ez_ptc.sandbox.execution import ExecutionResult, Limits
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["ProgramFunctions"]

R = TypeVar("R")


class _NoFunction:
    """An attribute of functions; reading it of a toolkit raises TypeError with the right argument for a framework."""

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[object]) -> Self:
        if instance is None and self._name != "__signature__":
            return self
        if instance is None:  # the class has its own signature, without this attribute
            raise AttributeError(self._name)
        message = (
            "expected a tool, got a Toolkit: pass an agent framework tools=export_tools(toolkit), a list, with "
            "export_tools from the framework's module of ez_ptc.integrations; elsewhere, pass toolkit.as_tool()"
        )
        raise TypeError(message)


class ProgramFunctions:
    """The methods of `Toolkit` that return functions."""

    if not TYPE_CHECKING:  # a type checker refuses a toolkit as a function by itself
        __name__ = "execute_tools"
        __call__ = _NoFunction()
        __signature__ = _NoFunction()

    if TYPE_CHECKING:  # `Toolkit` has and documents them
        answer: Callable[..., str]
        limits: Limits
        execute: Callable[..., ExecutionResult]
        aexecute: Callable[..., Awaitable[ExecutionResult]]
        tool_schema: Callable[[str], dict[str, Any]]

    def as_tool(
        self,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        max_text: int | None = None,
        continues: bool = False,
    ) -> Callable[[str], str]:
        """Return a function `execute_tools(code: str) -> str` to register with a framework.

        It returns `answer`'s text, and its docstring lists the tools. A framework may want `as_async_tool`.

        Args:
            context: The value of the tools' `Context` parameters, instead of the toolkit's.
            approve: The approver, instead of the toolkit's.
            max_text: The maximum characters, instead of `limits.text`.
            continues: Whether the function serves one conversation, and a program after a failed one continues it, as
                with `execute(after=...)`.

        Raises ValueError if `max_text` is not a positive int.
        """
        check_max_text(max_text)
        last = LastFailure(is_noted=continues)

        def execute_tools(code: str) -> str:
            if (problem := program_problem(code)) is not None:  # of a model, by a framework that checks no types
                return f"ERROR: {problem}"[: max_text or self.limits.text]
            after = last.result
            result = self.execute(code, context=context, approve=approve, after=after)
            return self.answer(code, result, max_text, mode="tool", continues=last.note(result, after))

        return self._as_tool(execute_tools)

    def as_async_tool(
        self,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        max_text: int | None = None,
        continues: bool = False,
    ) -> Callable[[str], Awaitable[str]]:
        """Same as `as_tool`, but an asynchronous function."""
        check_max_text(max_text)
        last = LastFailure(is_noted=continues)

        async def execute_tools(code: str) -> str:
            if (problem := program_problem(code)) is not None:
                return f"ERROR: {problem}"[: max_text or self.limits.text]
            after = last.result
            result = await self.aexecute(code, context=context, approve=approve, after=after)
            return self.answer(code, result, max_text, mode="tool", continues=last.note(result, after))

        return self._as_tool(execute_tools)

    def _as_tool(self, function: Callable[[str], R]) -> Callable[[str], R]:
        function.__qualname__ = function.__name__ = "execute_tools"
        function.__doc__ = self.tool_schema("raw")["description"] + "\n\nArgs:\n    code: The Python program to run."
        # Postponed annotations are strings, but frameworks need types.
        function.__annotations__ = {"code": str, "return": str}
        return function
