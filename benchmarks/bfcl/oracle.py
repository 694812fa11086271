"""What must come of a call, worked out without the library: the arguments, the result, and when two values are one."""

import copy
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Union, cast, get_args, get_origin, get_type_hints

from benchmarks.bfcl.entries import Call

__all__ = ["Arrival", "Wanted", "conform", "crosses", "received", "same", "wanted"]

PLAIN = frozenset({str, int, float, bool, type(None)})
"""Scalars that the classes hand out and that cross the sandbox's border; the lists and dicts of them do too."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A call as the real method received it: its name and every parameter's value, defaults filled in."""

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What must come of one ground-truth call: what arrives, and what it gave when called directly."""

    arrival: Arrival
    result: object


def wanted(method: Callable[..., object], call: Call) -> Wanted:
    """Call ``method`` directly with the ground truth's arguments, and return what must come of the call."""
    arrival = received(method, call.args, call.kwargs)
    hints = get_type_hints(method)
    arguments = {name: conform(value, hints.get(name, object)) for name, value in arrival.arguments.items()}
    # A copy: some methods hand out what later calls change.
    result = copy.deepcopy(method(*call.args, **call.kwargs))
    return Wanted(Arrival(arrival.name, arguments), result)


def received(method: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> Arrival:
    """Return the arrival of a call of the bound ``method``, with copies of its values."""
    bound = inspect.signature(method).bind(*args, **kwargs)
    bound.apply_defaults()
    return Arrival(method.__name__, copy.deepcopy(dict(bound.arguments)))


def conform(value: object, annotation: object) -> object:
    """Return ``value`` as the annotation wants it: an int is a float where a float is annotated, also inside.

    A value that does not fit stays what it is.
    """
    if annotation is float and type(value) is int:
        return float(value)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        fitting = (part for part in parts if type(value) is (get_origin(part) or part))
        return conform(value, next(fitting, float if float in parts else object))
    if origin is list and isinstance(value, list):
        return [conform(item, parts[0]) for item in cast("list[object]", value)]
    if origin is dict and isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return {conform(key, parts[0]): conform(item, parts[1]) for key, item in items}
    return value


def crosses(value: object) -> bool:
    """Tell whether a result consists of plain data, so that it must reach the program."""
    if type(value) is list:
        return all(crosses(item) for item in cast("list[object]", value))
    if type(value) is dict:
        return all(crosses(part) for pair in cast("dict[object, object]", value).items() for part in pair)
    return type(value) in PLAIN


def same(one: object, other: object) -> bool:
    """Tell whether two values are equal and of one type throughout: 1 is not 1.0, nor True."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        left, right = cast("list[object]", one), cast("list[object]", other)
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(one, dict):
        first, second = cast("dict[object, object]", one), cast("dict[object, object]", other)
        return list(map(repr, first)) == list(map(repr, second)) and all(map(same, first.values(), second.values()))
    return one == other
