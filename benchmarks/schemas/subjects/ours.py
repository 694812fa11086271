"""This library, through the door that its users take."""

from collections.abc import Mapping
from typing import Any

from benchmarks.schemas.subject import Function, Subject, timed

__all__ = ["start"]


def start() -> Subject:
    """Return what makes tools."""
    return _Ours()


class _Ours:
    def __init__(self) -> None:
        from ez_ptc import ez_tool

        self._make = ez_tool

    def describe(self, function: Function) -> Mapping[str, Any]:
        return self._make(function).parameters

    def call(self, function: Function, arguments: dict[str, Any], times: int) -> float:
        tool = self._make(function)
        return timed(lambda: tool.call(arguments), times)
