"""A return annotation as JSON Schema."""

import inspect
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin
from weakref import WeakKeyDictionary

from ez_ptc.schema.annotations.generics import is_alias
from ez_ptc.schema.annotations.host_types import collect_items
from ez_ptc.schema.annotations.record_substitutes import CLOSED
from ez_ptc.schema.annotations.resolution import alias_value
from ez_ptc.schema.annotations.substitutes import is_record, substitute_for
from ez_ptc.schema.arguments.core_schemas import Node, inner_schemas
from ez_ptc.schema.arguments.replacement import detach
from ez_ptc.schema.definitions import inline_definitions
from ez_ptc.schema.types import REFUSALS, json_schema, record_adapter

__all__ = ["describe_returned", "return_schema"]

_VALUE: Final = "value"


_SCALARS: Final = (str, int, float, bool, type(None))
_CONTAINERS: Final = (list, dict, Union, UnionType)
_Description = tuple[dict[str, Any], frozenset[frozenset[str]]]


def return_schema(annotation: object, *, namespace: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON Schema of a function's return type as `describe_returned` does."""
    described = describe_returned(annotation, namespace=namespace)
    return None if described is None else described[0]


def describe_returned(annotation: object, *, namespace: dict[str, Any]) -> _Description | None:
    """Return the JSON Schema of a function's return type, or None if it adds nothing to the signature.

    It adds something for types with named fields and for containers of these: a TypedDict, pydantic model, dataclass or
    named tuple, or a list or dict of them. It adds nothing for `dict`, `list`, `list[dict]`, `str` and the like, for a
    missing annotation, and for types without a JSON form. Definitions are inlined, except recursive ones. A generator
    is described as a list, which its caller gets, and an awaitable as its result.

    With the schema come the keys of each TypedDict in the type, whose values may have others as well.
    """
    returned = collect_items(annotation)
    if not _has_record(returned):
        return None
    holders = list[type]()
    form = _form(returned, holders)
    if form is None:
        return _describe(returned, namespace)
    known = _descriptions().setdefault(holders[0], {})
    if form not in known:
        described = _describe(returned, {})
        if described is None:  # names around the function are needed
            return _describe(returned, namespace)
        known[form] = described
    schema, open_records = known[form]
    return detach(schema), open_records


@cache
def _descriptions() -> "WeakKeyDictionary[type, dict[object, _Description]]":
    """Return the descriptions of types with one class with fields: by the class and its use, such as a list of it.

    Many tools return the same. No description refers to the class, which would live as long.
    """
    return WeakKeyDictionary()


def _form(annotation: object, holders: list[type]) -> object:
    """Return a type without the one class with fields in it, which is added to `holders`; None for other types."""
    if any(annotation is scalar for scalar in _SCALARS):
        return annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None and isinstance(annotation, type) and is_record(annotation):
        holders.append(annotation)
        # Other classes are told apart by code of their authors.
        is_plain = type(annotation).__eq__ is type.__eq__ and type(annotation).__hash__ is type.__hash__
        return _VALUE if is_plain and annotation is holders[0] else None
    inner = tuple(_form(argument, holders) for argument in arguments)
    if origin not in _CONTAINERS or None in inner:
        return None
    return origin, inner


def _describe(returned: object, namespace: dict[str, Any]) -> _Description | None:
    """Return the description of a type; None if JSON has no form of it, or a name in its classes is not known."""
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
