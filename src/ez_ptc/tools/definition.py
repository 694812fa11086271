"""What a function is as a tool: everything that a model, a validator and a caller need to know of it."""

import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ez_ptc.errors import SchemaError
from ez_ptc.schema.arguments import ArgumentBinder
from ez_ptc.schema.docstrings import parameter_texts, prose
from ez_ptc.schema.functions import function_schema
from ez_ptc.schema.returns import return_schema
from ez_ptc.schema.signatures import innermost, read_signature, signature_text

__all__ = ["Definition", "Options", "define"]

_NAME: Final = re.compile(r"[\w.:-]{1,128}")


@dataclass(frozen=True, slots=True)
class Options:
    """What a developer says of a tool apart from the function; None where the function itself says it."""

    name: str | None = None
    description: str | None = None
    return_schema: dict[str, Any] | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A function as a tool. `Tool` documents the fields."""

    function: Callable[..., object]
    name: str
    description: str
    docstring: str
    parameters: dict[str, Any]
    parameter_names: tuple[str, ...]
    signature: str
    return_schema: dict[str, Any] | None
    is_async: bool
    category: str | None
    binder: ArgumentBinder


def define(function: Callable[..., object], options: Options, *, stacklevel: int) -> Definition:
    """Read a function as a tool.

    Raises `SchemaError` where it cannot be one. Warns, at the caller `stacklevel` frames up, where neither a docstring
    nor the options say what it does.
    """
    name = _name(function, options.name)
    docstring = _docstring(function)
    read = read_signature(function, name=name)
    described = function_schema(name, read, parameter_texts(docstring))
    description = prose(docstring) if options.description is None else options.description
    if not description:
        description = f"Tool: {name}"
        message = f"{name} has no docstring, so a model cannot know what it does: write one, or give a description"
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
    given = options.return_schema
    return Definition(
        function=function,
        name=name,
        description=description,
        docstring=docstring,
        parameters=described.parameters,
        parameter_names=tuple(described.binder.fields),
        signature=signature_text(name, described.signature),
        return_schema=return_schema(read.returns, namespace=read.namespace) if given is None else given,
        is_async=_is_async(function),
        category=options.category,
        binder=described.binder,
    )


def _name(function: Callable[..., object], given: str | None) -> str:
    if not callable(function):
        message = f"a tool is made from a function, got {type(function).__name__}"
        raise SchemaError(message)
    inner = innermost(function)
    own = getattr(function, "__name__", None) or getattr(inner, "__name__", type(function).__name__)
    name = given if given is not None else type(function).__name__ if own == "__call__" else own
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        message = (
            f"{name!r} is no name for a tool: give one of letters, digits and '_', as in ez_tool(name='find_order')"
        )
        raise SchemaError(message)
    return name


def _docstring(function: Callable[..., object]) -> str:
    if inspect.isroutine(function) or isinstance(function, type):
        text = inspect.getdoc(function)
    else:  # a `partial` or an object that can be called has the docstring of its class, which is about something else
        inner = innermost(function)
        is_object = getattr(inner, "__name__", None) == "__call__"
        text = inner.__doc__ or (type(function).__doc__ if is_object else None)
    return inspect.cleandoc(text) if text else ""


def _is_async(function: Callable[..., object]) -> bool:
    called = (function, type(function).__call__)
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in called)
