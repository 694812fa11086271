"""The types of a program's values, as far as its check can tell: what an expression is, never what it might be."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import itertools
import types
import uuid
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "BOOL",
    "FALSE",
    "FLOAT",
    "INT",
    "NONE",
    "NOTHING",
    "NUMBERS",
    "SCALARS",
    "STR",
    "TRUE",
    "UNKNOWN",
    "Type",
    "join",
    "limit_depth",
    "members",
    "of_each",
    "samples_of",
    "try_on",
    "type_named",
]  # fmt: skip

# The maximum number of types that one value may have; with more, it is unknown.
_MAX_MEMBERS = 4
_MAX_DEPTH = 4
SCALARS = frozenset({"str", "int", "float", "bool"})
NUMBERS = frozenset({"int", "float", "bool"})


def _tool() -> None:
    """Have what the functions of tools have."""


vars(_tool)["__signature__"] = None

# Values of each kind, for asking Python what it does with one. The containers are empty, so that nothing changes them;
# decimals set a context variable, which programs may see, and so are used in another context.
_SAMPLES: dict[str, tuple[Any, ...]] = {
    **{cls.__name__: (cls(),) for cls in (str, list, tuple, dict, set, bytes, complex)},
    **{cls.__name__: (cls(),) for cls in (collections.Counter, collections.defaultdict, collections.deque)},
    **{cls.__name__: (cls(2024, 1, 1),) for cls in (dt.datetime, dt.date)},
    "time": (dt.time(),),
    "timedelta": (dt.timedelta(1),),
    "int": (1,),
    "float": (1.5,),
    "bool": (True,),
    "range": (range(0),),
    "Decimal": (copy_context().run(decimal.Decimal, 1),),
    "UUID": (uuid.UUID(int=0),),
    "NoneType": (None,),
    "record": ({}, ()),  # it may be a named tuple
    "module": (types,),
    "generator": (iter(()),),
    "view": ({}.items(), iter(()), enumerate(()), filter(None, ()), map(str, ()), zip()),
    "function": (lambda: None,),
    "method": ({}.items,),
    "tool": (_tool,),
}
# What a tool's value of a kind may be instead.
_SAMPLES_OF_TOOLS: dict[str, tuple[Any, ...]] = {"list": ((), collections.deque()), "float": (1,)}
# The kinds of values with another name than the kind's own in Python's errors.
_NAMES = {"record": "dict", "view": "iterator", "tool": "function", "method": "builtin_function_or_method"}


class Type(NamedTuple):
    """The inferred type of a value.

    `kind` is the name of a built-in class, or "record" (what tools return as a dict with known keys), "union", "tool",
    "function", "method", "class", "module", "coroutine", "generator" or "view" (what `enumerate` and `dict.items`
    return); "" if unknown, and "nothing" for the items of an empty list. `item` is the type of the items of a list,
    the values of a dict or the result of a coroutine, None if unknown; `key` the kind of a dict's keys, `keys` the
    types of known keys, `parts` the members of a union or the items of a tuple, `choices` the only possible texts and
    numbers. `tool` is the tool that returned the value, `site` tells where a container was made, `value` is a function,
    class or module itself, `depth` how deeply types are nested, and `is_open` whether a record may have further keys.
    """

    kind: str = ""
    item: Type | None = None
    key: str = ""
    keys: Mapping[str, Type] = {}
    parts: tuple[Type, ...] = ()
    choices: tuple[object, ...] = ()
    tool: str = ""
    site: object = None
    value: object = None
    depth: int = 0
    is_open: bool = False

    @property
    def record(self) -> Type:
        """The type of a list's items, or of the value itself."""
        if self.kind == "list" and self.item is not None:
            return self.item
        return self

    @property
    def is_nullable(self) -> bool:
        """Whether None is among the possible values."""
        return any(member.kind == "NoneType" for member in members(self))

    @property
    def name(self) -> str:
        """The name of the type in messages."""
        return _NAMES.get(self.kind, self.kind)


