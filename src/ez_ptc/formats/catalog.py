"""The formats by name, and lists of tools in a format."""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, cast

from ez_ptc._wrong_calls import unknown_name
from ez_ptc.formats.describable import Describable
from ez_ptc.formats.naming.keys import KeyRules
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.formats.provider_table import PROVIDERS
from ez_ptc.messages import ToolCall, ToolResult
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["FORMATS", "Format", "describe_all", "format_named", "names_for"]

FORMATS: Final[Mapping[str, str]] = {
    "openai-chat": "openai_chat.tools",
    "openai": "openai_chat.tools",  # an alias, as in `to_openai_format`; the provider "openai" speaks Responses
    **{entry.format or entry.name: f"{entry.folder}.tools" for entry in PROVIDERS},
    "mcp": "mcp",
}


class Format(Protocol):
    """The functions of each format's module.

    `NAMES` are the provider's rules for tool names, `KEYS` those for parameter names, or None for any.
    """

    @property
    def NAMES(self) -> NameRules: ...  # noqa: D102, N802 - a constant of a module

    @property
    def KEYS(self) -> KeyRules | None: ...  # noqa: D102, N802 - a constant of a module

    def describe(self, tool: Describable, *, strict: bool = False, left_out: list[str] | None = None) -> dict[str, Any]:
        """Return a tool in the provider's JSON; what it leaves out is added to `left_out`."""
        ...

    def calls(self, answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
        """Return the calls in an answer."""
        ...

    def results(
        self, answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None
    ) -> list[dict[str, Any]]:
        """Return the messages with the results of calls."""
        ...


def format_named(name: str) -> Format:
    """Return the module of a format. Raises ValueError, listing the formats, for an unknown name."""
    if not isinstance(name, str) or name not in FORMATS:  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
        message = f"unknown format {safe_repr(name)}: {unknown_name(str(name), FORMATS)}"
        raise ValueError(message)
    return cast("Format", importlib.import_module(f"ez_ptc.formats.{FORMATS[name]}"))


def names_for(tools: Iterable[Describable], format: str) -> Names:  # noqa: A002 - callers write format="openai"
    """Return the provider's names of tools and their parameters, for `calls` and `results`.

    Raises:
        DuplicateToolError: Two tools get the same name; the message has both.
        SchemaError: The provider accepts no name like a tool's.
        ValueError: The format is unknown.
    """
    module = format_named(format)
    return names_of(tools, module.NAMES, keys=module.KEYS)


def describe_all(
    tools: Iterable[Describable],
    format: str,  # noqa: A002 - callers write format="openai"
    *,
    strict: bool = False,
    hosted: bool = False,
) -> list[dict[str, Any]]:
    """Return tools as the list in a request (for Gemini: the declarations of one tool).

    `strict` applies to tools that do not say whether they are strict. With `hosted`, they are for the programs that the
    provider runs, and its tool that runs these comes last.

    Raises as `names_for` does, and `SchemaError` for parameters the provider cannot express; ValueError
    for `hosted` with a provider that runs no programs.
    """
    module = format_named(format)
    listed = list(tools)
    names_of(listed, module.NAMES)
    described = [module.describe(tool, strict=strict) for tool in listed]
    if not hosted:
        return described
    describe_hosted = getattr(module, "describe_hosted", None)
    if describe_hosted is None:
        hosts = " or ".join(repr(entry.format or entry.name) for entry in PROVIDERS if entry.runs_programs)
        message = f"{format} has no programs that call tools; expected {hosts}"
        raise ValueError(message)
    return describe_hosted(described, listed, frozenset(tool.name for tool in listed))
