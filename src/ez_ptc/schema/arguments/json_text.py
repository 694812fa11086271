"""Parsing the JSON text of a call's arguments, which is hostile."""

import json
import math
import re
from collections import Counter
from itertools import chain
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.arguments.nesting import is_nested_deeper
from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type

__all__ = [
    "MAX_CHARACTERS",
    "MAX_DEPTH",
    "arguments_or_text",
    "check_value",
    "is_too_deep",
    "parse_arguments",
    "parse_value",
    "read_arguments",
    "read_container",
    "read_json",
    "read_value",
    "respell",
    "unique_keys",
]

_TOKEN: Final = re.compile(
    # Text that never ends is one token as well: looking for its end from each later quote would take quadratic time.
    r"""(?P<double>"(?:[^"\\]|\\.)*+(?P<end>")?)"""
    r"""|(?P<single>'(?:[^'\\]|\\.)*+(?P<single_end>')?)"""
    r"""|(?P<name>(?<![\w.])(?:True|False|None)(?!\w))"""
    r"""|(?P<comma>,)(?=\s*+[}\]])""",
    re.DOTALL,
)
_NAMES: Final = {"True": "true", "False": "false", "None": "null"}
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_ESCAPED_CONTROL: Final = re.compile(r"(?<!\\)(?:\\\\)*+\\[\x00-\x1f]")
_ESCAPE: Final = re.compile(r"""\\x([0-9a-fA-F]{2})|\\(.)|(")""", re.DOTALL)
_LINE_BREAKS: Final = "unescaped line breaks or tabs in text"
_QUOTES: Final = "single quotes"
_ESCAPED_QUOTES: Final = "escaped single quotes"
_CONSTANTS: Final = "Python's True, False or None"
_COMMAS: Final = "a comma before a closing bracket"


def respell(text: str) -> tuple[str, tuple[str, ...]]:
    """Return text with its other spellings rewritten as JSON, and their names; the text itself if it has none."""
    spellings: dict[str, None] = {}

    def rewrite(token: re.Match[str]) -> str:
        if token["name"]:
            spellings[_CONSTANTS] = None
            return _NAMES[token[0]]
        if token["comma"]:
            spellings[_COMMAS] = None
            return ""
        literal = token[0]
        if not (token["end"] or token["single_end"]):
            return literal
        if token["single"]:
            spellings[_QUOTES] = None
            literal = _requote(literal)
        elif "\\'" in literal:
            unescaped = re.sub(r"\\(.)", lambda found: "'" if found[1] == "'" else found[0], literal, flags=re.DOTALL)
            if unescaped != literal:
                spellings[_ESCAPED_QUOTES] = None
                literal = unescaped
        # A line break after a backslash can mean several things, and escaping it would escape the backslash instead.
        if _CONTROL.search(literal) and not _ESCAPED_CONTROL.search(literal):
            spellings[_LINE_BREAKS] = None
            return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", literal)
        return literal

    return _TOKEN.sub(rewrite, text), tuple(spellings)


def _requote(literal: str) -> str:
    """Return a Python string in single quotes as a JSON string; escapes unknown to JSON stay, and are invalid."""

    def rewrite(found: re.Match[str]) -> str:
        if found[1]:
            return f"\\u00{found[1]}"
        if found[3]:
            return '\\"'
        if found[2] == "'":
            return "'"
        return found[0]

    return f'"{_ESCAPE.sub(rewrite, literal[1:-1])}"'


MAX_CHARACTERS: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 100
# More than this many levels are never parsed, so no stack is too small.
_MAX_BRACKETS: Final = 2 * MAX_DEPTH

_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_NUMBERS: Final = frozenset({int, float, bool, type(None)})
_SCALARS: Final = _NUMBERS | {str}
# Also where subclasses override `values`.
_values_of: Final = dict[object, object].values
# Around an object: a fence, tokens of a template, and `{}` that proxies write before the first piece or below the last.
_TOKENS: Final = r"</?\w{1,20}>|<\|\w{1,20}\|>|\[/?[A-Z_]{1,20}\]"
_FRAMED: Final = re.compile(rf"\s*+(?:(?:{_TOKENS}|json|`{{3,}}+\w*+)\s*+)*+(?:\{{\}}\s*+(?=\{{))?(?=\{{)")
_BELOW: Final = re.compile(rf"(?:[\s}}\]`,;]|\{{\}}|{_TOKENS})++\Z")
_HALF_A_PAIR: Final = "they contain a lone surrogate: send the character itself"


