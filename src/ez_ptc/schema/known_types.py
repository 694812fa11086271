"""Parameter types of Python's own and of classes with fields at the top of modules, described once for all tools.

Any other class is described for each parameter: it may need names around its function, and would not outlive it.
"""

import sys
from collections.abc import Hashable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin
from uuid import UUID

from ez_ptc.schema.annotations.record_substitutes import original_class
from ez_ptc.schema.annotations.substitutes import is_record, substitute_for
from ez_ptc.schema.arguments.replacement import detach
from ez_ptc.schema.common_types import PlainType
from ez_ptc.schema.definitions import inline_single_uses
from ez_ptc.schema.types import REFUSALS, json_schema, record_adapter

__all__ = ["known_type"]

_VALUE: Final = "value"
_LEAVES: Final = (
    *(str, int, float, bool, bytes, NoneType, date, datetime, time, timedelta, Decimal, UUID),
    *(list, dict, Any, None),
)
_CONTAINERS: Final = (list, dict, tuple, set, frozenset)
_MAX_TYPES: Final = 1_000


class _KnownType(NamedTuple):
    """A type, and the classes in it, each with what pydantic had made of it."""

    type_: PlainType
    classes: tuple[tuple[type, object], ...]


def known_type(annotation: object) -> PlainType | None:
    """Return the schemas of a type; None for one of other classes, and one that pydantic refuses.

    Parameters of types that share a definition cannot use them: these are described together.
    """
    form = _form(annotation)
    known = None if form is None else _describe(form)
    if known is None or not all(_is_current(cls, made) for cls, made in known.classes):
        return None
    return replace(known.type_, described=detach(known.type_.described))


def _is_current(cls: type, made: object) -> bool:
    """Return whether a module still has the class that was described: a cell or a reload may have replaced it."""
    module = getattr(sys.modules.get(cls.__module__), "__dict__", {})
    return module.get(cls.__qualname__) is cls and _made_of(cls) is made


def _made_of(cls: type) -> object:
    """Return what pydantic has made of a class; a model that is rebuilt has another."""
    return cls.__dict__.get("__pydantic_core_schema__")


def _form(annotation: object) -> Hashable | None:
    """Return a type as a key: a union of other order, or a literal of another type, has another one."""
    if any(annotation is leaf for leaf in _LEAVES):
        return (annotation,)
    if isinstance(annotation, type) and is_record(annotation):
        # Other classes are told apart by code of their authors.
        is_plain = type(annotation).__eq__ is type.__eq__ and type(annotation).__hash__ is type.__hash__
        return (annotation,) if is_plain and _is_current(annotation, _made_of(annotation)) else None
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        values = tuple((type(value).__name__, value) for value in arguments)
        is_plain = all(type(value) in (str, int, bool, NoneType) for value in arguments)
        return (Literal, values) if is_plain else None
    if origin in (Union, UnionType) or (origin in _CONTAINERS and arguments):
        inner = tuple(... if argument is ... else _form(argument) for argument in arguments)
        return None if None in inner else (Union if origin is UnionType else origin, inner)
    return None


def _type_of(form: Any) -> Any:  # noqa: ANN401 - any form of type
    if form is ...:
        return form
    if len(form) == 1:
        return form[0]
    if form[0] is Literal:
        return Literal[tuple(value for _, value in form[1])]
    return form[0][tuple(map(_type_of, form[1]))]


@lru_cache(_MAX_TYPES)
def _describe(form: Hashable) -> _KnownType | None:
    try:
        fields = {_VALUE: substitute_for(_type_of(form), namespace={})}
        adapter = record_adapter("Known", fields, {})
        schema = json_schema(adapter)
    except REFUSALS:
        return None
    core = cast("dict[str, Any]", adapter.core_schema)
    definitions: dict[str, Any] = schema.get("$defs", {})
    names = frozenset(definitions)
    has_unions = any("anyOf" in definition for definition in definitions.values())  # None in them is not the type's
    schema = inline_single_uses(schema)
    if "fields" not in core or "$defs" in schema or has_unions:
        return None
    type_ = PlainType(core["fields"][_VALUE]["schema"], schema["properties"][_VALUE], names)
    return _KnownType(type_, tuple((cls, _made_of(cls)) for cls in _classes_in(type_.core)))


def _classes_in(core: object) -> set[type]:
    """Return the classes with fields in a core schema; for a substitute, its original, which a module has."""
    level, classes = [core], set[type]()
    while level:
        item = level.pop()
        if isinstance(item, type) and is_record(item):
            classes.add(original_class(item))
        elif isinstance(item, dict):
            level += cast("dict[str, object]", item).values()
        elif isinstance(item, (list, tuple)):
            level += cast("list[object]", item)
    return classes
