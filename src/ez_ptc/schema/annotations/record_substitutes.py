"""Substitutes for classes with named fields, for pydantic to validate: a TypedDict or a named tuple."""

import collections
import typing
from collections.abc import Callable, Container, Mapping
from typing import Annotated, Any, Final, Literal, NotRequired, Required, cast

import typing_extensions
from pydantic import AliasChoices, ConfigDict, Field, WrapValidator
from pydantic.fields import FieldInfo

from ez_ptc.schema.annotations.docstrings import class_docstring
from ez_ptc.schema.annotations.records import EMPTY, UNKNOWN, RecordClass, RecordField, is_foreign
from ez_ptc.schema.defaults import NO_DEFAULT, json_default

__all__ = ["CLOSED", "empty_typed_dict", "original_class", "record_substitute", "set_entries"]

_LEFT_OUT: Final = object()

CLOSED: Final = "__ez_ptc_closed__"
"""The attribute of a TypedDict that stands for a class: its values have no other keys."""

_ORIGINAL: Final = "__ez_ptc_original__"
_Change = Callable[[Any], Any]


def original_class(cls: type) -> type:
    """Return the class behind a substitute, or any other class itself."""
    original: type = vars(cls).get(_ORIGINAL, cls)
    return original


def empty_typed_dict(cls: type) -> Any:  # noqa: ANN401 - a class that is made at run time
    """Return a TypedDict with a class's name and docstring, and no entries yet.

    They are set later, because they may refer to the TypedDict itself.
    """
    substitute: Any = typing_extensions.TypedDict(cls.__name__, {})  # pyright: ignore[reportArgumentType] - named at run time
    substitute.__module__, substitute.__qualname__ = cls.__module__, cls.__qualname__
    substitute.__doc__ = class_docstring(cls)
    if (config := getattr(cls, "__pydantic_config__", None)) is not None:
        substitute.__pydantic_config__ = config
    setattr(substitute, _ORIGINAL, cls)
    return substitute


def set_entries(made: Any, entries: Mapping[str, Any]) -> None:  # noqa: ANN401 - a class that is made at run time
    """Set the entries of a TypedDict, each `Required[...]` or `NotRequired[...]`."""
    made.__annotations__ = dict(entries)
    made.__required_keys__ = frozenset(name for name, hint in entries.items() if typing.get_origin(hint) is Required)
    made.__optional_keys__ = frozenset(entries) - made.__required_keys__


def record_substitute(record: RecordClass) -> tuple[Any, Callable[[_Change], None]]:
    """Return the substitute of a class, and a function that sets the types of its fields, each changed.

    The validated fields are passed to the class; omitted ones get the class's own defaults.
    """
    fields = _all_fields(record)
    if record.is_array:
        field_defaults = [field.default for field in fields if field.default is not EMPTY]
        defaults = [_LEFT_OUT if default is UNKNOWN else default for default in field_defaults]
        make: Callable[..., Any] = collections.namedtuple  # noqa: PYI024 - its fields are known at run time only
        substitute = make(record.cls.__name__, [field.argument for field in fields], rename=True, defaults=defaults)
        substitute.__module__, substitute.__qualname__ = record.cls.__module__, record.cls.__qualname__
        setattr(substitute, _ORIGINAL, record.cls)
    else:
        substitute = empty_typed_dict(record.cls)
        setattr(substitute, CLOSED, True)
    if is_foreign(record.cls):  # the settings of an enclosing class do not apply to it
        if record.is_closed:
            substitute.__pydantic_config__ = ConfigDict(extra="forbid")
        else:
            substitute.__pydantic_config__ = ConfigDict()

    def fill(change: _Change) -> None:
        if record.is_array:
            hints = [_entry(field, change) for field in fields]
            substitute.__annotations__ = dict(zip(substitute._fields, hints, strict=True))
        else:
            keys = {field.key for field in fields}
            set_entries(substitute, {field.key: _dict_entry(field, change, keys) for field in fields})

    return Annotated[substitute, WrapValidator(_Builder(record))], fill


class _Builder:
    """Creates an instance of the class from the validated fields of its substitute."""

    keeps_keys: Final = True
    """Whether it leaves the keys of a record unchanged, unlike validators around one may do."""

    def __init__(self, record: RecordClass) -> None:
        self._cls = record.cls
        self._keys = {field.key: field.argument for field in record.fields}
        self._places: list[str] = []
        if record.is_array:
            self._places = [field.argument for field in record.fields]
        self._made = record.made - self._keys.keys()
        self._skipped = len(_all_fields(record)) - len(record.fields)

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return self._cls.__name__

    def __call__(self, value: object, validate: Callable[[object], Any]) -> object:
        if isinstance(value, self._cls):
            return value
        if self._made and isinstance(value, dict):
            fields = cast("dict[object, object]", value)
            value = {key: fields[key] for key in fields if key not in self._made}
        validated = validate(value)
        if self._places:
            pairs = zip(self._places, validated[self._skipped :], strict=True)
        else:
            pairs = ((self._keys[key], item) for key, item in validated.items() if key in self._keys)
        try:
            return self._cls(**{name: item for name, item in pairs if item is not _LEFT_OUT})
        except (TypeError, ValueError) as error:
            # Validators of attrs raise various exceptions with the message first; pydantic expects a ValueError.
            words: object = error.args[0] if error.args else error
            raise ValueError(str(words)) from error


def _all_fields(record: RecordClass) -> tuple[RecordField, ...]:
    """Return the fields, after the tag if there is one."""
    if record.tag is None:
        return record.fields
    key, value = record.tag
    return (RecordField(key, key, Literal[value]), *record.fields)


def _dict_entry(field: RecordField, change: _Change, keys: Container[str]) -> Any:  # noqa: ANN401 - any form of type
    entry = _entry(field, change)
    name = field.attribute or field.argument
    if name not in keys:
        entry = Annotated[entry, Field(validation_alias=AliasChoices(field.key, name))]
    if field.default is EMPTY:
        return Required[entry]
    if isinstance(field.default, FieldInfo):
        entry = Annotated[entry, field.default]
        if field.default.is_required():
            return Required[entry]
    elif (default := json_default(field.default)) is not NO_DEFAULT:
        extra = {"default": default}
        entry = Annotated[entry, Field(json_schema_extra=cast("dict[str, Any]", extra))]
    return NotRequired[entry]


def _entry(field: RecordField, change: _Change) -> Any:  # noqa: ANN401 - any form of type
    changed = change(field.hint)
    if field.converts:
        return Annotated[changed, WrapValidator(_validate)]
    return changed


def _validate(value: object, validate: Callable[[object], object]) -> object:
    # The class converts the value itself, and expects the original.
    validate(value)
    return value
