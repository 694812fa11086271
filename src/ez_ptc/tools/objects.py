"""The methods of an object as tools."""

import inspect
from collections.abc import Collection, Iterator
from functools import partialmethod, singledispatchmethod
from typing import Any, Final

from ez_ptc.errors import SchemaError
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.definitions.names import not_found
from ez_ptc.tools.tool import Tool

__all__ = ["tools_from"]

_BOUND: Final = (staticmethod, classmethod, partialmethod, singledispatchmethod)


def tools_from(
    thing: object,
    *,
    include: Collection[str] | None = None,
    exclude: Collection[str] = (),
    category: str | None = None,
) -> list[Tool[..., Any]]:
    """Make tools of an object's public methods, with their names and docstrings.

    A method is public where its name does not begin with an underscore; inherited, static and class methods are methods
    as well, properties and other attributes are not, and none of them is read. The order is that of the class, base
    classes first.

    Args:
        thing: The object; its methods are bound to it.
        include: The methods to take, all public ones by default.
        exclude: The methods to leave out.
        category: The tools' category.

    Raises:
        SchemaError: A method cannot be a tool, or `thing` is a class and not an object.
        LookupError: `include` or `exclude` names a method that there is not.
    """
    if isinstance(thing, type):
        message = f"tools_from takes an object, got the class {thing.__name__}: make one, as in {thing.__name__}(...)"
        raise SchemaError(message)
    names = list(dict.fromkeys(_public_methods(type(thing))))
    for name in (*(include or ()), *exclude):
        if name not in names:
            message = not_found(name, names).replace("tool", "public method", 1)
            raise LookupError(message)
    chosen = [name for name in names if (include is None or name in include) and name not in exclude]
    if not chosen:
        message = f"{type(thing).__name__} has no public methods to make tools of"
        raise SchemaError(message)
    return [ez_tool(name=name, category=category)(getattr(thing, name)) for name in chosen]


def _public_methods(cls: type) -> Iterator[str]:
    for each in reversed(cls.__mro__[:-1]):
        for name in vars(each):
            found = inspect.getattr_static(cls, name)
            # A `cached_property` is a routine to `inspect`, and would be computed.
            is_method = isinstance(found, _BOUND) or (inspect.isroutine(found) and callable(found))
            if is_method and not name.startswith("_"):
                yield name
