"""langchain-core: a structured tool, invoked with a dict."""

import importlib
from collections.abc import Mapping
from typing import Any

from benchmarks.schemas.subject import Function, Subject, timed

__all__ = ["start"]


def start() -> Subject:
    """Return what makes structured tools."""
    return _Langchain()


class _Langchain:
    def __init__(self) -> None:
        self._make: Any = importlib.import_module("langchain_core.tools").StructuredTool.from_function
        self._convert: Any = importlib.import_module("langchain_core.utils.function_calling").convert_to_openai_tool

    def describe(self, function: Function) -> Mapping[str, Any]:
        return self._convert(self._make(function))["function"]["parameters"]

    def call(self, function: Function, arguments: dict[str, Any], times: int) -> float:
        tool = self._make(function)
        return timed(lambda: tool.invoke(arguments), times)
