"""Checking the arguments of one call against a function's parameters, and converting them to its types."""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache, reduce
from typing import Any, Final, NoReturn, cast

from pydantic import ValidationError

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.context import NO_CONTEXT, ContextParameter, context_arguments
from ez_ptc.schema.arguments.core_paths import Places
from ez_ptc.schema.arguments.error_paths import error_locations, inner_value
from ez_ptc.schema.arguments.errors import Complaints, DescribedParameter, first_of, where_repaired
from ez_ptc.schema.arguments.json_text import read_container
from ez_ptc.schema.arguments.replacement import LEFT_OUT, replace_at
from ez_ptc.schema.arguments.validation import ArgumentsValidation, TooCostlyError
from ez_ptc.schema.arguments.value_sizes import is_little
from ez_ptc.schema.bound_call import BoundCall, Repair
from ez_ptc.schema.sensitive import SecretArguments

__all__ = ["ArgumentBinder"]

_TOO_COSTLY: Final = (
    "the arguments take too long to check for their size: send fewer values at a time, or nest them less deeply"
)
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
# Text for a parameter of the type `Json`: no JSON, or no text in it.
_NO_JSON: Final = frozenset({"json_invalid", "string_type"})
_EITHER: Final = frozenset({"is_instance_of", "named_tuple_type"})

