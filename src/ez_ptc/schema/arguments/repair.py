"""Repairing known mistakes of models in a call's arguments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import ValidationError

from ez_ptc.schema.arguments.core_paths import Places
from ez_ptc.schema.arguments.errors import error_locations, first_of, where
from ez_ptc.schema.arguments.json_text import read_container
from ez_ptc.schema.arguments.replacement import LEFT_OUT, replace_at
from ez_ptc.schema.arguments.validation import ArgumentsValidation
from ez_ptc.schema.bound_call import Repair
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["Repaired", "repair_values"]

_ROUNDS: Final = 5
_ROUNDS_OF_MANY: Final = 2
_WORTH_MENDING: Final = 2_000
# pydantic's error types for text instead of a list or dict.
_LISTS: Final = frozenset(
    {"deque_type", "frozen_set_type", "iterable_type", "list_type", "sequence_str", "set_type", "tuple_type"}
)
_DICTS: Final = frozenset(
    {
        "counter_type",
        "dataclass_exact_type",
        "dataclass_type",
        "dict_type",
        "frozen_dict_type",
        "mapping_type",
        "model_attributes_type",
        "model_type",
        "ordered_dict_type",
        "union_tag_not_found",
    }
)
_EITHER: Final = frozenset({"is_instance_of", "named_tuple_type"})

_Path = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Repaired:
    """Repaired arguments, their validated values or remaining errors, and a sentence for each repair."""

    values: dict[str, object]
    result: dict[str, Any] | None
    error: ValidationError | None
    sentences: tuple[str, ...]


def repair_values(
    values: dict[str, object], error: ValidationError | None, validation: ArgumentsValidation, places: Places
) -> Repaired:
    """Repair and validate again, until there is nothing left to repair.

    `error` is the result of the last validation, or None if there was none. Raises TooCostlyError.

    JSON text becomes the expected list or dict, null is dropped where there is a default, and the name of an Enum's
    member becomes the member. Text where text is expected never changes. The arguments are copied before they are
    changed.
    """
    sentences: list[str] = []
    for _ in range(_ROUNDS if validation.is_small(values) else _ROUNDS_OF_MANY):
        if error is not None:
            error = validation.in_detail(values, error, most=_WORTH_MENDING)
            if error.error_count() <= _WORTH_MENDING:
                changes = list(_changes(values, error, places))
            else:
                changes = []
            if not changes:
                break
            values = replace_at(values, ((path, value) for path, value, _ in changes))
            for path, value, text in changes:
                sentence = f"{where(path)} {text}"
                sentences.append(Repair(sentence, "null") if value is LEFT_OUT else sentence)
        try:
            return Repaired(values, validation.quick(values), None, first_of(sentences))
        except ValidationError as refused:
            error = refused
    return Repaired(values, None, error, first_of(sentences))


def _changes(
    values: Mapping[str, object], error: ValidationError, places: Places
) -> Iterator[tuple[_Path, object, str]]:
    refused: dict[_Path, set[str]] = {}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        *_, (path, _) = error_locations(item, values)
        refused.setdefault(path, set()).add(item["type"])
    for path, kinds in refused.items():
        value: object = values
        try:
            for step in path:
                value = cast("Mapping[int | str, object]", value)[step]
        except (LookupError, TypeError):  # nothing is there
            continue
        if value is None:
            if isinstance(path[-1], str) and places.at(path).is_optional:
                yield path, LEFT_OUT, "came as null and is left out"
        elif (change := _change_of(value, path, kinds, places)) is not None:
            yield path, *change


def _change_of(value: object, path: _Path, kinds: set[str], places: Places) -> tuple[object, str] | None:
    """Return the repaired value with a sentence, or None if there is nothing to repair."""
    if "string_type" in kinds and hasattr(type(value), "__fspath__"):
        return str(value), "came as a path"
    if kinds & _DICTS and issubclass(type(value), tuple) and hasattr(value, "_asdict"):
        return cast("Any", value)._asdict(), "came as a named tuple"
    if type(value) is not str:
        return None
    member = next((item for item in places.at(path).members if item.name == value), None)
    if member is not None:
        return member, f"came as the name {safe_repr(value)} of a member, not as its value"
    # Only text of an expected type is parsed; anything else would not be used.
    expected = {"[": _LISTS | _EITHER, "{": _DICTS | _EITHER}.get(value.lstrip()[:1], frozenset[str]())
    if kinds & expected and (container := read_container(value)) is not None:
        parsed, text_name = container
        return parsed, f"came as {text_name}"
    return None
