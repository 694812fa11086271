"""What strict modes are told, what they are told in words, and what they refuse."""

from typing import Any

import pytest

from ez_ptc.errors import SchemaError
from ez_ptc.formats.anthropic import tools as anthropic
from ez_ptc.formats.lowering.strict import ANTHROPIC, strict
from ez_ptc.formats.mistral import tools as mistral
from ez_ptc.formats.openai_chat import tools as openai
from ez_ptc.formats.openai_responses import tools as responses
from tests.formats.refusals import refusals
from tests.formats.shapes import NODE, Described, an_object

Schema = dict[str, Any]


def properties(schema: Schema, **options: Any) -> Schema:
    return strict("brew", schema, **options)["properties"]


def test_every_property_is_required_and_optional_ones_nullable() -> None:
    schema = strict(
        "brew", an_object(["a"], a={"type": "string"}, b={"type": "integer", "description": "Why.", "default": 3})
    )

    assert schema == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "Why. Default: 3."},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }


def test_annotations_of_a_union_keep_their_order() -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "null"}]}

    first = properties(an_object(a={**union, "default": "x", "examples": ["y"]}))
    second = properties(an_object(a={**union, "examples": ["y"], "default": "x"}))

    assert first["a"]["description"] == 'Default: "x". For example: "y".'
    assert second["a"]["description"] == 'For example: "y". Default: "x".'


def test_nullable_property_gets_no_second_null() -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "null"}]}

    assert properties(an_object([], a=union, b={"type": "null"}))["a"] == union
    assert properties(an_object([], b={"type": "null"}))["b"] == {"type": "null"}


def test_a_nested_optional_property_may_be_null_too() -> None:
    schema = properties(an_object(a={"type": "array", "items": an_object([], b={"type": "string"})}))

    assert schema["a"]["items"]["properties"]["b"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert schema["a"]["items"]["required"] == ["b"]


def test_reference_has_no_siblings() -> None:
    schema = strict(
        "brew",
        {
            "$defs": {"Node": NODE},
            **an_object(
                ["a", "b"],
                a={"$ref": "#/$defs/Node"},
                b={"$ref": "#/$defs/Node", "description": "B."},
                c={"$ref": "#/$defs/Node"},
            ),
        },
    )

    assert schema["properties"] == {
        "a": {"$ref": "#/$defs/Node"},
        "b": {"anyOf": [{"$ref": "#/$defs/Node"}], "description": "B."},
        "c": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
    }
    assert schema["$defs"]["Node"]["required"] == ["value", "next"]


@pytest.mark.parametrize(
    ("keywords", "kept", "told"),
    [
        ({"type": "string", "minLength": 2}, {}, "At least 2 characters."),
        ({"type": "string", "format": "date"}, {"format": "date"}, None),
        ({"type": "string", "format": "password"}, {}, "Format: password."),
        ({"type": "string", "pattern": "^a+$"}, {"pattern": "^a+$"}, None),
        ({"type": "string", "pattern": "^(?!a)"}, {}, "Matches the regular expression ^(?!a)"),
        ({"type": "string", "contentEncoding": "base64"}, {}, "Encoded as base64."),
        ({"type": "integer", "minimum": 1, "multipleOf": 2}, {"minimum": 1, "multipleOf": 2}, None),
        ({"type": "boolean", "default": True}, {}, "Default: true."),
        ({"type": "string", "examples": ["x", "y"]}, {}, 'For example: "x", "y".'),
        ({"type": "string", "not": {"const": "x"}}, {}, 'Further rules, as JSON Schema: {"not": {"const": "x"}}'),
        ({"type": "string", "description": "D.", "maxLength": 3}, {}, "D. At most 3 characters."),
    ],
)
def test_unsupported_keyword_becomes_a_sentence(keywords: Schema, kept: Schema, told: str | None) -> None:
    expected = {"type": keywords["type"], **kept, **({"description": told} if told else {})}

    assert properties(an_object(a=keywords)) == {"a": expected}


@pytest.mark.parametrize(
    ("keywords", "kept", "told"),
    [
        ({"type": "string", "format": "uri"}, {"format": "uri"}, None),
        ({"type": "string", "pattern": "^a+$"}, {}, "Matches the regular expression ^a+$"),
        ({"type": "integer", "minimum": 1}, {}, "At least 1."),
        ({"type": "array", "items": {"type": "null"}, "minItems": 1}, {"items": {"type": "null"}, "minItems": 1}, None),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2}, {"items": {"type": "null"}}, "At least 2 items."),
    ],
)
def test_anthropic_gets_more_sentences(keywords: Schema, kept: Schema, told: str | None) -> None:
    expected = {"type": keywords["type"], **kept, **({"description": told} if told else {})}

    assert properties(an_object(a=keywords), rules=ANTHROPIC) == {"a": expected}


