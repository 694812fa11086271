"""The JSON text of arguments: what is read, and what is refused with a message."""

import json
import sys
import tracemalloc
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.arguments.json_text import MAX_CHARACTERS, MAX_DEPTH, check_value, parse_arguments, read_arguments

REFUSED = {
    "no JSON": ("{q: 1}", "Expecting property name enclosed in double quotes at line 1, column 2"),
    "cut off": ('{"q": [1, 2', "Expecting"),
    "two objects": ('{}{"q": 1}{"q": 2}', "Extra data"),
    "words below": ('{"q": 1} Done.', "Extra data"),
    "a fence cut off": ('```json\n{"q": 1', "Expecting"),
    "followed by more": ('{"q": 1} {"q": 2}', "Extra data"),
    "a list": ("[1]", "expected an object with one key for each argument, got list of 1 [1]"),
    "a number": ("3", "got int 3"),
    "null in text": ('"null"', "got str 'null'"),
    "a list in another spelling": ("['a', None,]", "got list of 2"),
    "an apostrophe in single quotes": ("{'q': 'it's'}", "Expecting"),
    "an escape that JSON lacks": (r"{'q': '\d'}", "Expecting"),
    "another spelling cut off": ("{'q': True", "Expecting"),
    "another spelling followed by more": ("{'q': True} {'q': 1}", "Expecting"),
    "a key twice in another spelling": ("{'q': 1, 'q': 2}", "the key 'q' comes 2 times"),
    "text cut off in text": (r'"{\"q\": 1"', "Expecting"),
    "not a number": ('{"q": NaN}', "NaN is not a JSON number"),
    "infinity": ('{"q": [-Infinity]}', "-Infinity is not a JSON number"),
    "a number beyond floats": ('{"q": 1e999}', "'1e999' is too large"),
    "an endless integer": ('{"q": ' + "1" * 5000 + "}", "digits"),
    "a key twice": ('{"q": 1, "p": 2, "q": 3}', "the key 'q' comes 2 times"),
    "a key twice within": ('{"q": {"a": 1, "a": 1}}', "the key 'a' comes 2 times"),
    "half a character": (r'{"q": ["\ud83d"]}', "lone surrogate"),
    "half a character in a key": (r'{"\udc00": 1}', "lone surrogate"),
    "half a character as it is": ('{"q": "\ud83d"}', "lone surrogate"),
    "ten thousand levels": ('{"q": ' + "[" * 10_000 + "]" * 10_000 + "}", f"more than {MAX_DEPTH} levels"),
    "one level too many": ('{"q": ' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}", f"more than {MAX_DEPTH} levels"),
    "ten megabytes": ('{"q": "' + "x" * 10_000_000 + '"}', f"at most {MAX_CHARACTERS} are allowed"),
}


@pytest.mark.parametrize(("text", "complaint"), REFUSED.values(), ids=REFUSED.keys())
def test_unusable_text_is_refused_with_a_message(text: str, complaint: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        parse_arguments("find", text)

    assert str(caught.value).startswith("find: the arguments are not usable JSON: ")
    assert complaint in str(caught.value)
    assert len(str(caught.value)) < 300
    assert caught.value.problems != ()


def test_deepest_and_longest_allowed_json_is_read() -> None:
    deep = '{"q": ' + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1) + "}"
    long = '{"q": "' + "x" * (MAX_CHARACTERS - 9) + '"}'

    assert parse_arguments("find", deep)["q"] == json.loads(deep)["q"]
    assert len(str(parse_arguments("find", long)["q"])) == MAX_CHARACTERS - 9


OTHER_SPELLINGS: dict[str, tuple[str, dict[str, object], str]] = {
    "line breaks": ('{"q": "x = 1\nif x:\n\tprint(x)"}', {"q": "x = 1\nif x:\n\tprint(x)"}, "line breaks"),
    "trailing commas": ('{"q": [1, 2, ], }', {"q": [1, 2]}, "comma"),
    "single quotes": ("{'q': 'say \"a\"', 'p': {'x': ''}}", {"q": 'say "a"', "p": {"x": ""}}, "single quotes"),
    "escapes in single quotes": (r"{'q': 'it\'s\n\x41 C:\\d'}", {"q": "it's\nA C:\\d"}, "single quotes"),
    "Python's constants": ('{"q": [True, False, None]}', {"q": [True, False, None]}, "Python's"),
    "a Python dict": ("{'q': True, 'p': 'x',}", {"q": True, "p": "x"}, "comma"),
    "null": ("null", {}, "null"),
    "an empty list": ("[]", {}, "[]"),
    "empty text in quotes": ('""', {}, '""'),
    "escaped single quotes": (r"""{"q": "it\'s \\'", "p": "\\\'"}""", {"q": "it's \\'", "p": "\\'"}, "escaped"),
    "tokens around": ('<|constrain|>json<|message|>{"q": 1}<|call|>', {"q": 1}, "other text around"),
    "a token before": ('[ARGS]{"q": 1}', {"q": 1}, "other text around"),
    "tokens below": ('{"q": 1}[/TOOL_CALLS]<end_of_turn>', {"q": 1}, "other text around"),
    "a semicolon": ('{"q": 1};', {"q": 1}, "other text around"),
    "a comma below": ('{"q": 1},\n', {"q": 1}, "other text around"),
    "a fence": ('```json\n{"q": 1}\n```', {"q": 1}, "other text around"),
    "a brace too many": ('{"q": {"p": 1}}}', {"q": {"p": 1}}, "other text around"),
    "tokens of a template": ('{"q": 1}\n</tool_call><|im_end|>', {"q": 1}, "other text around"),
    "an empty object before": ('{}{"q": 1}', {"q": 1}, "other text around"),
    "an empty object below": ('{"q": 1}\n{}', {"q": 1}, "other text around"),
    "encoded twice": (json.dumps(json.dumps({"q": "a\nb"})), {"q": "a\nb"}, "within a string"),
    "a Python dict in text": (json.dumps("{'q': None}"), {"q": None}, "single quotes"),
}


