"""Everything that the recordings have of OpenAI's two APIs, read by our parsers and asked again by our requests.

What a request made of our entries has otherwise than the recorded one says the same. In Chat Completions:

- what is null or empty in an answer that goes back is left out;
- a conversation in which nobody asks anything is none of ours: a question is put before both.

In Responses:

- one text as the whole `input`, or as the one part of a message, is a message with that text; a person's message has no
  `type`, and an image in it has its `detail`;
- `store` is always said, true where a request goes on from a stored answer, and `include` asks reasoning models for
  their reasoning; each tool says whether it is strict;
- what a tool gave back that is not text goes as JSON text;
- an answer goes back as it came: with what the recording client has left out of it (ids, `status`, `logprobs`,
  `annotations`, nulls, and the image itself of a generated one). The client has put an empty summary into reasoning
  without one, and has the encryption of a streamed item from the item's own event, where ours is the last event's.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from ez_ptc.errors import AuthenticationError, ProviderError
from ez_ptc.formats.content import as_text
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.openai_responses.stream import AnswerStream
from ez_ptc.messages import Answer
from ez_ptc.providers.openai_chat import OpenAIChatProvider
from ez_ptc.providers.openai_responses import OpenAIProvider
from ez_ptc.providers.provider import ProviderConnection
from tests.formats.openai_types import check_chat, check_responses
from tests.providers.loopback import LoopbackServer, Reply
from tests.recordings.cassettes import Interaction
from tests.recordings.openai_traffic import (
    ASKED,
    SERVER_SIDE_INPUT,
    answer_of,
    chat,
    chat_prompt,
    events,
    responses,
    responses_prompt,
)

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

_NO_RETRY: Final = {"x-should-retry": "false"}
_NO_SUMMARY: Final = {"type": "summary_text", "text": ""}
_QUESTION: Final = {"role": "user", "content": "?"}
# As many as these packages have: a parser that reads less of the recordings fails.
_FOUND: Final = {
    "chat": {"whole": 233, "streamed": 84, "error": 12},
    "responses": {"whole": 65, "streamed": 142, "error": 1},
}


def _words(interaction: Interaction) -> str | None:
    """Return the provider's own words where an interaction is an error."""
    body = None if interaction.is_stream else interaction.json
    if not isinstance(body, dict):
        return None
    error = cast("dict[str, Any]", body).get("error")
    if interaction.status != 200 and error is None:
        return cast("str", body["detail"])
    return None if error is None else cast("str", error["message"])


def _reply(interaction: Interaction) -> Reply:
    body = (interaction.body,) if interaction.is_stream else interaction.body
    return Reply(body=body, status=interaction.status, headers=_NO_RETRY)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_recorded_answers_are_read_and_errors_quoted(kind: str, anyio_backend: str) -> None:
    recorded = chat() if kind == "chat" else responses()
    make = OpenAIChatProvider if kind == "chat" else OpenAIProvider
    found: Counter[str] = Counter()
    with LoopbackServer(*map(_reply, recorded)) as server:
        async with make("m", base_url=server.url).connect() as connection:
            for interaction in recorded:
                came, said = await _asked(connection, is_streamed=interaction.is_stream)
                words = _words(interaction)
                if isinstance(came, Answer):
                    assert words is None, f"{interaction} is an error: {words}"
                    assert said == came.text, f"{interaction}"
                    found["streamed" if interaction.is_stream else "whole"] += 1
                else:
                    assert words is not None, f"{interaction} is no error: {came}"
                    assert words in str(came)
                    assert isinstance(came, AuthenticationError) == (interaction.status == 401)
                    found["error"] += 1
    assert found == _FOUND[kind]


async def _asked(connection: ProviderConnection, *, is_streamed: bool) -> tuple[Answer | ProviderError, str]:
    """Return the answer, or what is raised instead, and the text that came in pieces."""
    said: list[str] = []
    try:
        if not is_streamed:
            answer = await connection.answer(ASKED)
            return answer, answer.text
        async with aclosing(connection.stream(ASKED)) as told:
            async for event in told:
                if isinstance(event, Answer):
                    return event, "".join(said)
                said.append(event.text)
    except ProviderError as error:
        return error, ""
    pytest.fail("the stream ended without an answer, and without an error")


def test_completions_match_what_sdk_reads() -> None:
    for interaction in chat():
        if interaction.status != 200 or _words(interaction):
            continue
        answer, _ = answer_of(interaction)
        completion = _by_the_sdk(interaction)
        message = completion.choices[0].message
        if cast("object", message) is None:
            assert (answer.messages, answer.stop_reason) == ((), "refusal")
            continue
        assert answer.text == (message.content or "") + (message.refusal or "")
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - all that were recorded are functions
        if not message.function_call:
            assert [(call.id, call.name, call.arguments) for call in answer.calls] == calls
        else:
            assert [call.name for call in answer.calls] == [message.function_call.name]
        usage = completion.usage
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (
            (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
        )


def _by_the_sdk(interaction: Interaction) -> "ChatCompletion":
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

    if not interaction.is_stream:
        return ChatCompletion.construct(**interaction.json)
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for event in events(interaction):
        state.handle_chunk(ChatCompletionChunk.construct(**event))
    return state.current_completion_snapshot


def test_streamed_response_matches_last_event_and_items() -> None:
    for interaction in responses():
        if not interaction.is_stream:
            continue
        answer, _ = answer_of(interaction)
        *before, last = events(interaction)
        assert answer == responses_turns.answer(last["response"], ASKED)
        stream = AnswerStream(ASKED)
        for event in before:
            stream.feed(event)
        stream.feed({**last, "response": {**last["response"], "output": []}})
        assert _unencrypted(stream.answer().content) == _unencrypted(answer.content)


def _unencrypted(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in item.items() if key != "encrypted_content"} for item in items]


