"""Reading classes with named fields, attrs and msgspec included, without importing their libraries."""

import contextlib
import dataclasses
import inspect
import typing
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, replace
from typing import Any, Final, NotRequired, Required, cast

import typing_extensions
from pydantic import Field
from pydantic.fields import FieldInfo

__all__ = [
    "EMPTY",
    "READ_ONLY",
    "UNKNOWN",
    "RecordClass",
    "RecordField",
    "field_info",
    "fields_of",
    "has_fields",
    "is_foreign",
    "is_named_tuple",
    "is_plain_dataclass",
    "is_struct_meta",
    "is_typed_dict",
    "record_of",
    "rename_keys",
    "typed_dict_entry",
]

# The default of a field without one.
EMPTY: Final = inspect.Parameter.empty

READ_ONLY: Final = (typing_extensions.ReadOnly, getattr(typing, "ReadOnly", typing_extensions.ReadOnly))

# The default of a field whose default is created for each instance.
UNKNOWN: Final = object()

# pydantic's names of msgspec's constraints.
_CONSTRAINTS: Final = (
    "gt",
    "ge",
    "lt",
    "le",
    "multiple_of",
    "pattern",
    "min_length",
    "max_length",
    "title",
    "description",
    "examples",
)


@dataclass(frozen=True, slots=True)
class RecordField:
    """A field: `key` is its name in JSON, `argument` the constructor's, `attribute` the instance's if it differs.

    `converts` says that the class converts the value.
    """

    key: str
    argument: str
    hint: Any
    default: object = EMPTY
    converts: bool = False
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class RecordClass:
    """A class by its fields.

    `tag` is an additional key with a fixed value. `is_closed` says that its schema forbids other keys, `is_array` that
    its JSON is an array of the fields in order. `made` are the fields the class fills itself.
    """

    cls: type
    fields: tuple[RecordField, ...]
    tag: tuple[str, object] | None = None
    is_closed: bool = False
    is_array: bool = False
    made: frozenset[str] = frozenset()


def is_foreign(kind: object) -> bool:
    """Return whether a type is a class of attrs or msgspec."""
    return isinstance(kind, type) and (hasattr(kind, "__attrs_attrs__") or hasattr(kind, "__struct_config__"))


def is_typed_dict(kind: object) -> bool:
    """Return whether a type is a TypedDict, by `typing` or typing_extensions."""
    return typing.is_typeddict(kind) or typing_extensions.is_typeddict(kind)


def is_named_tuple(kind: object) -> bool:
    """Return whether a type is a named tuple class."""
    fields: object = getattr(kind, "_fields", None)
    return isinstance(kind, type) and issubclass(kind, tuple) and fields is not None


def is_plain_dataclass(kind: object) -> bool:
    """Return whether a type is a dataclass, but not one of pydantic's."""
    return isinstance(kind, type) and dataclasses.is_dataclass(kind) and not hasattr(kind, "__pydantic_fields__")


def has_fields(cls: object) -> bool:
    """Return whether `fields_of` can read a type."""
    return is_typed_dict(cls) or is_named_tuple(cls) or is_plain_dataclass(cls) or is_foreign(cls)


def typed_dict_entry(cls: Any, name: str, hint: Any) -> tuple[Any, bool]:  # noqa: ANN401 - any form of type
    """Return the type of a TypedDict's entry without qualifiers, and whether it is required."""
    is_required = name in cls.__required_keys__
    while (qualifier := typing.get_origin(hint)) in (Required, NotRequired, *READ_ONLY):
        # The class does not evaluate postponed ones.
        is_required = {Required: True, NotRequired: False}.get(cast("Any", qualifier), is_required)
        hint = typing.get_args(hint)[0]
    return hint, is_required


