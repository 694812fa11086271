"""What providers call tools and their parameters."""

import json
import re
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import DuplicateToolError, SchemaError
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.catalog import FORMATS, describe_all, names_for
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.naming.spelling import fit_name
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_chat.tools import NAMES
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, TextMessage, ToolCallMessage, ToolResultMessage
from tests.formats.refusals import refusals
from tests.formats.shapes import Described, an_object

EMPTY = an_object()


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("name", ["brew", "brew_tea", "x", "_private", "a" * 64])
def test_acceptable_name_stays_unchanged(format_name: str, name: str) -> None:
    assert names_for([Described(name, EMPTY)], format_name).to_provider(name) == name


@pytest.mark.parametrize(
    ("format_name", "name", "sent"),
    [
        ("openai-chat", "tea.brew", "tea_brew"),
        ("openai-chat", "brew tea!", "brew_tea_"),
        ("openai-chat", "café", "cafe"),
        ("anthropic", "tea.brew", "tea_brew"),
        ("mistral", "tea/brew", "tea_brew"),
        ("gemini", "tea.brew:hot-1", "tea.brew:hot-1"),
        ("gemini", "1st", "_1st"),
        ("gemini", "-x", "_-x"),
        ("mcp", "tea.brew", "tea.brew"),
        ("mcp", "tea/brew", "tea_brew"),
    ],
)
def test_name_is_changed_only_if_provider_refuses_it(format_name: str, name: str, sent: str) -> None:
    names = names_for([Described(name, EMPTY)], format_name)

    assert names.to_provider(name) == sent
    assert names.to_tool(sent) == name


@pytest.mark.parametrize("form", [anthropic_turns, gemini_turns, openai_turns, responses_turns])
@pytest.mark.parametrize("name", ["tea/brew it", "天気", "", "x" * 200, "known.tool"])
def test_tool_called_through_another_provider_has_acceptable_name(form: ModuleType, name: str) -> None:
    called = Answer(messages=(ToolCallMessage(name, "call_1", {}),), provider="other")
    entries = (TextMessage("Tea?"), called, ToolResultMessage("call_1", "no", tool_name=name))
    known = Described("known.tool", EMPTY)
    body = form.request(Prompt(model="m", entries=entries, tools=(known,)))
    del body["tools"]
    sent = re.findall(r'"name": "([^"]*)"', json.dumps(body))
    rules = form.NAMES if hasattr(form, "NAMES") else NAMES
    assert sent
    assert len(set(sent)) == 1
    assert rules.allow(sent[0])


def test_long_names_with_common_start_stay_distinct() -> None:
    tools = [Described("a" * 70 + "1", EMPTY), Described("a" * 70 + "2", EMPTY)]
    names = names_for(tools, "openai-chat")

    assert len({names.to_provider(tool.name) for tool in tools}) == 2
    assert all(len(names.to_provider(tool.name)) == 64 for tool in tools)
    assert [names.to_tool(names.to_provider(tool.name)) for tool in tools] == [tool.name for tool in tools]


@pytest.mark.parametrize("format_name", ["openai-chat", "openai-responses", "anthropic", "mistral"])
def test_colliding_names_are_error_naming_both(format_name: str) -> None:
    tools = [Described("tea.brew", EMPTY), Described("tea_brew", EMPTY)]

    with pytest.raises(
        DuplicateToolError, match=r"'tea.brew' and 'tea_brew' are both called 'tea_brew'.*ez_tool\(name="
    ):
        describe_all(tools, format_name)
    with pytest.raises(DuplicateToolError):
        names_for(tools, format_name)


@pytest.mark.parametrize("format_name", ["gemini", "mcp"])
def test_names_colliding_at_one_provider_may_differ_elsewhere(format_name: str) -> None:
    assert len(describe_all([Described("tea.brew", EMPTY), Described("tea_brew", EMPTY)], format_name)) == 2


def test_the_same_name_twice_is_an_error() -> None:
    with pytest.raises(DuplicateToolError, match="two tools are called 'brew'"):
        describe_all([Described("brew", EMPTY), Described("brew", EMPTY)], "openai")


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("name", ["", "茶", "!!", "___!"])
def test_a_name_of_which_nothing_is_left_is_refused(format_name: str, name: str) -> None:
    with pytest.raises(SchemaError, match=r"takes no such name for a tool.*ez_tool\(name="):
        describe_all([Described(name, EMPTY)], format_name)


@pytest.mark.parametrize("format_name", FORMATS)
@given(name=st.text(min_size=1, max_size=200))
def test_every_name_is_accepted_or_refused(format_name: str, name: str) -> None:
    try:
        [described] = describe_all([Described(name, EMPTY)], format_name)
    except SchemaError:
        return

    assert refusals(format_name, described) == []


@given(st.lists(st.text(max_size=80), unique=True))
def test_names_are_restored_or_reported_as_colliding(names: list[str]) -> None:
    usable = [name for name in names if fit_name(name, NAMES)]
    tools = [Described(name, EMPTY) for name in usable]
    try:
        known = names_for(tools, "openai-chat")
    except DuplicateToolError:
        assert len({fit_name(name, NAMES) for name in usable}) < len(usable)
        return

    assert [known.to_tool(known.to_provider(name)) for name in usable] == usable


