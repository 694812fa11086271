"""`OpenAIChatProvider`, through the official SDK, against a server on loopback."""

import sys

import pytest

from ez_ptc.conversation.builder import llm
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, MissingExtraError, ProviderError
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, TextMessage, ToolCallMessage, ToolResultMessage, Usage
from ez_ptc.providers.openai_chat import OpenAIChatProvider, list_models
from tests.providers.loopback import NOWHERE, LoopbackServer, Reply, sse
from tests.providers.openai.chat_server import ChatServer
from tests.providers.openai.replies import completion, completion_chunks

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
ANOTHER = {"id": "call_2", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing about OpenAI in the environment."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny"


def asking(server: LoopbackServer, api_key: str | None = None) -> OpenAIChatProvider:
    return OpenAIChatProvider("scripted", base_url=server.url, api_key=api_key)


def test_conversation_is_sent_unchanged() -> None:
    with LoopbackServer(Reply(body=completion("Good bye"))) as server:
        asked = llm().provider(asking(server, api_key="secret")).agent("Be brief.")
        messages, asked = asked.context("Hello").assistant("Yes?").converse("Bye", temperature=0, max_tokens=50)
    assert server.bodies == [
        {
            "model": "scripted",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Yes?"},
                {"role": "user", "content": "Bye"},
            ],
            "temperature": 0,
            "max_tokens": 50,
        }
    ]
    assert server.requests[0].headers["authorization"] == "Bearer secret"
    assert str(messages[-1]) == "Good bye"
    assert asked.usage == Usage(input_tokens=12, output_tokens=3, cached_tokens=4, reasoning_tokens=1)


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_calls_run_and_results_return_in_one_turn(is_streamed: bool) -> None:
    deltas = [{"role": "assistant", "tool_calls": [{"index": at, **call}]} for at, call in enumerate([CALL, ANOTHER])]
    chunks = [completion_chunks(*deltas, finish_reason="tool_calls"), completion_chunks("Both ", "are sunny.")]
    wholes = [completion(tool_calls=[CALL, ANOTHER]), completion("Both are sunny.")]
    replies = [Reply(body=sse(*each)) for each in chunks] if is_streamed else [Reply(body=each) for each in wholes]
    with LoopbackServer(*replies) as server:
        asked = llm().provider(asking(server)).tools(get_weather)
        if is_streamed:
            stream = asked.stream("Oslo and Rome?")
            told = list(stream)
            continuation = stream.continuation
        else:
            told, continuation = asked.converse("Oslo and Rome?")
    assert [each.tool_call_id for each in told if isinstance(each, ToolCallMessage)] == ["call_1", "call_2"]
    assert [each.result for each in told if isinstance(each, ToolResultMessage)] == ["Oslo: sunny", "Rome: sunny"]
    assert continuation.text == "Both are sunny."
    assert [message["role"] for message in server.bodies[1]["messages"]] == ["user", "assistant", "tool", "tool"]
    assert server.bodies[1]["messages"][1]["tool_calls"] == [CALL, ANOTHER]
    assert ("stream_options" in server.bodies[0]) is is_streamed


def test_stream_requests_usage_unless_unsupported() -> None:
    with LoopbackServer(*[Reply(body=sse(*completion_chunks("ok")))] * 2) as server:
        [*_, answer] = llm().provider(asking(server)).stream("Hello")
        list(llm().provider(asking(server)).options(stream_options=None).stream("Hello"))
    assert isinstance(answer, Answer)
    assert answer.usage.input_tokens == 12
    assert [body["stream_options"] for body in server.bodies] == [{"include_usage": True}, None]


def test_answer_without_usage_has_unknown_usage() -> None:
    with LoopbackServer(Reply(body={**completion("ok"), "usage": None})) as server:
        _, asked = llm().provider(asking(server)).converse("Hello")
    assert asked.usage == Usage()


def test_openai_itself_wants_a_key() -> None:
    with pytest.raises(AuthenticationError, match="set OPENAI_API_KEY"):
        OpenAIChatProvider("gpt")
    OpenAIChatProvider("gpt", api_key="k")


def test_the_usual_environment_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert OpenAIChatProvider().model
    with LoopbackServer(Reply(body=completion("ok"))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert llm().provider(OpenAIChatProvider("m")).prompt("Hello") == "ok"
    assert server.requests[0].headers["authorization"] == "Bearer secret"


def test_environment_key_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with LoopbackServer(Reply(body=completion("ok"))) as server:
        llm().provider(OpenAIChatProvider("m", base_url=server.url)).prompt("Hello")
    assert "secret" not in str(server.requests)


def test_structured_answer_is_requested_with_its_schema() -> None:
    with LoopbackServer(Reply(body=completion('{"answer": 4}'))) as server:
        assert asking(server).supports_output_schema()
        assert llm().provider(asking(server)).prompt_for_type(int, "2 + 2?") == 4
    assert server.bodies[0]["response_format"]["json_schema"]["strict"] is True


@pytest.mark.anyio
async def test_a_prompt_may_name_the_model(anyio_backend: str) -> None:
    with LoopbackServer(*[Reply(body=completion("ok"))] * 2) as server:
        async with asking(server).connect() as connection:
            for model in ("", "another"):
                await connection.answer(Prompt(model=model, entries=(TextMessage("Hello"),)))
    assert [body["model"] for body in server.bodies] == ["scripted", "another"]


def test_the_models_of_a_server_are_listed() -> None:
    with ChatServer(models=("small", "large")) as server:
        assert list_models(base_url=server.url) == ["small", "large"]


def test_models_of_unreachable_server_are_empty() -> None:
    with pytest.raises(ConnectionFailedError, match="cannot be reached"):
        list_models(base_url=NOWHERE)
    with LoopbackServer() as server, pytest.raises(ProviderError, match="404"):
        list_models(base_url=server.url)


def test_missing_sdk_error_gives_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r'pip install "openai>=3"'):
        OpenAIChatProvider("m", base_url="http://127.0.0.1:1/v1")
