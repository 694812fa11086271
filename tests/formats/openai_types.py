"""Requests, judged by the types of OpenAI's SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter

__all__ = ["check_chat", "check_responses"]


def check_chat(body: Mapping[str, Any]) -> None:
    """Raise a validation error for what is no request of Chat Completions, or has a field that there is not."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    _check(CompletionCreateParamsNonStreaming, body)


def check_responses(body: Mapping[str, Any]) -> None:
    """Raise a validation error for what is no request of Responses, or has a field that there is not."""
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

    _check(ResponseCreateParamsNonStreaming, body)


def _check(kind: type, body: Mapping[str, Any]) -> None:
    unknown = body.keys() - get_type_hints(kind).keys() - {"stream"}
    if unknown:
        message = f"no field of {kind.__name__}: {sorted(unknown)}"
        raise ValueError(message)
    _exhaust(_adapter(kind).validate_python(body))


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _exhaust(value: object) -> None:
    """Look at everything: pydantic checks an `Iterable` only as far as somebody looks."""
    if isinstance(value, Mapping):
        for each in cast("Mapping[object, object]", value).values():
            _exhaust(each)
    elif isinstance(value, list | tuple | Iterator) or type(value).__name__ == "ValidatorIterator":
        for each in cast("Iterator[object]", value):
            _exhaust(each)
