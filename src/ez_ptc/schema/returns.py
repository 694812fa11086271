"""A return annotation as JSON Schema."""

import collections.abc
import inspect
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin

from ez_ptc.schema.annotations.generics import is_alias
from ez_ptc.schema.annotations.record_substitutes import CLOSED
from ez_ptc.schema.annotations.resolution import alias_value
from ez_ptc.schema.annotations.substitutes import is_record, substitute_for
from ez_ptc.schema.arguments.core_schemas import Node, inner_schemas
from ez_ptc.schema.definitions import inline_definitions
from ez_ptc.schema.types import REFUSALS, json_schema, record_adapter

__all__ = ["describe_returned", "return_schema"]

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
    """Return the JSON Schema of a function's return type as `describe_returned` does."""
    described = describe_returned(annotation, namespace=namespace)
    return None if described is None else described[0]


def describe_returned(
    annotation: object, *, namespace: dict[str, Any]
) -> tuple[dict[str, Any], frozenset[frozenset[str]]] | None:
    """Return the JSON Schema of a function's return type, or None if it adds nothing to the signature.

    It adds something for types with named fields and for containers of these: a TypedDict, pydantic model, dataclass or
    named tuple, or a list or dict of them. It adds nothing for `dict`, `list`, `list[dict]`, `str` and the like, for a
    missing annotation, and for types without a JSON form. Definitions are inlined, except recursive ones. A generator
    is described as a list, which its caller gets, and an awaitable as its result.

    With the schema come the keys of each TypedDict in the type, whose values may have others as well.
    """
    returned = _collect_items(annotation)
    if not _has_record(returned):
        return None
    try:
        fields = {_VALUE: substitute_for(returned, namespace=namespace, records=True)}
        adapter = record_adapter("Returned", fields, namespace)
        schema = inline_definitions(json_schema(adapter, output=True))
    except REFUSALS:
        return None
    value: dict[str, Any] = schema["properties"][_VALUE]
    if "$defs" in schema:
        value = {**value, "$defs": schema["$defs"]}
    return value, _open_records(cast("Node", adapter.core_schema))


def _open_records(core: Node) -> frozenset[frozenset[str]]:
    """Return the keys of each TypedDict in a core schema that does not forbid others."""
    records: set[frozenset[str]] = set()
    # The outermost record holds the type under a name, and is no type of the user.
    pending = [*inner_schemas(core.get("schema", core)), *core.get("definitions", ())]
    while pending:
        node = pending.pop()
        is_closed = node.get("extra_behavior") == "forbid" or hasattr(node.get("cls"), CLOSED)
        if node["type"] == "typed-dict" and not is_closed:
            records.add(frozenset(node["fields"]))
        pending += inner_schemas(node)
    return frozenset(records)


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
    inner: tuple[object, ...] = arguments
    if origin is Annotated:
        inner = arguments[:1]
    elif origin is Literal:
        inner = ()
    alias: Any = origin or annotation
    if is_alias(alias):
        inner = (alias_value(alias), *inner)
    return any(_has_record(item, (*within, annotation)) for item in inner)
