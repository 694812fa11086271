"""Tools with schemas as servers and generators write them: what the schema allows is described, shown and accepted."""

import inspect
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ez_ptc.errors import ArgumentsError
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.tool import Tool
from tests.schema.suite.measure import FORMATS, accepted_by_description, described, echo

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}

BRANCHES: list[tuple[Schema, dict[str, Any], dict[str, Any]]] = [
    (
        {
            "properties": {"kind": TEXT},
            "oneOf": [
                {"properties": {"kind": {"const": "a"}, "x": NUMBER}, "required": ["x"]},
                {"properties": {"kind": {"const": "b"}, "y": TEXT}, "required": ["y"]},
            ],
        },
        {"kind": "a", "x": 1},
        {"kind": "a", "x": "one"},
    ),
    (
        {"properties": {"id": TEXT}, "allOf": [{"properties": {"limit": NUMBER}}]},
        {"id": "q", "limit": 3},
        {"limit": "three"},
    ),
    (
        {
            "properties": {"kind": {"enum": ["a", "b"]}},
            "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
            "then": {"properties": {"x": NUMBER}, "required": ["x"]},
            "else": {"properties": {"y": TEXT}},
        },
        {"kind": "a", "x": 1},
        {"kind": "a", "y": "x"},
    ),
    (
        {"properties": {"id": TEXT}, "$ref": "#/$defs/Page", "$defs": {"Page": {"properties": {"limit": NUMBER}}}},
        {"id": "q", "limit": 3},
        {"id": "q", "limit": "three"},
    ),
    (
        {
            "properties": {"card": TEXT},
            "dependentSchemas": {"card": {"properties": {"cvc": TEXT}, "required": ["cvc"]}},
        },
        {"card": "4", "cvc": "1"},
        {"card": "4"},
    ),
    (
        {"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"card": {"properties": {"cvc": TEXT}}}},
        {"card": "4", "cvc": "1"},
        {"card": "4", "cvc": 1},
    ),
    (
        {"properties": {"q": TEXT}, "anyOf": [{"properties": {"u": TEXT}, "required": ["u"]}, {"required": ["team"]}]},
        {"q": "x", "u": "u"},
        {"q": "x"},
    ),
    (
        {
            "allOf": [{"anyOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": NUMBER}}]}],
            "$defs": {"A": {"properties": {"a": TEXT}}},
        },
        {"a": "x", "b": 1},
        {"a": 1, "b": "x"},
    ),
]


def is_named(arguments: Mapping[str, Any], schema: Schema) -> bool:
    """Return whether a description names arguments: among its properties, or in branches, which MCP's schemas keep."""
    known = set(schema.get("properties", {}))
    is_whole = not {"allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas"}.isdisjoint(schema)
    return set(arguments) <= known or (is_whole and all(f'"{name}"' in json.dumps(schema) for name in arguments))


@pytest.mark.parametrize(("schema", "valid", "invalid"), BRANCHES)
def test_arguments_that_only_a_branch_names_are_understood(schema: Schema, valid: Schema, invalid: Schema) -> None:
    tool = Tool.from_schema("find", "Find.", {"type": "object", **schema}, echo)

    assert tool.execute(**valid).output == valid
    assert not tool.execute(**invalid).success
    assert all(f"{name}: " in tool.signature for name in valid)
    assert set(valid) <= set(inspect.signature(tool).parameters)
    for name in FORMATS:
        assert is_named(valid, described(tool, name))
        assert accepted_by_description(tool, name, valid) or tool.lowered(name)


@pytest.mark.parametrize("schema", [schema for schema, _, _ in BRANCHES])
def test_descriptions_of_branches_reach_the_prompt(schema: Schema) -> None:
    words = json.loads(json.dumps(schema).replace('"type": "integer"', '"type": "integer", "description": "A count."'))
    with Toolkit([Tool.from_schema("find", "Find.", {"type": "object", **words}, echo)]) as toolkit:
        prompt = toolkit.prompt()
    assert ("A count." in prompt) == ("A count." in json.dumps(words))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"allOf": [{"type": "object", "properties": {"x": TEXT}}, {"properties": {"y": NUMBER}}]}, "{x: str, y: int}"),
        (
            {"properties": {"x": TEXT, "y": NUMBER}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
            "{x: str, y: int}",
        ),
        ({"type": "object", "properties": {"x": TEXT}, "$ref": "#/$defs/P"}, "{x?: str, limit: int}"),
        ({"type": "array", "items": {"allOf": [{"$ref": "#/$defs/P"}]}}, "list[{limit: int}]"),
        ({"type": ["object", "null"], "properties": {"x": TEXT}}, "{x: str} | None"),
        ({"type": "string", "anyOf": [{"const": "a"}, {"enum": ["b", "c"]}]}, "'a' | 'b' | 'c'"),
        ({"allOf": [{"$ref": "#/$defs/Tree"}]}, "{left: Tree}"),
    ],
)
def test_parts_that_hold_together_are_one_type(schema: Schema, text: str) -> None:
    definitions = {
        "P": {"type": "object", "properties": {"limit": NUMBER}, "required": ["limit"]},
        "Tree": {"type": "object", "properties": {"left": {"allOf": [{"$ref": "#/$defs/Tree"}]}}},
    }
    parameters = {"type": "object", "properties": {"a": schema}, "required": ["a"], "$defs": definitions}
    assert Tool.from_schema("find", "Find.", parameters, echo).signature == f"find(a: {text})"


