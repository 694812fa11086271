"""`@ez_tool` and `@tool`, which make tools of functions."""

import typing
from collections.abc import Callable
from typing import Any, Protocol, Unpack, cast, overload

from ez_ptc.errors import SchemaError
from ez_ptc.tools.definitions.options import FunctionOptions
from ez_ptc.tools.tool import Tool

__all__ = ["Registers", "ToolOptions", "ez_tool", "tool"]

P = typing.ParamSpec("P")
R_co = typing.TypeVar("R_co", covariant=True)


class Registers(Protocol):
    """Where a tool can be registered: `ToolRegistry` is one."""

    def register(self, tool: Tool[..., Any]) -> object:
        """Add a tool; the decorator gives the tool that this returns, or else its own."""
        ...


class ToolOptions(FunctionOptions, total=False):
    """What `@ez_tool` and `@tool` may be told.

    Attributes:
        name: Instead of the function's name.
        description: Instead of what the docstring says.
        return_schema: The JSON Schema of what it returns, where its annotation does not say; it is kept as it is.
        category: What kind of tool it is, to choose tools by.
        requires_approval: A person must say yes to each call.
        idempotent: Calling it twice does what calling it once does.
        read_only: Calling it changes nothing, here or anywhere else. Programs proposed to a model use only such
            tools; None, the default, leaves it open.
        strict: Have the provider hold its model to the tool's schema, or not; None, the default, leaves it to what is
            said for all tools. What cannot be said strictly is a `SchemaError` when the tool is described.
        timeout: Seconds that a call may take. An asynchronous function is cancelled then; another one is left to
            itself, and what it returns later is dropped.
        registry: Where it is registered at once.
    """

    registry: Registers | None


@overload
def ez_tool(function: Callable[P, R_co], /, **options: Unpack[ToolOptions]) -> Tool[P, R_co]: ...
@overload
def ez_tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
def ez_tool(
    function: Callable[P, R_co] | None = None, /, **options: Unpack[ToolOptions]
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Make a tool of a function, as `@ez_tool` or with options, as `@ez_tool(category="shop")`.

    `ToolOptions` lists the options. Raises `SchemaError` for a function that cannot be a tool, naming the parameter and
    what to write instead, and `DuplicateToolError` where the registry has another tool of that name. Warns where
    neither a docstring nor `description` says what it does.
    """
    # A decorator that is applied at once is one frame further in.
    decorate = _Decorator(dict(options), stacklevel=2 if function is None else 3)
    return decorate if function is None else decorate(function)


@overload
def tool(function: Callable[P, R_co], /, **options: Unpack[ToolOptions]) -> Tool[P, R_co]: ...
@overload
def tool(
    called: str | None = None, does: str | None = None, /, **options: Unpack[ToolOptions]
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
def tool(
    called: Callable[P, R_co] | str | None = None, does: str | None = None, /, **options: Unpack[ToolOptions]
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Do the same as `ez_tool`; name and description may be given by position: `@tool("add", "Add two numbers.")`."""
    given: dict[str, Any] = dict(options)
    if isinstance(called, str):
        given["name"] = called
    if does is not None:
        given["description"] = does
    if callable(called):
        return _Decorator(given, stacklevel=3)(called)
    return _Decorator(given, stacklevel=2)


class _Decorator:
    def __init__(self, options: dict[str, Any], *, stacklevel: int) -> None:
        from ez_ptc.tools.definitions.definition import Options

        self._registry: Registers | None = options.pop("registry", None)
        self._options = Options.of(options)
        self._stacklevel = stacklevel

    def __call__(self, function: Callable[P, R_co], /) -> Tool[P, R_co]:
        from ez_ptc.tools.definitions.definition import define

        if isinstance(function, Tool):
            message = (
                f"{function!r} is a tool already: make another one from its function, as in ez_tool({function.name}.fn)"
            )
            raise SchemaError(message)
        definition = define(function, self._options, stacklevel=self._stacklevel)
        made = cast("Tool[P, R_co]", Tool.of_definition(definition))
        registered = self._registry.register(made) if self._registry is not None else None
        return cast("Tool[P, R_co]", registered) if isinstance(registered, Tool) else made
