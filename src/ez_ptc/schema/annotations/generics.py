"""Replacing parts of types: type variables, `Self`, or any part a function selects."""

import inspect
import typing
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union

import typing_extensions

__all__ = ["is_alias", "is_hashable", "rebuilt", "substitute", "variables_of_method", "variables_of_type"]

# Python 3.12 has the class in `typing`, which may differ from the backport.
_ALIASES: Final = (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType))
_SELF: Final[tuple[object, ...]] = tuple(vars(module)["Self"] for module in (typing, typing_extensions))


def is_alias(kind: object) -> bool:
    """Return whether a type is an alias made by a `type` statement or by `TypeAliasType`."""
    return isinstance(kind, _ALIASES)


def is_hashable(annotation: object) -> bool:
    """Return whether a type is hashable; a list or dict in `Annotated` makes it unhashable."""
    try:
        hash(annotation)
    except TypeError:
        return False
    return True


def rebuilt(annotation: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - any form of type
    """Return a type with its type arguments changed, or the type itself if nothing changes."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if not arguments or origin is Literal:
        return annotation
    inner = arguments
    if origin is Annotated:
        inner = arguments[:1]
    changed: tuple[Any, ...] = tuple(map(change, inner))
    if all(new is old for new, old in zip(changed, inner, strict=True)):
        return annotation
    if origin is Annotated:
        return Annotated[changed[0], *arguments[1:]]
    if origin in (Union, UnionType):
        return Union[changed]  # noqa: UP007 - the members are known at run time only
    return origin[changed[0] if len(changed) == 1 else changed]


def substitute(annotation: Any, given: Mapping[Any, Any]) -> Any:  # noqa: ANN401 - any form of type
    """Return a type with type variables and the like replaced, as `given` says."""
    if not given:
        return annotation
    if isinstance(annotation, TypeVar) or annotation in _SELF:
        return given.get(annotation, annotation)
    return rebuilt(annotation, lambda inner: substitute(inner, given))


def variables_of_type(annotation: object) -> dict[Any, Any]:
    """Return the values of a generic type's type variables, such as those of `Page[int]`."""
    parameters = getattr(typing.get_origin(annotation), "__parameters__", ())
    return dict(zip(parameters, typing.get_args(annotation), strict=False))


def variables_of_method(function: object) -> dict[Any, Any]:
    """Return the type `Self` and the values of the class's type variables, for a bound method."""
    owner: object = getattr(function, "__self__", None)
    if owner is None or inspect.ismodule(owner):
        return {}
    cls: Any = owner if isinstance(owner, type) else type(owner)
    variables: dict[Any, Any] = variables_of_type(getattr(owner, "__orig_class__", None))
    name: str = getattr(function, "__name__", "")
    home = next((item for item in cls.__mro__ if name in vars(item)), cls)
    return {**_variables_of_base(home, cls, variables), **dict.fromkeys(_SELF, cls)}


def _variables_of_base(home: type, cls: Any, given: dict[Any, Any]) -> dict[Any, Any]:  # noqa: ANN401 - any class
    """Return the values of a base class's type variables; `given` has those of the class itself."""
    if home is cls:
        return given
    attributes: dict[str, Any] = cls.__dict__
    bases: tuple[Any, ...] = attributes.get("__orig_bases__", cls.__bases__)
    for base in bases:
        origin: Any = typing.get_origin(base) or base
        if isinstance(origin, type) and issubclass(origin, home):
            inner = {variable: substitute(argument, given) for variable, argument in variables_of_type(base).items()}
            return _variables_of_base(home, origin, inner)
    return {}
