"""Iterators in what a tool returns: their items are its own work, so they are made before the call ends.

Each becomes a list, also one inside a container or a record. So does an asynchronous one on an event loop, where other
awaitables are awaited. The containers around it are copied, because the tool may keep the originals. Of a record, only
what it stores is looked into: a property or an ORM's descriptor could fail, and the tool has had its effect.
"""

import copy
import dataclasses
import inspect
import io
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from types import CoroutineType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final, cast

from ez_ptc._sync import to_thread
from ez_ptc.errors import ToolError
from ez_ptc.formats.encoding import SCALAR_TEXTS

__all__ = ["PendingOutput", "amake_items", "make_items"]

# How far is looked into an output: one with more elements or levels cannot be passed on.
_MAX_ELEMENTS: Final = 500_000
_MAX_DEPTH: Final = 100
# An iterator without end would take all memory.
_MAX_ITEMS: Final = 10_000_000
_SCALARS: Final = frozenset({str, int, float, bool, type(None), *SCALAR_TEXTS})
_SEQUENCES: Final[tuple[Any, ...]] = (list, tuple, deque)


@dataclasses.dataclass(frozen=True, slots=True)
class PendingOutput:
    """An output of which an event loop has to make a part, such as a coroutine."""

    value: object
    parts: list[Any]
    copier: "_Copier"


def make_items(tool: str, output: object) -> object:
    """Return a tool's output with lists instead of iterators: the same object if it has none.

    It is a `PendingOutput` if a part has to be awaited. Raises ToolError for an iterator without end.
    """
    cls = type(output)
    if cls is CoroutineType:  # of an async function, so there is nothing to look for
        return PendingOutput(output, [output], _Copier(tool))
    lazy = _find_lazy(output)
    return _make_found(_Copier(tool), output, lazy) if lazy else output


def _make_found(copier: "_Copier", output: object, lazy: list[object]) -> object:
    # Items may be iterators as well, and have parts to await.
    if not all(map(_is_pending, map(type, lazy))):
        output = copier.copy_all(output)
        lazy = _find_lazy(output)
    pending = [item for item in lazy if _is_pending(type(item))]
    return PendingOutput(output, pending, copier) if pending else output


async def amake_items(tool: str, output: object) -> object:
    """Same as `make_items`, but await the parts of a `PendingOutput` as well, and make other items in a thread."""
    for _ in range(_MAX_DEPTH):
        if type(output) is not PendingOutput:
            return output
        copier = output.copier
        new = [awaitable for awaitable in output.parts if id(awaitable) not in copier.known]
        if not new:
            return output.value
        for awaitable in new:
            copier.known[id(awaitable)] = awaitable, await _await_part(copier, awaitable)
        output = copier.copy_awaited(output.value)
        if lazy := _find_lazy(output):
            make = partial(_make_found, copier, output, lazy)
            output = make() if all(map(_is_pending, map(type, lazy))) else await to_thread(make)
    if type(output) is PendingOutput:
        for coroutine in filter(inspect.iscoroutine, output.parts):
            coroutine.close()
        raise _too_deep(tool, output.parts[0])
    return output


async def _await_part(copier: "_Copier", part: object) -> object:
    if inspect.isawaitable(part):
        return await cast("Awaitable[object]", part)
    items: list[object] = []
    async for item in cast("AsyncIterator[object]", part):
        copier.count_item(part)
        items.append(item)
    return items


class _Copier:
    """Copies the containers of one output, with lists or the results of awaited parts in the place of some."""

    def __init__(self, tool: str) -> None:
        self.known: dict[int, tuple[object, object]] = {}
        self._tool = tool
        self._left = _MAX_ELEMENTS
        self._count = 0
        self._is_making = True

    def copy_all(self, output: object) -> object:
        """Return an output with lists instead of iterators."""
        self._left, self._is_making = _MAX_ELEMENTS, True
        return self._copy(output, 0)

    def copy_awaited(self, output: object) -> object:
        """Return an output with the results of awaited parts, and the same iterators."""
        self._left, self._is_making = _MAX_ELEMENTS, False
        return self._copy(output, 0)

    def count_item(self, value: object) -> None:
        """Raise ToolError if the iterators of the output have too many items."""
        self._count += 1
        if self._count > _MAX_ITEMS:
            raise _endless(self._tool, value)

    def _copy(self, value: object, depth: int) -> object:
        cls = type(value)
        if cls in _SCALARS or self._left < 0:
            return value
        if depth > _MAX_DEPTH:
            if self._is_making and _is_iterator(cls):
                raise _too_deep(self._tool, value)
            return value
        if id(value) in self.known:
            return self._copy(self.known[id(value)][1], depth + 1)
        if _is_iterator(cls):
            return self._list_of(value, depth + 1) if self._is_making else value
        parts = _parts_of(value)
        if parts is None:
            return value
        self._left -= len(parts)
        changes: dict[object, object] = {}
        for key, inner in parts.items():
            made = self._copy(inner, depth + 1)
            if made is not inner:
                changes[key] = made
        return _replace_parts(value, changes) if changes else value

    def _list_of(self, value: object, depth: int) -> list[object]:
        items: list[object] = []
        self.known[id(value)] = value, items  # it may be in the output twice
        for item in cast("Iterator[object]", value):
            self.count_item(value)
            # Each is copied before the next is made, which may end it, as a group of `itertools.groupby`.
            items.append(self._copy(item, depth))
        return items


