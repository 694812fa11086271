"""What the formats need to know of a tool, and nothing more."""

from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Describable", "ToolShape", "is_strict"]


class Describable(Protocol):
    """A tool as a format sees it; `Tool` is one."""

    @property
    def name(self) -> str:
        """The name that a model calls it by."""
        ...

    @property
    def description(self) -> str:
        """What it does, for a model to read."""
        ...

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments, an object."""
        ...

    @property
    def return_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of what it returns, where there is one."""
        ...

    @property
    def read_only(self) -> bool | None:
        """Whether calling it changes nothing, or None if that is not declared."""
        ...

    @property
    def strict(self) -> bool | None:
        """Whether a provider is to hold its model to the schema, or None if that is not said of this tool."""
        ...


@dataclass(frozen=True, slots=True)
class ToolShape:
    """A tool that is nothing but what a format sees."""

    name: str
    description: str
    parameters: dict[str, Any]
    return_schema: dict[str, Any] | None = None
    read_only: bool | None = None
    strict: bool | None = None


def is_strict(tool: Describable, strict: bool) -> bool:  # noqa: FBT001 - what is said for all tools
    """Say whether a tool is strict, given what is said for all: its own word goes before that."""
    return strict if tool.strict is None else tool.strict
