"""openai-agents: `function_schema`, and the steps in which its function tools use it, without the run around them."""

import importlib
from collections.abc import Mapping
from typing import Any

from benchmarks.schemas.subject import Function, Subject, timed

__all__ = ["start"]


def start() -> Subject:
    """Return what makes function schemas."""
    return _Agents()


class _Agents:
    def __init__(self) -> None:
        self._describe: Any = importlib.import_module("agents.function_schema").function_schema

    def describe(self, function: Function) -> Mapping[str, Any]:
        return self._describe(function, strict_json_schema=False).params_json_schema

    def call(self, function: Function, arguments: dict[str, Any], times: int) -> float:
        schema = self._describe(function, strict_json_schema=False)

        def validate_and_call() -> object:
            args, kwargs = schema.to_call_args(schema.params_pydantic_model(**arguments))
            return function(*args, **kwargs)

        return timed(validate_and_call, times)