@pytest.mark.parametrize("format_name", ["anthropic", "gemini"])
@given(keys=st.lists(st.text(max_size=80), unique=True, min_size=1))
def test_every_parameter_is_sendable_and_restored(format_name: str, keys: list[str]) -> None:
    sendable = [key for key in keys if key.encode(errors="ignore").decode() == key]
    tool = Described("brew", an_object(**{key: {"type": "string"} for key in sendable}))
    [described] = describe_all([tool], format_name)
    schema: dict[str, Any] = described.get("input_schema") or described.get("parameters") or {"properties": {}}

    assert refusals(format_name, described) == []
    assert list(names_for([tool], format_name).to_parameters("brew", dict.fromkeys(schema["properties"]))) == sendable


def test_renamed_parameter_is_described_by_its_name() -> None:
    tool = Described(
        "brew",
        {
            "type": "object",
            "properties": {"温度": {"type": "number", "description": "In degrees."}},
            "required": ["温度"],
        },
    )
    [described] = describe_all([tool], "gemini")

    assert described["parameters"]["properties"] == {
        "parameter_1": {"type": "number", "description": "In degrees. Called '温度'."}
    }
    assert described["parameters"]["required"] == ["parameter_1"]


def test_changed_key_does_not_displace_an_existing_one() -> None:
    tool = Described("brew", an_object(**{key: {"type": "string"} for key in ("a b", "a_b", "a-b")}))
    names = names_for([tool], "gemini")

    assert names.to_parameters("brew", {"a_b": 1, "a_b_2": 2, "a_b_3": 3}) == {"a_b": 1, "a b": 2, "a-b": 3}


def test_nested_key_is_renamed_for_restrictive_provider() -> None:
    headers = an_object(
        **{"Content-Type": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/H"}, {"type": "null"}]}}
    )
    tool = Described(
        "send", {"$defs": {"H": headers}, **an_object(all={"type": "array", "items": {"$ref": "#/$defs/H"}})}
    )
    [described] = describe_all([tool], "gemini")
    sent = {"all": [{"Content_Type": "a", "next": {"Content_Type": "b", "next": None}}, 3, {"Content_Type": 1, "x": 2}]}

    assert refusals("gemini", described) == []
    assert names_for([tool], "gemini").to_parameters("send", sent) == {
        "all": [{"Content-Type": "a", "next": {"Content-Type": "b", "next": None}}, 3, {"Content-Type": 1, "x": 2}]
    }
    assert names_for([tool], "gemini").to_sent("send", names_for([tool], "gemini").to_parameters("send", sent)) == sent
    assert not names_for([tool], "anthropic").keys


def test_the_keys_of_free_data_are_left_alone() -> None:
    free = {"type": "object", "additionalProperties": {"type": "string"}}
    tool = Described("send", an_object(**{"a b": {"type": "string"}, "data": free}))

    assert names_for([tool], "gemini").to_parameters("send", {"a_b": "x", "data": {"a_b": "y"}}) == {
        "a b": "x",
        "data": {"a_b": "y"},
    }
    assert names_for([tool], "gemini").to_sent("send", {"a b": "x", "data": {"a b": "y"}}) == {
        "a_b": "x",
        "data": {"a b": "y"},
    }


def test_key_is_renamed_alike_in_every_rule() -> None:
    keys = ("a b", "c d")
    rules = {
        "dependentRequired": {"a b": ["c d"]},
        "dependentSchemas": {"c d": {"minProperties": 1}},
        "minProperties": 1,
    }
    tool = Described("send", an_object(x={**an_object(**{key: {"type": "string"} for key in keys}), **rules}, y={}))
    [described] = describe_all([tool], "gemini")
    inner = described["parameters_json_schema"]["properties"]["x"]

    assert list(inner["properties"]) == inner["required"] == ["a_b", "c_d"]
    assert inner["dependentRequired"] == {"a_b": ["c_d"]}
    assert inner["dependentSchemas"] == {"c_d": {"minProperties": 1}}


def test_arguments_of_any_depth_are_restored() -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"a_b": deep}
    node = {"type": "object", "properties": {"a b": {"$ref": "#/$defs/Node"}}}
    tool = Described("send", {"$defs": {"Node": node}, "$ref": "#/$defs/Node"})

    assert list(names_for([tool], "gemini").to_parameters("send", deep)) == ["a b"]


def test_argument_under_both_names_stays_under_both() -> None:
    tool = Described("brew", an_object(**{"a b": {"type": "string"}}))

    assert names_for([tool], "anthropic").to_parameters("brew", {"a b": 1, "a_b": 2}) == {"a b": 1, "a_b": 2}


def test_unknown_name_stays_unchanged() -> None:
    names = Names()

    assert names.to_tool("brew.tea") == "brew.tea"
    assert names.to_provider("brew.tea") == "brew.tea"
    assert names.to_parameters("brew.tea", {"a b": 1}) == {"a b": 1}
