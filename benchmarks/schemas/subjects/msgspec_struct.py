"""msgspec, which knows no functions: a Struct of a function's parameters, as one would write it around it."""

import inspect
import typing
from collections.abc import Mapping
from typing import Any

from benchmarks.schemas.subject import Function, Subject, timed

__all__ = ["start"]


def start() -> Subject:
    """Return what makes Structs."""
    return _Msgspec()


class _Msgspec:
    def __init__(self) -> None:
        import msgspec

        self._library = msgspec

    def describe(self, function: Function) -> Mapping[str, Any]:
        return self._library.json.schema(self._struct(function))

    def call(self, function: Function, arguments: dict[str, Any], times: int) -> float:
        struct, convert = self._struct(function), self._library.convert
        names = struct.__struct_fields__

        def validate_and_call() -> object:
            found = convert(arguments, struct)
            return function(*[getattr(found, name) for name in names])

        return timed(validate_and_call, times)

    def _struct(self, function: Function) -> Any:  # noqa: ANN401 - a class that is made at run time
        hints = typing.get_type_hints(function, include_extras=True)
        fields = [
            (name, hints[name]) if each.default is each.empty else (name, hints[name], each.default)
            for name, each in inspect.signature(function).parameters.items()
        ]
        return self._library.defstruct(function.__name__, fields, forbid_unknown_fields=True)
