"""References of every kind lead to one target, in calls and in descriptions."""

from typing import Any

import pytest

from ez_ptc.errors import SchemaError
from ez_ptc.schema.standard.form import standard_form
from ez_ptc.schema.standard.references import join_address
from ez_ptc.tools.tool import Tool
from tests.schema.suite.measure import FORMATS, accepted_by_description, echo

Schema = dict[str, Any]
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
TEXT: Schema = {"type": "string"}
ADDRESS: Schema = {
    "$id": "https://a.example/address.json",
    "type": "object",
    "properties": {"street": {"$ref": "#/$defs/line"}},
    "$defs": {"line": TEXT},
}
LIST: Schema = {
    "$id": "https://a.example/list",
    "type": "array",
    "items": {"$dynamicRef": "#item"},
    "$defs": {"item": {"$dynamicAnchor": "item"}},
}
TREE: Schema = {
    "$schema": DRAFT_2019,
    "$id": "https://a.example/tree",
    "$recursiveAnchor": True,
    "type": "object",
    "properties": {"leaf": {"type": "integer"}, "inner": {"$recursiveRef": "#"}},
}


def an_object(**properties: object) -> Schema:
    return {"type": "object", "properties": properties}


CASES: dict[str, tuple[Schema, Schema, Schema]] = {
    "below an embedded address": (an_object(to=ADDRESS), {"to": {"street": "x"}}, {"to": {"street": 1}}),
    "the same name at the root": (
        {**an_object(to=ADDRESS, n={"$ref": "#/$defs/line"}), "$defs": {"line": {"type": "integer"}}},
        {"to": {"street": "x"}, "n": 1},
        {"to": {"street": "x"}, "n": "x"},
    ),
    "one schema twice, below two addresses": (
        an_object(
            a={"$id": "urn:a", "allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": TEXT}},
            b={"$id": "urn:b", "allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"type": "integer"}}},
        ),
        {"a": "x", "b": 1},
        {"a": "x", "b": "x"},
    ),
    "an absolute reference to a relative address": (
        {
            "$id": "https://a.example/dir/root.json",
            **an_object(a={"$ref": "https://a.example/dir/text.json"}, b={"$ref": "../dir/./text.json#/anyOf/0"}),
            "$defs": {"t": {"$id": "text.json", "anyOf": [TEXT]}},
        },
        {"a": "x", "b": "x"},
        {"a": "x", "b": 1},
    ),
    "a relative address at the root": (
        {
            "$id": "dir/root.json",
            **an_object(a={"$ref": "#/$defs/t"}, b={"$ref": "root.json#/$defs/t"}),
            "$defs": {"t": TEXT},
        },
        {"a": "x", "b": "x"},
        {"b": 1},
    ),
    "characters that an address must escape": (
        {
            **an_object(
                a={"$ref": "#/$defs/Map<String, int>"}, b={"$ref": "#/$defs/a%25b%22"}, c={"$ref": "#/$defs/~1~0"}
            ),
            "$defs": {"Map<String, int>": TEXT, 'a%b"': TEXT, "/~": TEXT},
        },
        {"a": "x", "b": "x", "c": "x"},
        {"a": 1},
    ),
    "an anchor below an address": (
        {
            **an_object(a={"$ref": "urn:x#here"}),
            "$defs": {"x": {"$id": "urn:x", "$defs": {"y": {"$anchor": "here", **TEXT}}}, "z": {"$anchor": "here"}},
        },
        {"a": "x"},
        {"a": 1},
    ),
    "the address of draft 4, and no property of that name": (
        {
            "$schema": DRAFT_4,
            **an_object(id={"$ref": "#text"}, other={"$ref": "text.json"}),
            "definitions": {"t": {"id": "#text", **TEXT}, "u": {"id": "text.json", **TEXT}, "v": {"$id": "x"}},
        },
        {"id": "x", "other": "y"},
        {"id": 1},
    ),
    "no keyword beside a reference in draft 7": (
        {
            "$schema": DRAFT_7,
            **an_object(a={"$ref": "#/definitions/t", "maxLength": 1, "$id": "urn:x"}),
            "definitions": {"t": TEXT},
        },
        {"a": "long"},
        {"a": 1},
    ),
    "a dynamic anchor of the outermost schema": (
        {
            **an_object(a={"$ref": "https://a.example/list"}),
            "$defs": {"list": LIST, "mine": {"$dynamicAnchor": "item", **TEXT}},
        },
        {"a": ["x"]},
        {"a": [1]},
    ),
    "two meanings of a dynamic reference": (
        {
            **an_object(a={"$ref": "urn:texts"}, b={"$ref": "urn:numbers"}),
            "$defs": {
                "list": LIST,
                "t": {
                    "$id": "urn:texts",
                    "$ref": "https://a.example/list",
                    "$defs": {"i": {"$dynamicAnchor": "item", **TEXT}},
                },
                "n": {
                    "$id": "urn:numbers",
                    "$ref": "https://a.example/list",
                    "$defs": {"i": {"$dynamicAnchor": "item", "type": "integer"}},
                },
            },
        },
        {"a": ["x"], "b": [1]},
        {"a": ["x"], "b": ["x"]},
    ),
    "a recursive reference of draft 2019-09": (
        an_object(tree=TREE),
        {"tree": {"inner": {"inner": {"leaf": 1}}}},
        {"tree": {"inner": {"inner": {"leaf": "x"}}}},
    ),
    "a meta-schema": (
        an_object(
            a={"$ref": DRAFT_7}, b={"$ref": "http://json-schema.org/draft-04/schema#/definitions/positiveInteger"}
        ),
        {"a": {"type": "string"}, "b": 1},
        {"a": {"type": "text"}},
    ),
    "the newest meta-schema, by its dynamic references": (
        an_object(a={"$ref": "https://json-schema.org/draft/2020-12/schema"}),
        {"a": {"properties": {"x": {"type": "string"}}}},
        {"a": {"properties": {"x": {"type": "text"}}}},
    ),
    "the root, whose type is free": (
        {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"a": 1},
        {"a": {"b": 1}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_reference_means_the_same_everywhere(name: str) -> None:
    schema, valid, invalid = CASES[name]
    tool = Tool.from_schema("send", "Send.", schema, echo)

    assert tool.execute(**valid).output == valid
    assert [accepted_by_description(tool, each, valid) for each in FORMATS] == [True] * len(FORMATS)
    assert not tool.execute(**invalid).success
    assert not accepted_by_description(tool, "mcp", invalid)


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        (
            an_object(a={"$ref": "https://a.example/b.json"}),
            "'https://a.example/b.json' leads out of the schema, and nothing is",
        ),
        (an_object(a={"$id": "urn:x", "$ref": "#/$defs/t"}), "'#/\\$defs/t' leads nowhere"),
        (
            {"$schema": "https://a.example/own", **an_object()},
            "'https://a.example/own' is a meta-schema with a vocabulary",
        ),
        ({"$schema": 3, **an_object()}, "a \\$schema is text, got 3"),
        (an_object(a={"$ref": "https://json-schema.org/draft/2077-01/schema"}), "leads out of the schema"),
    ],
)
def test_a_reference_out_of_the_schema_is_named(schema: Schema, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        Tool.from_schema("send", "Send.", schema, echo)


@pytest.mark.parametrize("name", ["http://json-schema.org/schema#", "https://json-schema.org/draft-03/schema", "", "#"])
def test_other_names_of_drafts_leave_all_keywords(name: str) -> None:
    schema = {"$schema": name, "items": [TEXT], "exclusiveMinimum": True, "minimum": 1}
    assert standard_form("send", schema) == {"prefixItems": [TEXT], "exclusiveMinimum": 1}


@pytest.mark.parametrize(
    ("base", "reference", "address"),
    [  # RFC 3986, section 5.4
        ("http://a/b/c/d;p?q", "g:h", "g:h"),
        ("http://a/b/c/d;p?q", "g", "http://a/b/c/g"),
        ("http://a/b/c/d;p?q", "./g", "http://a/b/c/g"),
        ("http://a/b/c/d;p?q", "/g", "http://a/g"),
        ("http://a/b/c/d;p?q", "//g", "http://g"),
        ("http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"),
        ("http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y"),
        ("http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"),
        ("http://a/b/c/d;p?q", "..", "http://a/b/"),
        ("http://a/b/c/d;p?q", "../../g", "http://a/g"),
        ("http://a/b/c/d;p?q", "../../../g", "http://a/g"),
        ("http://a/b/c/d;p?q", "/./g", "http://a/g"),
        ("http://a/b/c/d;p?q", "g.", "http://a/b/c/g."),
        ("http://a/b/c/d;p?q", "./g/.", "http://a/b/c/g/"),
        ("http://a", "g", "http://a/g"),
        ("urn:a:b", "", "urn:a:b"),
        ("", "a/b", "a/b"),
        ("a/b", "c", "a/c"),
    ],
)
def test_relative_addresses_are_joined_as_the_standard_says(base: str, reference: str, address: str) -> None:
    assert join_address(base, reference) == address
