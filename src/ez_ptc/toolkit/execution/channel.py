"""The channel between a program's calls and the tools."""

from __future__ import annotations

import uuid
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ez_ptc._lazy import LazyTable, lazy
from ez_ptc.errors import ArgumentsError
from ez_ptc.sandbox.protocol.execution import Grant, Grants
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.arguments.replacement import detach
from ez_ptc.toolkit.execution.callers import Caller, check_principal
from ez_ptc.toolkit.validation import check_listener
from ez_ptc.tools.approvals.changes import RawCall
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.calls import arun_call, run_call
from ez_ptc.tools.definitions.names import with_real_names
from ez_ptc.tools.definitions.secret_arguments import mask_arguments
from ez_ptc.tools.outputs.failures import failure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from ez_ptc.messages import ToolResult
    from ez_ptc.sandbox.protocol.interfaces import Observer, Recorder
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.toolkit.catalog.searching import ToolSearch
    from ez_ptc.toolkit.execution.earlier_calls import EarlierCalls
    from ez_ptc.toolkit.execution.results.scopes import OfferedResults, ResultAccess, ResultScope
    from ez_ptc.toolkit.shapes.observing import ResultObserver
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.call_lifetime import CallLife
    from ez_ptc.tools.definitions.definition import Definition
    from ez_ptc.tools.tool import Tool

__all__ = ["ToolChannel"]


