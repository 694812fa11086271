"""Checking the arguments of one call against a given JSON Schema."""

import copy
import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.context import NO_CONTEXT, ContextParameter, context_arguments
from ez_ptc.schema.arguments.errors import Complaints, DescribedParameter, first_of, where, where_repaired
from ez_ptc.schema.arguments.json_text import MAX_DEPTH, is_too_deep, read_container
from ez_ptc.schema.arguments.replacement import LEFT_OUT, replace_at
from ez_ptc.schema.arguments.value_sizes import are_scalars, has_more, is_little, json_containers
from ez_ptc.schema.bound_call import BoundCall, Repair
from ez_ptc.schema.imported.costs import MAX_CHECKS
from ez_ptc.schema.imported.validation import SchemaValidation
from ez_ptc.schema.safe_repr import safe_line, safe_names, safe_repr, safe_repr_with_type
from ez_ptc.schema.sensitive import HIDDEN_VALUE, SecretArguments
from ez_ptc.schema.stubs import type_text

if TYPE_CHECKING:
    from ez_ptc.schema.imported.failures import Failure

__all__ = ["Others", "SchemaBinder"]

_MAX_PROBLEMS: Final = 10
_MAX_CHOICES: Final = 8
_MAX_FAILURES: Final = 500
_MAX_REPAIRS: Final = 10_000
_ROUNDS: Final = 4
_NOT_FOUND: Final = (
    "the arguments do not fit the schema, or take too long to check: send fewer at a time, or a flatter value"
)
_TOO_MANY: Final = "the arguments are too many values to check by this schema: send fewer at a time"
# The maximum number of failures whose nearest allowed value is searched for, which takes time.
_COMPARED: Final = 2
_COMPARED_LENGTH: Final = 200
_MAX_COMPARED: Final = 300
# If there are too many values to compare, those with the same first characters come first: the quote and one more.
_ALIKE: Final = 2
_WRONG_TYPE: Final = ("type", "anyOf", "oneOf")
_SCALARS: Final[Mapping[str, tuple[type, ...]]] = {"integer": (int, float), "number": (int, float), "boolean": (bool,)}


class Others(Enum):
    """What happens to arguments that the schema does not name."""

    NAMED = "the schema says what they may be"
    UNNAMED = "the schema does not forbid them"
    REFUSED = "the schema forbids them, or the function does not take them"

    @classmethod
    def of(cls, root: Mapping[str, Any], *, takes_any: bool) -> "Others":
        """Return the rule of an object's schema, for a function that takes arguments of any name or not."""
        additional = root.get("additionalProperties", root.get("unevaluatedProperties"))
        if "patternProperties" in root or additional is True or isinstance(additional, dict):
            return cls.NAMED
        if additional is False or not takes_any:
            return cls.REFUSED
        # A schema without any names is one of a map.
        return cls.UNNAMED if root["properties"] else cls.NAMED


