from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ProviderError, SchemaError
from ez_ptc.formats.describable import ToolShape
from ez_ptc.formats.gemini.messages import answer, request
from ez_ptc.messages import (
    Answer,
    Entry,
    ImageMessage,
    Message,
    MessageRole,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
)
from tests.formats.gemini.bodies import asking, call, check, response

_ASSISTANT = MessageRole.ASSISTANT


def test_system_text_is_separate_and_consecutive_messages_merged() -> None:
    body = request(
        asking(
            TextMessage("Be short.", role=MessageRole.SYSTEM),
            TextMessage("Here is a picture."),
            ImageMessage(b"\x89PNG"),
            TextMessage("Be kind.", role=MessageRole.SYSTEM),
            TextMessage(""),
            TextMessage("What is it?"),
            TextMessage("A cat.", role=_ASSISTANT),
            ImageMessage(url="https://example.org/dog.jpg", media_type="image/jpeg"),
            ImageMessage(url="data:image/gif;base64,R0lG"),
        )
    )
    assert body["systemInstruction"] == {"parts": [{"text": "Be short."}, {"text": "Be kind."}]}
    assert body["contents"] == [
        {
            "role": "user",
            "parts": [
                {"text": "Here is a picture."},
                {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
                {"text": "What is it?"},
            ],
        },
        {"role": "model", "parts": [{"text": "A cat."}]},
        {
            "role": "user",
            "parts": [
                {"fileData": {"fileUri": "https://example.org/dog.jpg", "mimeType": "image/jpeg"}},
                {"inlineData": {"mimeType": "image/gif", "data": "R0lG"}},
            ],
        },
    ]
    check(body)


def test_tools_and_settings_match_the_sdk_request() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    body = request(asking(max_tokens=100, temperature=0.5, tool_choice="required", output_schema=schema))
    assert body["generationConfig"] == {
        "maxOutputTokens": 100,
        "temperature": 0.5,
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }
    first, second = body["tools"][0]["functionDeclarations"]
    assert first["name"] == "get_weather"
    assert set(second) == {"name", "description", "parametersJsonSchema"}
    check(body)


@pytest.mark.parametrize(
    ("changes", "config"),
    [
        ({}, None),
        ({"tool_choice": "none"}, {"mode": "NONE"}),
        ({"tool_choice": "required"}, {"mode": "ANY"}),
        ({"strict": True}, {"mode": "VALIDATED"}),
        ({"tool_choice": "shop/find order"}, {"mode": "ANY", "allowedFunctionNames": ["shop_find_order"]}),
    ],
)
def test_the_choice_of_tools_is_a_mode(changes: dict[str, Any], config: dict[str, Any] | None) -> None:
    body = request(asking(**changes))
    assert body.get("toolConfig") == (None if config is None else {"functionCallingConfig": config})
    check(body)


def test_choice_of_unknown_tool_is_refused() -> None:
    with pytest.raises(ProviderError, match="unknown tool_choice 'get_time'"):
        request(asking(tool_choice="get_time"))


def test_request_without_tools_has_no_tool_fields() -> None:
    assert request(asking(tools=())) == {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}


def test_non_object_output_schema_is_refused() -> None:
    with pytest.raises(SchemaError, match="the answer"):
        request(asking(output_schema={"type": "integer"}))


def test_options_are_added_to_the_request() -> None:
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    options: dict[str, Any] = {
        "safetySettings": safety,
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 0}},
        "tools": [{"googleSearch": {}}],
    }
    body = request(asking(temperature=0.0, options=options))
    assert body["safetySettings"] == safety
    assert body["generationConfig"] == {"temperature": 0.0, "thinkingConfig": {"thinkingBudget": 0}}
    assert [list(each) for each in body["tools"]] == [["functionDeclarations"], ["googleSearch"]]
    assert options["tools"] == [{"googleSearch": {}}]


def test_gemini_answer_returns_unchanged_with_results_in_order() -> None:
    parts = [
        {"text": "Let me see.", "thought": True},
        {"text": "I look.", "thoughtSignature": "QUJD"},
        call("Paris") | {"thoughtSignature": "REVG"},
        call("Rome", id="own-1"),
        {"unknownPart": {"a": [1, None]}},
    ]
    said = answer(response(*parts), asking())
    assert said.stop_reason == "tool_calls"
    assert said.messages[0] == TextMessage("I look.", role=_ASSISTANT)
    paris, rome = said.calls
    assert rome.id == "own-1"
    body = request(
        asking(
            TextMessage("Weather?"),
            said,
            ToolResultMessage(rome.id, "no such city", tool_name="get_weather", success=False),
            ToolResultMessage(paris.id, {"temp": 22}, tool_name="get_weather"),
            TextMessage("And?"),
        )
    )
    assert body["contents"][1] == {"role": "model", "parts": parts}
    assert body["contents"][2]["parts"] == [
        {"functionResponse": {"name": "get_weather", "response": {"output": {"temp": 22}}}},
        {"functionResponse": {"id": "own-1", "name": "get_weather", "response": {"error": "no such city"}}},
    ]
    assert body["contents"][3] == {"role": "user", "parts": [{"text": "And?"}]}


