"""Schemas whose size lets them be read in no time, and whose meaning would take all of a host's."""

from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc import Tool
from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.schema.imported.parameters import check_result_schema

_Schema = dict[str, Any]


def _chain(length: int, *, step: Callable[[_Schema], _Schema], end: _Schema) -> _Schema:
    """Return a schema whose root refers to the last of some definitions, each made from a reference to the next."""
    definitions = {"d0": end}
    for number in range(1, length):
        definitions[f"d{number}"] = step({"$ref": f"#/$defs/d{number - 1}"})
    return {"type": "object", "allOf": [{"$ref": f"#/$defs/d{length - 1}"}], "$defs": definitions}


def _echo(**arguments: object) -> dict[str, object]:
    return arguments


_X: _Schema = {"properties": {"x": {"type": "string"}}}
_ITSELF: _Schema = {"$ref": "#"}
_LOOPS: dict[str, _Schema] = {
    "anyOf": {"type": "object", **_X, "anyOf": [_ITSELF, {"properties": {"y": {}}}]},
    "oneOf of definitions": {
        "type": "object",
        "oneOf": [{"$ref": "#/$defs/a"}],
        "$defs": {"a": {**_X, "oneOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
    },
    "if": {"type": "object", **_X, "if": _ITSELF, "then": _ITSELF, "else": _ITSELF},
    "dependentSchemas": {"type": "object", **_X, "dependentSchemas": {"x": _ITSELF}},
    "allOf": {"type": "object", **_X, "allOf": [_ITSELF]},
    "of a property": {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"properties": {"z": {}}, "anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}},
    },
}


@pytest.mark.parametrize("loop", _LOOPS.values(), ids=_LOOPS)
def test_schema_that_applies_itself_can_be_called(loop: _Schema) -> None:
    tool = Tool.from_schema("t", "T.", loop, _echo)

    assert "x" in tool.signature
    assert tool.call({"x": "a"}) == {"x": "a"}
    for provider in ("openai", "anthropic", "gemini", "mcp"):
        tool.to_format(provider)


_DOUBLING: dict[str, _Schema] = {
    "allOf": _chain(60, step=lambda ref: {"allOf": [ref, ref]}, end=_X),
    "anyOf": _chain(60, step=lambda ref: {"anyOf": [ref, ref]}, end=_X),
    "oneOf and not": _chain(60, step=lambda ref: {"oneOf": [ref], "not": {"not": ref}}, end=_X),
    "conditions": _chain(60, step=lambda ref: {"if": ref, "then": ref, "else": ref}, end=_X),
    "dependentSchemas": _chain(60, step=lambda ref: {"dependentSchemas": {"x": ref}, "allOf": [ref]}, end=_X),
    "a long chain": _chain(5_000, step=lambda ref: {"anyOf": [ref]}, end=_X),
    "of a property": {
        **_chain(60, step=lambda ref: {"allOf": [ref, ref]}, end=_X),
        "allOf": [{"properties": {"x": {"$ref": "#/$defs/d59"}}}],
    },
    "of dynamic anchors": {
        "$id": "https://example.com/root",
        "type": "object",
        "properties": {"x": {"$ref": "r0"}},
        "$defs": {
            f"r{number}": {
                "$id": f"https://example.com/r{number}",
                "$defs": {"k": {"$dynamicAnchor": f"a{number}"}},
                "allOf": [{"$ref": f"r{other}"} for other in range(20) if other != number],
                "properties": {"p": {"$dynamicRef": f"#a{number}"}},
            }
            for number in range(20)
        },
    },
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("schema", _DOUBLING.values(), ids=_DOUBLING)
def test_schema_of_exponential_cost_is_refused(schema: _Schema) -> None:
    with pytest.raises(SchemaError, match=r"to one value|more than 20000 meanings"):
        Tool.from_schema("t", "T.", schema, _echo)


def test_branches_that_double_at_the_root_are_refused() -> None:
    schema = _chain(15, step=lambda ref: {"anyOf": [ref, ref]}, end=_X)

    with pytest.raises(SchemaError, match="more than 10,000 branches at the root"):
        Tool.from_schema("t", "T.", schema, _echo)


def test_properties_that_double_stay_callable() -> None:
    chain = _chain(40, step=lambda ref: {"type": "object", "properties": {"l": ref, "r": ref}}, end={})
    tool = Tool.from_schema("t", "T.", chain, _echo)

    assert tool.call({"l": {"r": {}}}) == {"l": {"r": {}}}


@pytest.mark.parametrize("count", [1_000, 20_000])
def test_many_conjuncts_of_one_property_are_merged_or_refused(count: int) -> None:
    conjuncts = [{"properties": {"x": {"minLength": length}}} for length in range(count)]
    schema = {"type": "object", "allOf": conjuncts}

    if count > 2_000:
        with pytest.raises(SchemaError, match="at most 2,000 schemas"):
            Tool.from_schema("t", "T.", schema, _echo)
    else:
        tool = Tool.from_schema("t", "T.", schema, _echo)
        assert tool.parameter_names == ("x",)


_MULTIPLYING: dict[str, Callable[[_Schema], _Schema]] = {
    "allOf": lambda ref: {"allOf": [{"properties": {"a": ref}}, {"properties": {"a": ref}, "minProperties": 1}]},
    "anyOf": lambda ref: {"anyOf": [{"properties": {"a": ref}}, {"properties": {"a": ref}, "required": ["a"]}]},
    "if": lambda ref: {"if": {"properties": {"a": ref}}, "then": {"properties": {"a": ref}}},
    "not": lambda ref: {"properties": {"a": ref}, "not": {"required": ["a"], "properties": {"a": {"not": ref}}}},
    "patternProperties": lambda ref: {"properties": {"a": ref}, "patternProperties": {"^a": ref, "a$": ref}},
    "dependentSchemas": lambda ref: {"properties": {"a": ref}, "dependentSchemas": {"a": {"properties": {"a": ref}}}},
    "contains": lambda ref: {"items": ref, "contains": ref},
}


@pytest.mark.parametrize("end", [1, "x"])
@pytest.mark.parametrize("keyword", _MULTIPLYING)
def test_schemas_that_multiply_with_the_value_are_not_tried(keyword: str, end: object) -> None:
    step = _MULTIPLYING[keyword]
    schema: _Schema = {"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}}
    schema["$defs"] = {f"d{at}": step({"$ref": f"#/$defs/d{at + 1}"}) for at in range(40)}
    schema["$defs"]["d40"] = {"type": "integer"}
    tool = Tool.from_schema("t", "T.", schema, _echo)
    value: object = end
    for _ in range(40):
        value = [value] if keyword == "contains" else {"a": value}

    with pytest.raises(ArgumentsError, match=r"or take too long to check|too many values"):
        tool.call({"v": value})


def test_recursive_union_takes_values_of_some_depth() -> None:
    kinds = ["add", "sub", "mul", "div", "neg"]
    node: _Schema = {
        "oneOf": [
            {"type": "integer"},
            *(
                {
                    "type": "object",
                    "properties": {"kind": {"const": kind}, "a": {"$ref": "#/$defs/n"}},
                    "required": ["kind"],
                }
                for kind in kinds
            ),
        ]
    }
    tool = Tool.from_schema("t", "T.", {"properties": {"v": {"$ref": "#/$defs/n"}}, "$defs": {"n": node}}, _echo)
    value: object = 1
    for _ in range(40):
        value = {"kind": "neg", "a": value}

    assert tool.call({"v": value}) == {"v": value}


def _document() -> _Schema:
    """Return the schema of a document of twelve kinds of blocks, which contain each other."""
    definitions: _Schema = {"block": {"oneOf": [{"$ref": f"#/$defs/k{number}"} for number in range(12)]}}
    for number in range(12):
        definitions[f"k{number}"] = {
            "type": "object",
            "properties": {
                "kind": {"const": f"k{number}"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/block"}},
            },
            "required": ["kind"],
        }
    return {"type": "object", "properties": {"v": {"$ref": "#/$defs/block"}}, "$defs": definitions}


def _nested(end: _Schema) -> _Schema:
    value = end
    for number in range(30):
        value = {"kind": f"k{number % 12}", "children": [value, {"kind": "k0"}]}
    return value


def test_kinds_that_contain_each_other_take_deep_values() -> None:
    tool = Tool.from_schema("t", "T.", _document(), _echo)
    value = _nested({"kind": "k11"})

    assert tool.call({"v": value}) == {"v": value}
    with pytest.raises(ArgumentsError):
        tool.call({"v": _nested({"kind": "none of them"})})


def test_results_of_kinds_that_contain_each_other_are_checked() -> None:
    find_problem = check_result_schema("t", _document())

    assert find_problem({"v": _nested({"kind": "k11"})}) is None
    assert find_problem({"v": _nested({"kind": "none of them"})}) is not None


@pytest.mark.security
def test_enumerations_and_patterns_have_a_number() -> None:
    many = {"enum": [f"v{number}" for number in range(30_000)]}
    assert Tool.from_schema("t", "T.", {"properties": {"a": many}}, _echo).call({"a": "v7"}) == {"a": "v7"}
    with pytest.raises(SchemaError, match="at most 50,000 values"):
        Tool.from_schema("t", "T.", {"properties": {"a": many, "b": many}}, _echo)
    with pytest.raises(SchemaError, match="at most 1,000 patterns"):
        Tool.from_schema("t", "T.", {"properties": {f"p{n}": {"pattern": f"[\\w-.]{n}"} for n in range(1_001)}}, _echo)
