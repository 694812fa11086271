"""The calls in a provider's answer, and what is sent back for them."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ez_ptc.errors import ProviderError
from ez_ptc.formats.catalog import FORMATS, format_named, names_for
from ez_ptc.messages import ToolCall, ToolResult
from tests.formats.shapes import Described, an_object

CHAT: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "brew", "arguments": '{"cups": 2}'}},
        {"id": "call_2", "type": "function", "function": {"name": "pour", "arguments": ""}},
    ],
}
RESPONSE: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "brew", "arguments": '{"cups": 2}'},
    {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "pour", "arguments": ""},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Soon."}]},
]
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "I will brew."},
        {"type": "tool_use", "id": "toolu_1", "name": "brew", "input": {"cups": 2}},
        {"type": "tool_use", "id": "toolu_2", "name": "pour", "input": {}},
    ],
}
CONTENT: dict[str, Any] = {
    "role": "model",
    "parts": [
        {"text": "I will brew."},
        {"functionCall": {"id": "f1", "name": "brew", "args": {"cups": 2}}},
        {"function_call": {"name": "pour", "args": None}},
    ],
}


def read(format_name: str, answer: object) -> list[ToolCall]:
    """The calls in an answer, whatever came as one."""
    return format_named(format_name).calls(cast("dict[str, Any]", answer))


ANSWERED = [
    (ToolCall("call_1", "brew", {}), ToolResult(success=True, output={"cups": 2})),
    (ToolCall("call_2", "pour", {}), ToolResult(success=False, error="there is no cup")),
]


@pytest.mark.parametrize("format_name", ["openai-chat", "mistral"])
@pytest.mark.parametrize("answer", [CHAT, {"choices": [{"index": 0, "message": CHAT}], "object": "chat.completion"}])
def test_the_calls_of_a_chat_completion_keep_their_text(format_name: str, answer: dict[str, Any]) -> None:
    assert read(format_name, answer) == [ToolCall("call_1", "brew", '{"cups": 2}'), ToolCall("call_2", "pour", "")]


@pytest.mark.parametrize("answer", [RESPONSE, {"output": RESPONSE, "status": "completed"}])
def test_response_calls_are_identified_by_call_id(answer: object) -> None:
    assert read("openai-responses", answer) == [
        ToolCall("call_1", "brew", '{"cups": 2}'),
        ToolCall("call_2", "pour", ""),
    ]
    assert read("openai-responses", RESPONSE[1]) == [ToolCall("call_1", "brew", '{"cups": 2}')]


def test_anthropic_calls_are_the_tool_use_blocks() -> None:
    assert read("anthropic", MESSAGE) == [ToolCall("toolu_1", "brew", {"cups": 2}), ToolCall("toolu_2", "pour", {})]


@pytest.mark.parametrize("answer", [CONTENT, {"content": CONTENT}, {"candidates": [{"content": CONTENT}]}])
def test_the_calls_of_gemini_are_read_in_both_spellings(answer: dict[str, Any]) -> None:
    first, second = read("gemini", answer)

    assert first == ToolCall("f1", "brew", {"cups": 2})
    assert (second.name, second.arguments) == ("pour", {})
    assert second.id != first.id


def test_mcp_call_has_the_request_id() -> None:
    params = {"name": "brew", "arguments": {"cups": 2}}

    assert read("mcp", params)[0].arguments == {"cups": 2}
    assert read("mcp", {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}) == [
        ToolCall("7", "brew", {"cups": 2})
    ]


@pytest.mark.parametrize(
    ("format_name", "answer"),
    [
        ("openai-chat", {"role": "assistant", "content": "Hello."}),
        ("openai-chat", {"role": "assistant", "content": "Hello.", "tool_calls": None}),
        ("openai-chat", {"choices": []}),
        ("mistral", {"choices": [{"message": {"content": "Hello."}}]}),
        ("openai-responses", {"output": []}),
        ("openai-responses", []),
        ("anthropic", {"role": "assistant", "content": "Hello."}),
        ("anthropic", {"role": "assistant", "content": []}),
        ("gemini", {"candidates": None}),
        ("gemini", {"candidates": [{"content": None, "finish_reason": "SAFETY"}]}),
        ("gemini", {"parts": [{"text": "Hello."}]}),
    ],
)
def test_an_answer_without_calls_has_none(format_name: str, answer: object) -> None:
    assert read(format_name, answer) == []


@pytest.mark.parametrize("format_name", ["openai-chat", "mistral"])
def test_calls_without_ids_get_ids_that_differ(format_name: str) -> None:
    call = {"function": {"name": "brew", "arguments": "{}"}}
    first, second = read(format_name, {"tool_calls": [call, {**call, "id": None}]})

    assert first.id
    assert second.id
    assert first.id != second.id


MALFORMED: list[tuple[str, object, str]] = [
    ("openai-chat", "text", r"expected an object at answer, got str 'text'"),
    ("openai-chat", {"choices": {"message": CHAT}}, r"expected a list at answer.choices, got dict of 1 .*"),
    ("openai-chat", {"tool_calls": "brew"}, r"expected a list at answer.tool_calls, got str 'brew'"),
    ("openai-chat", {"tool_calls": ["brew"]}, r"expected an object at answer.tool_calls\[0\], got str 'brew'"),
    ("openai-chat", {"tool_calls": [{"id": "1"}]}, r"expected an object at answer.tool_calls\[0\].function, got None"),
    ("openai-chat", {"tool_calls": [{"id": 1, "function": {"name": "a"}}]}, r"at answer.tool_calls\[0\].id, got int 1"),
    ("openai-chat", {"tool_calls": [{"function": {"name": 3}}]}, r"expected text at .*function.name, got int 3"),
    (
        "openai-chat",
        {"tool_calls": [{"function": {"name": "a", "arguments": [1]}}]},
        r"at .*arguments, got list of 1 \[1\]",
    ),
    ("mistral", {"tool_calls": 4}, r"at answer.tool_calls, got int 4"),
    (
        "openai-responses",
        {"output": [{"type": "function_call", "name": "a"}]},
        r"at answer.output\[0\].call_id, got None",
    ),
    ("openai-responses", [4], r"at answer\[0\], got int 4"),
    ("openai-responses", 4, r"at answer, got int 4"),
    (
        "anthropic",
        {"content": [{"type": "tool_use", "name": "a", "input": {}}]},
        r"at answer.content\[0\].id, got None",
    ),
    ("anthropic", {"content": [None]}, r"at answer.content\[0\], got None"),
    ("gemini", {"parts": [{"functionCall": []}]}, r"at answer.parts\[0\].functionCall, got list of 0 \[\]"),
    ("gemini", {"parts": [{"functionCall": {"args": {}}}]}, r"at answer.parts\[0\].functionCall.name, got None"),
    ("mcp", {"arguments": {}}, r"at request.name, got None"),
    ("mcp", {"params": {"name": "a", "arguments": 3}}, r"at request.params.arguments, got int 3"),
]


@pytest.mark.parametrize(("format_name", "answer", "complaint"), MALFORMED)
def test_malformed_answer_is_provider_error_naming_the_position(
    format_name: str, answer: object, complaint: str
) -> None:
    with pytest.raises(ProviderError, match=complaint):
        read(format_name, answer)


KEYS = [
    *("choices", "message", "tool_calls", "function", "name", "arguments", "id", "output", "type", "content"),
    *("parts", "functionCall", "candidates", "args", "params", "input", "call_id"),
]
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=12,
)


@given(_JSON)
def test_any_answer_is_calls_or_provider_error(answer: object) -> None:
    for format_name in FORMATS:
        try:
            found = read(format_name, answer)
        except ProviderError:
            continue
        assert all(call.id and call.name and isinstance(call.arguments, str | dict) for call in found)


def test_sdk_answer_object_is_read_like_its_dump() -> None:
    from anthropic.types import ToolUseBlock
    from google.genai.types import Content
    from mistralai.client.models import AssistantMessage
    from openai.types.chat import ChatCompletionMessage

    assert len(read("openai-chat", ChatCompletionMessage.model_validate(CHAT).model_dump())) == 2
    assert len(read("mistral", AssistantMessage.model_validate(CHAT).model_dump())) == 2
    assert len(read("gemini", Content.model_validate(CONTENT).model_dump())) == 2
    blocks = [ToolUseBlock.model_validate(each).model_dump() for each in MESSAGE["content"][1:]]
    assert len(read("anthropic", {"content": blocks})) == 2


def test_chat_completions_take_one_message_for_each_result() -> None:
    from openai.types.chat import ChatCompletionToolMessageParam

    sent = format_named("openai-chat").results(ANSWERED)

    assert sent == [
        {"role": "tool", "tool_call_id": "call_1", "content": '{"cups":2}'},
        {"role": "tool", "tool_call_id": "call_2", "content": "there is no cup"},
    ]
    for each in sent:
        TypeAdapter(ChatCompletionToolMessageParam).validate_python(each)


def test_mistral_takes_the_tools_name_too() -> None:
    from mistralai.client.models import ToolMessage

    sent = format_named("mistral").results(ANSWERED)

    assert [each["name"] for each in sent] == ["brew", "pour"]
    assert [ToolMessage.model_validate(each).content for each in sent] == ['{"cups":2}', "there is no cup"]


def test_responses_take_one_item_for_each_result() -> None:
    from openai.types.responses.response_input_item_param import FunctionCallOutput

    sent = format_named("openai-responses").results(ANSWERED)

    assert sent[0] == {"type": "function_call_output", "call_id": "call_1", "output": '{"cups":2}'}
    assert sent[1]["output"] == "there is no cup"
    for each in sent:
        TypeAdapter(FunctionCallOutput).validate_python(each)


def test_anthropic_takes_one_message_with_all_results() -> None:
    from anthropic.types import MessageParam

    [sent] = format_named("anthropic").results(ANSWERED)

    assert sent["role"] == "user"
    assert sent["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": '{"cups":2}', "is_error": False},
        {"type": "tool_result", "tool_use_id": "call_2", "content": "there is no cup", "is_error": True},
    ]
    TypeAdapter(MessageParam).validate_python(sent)


def test_gemini_takes_one_content_with_all_results() -> None:
    from google.genai.types import Content

    [sent] = format_named("gemini").results(ANSWERED)

    assert sent["role"] == "user"
    assert [part["function_response"] for part in sent["parts"]] == [
        {"id": "call_1", "name": "brew", "response": {"output": {"cups": 2}}},
        {"id": "call_2", "name": "pour", "response": {"error": "there is no cup"}},
    ]
    Content.model_validate(sent)


def test_id_missing_from_gemini_is_not_sent_back() -> None:
    calls = read("gemini", CONTENT)
    [sent] = format_named("gemini").results([(call, ToolResult(success=True)) for call in calls])

    assert [part["function_response"].get("id") for part in sent["parts"]] == ["f1", None]


def test_mcp_gets_structured_result_only_for_objects() -> None:
    answered = [*ANSWERED, (ToolCall("3", "list", {}), ToolResult(success=True, output=[1]))]

    assert format_named("mcp").results(answered) == [
        {"content": [{"type": "text", "text": '{"cups":2}'}], "structuredContent": {"cups": 2}, "isError": False},
        {"content": [{"type": "text", "text": "there is no cup"}], "isError": True},
        {"content": [{"type": "text", "text": "[1]"}], "isError": False},
    ]


@pytest.mark.parametrize("format_name", FORMATS)
def test_no_results_make_no_message(format_name: str) -> None:
    assert format_named(format_name).results([]) == []


def test_names_are_sent_as_accepted_and_restored() -> None:
    tool = Described("tea.brew", an_object(**{"cup count": {"type": "integer"}, "kind": {"type": "string"}}))
    names = names_for([tool], "anthropic")
    described = format_named("anthropic").describe(tool)
    block = {"type": "tool_use", "id": "1", "name": "tea_brew", "input": {"cup_count": 2, "kind": "green", "more": 1}}

    assert described["name"] == "tea_brew"
    assert list(described["input_schema"]["properties"]) == ["cup_count", "kind"]
    assert format_named("anthropic").calls({"content": [block]}, names) == [
        ToolCall("1", "tea.brew", {"cup count": 2, "kind": "green", "more": 1})
    ]


def test_a_result_names_the_tool_as_the_provider_does() -> None:
    tool = Described("4.tea brew", an_object())
    [sent] = format_named("gemini").results(
        [(ToolCall("1", "4.tea brew", {}), ToolResult(success=True))], names_for([tool], "gemini")
    )

    assert sent["parts"][0]["function_response"]["name"] == "_4.tea_brew"


@pytest.mark.parametrize("format_name", FORMATS)
def test_returned_result_is_json_for_any_tool_value(format_name: str) -> None:
    output = {"bad": float("nan"), "half": "\ud800", "self": object(), 3: b"x"}
    answered = [
        (ToolCall("1", "brew", {}), ToolResult(success=True, output=output)),
        (ToolCall("2", "brew", {}), ToolResult(success=False, error="half \ud800")),
        (ToolCall("3", "brew", {}), ToolResult(success=False)),
    ]

    assert json.dumps(format_named(format_name).results(answered), allow_nan=False, ensure_ascii=False).encode()
