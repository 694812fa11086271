"""Attributes that are made on first use, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["lazy"]

R = TypeVar("R")
S = TypeVar("S")


class lazy(Generic[S, R]):  # noqa: N801 - a decorator, as `property` is one
    """A property that is computed once. Where several threads ask at once, each computes it and all get the first one.

    Python 3.11's `functools.cached_property` does the same for all instances under one lock, which a fork in another
    thread would leave locked for ever.
    """

    def __init__(self, make: Callable[[S], R]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[object] | None = None) -> "lazy[S, R]": ...
    @overload
    def __get__(self, instance: S, owner: type[object] | None = None) -> R: ...
    def __get__(self, instance: S | None, owner: type[object] | None = None) -> "R | lazy[S, R]":
        if instance is None:
            return self
        attributes: dict[str, Any] = vars(instance)
        return attributes.setdefault(self._name, self._make(instance))
