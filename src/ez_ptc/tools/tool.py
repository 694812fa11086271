"""`Tool`, a function that a model may call, and `@ez_tool`, which makes one.

Pydantic is imported when the first tool is made, not before: what reads a function is in `tools.definition`.
"""

import functools
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, cast, overload

from ez_ptc._sync import run_coroutine
from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.tools.calls import arun_call, run_call

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    from ez_ptc.messages import ToolResult
    from ez_ptc.schema.arguments import BoundCall
    from ez_ptc.tools.definition import Definition

    P = ParamSpec("P", default=...)
    R_co = TypeVar("R_co", default=object, covariant=True)
else:  # the same without defaults, which need Python 3.13 or typing_extensions
    P = typing.ParamSpec("P")
    R_co = typing.TypeVar("R_co", covariant=True)

__all__ = ["Tool", "ez_tool"]


class Tool(Generic[P, R_co]):
    """A function that a model may call, with all that a model, a validator and a caller need to know of it.

    `ez_tool` makes one. It is still the function: calling it calls the function with what it was given, unchecked, and
    an asynchronous function gives its coroutine. `call` and `execute` are for what a model sends.
    """

    __wrapped__: Callable[P, R_co]

    def __init__(self, definition: "Definition") -> None:
        functools.update_wrapper(self, definition.function, updated=())
        attributes: dict[str, object] = getattr(definition.function, "__dict__", {})
        # A function's own attributes come along, but none may stand before what a tool is.
        vars(self).update({name: each for name, each in attributes.items() if not hasattr(Tool, name)})
        self._definition: Final = definition

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function."""
        return cast("R_co", self._definition.function(*args, **kwargs))

    def __repr__(self) -> str:
        return f"Tool({self.name})"

    @property
    def name(self) -> str:
        """The name that a model calls it by."""
        return self._definition.name

    @property
    def description(self) -> str:
        """What it does: the docstring's first paragraph, then the rest of its prose without the sections."""
        return self._definition.description

    @property
    def docstring(self) -> str:
        """The function's docstring, cleaned of its indentation, or nothing."""
        return self._definition.docstring

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, an object."""
        return self._definition.parameters

    @property
    def schema(self) -> dict[str, Any]:
        """The same as `parameters`."""
        return self._definition.parameters

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the arguments that a model may pass, in order."""
        return self._definition.parameter_names

    @property
    def signature(self) -> str:
        """The signature as a model reads it: `get_weather(location: str, unit: str = 'celsius') -> dict`."""
        return self._definition.signature

    @property
    def return_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of what it returns, or None where that would say no more than the signature does."""
        return self._definition.return_schema

    @property
    def fn(self) -> Callable[P, R_co]:
        """The function."""
        return cast("Callable[P, R_co]", self._definition.function)

    @property
    def function(self) -> Callable[P, R_co]:
        """The same as `fn`."""
        return self.fn

    @property
    def is_async(self) -> bool:
        """Whether calling the function gives a coroutine or an asynchronous generator."""
        return self._definition.is_async

    @property
    def category(self) -> str | None:
        """What kind of tool it is, to choose tools by."""
        return self._definition.category

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> "BoundCall":
        """Check what a program passes by position and by name, and convert it to the annotated types.

        Raises `ArgumentsError`, which names everything that is wrong at once.
        """
        return self._definition.binder.bind(args, kwargs)

    def call(self, arguments: dict[str, object] | str, /) -> object:
        """Check the arguments that a model sent, a dict or JSON text, and return what the function returns for them.

        An asynchronous function runs to its end, on an event loop of its own. Raises `ArgumentsError` that names
        everything that is wrong at once, and whatever the function raises.
        """
        kwargs = self._read(arguments)
        return _output(self._run(kwargs))

    async def acall(self, arguments: dict[str, object] | str, /) -> object:
        """Do the same as `call`, but await; a function that is not asynchronous runs in a worker thread."""
        return _output(await arun_call(self, (), self._read(arguments)))

    def execute(self, /, **arguments: object) -> "ToolResult":
        """Do the same as `call`, but never raise: whatever goes wrong is in the result, and is logged."""
        return self._run(arguments)

    async def aexecute(self, /, **arguments: object) -> "ToolResult":
        """Do the same as `execute`, but await; a function that is not asynchronous runs in a worker thread."""
        return await arun_call(self, (), arguments)

    def _run(self, arguments: Mapping[str, object]) -> "ToolResult":
        if self.is_async:
            return run_coroutine(arun_call, self, (), arguments)
        return run_call(self, (), arguments)

    def _read(self, arguments: dict[str, object] | str) -> dict[str, object]:
        if isinstance(arguments, str):
            from ez_ptc.schema.json_text import parse_arguments

            return parse_arguments(self.name, arguments)
        if not isinstance(arguments, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            problem = f"the arguments are a dict or its JSON text, got {type(arguments).__name__}"
            message = f"{self.name}: {problem}"
            raise ArgumentsError(message, problems=[problem])
        return arguments


def _output(result: "ToolResult") -> object:
    if result.exception is not None:
        raise result.exception
    return result.output


@overload
def ez_tool(function: Callable[P, R_co], /) -> Tool[P, R_co]: ...
@overload
def ez_tool(
    *,
    name: str | None = None,
    description: str | None = None,
    return_schema: dict[str, Any] | None = None,
    category: str | None = None,
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
def ez_tool(
    function: Callable[P, R_co] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    return_schema: dict[str, Any] | None = None,
    category: str | None = None,
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Make a tool of a function, as `@ez_tool` or with arguments, as `@ez_tool(category="shop")`.

    `name` and `description` stand in for the function's name and docstring. `return_schema` says what the function
    returns where its annotation cannot; it is kept as it is. `category` is for choosing tools by.

    Raises `SchemaError` for a function that cannot be a tool, naming the parameter and what to write instead. Warns
    where neither a docstring nor `description` says what it does.
    """
    from ez_ptc.tools.definition import Options, define

    options = Options(name=name, description=description, return_schema=return_schema, category=category)
    stacklevel = 2 if function is None else 3  # a decorator that is applied at once is one frame further in

    def decorate(function: Callable[P, R_co], /) -> Tool[P, R_co]:
        if isinstance(function, Tool):
            message = (
                f"{function!r} is a tool already: make another one from its function, as in ez_tool({function.name}.fn)"
            )
            raise SchemaError(message)
        return Tool(define(function, options, stacklevel=stacklevel))

    return decorate if function is None else decorate(function)
