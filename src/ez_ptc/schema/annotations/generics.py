"""Types with something within them replaced: type variables, `Self`, or whatever a caller finds."""

import inspect
import typing
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union

import typing_extensions

__all__ = ["is_alias", "is_hashable", "rebuilt", "substitute", "variables_of_method", "variables_of_type"]

# The one of `typing` is of Python 3.12, and may be another class than the one that stands in for it before.
_ALIASES: Final = (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType))
_SELF: Final[tuple[object, ...]] = tuple(vars(module)["Self"] for module in (typing, typing_extensions))


def is_alias(kind: object) -> bool:
    """Whether a type is one of a `type` statement, or of `TypeAliasType`."""
    return isinstance(kind, _ALIASES)


def is_hashable(annotation: object) -> bool:
    """Whether a type can be looked up: one with a list or a dict in its `Annotated` cannot."""
    try:
        hash(annotation)
    except TypeError:
        return False
    return True


def rebuilt(annotation: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - any form of type
    """Return a type with what is between its brackets changed, or the type itself where nothing does change."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if not arguments or origin is Literal:
        return annotation
    inner = arguments[:1] if origin is Annotated else arguments
    changed: tuple[Any, ...] = tuple(map(change, inner))
    if all(new is old for new, old in zip(changed, inner, strict=True)):
        return annotation
    if origin is Annotated:
        return Annotated[changed[0], *arguments[1:]]
    if origin in (Union, UnionType):
        return Union[changed]  # noqa: UP007 - the members are known at run time only
    return origin[changed[0] if len(changed) == 1 else changed]


def substitute(annotation: Any, given: Mapping[Any, Any]) -> Any:  # noqa: ANN401 - any form of type
    """Return a type with what `given` has in place of type variables and the like."""
    if not given:
        return annotation
    if isinstance(annotation, TypeVar) or annotation in _SELF:
        return given.get(annotation, annotation)
    return rebuilt(annotation, lambda inner: substitute(inner, given))


def variables_of_type(annotation: object) -> dict[Any, Any]:
    """Return what a generic type says of its type variables, as `Page[int]` does."""
    parameters = getattr(typing.get_origin(annotation), "__parameters__", ())
    return dict(zip(parameters, typing.get_args(annotation), strict=False))


def variables_of_method(function: object) -> dict[Any, Any]:
    """Return what the object of a bound method says of `Self`, and of the type variables of the method's class."""
    owner: object = getattr(function, "__self__", None)
    if owner is None or inspect.ismodule(owner):
        return {}
    cls: Any = owner if isinstance(owner, type) else type(owner)
    given: dict[Any, Any] = variables_of_type(getattr(owner, "__orig_class__", None))
    name: str = getattr(function, "__name__", "")
    home = next((item for item in cls.__mro__ if name in vars(item)), cls)
    return {**_variables_of_base(home, cls, given), **dict.fromkeys(_SELF, cls)}


def _variables_of_base(home: type, cls: Any, given: dict[Any, Any]) -> dict[Any, Any]:  # noqa: ANN401 - any class
    """Return what the variables of a base class are; `given` says what those of the class itself are."""
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