UNKNOWN, NOTHING, NONE = Type(), Type("nothing"), Type("NoneType")
STR, INT, FLOAT, BOOL = Type("str"), Type("int"), Type("float"), Type("bool")
TRUE, FALSE = Type("bool", choices=(True,)), Type("bool", choices=(False,))


def limit_depth(value: Type) -> Type:
    """Return a type whose parts are known to a limited depth, so that none takes long to compare.

    A type that is nothing without its parts is unknown then.
    """
    inner = [*value.parts, *value.keys.values()]
    if value.item is not None:
        inner.append(value.item)
    depth = 1 + max((member.depth for member in inner), default=-1)
    if depth <= _MAX_DEPTH:
        return value if depth == value.depth else value._replace(depth=depth)
    if value.kind in {"union", "record"}:
        return UNKNOWN
    return Type(value.kind, item=UNKNOWN, key=value.key, tool=value.tool, site=value.site, depth=1)


def type_named(text: str) -> Type:
    """Return a type by its name in the tables: `str`, `list[int]`; unknown for an empty one."""
    container, _, item = text.rstrip("]").partition("[")
    if item:
        return Type(container, item=type_named(item))
    return Type(container)


def samples_of(value: Type) -> tuple[Any, ...]:
    """Return what a value of a type may be; nothing if that is not known."""
    samples = _SAMPLES.get(value.kind, ())
    return samples + _SAMPLES_OF_TOOLS.get(value.kind, ()) if value.tool else samples


def try_on(function: Callable[..., object], *values: Type) -> tuple[Type, str]:
    """Return the type of a function's results for values of some types, and its error if it refuses all of them."""
    errors: list[str] = []
    for arguments in itertools.product(*map(samples_of, values)):
        try:
            return Type(type(copy_context().run(function, *arguments)).__name__), ""
        except TypeError as error:
            errors.append(f"TypeError: {error}")
        except (ValueError, LookupError, ArithmeticError, StopIteration):
            return UNKNOWN, ""  # other values of the type would do
    return UNKNOWN, errors[0] if errors else ""


def members(value: Type) -> tuple[Type, ...]:
    """Return the types that a value may have: those of a union, or the only one."""
    if value.kind == "union":
        return value.parts
    return (value,)


def join(types: Iterable[Type]) -> Type:
    """Return the type of a value that has one of several types."""
    joined: dict[object, list[Type]] = {}
    for member in itertools.chain.from_iterable(map(members, types)):
        if not member.kind:
            return UNKNOWN
        if member.kind == "nothing":
            continue
        # Two tools are never one.
        tool = member.tool if member.kind == "tool" else ""
        alike = member.kind, member.site, id(member.value), len(member.parts), tool
        joined.setdefault(alike, []).append(member)
    if not joined:
        return NOTHING
    if len(joined) > _MAX_MEMBERS:
        return UNKNOWN
    parts = tuple(map(_merge, joined.values()))
    return parts[0] if len(parts) == 1 else Type("union", parts=parts)


def of_each(value: Type, function: Callable[[Type], Type]) -> Type:
    """Return the type of a function's results for the types that a value may have."""
    if value.kind != "union":
        return function(value)
    return join(map(function, value.parts))


def _merge(types: Sequence[Type]) -> Type:
    """Return the type of values of the same kind, made at the same place."""
    first = types[0]
    if all(value == first for value in types):
        return first
    items = [value.item for value in types if value.item is not None]
    keys: dict[str, list[Type]] = {}
    for key, member in itertools.chain.from_iterable(value.keys.items() for value in types):
        keys.setdefault(key, []).append(member)
    choices: dict[object, None] = {}
    if all(value.choices for value in types):
        choices = dict.fromkeys(itertools.chain.from_iterable(value.choices for value in types))
    return first._replace(
        item=join(items) if len(items) == len(types) else None,
        key=first.key if all(value.key == first.key for value in types) else "",
        keys={key: join(values) for key, values in keys.items()},
        parts=tuple(map(join, zip(*(value.parts for value in types), strict=True))),
        choices=tuple(choices),
        tool=first.tool if all(value.tool == first.tool for value in types) else "",
        is_open=any(value.is_open for value in types),
    )
