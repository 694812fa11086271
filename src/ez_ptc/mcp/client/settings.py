"""The options of connections to MCP servers, and what callbacks receive."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

from ez_ptc.tools.definitions.options import HandmadeOptions

__all__ = ["Elicitation", "McpChange", "McpLog", "McpOptions", "McpProgress", "McpSettings"]


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A question of a server to a person, with escapes for invisible characters and look-alikes in its texts.

    Attributes:
        server: The server's name.
        message: The question.
        schema: The JSON Schema of the answer, an object; None if `url` is set.
        url: A page for the person to open instead of answering here, or None.
    """

    server: str
    message: str
    schema: dict[str, Any] | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class McpProgress:
    """The progress of a call: `progress` of `total`, if the server knows it, and its `message`."""

    server: str
    tool: str
    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class McpLog:
    """A log message of a server; `level` is one of the protocol's, such as "warning"."""

    server: str
    level: str
    logger: str | None
    data: object


@dataclass(frozen=True, slots=True)
class McpChange:
    """A server's tool that is not what it was when it was listed first.

    `kind` is "added", "removed", or "changed" for another description, schema or annotation. A removed or changed tool
    cannot be called until the server's tools are taken again.
    """

    server: str
    tool: str
    kind: Literal["added", "removed", "changed"]


class McpOptions(TypedDict, total=False):
    """The options of `mcp_tools`, which documents them."""

    prefix: str | bool | None
    only: Collection[str] | None
    exclude: Collection[str]
    tool_options: Mapping[str, HandmadeOptions]
    pins: Mapping[str, str] | None
    resources: bool
    call_timeout: float | None
    connect_timeout: float
    headers: Mapping[str, str]
    auth: object
    roots: Sequence[str | Path]
    elicit: Callable[[Elicitation], object | Awaitable[object]] | None
    on_progress: Callable[[McpProgress], object] | None
    on_log: Callable[[McpLog], object] | None
    on_change: Callable[[McpChange], object] | None


@dataclass(frozen=True, slots=True)
class McpSettings:
    """The options of `mcp_tools`, which documents them, with their defaults."""

    prefix: str | bool | None = None
    only: Collection[str] | None = None
    exclude: Collection[str] = ()
    tool_options: Mapping[str, HandmadeOptions] = field(default_factory=dict[str, HandmadeOptions])
    pins: Mapping[str, str] | None = None
    resources: bool = True
    call_timeout: float | None = 60.0
    connect_timeout: float = 30.0
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    auth: object = field(default=None, repr=False)
    roots: Sequence[str | Path] = ()
    elicit: Callable[[Elicitation], object | Awaitable[object]] | None = None
    on_progress: Callable[[McpProgress], object] | None = None
    on_log: Callable[[McpLog], object] | None = None
    on_change: Callable[[McpChange], object] | None = None