@pytest.mark.parametrize("ids", [["x", "x"], ["y", "y", "x"], ["", "x", "x"]])
def test_call_and_its_result_are_sent_with_one_id(ids: list[str]) -> None:
    """Some servers begin again with each answer, and give the id of an earlier call."""
    entries: list[Entry] = [TextMessage("Weather?")]
    for _ in range(2):
        said = answer(response(*(call("Rome", id=identifier) for identifier in ids)), asking(*entries))
        entries += [said, *(ToolResultMessage(made.id, "rain", tool_name="get_weather") for made in said.calls)]
    body = request(asking(*entries))
    check(body)
    for calls, results in ((1, 2), (3, 4)):
        called = [sent["functionCall"].get("id") for sent in body["contents"][calls]["parts"]]
        assert called == [sent["functionResponse"].get("id") for sent in body["contents"][results]["parts"]]


def test_foreign_conversation_is_sent_in_gemini_terms() -> None:
    called = ToolCallMessage("shop/find order", "toolu_1", '{"where": {"x": 1}}')
    broken = ToolCallMessage("get_weather", "toolu_2", '{"location": ')
    said = Answer(messages=(TextMessage("Hm.", role=_ASSISTANT), called, broken), provider="anthropic", content=[1])
    results = [ToolResultMessage("toolu_1", None), ToolResultMessage("toolu_2", "bad JSON", success=False)]
    body = request(asking(TextMessage("Go."), said, *results))
    text, first, second = body["contents"][1]["parts"]
    assert text == {"text": "Hm."}
    assert first["functionCall"] == {"id": "toolu_1", "name": "shop_find_order", "args": {"where": {"x": 1}}}
    assert second["functionCall"]["args"] == {"arguments": '{"location": '}
    assert [first.get("thoughtSignature"), second.get("thoughtSignature")] == ["skip_thought_signature_validator", None]
    assert [part["functionResponse"]["id"] for part in body["contents"][2]["parts"]] == ["toolu_1", "toolu_2"]
    check(body)
    older = request(asking(TextMessage("Go."), said, *results, model="gemini-2.5-pro"))
    assert "thoughtSignature" not in older["contents"][1]["parts"][1]


def test_keys_gemini_refuses_are_renamed_both_ways() -> None:
    size: dict[str, Any] = {"type": "object", "properties": {"größe": {"type": "integer"}}}
    tool = ToolShape(
        "measure",
        "Measure.",
        {**size, "properties": {**size["properties"], "things": {"type": "array", "items": size}}},
    )
    prompt = asking(tools=(tool,))
    (declared,) = request(prompt)["tools"][0]["functionDeclarations"]
    schema = declared.get("parameters") or declared["parametersJsonSchema"]
    (sent,) = [key for key in schema["properties"] if key != "things"]
    assert sent.isascii()
    called = {"name": "measure", "args": {sent: 3, "things": [{sent: 4}]}}
    said = answer(response({"functionCall": called}), prompt)
    assert said.calls[0].arguments == {"größe": 3, "things": [{"größe": 4}]}
    foreign = Answer(messages=said.messages, provider="openai")
    result = ToolResultMessage(said.calls[0].id, 4)
    body = request(asking(TextMessage("Go."), foreign, result, tools=(tool,)))
    assert body["contents"][1]["parts"][0]["functionCall"] == called


def test_calls_of_several_turns_have_distinct_ids() -> None:
    first = answer(response(call("Paris"), call("Rome")), asking())
    entries = (TextMessage("Go."), first, *[ToolResultMessage(each.id, "sunny") for each in first.calls])
    second = answer(response(call("Oslo")), asking(*entries))
    assert len({call.id for call in (*first.calls, *second.calls)}) == 3


