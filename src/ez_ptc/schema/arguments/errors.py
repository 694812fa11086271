"""Problems with a call's arguments, as sentences a model can act on."""

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import islice
from typing import Final, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ez_ptc.schema.arguments.core_paths import Places
from ez_ptc.schema.arguments.error_paths import ITEMS, Unions, ValuePath, about_tag, error_locations, inner_value
from ez_ptc.schema.safe_repr import safe_line, safe_name, safe_names, safe_repr, safe_repr_with_type
from ez_ptc.schema.sensitive import HIDDEN_VALUE, SecretArguments

__all__ = ["Complaints", "DescribedParameter", "first_of", "where", "where_repaired"]

_MAX_PROBLEMS: Final = 10
_MESSAGE_WIDTH: Final = 200
_PATH_WIDTH: Final = 2 * _MESSAGE_WIDTH
_MIN_SIMILARITY: Final = 0.6
# pydantic's error types for a value of a wrong type, and the expected type.
_EXPECTED_TYPES: Final[Mapping[str, str]] = {
    "bool_parsing": "bool",
    "bool_type": "bool",
    "bytes_type": "bytes",
    "complex_str_parsing": "complex",
    "complex_type": "complex",
    "counter_type": "dict",
    "date_from_datetime_parsing": "date",
    "date_parsing": "date",
    "date_type": "date",
    "datetime_from_date_parsing": "datetime",
    "datetime_parsing": "datetime",
    "datetime_type": "datetime",
    "decimal_parsing": "Decimal",
    "decimal_type": "Decimal",
    "deque_type": "list",
    "dict_type": "dict",
    "float_parsing": "float",
    "float_type": "float",
    "fraction_parsing": "Fraction",
    "fraction_type": "Fraction",
    "frozen_dict_type": "dict",
    "frozen_set_type": "frozenset",
    "int_from_float": "int",
    "int_parsing": "int",
    "int_parsing_size": "int",
    "int_type": "int",
    "iterable_type": "list",
    "list_type": "list",
    "mapping_type": "dict",
    "model_attributes_type": "dict",
    "none_required": "None",
    "ordered_dict_type": "dict",
    "path_type": "Path",
    "sequence_str": "list",
    "set_type": "set",
    "string_type": "str",
    "time_delta_parsing": "timedelta",
    "time_delta_type": "timedelta",
    "time_parsing": "time",
    "time_type": "time",
    "tuple_type": "tuple",
    "url_parsing": "URL",
    "url_type": "URL",
    "uuid_parsing": "UUID",
    "uuid_type": "UUID",
}
# The beginnings of those whose messages have a constraint, and nothing of the value.
_CONSTRAINTS: Final = (
    "greater_than",
    "less_than",
    "multiple_of",
    "too_",
    "bytes_too_",
    "string_too_",
    "string_pattern",
)
_DICT_ERRORS: Final = ("dict_type", "model_type", "dataclass_type", "named_tuple_type")
_MEMBER: Final = re.compile(r"<[\w.]+: (?P<value>[^<>]*)>")
_KEYS: Final = 100
_NO_PLACES: Final = Places({"type": "any"})
_WORTH_DETAIL: Final = 2_000


@dataclass(frozen=True, slots=True)
class DescribedParameter:
    """A parameter in error messages: its Python type, whether it is required, whether it takes many values.

    `spelling` is its name in programs, if Python cannot write the real one.
    """

    type_text: str
    required: bool
    many: bool
    spelling: str | None = None


