"""Tools that are made by hand, and tools whose schema comes from elsewhere."""

import inspect
import math
import re
from collections.abc import Callable
from typing import Any, cast

import pytest

from ez_ptc import Toolkit
from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.schema.annotations.context import Context
from ez_ptc.schema.imported import failures
from ez_ptc.tools.definitions.parameters import ParameterType, ToolParameter
from ez_ptc.tools.tool import Tool

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer"}},
    "required": ["city"],
}


def everything(**arguments: object) -> dict[str, object]:
    return arguments


def forecast(city: str, days: int = 2) -> str:
    return f"{city} {days}"


def test_tool_is_made_of_name_description_parameters_function() -> None:
    parameters = [
        ToolParameter("city", ParameterType.STRING, "Where"),
        ToolParameter("days", ParameterType.INTEGER, ""),
    ]
    made = Tool("weather", "Tell the weather.", parameters, forecast, category="geo", return_schema={"type": "string"})
    assert (made.name, made.description, made.category) == ("weather", "Tell the weather.", "geo")
    assert made.return_schema == {"type": "string"}
    assert made.function is made.fn is forecast
    assert made.schema is made.parameters
    assert made.parameter_list == parameters
    assert made.parameter_names == ("city", "days")
    assert made("Oslo") == "Oslo 2"
    assert made.execute(city="Oslo", days=3).output == "Oslo 3"
    assert made.signature == "weather(city: str, days: int)"
    assert made.docstring == "Tell the weather.\n\nArgs:\n    city: Where"


def test_parameters_and_function_have_other_names() -> None:
    made = Tool(name="weather", description="Tell it.", fn=forecast, schema=SCHEMA)
    assert made.parameters == SCHEMA
    assert made.call({"city": "Oslo"}) == "Oslo 2"


def test_a_tool_without_parameters_takes_none() -> None:
    made = Tool("ping", "Ping.", function=lambda: "pong")
    assert made.parameters == {"type": "object", "properties": {}}
    assert made.execute().output == "pong"


def test_a_schema_is_copied() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    made = Tool.from_schema("find", "Find.", schema, everything)
    schema["properties"]["a"]["type"] = "integer"
    assert made.parameters["properties"] == {"a": {"type": "string"}}


def test_imported_tool_function_gets_json_values_by_name() -> None:
    made = Tool.from_schema("find", "Find.", SCHEMA, everything)
    assert made.call('{"city": "Oslo", "days": 3}') == {"city": "Oslo", "days": 3}
    assert made.call({"city": "Oslo"}) == {"city": "Oslo"}
    assert made.bind(("Oslo", 3), {}).kwargs == {"city": "Oslo", "days": 3}


def test_non_identifier_names_can_be_passed() -> None:
    schema = {"type": "object", "properties": {"from": {"type": "string"}, "max-age": {"type": "integer"}}}
    made = Tool.from_schema("find", "Find.", schema, everything)
    assert made.call({"from": "a", "max-age": 1}) == {"from": "a", "max-age": 1}


@pytest.mark.parametrize("more", [{"additionalProperties": {"type": "integer"}}, {"patternProperties": {"^z": {}}}])
def test_program_passes_arguments_that_the_schema_allows_without_naming(more: dict[str, Any]) -> None:
    made = Tool.from_schema("find", "Find.", {**SCHEMA, **more}, everything, read_only=True)
    assert made.signature == "find(city: str, days: int = None, **other_arguments)"
    assert list(inspect.signature(made).parameters) == ["city", "days", "other_arguments"]
    assert Toolkit([made]).execute("find('Oslo', zoom=2)").return_value == {"city": "Oslo", "zoom": 2}


def test_an_asynchronous_function_can_be_called_by_a_schema() -> None:
    async def find(city: str) -> str:
        return city

    made = Tool.from_schema("find", "Find.", SCHEMA | {"properties": {"city": {}}}, find)
    assert made.is_async
    assert made.execute(city="Oslo").output == "Oslo"


