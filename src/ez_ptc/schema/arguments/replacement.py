"""Replacing or removing values within values; containers are copied once and never changed."""

import copy
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar, cast

__all__ = ["LEFT_OUT", "detach", "replace_at"]

# The new value of an item to remove.
LEFT_OUT: Final = object()

_ONE_VALUE: Final = frozenset({str, int, float, bool, type(None)})
_MANY: Final = 8
_values: Final = dict[object, object].values
_Path = Sequence[int | str]
T = TypeVar("T")


class _Changes(dict[int | str, Any]):
    """The changes in one list or dict: new values by keys and indices, and changes within others."""


def replace_at(value: object, changes: Iterable[tuple[_Path, object]]) -> Any:  # noqa: ANN401 - of the value's own type
    """Return a copy of a value with those at the paths of `changes` replaced."""
    root = _Changes()
    for path, new in changes:
        inner = root
        for step in path[:-1]:
            following = inner.setdefault(step, _Changes())
            if not isinstance(following, _Changes):  # an outer value has been replaced already
                break
            inner = following
        else:
            inner[path[-1]] = new
    return _replace(value, root)


def _replace(value: object, changes: Mapping[int | str, object]) -> object:
    copied: Any = list(cast("Sequence[object]", value)) if isinstance(value, tuple) else copy.copy(value)
    for step, new in changes.items():
        if new is LEFT_OUT:
            del copied[step]
        elif isinstance(new, _Changes):
            copied[step] = _replace(copied[step], new)
        else:
            copied[step] = new
    return copied


def detach(value: T) -> T:
    """Return a value that shares no list, deque, dict, set or slice with the original; other objects are shared.

    Raises RecursionError for a recursive value.
    """
    cls = type(value)
    if cls is dict:
        fields = cast("dict[object, object]", value)
        if _ONE_VALUE.issuperset(map(type, fields.values())):
            return cast("T", fields.copy())
        return cast("T", {key: detach(field) for key, field in fields.items()})
    if cls is list or cls is tuple:
        items = cast("Sequence[object]", value)
        return cast("T", cls(items if _ONE_VALUE.issuperset(map(type, items)) else map(_copier_of(items), items)))
    if cls in _COPIES:
        return cast("T", _COPIES[cls](value))
    if issubclass(cls, tuple) and "_fields" in getattr(value, "__dict__", ()):  # a named tuple of a program
        named = cast("Any", value)
        return named._replace(**{name: detach(item) for name, item in named._asdict().items()})
    return value


def _copier_of(items: Sequence[Any]) -> Callable[[Any], object]:
    """Return the function that copies each item; of many rows of single values, none is looked at alone."""
    if len(items) >= _MANY and set(map(type, items)) == {dict}:
        values = chain.from_iterable(map(_values, items))
        if _ONE_VALUE.issuperset(map(type, values)):
            return dict[object, object].copy
    return detach


_COPIES: Final[Mapping[type, Callable[[Any], object]]] = {
    deque: lambda queue: deque[object](map(detach, cast("deque[object]", queue)), queue.maxlen),
    set: set[object].copy,
    slice: lambda part: slice(*map(detach, (part.start, part.stop, part.step))),
}
