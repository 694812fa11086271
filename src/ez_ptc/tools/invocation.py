"""Calling a tool with a model's arguments: what `Tool` adds to its function."""

import typing
from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic, overload

from ez_ptc._sync import run_coroutine, to_thread
from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools.call_settings import NO_SETTINGS, CallSettings
from ez_ptc.tools.calls import acall_tool, arun_call, call_tool, run_call
from ez_ptc.tools.outputs.failures import failure

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    from ez_ptc.messages import ToolCall, ToolResult
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.call_lifetime import CallLife
    from ez_ptc.tools.definitions.definition import Definition

    P = ParamSpec("P", default=...)
    R_co = TypeVar("R_co", default=object, covariant=True)
    T = TypeVar("T")
else:  # the same without defaults, which need Python 3.13 or typing_extensions
    P = typing.ParamSpec("P")
    R_co = typing.TypeVar("R_co", covariant=True)

__all__ = ["InvocableTool", "P", "R_co"]

_MAX_QUICK_LENGTH: Final = 20_000  # characters of JSON text; parsing more would hold up an event loop


class InvocableTool(Generic[P, R_co]):
    """The calls of a `Tool` with checked arguments, whatever makes them.

    What a call returns has the type that the function's annotation says: of a coroutine, what it is awaited for; of a
    generator, a list of its items.
    """

    _definition: "Definition"
    _settings: CallSettings

    @overload
    def call(
        self: "InvocableTool[..., Awaitable[T]]",
        arguments: dict[str, Any] | str,
        /,
        *,
        context: object = NO_CONTEXT,
        approve: "Approver | None" = None,
    ) -> "T": ...
    @overload
    def call(
        self: "InvocableTool[..., Generator[T, Any, Any] | AsyncIterator[T]]",
        arguments: dict[str, Any] | str,
        /,
        *,
        context: object = NO_CONTEXT,
        approve: "Approver | None" = None,
    ) -> "list[T]": ...
    @overload
    def call(
        self: "InvocableTool[..., Iterator[T]]",
        arguments: dict[str, Any] | str,
        /,
        *,
        context: object = NO_CONTEXT,
        approve: "Approver | None" = None,
    ) -> "Iterable[T]": ...
    @overload
    def call(
        self, arguments: dict[str, Any] | str, /, *, context: object = NO_CONTEXT, approve: "Approver | None" = None
    ) -> R_co: ...
    def call(
        self, arguments: dict[str, Any] | str, /, *, context: object = NO_CONTEXT, approve: "Approver | None" = None
    ) -> object:
        """Check a model's arguments, call the function with them and return its result.

        An asynchronous function runs to completion on an event loop of its own.

        Args:
            arguments: The model's arguments: a dict or JSON text.
            context: The value of the function's `Context` parameters.
            approve: The approver, if the tool requires approval.

        Raises:
            ArgumentsError: The arguments are wrong; the message lists all problems.
            ToolError: The call was not approved.
            Exception: Whatever the function raises.
        """
        settings = self._settings.for_call(context, approve)
        passed, _ = self._definition.read(arguments)
        if self._definition.is_async:
            return run_coroutine(acall_tool, self._definition, (), passed, settings)
        return call_tool(self._definition, (), passed, settings)

    @overload
    async def acall(
        self: "InvocableTool[..., Awaitable[T]]",
        arguments: dict[str, Any] | str,
        /,
        *,
        context: object = NO_CONTEXT,
        approve: "Approver | None" = None,
    ) -> "T": ...
    @overload
    async def acall(
        self: "InvocableTool[..., Generator[T, Any, Any] | AsyncIterator[T]]",
        arguments: dict[str, Any] | str,
        /,
        *,
        context: object = NO_CONTEXT,
        approve: "Approver | None" = None,
    ) -> "list[T]": ...
    @overload
    async def acall(
        self: "InvocableTool[..., Iterator[T]]",
        arguments: dict[str, Any] | str,
        /,
        *,
        context: object = NO_CONTEXT,
        approve: "Approver | None" = None,
    ) -> "Iterable[T]": ...
    @overload
    async def acall(
        self, arguments: dict[str, Any] | str, /, *, context: object = NO_CONTEXT, approve: "Approver | None" = None
    ) -> R_co: ...
    async def acall(
        self, arguments: dict[str, Any] | str, /, *, context: object = NO_CONTEXT, approve: "Approver | None" = None
    ) -> object:
        """Same as `call`, but awaits; a synchronous function runs in a worker thread."""
        settings = self._settings.for_call(context, approve)
        return await acall_tool(self._definition, (), (await self._aread(arguments))[0], settings)

    def execute(self, /, **arguments: object) -> "ToolResult":
        """Same as `call`, but never raises: errors are logged and returned in the result."""
        return self._run(arguments, self._settings)

    async def aexecute(self, /, **arguments: object) -> "ToolResult":
        """Same as `execute`, but awaits; a synchronous function runs in a worker thread."""
        return await arun_call(self._definition, (), arguments, self._settings)

    def _run(self, arguments: Mapping[str, object], settings: CallSettings) -> "ToolResult":
        if self._definition.is_async:
            return run_coroutine(arun_call, self._definition, (), arguments, settings)
        return run_call(self._definition, (), arguments, settings)

    def run(self, call: "ToolCall", settings: CallSettings = NO_SETTINGS) -> "ToolResult":
        """Run a call from a provider's answer and return its result; never raises."""
        try:
            arguments, repairs = self._definition.read(call.arguments)
        except ArgumentsError as error:
            settings = settings.over(self._settings)
            return failure(self._definition.name, error, max_text=settings.text_bound, keeper=settings.keeper)
        return _with_repairs(self._run(arguments, settings.over(self._settings)), repairs)

    async def arun(
        self, call: "ToolCall", settings: CallSettings = NO_SETTINGS, *, life: "CallLife | None" = None
    ) -> "ToolResult":
        """Same as `run`, but awaits; a synchronous function runs in a worker thread."""
        try:
            arguments, repairs = await self._aread(call.arguments)
        except ArgumentsError as error:
            settings = settings.over(self._settings)
            return failure(self._definition.name, error, max_text=settings.text_bound, keeper=settings.keeper)
        result = await arun_call(self._definition, (), arguments, settings.over(self._settings), life)
        return _with_repairs(result, repairs)

    async def _aread(self, arguments: dict[str, object] | str) -> tuple[dict[str, object], tuple[str, ...]]:
        if isinstance(arguments, str) and len(arguments) > _MAX_QUICK_LENGTH:
            return await to_thread(self._definition.read, arguments)
        return self._definition.read(arguments)


def _with_repairs(result: "ToolResult", repairs: tuple[str, ...]) -> "ToolResult":
    if repairs and result.success:
        return replace(result, repairs=(*repairs, *result.repairs))
    return result
