"""The example of the document on conversations, run as it is printed, against a server that refuses mistakes."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from ez_ptc.conversation.builder import llm
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, ToolCallMessage, ToolResultMessage
from tests.providers.anthropic.refusals import problems
from tests.providers.anthropic.server import anthropic_server
from tests.seeds.documents import read

_Json = dict[str, Any]

_BOUND = 60
_NAMES = {"llm": llm, "ToolCallMessage": ToolCallMessage, "ToolResultMessage": ToolResultMessage}


def _call(number: int, location: str) -> list[_Json]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "get_weather", "input": {"location": location}}
    return [{"type": "text", "text": "I look."}, call]


@pytest.fixture
def printed(shared_folder: Path) -> str:
    """The example, whose function awaits and is therefore an asynchronous one."""
    return read(shared_folder, "004").python("Example Test Scenario").replace("def test_", "async def test_", 1)


def _defined(printed: str, name: str) -> Any:  # noqa: ANN401 - whatever the page defines
    namespace: _Json = dict(_NAMES)
    exec(compile(printed, "<seed>", "exec", dont_inherit=True), namespace)
    return namespace[name]


async def test_example_runs_as_printed(printed: str, anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    example = cast("Callable[[], Coroutine[None, None, None]]", _defined(printed, "test_tool_calling_conversation"))
    answers = [_call(1, "Paris"), "It is sunny in Paris.", _call(2, "London"), "It is sunny there, too."]
    with anthropic_server(*answers) as server, anyio.fail_after(_BOUND):
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        await example()

    assert len(server.requests) == 4
    last = server.bodies[-1]
    assert last["system"] == "You are a helpful assistant"
    assert [tool["name"] for tool in last["tools"]] == ["get_weather"]
    assert [each["role"] for each in last["messages"]] == ["user", "assistant"] * 3 + ["user"]
    assert "Weather in London: Sunny" in last["messages"][-1]["content"][0]["content"]


async def test_the_examples_conversation_can_be_streamed(
    printed: str, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _, _ = printed.partition("messages, continuation")
    get_weather = _defined("if True:" + before.split('"""', maxsplit=2)[2], "get_weather")
    answers = [_call(1, "Paris"), "It is sunny in Paris.", _call(2, "London"), "It is sunny there, too."]
    with anthropic_server(*answers) as server, anyio.fail_after(_BOUND):
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        begun = llm().agent("You are a helpful assistant").tools([get_weather])
        stream = begun.astream("What's the weather in Paris?")
        told = [each async for each in stream]
        more = stream.continuation.astream("What about London?")
        final = [each async for each in more]

    assert all(body["stream"] for body in server.bodies)
    pieces = "".join(each.text for each in told if isinstance(each, TextDelta))
    assert pieces == "I look.It is sunny in Paris."
    assert [type(each) for each in told if not isinstance(each, TextDelta)] == [
        ToolCallMessage,
        Answer,
        ToolResultMessage,
        Answer,
    ]
    assert "London" in str([each for each in final if isinstance(each, ToolResultMessage)])
    assert len(more.continuation.messages) == len(stream.continuation.messages) * 2 - 1


_USER: _Json = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
_CALLS: _Json = {"role": "assistant", "content": _call(1, "Paris")}
_THOUGHT: _Json = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]}
_RESULT: _Json = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}
_RESULTS: _Json = {"role": "user", "content": [_RESULT]}
_TOOL: _Json = {"name": "get_weather", "input_schema": {"type": "object"}}


_SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Ada"}}


def _body(*messages: _Json, **others: Any) -> _Json:
    return {"model": "claude", "max_tokens": 5, "messages": [*messages], "tools": [_TOOL], **others}


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (_body(_USER, _CALLS), "`tool_use` ids were found without `tool_result`"),
        (_body(_USER, _CALLS, _USER), "`tool_use` ids were found without `tool_result`"),
        (_body(_USER, _CALLS, _USER, _CALLS, _RESULTS), "ids must be unique"),
        (_body(_USER, _RESULTS), "unexpected `tool_use_id`"),
        (_body(_USER, _CALLS, {"role": "user", "content": [*_USER["content"], _RESULT]}), "text comes before"),
        (_body(_USER, _THOUGHT), "cannot be `thinking`"),
        (_body(_USER, {"role": "assistant", "content": [_SEARCH]}, _USER), "`server_tool_use` without its result"),
        (_body(), "at least one message"),
        (_body({"role": "user", "content": []}), "must not be empty"),
        (_body({"role": "user", "content": " "}), "must be non-empty"),
        (_body(_USER, system=""), "must be non-empty"),
        (_body(_USER, flavour="mint"), "flavour: Extra inputs"),
        (_body({**_USER, "name": "Ann"}), "messages.0.name: Extra inputs"),
        (_body(_USER, tools=[{**_TOOL, "name": "get weather"}]), "should match pattern"),
        (_body(_USER, tools=[_TOOL, _TOOL]), "must be unique"),
        (_body(_USER, tool_choice={"type": "tool", "name": "sell"}), "not found"),
        (_body(_USER, tools=[], tool_choice={"type": "any"}), "only be specified while providing tools"),
        ({"model": "claude", "messages": [_USER]}, "max_tokens: Field required"),
    ],
)
def test_fake_server_refuses_what_real_one_refuses(body: _Json, refusal: str) -> None:
    assert refusal in "; ".join(problems(body))


def test_fake_server_accepts_what_real_one_accepts() -> None:
    assert problems(_body(_USER, _CALLS, _RESULTS, tool_choice={"type": "any"})) == []
    # The API itself takes it, other clouds with the same models do not (anthropics/anthropic-sdk-typescript#622).
    assert problems(_body(_CALLS, _RESULTS)) == []
