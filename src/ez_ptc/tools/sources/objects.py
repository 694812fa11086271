"""The methods of an object as tools."""

import inspect
from collections.abc import Collection
from functools import partialmethod, singledispatchmethod
from typing import Any, Final

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SchemaError
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.definitions.names import unknown_tool_text
from ez_ptc.tools.tool import Tool

__all__ = ["tools_from"]

_METHOD_TYPES: Final = (staticmethod, classmethod, partialmethod, singledispatchmethod)


@explain_calls(checks="exclude:str")
def tools_from(
    thing: object, *, include: Collection[str] | None = None, exclude: Collection[str] = (), category: str | None = None
) -> list[Tool[..., Any]]:
    """Make tools of an object's public methods, with their names and docstrings.

    A method is public unless its name begins with an underscore. Inherited, static and class methods are included;
    properties and other attributes are not, and are never read. Methods come in the order of the class, base classes
    first. One that is a tool already, such as a static method with `@ez_tool`, stays as it is.

    Args:
        thing: The object to bind the methods to.
        include: The methods to include; by default, all public ones.
        exclude: The methods to leave out.
        category: The tools' category.

    Raises:
        SchemaError: A method cannot be a tool, or `thing` is a class instead of an object.
        LookupError: `include` or `exclude` names an unknown method.
    """
    if isinstance(thing, type):
        message = f"tools_from takes an object, got the class {thing.__name__}: make one, as in {thing.__name__}(...)"
        raise SchemaError(message)
    # Of the type, so that no property of the object is computed.
    cls = type(thing)
    names: list[str] = []
    for name in dict.fromkeys(name for base in reversed(cls.__mro__[:-1]) for name in vars(base)):
        attribute = inspect.getattr_static(cls, name)
        # `inspect` takes a `cached_property` for a routine, but reading it would compute it.
        is_method = isinstance(attribute, (*_METHOD_TYPES, Tool)) or (
            inspect.isroutine(attribute) and callable(attribute)
        )
        if is_method and not name.startswith("_"):
            names.append(name)
    for name in (*(include or ()), *exclude):
        if name not in names:
            message = unknown_tool_text(name, names).replace("tool", "public method", 1)
            raise LookupError(message)
    selected = [name for name in names if (include is None or name in include) and name not in exclude]
    if not selected:
        message = f"{cls.__name__} has no public methods to make tools of"
        raise SchemaError(message)
    methods: list[tuple[str, Any]] = [(name, getattr(thing, name)) for name in selected]
    return [
        method if isinstance(method, Tool) else ez_tool(name=name, category=category)(method)
        for name, method in methods
    ]