@dataclass(frozen=True, slots=True)
class SchemaBinder:
    """Binds the arguments of a call to the properties of a JSON Schema.

    `fields` are its properties, required ones first. `fillers` has the values of omitted arguments, if they have a
    default or the function requires them; `contexts` those of the context parameters. `is_plain` says that no part of
    the schema is slow for a small value, and `checks_per_value` is the maximum number of checks for one value. Values
    are not converted, since a JSON Schema does not name Python types.
    """

    tool: str
    fields: Mapping[str, DescribedParameter]
    contexts: Mapping[str, ContextParameter]
    fillers: Mapping[str, object]
    others: Others
    omitted_as_none: frozenset[str]
    is_plain: bool
    checks_per_value: int
    validation: SchemaValidation
    secrets: SecretArguments

    @property
    def takes_others(self) -> bool:
        """Whether a call may pass arguments that the schema does not name."""
        return self.others is not Others.REFUSED

    @property
    def positional(self) -> tuple[str, ...]:
        """The names of the arguments that may be passed by position, in order."""
        return tuple(self.fields)

    @property
    def by_position_only(self) -> Mapping[str, object]:
        """None: arguments from JSON are passed by name."""
        return {}

    def is_quick(self, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        """Return whether `bind` takes a few milliseconds at most, and runs no foreign code."""
        # The first call compiles the schema.
        if not (self.is_plain and self.validation.is_compiled):
            return False
        return (not args and are_scalars(kwargs.values())) or is_little(args, kwargs)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object], *, context: object = NO_CONTEXT) -> BoundCall:
        """Check a caller's arguments.

        Raises `ArgumentsError` with all problems.
        """
        # Most calls are as simple and correct as this, and the full check would be a tenth of an MCP server's call.
        if (
            not args
            and are_scalars(kwargs.values())
            and (self.others is Others.NAMED or kwargs.keys() <= self.fields.keys())
            and len(kwargs) * self.checks_per_value < MAX_CHECKS
            and self.validation.is_valid(kwargs)
        ):
            values, repairs = dict(kwargs), ()
        else:
            values, repairs = self._check(args, kwargs)
        for name, filler in self.fillers.items():
            if name not in values:
                values[name] = copy.deepcopy(filler)  # copied, or a call could change the default of the next one
        return BoundCall((), {**values, **context_arguments(self.tool, self.contexts, context)}, repairs)

    def _check(self, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
        complaints = Complaints(self.fields, self.secrets)
        extra: dict[str, object] = {}
        if self.others is not Others.REFUSED:
            extra = {name: value for name, value in kwargs.items() if name not in self.fields}
        values = complaints.of_names(
            self.positional, args, {name: value for name, value in kwargs.items() if name not in extra}
        )
        problems, notes = list(complaints.problems()), self._notes(extra, values)
        values.update(extra)
        if not (is_little(values) or has_more(values, MAX_CHECKS)):
            values = cast("dict[str, object]", json_containers(values, MAX_DEPTH))
        repairs: tuple[str, ...] = ()
        if (not_json := _why_no_json(values)) is not None:
            self._refuse([*problems, not_json])
        if has_more(values, MAX_CHECKS // self.checks_per_value):
            self._refuse([*problems, _TOO_MANY])
        if not self.validation.is_valid(values):
            values, repairs, failures = self._repair(values)
            problems += self._problems_of(failures, has_problems=bool(problems))
        if problems:
            self._refuse([*problems, *notes])
        return values, (*notes, *repairs)

    def _notes(self, extra: Mapping[str, object], values: Mapping[str, object]) -> list[str]:
        """Return a sentence for each argument that is not in the schema and may be a misspelt one."""
        if self.others is not Others.UNNAMED:
            return []
        free = [name for name in self.fields if name not in values]
        notes: list[str] = []
        for name in list(extra)[:_MAX_PROBLEMS]:
            near = difflib.get_close_matches(str(name)[:_COMPARED_LENGTH], free[:_MAX_COMPARED], n=1)
            if near:
                spelling = self.fields[near[0]].spelling or near[0]
                sentence = f"unknown argument {safe_repr(name)} (did you mean {safe_repr(spelling)}?)"
                notes.append(Repair(sentence, "unknown"))
        return notes

    def _refuse(self, problems: Sequence[str]) -> NoReturn:
        message = f"{self.tool}: {'; '.join(problems)}"
        raise ArgumentsError(message, problems=problems) from None

    def _repair(self, values: dict[str, object]) -> "tuple[dict[str, object], tuple[str, ...], list[Failure] | None]":
        """Repair known mistakes of models.

        Returns the arguments, a sentence for each repair, and the first remaining failures or None.
        """
        repairs: list[str] = []
        for _ in range(_ROUNDS):  # text may be in what another text has become
            changes, failures = self._changes(values, repairs)
            if not changes:
                return values, first_of(repairs), failures
            values = replace_at(values, changes)
            if self.validation.is_valid(values):
                return values, first_of(repairs), None
        return values, first_of(repairs), list(self.validation.failures(values, _MAX_FAILURES))

    def _changes(
        self, values: dict[str, object], repairs: list[str]
    ) -> "tuple[list[tuple[tuple[str | int, ...], object]], list[Failure]]":
        """Return the repaired values by path, and the first other failures; add a sentence for each repair."""
        changes: list[tuple[tuple[str | int, ...], object]] = []
        failures: list[Failure] = []
        # Whether an inner key is required turns out when the rest is checked again.
        required = {(name,) for name, field in self.fields.items() if field.required}
        for failure in self.validation.failures(values, _MAX_REPAIRS):
            path, value = failure.path, failure.value
            is_wrong_type = failure.keyword in _WRONG_TYPE and bool(path)
            if is_wrong_type and value is None and failure.is_property and path not in required:
                changes.append((path, LEFT_OUT))
                sentence = f"{where_repaired(path, self.secrets, self.fields)} was null and is left out"
                is_said = path[0] in self.omitted_as_none and len(path) == 1
                repairs.append(sentence if is_said else Repair(sentence, "null"))
            elif is_wrong_type and type(value) is str and (read := read_container(value, *_scalars(failure))):
                parsed, text_name = read
                changes.append((path, parsed))
                repairs.append(f"{where_repaired(path, self.secrets, self.fields)} was {text_name} and is read")
            else:
                failures.append(failure)
                if len(failures) == _MAX_FAILURES:  # the call is refused in any case
                    break
        return changes, failures

    def _problems_of(self, found: "Sequence[Failure] | None", *, has_problems: bool) -> list[str]:
        """Return a sentence for each of the first failures, and the number of the rest."""
        if found is None:
            return []
        # `Complaints` has named missing and unknown arguments already.
        inner = [item for item in found if item.path or item.keyword not in ("required", "additionalProperties")]
        failures = inner if inner or has_problems else found
        problems: dict[str, None] = {}
        for number, failure in enumerate(failures):
            if len(problems) >= _MAX_PROBLEMS:
                return [*list(problems)[:_MAX_PROBLEMS], f"and {len(failures) - number} more"]
            # Two keywords may refuse one value for the same reason, such as `type` and `enum`.
            problems.update(dict.fromkeys(self._sentences(failure, compare=number < _COMPARED)))
        if found:
            return list(problems)
        return [_NOT_FOUND]

    def _sentences(self, failure: "Failure", *, compare: bool) -> list[str]:
        import jsonschema_rs

        if failure.path and self.secrets.is_secret(str(failure.path[0])):
            return [self._of_secret(failure)]
        path, failure_kind = failure.path, failure.kind
        if isinstance(failure_kind, jsonschema_rs.ValidationErrorKind.Required):
            return [f"{where([*path, failure_kind.property], self.fields)} is missing"]
        if isinstance(failure_kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
            return [self._unknown(path, name, failure.schema) for name in failure_kind.unexpected[:_MAX_PROBLEMS]]
        if failure.keyword == "enum":
            reason = f"must be {_choices(failure.schema['enum'], failure.value, compare=compare)}"
        elif failure.keyword in _WRONG_TYPE:
            reason = f"must be {safe_line(self._expected(failure, compare=compare))}"
            if failure.fitting_count:
                reason = f"{reason}, and fits {failure.fitting_count} of these where only one may fit"
        elif failure.keyword == "const":
            reason = f"must be {safe_repr(failure.schema['const'])}"
        elif failure.keyword == "not":
            reason = "is of a form that is not allowed"
        else:
            reason = safe_line(failure.message.removeprefix("it ")) or "does not fit its schema"
        if not path and self.secrets.has_any:
            return [f"'the arguments' {reason}, got {HIDDEN_VALUE} among them"]
        return [f"{where(path or ['the arguments'], self.fields)} {reason}, got {safe_repr_with_type(failure.value)}"]

    def _of_secret(self, failure: "Failure") -> str:
        """Return a sentence about the argument as a whole, without its value and the keys in it."""
        name, *others = failure.path
        reason = f"does not fit its schema ({failure.keyword or 'it is of another form'})"
        if failure.keyword in _WRONG_TYPE and not others and name in self.fields:
            reason = f"must be {safe_line(self.fields[str(name)].type_text)}"
        return f"{where([name], self.fields)} {reason}, got {HIDDEN_VALUE}"

    def _expected(self, failure: "Failure", *, compare: bool) -> str:
        """Return the type of what a value should be, or the sets of arguments of which the root requires one."""
        if len(failure.path) == 1 and failure.path[0] in self.fields:
            type_name = self.fields[str(failure.path[0])].type_text
            if type_name != "Any":  # else only a condition asks for a type
                return type_name
        if types := getattr(failure.kind, "types", None):
            return type_text({"type": types})
        branches = cast("list[object]", failure.schema.get(failure.keyword, []))
        sets = [cast("dict[str, Any]", branch).get("required") for branch in branches if isinstance(branch, dict)]
        if not failure.path and sets and all(sets):
            return f"one of these sets: {'; or '.join(map(safe_names, cast('list[list[str]]', sets)))}"
        return type_text(failure.schema) if compare else "another type"

    def _unknown(self, path: tuple[str | int, ...], name: str, schema: Mapping[str, Any]) -> str:
        properties = schema.get("properties")
        names: list[str] = []
        if isinstance(properties, dict):
            names = [str(key) for key in cast("dict[object, object]", properties)]
        suggestion = ""
        if near := difflib.get_close_matches(name[:_COMPARED_LENGTH], names, n=1):
            suggestion = f" (did you mean {safe_repr(near[0])}?)"
        return f"{where([*path, name], self.fields)} is unknown{suggestion}"


def _scalars(failure: "Failure") -> list[type]:
    """Return the types of numbers and booleans that a schema wants in the place of another value."""
    types: list[str] = getattr(failure.kind, "types", [])
    return [scalar for name in types for scalar in _SCALARS.get(name, ())]


def _why_no_json(values: dict[str, object]) -> str | None:
    if is_too_deep(values):
        return f"the arguments are not what JSON can carry: they are nested more than {MAX_DEPTH} levels deep"
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"the arguments are not what JSON can carry: {safe_line(str(error))}"
    return None


def _choices(options: Sequence[object], value: object, *, compare: bool) -> str:
    """Return the allowed values as text; of many, the nearest or the first."""
    more = len(options) - _MAX_CHOICES
    if more <= 0:
        return " | ".join(map(safe_repr, options))
    if compare:
        texts, value_text = list(map(safe_repr, options)), safe_repr(value)
        if len(texts) > _MAX_COMPARED:
            similar = [text for text in texts if text[:_ALIKE] == value_text[:_ALIKE]]
            texts = [*similar, *texts[:_MAX_COMPARED]][:_MAX_COMPARED]
        listed = difflib.get_close_matches(value_text, list(dict.fromkeys(texts)), n=_MAX_CHOICES, cutoff=0)
    else:
        listed = list(map(safe_repr, options[:_MAX_CHOICES]))
    return f"{' | '.join(listed)} or one of {more} more"