def test_tuple_becomes_list_with_described_order() -> None:
    schema = properties(
        an_object(
            a={
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string", "description": "Name."}],
                "minItems": 2,
                "maxItems": 2,
            }
        )
    )

    assert schema["a"]["items"] == {"anyOf": [{"type": "integer"}, {"type": "string", "description": "Name."}]}
    assert schema["a"]["description"] == "The items in order: integer, string (Name)."
    assert (schema["a"]["minItems"], schema["a"]["maxItems"]) == (2, 2)


def test_all_of_is_merged() -> None:
    definitions = {"A": an_object(x={"type": "string"})}
    both = {
        "allOf": [
            {"$ref": "#/$defs/A"},
            an_object(y={"type": "integer", "minimum": 1}),
            {"properties": {"y": {"minimum": 3}}},
        ]
    }

    assert properties({"$defs": definitions, **an_object(a=both)})["a"] == {
        "type": "object",
        "properties": {"x": {"type": "string"}, "y": {"type": "integer", "minimum": 3}},
        "required": ["x", "y"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        (
            an_object(a={"type": "object"}),
            r"^brew: parameter 'a' is an object with any keys \(additionalProperties\).*TypedDict",
        ),
        (
            an_object(a={"type": "object", "additionalProperties": {"type": "string"}}),
            "TypedDict or a dataclass, or use strict=False",
        ),
        (an_object(a={}), r"parameter 'a' is of any type, .* 'type': annotate what it is, or use strict=False"),
        (an_object(a={"type": "array"}), r"parameter 'a\[\]' is of any type \('items'\).*list\[str\]"),
        (an_object(a={"type": "array", "items": an_object(b={})}), r"parameter 'a\[\].b'"),
        (an_object(a={"anyOf": [{"type": "null"}, {"type": "object"}]}), "parameter 'a' is an object with any keys"),
        ({"type": "object", "additionalProperties": True}, "brew: its parameters are an object with any keys"),
    ],
)
def test_inexpressible_schema_is_refused_with_advice(schema: Schema, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        strict("brew", schema)


def test_an_object_that_names_its_keys_takes_no_others() -> None:
    open_object = {**an_object(x={"type": "string"}), "additionalProperties": True}

    assert properties(an_object(a=open_object))["a"]["additionalProperties"] is False


def test_anthropic_refuses_recursive_schemas() -> None:
    recursive = {"$defs": {"Node": NODE}, **an_object(n={"$ref": "#/$defs/Node"})}

    with pytest.raises(SchemaError, match=r"brew: its schema contains itself \(\$ref to 'Node'\).*strict=False"):
        anthropic.describe(Described("brew", recursive), strict=True)
    assert openai.describe(Described("brew", recursive), strict=True)["function"]["strict"] is True


def test_anthropic_keeps_parameters_optional_above_union_limit() -> None:
    def optional(count: int) -> Schema:
        return an_object([], **{f"p{at}": {"type": "string"} for at in range(count)})

    assert strict("brew", optional(16), rules=ANTHROPIC)["required"] == [f"p{at}" for at in range(16)]
    assert strict("brew", optional(17), rules=ANTHROPIC)["required"] == []
    assert strict("brew", optional(24), rules=ANTHROPIC)["properties"] == optional(24)["properties"]
    with pytest.raises(
        SchemaError, match=r"^brew: its schema has 25 optional parameters, .* at most 24: .*strict=False"
    ):
        strict("brew", optional(25), rules=ANTHROPIC)


def test_anthropic_refuses_more_unions_than_it_takes() -> None:
    either = {"anyOf": [{"type": "string"}, {"type": "integer"}]}

    with pytest.raises(
        SchemaError, match="17 parameters that may be of several types, and strict mode takes at most 16"
    ):
        strict("brew", an_object(**{f"p{at}": either for at in range(17)}), rules=ANTHROPIC)


def nested(levels: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        schema = an_object(a=schema)
    return schema


@pytest.mark.parametrize(
    ("within", "beyond", "complaint"),
    [
        (nested(10), nested(11), "11 levels of objects in each other, and strict mode takes at most 10"),
        (
            an_object(**{f"p{at}": {"type": "null"} for at in range(5000)}),
            an_object(**{f"p{at}": {"type": "null"} for at in range(5001)}),
            "5001 properties",
        ),
        (an_object(a={"enum": list(range(1000))}), an_object(a={"enum": list(range(1001))}), "1001 enum values"),
        (
            an_object(a={"enum": [f"{at:060}" for at in range(250)]}),
            an_object(a={"enum": [f"{at:060}" for at in range(251)]}),
            "characters in one enum",
        ),
        (an_object(a={"enum": ["x" * 119_999]}), an_object(a={"enum": ["x" * 120_000]}), "120001 characters of names"),
    ],
    ids=["levels", "properties", "values", "long enum", "characters"],
)
def test_schema_above_strict_limits_is_refused(within: Schema, beyond: Schema, complaint: str) -> None:
    assert strict("brew", within)
    with pytest.raises(SchemaError, match=f"^brew: .*{complaint}.*strict=False"):
        strict("brew", beyond)


def test_levels_are_counted_through_references() -> None:
    definitions = {f"D{at}": an_object(a={"$ref": f"#/$defs/D{at + 1}"}) for at in range(10)}
    schema = {"$defs": {**definitions, "D10": an_object(a={"type": "null"})}, **an_object(a={"$ref": "#/$defs/D0"})}

    with pytest.raises(SchemaError, match="11 levels"):
        strict("brew", schema)


@pytest.mark.sampled(every=0)
def test_exponentially_growing_references_end_quickly() -> None:
    doubling = {
        f"D{at}": an_object(a={"$ref": f"#/$defs/D{at + 1}"}, b={"$ref": f"#/$defs/D{at + 1}"}) for at in range(60)
    }
    merging = {
        f"D{at}": {
            "allOf": [
                an_object(
                    a={"$ref": f"#/$defs/D{at + 1}", "minProperties": 1},
                    b={"$ref": f"#/$defs/D{at + 1}", "maxProperties": 9},
                )
            ]
        }
        for at in range(60)
    }
    last = {"D60": an_object(x={"type": "string"})}
    for definitions in (doubling, merging):
        schema = {"$defs": {**definitions, **last}, **an_object(a={"$ref": "#/$defs/D0"})}
        with pytest.raises(SchemaError, match=r"^brew: .*strict=False"):
            strict("brew", schema)
        for format_name in ("openai-chat", "anthropic", "gemini", "mcp"):
            assert _described(format_name, schema)


@pytest.mark.parametrize(
    "definition",
    [
        {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]},
        {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "minProperties": 1}}},
        {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}, {"required": ["a"]}]}}},
        {"type": "object", "properties": {"a": {"type": "object", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}},
        {"type": "array", "items": {"$ref": "#/$defs/A", "minItems": 1}},
    ],
    ids=str,
)
def test_recursive_schema_of_any_kind_terminates(definition: Schema) -> None:
    schema = {"$defs": {"A": definition}, **an_object(a={"$ref": "#/$defs/A"})}
    for format_name in ("openai-chat", "anthropic", "gemini", "mcp"):
        assert refusals(format_name, _described(format_name, schema)) == []
    try:
        described = openai.describe(Described("brew", schema), strict=True)
    except SchemaError as error:
        assert str(error).startswith("brew: ")  # noqa: PT017 - either ending is right, and each is checked
        return
    assert refusals("openai-chat", described, strict=True) == []


def test_each_provider_marks_strict_tools_in_its_place() -> None:
    tool = Described("brew", an_object(a={"type": "string"}))

    for module, place in ((openai, "function"), (mistral, "function")):
        assert module.describe(tool, strict=True)[place]["strict"] is True
        assert "strict" not in module.describe(tool)[place]
    assert anthropic.describe(tool, strict=True)["strict"] is True
    assert "strict" not in anthropic.describe(tool)
    assert responses.describe(tool, strict=True)["strict"] is True
    assert responses.describe(tool)["strict"] is False


def _described(format_name: str, schema: Schema) -> Schema:
    from ez_ptc.formats.catalog import describe_all

    return describe_all([Described("brew", schema)], format_name)[0]