@pytest.mark.parametrize(("text", "arguments", "repair"), OTHER_SPELLINGS.values(), ids=OTHER_SPELLINGS)
def test_other_spellings_are_read_and_listed(text: str, arguments: dict[str, object], repair: str) -> None:
    read, repairs = read_arguments("find", text)
    assert read == arguments
    assert any(repair in sentence for sentence in repairs)


@given(st.dictionaries(st.text(), st.text() | st.booleans() | st.none() | st.integers() | st.lists(st.text())))
def test_a_python_dict_is_read_or_refused_never_misread(arguments: dict[str, object]) -> None:
    try:
        assert read_arguments("find", repr(arguments))[0] == arguments
    except ArgumentsError:
        return


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text() | st.booleans() | st.none())))
def test_valid_json_is_never_respelled(arguments: dict[str, object]) -> None:
    assert read_arguments("find", json.dumps(arguments, ensure_ascii=False)) == (arguments, ())


@given(st.dictionaries(st.text(), st.text(), min_size=1), st.data())
def test_text_that_was_cut_off_is_refused(arguments: dict[str, object], data: st.DataObject) -> None:
    for text in (json.dumps(arguments), repr(arguments)):
        cut = data.draw(st.integers(1, len(text) - 1))
        with pytest.raises(ArgumentsError):
            read_arguments("find", text[:cut])


@pytest.mark.parametrize("text", ['{"a": "one\\\ntwo"}', "{'a': 'one\\\ntwo'}", '{"a": "one\\\\\\\ttwo"}'])
def test_line_break_after_a_backslash_is_never_misread(text: str) -> None:
    with pytest.raises(ArgumentsError):
        parse_arguments("f", text)


def test_line_break_after_an_escaped_backslash_is_read() -> None:
    assert parse_arguments("f", '{"a": "one\\\\\ntwo"}') == {"a": "one\\\ntwo"}


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_empty_text_means_no_arguments(text: str) -> None:
    assert parse_arguments("find", text) == {}


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert parse_arguments("find", r'{"q": "\ud83d\ude00"}') == {"q": "\N{GRINNING FACE}"}


LIMIT = 10 ** (sys.get_int_max_str_digits() - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-LIMIT, LIMIT) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)


@given(st.dictionaries(TEXT, JSON), st.booleans())
def test_written_json_is_read_back(arguments: dict[str, object], escaped: bool) -> None:
    assert parse_arguments("find", json.dumps(arguments, ensure_ascii=escaped)) == arguments


@given(st.text() | st.text(alphabet='{}[]",:0eE+-\\u d8NanIfity'))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but `ArgumentsError` comes out of it, and what is read is what JSON means."""
    try:
        arguments = parse_arguments("find", text)
    except ArgumentsError:
        return
    assert arguments == (json.loads(text) if text.strip() else {})


class _Text(str):
    __slots__ = ()


_TEXTS = st.sampled_from(["", "plain", "naïve – 漢字 \U0001f600", "\ud83d", "a\udc00", _Text("plain"), _Text("\ud83d")])
_VALUES = st.recursive(
    st.one_of(_TEXTS, st.integers(), st.floats(), st.none(), st.booleans(), st.binary(), st.tuples(_TEXTS)),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.one_of(_TEXTS, st.integers()), inner)),
)


def _has_surrogate(value: object) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        fields = cast("dict[object, object]", value)
        return any(map(_has_surrogate, [*fields, *fields.values()]))
    return isinstance(value, list) and any(map(_has_surrogate, cast("list[object]", value)))


@given(_VALUES)
def test_values_with_half_a_character_are_refused_wherever_it_is(value: object) -> None:
    if _has_surrogate(value) and type(value) is not _Text:
        with pytest.raises(ValueError, match="lone surrogate"):
            check_value(value)
    else:
        assert check_value(value) is value


@pytest.mark.security
def test_text_shared_by_thousands_of_values_is_not_joined() -> None:
    shared = "ä" * 1_000_000
    tracemalloc.start()
    check_value([shared] * 1_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 10_000_000


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1])
def test_values_are_as_deep_as_json_may_be(levels: int) -> None:
    value: object = "\ud83d"
    for level in range(levels):
        value = [value, 1] if level % 2 else {"key": value}

    with pytest.raises(ValueError, match="lone surrogate" if levels < MAX_DEPTH else f"more than {MAX_DEPTH} levels"):
        check_value(value)