@pytest.mark.parametrize("content", [None, {}, {"role": "model", "parts": []}, {"parts": [{"text": ""}]}])
def test_empty_answer_is_not_sent_back(content: Any) -> None:  # noqa: ANN401 - what a test made
    body = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "f(", "content": content}]}
    said = answer(body, asking())
    assert (said.messages, said.stop_reason, said.details["finishMessage"]) == ((), "malformed", "f(")
    sent = request(asking(TextMessage("Hello"), said, TextMessage("Again, please.")))
    assert [content["role"] for content in sent["contents"]] == ["user", "user"]


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"])
def test_text_before_failed_call_is_not_sent_back(reason: str) -> None:
    said = answer(response({"text": "I look."}, finish=reason), asking())
    assert (said.text, said.stop_reason) == ("I look.", "malformed")
    sent = request(asking(TextMessage("Hello"), said))
    assert sent["contents"] == [{"role": "user", "parts": [{"text": "Hello"}]}]


def test_call_in_failed_answer_returns_with_its_result() -> None:
    said = answer(response(call("Paris"), finish="UNEXPECTED_TOOL_CALL"), asking())
    sent = request(asking(TextMessage("Hello"), said, ToolResultMessage(said.calls[0].id, "sunny")))
    assert [[*part] for content in sent["contents"] for part in content["parts"]] == [
        ["text"],
        ["functionCall"],
        ["functionResponse"],
    ]


def test_calls_with_equal_ids_are_distinguished() -> None:
    twice = [{"functionCall": {"id": "a", "name": "get_weather", "args": {"location": each}}} for each in "xy"]
    said = answer(response(*twice), asking())
    results = [ToolResultMessage(each.id, str(number)) for number, each in enumerate(said.calls)]
    sent = request(asking(TextMessage("Hello"), said, *results))
    given = [part["functionResponse"]["response"]["output"] for part in sent["contents"][-1]["parts"]]
    assert given == ["0", "1"]


def test_a_paused_answer_goes_on_by_its_token() -> None:
    body = response({"text": "Half"}, finish="CONTINUATION")
    body["candidates"][0]["continuationToken"] = "dG9rZW4="
    said = answer(body, asking())
    sent = request(asking(TextMessage("Hello"), said))
    assert said.stop_reason == "pause"
    assert sent["contents"] == [{"role": "user", "parts": [{"text": "Hello"}]}]
    assert sent["continuationToken"] == "dG9rZW4="
    later = request(
        asking(TextMessage("Hello"), said, answer(response({"text": "done"}), asking()), TextMessage("More"))
    )
    assert "continuationToken" not in later
    assert [content["role"] for content in later["contents"]] == ["user", "model", "model", "user"]


@dataclass(frozen=True)
class OtherMessage(Message):
    role: MessageRole = MessageRole.USER  # pyright: ignore[reportIncompatibleMethodOverride] - a field


def test_unknown_message_type_is_refused() -> None:
    with pytest.raises(ProviderError, match="no part for a OtherMessage"):
        request(asking(OtherMessage()))
    for data in ("?", "é"):
        with pytest.raises(ProviderError, match="no base64"):
            request(asking(ImageMessage(url=f"data:image/png;base64,{data}")))


def test_order_gemini_refuses_is_refused_before_sending() -> None:
    said = answer(response(call("Paris")), asking())
    with pytest.raises(ProviderError, match="before the results"):
        request(asking(TextMessage("Hello"), said, cast("Entry", TextMessage("Well?"))))


_texts = st.text(max_size=3)
_said: st.SearchStrategy[list[Entry]] = st.lists(
    st.one_of(
        st.builds(TextMessage, _texts, role=st.sampled_from([MessageRole.USER, _ASSISTANT])),
        st.builds(ImageMessage, st.binary(max_size=3), role=st.sampled_from([MessageRole.USER, _ASSISTANT])),
    ),
    max_size=3,
)
_parts: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.fixed_dictionaries({"text": _texts}) | st.builds(call, _texts), max_size=4
)


@given(st.lists(st.tuples(_said, _parts, st.booleans()), max_size=4), _said, st.randoms())
def test_every_conversation_is_one_that_gemini_takes(
    turns: list[tuple[list[Entry], list[dict[str, Any]], bool]],
    last: list[Entry],
    random: Any,  # noqa: ANN401 - a random.Random
) -> None:
    entries: list[Entry] = [TextMessage("Hello"), TextMessage("Be kind.", role=MessageRole.SYSTEM)]
    for before, parts, is_own in turns:
        said = answer(response(*parts), asking(*entries))
        entries += [*before, said if is_own else replace(said, provider="anthropic", content=[])]
        results: list[Entry] = [ToolResultMessage(each.id, 1, success=random.random() < 0.5) for each in said.calls]
        random.shuffle(results)
        entries += results
    check(request(asking(*entries, *last)))