@pytest.mark.parametrize("types", [["object", "null"], ["null", "object", "array"]])
def test_root_that_may_be_null_is_an_object(types: list[str]) -> None:
    tool = Tool.from_schema("find", "Find.", {"type": types, "properties": {"a": TEXT}}, echo)
    assert tool.execute(a="x").output == {"a": "x"}
    assert [described(tool, name)["type"] for name in FORMATS] == ["object"] * len(FORMATS)


@pytest.mark.parametrize(
    ("branches", "valid", "invalid"),
    [
        ([{**TEXT, "format": "date"}, {**TEXT, "format": "email"}], ["2024-05-06", "a@b.com"], ["neither", 3]),
        ([{**NUMBER, "format": "int32"}, {**NUMBER, "format": "int64"}], [5], ["5"]),
        ([{**TEXT, "format": "uuid"}, TEXT, {"type": "null"}], ["any", None], [3]),
        ([{"$ref": "#/$defs/D"}, {"$ref": "#/$defs/T"}], ["2024-05-06", "2024-05-06T07:08:09Z"], ["neither"]),
    ],
)
def test_branches_that_differ_by_format_are_alternatives(
    branches: list[Schema], valid: list[Any], invalid: list[Any]
) -> None:
    definitions = {"D": {**TEXT, "format": "date"}, "T": {**TEXT, "format": "date-time"}}
    schema = {"type": "object", "properties": {"a": {"oneOf": branches}}, "$defs": definitions, "required": ["a"]}
    tool = Tool.from_schema("find", "Find.", schema, echo)
    assert [tool.execute(a=value).output for value in valid] == [{"a": value} for value in valid]
    assert not any(tool.execute(a=value).success for value in invalid)
    assert all(accepted_by_description(tool, name, {"a": value}) for name in FORMATS for value in valid)


@pytest.mark.parametrize(
    "labels",
    [
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "patternProperties": {"^[a-z]+$": TEXT}},
        {"allOf": [{"type": "object", "additionalProperties": TEXT}]},
        {"$ref": "#/$defs/Labels"},
        {"type": "object", "properties": {"other": NUMBER}, "additionalProperties": {"$ref": "#/$defs/Text"}},
    ],
)
def test_null_for_a_key_of_a_map_is_never_left_out(labels: Schema) -> None:
    definitions = {"Labels": {"type": "object", "additionalProperties": TEXT}, "Text": TEXT}
    schema = {"type": "object", "properties": {"labels": labels}, "$defs": definitions}
    tool = Tool.from_schema("patch", "Patch.", schema, echo)
    with pytest.raises(ArgumentsError, match=r"'labels.env' must be .*str.*, got None"):
        tool.call({"labels": {"env": None, "team": "x"}})


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (NUMBER, "5", 5),
        (NUMBER, "5.0", 5.0),
        ({"type": "number"}, " -1.5e3", -1500.0),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "False", False),
        ({"anyOf": [NUMBER, {"type": "null"}]}, "7", 7),
        ({"type": ["integer", "null"]}, "7", 7),
        ({"$ref": "#/$defs/Size"}, "2", 2),
        ({**NUMBER, "enum": [1, 2]}, "2", 2),
        ({"type": "array", "items": NUMBER}, ["1", 2], [1, 2]),
        ({"type": "object", "properties": {"size": NUMBER}}, {"size": "1"}, {"size": 1}),
    ],
)
def test_text_of_a_number_or_boolean_is_read_where_one_is_wanted(schema: Schema, text: object, value: object) -> None:
    root = {"type": "object", "properties": {"a": schema}, "$defs": {"Size": {**NUMBER, "maximum": 9}}}
    tool = Tool.from_schema("find", "Find.", root, echo)
    result = tool.execute(a=text)

    assert repr(result.output) == repr({"a": value})
    assert "JSON text" in str(result.repairs)
    with Toolkit([tool]) as toolkit:
        assert toolkit.execute(f"find(a={text!r})['a']").return_value == value


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        *((NUMBER, text) for text in ("", "five", "5.5", "true", "null", "0x1", "1_0", "1e999", "NaN", '"5"', "1,5")),
        *(({"type": "boolean"}, text) for text in ("1", "0", "yes", "null", "")),
        ({**NUMBER, "maximum": 3}, "5"),
        ({"type": ["integer", "null"]}, "null"),
        ({"type": "null"}, "null"),
        ({"type": "object"}, "5"),
    ],
)
def test_other_text_is_no_number_or_boolean(schema: Schema, text: str) -> None:
    tool = Tool.from_schema("find", "Find.", {"type": "object", "properties": {"a": schema}}, echo)
    with pytest.raises(ArgumentsError, match="find: 'a' "):
        tool.call({"a": text})