@dataclass(frozen=True, eq=False)
class ToolChannel:
    """The tools of one toolkit, and the settings of their calls; `Channel` documents the methods."""

    tools: tuple[Tool[..., Any], ...]
    grants: Grants
    settings: CallSettings
    listeners: tuple[OnToolCall, ...] = ()
    recorder: Recorder | None = None
    observer: Observer | None = None
    principal: str | None = None
    access: ResultAccess | None = None
    earlier: EarlierCalls | None = None
    search: ToolSearch | None = None
    shapes: ResultObserver | None = None

    @classmethod
    def of_tools(
        cls, tools: tuple[Tool[..., Any], ...], settings: CallSettings, listener: OnToolCall | None, search: ToolSearch
    ) -> ToolChannel:
        """Return a channel to these tools, and to the search among them."""
        by_name = {tool.name: tool for tool in tools}

        def grant(name: str) -> Grant:
            tool = by_name[name]
            return Grant(
                tool.name,
                tool.signature,
                search.entries.documentation(tool),
                tool.is_async,
                tool.return_type_text or "",
                read_only=tool.read_only is True,
                takes_any_name=tool.definition.binder.takes_others,
                mask=partial(mask_arguments, tool.definition),
            )

        grants = Grants(table=LazyTable(by_name, grant), is_async=any(tool.is_async for tool in tools))
        return cls(tools, grants, settings, () if listener is None else (listener,), search=search)

    def with_settings(
        self,
        context: object,
        approve: Approver | None,
        listener: OnToolCall | None,
        reraise: tuple[type[BaseException], ...] = (),
        principal: str | None = None,
    ) -> ToolChannel:
        """Return a channel with another context or approver, one more listener and more to reraise, where given.

        Raises ValueError if the principal is not a short text.
        """
        check_principal(principal)
        check_listener(listener)
        if context is NO_CONTEXT and approve is None and listener is None and not reraise and principal is None:
            return self
        if listener is None:
            listeners = self.listeners
        else:
            listeners = (*self.listeners, listener)
        # `replace` makes an object without the cached `_tools`, which depend on the settings.
        settings = CallSettings(context, approve, (*self.settings.reraise, *reraise)).over(self.settings)
        return replace(self, settings=settings, listeners=listeners, principal=principal)

    @property
    def results(self) -> OfferedResults | None:
        """The kept results for the program: those of a conversation or session, or the caller's own."""
        return None if self.access is None else self.access.of(self.caller)

    @property
    def finders(self) -> Grants | None:
        """The functions to find tools with, or None."""
        if self.search is None:
            return None
        return self.search.grants

    def with_scope(self, scope: ResultScope | None) -> ToolChannel:
        """Return a channel with the kept results of a conversation or session, if given."""
        if self.access is None or scope is None:
            return self
        return replace(self, access=replace(self.access, scope=scope))

    def with_results_of(self, other: ToolChannel) -> ToolChannel:
        """Return a channel with the kept results of another one."""
        return replace(self, access=other.access)

    def with_offer(self, names: Sequence[str] | None) -> ToolChannel:
        """Return a channel to the kept results of a recorded program."""
        if self.access is None:
            return self
        return replace(self, access=replace(self.access, names=names))

    @property
    def caller(self) -> Caller:
        """For whom the calls are made."""
        return Caller(self.principal, self.settings.context)

    def correcting(self) -> AbstractContextManager[None]:
        """Return a context for its program. Raises RunInProgressError if another one corrects the same."""
        if self.earlier is None:
            return nullcontext()
        return self.earlier.turn.taken()

    def restricted_to(self, names: Collection[str]) -> ToolChannel:
        """Return a channel to the tools with these names only."""
        if len(names) == len(self.tools):
            return self
        grants = Grants(grant for name, grant in self.grants.by_name.items() if name in names)
        tools = tuple(tool for tool in self.tools if tool.name in names)
        return replace(self, tools=tools, grants=grants, search=self.search and self.search.among(names))

    def observed(self, observe: Callable[[str], Observer] | None, id: str | None = None) -> ToolChannel:  # noqa: A002 - as in `Observer`
        """Return a channel with the receiver of a program's events, given its id; by default a new one."""
        return self if observe is None else replace(self, observer=observe(id or uuid.uuid4().hex))

    def context_of(self, name: str) -> object:
        """Return the value of a tool's `Context` parameters."""
        return self._tools[name][1].context

    def named_arguments(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        """Return a call's arguments by name, as far as the tool has one for each."""
        names = self._tool(name)[0].binder.positional
        return {**dict(zip(names, args, strict=False)), **kwargs}

    def _tool(self, name: str) -> tuple[Definition, CallSettings, dict[str, str]]:
        known = self._tools.get(name)
        if known is not None:
            return known
        if self.search is not None and (finder := self.search.function(name)) is not None:
            return *finder, {}
        if self.results is not None:
            from ez_ptc.toolkit.execution.results.reading import ResultReading, result_tools

            return result_tools()[name].definition, CallSettings(ResultReading(self.results.scope)), {}
        return self._tools[name]

    def bind(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[BoundCall, RawCall]:
        """Check a call's arguments, as `call` does. Raises ArgumentsError."""
        tool, settings, real_names = self._tools[name]
        if real_names:
            kwargs = with_real_names(name, real_names, kwargs)
        raw = RawCall(args, kwargs, settings.context)
        return tool.binder.bind(detach(args), detach(kwargs), context=settings.context), raw

    @lazy
    def _tools(self) -> dict[str, tuple[Definition, CallSettings, dict[str, str]]]:
        """What a call needs, by the tool's name; the dict maps the spellings of arguments to their real names."""
        return {
            tool.name: (
                tool.definition.for_programs() if tool.spellings else tool.definition,
                replace(self.settings.over(tool.settings), earlier=self.earlier),
                {spelling: name for name, spelling in tool.spellings.items()},
            )
            for tool in self.tools
        }

    def call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Run a tool in this thread and return its result."""
        tool, settings, real_names = self._tool(name)
        if real_names:
            try:
                kwargs = with_real_names(name, real_names, kwargs)
            except ArgumentsError as error:
                return failure(name, error)
        if self.observer is None and self.recorder is None:
            return self._learn(name, (args, kwargs), run_call(tool, args, kwargs, settings, life))
        with life.reporting() or nullcontext():
            return self._learn(name, (args, kwargs), run_call(tool, args, kwargs, settings, life))

    async def acall(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Same as `call`, but awaits."""
        tool, settings, real_names = self._tool(name)
        if real_names:
            try:
                kwargs = with_real_names(name, real_names, kwargs)
            except ArgumentsError as error:
                return failure(name, error)
        if self.observer is None and self.recorder is None:
            return self._learn(name, (args, kwargs), await arun_call(tool, args, kwargs, settings, life))
        with life.reporting() or nullcontext():
            return self._learn(name, (args, kwargs), await arun_call(tool, args, kwargs, settings, life))

    def _learn(self, name: str, arguments: object, result: ToolResult) -> ToolResult:
        if self.shapes is not None and result.success:
            self.shapes.observe(name, result.output, arguments)
        return result

    @property
    def has_listeners(self) -> bool:
        """Whether `report_call` does anything."""
        return bool(self.listeners)

    def report_call(self, record: Any) -> None:  # noqa: ANN401 - as `make_record` returns
        """Pass the record of a finished call to the listeners."""
        for listener in self.listeners:
            listener(record)