class Complaints:
    """Collects the problems of one call's arguments, wrong names first."""

    def __init__(
        self, fields: Mapping[str, DescribedParameter], secrets: SecretArguments, places: Places = _NO_PLACES
    ) -> None:
        """Start without problems; `places` knows the names of the fields at a path within an argument."""
        self._fields = fields
        self._secrets = secrets
        self._places = places
        self._found: list[str] = []
        self._more = 0

    def problems(self) -> tuple[str, ...]:
        """Return the sentences, ten at most and one about the rest."""
        return (*self._found, f"and {self._more} more") if self._more else tuple(self._found)

    def _add(self, write: Callable[[], str]) -> None:
        # Sentences that are not shown are not written: searching for near names takes time.
        if len(self._found) < _MAX_PROBLEMS:
            self._found.append(write())
        else:
            self._more += 1

    def of_names(
        self, positional: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> dict[str, object]:
        """Add unknown, repeated, surplus and missing arguments; return the others by name."""
        values: dict[str, object] = dict(zip(positional, args, strict=False))
        if len(args) > len(positional):
            limits = {0: "no arguments", 1: "at most 1 argument"}
            limit = limits.get(len(positional), f"at most {len(positional)} arguments")
            self._add(lambda: f"takes {limit} by position, got {len(args)}")
        unknown = [name for name in kwargs if name not in self._fields]
        for name in kwargs:
            if name in values:
                self._add(partial("{} is given twice, by position and by name".format, safe_repr(self._spelling(name))))
            elif name in self._fields:
                values[name] = kwargs[name]
        missing = [name for name, field in self._fields.items() if field.required and name not in values]
        for name in unknown:
            self._add(partial(self._unknown, name, values, unknown, missing))
        for name in missing:
            self._add(
                partial(
                    "missing argument {} ({})".format, safe_repr(self._spelling(name)), self._fields[name].type_text
                )
            )
        return values

    def of_values(self, error: ValidationError, values: Mapping[str, object]) -> None:
        """Add every value pydantic refused; `values` are the validated ones."""
        if error.error_count() > _WORTH_DETAIL:
            takes = ", ".join(
                f"{safe_name(self._spelling(name))}: {self._fields[name].type_text}" for name in self._fields
            )
            self._add(lambda: f"more than {_WORTH_DETAIL} values or keys do not fit; it takes {safe_line(takes)}")
            return
        details = map(about_tag, error.errors(include_url=False))
        # Missing arguments have been reported by `of_names`.
        details = [detail for detail in details if detail["type"] != "missing" or len(detail["loc"]) != 1]
        other_names = cache(self._places.other_names)  # each branch of a union has its errors at the same paths
        located = [(error_locations(detail, values, other_names), detail) for detail in details]
        unions = Unions.of(located)
        by_path: dict[ValuePath, list[ErrorDetails]] = defaultdict(list)
        for places, item in located:
            if (path := unions.meeting(places)) is not None:
                by_path[path].append(item)
        for path, errors in by_path.items():
            if self._secrets.is_secret(str(path[0])):
                self._add(partial(self._of_secret, path, errors[0]))
            else:
                self._add(partial(self._of_place, path, errors, unions, values))

    def _of_place(
        self, path: ValuePath, errors: Sequence[ErrorDetails], unions: "Unions", values: Mapping[str, object]
    ) -> str:
        if unions.are_all_wrong(path):
            return self._of_union(path, unions, values)
        subject, error = self._where(path), errors[0]
        *_, last = (None, *error["loc"])
        if last == "[key]":
            subject += ": the key"
        if error["type"] == "missing":
            near = _misspelt_key(path[-1], error["input"], partial(self._places.is_name, path[:-1]))
            return f"{subject} is missing" + (f" (did you mean {near!r}?)" if near else "")
        if error["type"] == "string_unicode":
            return f"{subject} contains a lone surrogate: send the character itself"
        if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            return f"{subject} {self._unknown_key(path)}"
        wanted = self._expected(path, error)
        if wanted is None:
            return f"{subject}{_words_of(error)}, got {safe_repr_with_type(error['input'])}"
        is_dict = error["type"] in _DICT_ERRORS or _EXPECTED_TYPES.get(error["type"]) == "dict"
        sentence = self._other_type(path, wanted, error["input"], subject, is_dict=is_dict)
        reason = error["type"].endswith("_parsing") and error.get("ctx", {}).get("error")
        if reason:
            sentence += f" ({safe_line(str(reason))})"
        return sentence

    def _of_union(self, path: ValuePath, unions: "Unions", values: Mapping[str, object]) -> str:
        wanted = self._field(path).type_text if len(path) == 1 else unions.text(path)
        sentence = self._other_type(path, wanted, reduce(inner_value, path, cast("object", values)))
        # Without the unions within, each problem of a branch is one sentence.
        known = Unions({}, {})
        reasons = "; ".join(
            f"{type_}: {self._of_place(place, [error], known, values)}" for type_, place, error in unions.possible(path)
        )
        if reasons and len(reasons) <= _PATH_WIDTH:
            sentence += f" ({reasons})"
        return sentence

    def _of_secret(self, path: ValuePath, error: ErrorDetails) -> str:
        """Return a sentence without the value and its keys, and without the words of foreign validators."""
        visible = _visible_path(path, self._places.names_at)
        subject, reason = self._where(visible), " does not fit its type"
        if visible == path:
            if error["type"] == "missing":
                return f"{subject} is missing"
            if (wanted := self._expected(path, error)) is not None:
                reason = f" must be {safe_line(wanted)}"
            elif error["type"].startswith(_CONSTRAINTS):
                reason = _words_of(error)
        return f"{subject}{reason}, got {HIDDEN_VALUE}"

    def _unknown_key(self, path: ValuePath) -> str:
        *around, name = path
        names = self._places.names_at(tuple(around))
        if name in names:  # as the names of all branches of a union are
            return "belongs to another of the possible types"
        if near := difflib.get_close_matches(str(name)[:_MESSAGE_WIDTH], names, n=1, cutoff=_MIN_SIMILARITY):
            return f"is unknown (did you mean {near[0]!r}?)"
        return f"is unknown (it takes {safe_names(names)})" if names else "is unknown"

    def of_raised(self, name: str, value: object, error: Exception) -> None:
        """Add a value whose type's own validation failed without an explanation."""
        words: object = error.args[0] if error.args else ""
        said = f": {safe_line(words)}" if type(words) is str and words else ""
        subject = f"{self._where((name,))} must be {self._fields[name].type_text}"
        if self._secrets.is_secret(name):
            self._add(lambda: f"{subject}, got {HIDDEN_VALUE} ({type(error).__name__})")
        else:
            self._add(lambda: f"{subject}, got {safe_repr_with_type(value)} ({type(error).__name__}{said})")

    def _unknown(
        self, name: object, values: Mapping[str, object], unknown: Sequence[object], missing: Sequence[str]
    ) -> str:
        subject = f"unknown argument {safe_repr(name)}"
        if not isinstance(name, str):
            return f"{subject} (names are text)"
        if len(unknown) == len(missing) == 1:  # the only candidate
            near = [self._spelling(missing[0])]
        else:
            free = [self._spelling(field) for field in self._fields if field not in values]
            near = difflib.get_close_matches(name[:_MESSAGE_WIDTH], free, n=1, cutoff=_MIN_SIMILARITY)
        if near:
            return f"{subject} (did you mean {near[0]!r}?)"
        if self._fields:
            return f"{subject} (it takes {safe_names([*map(self._spelling, self._fields)])})"
        return f"{subject} (it takes no arguments)"

    def _other_type(
        self, path: ValuePath, wanted: str, value: object, subject: str | None = None, *, is_dict: bool = False
    ) -> str:
        if len(path) == 1 and not self._field(path).many and _has_single_items(value, is_dict=is_dict):
            count = len(cast("Sequence[object]", value))
            instead = "pass the item itself" if count == 1 else "call it once per item"
            problem = f"got a {type(value).__name__} of {count}: {instead}"
            return f"{self._where(path)} must be one {safe_line(wanted)}, {problem}"
        return f"{subject or self._where(path)} must be {safe_line(wanted)}, got {safe_repr_with_type(value)}"

    def _expected(self, path: ValuePath, error: ErrorDetails) -> str | None:
        context = error.get("ctx", {})
        if "expected" in context:
            return _MEMBER.sub(r"\g<value>", str(context["expected"]))
        wanted = _EXPECTED_TYPES.get(error["type"])
        for key in ("class", "class_name"):
            if key in context:
                wanted = str(context[key])
        if wanted is None or len(path) > 1:
            return wanted
        text = self._field(path).type_text
        if error["type"] in _DICT_ERRORS and not text.startswith("dict"):
            return f"{text} (a dict)"
        return text

    def _spelling(self, name: str) -> str:
        field = self._fields.get(name)
        return name if field is None or field.spelling is None else field.spelling

    def _where(self, path: ValuePath) -> str:
        return where(path, self._fields)

    def _field(self, path: ValuePath) -> DescribedParameter:
        name, *_ = path
        return self._fields[str(name)]


def _has_single_items(value: object, *, is_dict: bool) -> bool:
    """Return whether a value is a list of what one call might take: of dicts where one is expected."""
    if type(value) not in ITEMS or not value:
        return False
    items = cast("Sequence[object]", value)
    if is_dict:
        return all(isinstance(item, Mapping) for item in items)
    return not any(type(item) in ITEMS for item in items)


def _visible_path(path: ValuePath, names_at: Callable[[ValuePath], Sequence[str]]) -> ValuePath:
    """Return the steps to a value in a secret argument, up to a key that no type declares."""
    visible = path[:1]
    for step in path[1:]:
        if isinstance(step, str) and step not in names_at(visible):
            break
        visible = (*visible, step)
    return visible


def _words_of(error: ErrorDetails) -> str:
    """Return pydantic's message: "Input should be ..." continues the subject, and any other stands after a colon."""
    message = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if message.startswith("Input "):
        return f" {safe_line(message.removeprefix('Input '))}"
    return f": {safe_line(message)}"


def where_repaired(
    path: ValuePath,
    secrets: SecretArguments,
    fields: Mapping[str, DescribedParameter] | None = None,
    names_at: Callable[[ValuePath], Sequence[str]] = lambda _: (),
) -> str:
    """Return the subject of a sentence about a repair; a secret argument's own keys are not in it."""
    visible = path
    if secrets.is_secret(str(path[0])):
        visible = _visible_path(path, names_at)
    return where(path, fields) if visible == path else f"a value in {where(visible, fields)}"


def first_of(sentences: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences to show, and one with the number of the rest."""
    more = len(sentences) - _MAX_PROBLEMS
    return (*sentences[:_MAX_PROBLEMS], f"and {more} more") if more > 0 else tuple(sentences)


def _misspelt_key(key: object, siblings: object, is_name: Callable[[str], bool]) -> str | None:
    """Return the key in a dict that was likely meant for a missing one, and is the name of no other field."""
    if not isinstance(key, str) or not isinstance(siblings, Mapping):
        return None
    keys = [sibling for sibling in islice(cast("Mapping[object, object]", siblings), _KEYS) if type(sibling) is str]
    keys = [item for item in keys if len(item) <= _MESSAGE_WIDTH and not is_name(item)]
    near = difflib.get_close_matches(key, keys, n=1, cutoff=_MIN_SIMILARITY)
    return near[0] if near else None


def where(path: Sequence[int | str], fields: Mapping[str, DescribedParameter] | None = None) -> str:
    """Return a path as a quoted name, such as `'it.parts[0]'`; `fields` has the spelling of the first name."""
    first, *others = path
    field = fields.get(str(first)) if fields else None
    text = str(first) if field is None or field.spelling is None else field.spelling
    for step in others:
        is_plain = isinstance(step, str) and step.isidentifier() and len(step) <= _MESSAGE_WIDTH
        text += f".{step}" if is_plain else f"[{safe_repr(step)}]"
    return repr(text if len(text) <= _PATH_WIDTH else f"{text[:_MESSAGE_WIDTH]}…{text[-_MESSAGE_WIDTH:]}")