_Path = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class ArgumentBinder:
    """Binds the arguments of a call to the parameters of one function.

    `fields` are its parameters in order, `positional` the names of those that may be passed by position, `nullable`
    those without a default that become None when omitted. `contexts` has the context parameters by name,
    `by_position_only` the positional-only ones. `validation` checks and converts a dict of all arguments, `places`
    knows the expected type at each path.
    """

    tool: str
    fields: Mapping[str, DescribedParameter]
    positional: tuple[str, ...]
    contexts: Mapping[str, ContextParameter]
    by_position_only: Mapping[str, object]
    nullable: tuple[str, ...]
    validation: ArgumentsValidation
    places: Places
    secrets: SecretArguments

    @property
    def takes_others(self) -> bool:
        """Never: a function names its parameters."""
        return False

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object], *, context: object = NO_CONTEXT) -> BoundCall:
        """Check and convert a caller's arguments, and add the host's context.

        Every parameter may be passed by name. Raises `ArgumentsError` with all problems, and TypeError if the host
        passes no context although one is needed.
        """
        passed: Any = kwargs
        sentences: tuple[str, ...] = ()
        has_surplus = False
        if args:
            passed = {**dict(zip(self.positional, args, strict=False)), **kwargs}
            has_surplus = len(passed) < len(args) + len(kwargs)
        if not has_surplus and passed.keys() <= self.fields.keys():
            try:
                values = self.validation.quick(passed)
            except ValidationError as error:
                values, sentences = self._repair(args, kwargs, error)
            except TooCostlyError:
                self._refuse(_TOO_COSTLY)
            except Exception:  # noqa: BLE001 - the validators of a type are foreign code and may raise anything
                values, sentences = self._repair(args, kwargs, None)
        else:
            values, sentences = self._repair(args, kwargs, None)
        for name in self.nullable:
            values.setdefault(name, None)
        if self.contexts:
            values.update(context_arguments(self.tool, self.contexts, context))
        by_position: tuple[object, ...] = ()
        if self.by_position_only:
            last = max((number for number, name in enumerate(self.by_position_only) if name in values), default=-1)
            names = list(self.by_position_only)[: last + 1]
            by_position = tuple(values.pop(name, self.by_position_only[name]) for name in names)
        return BoundCall(by_position, values, sentences)

    def is_quick(self, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        """Return whether `bind` takes a few milliseconds at most, and runs no foreign code."""
        return self.validation.is_ready and is_little(args, kwargs) and not self.validation.runs_code

    def _repair(
        self, args: Sequence[object], kwargs: Mapping[str, object], error: ValidationError | None
    ) -> tuple[dict[str, object], tuple[str, ...]]:
        """Repair what can be repaired. Raises ArgumentsError with all remaining problems."""
        complaints = Complaints(self.fields, self.secrets, self.places)
        values = complaints.of_names(self.positional, args, kwargs)
        repaired: _Repaired | None = None
        try:
            repaired = self.validation.within(
                lambda given: _repair_values(given, error, self.validation, self.places, self.secrets), values
            )
            if repaired.error is not None:
                complaints.of_values(repaired.error, repaired.values)
        except TooCostlyError:
            self._refuse(*complaints.problems(), _TOO_COSTLY)
        except Exception:  # noqa: BLE001 - the validators of a type are foreign code and may raise anything
            self._complain_of_each(complaints, values)
        problems = complaints.problems()
        if problems or repaired is None or repaired.result is None:
            self._refuse(*problems)
        return repaired.result, repaired.sentences

    def _refuse(self, *problems: str) -> NoReturn:
        message = f"{self.tool}: {'; '.join(problems)}"
        raise ArgumentsError(message, problems=problems) from None

    def _complain_of_each(self, complaints: Complaints, values: Mapping[str, object]) -> None:
        # Missing arguments have been reported; pydantic's errors about them are skipped.
        for name, value in values.items():
            try:
                repaired = _repair_values({name: value}, None, self.validation, self.places, self.secrets)
                if repaired.error is not None:
                    complaints.of_values(repaired.error, repaired.values)
            except TooCostlyError:
                self._refuse(*complaints.problems(), _TOO_COSTLY)
            except Exception as error:  # noqa: BLE001 - the validators of a type are foreign code and may raise anything
                complaints.of_raised(name, value, error)


# Repairs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Repaired:
    """Repaired arguments, their validated values or remaining errors, and a sentence for each repair."""

    values: dict[str, object]
    result: dict[str, Any] | None
    error: ValidationError | None
    sentences: tuple[str, ...]


def _repair_values(
    values: dict[str, object],
    error: ValidationError | None,
    validation: ArgumentsValidation,
    places: Places,
    secrets: SecretArguments,
) -> _Repaired:
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
                sentence = f"{where_repaired(path, secrets, names_at=places.names_at)} {text}"
                sentences.append(Repair(sentence, "null") if value is LEFT_OUT else sentence)
        try:
            return _Repaired(values, validation.quick(values), None, first_of(sentences))
        except ValidationError as refused:
            error = refused
    return _Repaired(values, None, error, first_of(sentences))


def _changes(
    values: Mapping[str, object], error: ValidationError, places: Places
) -> Iterator[tuple[_Path, object, str]]:
    refused: dict[_Path, set[str]] = {}
    keys: dict[_Path, list[object]] = {}
    other_names = cache(places.other_names)
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        *branches, (path, _) = error_locations(item, values, other_names)
        if branches and branches[-1] == (path, "[key]"):
            keys.setdefault(path[:-1], []).append(path[-1])
        else:
            refused.setdefault(path, set()).add(item["type"])
    changed = set[_Path]()
    for path, names in sorted(keys.items(), key=lambda item: len(item[0])):
        change = _with_members(reduce(inner_value, path, cast("object", values)), names, places.at(path).keys)
        if change is not None and not _is_within(path, changed):
            changed.add(path)
            yield path, *change
    for path, kinds in refused.items():
        if not _is_within(path, changed) and (change := _change_at(values, path, kinds, places)) is not None:
            yield path, *change


def _is_within(path: _Path, changed: Container[_Path]) -> bool:
    return any(path[:number] in changed for number in range(len(path)))


def _with_members(container: object, names: Sequence[object], members: Mapping[str, Enum]) -> tuple[object, str] | None:
    """Return a dict with the values of an Enum's members for their names as keys, and a sentence; None for no change.

    Two keys for one member are left to the model.
    """
    values = cast("Mapping[object, object]", container)
    texts = {
        name: member.value if isinstance(member.value, str) else json.dumps(member.value)
        for name, member in members.items()
        if name in names and isinstance(member.value, str | int | float) and member not in values
    }
    renamed = {texts.get(cast("str", key), key): value for key, value in values.items()}
    if not texts or len(renamed) < len(values):
        return None
    return renamed, "came with names of members as keys, not with their values"


def _change_at(values: Mapping[str, object], path: _Path, kinds: set[str], places: Places) -> tuple[object, str] | None:
    """Return the repaired value at a path with a sentence, or None if there is nothing to repair."""
    value: object = values
    try:
        for step in path:
            value = cast("Mapping[int | str, object]", value)[step]
    except (LookupError, TypeError):  # nothing is there
        return None
    if value is None:
        is_left_out = isinstance(path[-1], str) and places.at(path).is_optional
        return (LEFT_OUT, "came as null and is left out") if is_left_out else None
    # Text that begins with a quotation mark is JSON that was cut off or misspelled.
    is_bare_text = type(value) is str and not value.lstrip().startswith('"')
    if "json_type" in kinds or (kinds & _NO_JSON and is_bare_text and places.at(path).is_text):
        with suppress(TypeError, ValueError, RecursionError):  # it is no value of JSON
            return json.dumps(value, allow_nan=False), "came as a value, not as its JSON text"
        return None
    return _change_of(value, path, kinds, places)


def _change_of(value: object, path: _Path, kinds: set[str], places: Places) -> tuple[object, str] | None:
    """Return the repaired value with a sentence, or None if there is nothing to repair."""
    if "string_type" in kinds and hasattr(type(value), "__fspath__"):
        return str(value), "came as a path"
    if kinds & _DICTS and issubclass(type(value), tuple) and hasattr(value, "_asdict"):
        return cast("Any", value)._asdict(), "came as a named tuple"
    if type(value) is not str:
        return None
    if (member := places.at(path).members.get(value)) is not None:
        return member, "came as the name of a member, not as its value"
    # Only text of an expected type is parsed; anything else would not be used.
    expected = {"[": _LISTS | _EITHER, "{": _DICTS | _EITHER}.get(value.lstrip()[:1], frozenset[str]())
    if kinds & expected and (container := read_container(value)) is not None:
        parsed, text_name = container
        return parsed, f"came as {text_name}"
    return None
