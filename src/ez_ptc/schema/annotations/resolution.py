"""Resolving annotations to types, by the names visible at a function's definition."""

import builtins
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, ForwardRef, Literal, TypeVar, Union, cast, get_args, get_origin

from typing_extensions import TypeAliasType

__all__ = [
    "alias_value",
    "innermost",
    "is_stand_in",
    "lasting_names",
    "names_around",
    "resolve",
    "resolve_leniently",
    "type_parameters",
]

_EMPTY: Final = inspect.Parameter.empty
_AnyCallable = Callable[..., object]
_PLAIN_FORMS: Final = frozenset({list, dict, tuple, set, frozenset, Literal, Union, types.UnionType})


def alias_value(alias: Any) -> Any:  # noqa: ANN401 - any form of type
    """Return the value of a type alias, or Any if it uses an undefined name."""
    try:
        return alias.__value__
    except Exception:  # noqa: BLE001 - it is an expression and may raise anything
        return Any


def innermost(function: _AnyCallable) -> _AnyCallable:
    """Return the function that has the code: behind `partial`, `functools.wraps`, bound methods and `__call__`."""
    while True:
        if isinstance(function, functools.partial):
            function = cast("functools.partial[object]", function).func
        elif inspect.ismethod(function):
            function = function.__func__
        elif (wrapped := getattr(function, "__wrapped__", None)) is not None:
            function = wrapped
        elif inspect.isroutine(function) or isinstance(function, type):
            return function
        else:
            function = type(function).__call__


def names_around(function: _AnyCallable, *, owner: object = None) -> dict[str, Any]:
    """Return all names an annotation of an innermost function may use; nearer definitions hide farther ones.

    These are the names of its module, of the running functions and classes around it, and its closure variables.
    The type parameters of the class of `owner`, a method, are included, and so are the classes nested in that class if
    nothing else has their name. The result may be the module's own dict.
    """
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    of_module: dict[str, Any] = getattr(function, "__globals__", None) or vars(module or types.SimpleNamespace())
    nested: dict[str, Any] = {}
    home: type | None = None
    if owner is not None and not inspect.ismodule(owner):
        for cls in reversed(owner.__mro__ if isinstance(owner, type) else type(owner).__mro__):
            nested.update((name, inner) for name, inner in vars(cls).items() if isinstance(inner, type))
            if function.__name__ in vars(cls):
                home = cls
    nearer: dict[str, Any] = {}
    for frame in reversed([*_frames_around(function)]):
        nearer.update(frame.f_locals)
    nearer |= {**type_parameters(home), **type_parameters(function)}
    if inspect.isfunction(function):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                nearer[name] = cell.cell_contents
            except ValueError:  # a variable without a value yet
                continue
    # Not a copy for each of the thousands of functions that a module may have.
    return {**nested, **of_module, **nearer} if nested or nearer else of_module


def type_parameters(generic: object) -> dict[str, Any]:
    """Return the type parameters a class or a function was defined with, `class Shelf[Item]`, by name."""
    return {item.__name__: item for item in getattr(generic, "__type_params__", ())}


def lasting_names(function: _AnyCallable, names: dict[str, Any]) -> dict[str, Any]:
    """Return the names around a function without the variables of other functions, which would live as long.

    Those that types are made of remain.
    """
    if names is getattr(innermost(function), "__globals__", None):
        return names
    kinds = (type, types.ModuleType, TypeAliasType, TypeVar)
    return {name: value for name, value in names.items() if isinstance(value, kinds) or get_origin(value) is not None}


def resolve(annotation: object, names: dict[str, Any]) -> object:
    """Evaluate an annotation and the text within it.

    The text is an expression, so this may raise any exception.
    """
    if annotation is _EMPTY or annotation is None:
        return annotation
    if not _has_text(annotation):
        return annotation
    if isinstance(annotation, str):
        # Most text is the name of a class, which takes `typing` as long as all else of a function.
        named = names.get(annotation, vars(builtins).get(annotation))
        if type(names) is dict and isinstance(named, type) and get_origin(named) is None:
            return named
        # As in a class body, where `Final` is allowed too.
        annotation = ForwardRef(annotation, is_argument=False, is_class=True)
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(holder, names, include_extras=True)["it"]


def _has_text(annotation: object) -> bool:
    """Return whether an annotation is text, or may have some within it that only `typing` sees."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return False
    arguments = get_args(annotation)
    # Of other forms, such as those without arguments, `typing` decides. The texts of a literal are values.
    is_plain = bool(arguments) and get_origin(annotation) in _PLAIN_FORMS
    return not is_plain or (get_origin(annotation) is not Literal and any(map(_has_text, arguments)))


def is_stand_in(kind: object) -> bool:
    """Return whether a class stands for an undefined name."""
    return isinstance(kind, _StandIn)


def resolve_leniently(annotation: object, names: dict[str, Any], known: dict[str, Any]) -> object:
    """Evaluate an annotation with undefined names, such as those imported for type checkers only.

    An undefined name is looked up in `known`, without its module, and otherwise becomes a class of its own. Returns the
    annotation itself if that does not help.
    """
    try:
        return resolve(annotation, _LenientNames(names, known))
    except Exception:  # noqa: BLE001 - the text of an annotation is an expression and may raise anything
        return annotation


class _LenientNames(dict[str, Any]):
    def __init__(self, names: dict[str, Any], known: dict[str, Any]) -> None:
        # Builtins are looked up here first, so they must be included.
        super().__init__({**vars(builtins), **names})
        self._known = known

    def __missing__(self, name: str) -> Any:  # noqa: ANN401 - what a name stands for
        return _stand_in(name, self._known)


class _StandIn(type):
    """The metaclass of stand-ins, which have every attribute and can be subscripted."""

    known: dict[str, Any]

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401 - what a name stands for
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(name, cls.known)

    def __getitem__(cls, _: object) -> "_StandIn":
        return cls


def _stand_in(name: str, known: dict[str, Any]) -> Any:  # noqa: ANN401 - what a name stands for
    if name in known:
        return known[name]
    return _StandIn(name, (), {"known": known})


def _frames_around(function: _AnyCallable) -> Iterator[types.FrameType]:
    """Yield the running frames of the functions and classes around a function, nearest first."""
    around: set[str] = set()
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    while outer:
        around.add(outer)
        outer = outer.removesuffix(".<locals>")
        around.add(outer)
        outer = outer.rpartition(".")[0]
    current = inspect.currentframe()
    while current is not None and around:
        if current.f_code.co_qualname in around and current.f_globals is getattr(function, "__globals__", None):
            yield current
        current = current.f_back
