"""Validating a call's arguments, in time justified by their size."""

import marshal
import sys
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import CoreSchema

from ez_ptc.schema.arguments.bounds import Bounds, TooCostlyError, run_within
from ez_ptc.schema.arguments.core_schemas import Node, has_pattern, runs_code
from ez_ptc.schema.arguments.decoding import accept_json

__all__ = ["ArgumentsValidation", "TooCostlyError", "count_values"]

# Estimated microseconds up to which values are validated without a time limit.
_QUICK: Final = 100_000
_MIN_SECONDS: Final = 0.1
# CPU seconds per value; the limit of a validation is at least `_MIN_SECONDS`.
_SECONDS_OF_A_VALUE: Final = 2.5e-6
# All errors are collected if the same estimate is below this.
_WORTH_DETAIL: Final = 20_000

_MAX_LEVELS: Final = 128
_MAX_COUNTED: Final = 2_000_000

R = TypeVar("R")

_COLLECTIONS: Final = (list, tuple, set, frozenset, deque)
_Arguments = dict[str, Any]
# The dict's real values, even if a subclass overrides `values`.
_values: Final = dict[object, object].values


class ArgumentsValidation:
    """Validates all arguments of a function by the core schema of a dict of them.

    Its validators are made for the first call, since of many tools few are called. Patterns are checked at once. Raises
    UnboundedPatternError for one that may take exponential time.
    """

    def __init__(self, schema: CoreSchema) -> None:
        self._schema = schema
        self._metered: Callable[[Any], Any] | None = None
        self._all: Callable[[Any], Any] | None = None
        self.is_ready = False
        """Whether the validators are made; the other attributes exist only then."""
        self.quick: Callable[[_Arguments], _Arguments] = self._at_first
        """Returns the converted arguments.

        Raises ValidationError, with the first error of each list and dict, and TooCostlyError.
        """
        if has_pattern(cast("Node", schema)):
            self._get_ready()

    def _get_ready(self) -> None:
        self._bounds = Bounds(accept_json(self._schema))
        self._first = self._bounds.validator(fail_fast=True)
        most = max(self._bounds.weight, self._bounds.branches)
        self._few_bytes = 0 if self._bounds.repeats else _QUICK // most
        if most == 1 and not self._bounds.repeats:
            self.quick = self._first
        else:
            self.quick = self._check_size
        self.runs_code = runs_code(cast("Node", self._schema))
        """Whether it calls functions of the types' authors."""
        self.is_ready = True

    def _at_first(self, values: _Arguments) -> _Arguments:
        self._get_ready()
        return self.quick(values)

    def _check_size(self, values: _Arguments) -> _Arguments:
        # There cannot be more values than bytes, and bytes are counted fast.
        if self._few_bytes:
            try:
                size = len(marshal.dumps(values))
            except ValueError:  # not all of them are plain
                size = sys.maxsize
            if size <= self._few_bytes:
                return self._first(values)
        lists, scalars = count_values(values)
        is_quick = lists * self._bounds.weight + scalars * self._bounds.branches <= _QUICK
        if is_quick and not self._bounds.repeats:
            return self._first(values)
        if not is_quick and self._metered is None:
            self._metered = self._bounds.validator(fail_fast=True, metered=True)
        if is_quick or self._metered is None:
            validate = self._first
        else:
            validate = self._metered
        return run_within(_seconds(lists + scalars), validate, values)

    def within(self, function: Callable[[_Arguments], R], values: _Arguments) -> R:
        """Call a function that validates some arguments several times, in the time allowed for once.

        Raises TooCostlyError, and the function's exceptions.
        """
        return run_within(_seconds(sum(count_values(values))), function, values)

    def is_small(self, values: _Arguments) -> bool:
        """Return whether these arguments are small enough to collect all errors."""
        if not self.is_ready:  # nothing was validated, since the arguments' names are wrong
            self._get_ready()
        lists, scalars = count_values(values)
        return lists * self._bounds.weight + scalars * self._bounds.branches <= _WORTH_DETAIL

    def in_detail(self, values: _Arguments, error: ValidationError, *, most: int) -> ValidationError:
        """Return all errors of refused arguments; if there are more than `most`, those of `error`."""
        if not self.is_small(values):
            return error
        if self._all is None:
            self._all = self._bounds.validator(fail_fast=False)
        try:
            run_within(_MIN_SECONDS, self._all, values)
        except ValidationError as detailed:
            if detailed.error_count() <= most:
                return detailed
            return error
        return error


def _seconds(values: int) -> float:
    return max(_MIN_SECONDS, values * _SECONDS_OF_A_VALUE)


def count_values(value: object) -> tuple[int, int]:
    """Return the number of lists and dicts in a value, and that of other values, keys of dicts included.

    A recursive value, or one larger than any permitted JSON, is not counted to the end.
    """
    containers, scalars, level = 0, 0, [value]
    for _ in range(_MAX_LEVELS):
        dicts = [cast("dict[object, object]", item) for item in level if isinstance(item, dict)]
        lists = [cast("Iterable[object]", item) for item in level if isinstance(item, _COLLECTIONS)]
        containers += len(dicts) + len(lists)
        scalars += len(level) - len(dicts) - len(lists) + sum(map(len, dicts))
        if (not dicts and not lists) or containers + scalars > _MAX_COUNTED:
            break
        level = [*chain.from_iterable(map(_values, dicts)), *chain.from_iterable(lists)]
    return containers, scalars
