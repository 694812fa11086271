"""`@ez_tool` and `@tool`, which make tools of functions."""

import typing
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast, overload

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SchemaError
from ez_ptc.messages import PendingCall
from ez_ptc.schema.safe_repr import safe_repr_with_type
from ez_ptc.tools.definitions.options import FunctionOptions
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from ez_ptc.tools.definitions.options import Entry, Options

__all__ = ["ToolOptions", "ToolRegistrar", "ez_tool", "tool"]

P = typing.ParamSpec("P")
R_co = typing.TypeVar("R_co", covariant=True)


class ToolRegistrar(Protocol):
    """Anything a tool can be registered with, such as a `ToolRegistry`."""

    def register(self, tool: Tool[..., Any]) -> None:
        """Add a tool."""
        ...

    def get(self, name: str) -> Tool[..., Any] | None:
        """Return the tool called `name`, with the registry's context and approver; a decorator returns it."""
        ...


class ToolOptions(FunctionOptions, total=False):
    """The options of `@ez_tool` and `@tool`, for code that passes them on. `ez_tool` documents them."""

    registry: ToolRegistrar | None


@overload
def ez_tool(function: Callable[P, R_co], /, **options: Unpack[ToolOptions]) -> Tool[P, R_co]: ...
@overload
def ez_tool(
    *,
    name: str | None = None,
    description: str | None = None,
    return_schema: dict[str, Any] | None = None,
    category: str | None = None,
    requires_approval: bool | Callable[[PendingCall], bool] = False,
    idempotent: bool = False,
    read_only: bool | None = None,
    strict: bool | None = None,
    timeout: float | None = None,
    thread: str | None = None,
    registry: ToolRegistrar | None = None,
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
@explain_calls(checks="ez_tool()")
def ez_tool(  # noqa: PLR0913 - each option is a keyword that editors complete
    function: Callable[P, R_co] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    return_schema: dict[str, Any] | None = None,
    category: str | None = None,
    requires_approval: bool | Callable[[PendingCall], bool] = False,
    idempotent: bool = False,
    read_only: bool | None = None,
    strict: bool | None = None,
    timeout: float | None = None,
    thread: str | None = None,
    registry: ToolRegistrar | None = None,
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Make a tool of a function, as `@ez_tool` or `@ez_tool(category="shop")`.

        @ez_tool(requires_approval=lambda call: call.arguments["amount"] > 100)
        def refund(amount: float) -> str:
            "Refund so many euros."

    Args:
        function: The function.
        name: Replaces the function's name.
        description: Replaces the docstring, whose first paragraph is the description; models read all of its prose.
        return_schema: The JSON Schema of the return value, used as it is; by default, the annotation's.
        category: A category to select tools by.
        requires_approval: Each call needs approval, or those of which a function returns True; False runs them unasked.
        idempotent: Calling it twice has the same effect as calling it once.
        read_only: Calling it changes nothing, here or elsewhere. Suggested programs use only such tools.
        strict: Whether the provider should enforce the schema; None leaves it to the setting for all tools. A schema
            that cannot be strict raises `SchemaError` when the tool is described.
        timeout: The maximum seconds of a call. Then an async function is cancelled, and another one abandoned.
        thread: The name of a thread, such as "db", for all calls of its tools in this process, one at a time. A call
            that is given up holds the others back until its timeout, or for some seconds, and is then left behind.
        registry: A registry to add the tool to.

    Raises:
        SchemaError: The function cannot be a tool; the message names the parameter and what to write instead.
        DuplicateToolError: The registry has another tool of that name.
        UserWarning: There is neither a docstring nor a `description`.
    """
    from ez_ptc.tools.definitions.options import Entry, Options

    # Applied at once, the decorator is called from here: two frames further from the caller to be warned.
    options = Options(name, description, return_schema, category, requires_approval, idempotent, read_only)
    options = replace(options, strict=strict, timeout=timeout, thread=thread)
    decorate = _Decorator(options, registry, entry=Entry.EZ_TOOL, stacklevel=2 if function is None else 4)
    return decorate if function is None else decorate(function)


@overload
def tool(function: Callable[P, R_co], /, **options: Unpack[ToolOptions]) -> Tool[P, R_co]: ...
@overload
def tool(
    tool_name: str | None = None,
    tool_description: str | None = None,
    tool_category: str | None = None,
    tool_registry: ToolRegistrar | None = None,
    /,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
@explain_calls(checks="tool()")
def tool(
    function_or_name: Callable[P, R_co] | str | None = None,
    tool_description: str | None = None,
    tool_category: str | None = None,
    tool_registry: ToolRegistrar | None = None,
    /,
    **options: Unpack[ToolOptions],
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Make a tool of a function, as `@tool` or `@tool("add", "Add two numbers.", "math", registry)`.

    It takes the options of `ez_tool`; name, description, category and registry also by position. It differs from
    `ez_tool` in two ways: the whole docstring is the description, and a parameter is described as a string if it has no
    annotation, or one that says nothing or that JSON cannot carry. The function then gets whatever a call passes, and
    there is a warning.
    """
    from ez_ptc.tools.definitions.options import Entry, Options

    settings: dict[str, Any] = dict(options)
    for name, value in (
        ("name", None if callable(function_or_name) else function_or_name),
        ("description", tool_description),
        ("category", tool_category),
        ("registry", tool_registry),
    ):
        if value is not None:
            if settings.get(name) is not None:
                message = f"tool() got its {name} twice: by position and by name"
                raise TypeError(message)
            settings[name] = value
    registry = settings.pop("registry", None)
    if callable(function_or_name):
        return _Decorator(Options.of(settings), registry, entry=Entry.TOOL, stacklevel=4)(function_or_name)
    return _Decorator(Options.of(settings), registry, entry=Entry.TOOL, stacklevel=2)


class _Decorator:
    def __init__(self, options: "Options", registry: ToolRegistrar | None, *, entry: "Entry", stacklevel: int) -> None:
        if registry is not None and not callable(getattr(registry, "register", None)):
            message = f"expected registry to be a ToolRegistry or None, got {safe_repr_with_type(registry)}"
            raise TypeError(message)
        self._options = options
        self._registry = registry
        self._entry = entry
        self._stacklevel = stacklevel

    def __call__(self, function: Callable[P, R_co], /) -> Tool[P, R_co]:
        from ez_ptc.tools.definitions.definition import define

        if isinstance(function, Tool):
            message = f"{function!r} is already a tool: to make another, pass its function, ez_tool({function.name}.fn)"
            raise SchemaError(message)
        definition = define(function, self._options, entry=self._entry, stacklevel=self._stacklevel)
        new_tool = cast("Tool[P, R_co]", Tool.from_definition(definition))
        if self._registry is None:
            return new_tool
        self._registry.register(new_tool)
        return cast("Tool[P, R_co]", self._registry.get(new_tool.name) or new_tool)