def _find_lazy(output: object) -> list[object]:
    """Return the iterators and awaitables in an output, of the first level that has some."""
    level, count = [output], 0
    for _ in range(_MAX_DEPTH):
        kinds = set(map(type, level))
        below: list[object] = []
        for cls in kinds - _SCALARS:
            items = cast("list[Any]", [item for item in level if type(item) is cls] if len(kinds) > 1 else level)
            if cls is dict:
                below += chain.from_iterable(map(dict[object, object].values, items))
            elif cls is list or cls is tuple:
                below += chain.from_iterable(items)
            elif _is_iterator(cls) or _is_pending(cls):
                return [item for item in level if _is_iterator(type(item)) or _is_pending(type(item))]
            elif (names := _names_of(cls)) is not None:
                below += chain.from_iterable(parts.values() for parts in _stored_parts(cls, items, names))
            else:
                below += chain.from_iterable((_parts_of(item) or {}).values() for item in items)
        count += len(below)
        if not below or count > _MAX_ELEMENTS:
            break
        level = below
    return []


def _is_iterator(cls: type[object]) -> bool:
    # A file is read by its methods, and some records can be iterated over as well.
    return issubclass(cls, Iterator) and not issubclass(cls, io.IOBase | Mapping) and not _is_whole(cls)


def _is_pending(cls: type[object]) -> bool:
    return issubclass(cls, Awaitable | AsyncIterator) and not _is_whole(cls)


def _is_whole(cls: Any) -> bool:  # noqa: ANN401 - any class
    # A mock of a user's tests has the methods of everything.
    return _names_of(cls) is not None or cls.__module__ == "unittest.mock"


def _names_of(cls: Any) -> list[str] | None:  # noqa: ANN401 - any class
    """Return the names of a record class's fields, or None for any other class."""
    if hasattr(cls, "__dataclass_fields__"):
        return [field.name for field in dataclasses.fields(cls)]
    if hasattr(cls, "__pydantic_validator__"):
        return list(cls.model_fields)
    return [field.name for field in cls.__attrs_attrs__] if hasattr(cls, "__attrs_attrs__") else None


def _stored_parts(cls: type[object], items: Iterable[object], names: list[str]) -> Iterator[dict[Any, object]]:
    """Yield the fields that each record stores, read without any code of the host."""
    raw = {name: _raw_attribute(cls, name) for name in (*names, "__pydantic_extra__")}
    slots = {name: slot for name, slot in raw.items() if isinstance(slot, MemberDescriptorType)}
    own_dict = _raw_attribute(cls, "__dict__")
    for item in items:
        stored: dict[str, object] = own_dict.__get__(item) if isinstance(own_dict, GetSetDescriptorType) else {}
        parts: dict[Any, object] = {name: stored[name] for name in names if name in stored}
        for name, slot in slots.items():
            with suppress(AttributeError):  # nothing is stored in it
                parts[name] = slot.__get__(item)
        extra = parts.pop("__pydantic_extra__", None)
        yield parts | extra if type(extra) is dict else parts


def _raw_attribute(cls: type[object], name: str) -> object:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _parts_of(value: Any) -> Mapping[Any, object] | None:  # noqa: ANN401 - any object
    """Return the parts of a container or a record by their keys, or None for anything else."""
    cls = cast("type[object]", type(value))
    # As the classes of Python do it: a subclass may answer for its items with an error, or with others.
    if issubclass(cls, dict):
        return dict(dict[Any, object].items(value))
    for sequence in _SEQUENCES:
        if issubclass(cls, sequence):
            items: Iterator[object] = sequence.__iter__(value)
            return dict(enumerate(items))
    names = _names_of(cls)
    if names is None:
        return None
    return next(_stored_parts(cls, [value], names))


def _replace_parts(value: Any, changes: Mapping[Any, object]) -> object:  # noqa: ANN401 - of any container
    cls: Any = cast("type[object]", type(value))
    if isinstance(value, tuple):
        items = [changes.get(index, item) for index, item in enumerate(cast("tuple[object, ...]", value))]
        make: Any = getattr(cls, "_make", tuple)  # of a named one
        return make(items)
    if hasattr(cls, "model_copy"):
        return value.model_copy(update=dict(changes))
    changed = copy.copy(value)
    for key, inner in changes.items():
        if issubclass(cls, dict | list | deque):
            changed[key] = inner
        else:
            slot, own_dict = _raw_attribute(cls, key), _raw_attribute(cls, "__dict__")
            if isinstance(slot, MemberDescriptorType):
                slot.__set__(changed, inner)
            else:
                cast("Any", own_dict).__get__(changed)[key] = inner  # also of a frozen record
    return changed


def _endless(tool: str, value: object) -> ToolError:
    message = (
        f"{tool} returned an iterator ({type(value).__name__}) of more than {_MAX_ITEMS:,} items: ask for less, or let "
        "the tool return a list"
    )
    return ToolError(message)


def _too_deep(tool: str, value: object) -> ToolError:
    message = (
        f"{tool} has run, but what it returned never ends ({type(value).__name__}): each has another within, more than "
        f"{_MAX_DEPTH} levels deep; let the tool return plain values"
    )
    return ToolError(message)
