"""Patterns of JavaScript, as the engines read them that check values."""

import pytest

from ez_ptc.schema.standard.patterns import portable_pattern
from ez_ptc.tools.tool import Tool
from tests.schema.suite.measure import FORMATS, accepted_by_description, echo

PATTERNS = [
    (r"^[\w-.]+$", "a-b.c", "a b"),
    (r"^[\d-x]+$", "1-x", "y"),
    (r"^[a-\d]+$", "a-1", "b"),
    ("^a{,3}$", "a{,3}", "aaa"),
    ("^{x}$", "{x}", "x"),
    ("^a{2,3}$", "aaa", "a{2,3}"),
    ("^[^]$", "\n", ""),
    ("^(?:[]|a)$", "a", ""),
    (r"^\0$", "\x00", "0"),
    (r"^[\0]$", "\x00", "0"),
    (r"^[\b]$", "\b", "b"),
    (r"^\e\i$", "ei", "e"),
    (r"^\u0041\x42$", "AB", "A"),
    (r"^\ud83d\ude00$", "\U0001f600", "x"),
    (r"^\u{1F600}$", "\U0001f600", "x"),
    (r"^[[a]+$", "[a", "]"),
    (r"^[a&&b]+$", "a&b", "c"),
    (r"^[+--]+$", "+,-", "."),
    (r"^\<b\>$", "<b>", "b"),
    (r"^\p{L}+$", "é", "1"),
    (r"^(?=a)\w+$", "ab", "b"),
    (r"^(?<x>a)\1$", "aa", "a"),
    (r"^\-\/\_$", "-/_", "x"),
    (r"^[\]\\]$", "]", "x"),
    (r"^\cA$", "\x01", "A"),
]


@pytest.mark.parametrize(("pattern", "valid", "invalid"), PATTERNS)
def test_a_pattern_of_javascript_is_translated(pattern: str, valid: str, invalid: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    tool = Tool.from_schema("find", "Find.", schema, echo)

    assert tool.execute(a=valid).success
    assert not tool.execute(a=invalid).success
    assert all(accepted_by_description(tool, each, {"a": valid}) for each in FORMATS)


@pytest.mark.parametrize(
    "pattern", ["^[a-z0-9_]+$", r"\d{4}-\d{2}", r"^\S+@\S+$", r"^(?:a|b)*?c+$", "", r"^[A-Za-z][\w.-]*$"]
)
def test_an_ordinary_pattern_stays_as_it_is(pattern: str) -> None:
    assert portable_pattern(pattern) == pattern


@pytest.mark.parametrize(
    "pattern", ["[", "(", "*", r"a\Z", "a{2,1}", "(?P<a", "(?<=a+)b(", "[b-a]", "\\", r"(a)?b\1", r"(a)|b\1", r"\1(a)"]
)
def test_an_unreadable_pattern_is_left_out_with_a_warning(pattern: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": pattern}},
        "patternProperties": {pattern: {"type": "integer"}},
        "additionalProperties": False,
    }
    with pytest.warns(UserWarning, match="find: the pattern .* cannot be read, and is left out"):
        tool = Tool.from_schema("find", "Find.", schema, echo)

    assert tool.execute(a="anything", b="may match it").success
    assert accepted_by_description(tool, "mcp", {"a": "anything", "b": "may match it"})
