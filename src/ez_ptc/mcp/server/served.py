"""What is served: a toolkit as this package sees it, and how much of it clients see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ez_ptc.sandbox.execution import ExecutionResult
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

__all__ = ["ServeMode", "ServedToolkit", "chosen_mode"]

ServeMode = Literal["tools", "programs", "both"]

# More tools than this fill a model's context with schemas it does not need.
_MAX_LISTED_TOOLS = 40


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

    def __iter__(self) -> Iterator[Tool[..., Any]]: ...
    def __len__(self) -> int: ...
    def answer(self, code: str, result: ExecutionResult) -> str:
        """Return the text for a model."""
        ...

    def tool_schema(self, format: str) -> dict[str, Any]:  # noqa: A002 - the toolkit's word
        """Return the definition of `execute_tools`."""
        ...

    async def aexecute(
        self, code: str, *, approve: Approver | None, on_tool_call: Callable[[dict[str, Any]], None] | None
    ) -> ExecutionResult:
        """Run a program."""
        ...

    async def aresume(self, run_id: str, decisions: Mapping[str, object]) -> ExecutionResult:
        """Continue a run."""
        ...


def chosen_mode(toolkit: ServedToolkit, mode: ServeMode | None) -> ServeMode:
    """Return the mode, by default "tools" for a small toolkit and "programs" for a large one.

    Raises ValueError for an unknown mode.
    """
    if mode is None:
        return "tools" if len(toolkit) <= _MAX_LISTED_TOOLS else "programs"
    if mode not in {"tools", "programs", "both"}:
        message = f"expected the mode to be 'tools', 'programs' or 'both', got {safe_repr(mode)}"
        raise ValueError(message)
    return mode