@pytest.mark.parametrize(
    ("arguments", "complaints"),
    [
        ({}, ["missing argument 'city' (str)"]),
        ({"city": 1, "dys": 1}, ["'city' must be str, got int 1", "unknown argument 'dys' (did you mean 'days'?)"]),
        ({"city": 1, "days": "x"}, ["'city' must be str, got int 1", "'days' must be int, got str 'x'"]),
        ({"city": "O"}, ["'city' is shorter than 2 characters, got str 'O'"]),
        ({"days": 1.5}, ["missing argument 'city' (str)", "'days' must be int, got float 1.5"]),
        ({"city": None}, ["'city' must be str, got None"]),
        ({"city": b"Oslo"}, ["the arguments are not what JSON can carry"]),
    ],
)
def test_arguments_that_the_schema_refuses_are_all_named(arguments: dict[str, object], complaints: list[str]) -> None:
    made = Tool.from_schema("find", "Find.", SCHEMA, everything)
    with pytest.raises(ArgumentsError) as caught:
        made.call(arguments)
    assert len(caught.value.problems) == len(complaints)
    for problem, complaint in zip(caught.value.problems, complaints, strict=True):
        assert problem.startswith(complaint)


@pytest.mark.parametrize("has_time", [True, False])
def test_nested_problem_names_its_position(monkeypatch: pytest.MonkeyPatch, has_time: bool) -> None:
    """Also if a garbage collection takes the time of the search."""
    if not has_time:
        monkeypatch.setattr(failures, "_SECONDS", -1.0)
    spot = {
        "type": "object",
        "properties": {"lat": {"type": "number"}, "kind": {"enum": ["sea", "land"]}},
        "required": ["lat"],
        "additionalProperties": False,
    }
    schema = {"type": "object", "properties": {"spots": {"type": "array", "items": {"$ref": "#/$defs/s"}}}}
    made = Tool.from_schema("find", "Find.", {**schema, "$defs": {"s": spot}}, everything)
    with pytest.raises(ArgumentsError) as caught:
        made.call({"spots": [{"lat": 1}, {"lat": "x", "kind": "air"}, {"long": 2}]})
    assert set(caught.value.problems) == {
        "'spots[1].lat' must be float, got str 'x'",
        "'spots[1].kind' must be 'sea' | 'land', got str 'air'",
        "'spots[2].lat' is missing",
        "'spots[2].long' is unknown",
    }


def test_a_very_long_list_of_faults_is_cut() -> None:
    schema = {"type": "object", "properties": {"numbers": {"type": "array", "items": {"type": "integer"}}}}
    with pytest.raises(ArgumentsError) as caught:
        Tool.from_schema("add", "Add.", schema, everything).call({"numbers": ["x"] * 1000})
    assert len(caught.value.problems) == 11
    # The search ends at 500 faults, or earlier on a slow machine.
    assert re.fullmatch(r"and \d+ more", caught.value.problems[-1])


def test_value_outside_many_choices_gets_nearest() -> None:
    numbers = [f"kind {number}" for number in range(20)]
    schema = {"type": "object", "properties": {"genre": {"type": "string", "enum": numbers}}}
    made = Tool.from_schema("find", "Find.", schema, everything)
    with pytest.raises(ArgumentsError, match=r"'genre' must be 'kind 17' \| .* or one of 12 more, got str 'kin 17'"):
        made.call({"genre": "kin 17"})
    with pytest.raises(ArgumentsError) as caught:
        made.call({"genre": 2})
    assert len(caught.value.problems) == 2
    assert caught.value.problems[0] == "'genre' must be str, got int 2"


def test_deep_and_circular_arguments_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"in": deep}
    circular: dict[str, Any] = {}
    circular["in"] = circular
    schema = {"type": "object", "properties": {"in": {"$ref": "#"}}}
    made = Tool.from_schema("nest", "Nest.", schema, everything)
    for arguments in (deep, circular):
        with pytest.raises(ArgumentsError, match="not what JSON can carry"):
            made.call(arguments)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 10**5000], ids=["inf", "-inf", "nan", "long"])
def test_number_that_json_cannot_carry_is_refused(number: float) -> None:
    made = Tool.from_schema("add", "Add.", {"type": "object", "additionalProperties": True}, everything)
    with pytest.raises(ArgumentsError, match="not what JSON can carry"):
        made.call({"number": number})