class _RefusedError(ValueError):
    """A problem of a text that is valid JSON, or too deep to tell."""


def parse_arguments(tool: str, text: str) -> dict[str, object]:
    """Parse the JSON object a model sent as the arguments of `tool`, as `read_arguments` does."""
    return read_arguments(tool, text)[0]


def arguments_or_text(arguments: dict[str, Any] | str) -> dict[str, Any] | str:
    """Return a call's arguments for display: a dict, or the text of arguments that no tool would accept."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return parse_arguments("", arguments)
    except ArgumentsError:
        return arguments


def read_arguments(tool: str, text: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the JSON object a model sent as the arguments of `tool`, and a sentence for each repair.

    Empty text, `null` and `[]` mean no arguments, as some servers send. An object that was encoded twice is decoded,
    and the spellings of `respell` are read if the whole text is JSON otherwise. Nothing is added to text that was cut
    off.

    Raises `ArgumentsError` if it is not a JSON object, and for cases JSON leaves open: `NaN` and numbers beyond a
    float, repeated keys, lone surrogates, more than `MAX_DEPTH` levels, and more than `MAX_CHARACTERS` characters. The
    time is linear in the length of the text.
    """
    text = text.removeprefix("\ufeff")  # some servers write a byte order mark
    if not text.strip():
        return {}, ()
    try:
        value, spellings = read_value(text)
        repairs = _repairs(spellings)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value, spellings = read_value(value)
            repairs = (*repairs, "the arguments came as JSON text within a string", *_repairs(spellings))
        if value in (None, [], ""):
            return {}, (f"the arguments came as {json.dumps(value)}",)
        if not isinstance(value, dict):
            _refuse(f"expected an object with one key for each argument, got {safe_repr_with_type(value)}")
        return cast("dict[str, object]", value), repairs
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at line {error.lineno}, column {error.colno}: send one JSON object"
    except ValueError as error:
        problem = str(error)
    message = f"{tool}: the arguments are not usable JSON: {problem}"
    raise ArgumentsError(message, problems=[problem]) from None


def read_value(text: str) -> tuple[object, tuple[str, ...]]:
    """Return the value of JSON text, and its spellings unlike JSON, which `respell` reads.

    Raises JSONDecodeError for text that is cut off or not JSON, and ValueError with the problem of any other text, such
    as one that is nested too deeply.
    """
    try:
        return _value(text), ()
    except json.JSONDecodeError as error:
        if bare := _without_frame(text):
            return _value(bare), ("other text around the object",)
        respelled, spellings = respell(text)
        if not spellings:
            raise
        try:
            value = _value(respelled)
        except json.JSONDecodeError:
            raise error from None  # the model reads about its own text
        return value, spellings


def _without_frame(text: str) -> str | None:
    """Return the whole JSON object in a text that has nothing else but a template's signs, or None."""
    framed = _FRAMED.match(text)
    is_deep = is_nested_deeper(text.encode(errors="surrogatepass"), _MAX_BRACKETS)
    if framed is None or is_deep or len(text) > MAX_CHARACTERS:
        return None
    try:
        _, end = _DECODER.raw_decode(text, framed.end())
    except ValueError:
        return None
    is_bare = end == len(text) or _BELOW.match(text, end)
    return text[framed.end() : end] if is_bare else None


def _repairs(spellings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"the arguments came with {spelling}" for spelling in spellings)


def parse_value(text: str) -> object:
    """Parse JSON text that came instead of a value, as carefully; None if it is invalid or `null`."""
    try:
        return _value(text)
    except ValueError:
        return None


def read_container(text: str, *others: type) -> tuple[object, str] | None:
    """Return the object or list in text that came instead of one, and a name of the text; None for any other text.

    `others` are further types the value may have. The text may have the spellings of `respell`, as the text of all
    arguments.
    """
    try:
        value, spellings = read_value(text)
    except ValueError:
        return None
    if type(value) not in (dict, list, *others):
        return None
    if not spellings:
        return value, "JSON text"
    return value, f"JSON text with {' and '.join(spellings)}"


