"""A return annotation as JSON Schema, or nothing where that would say nothing."""

import collections.abc
import inspect
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from ez_ptc.schema.annotations.generics import is_alias
from ez_ptc.schema.annotations.resolution import alias_value
from ez_ptc.schema.annotations.substitutes import is_record, twin
from ez_ptc.schema.definitions import inline_definitions
from ez_ptc.schema.types import REFUSALS, json_schema, record_adapter

__all__ = ["return_schema"]

_STREAMS: Final = (
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.AsyncGenerator,
)
_AWAITED: Final = (collections.abc.Awaitable, collections.abc.Coroutine)
_VALUE: Final = "value"


def return_schema(annotation: object, *, namespace: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON Schema of what a function returns, or None where it would say no more than the signature does.

    It says more for what has named fields, and for what contains that: a TypedDict, pydantic model, dataclass or named
    tuple, a list of them, a dict of them. It says nothing of `dict`, `list`, `list[dict]`, `str` and the like, of no
    annotation, and of types that have no JSON form. Definitions are inlined; only a type that contains itself keeps
    them. What a generator yields is described as a list, which is how a caller gets it; what is awaited as itself.
    """
    returned = _collect_items(annotation)
    if not _has_record(returned):
        return None
    try:
        fields = {_VALUE: twin(returned, namespace=namespace, records=True)}
        schema = inline_definitions(json_schema(record_adapter("Returned", fields, namespace), output=True))
    except REFUSALS:
        return None
    value: dict[str, Any] = schema["properties"][_VALUE]
    if "$defs" in schema:
        return {**value, "$defs": schema["$defs"]}
    return value


def _collect_items(annotation: object) -> object:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in _AWAITED and arguments:
        return _collect_items(arguments[-1])
    if origin in _STREAMS and arguments:
        return list[arguments[0]]
    return annotation


def _has_record(annotation: object, within: tuple[object, ...] = ()) -> bool:
    if annotation is inspect.Signature.empty or annotation is None or annotation in within:
        return False
    origin, arguments = get_origin(annotation), get_args(annotation)
    if is_record(annotation):
        return True
    inner = arguments[:1] if origin is Annotated else () if origin is Literal else arguments
    alias: Any = origin or annotation
    if is_alias(alias):
        inner = (alias_value(alias), *inner)
    return any(_has_record(item, (*within, annotation)) for item in inner)