@pytest.mark.security
def test_few_values_with_very_many_choices_are_refused_unchecked() -> None:
    choices = [[number] for number in range(50_000)]
    made = Tool.from_schema("pick", "Pick.", {"additionalProperties": {"not": {"enum": choices}}}, everything)
    with pytest.raises(ArgumentsError, match="the arguments are too many values to check by this schema"):
        made.call({f"choice_{number}": "none" for number in range(80)})


def test_known_mistakes_are_repaired_and_recorded() -> None:
    schema = {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"type": "string"}},
            "spot": {"anyOf": [{"type": "object"}, {"type": "number"}]},
            "note": {"type": "string"},
            "name": {"type": "string"},
        },
        "required": ["tags"],
    }
    made = Tool.from_schema("find", "Find.", schema, everything)
    result = made.execute(tags='["a",]', spot='{"lat": 1}', note=None, name='["x"]')
    assert result.output == {"tags": ["a"], "spot": {"lat": 1}, "name": '["x"]'}
    assert result.repairs == (
        "'tags' was JSON text with a comma before a closing bracket and is read",
        "'spot' was JSON text and is read",
        "'note' was null and is left out",
    )
    assert made.execute(tags=["a"]).repairs == ()


def test_null_for_optional_key_is_omitted_at_any_depth() -> None:
    spot = {"type": "object", "properties": {"lat": {"type": "number"}, "note": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spots": {"type": "array", "items": spot | {"required": ["lat"]}}}}
    made = Tool.from_schema("find", "Find.", schema, everything)
    result = made.execute(spots=[{"lat": 1, "note": None}])
    assert result.output == {"spots": [{"lat": 1}]}
    assert result.repairs == ("'spots[0].note' was null and is left out",)
    assert "'spots[0].lat' is missing" in (made.execute(spots=[{"lat": None}]).error or "")
    assert "must be" in (made.execute(spots=[None]).error or "")


ODD_NAMES = ["a b", "a%20b", "a#b", "a/b", "a~b", "~1", "größe", '"', "?", ""]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_problem_is_found_under_any_name(name: str) -> None:
    inner = {"type": "object", "properties": {name: {"type": "integer"}}}
    schema = {"type": "object", "properties": {"a": inner, "b": {"$ref": "#/$defs/It%20x"}}}
    made = Tool.from_schema("find", "Find.", {**schema, "$defs": {"It x": inner}}, everything)
    for argument in "ab":
        error = made.execute(**{argument: {name: "x"}}).error or ""
        assert error.endswith(" must be int, got str 'x'"), error


def test_text_for_text_parameter_is_never_parsed() -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string", "maxLength": 3}}}
    assert not Tool.from_schema("write", "Write.", schema, everything).execute(note='["x"]').success


OTHER_SCHEMAS: list[tuple[dict[str, Any], dict[str, object]]] = [
    ({"type": "object", "properties": {"a": {"type": "string", "nullable": True}}, "required": ["a"]}, {"a": None}),
    ({"type": "object", "properties": {"a": {"items": [{"type": "string"}]}}}, {"a": ["x", 1]}),
    ({"properties": {"a": {"type": "integer", "minimum": 3, "exclusiveMinimum": True}}}, {"a": 4}),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"items": [{}]}}}, {"a": [1]}),
    ({"type": "object"}, {"anything": 1}),
    ({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, {"a": [], "b": 1}),
    ({"type": "object", "required": ["a"]}, {"a": {"deep": True}}),
]


@pytest.mark.parametrize(("schema", "arguments"), OTHER_SCHEMAS)
def test_schemas_of_other_drafts_and_of_openapi_are_understood(
    schema: dict[str, Any], arguments: dict[str, object]
) -> None:
    assert Tool.from_schema("find", "Find.", schema, everything).call(arguments) == arguments


def test_additional_arguments_are_checked_and_repaired() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}}
    find = Tool.from_schema("find", "Find.", schema, everything)
    assert find.call({"a": 1, "b": 2}) == {"a": 1, "b": 2}
    with pytest.raises(ArgumentsError, match="'b' must be int, got None"):
        find.call({"a": 1, "b": None})
    with pytest.raises(ArgumentsError, match="'b' must be int, got str 'many'"):
        find.call({"a": 1, "b": "many"})