def check_value(value: object) -> object:
    """Return a value of any type; raise ValueError for values our JSON parser would reject.

    These are dicts and lists that are too deep, such as recursive ones, and lone surrogates.
    """
    if type(value) is str:
        texts: list[str] | None = [value]
    elif type(value) in (dict, list):
        texts = _texts(value)
    else:
        return value
    if texts is None:
        raise ValueError(_too_deep())
    if not _are_encodable(texts):
        raise ValueError(_HALF_A_PAIR)
    return value


def _value(text: str) -> object:
    if len(text) > MAX_CHARACTERS:
        _refuse(f"they have {len(text)} characters, at most {MAX_CHARACTERS} are allowed: send less")
    try:
        value: object = _decode_bounded(text, _DECODER)
    except RecursionError:
        _refuse(_too_deep())
    texts = _texts(value)
    if texts is None:
        _refuse(_too_deep())
    if not _is_encodable(text) or (_ESCAPED_SURROGATE.search(text) and not _are_encodable(texts)):
        _refuse(_HALF_A_PAIR)
    return value


def read_json(text: str, *, levels: int = _MAX_BRACKETS, **options: Any) -> object:
    """Same as `json.loads`. Raises ValueError, and RecursionError for more levels of nesting."""
    return _decode_bounded(text, json.JSONDecoder(**options), levels)


def _decode_bounded(text: str, decoder: json.JSONDecoder, levels: int = _MAX_BRACKETS) -> object:
    if is_nested_deeper(text.encode(errors="surrogatepass"), levels):
        message = f"text nested more than {levels} levels deep"
        raise RecursionError(message)
    return decoder.decode(text)


def is_too_deep(value: object) -> bool:
    """Return whether lists and dicts are nested more than `MAX_DEPTH` levels deep, as recursive ones are."""
    return _texts(value, with_texts=False) is None


def _texts(value: object, *, with_texts: bool = True) -> list[str] | None:
    """Return the texts and keys in a value's lists and dicts; None if these are nested too deeply.

    A value is visited level by level, each in a few steps that take no Python code for an item.
    """
    texts: list[str] = []
    level, count = [value], 0
    for _ in range(MAX_DEPTH):
        kinds = set(map(type, level))
        if with_texts and not kinds <= _NUMBERS:
            texts += [item for item in level if isinstance(item, str)]
        if kinds <= _SCALARS:
            return texts
        dicts = [cast("dict[object, object]", item) for item in level if isinstance(item, dict)]
        lists = [cast("list[object]", item) for item in level if isinstance(item, list)]
        if with_texts and dicts:
            # Many rows have few keys; unlike those of texts, a program can choose the hashes of numbers.
            texts += {key for key in chain.from_iterable(dicts) if isinstance(key, str)}
        level = [*chain.from_iterable(map(_values_of, dicts)), *chain.from_iterable(lists)]
        count += len(level)
        if not level:
            return texts
        if count > MAX_CHARACTERS:  # no text has so many values: they are shared lists
            break
    return None


def _are_encodable(texts: list[str]) -> bool:
    return all(map(str.isascii, texts)) or all(map(_is_encodable, texts))


def _is_encodable(text: str) -> bool:
    """Return whether a text has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of its pairs, for `read_json`. Raises ValueError if a key comes twice: one would be lost."""
    values = dict(pairs)
    if len(values) < len(pairs):
        key, times = Counter(key for key, _ in pairs).most_common(1)[0]
        _refuse(f"the key {safe_repr(key)} comes {times} times in one object: send it once")
    return values


def _no_constant(text: str) -> NoReturn:
    _refuse(f"{text} is not a JSON number: send null or a string")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        _refuse(f"the number {safe_repr(text)} is too large for a float")
    return number


def _too_deep() -> str:
    return f"they are nested more than {MAX_DEPTH} levels deep: reduce the nesting"


def _refuse(problem: str) -> NoReturn:
    raise _RefusedError(problem)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=_no_constant, parse_float=_finite)
