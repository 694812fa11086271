"""Hashes without addresses: the sets of a program have the same order in each execution."""

from __future__ import annotations

import abc
import asyncio
import builtins
import concurrent.futures
import itertools
import sys
import threading
import weakref
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, cast

from ..running import tools

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["install"]

_MAIN: Final = "__main__"
_MODULES_OF_FUNCTIONS: Final = frozenset({_MAIN, tools.__name__})
_METACLASSES = frozenset({type, abc.ABCMeta})


class _Numbers:
    """Numbers for objects, in the order of their first use."""

    def __init__(self) -> None:
        self._following = itertools.count(1)
        # By address, as long as an object is there; the reference removes its entry.
        self._entries: dict[int, tuple[int, object]] = {}

    def number(self, thing: object) -> int:
        """Return the number of an object."""
        address = id(thing)
        entry = self._entries.get(address)
        if entry is None:
            try:
                reference = weakref.ref(thing, lambda _: self._entries.pop(address, None))
            except TypeError:  # the class has `__slots__`
                return object.__hash__(thing)
            self._entries[address] = entry = next(self._following), reference
        return entry[0]


def install(replace_hash: Callable[[type, Callable[[Any], int]], None] | None = None) -> None:
    """Let futures, tasks, threads, tools, functions and instances of the program have such hashes.

    `replace_hash` gives instances of a C class another hash; without it, functions keep theirs.
    """
    numbers = _Numbers()
    if replace_hash is not None:
        _install_functions(numbers, replace_hash)

    def hash_of(self: object) -> int:
        return numbers.number(self)

    for cls in (concurrent.futures.Future, threading.Thread):
        cast("Any", cls).__hash__ = hash_of
    modules = {"Future": asyncio.futures, "Task": asyncio.tasks}
    for name, module in modules.items():
        base = cast("type", getattr(asyncio, name))
        derived = type(name, (base,), {"__hash__": hash_of, "__module__": base.__module__})
        setattr(asyncio, name, derived)
        setattr(module, name, derived)
    ordered = type("object", (), {"__slots__": (), "__hash__": hash_of, "__module__": "builtins"})
    vars(sys.modules["builtins"])["__build_class__"] = _class_builder(ordered)


def _install_functions(numbers: _Numbers, replace_hash: Callable[[type, Callable[[Any], int]], None]) -> None:
    hash_method = MethodType.__hash__

    def hash_function(function: FunctionType) -> int:
        # Those of the library may be keys already.
        if function.__globals__.get("__name__", _MAIN) in _MODULES_OF_FUNCTIONS:
            return numbers.number(function)
        return object.__hash__(function)

    def hash_bound(method: MethodType) -> int:
        function = method.__func__
        if type(function) is FunctionType and function.__globals__.get("__name__", _MAIN) == _MAIN:
            return hash((numbers.number(method.__self__), hash_function(function)))
        return hash_method(method)

    replace_hash(FunctionType, hash_function)
    replace_hash(MethodType, hash_bound)


def _class_builder(ordered: type) -> Callable[..., object]:
    """Return the builder of the program's classes: those with instances hashed by address get a base."""
    build = cast("Callable[..., object]", vars(builtins)["__build_class__"])

    def build_class(function: object, name: str, /, *bases: object, **options: Any) -> object:
        if "metaclass" not in options and all(map(_is_hashed_by_address, bases)):
            bases = (*bases, ordered)
        return build(function, name, *bases, **options)

    return build_class


def _is_hashed_by_address(base: object) -> bool:
    return (
        type(base) in _METACLASSES
        and cast("type", base).__hash__ is object.__hash__
        and not issubclass(cast("type", base), BaseException)
        and base is not object
        and not vars(base).get("_is_protocol", False)
    )
