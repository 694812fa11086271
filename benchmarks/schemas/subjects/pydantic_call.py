"""Pydantic itself: the type adapter of a function for the schema, `validate_call` for the call.

It describes no parameters and takes no JSON Schema's forms: it is the least that validating with it can cost.
"""

from collections.abc import Mapping
from typing import Any

from benchmarks.schemas.subject import Function, Subject, timed

__all__ = ["start"]


def start() -> Subject:
    """Return what makes type adapters and validated functions."""
    return _Pydantic()


class _Pydantic:
    def __init__(self) -> None:
        from pydantic import TypeAdapter, validate_call

        self._adapt: Any = TypeAdapter
        self._validated = validate_call

    def describe(self, function: Function) -> Mapping[str, Any]:
        return self._adapt(function).json_schema()

    def call(self, function: Function, arguments: dict[str, Any], times: int) -> float:
        validated = self._validated(function)
        return timed(lambda: validated(**arguments), times)