@pytest.mark.parametrize("schema", [TEXT, {"type": ["string", "integer"]}, {"anyOf": [NUMBER, TEXT]}, {}])
def test_text_stays_text_where_it_is_allowed(schema: Schema) -> None:
    tool = Tool.from_schema("find", "Find.", {"type": "object", "properties": {"a": schema}}, echo)
    for text in ("5", "true", "[1]"):
        result = tool.execute(a=text)
        assert (result.output, result.repairs) == ({"a": text}, ())


@pytest.mark.parametrize(
    ("schema", "arguments", "problem"),
    [
        (
            {"properties": {"a": {"type": "array", "items": {"anyOf": [NUMBER, TEXT]}}}},
            {"a": [True]},
            "'a[0]' must be int | str",
        ),
        (
            {"properties": {"a": {"properties": {"b": {"oneOf": [NUMBER, TEXT]}}}}},
            {"a": {"b": []}},
            "'a.b' must be int | str",
        ),
        (
            {"additionalProperties": {"anyOf": [{"$ref": "#/$defs/Page"}, TEXT]}},
            {"a": 1},
            "'a' must be {limit: int} | str",
        ),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}]}, {"c": 1}, "must be one of these sets: a; or b, c"),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 1},
            "must be one of these sets: a; or b, and fits 2 of these where only one may fit",
        ),
    ],
)
def test_refusal_names_the_alternatives(schema: Schema, arguments: Schema, problem: str) -> None:
    page = {"type": "object", "properties": {"limit": NUMBER}}
    tool = Tool.from_schema("find", "Find.", {"type": "object", **schema, "$defs": {"Page": page}}, echo)
    with pytest.raises(ArgumentsError) as caught:
        tool.call(arguments)
    assert problem in str(caught.value)


def test_null_for_a_key_of_a_map_is_passed_where_allowed() -> None:
    schema = {"type": "object", "properties": {"labels": {"additionalProperties": {"type": ["string", "null"]}}}}
    tool = Tool.from_schema("patch", "Patch.", schema, echo)
    assert tool.execute(labels={"env": None}).output == {"labels": {"env": None}}


def only_limit(limit: int | None = None, page: dict[str, int] | None = None) -> None:
    """Take two arguments."""


OPEN: Schema = {
    "type": "object",
    "properties": {"limit": NUMBER, "page": {"type": "object", "properties": {"size": NUMBER}}},
}


def test_open_schema_takes_other_arguments_with_a_note() -> None:
    tool = Tool.from_schema("find", "Find.", OPEN, echo)
    result = tool.execute(lmit=3, colour="red")
    assert (result.output, result.repairs) == (
        {"lmit": 3, "colour": "red"},
        ("unknown argument 'lmit' (did you mean 'limit'?)",),
    )


@pytest.mark.parametrize(
    ("schema", "function"),
    [
        ({**OPEN, "additionalProperties": False}, echo),
        ({**OPEN, "unevaluatedProperties": False}, echo),
        (OPEN, only_limit),
    ],
)
def test_closed_schema_refuses_other_arguments(schema: Schema, function: Any) -> None:  # noqa: ANN401 - any function
    tool = Tool.from_schema("find", "Find.", schema, function)
    with pytest.raises(ArgumentsError, match=r"unknown argument 'lmit' \(did you mean 'limit'\?\)"):
        tool.call({"lmit": 3})


