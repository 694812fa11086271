"""Explaining empty output: why a program that compares rows printed nothing, and what it may have meant."""

from __future__ import annotations

import keyword
import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ez_ptc.sandbox.protocol.both_ends.quoting import MAX_QUOTED, quoted
from ez_ptc.sandbox.protocol.both_ends.quoting import literal as literal_text

if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence

__all__ = ["Explanation", "explain_unmet"]

_LITERAL: Final = r"""(?:"([^"\\\n]{1,100})"|'([^'\\\n]{1,100})'|(\d{1,15}))"""
# No part of these patterns spans many lines, and each begins at the start of a word or line.
_COMPARED: Final = re.compile(
    r"""\b\w+(?:\[["'](?P<key>\w+)["']\]|\.(?P<attribute>\w+))"""
    rf""" ?== ?(?P<with>{_LITERAL}|[^\W\d]\w*)(?![\w.(\[]| ?[+%*])"""
)
_NAMED: Final = re.compile(rf"^[ \t]*(\w+) ?= ?(?P<with>{_LITERAL})[ \t]*$", re.MULTILINE)
# With these, a row may be kept without meeting the comparison.
_NOT_ALONE: Final = re.compile(r"\b(?:or|not|else)\b|\"\"\"|'''")
_MAX_ROWS: Final = 1_000
_MAX_VALUES: Final = 10
_MAX_TEXT: Final = 1_000
_MAX_LITERAL: Final = 120
_MAX_INT: Final = 10**15
_NUMBERS: Final = frozenset({bool, float, int})
_MAX_KEYS: Final = 200
# The dict's real items, even if a subclass overrides `items`.
_pairs: Final[Callable[[dict[object, object]], ItemsView[object, object]]] = dict[object, object].items


class Explanation(NamedTuple):
    """A condition that no row met: the reason in words, and the program with the likely condition, or ""."""

    why: str
    program: str


class _Compared(NamedTuple):
    """A comparison `row["key"] == literal` in a program, with the positions of its key and literal."""

    key: str
    literal: str | int
    key_at: tuple[int, int]
    literal_at: tuple[int, int]


def explain_unmet(code: str, results: Iterable[object]) -> Explanation | None:
    """Return the first comparison in `code` met by no row of `results`, or None.

    Only comparisons of one key with a text or an integer count, and only the first 1,000 rows: dicts, and objects with
    a `__dict__`.
    """
    comparisons = [*_comparisons(code)]
    if comparisons:
        rows = [*filter(None, map(_record, islice(_items(results), _MAX_ROWS)))]
    else:
        rows = []
    for compared in comparisons:
        having = [row for row in rows if compared.key in row]
        values = [row[compared.key] for row in having]
        if values and all(_is_plain(value) and value != compared.literal for value in values):
            return _explain(code, compared, having)
    return None


def _explain(code: str, compared: _Compared, rows: Sequence[Mapping[str, object]]) -> Explanation:
    key, literal = compared.key, compared.literal
    values = list[object](dict.fromkeys(row[key] for row in rows))
    never = f"{quoted(key)} is never {quoted(literal)}"
    for value in values:
        written = literal_text(value) if isinstance(value, str) else repr(value)
        is_alike = str(value).strip().casefold() == str(literal).strip().casefold()
        if is_alike and len(written) <= _MAX_LITERAL:
            return Explanation(f"{never}, but {quoted(value)}", _replace(code, compared.literal_at, written))
    for similar_key in rows[0]:
        # It can be read as an attribute, too.
        is_name = similar_key.isidentifier() and not keyword.iskeyword(similar_key) and not hasattr(dict, similar_key)
        same = (type(row.get(similar_key)) is type(literal) and row.get(similar_key) == literal for row in rows)
        if is_name and len(similar_key) <= MAX_QUOTED and any(same):
            return Explanation(f"{never}, but {quoted(similar_key)} is", _replace(code, compared.key_at, similar_key))
    quoted_values = [quoted(value) for value in values if len(str(value)) <= MAX_QUOTED]
    more = ", …" if len(quoted_values) > _MAX_VALUES else ""
    return Explanation(f"{never}; it is {', '.join(quoted_values[:_MAX_VALUES])}{more}" if quoted_values else never, "")


def _comparisons(code: str) -> Iterator[_Compared]:
    named = {match[1]: match for match in _NAMED.finditer(code)}
    for match in _COMPARED.finditer(code):
        line = code[code.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
        if _NOT_ALONE.search(line):
            continue
        literal_match: re.Match[str] | None = match if match["with"][0] in "\"'0123456789" else named.get(match["with"])
        if literal_match is not None:
            key = "attribute"
            if match["key"]:
                key = "key"
            text = literal_match["with"]
            literal = int(text) if text.isdecimal() else text[1:-1]
            yield _Compared(match[key], literal, match.span(key), literal_match.span("with"))


def _is_plain(value: object) -> bool:
    """Return whether a value compares equally on the host and in a program, and is short."""
    if type(value) is str:
        return len(value) <= _MAX_TEXT
    return value is None or (type(value) in _NUMBERS and abs(cast("float", value)) < _MAX_INT)


def _replace(code: str, span: tuple[int, int], text: str) -> str:
    return f"{code[: span[0]]}{text}{code[span[1] :]}"


def _items(results: Iterable[object]) -> Iterator[object]:
    """Yield possible records: results, and the items of lists among them."""
    for result in results:
        if type(result) in {list, tuple}:
            yield from cast("Sequence[object]", result)
        else:
            yield result


def _record(value: object) -> Mapping[str, object]:
    """Return the keys of a record as a program sees them, without running code of the value."""
    if not isinstance(value, dict):
        try:
            value = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return {}
    if not isinstance(value, dict):
        return {}
    pairs = _pairs(cast("dict[object, object]", value))
    if len(pairs) <= _MAX_KEYS:
        return {key: pair for key, pair in pairs if type(key) is str}
    return {}