def test_recorded_chat_requests_are_made_again_from_our_entries() -> None:
    for interaction in chat():
        recorded = {name: value for name, value in interaction.request.items() if name != "stream"}
        if not any(message["role"] == "user" for message in recorded["messages"]):
            recorded["messages"] = [_QUESTION, *recorded["messages"]]
        ours = openai_turns.request(chat_prompt(recorded))
        recorded["messages"] = [_without_nothing(message) for message in recorded["messages"]]
        assert ours == recorded, f"{interaction}"
        check_chat(ours)


def _without_nothing(message: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if value is not None and value != []}


def test_recorded_responses_requests_are_made_again_from_our_entries() -> None:
    earlier: defaultdict[str, list[Answer]] = defaultdict(list)
    found: Counter[str] = Counter()
    for interaction in responses():
        cassette = interaction.cassette.partition("#")[0]
        recorded = {name: value for name, value in interaction.request.items() if name != "stream"}
        if _is_sayable(recorded):
            prompt = responses_prompt(recorded, earlier[cassette])
            ours = responses_turns.request(prompt)
            assert _differences(ours, recorded) == [], f"{interaction}"
            answers = [entry for entry in prompt.entries if isinstance(entry, Answer)]
            is_whole = all(answer in earlier[cassette] for answer in answers)
            if is_whole:  # not what the recording client had of an answer that was not recorded
                tools = [tool for tool in ours.get("tools", []) if "defer_loading" not in tool]  # the client's own
                check_responses({**ours, "tools": tools})
            found["first turn" if not answers else "next turn" if is_whole else "made up"] += 1
        else:
            found["not sayable"] += 1
        if _words(interaction) is None:
            earlier[cassette].append(answer_of(interaction)[0])
    assert found == {"first turn": 159, "next turn": 22, "made up": 11, "not sayable": 16}


def _is_sayable(recorded: Mapping[str, Any]) -> bool:
    """Say whether a request says nothing but text, images and results."""
    if isinstance(recorded["input"], str):
        return True
    items = cast("list[dict[str, Any]]", recorded["input"])
    parts = [part for item in items if isinstance(item.get("content"), list) for part in item["content"]]
    kinds = {each.get("type") for each in (*items, *parts)}
    return not kinds & {*SERVER_SIDE_INPUT, "input_file"}


def _differences(ours: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str]:
    """Return where a request of ours differs from a recorded one by more than the docstring above says."""
    expected = {"store": "previous_response_id" in recorded, **recorded}
    if "include" in ours and not recorded.get("store"):
        expected["include"] = ["reasoning.encrypted_content"]
    if "tools" in recorded:
        expected["tools"] = [_with_strict(tool) for tool in recorded["tools"]]
    items = recorded["input"]
    items = [{"role": "user", "content": items}] if isinstance(items, str) else [_as_ours(item) for item in items]
    return [
        *(name for name in {**ours, **expected} if name != "input" and _sorted(ours, name) != _sorted(expected, name)),
        *([] if len(items) == len(ours["input"]) else ["the number of items"]),
        *(f"{sent} for {said}" for sent, said in zip(ours["input"], items, strict=False) if not _says(sent, said)),
    ]


def _with_strict(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    is_plain = tool["type"] == "function" and "defer_loading" not in tool
    return {**tool, "strict": tool.get("strict", False)} if is_plain else tool


def _sorted(body: Mapping[str, Any], name: str) -> object:
    return (
        sorted(json.dumps(tool, sort_keys=True) for tool in body[name])
        if name == "tools" and name in body
        else body.get(name, "nothing")
    )


def _as_ours(item: Mapping[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call_output":
        return {**item, "output": as_text(item["output"])}
    if item.get("role") != "user":
        return {**item}
    content = item["content"]
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        texts = [part["text"] for part in parts if part["type"] == "input_text"]
        content = texts[0] if len(texts) == len(parts) == 1 else [_with_detail(part) for part in parts]
    return {"role": "user", "content": content}


def _with_detail(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"detail": "auto", **part} if part["type"] == "input_image" else {**part}


def _says(sent: Any, said: Any) -> bool:  # noqa: ANN401 - any JSON
    """Say whether something sent has all that was said."""
    if isinstance(said, dict):
        fields = cast("dict[str, Any]", said)
        if fields.get("role") == "user" or fields.get("type") == "function_call_output":
            return sent == said
        return all(
            bool(sent.get(key)) if key == "encrypted_content" else _says(sent.get(key), value)
            for key, value in fields.items()
        )
    if isinstance(said, list):
        if said == [_NO_SUMMARY]:
            return sent in ([], said)
        return len(sent) == len(cast("list[object]", said)) and all(map(_says, sent, cast("list[object]", said)))
    return sent == said