def fields_of(cls: Any, hints: Mapping[str, Any]) -> tuple[RecordField, ...]:  # noqa: ANN401 - a class of any kind
    """Return the fields of a class's constructor; `hints` are their resolved types.

    An optional key of a TypedDict has an unknown default.
    """
    if is_typed_dict(cls):
        entries = ((name, *typed_dict_entry(cls, name, hint)) for name, hint in hints.items())
        return tuple(RecordField(name, name, hint, EMPTY if required else UNKNOWN) for name, hint, required in entries)
    if hasattr(cls, "__struct_config__"):
        names, defaults = cls.__struct_fields__, tuple(map(_struct_default, cls.__struct_defaults__))
        defaults = (EMPTY,) * (len(names) - len(defaults)) + defaults
        fields = zip(cls.__struct_encode_fields__, names, defaults, strict=True)
        return tuple(RecordField(key, name, hints.get(name, Any), default) for key, name, default in fields)
    if hasattr(cls, "__attrs_attrs__"):
        return tuple(_attribute(attribute, hints) for attribute in cls.__attrs_attrs__ if attribute.init)
    if is_named_tuple(cls):
        defaults = cls._field_defaults
        return tuple(RecordField(name, name, hints.get(name, Any), defaults.get(name, EMPTY)) for name in cls._fields)
    fields = {item.name: item for item in dataclasses.fields(cls)}
    record_fields: list[RecordField] = []
    for name, hint in hints.items():
        field = fields.get(name)
        if field is not None and field.init:
            default: object = field.default
            if field.default_factory is not dataclasses.MISSING:
                default = UNKNOWN
            elif default is dataclasses.MISSING:
                default = EMPTY
            record_fields.append(RecordField(name, name, hint, default))
        elif isinstance(hint, InitVar):
            record_fields.append(RecordField(name, name, cast("Any", hint).type, getattr(cls, name, EMPTY)))
    return tuple(record_fields)


def record_of(cls: Any, hints: Mapping[str, Any]) -> RecordClass:  # noqa: ANN401 - a class of any of these kinds
    """Read a class other than a TypedDict; `hints` are the resolved types of its fields."""
    fields = fields_of(cls, hints)
    if is_named_tuple(cls):
        return RecordClass(cls, fields, is_array=True)
    if hasattr(cls, "__struct_config__"):
        config = cls.__struct_config__
        tag = None if config.tag is None else (config.tag_field, config.tag)
        return RecordClass(cls, fields, tag, is_closed=config.forbid_unknown_fields, is_array=config.array_like)
    attributes: Any = getattr(cls, "__attrs_attrs__", None)
    if attributes is None:
        attributes = dataclasses.fields(cls)
    made_fields = frozenset(attribute.name for attribute in attributes if not attribute.init)
    if any(field.converts for field in fields):
        # attrs puts a converter's parameter type on the constructor if it is known.
        sent: dict[str, Any] = {}
        with contextlib.suppress(Exception):  # the text of an annotation is an expression and may raise anything
            sent = typing.get_type_hints(cls.__init__, include_extras=True)
        fields = tuple(
            replace(field, hint=sent[field.argument], converts=False)
            if field.converts and field.argument in sent
            else field
            for field in fields
        )
    return RecordClass(cls, fields, made=made_fields)


def _struct_default(default: object) -> object:
    """Return a default; msgspec has markers for no default and for a created one."""
    name = ""
    if type(default).__module__.startswith("msgspec"):
        name = type(default).__name__
    return {"NoDefaultType": EMPTY, "Factory": UNKNOWN, "UnsetType": UNKNOWN}.get(name, default)


def is_struct_meta(metadata: object) -> bool:
    """Return whether an `Annotated` item is a constraint of msgspec."""
    return type(metadata).__module__.startswith("msgspec") and type(metadata).__name__ == "Meta"


def field_info(meta: object) -> FieldInfo:
    """Return a constraint of msgspec as pydantic's."""
    constraints: dict[str, Any] = {name: getattr(meta, name, None) for name in _CONSTRAINTS}
    constraints["json_schema_extra"] = getattr(meta, "extra_json_schema", None)
    return Field(**{name: item for name, item in constraints.items() if item is not None})


def _attribute(attribute: Any, hints: Mapping[str, Any]) -> RecordField:  # noqa: ANN401 - of attrs
    name: str = attribute.name
    argument: str = getattr(attribute, "alias", None) or name.lstrip("_")
    hint = hints.get(name, Any if attribute.type is None else attribute.type)
    default = attribute.default
    if type(default).__module__.startswith("attr"):
        default = UNKNOWN if hasattr(default, "factory") else EMPTY
    return RecordField(
        argument, argument, hint, default, attribute.converter is not None, None if name == argument else name
    )


def rename_keys(
    given: Mapping[object, object], names: Mapping[str, str], made: frozenset[str] = frozenset()
) -> dict[object, object]:
    """Return a dict with some keys renamed, unless the new name is present, and without those in `made`."""
    renamed = {key: names.get(cast("str", key), key) for key in given if key not in made}
    return {key if renamed[key] in given else renamed[key]: given[key] for key in renamed}
