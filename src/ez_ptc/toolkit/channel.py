"""Where a program's calls reach the tools."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ez_ptc._lazy import lazy
from ez_ptc.errors import ArgumentsError
from ez_ptc.sandbox.execution import Grant, Grants
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools.calls import CallSettings, arun_call, run_call
from ez_ptc.tools.definitions.names import with_real_names
from ez_ptc.tools.failures import failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.messages import ToolResult
    from ez_ptc.tools.approval import Approve
    from ez_ptc.tools.call_lifetime import CallLife
    from ez_ptc.tools.definitions.definition import Definition
    from ez_ptc.tools.registry import ToolRegistry
    from ez_ptc.tools.tool import Tool

__all__ = ["ToolChannel"]


class ToolChannel:
    """The tools of one toolkit, and how they are called."""

    def __init__(
        self, tools: ToolRegistry, settings: CallSettings, listener: Callable[[dict[str, Any]], None] | None
    ) -> None:
        self._tools = tuple(tools)
        self._names = {
            tool.name: {spelling: name for name, spelling in tool.spellings.items()} for tool in tools if tool.spellings
        }
        self._settings = settings
        self._listeners = () if listener is None else (listener,)
        self.has_async_tools = any(tool.is_async for tool in tools)
        self.grants = Grants(
            Grant(
                tool.name,
                tool.signature,
                tool.docstring,
                tool.is_async,
                tool.return_type_text or "",
                read_only=tool.read_only is True,
            )
            for tool in tools
        )

    def with_settings(
        self, context: object, approve: Approve | None, listener: Callable[[dict[str, Any]], None] | None
    ) -> ToolChannel:
        """Return the same with another context or approval, and one more listener, where they are given."""
        if context is NO_CONTEXT and approve is None and listener is None:
            return self
        changed = copy.copy(self)
        changed._settings = CallSettings(context, approve).over(self._settings)  # noqa: SLF001 - it is one of its own
        vars(changed).pop("_called", None)
        if listener is not None:
            changed._listeners = (*self._listeners, listener)  # noqa: SLF001 - it is one of its own
        return changed

    @lazy
    def _called(self) -> dict[str, tuple[Definition, CallSettings]]:
        return {tool.name: (_in_programs(tool), self._settings.over(tool.settings)) for tool in self._tools}

    def call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Run a tool in this thread and return how it ended."""
        tool, settings = self._called[name]
        try:
            kwargs = self._arguments(name, kwargs)
        except ArgumentsError as error:
            return failure(name, error)
        return run_call(tool, args, kwargs, settings, life)

    async def acall(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Do the same as `call`, but await."""
        tool, settings = self._called[name]
        try:
            kwargs = self._arguments(name, kwargs)
        except ArgumentsError as error:
            return failure(name, error)
        return await arun_call(tool, args, kwargs, settings, life)

    def _arguments(self, name: str, kwargs: dict[str, object]) -> dict[str, object]:
        names = self._names.get(name)
        return kwargs if names is None else with_real_names(name, names, kwargs)

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def ended(self, record: dict[str, Any]) -> None:
        """Tell whoever listens how a call has ended."""
        for listener in self._listeners:
            listener(record)


def _in_programs(tool: Tool[..., Any]) -> Definition:
    return tool.definition.for_programs() if tool.spellings else tool.definition
