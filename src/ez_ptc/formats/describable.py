"""The interface of a tool for the formats."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

__all__ = ["Describable", "ToolShape", "is_strict"]


@runtime_checkable
class Describable(Protocol):
    """A tool as the formats see it; `Tool` is one."""

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        ...

    @property
    def prose(self) -> str:
        """The description for a model."""
        ...

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments, an object."""
        ...

    @property
    def return_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of its return value, or None."""
        ...

    @property
    def read_only(self) -> bool | None:
        """Whether calling it changes nothing, or None if that is not declared."""
        ...

    @property
    def strict(self) -> bool | None:
        """Whether the provider should enforce the schema, or None if the tool does not say."""
        ...

    @property
    def category(self) -> str | None:
        """The category, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ToolShape:
    """A tool reduced to what the formats see."""

    name: str
    prose: str
    parameters: dict[str, Any]
    return_schema: dict[str, Any] | None = None
    read_only: bool | None = None
    strict: bool | None = None
    category: str | None = None


def is_strict(tool: Describable, strict: bool) -> bool:  # noqa: FBT001 - what is said for all tools
    """Return whether a tool is strict: as it says itself, or else as `strict` says for all tools."""
    if tool.strict is None:
        return strict
    return tool.strict
