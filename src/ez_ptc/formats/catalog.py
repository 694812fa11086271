"""Formats by their names, and whole lists of tools in one of them."""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, cast

from ez_ptc.formats.describable import Describable
from ez_ptc.formats.naming.keys import KeyRules
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import ToolCall, ToolResult
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["FORMATS", "Format", "describe_all", "format_named", "names_for"]

FORMATS: Final[Mapping[str, str]] = {
    "openai-chat": "openai_chat.tools",
    "openai": "openai_chat.tools",  # the same, as in `to_openai_format`; the provider "openai" speaks Responses
    "openai-responses": "openai_responses.tools",
    "anthropic": "anthropic.tools",
    "gemini": "gemini.tools",
    "mistral": "mistral",
    "mcp": "mcp",
}


class Format(Protocol):
    """What every format's module has.

    `NAMES` is what the provider takes as a tool's name, `KEYS` what it takes as a parameter's, or None for anything.
    """

    @property
    def NAMES(self) -> NameRules: ...  # noqa: D102, N802 - a constant of a module

    @property
    def KEYS(self) -> KeyRules | None: ...  # noqa: D102, N802 - a constant of a module

    def describe(self, tool: Describable, *, strict: bool = False) -> dict[str, Any]:
        """Return a tool as the provider takes it."""
        ...

    def calls(self, answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
        """Return the calls that an answer asks for."""
        ...

    def results(
        self, answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None
    ) -> list[dict[str, Any]]:
        """Return what is sent back for calls that have been answered."""
        ...


def format_named(name: str) -> Format:
    """Return the module of a format. Raises ValueError that lists the names there are."""
    if name not in FORMATS:
        message = f"there is no format {safe_repr(name)}; there are: {', '.join(FORMATS)}"
        raise ValueError(message)
    return cast("Format", importlib.import_module(f"ez_ptc.formats.{FORMATS[name]}"))


def names_for(tools: Iterable[Describable], format: str) -> Names:  # noqa: A002 - callers write format="openai"
    """Return what the provider calls these tools and their parameters, for `calls` and `results`.

    Raises:
        DuplicateToolError: Two tools have one name there; the message names both.
        SchemaError: A tool has no name that the provider would take.
        ValueError: There is no such format.
    """
    module = format_named(format)
    return names_of(tools, module.NAMES, keys=module.KEYS)


def describe_all(tools: Iterable[Describable], format: str, *, strict: bool = False) -> list[dict[str, Any]]:  # noqa: A002 - callers write format="openai"
    """Return tools as the list that a request takes (Gemini: the declarations of one of its tools).

    `strict` is for the tools that do not say themselves whether they are strict.

    Raises what `names_for` raises, and `SchemaError` for parameters that the provider has no way to say.
    """
    module = format_named(format)
    listed = list(tools)
    names_of(listed, module.NAMES)
    return [module.describe(tool, strict=strict) for tool in listed]
