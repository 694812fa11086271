"""The arguments of one call, checked against a JSON Schema that was given."""

import copy
import difflib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

import jsonschema_rs

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.arguments import BoundCall
from ez_ptc.schema.complaints import Complaints, Field, where
from ez_ptc.schema.context import NO_CONTEXT, filled_contexts
from ez_ptc.schema.json_text import parse_value
from ez_ptc.schema.shown import one_line, shown, shown_with_type
from ez_ptc.schema.stubs import type_text

__all__ = ["SchemaBinder"]

_AT_MOST: Final = 10
_CHOICES: Final = 8
_WORTH_DETAIL: Final = 500
_WRONG_TYPE: Final = ("type", "anyOf", "oneOf")
_Path = list[str | int]


@dataclass(frozen=True, slots=True)
class SchemaBinder:
    """Binds the arguments of a call to the properties of a JSON Schema.

    `fields` are its properties, those that must be passed first. `fillers` has what the function gets for those that
    it cannot do without and a call may leave out; `contexts` those that the host fills. Values stay as they came: a
    JSON Schema says nothing of Python's types.
    """

    tool: str
    fields: Mapping[str, Field]
    contexts: Mapping[str, object]
    fillers: Mapping[str, object]
    takes_others: bool
    validator: jsonschema_rs.Validator
    root: Mapping[str, Any]

    @property
    def positional(self) -> tuple[str, ...]:
        """The names of the arguments that may be passed by position, in order."""
        return tuple(self.fields)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object], *, context: object = NO_CONTEXT) -> BoundCall:
        """Check what a caller passed by position and by name.

        Raises `ArgumentsError` that names everything that is wrong at once.
        """
        complaints = Complaints(self.fields)
        others = {name: each for name, each in kwargs.items() if name not in self.fields} if self.takes_others else {}
        values = complaints.of_names(
            self.positional, args, {name: each for name, each in kwargs.items() if name not in others}
        )
        values.update(others)
        problems, mended = list(complaints.problems()), ()
        if (not_json := _why_no_json(values)) is not None:
            self._refuse([*problems, not_json])
        if problems or not self.validator.is_valid(values):
            values, mended = self._mended(values)
            problems += self._problems_of(values)
        if problems:
            self._refuse(problems)
        for name, filler in self.fillers.items():
            values.setdefault(name, filler)
        return BoundCall((), {**values, **filled_contexts(self.tool, self.contexts, context)}, mended)

    def _refuse(self, problems: Sequence[str]) -> NoReturn:
        message = f"{self.tool}: {'; '.join(problems)}"
        raise ArgumentsError(message, problems=problems) from None

    def _mended(self, values: dict[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
        """Put right what models are known to get wrong; return the arguments and a sentence for each slip."""
        mended: list[str] = []
        changed = copy.copy(values)
        for error in self.validator.iter_errors(values):
            path = error.instance_path
            if error.kind.name not in _WRONG_TYPE:
                continue
            value = _at(values, path)
            if value is None and self._may_be_left_out(path):
                changed = cast("dict[str, object]", _without(changed, path))
                mended.append(f"{where(path)} was null and is left out")
            elif type(value) is str and type(parsed := parse_value(value)) in (list, dict):
                changed = cast("dict[str, object]", _replaced(changed, path, parsed))
                mended.append(f"{where(path)} was JSON text and is read")
        return changed, tuple(mended)

    def _may_be_left_out(self, path: _Path) -> bool:
        # Whether a key further in is required is seen when the rest is checked again.
        return isinstance(path[-1], str) and (len(path) > 1 or not self.fields[path[-1]].required)

    def _problems_of(self, values: dict[str, object]) -> list[str]:
        found = itertools.islice(self.validator.iter_errors(values), _WORTH_DETAIL)
        errors = [each for each in found if not _is_missing_argument(each)]
        # Two keywords may refuse one value for one reason, as `type` and `enum` do.
        problems = list(dict.fromkeys(problem for each in errors for problem in self._sentences(each, values)))
        more = len(problems) - _AT_MOST
        return [*problems[:_AT_MOST], f"and {more} more"] if more > 0 else problems

    def _sentences(self, error: jsonschema_rs.ValidationError, values: object) -> list[str]:
        path, kind = error.instance_path, error.kind
        place = where(path or ["the arguments"])
        if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
            return [f"{where([*path, kind.property])} is missing"]
        if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
            return [f"{where([*path, name])} is unknown" for name in kind.unexpected[:_AT_MOST]]
        got = shown_with_type(_at(values, path))
        if isinstance(kind, jsonschema_rs.ValidationErrorKind.Enum):
            return [f"{place} wants {_choices(kind.options, _at(values, path))}, got {got}"]
        if kind.name in _WRONG_TYPE:
            return [f"{place} wants {one_line(self._wanted(error))}, got {got}"]
        if kind.name == "not":
            return [f"{place} is of a form that is not allowed, got {got}"]
        return [f"{place} {one_line(error.message.removeprefix('it '))}, got {got}"]

    def _wanted(self, error: jsonschema_rs.ValidationError) -> str:
        if len(error.instance_path) == 1:
            return self.fields[str(error.instance_path[0])].type_text
        kind = error.kind
        if isinstance(kind, jsonschema_rs.ValidationErrorKind.Type):
            return type_text({"type": kind.types})
        return "another type"


def _why_no_json(values: dict[str, object]) -> str | None:
    try:
        json.dumps(values, allow_nan=False)
    except RecursionError:
        reason = "they are nested too deeply"
    except (TypeError, ValueError) as error:  # among others, for a dict that contains itself
        reason = str(error)
    else:
        return None
    return f"the arguments are not what JSON can carry: {reason}"


def _is_missing_argument(error: jsonschema_rs.ValidationError) -> bool:
    return not error.instance_path and error.kind.name in ("required", "additionalProperties")


def _choices(options: Sequence[object], value: object) -> str:
    """Write the values that are allowed, the nearest first where there are many."""
    texts = [shown(option) for option in options]
    near = difflib.get_close_matches(shown(value), texts, n=_CHOICES, cutoff=0) if len(texts) > _CHOICES else texts
    more = f" or one of {len(texts) - len(near)} more" if len(texts) > len(near) else ""
    return " | ".join(near) + more


def _at(value: object, path: _Path) -> object:
    for step in path:
        value = cast("dict[str | int, object]", value)[step]
    return value


def _replaced(part: object, path: _Path, value: object) -> object:
    """Return a copy of a value with another one at a place within it."""
    if not path:
        return value
    first, *rest = path
    changed = cast("dict[str | int, object]", copy.copy(part))
    changed[first] = _replaced(changed[first], rest, value)
    return changed


def _without(part: object, path: _Path) -> object:
    """Return a copy of a value without the key at a place within it."""
    first, *rest = path
    changed = cast("dict[str | int, object]", copy.copy(part))
    if rest:
        changed[first] = _without(changed[first], rest)
    else:
        del changed[first]
    return changed
