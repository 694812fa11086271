"""The answer to a model about a program on a cluster, and a toolkit there as a function for frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ez_ptc._sync import to_thread
from ez_ptc.ray import wire
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.execution.continuing import LastFailure
from ez_ptc.toolkit.validation import program_problem
from ez_ptc.tools.approvals.approval import check_approver
from ez_ptc.tools.call_settings import check_max_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ez_ptc.ray.calling import ClusterCaller
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["RayFunctions"]


class RayFunctions:
    """The methods of `RayToolkit` for a model that calls one tool."""

    if TYPE_CHECKING:  # `RayToolkit` has and documents them
        execute: Callable[..., ExecutionResult]
        aexecute: Callable[..., Awaitable[ExecutionResult]]
        tool_schema: Callable[..., dict[str, Any]]
        _caller: ClusterCaller

    def answer(
        self,
        code: str,
        result: ExecutionResult,
        max_text: int | None = None,
        *,
        mode: Literal["prompt", "tool"] = "prompt",
        continues: bool = False,
    ) -> str:
        """Return the text to send to the model after its program `code` has run, as `Toolkit.answer` does.

        A node writes it. Raises ValueError if `max_text` is not a positive int, and as `check`.
        """
        check_max_text(max_text)
        arguments = {"code": code, "result": result, "max_text": max_text, "mode": mode, "continues": continues}
        message = self._caller.ask("consult", "answer", arguments)
        return wire.require(message, {"value": str})["value"]

    def as_tool(
        self,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        max_text: int | None = None,
        continues: bool = False,
    ) -> Callable[[str], str]:
        """Return a function `execute_tools(code: str) -> str` to register with a framework, as `Toolkit.as_tool` does.

        The arguments are those of `Toolkit.as_tool`. It has no argument `after`: without `continues`, a program after a
        failed one makes each call again.
        """
        last = self._begin_function(approve, max_text, continues=continues)

        def execute_tools(code: str) -> str:
            if (problem := program_problem(code)) is not None:  # of a model, by a framework that checks no types
                return f"ERROR: {problem}"
            after = last.result
            result = self.execute(code, context=context, approve=approve, after=after)
            return self.answer(code, result, max_text, mode="tool", continues=last.note(result, after))

        return self._describe(execute_tools)

    def as_async_tool(
        self,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        max_text: int | None = None,
        continues: bool = False,
    ) -> Callable[[str], Awaitable[str]]:
        """Same as `as_tool`, but an asynchronous function."""
        last = self._begin_function(approve, max_text, continues=continues)

        async def execute_tools(code: str) -> str:
            if (problem := program_problem(code)) is not None:
                return f"ERROR: {problem}"
            after = last.result
            result = await self.aexecute(code, context=context, approve=approve, after=after)
            is_continued = last.note(result, after)
            return await to_thread(lambda: self.answer(code, result, max_text, mode="tool", continues=is_continued))

        return self._describe(execute_tools)

    def _begin_function(self, approve: Approver | None, max_text: int | None, *, continues: bool) -> LastFailure:
        check_max_text(max_text)
        check_approver(approve)
        return LastFailure(is_noted=continues)

    def _describe(self, function: Any) -> Any:
        schema = self.tool_schema("raw")
        code = schema["parameters"]["properties"]["code"]["description"]
        function.__qualname__ = function.__name__ = "execute_tools"
        function.__doc__ = f"{schema['description']}\n\nArgs:\n    code: {code}"
        # Postponed annotations are strings, but frameworks need types.
        function.__annotations__ = {"code": str, "return": str}
        return function