@pytest.mark.parametrize("name", ["default", "enum", "const", "example", "examples", "properties", "$defs"])
def test_a_parameter_may_have_the_name_of_a_keyword(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string", "nullable": True}}, "required": [name]}
    made = Tool.from_schema("find", "Find.", schema, everything)
    assert made.execute(**{name: None}).output == {name: None}
    assert not made.execute(**{name: 3}).success


def test_nullable_inside_default_is_no_keyword() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [{"type": "string", "nullable": True}]}}}
    made = Tool.from_schema("find", "Find.", schema, everything)
    assert made.execute(a={"type": "string", "nullable": True}).success
    assert not made.execute(a=None).success or made.execute(a=None).repairs


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ("{}", "find: its parameters are a JSON Schema as a dict, got str"),
        ({"type": "array"}, "the schema of an object with one key for each, got the type 'array'"),
        ({"type": "object", "properties": ["city"]}, "`properties` of its parameters is a dict of schemas by name"),
        ({"type": "object", "properties": {}, "required": "city"}, "`required` of its parameters is a list of names"),
        ({"properties": {"city": {"type": "text"}}}, "at 'properties.city.type': 'text' is not a JSON Schema type"),
        ({"properties": {"city": {"$ref": "#/$defs/none"}}}, "'#/\\$defs/none' leads nowhere"),
    ],
)
def test_non_object_schema_is_refused(schema: object, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        Tool.from_schema("find", "Find.", cast("Any", schema), everything)


def test_nothing_is_fetched_for_a_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    with pytest.raises(SchemaError, match="leads out of the schema, and nothing is fetched") as caught:
        Tool.from_schema("find", "Find.", schema, everything)
    assert "sending request" not in str(caught.value)


def test_function_not_accepting_schema_parameters_is_refused() -> None:
    def only_city(city: str) -> str:
        return city

    def also_planet(city: str, days: int, planet: str) -> str:
        return f"{city} {days} {planet}"

    def city_first(city: str, /, days: int) -> str:
        return f"{city} {days}"

    with pytest.raises(SchemaError, match="its schema has 'days', which its function does not take"):
        Tool.from_schema("find", "Find.", SCHEMA, only_city)
    with pytest.raises(SchemaError, match="its function needs 'planet', which its schema does not have"):
        Tool.from_schema("find", "Find.", SCHEMA, also_planet)
    with pytest.raises(SchemaError, match="takes 'city' by position only"):
        Tool.from_schema("find", "Find.", SCHEMA, city_first)


def test_required_function_argument_gets_default_or_none() -> None:
    parameters = [
        ToolParameter("city", ParameterType.STRING, "", required=False, default="Oslo"),
        ToolParameter("days", ParameterType.INTEGER, "", required=False),
    ]

    def find(city: str, days: int | None) -> object:
        return city, days

    made = Tool("find", "Find.", parameters, find)
    assert made.execute().output == ("Oslo", None)


def test_the_host_fills_the_context_of_an_imported_tool() -> None:
    def find(city: str, session: Context[dict[str, str]]) -> str:
        return f"{city} for {session['user']}"

    made = Tool.from_schema("find", "Find.", {"type": "object", "properties": {"city": {"type": "string"}}}, find)
    assert made.call({"city": "Oslo"}, context={"user": "Ada"}) == "Oslo for Ada"
    assert not made.execute(city="Oslo", session={"user": "Eve"}).success


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Tool("no name", "", [], everything), "invalid tool name 'no name'"),
        (
            lambda: Tool("find", cast("Any", None), [], everything),
            "find: expected a description of type str, got NoneType",
        ),
        (lambda: Tool("find", "Find."), "expected a function, got None"),
        (lambda: Tool("find", "Find.", [], everything, fn=everything), "find: its function is passed twice"),
    ],
)
def test_a_tool_that_is_not_all_there_is_refused(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        make()


def test_unknown_option_gets_nearest_name() -> None:
    with pytest.raises(TypeError, match="unknown option 'catgory'; did you mean 'category'"):
        Tool("find", "Find.", [], everything, **cast("Any", {"catgory": "geo"}))
