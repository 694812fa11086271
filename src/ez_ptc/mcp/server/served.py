"""What is served: a toolkit as this package sees it, and how much of it clients see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ez_ptc.results.bounds import ResultKeeper
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from ez_ptc.journal.journal import Journal
    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

__all__ = ["CallKeeper", "CallerResults", "Decider", "ProgramCorrection", "ServeMode", "ServeSettings", "ServedToolkit"]

ServeMode = Literal["tools", "programs", "both"]
Decider = Literal["person", "client"]

# More tools than this fill a model's context with schemas it does not need.
_MAX_LISTED_TOOLS = 40
_MAX_SECONDS = 86_400.0


class CallKeeper(ResultKeeper, Protocol):
    """Keeps the result of one call."""

    @property
    def has_shortened(self) -> bool:
        """Whether a text of the result left something out."""
        ...


class CallerResults(Protocol):
    """The kept results of one caller."""

    def keeper(self) -> CallKeeper:
        """Return the keeper of one result."""
        ...

    def readers(self, max_text: int) -> Mapping[str, Tool[..., Any]]:
        """Return the tools to read them, by name."""
        ...


class ProgramCorrection(Protocol):
    """A program that may correct a failed one, `failed`."""

    failed: ExecutionResult | None

    def end(self, result: ExecutionResult) -> str | None:
        """Take note of its result; return the token with which the next program continues it, or None."""
        ...


class ServedToolkit(Protocol):
    """The parts of a `Toolkit` that are served; it documents them."""

    @property
    def context(self) -> object:
        """The value of the tools' `Context` parameters."""
        ...

    @property
    def approve(self) -> Approver | None:
        """The toolkit's own approver."""
        ...

    @property
    def journal(self) -> object:
        """The journal, or None."""
        ...

    @property
    def limits(self) -> Limits:
        """The limits of programs."""
        ...

    def open_journal(self) -> Journal:
        """Return the journal. Raises JournalError if there is none."""
        ...

    def results_of(self, principal: str | None = None) -> CallerResults:
        """Return the kept results of a caller."""
        ...

    def search_tools(self, query: str) -> str:
        """Return the text about the tools that fit some words best."""
        ...

    def describe_tool(self, name: str) -> str:
        """Return the text about a tool. Raises ToolError for an unknown one."""
        ...

    def __iter__(self) -> Iterator[Tool[..., Any]]: ...
    def __len__(self) -> int: ...
    def answer(
        self,
        code: str,
        result: ExecutionResult,
        *,
        mode: Literal["prompt", "tool"] = "prompt",
        continues: bool | None = None,
        after: str | None = None,
    ) -> str:
        """Return the text for a model."""
        ...

    def correcting(self, after: object, *, principal: str | None) -> AbstractContextManager[ProgramCorrection]:
        """Return a context manager for a program with the token of a failed one, or None."""
        ...

    def tool_schema(self, format: str, *, after: bool) -> dict[str, Any]:  # noqa: A002 - the toolkit's word
        """Return the definition of `execute_tools`."""
        ...

    async def aexecute(
        self,
        code: str,
        *,
        approve: Approver | None,
        on_tool_call: OnToolCall | None,
        principal: str | None,
        after: ExecutionResult | None,
    ) -> ExecutionResult:
        """Run a program."""
        ...

    async def aresume(
        self, run_id: str, decisions: Mapping[str, object], *, approve: Approver | None, principal: str | None
    ) -> ExecutionResult:
        """Continue a run."""
        ...


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How a toolkit is served; `Toolkit.as_mcp_server` documents it."""

    mode: ServeMode
    decide: Decider
    principal: str | None
    question_timeout: float

    @classmethod
    def of(
        cls,
        toolkit: ServedToolkit,
        mode: ServeMode | None,
        *,
        decide: Decider,
        principal: str | None,
        question_timeout: float,
    ) -> ServeSettings:
        """Return the settings for a toolkit, by default with its mode. Raises as `Toolkit.as_mcp_server` does."""
        if mode is None:
            mode = "tools" if len(toolkit) <= _MAX_LISTED_TOOLS else "programs"
        problem = None
        if mode not in ("tools", "programs", "both"):
            problem = f"expected the mode to be 'tools', 'programs' or 'both', got {safe_repr(mode)}"
        elif decide not in ("person", "client"):
            problem = f"expected decide to be 'person' or 'client', got {safe_repr(decide)}"
        elif not 0 < question_timeout <= _MAX_SECONDS:
            problem = f"expected question_timeout as seconds above 0, got {safe_repr(question_timeout)}"
        elif decide == "client" and (toolkit.approve or any(tool.settings.approve for tool in toolkit)):
            problem = (
                "decide='client' lets the client decide, and this toolkit has its own approve, or a tool of it has: "
                "leave one out"
            )
        elif decide == "client" and (mode == "tools" or toolkit.journal is None):
            problem = "decide='client' is for programs that wait: it needs a journal, and the mode 'programs' or 'both'"
        if problem is not None:
            raise ValueError(problem)
        return cls(mode, decide, principal, question_timeout)
