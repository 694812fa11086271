"""A toolkit as a function `execute_tools(code)`, for frameworks that make tools of functions."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from ez_ptc.errors import ContinuationError, RunInProgressError
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.execution.callers import Caller
from ez_ptc.toolkit.execution.continuing import LastFailure
from ez_ptc.toolkit.validation import program_problem
from ez_ptc.tools.approvals.approval import check_approver
from ez_ptc.tools.call_settings import check_max_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager

    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
    from ez_ptc.toolkit.corrections import Correction, Corrections
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["ExecuteFunction", "ProgramFunctions"]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class ExecuteFunction(Protocol[R_co]):
    """The function `execute_tools`; one that continues by itself has no `after`."""

    __name__: str
    __qualname__: str

    def __call__(self, code: str, after: str | None = None) -> R_co:
        """Run a program, and return the text for the model."""
        ...


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
        context: object
        corrections: Corrections
        execute: Callable[..., ExecutionResult]
        aexecute: Callable[..., Awaitable[ExecutionResult]]
        tool_schema: Callable[..., dict[str, Any]]

    def as_tool(
        self,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        max_text: int | None = None,
        continues: bool = False,
    ) -> ExecuteFunction[str]:
        """Return a function `execute_tools(code: str, after: str | None = None) -> str` to register with a framework.

        It returns `answer`'s text, and its docstring lists the tools. A framework may want `as_async_tool`. The text of
        a failure names a token for the argument `after`, with which a corrected program continues the failed one.

        Args:
            context, approve, max_text: As in `execute`.
            continues: Whether the function serves one conversation, and a program after a failed one continues it, as
                with `execute(after=...)`. The function has no argument `after` then.

        Raises ValueError if `max_text` is not a positive int.
        """
        check_max_text(max_text)
        check_approver(approve)
        most = max_text or self.limits.text
        run = partial(self.execute, context=context, approve=approve)
        last = LastFailure(is_noted=continues)

        def execute_tools(code: str, after: str | None = None) -> str:
            if (problem := program_problem(code)) is not None:  # of a model, by a framework that checks no types
                return f"ERROR: {problem}"[:most]
            try:
                with self.correcting(after, context=context) as correction:
                    result = run(code, after=correction.failed)
                    token = correction.end(result)
            except (ContinuationError, RunInProgressError) as error:
                return f"ERROR: {error}"[:most]
            return self.answer(code, result, max_text, mode="tool", continues=False, after=token)

        def continue_last(code: str) -> str:
            if (problem := program_problem(code)) is not None:
                return f"ERROR: {problem}"[:most]
            after = last.result
            try:
                result = run(code, after=after)
            except RunInProgressError as error:
                return f"ERROR: {error}"[:most]
            return self.answer(code, result, max_text, mode="tool", continues=last.note(result, after))

        return self._as_tool(continue_last if continues else execute_tools)

    def as_async_tool(
        self,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        max_text: int | None = None,
        continues: bool = False,
    ) -> ExecuteFunction[Awaitable[str]]:
        """Same as `as_tool`, but an asynchronous function."""
        check_max_text(max_text)
        check_approver(approve)
        most = max_text or self.limits.text
        run = partial(self.aexecute, context=context, approve=approve)
        last = LastFailure(is_noted=continues)

        async def execute_tools(code: str, after: str | None = None) -> str:
            if (problem := program_problem(code)) is not None:
                return f"ERROR: {problem}"[:most]
            try:
                with self.correcting(after, context=context) as correction:
                    result = await run(code, after=correction.failed)
                    token = correction.end(result)
            except (ContinuationError, RunInProgressError) as error:
                return f"ERROR: {error}"[:most]
            return self.answer(code, result, max_text, mode="tool", continues=False, after=token)

        async def continue_last(code: str) -> str:
            if (problem := program_problem(code)) is not None:
                return f"ERROR: {problem}"[:most]
            after = last.result
            try:
                result = await run(code, after=after)
            except RunInProgressError as error:
                return f"ERROR: {error}"[:most]
            return self.answer(code, result, max_text, mode="tool", continues=last.note(result, after))

        return self._as_tool(continue_last if continues else execute_tools)

    def correcting(
        self, after: object, *, principal: str | None = None, context: object = NO_CONTEXT
    ) -> AbstractContextManager[Correction]:
        """Return a context manager for a program that a model has passed with `after`, in a server of your own.

        Inside, run the program with `after=correction.failed`, and pass its result to `correction.end`: it returns the
        token that the text names by `answer(code, result, after=token)`, or None if nothing can be continued.

        Args:
            after: The token that a failure's text has named; None or "" for a program that corrects none.
            principal: For whom the program runs. A token is of use to no other principal or, without one, context.
            context: The value of the tools' `Context` parameters, instead of the toolkit's.

        Entering it raises ContinuationError for a token that is unknown, expired or another caller's, and while another
        program corrects the same one. Nothing has run then.
        """
        return self.corrections.begin(after, Caller(principal, self.context if context is NO_CONTEXT else context))

    def _as_tool(self, function: Callable[..., R]) -> ExecuteFunction[R]:
        schema = self.tool_schema("raw", after=True)
        arguments = {name: schema["parameters"]["properties"][name] for name in inspect.signature(function).parameters}
        lines = [f"    {name}: {argument['description']}" for name, argument in arguments.items()]
        function.__qualname__ = function.__name__ = "execute_tools"
        function.__doc__ = "\n".join([schema["description"], "", "Args:", *lines])
        # Postponed annotations are strings, but frameworks need types.
        types = {"code": str, "after": str | None}
        function.__annotations__ = {**{name: types[name] for name in arguments}, "return": str}
        return function