def test_programs_are_told_of_changed_calls_once_a_kind() -> None:
    with Toolkit([Tool.from_schema("find", "Find.", OPEN, echo)]) as toolkit:
        program = "for number in range(3):\n    print(find(page={'size': None}), find(lmit=number))"
        result = toolkit.execute(program)
        text = toolkit.answer(program, result)
        failed = toolkit.execute(f"{program}\n1 / 0")
    notes = [
        "[find: 'page.size' was null and is left out.]",
        "[find: unknown argument 'lmit' (did you mean 'limit'?).]",
    ]
    assert result.notes == failed.notes == notes
    assert text.endswith("\n".join(notes))
    assert result.to_string().endswith("\n".join(notes))
    assert toolkit.answer(program, failed).count("was null and is left out") == 1


# Schemas with branches at the root, each with an instance that it allows.

NAMES = ["a", "b", "c", "d", "e"]
LEAVES: list[tuple[Schema, Any]] = [(TEXT, "x"), (NUMBER, 3), ({"type": "boolean"}, True), ({"enum": ["u", "v"]}, "v")]
Pair = tuple[Schema, dict[str, Any]]


@st.composite
def objects(draw: st.DrawFn) -> Pair:
    fields = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(range(len(LEAVES))), max_size=3))
    # A name has one type wherever it stands, so that parts of a pair never contradict each other.
    chosen = {name: LEAVES[NAMES.index(name) % len(LEAVES)] for name in fields}
    required = draw(st.lists(st.sampled_from(sorted(chosen)), unique=True)) if chosen else []
    schema: Schema = {"properties": {name: leaf for name, (leaf, _) in chosen.items()}}
    if required:
        schema["required"] = required
    return schema, {name: value for name, (_, value) in chosen.items()}


def joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, **other}


@st.composite
def roots(draw: st.DrawFn) -> Pair:
    schema, instance = draw(objects())
    for keyword in draw(
        st.lists(st.sampled_from(["allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas"]), unique=True)
    ):
        branch, more = draw(objects())
        if keyword == "oneOf":  # exactly one branch fits: the other asks for what the instance does not have
            schema = {**schema, "oneOf": [branch, {"required": ["absent"]}]}
        elif keyword in ("allOf", "anyOf"):
            schema = {**schema, keyword: [branch, *([{"type": "array"}] if keyword == "anyOf" else [])]}
        elif keyword == "$ref":
            schema = {**schema, "$ref": "#/$defs/Branch", "$defs": {"Branch": branch}}
        elif keyword == "if":
            schema = {**schema, "if": {"required": ["mode"]}, "else": branch}
        elif instance:
            schema = {**schema, "dependentSchemas": {next(iter(instance)): branch}}
        else:
            continue
        instance = joined(instance, more)
    return {"type": "object", **schema}, instance


ONE: Schema = {"properties": {"b": NUMBER}}
BOTH = {"a": "x", "b": 3}


# Each keyword alone, since few random pairs have a name that only one keyword gives.
@example(pair=({"type": "object", "properties": {"a": TEXT}, "dependentSchemas": {"a": ONE}}, BOTH))
@example(pair=({"type": "object", "properties": {"a": TEXT}, "allOf": [ONE]}, BOTH))
@example(pair=({"type": "object", "properties": {"a": TEXT}, "anyOf": [ONE, {"type": "array"}]}, BOTH))
@example(pair=({"type": "object", "properties": {"a": TEXT}, "oneOf": [ONE, {"required": ["absent"]}]}, BOTH))
@example(pair=({"type": "object", "properties": {"a": TEXT}, "$ref": "#/$defs/One", "$defs": {"One": ONE}}, BOTH))
@example(pair=({"type": "object", "properties": {"a": TEXT}, "if": {"required": ["a"]}, "then": ONE}, BOTH))
@example(pair=({"type": "object", "properties": {"a": TEXT}, "if": {"required": ["c"]}, "else": ONE}, BOTH))
@given(pair=roots())
def test_every_argument_of_a_valid_instance_is_shown(pair: Pair) -> None:
    schema, instance = pair
    tool = Tool.from_schema("find", "Find.", schema, echo)
    assert tool.call(instance) == instance
    shown = inspect.signature(tool).parameters
    assert all(name in shown and f"{name}: " in tool.signature for name in instance)
    for name in FORMATS:
        assert accepted_by_description(tool, name, instance) or tool.lowered(name)
        assert is_named(instance, described(tool, name))
