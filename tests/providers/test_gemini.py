import sys
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from ez_ptc import ez_tool, llm
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, MissingExtraError, ProviderError, RateLimitError
from ez_ptc.formats.prompt import Event, Prompt, TextDelta
from ez_ptc.messages import Answer, TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.providers.gemini import GeminiProvider
from ez_ptc.providers.lookup import choose
from tests.formats.gemini.bodies import refusal
from tests.providers.loopback import NOWHERE, Fault, LoopbackServer, Reply, Request, sse

_MODEL = "gemini-3.8-flash"
_BOUND = 60


@ez_tool
def get_weather(location: str) -> str:
    """Say what the weather is like."""
    return f"sunny in {location}"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"):
        monkeypatch.delenv(name, raising=False)
    return iter(())


def _prompt(text: str = "Weather in Paris?", **changes: Any) -> Prompt:
    return Prompt(model=_MODEL, entries=(TextMessage(text),), tools=(get_weather,), **changes)


def _response(*parts: dict[str, Any], finish: str | None = "STOP", **others: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": _MODEL, "responseId": "r1", **others}


def _error(status: int, message: str, *details: dict[str, Any], headers: dict[str, str] | None = None) -> Reply:
    body = {"error": {"code": status, "message": message, "status": "SOMETHING", "details": list(details)}}
    return Reply(status=status, body=body, headers={"retry-after": "0"} if headers is None else headers)


async def _answer(server: LoopbackServer, prompt: Prompt | None = None, *, timeout: float = _BOUND) -> Answer:  # noqa: ASYNC109 - the provider's own
    with anyio.fail_after(_BOUND):
        async with GeminiProvider(_MODEL, api_key="k", base_url=server.url, timeout=timeout).connect() as connection:
            return await connection.answer(prompt or _prompt())


async def _events(server: LoopbackServer, prompt: Prompt | None = None, *, timeout: float = _BOUND) -> list[Event]:  # noqa: ASYNC109 - the provider's own
    with anyio.fail_after(_BOUND):
        async with GeminiProvider(_MODEL, api_key="k", base_url=server.url, timeout=timeout).connect() as connection:
            return [event async for event in connection.stream(prompt or _prompt())]


async def test_conversation_is_sent_and_answer_returned_whole(anyio_backend: str) -> None:
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 7, "newCount": {"a": 1}}
    call = {
        "functionCall": {"name": "get_weather", "args": {"location": "Paris"}},
        "thoughtSignature": "c2ln",
        "new": 1,
    }
    with LoopbackServer(
        Reply(body=_response(call, usageMetadata=usage)), Reply(body=_response({"text": "Sunny."}))
    ) as server:
        first = await _answer(server)
        (message,) = first.messages
        assert isinstance(message, ToolCallMessage)
        assert first.content == {"role": "model", "parts": [call]}
        assert (first.usage.input_tokens, first.usage.output_tokens) == (9, 11)
        entries = (*_prompt().entries, first, ToolResultMessage(message.tool_call_id, "sunny", tool_name="get_weather"))
        second = await _answer(server, Prompt(model=_MODEL, entries=entries, tools=(get_weather,)))
    assert second.text == "Sunny."
    sent = server.requests[1]
    assert sent.path == f"/v1/models/{_MODEL}:generateContent"
    assert sent.headers["x-goog-api-key"] == "k"
    assert sent.body["contents"] == [
        {"role": "user", "parts": [{"text": "Weather in Paris?"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": {"output": "sunny"}}}]},
    ]


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_conversation_with_tools_is_one_that_gemini_takes(streaming: bool, anyio_backend: str) -> None:
    calls = [{"functionCall": {"name": "get_weather", "args": {"location": city}}} for city in ("Paris", "Rome")]

    def reply(request: Request) -> Reply:
        if (problem := refusal(request.body)) is not None:
            return _error(400, problem)
        said = [{"text": "Both are sunny."}] if len(request.body["contents"]) > 1 else calls
        return Reply(body=sse(_response(*said)) if "stream" in request.path else _response(*said))

    with LoopbackServer(reply) as server, anyio.fail_after(_BOUND):
        provider = GeminiProvider(_MODEL, api_key="k", base_url=server.url)
        asked = llm().agent("Be short.").tool(get_weather).provider(provider)
        stream = asked.astream("Weather in Paris and Rome?", streaming=streaming)
        told = [each async for each in stream]
        assert stream.continuation.text == "Both are sunny."
        assert [each.result for each in told if isinstance(each, ToolResultMessage)] == [
            "sunny in Paris",
            "sunny in Rome",
        ]
        assert await stream.continuation.aprompt("Thanks!") == "Both are sunny."
    assert len(server.bodies[-1]["contents"]) == 5


async def test_fields_that_the_sdk_does_not_know_are_sent(anyio_backend: str) -> None:
    options = {"futureField": {"a_b": [1, {"camelCase": None}]}, "generationConfig": {"futureToo": 1}}
    with LoopbackServer(Reply(body=_response({"text": "Yes."}))) as server:
        await _answer(server, _prompt(options=options, temperature=0.0))
    assert server.bodies[0]["futureField"] == options["futureField"]
    assert server.bodies[0]["generationConfig"] == {"temperature": 0.0, "futureToo": 1}


async def test_answer_is_streamed_then_given_whole(anyio_backend: str) -> None:
    pieces = (_response({"text": "Sun\u2028"}, finish=None), _response({"text": "ny."}))
    with LoopbackServer(Reply(body=sse(*pieces))) as server:
        *deltas, answer = await _events(server)
    assert deltas == [TextDelta("Sun\u2028"), TextDelta("ny.")]
    assert isinstance(answer, Answer)
    assert answer.content == {"role": "model", "parts": [{"text": "Sun\u2028ny."}]}
    assert server.requests[0].path == f"/v1/models/{_MODEL}:streamGenerateContent?alt=sse"


async def test_unfinished_stream_leaves_nothing_behind(anyio_backend: str) -> None:
    pieces = [_response({"text": "on "}, finish=None)] * 3
    with LoopbackServer(Reply(body=sse(*pieces), fault=Fault.STALL, sent=2)) as server, anyio.fail_after(_BOUND):
        async with GeminiProvider(_MODEL, api_key="k", base_url=server.url).connect() as connection:
            stream = connection.stream(_prompt())
            assert await anext(stream) == TextDelta("on ")
            await stream.aclose()


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (_error(401, "no"), AuthenticationError, "401: no; is GEMINI_API_KEY"),
        (_error(403, "denied"), AuthenticationError, "denied"),
        (_error(400, "API key not valid", {"reason": "API_KEY_INVALID"}), AuthenticationError, "GEMINI_API_KEY"),
        (_error(400, "number of function response parts"), ProviderError, "number of function response parts"),
        (_error(404, "no such model"), ProviderError, "no such model"),
        (Reply(status=418, body="a teapot"), ProviderError, "418: a teapot"),
        (Reply(status=400, body=[[1]]), ProviderError, "400"),
        (Reply(status=400, body={"error": {"message": 5, "details": [5, {"reason": []}]}}), ProviderError, "400"),
        (Reply(status=400, body=b"\xff{"), ProviderError, "no usable answer"),
        (Reply(body="<html>", headers={"Content-Type": "text/html"}), ProviderError, "<html>"),
        (Reply(body='{"candidates": [{"content":'), ProviderError, "before the answer was complete"),
        (Reply(body="[" * 100_000), ProviderError, "invalid JSON"),
        (Reply(body=[1]), ProviderError, "other than an object"),
        (Reply(body={"candidates": "no"}), ProviderError, "answer.candidates"),
    ],
)
@pytest.mark.sampled(every=4)
async def test_errors_quote_the_provider(reply: Reply, kind: type[Exception], text: str, anyio_backend: str) -> None:
    for ask in (_answer, _events):
        with LoopbackServer(reply) as server:
            with pytest.raises(kind, match=text.replace("(", r"\(") if ask is _answer else "Gemini"):
                await ask(server)
            assert len(server.requests) == 1


async def test_rate_limit_is_retried_then_reports_the_wait(anyio_backend: str) -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}
    server = LoopbackServer(*[_error(429, "slow down", retry, headers={})] * 3)
    with server, pytest.raises(RateLimitError, match="slow down") as caught:
        await _answer(server)
    assert caught.value.retry_after == 0.01
    assert len(server.requests) == 3


async def test_too_long_wait_is_left_to_caller(anyio_backend: str) -> None:
    server = LoopbackServer(_error(429, "tomorrow", headers={"retry-after": "3600"}))
    with server, pytest.raises(RateLimitError) as caught:
        await _answer(server)
    assert (caught.value.retry_after, len(server.requests)) == (3600, 1)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_attempt_that_fails_for_now_is_made_again(status: int, anyio_backend: str) -> None:
    with LoopbackServer(_error(status, "busy"), Reply(body=_response({"text": "Now."}))) as server:
        assert (await _answer(server)).text == "Now."
    with LoopbackServer(_error(status, "busy"), Reply(body=sse(_response({"text": "Now."})))) as server:
        assert (await _events(server))[0] == TextDelta("Now.")


async def test_unreachable_server_is_reported(anyio_backend: str) -> None:
    with anyio.fail_after(_BOUND):
        async with GeminiProvider(_MODEL, base_url=NOWHERE).connect() as connection:
            with pytest.raises(ConnectionFailedError, match="connection to Gemini failed"):
                await connection.answer(_prompt())


async def test_invalid_address_is_reported(anyio_backend: str) -> None:
    async with GeminiProvider(_MODEL, base_url="http://[").connect() as connection:
        with pytest.raises(ProviderError, match="Invalid IPv6 URL"):
            await connection.answer(_prompt())


async def test_typed_answer_is_requested_by_schema(anyio_backend: str) -> None:
    with LoopbackServer(Reply(body=_response({"text": '{"answer": [1, 2]}'}))) as server:
        provider = GeminiProvider(_MODEL, api_key="k", base_url=server.url)
        value = await llm().provider(provider).aprompt_for_type(list[int], "Count.")
    assert value == [1, 2]
    generation = server.bodies[0]["generationConfig"]
    assert generation["responseMimeType"] == "application/json"
    assert generation["responseJsonSchema"]["properties"] == {"answer": {"type": "array", "items": {"type": "integer"}}}


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CLOSE])
async def test_broken_answer_is_an_error(fault: Fault, anyio_backend: str) -> None:
    server = LoopbackServer(Reply(body=_response({"text": "half"}), fault=fault))
    with server, pytest.raises(ConnectionFailedError):
        await _answer(server)
    events = sse(_response({"text": "half"}, finish=None), _response({"text": " an answer"}))
    with LoopbackServer(Reply(body=events, fault=fault, sent=1)) as server:
        with pytest.raises(ConnectionFailedError):
            await _events(server)
        assert len(server.requests) == 1


async def test_stream_that_ends_early_is_an_error(anyio_backend: str) -> None:
    server = LoopbackServer(Reply(body=sse(_response({"text": "half"}, finish=None))))
    with server, pytest.raises(ConnectionFailedError, match="ended before the answer was complete"):
        await _events(server)
    server = LoopbackServer(Reply(body=(b'data: {"candidates": [',)))
    with server, pytest.raises(ConnectionFailedError, match="ended before the answer was complete"):
        await _events(server)
    server = LoopbackServer(Reply(body=(b'data: {"candidates": [\n\n',)))
    with server, pytest.raises(ProviderError, match="invalid JSON"):
        await _events(server)


async def test_an_error_within_a_stream_is_raised(anyio_backend: str) -> None:
    late = {"error": {"code": 503, "message": "overloaded"}}
    server = LoopbackServer(Reply(body=sse(_response({"text": "half"}, finish=None), late)))
    with server, pytest.raises(ProviderError, match="overloaded"):
        await _events(server)


@pytest.mark.parametrize("fault", [Fault.STALL, Fault.DRIP])
async def test_slow_server_is_given_up(fault: Fault, anyio_backend: str) -> None:
    server = LoopbackServer(Reply(body=_response({"text": "x" * 2000}), fault=fault, sent=1))
    with server, pytest.raises(ConnectionFailedError, match=r"too long|timed? ?out|ReadTimeout"):
        await _answer(server, timeout=0.3)
    events = sse(_response({"text": "a"}, finish=None), _response({"text": "b" * 2000}))
    server = LoopbackServer(Reply(body=events, fault=fault, sent=1))
    with server, pytest.raises(ConnectionFailedError):
        await _events(server, timeout=0.3)


async def test_cancelling_a_question_ends_it(anyio_backend: str) -> None:
    with LoopbackServer(Reply(body=_response({"text": "x"}), fault=Fault.STALL)) as server:
        async with GeminiProvider(_MODEL, api_key="k", base_url=server.url).connect() as connection:
            with anyio.move_on_after(0.2) as scope:
                await connection.answer(_prompt())
            assert scope.cancelled_caught


async def test_one_connection_answers_several_questions_at_once(anyio_backend: str) -> None:
    def reply(request: Request) -> Reply:
        return Reply(body=_response({"text": request.body["contents"][0]["parts"][0]["text"].upper()}))

    said: dict[str, str] = {}
    with LoopbackServer(reply) as server, anyio.fail_after(_BOUND):
        async with GeminiProvider(_MODEL, api_key="k", base_url=server.url).connect() as connection:

            async def ask(text: str) -> None:
                said[text] = (await connection.answer(_prompt(text))).text

            async with anyio.create_task_group() as group:
                for text in "abcde":
                    group.start_soon(ask, text)
    assert said == {text: text.upper() for text in "abcde"}


def test_missing_key_error_names_the_environment_variable() -> None:
    with pytest.raises(AuthenticationError, match="set GEMINI_API_KEY or GOOGLE_API_KEY"):
        GeminiProvider()


def test_missing_sdk_error_gives_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(MissingExtraError, match=r'pip install "google-genai>=3"'):
        GeminiProvider(api_key="k")


async def test_keys_come_from_the_environment(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    with LoopbackServer(Reply(body=_response({"text": "Yes."}))) as server, anyio.fail_after(_BOUND):
        async with GeminiProvider(_MODEL, base_url=server.url).connect() as connection:
            await connection.answer(_prompt())
    assert server.requests[0].headers["x-goog-api-key"] == "first"


def test_it_is_chosen_by_its_name_and_model() -> None:
    provider = choose(GeminiProvider("gemini-2.5-pro", api_key="k"), None)
    assert (provider.name, provider.model, provider.supports_tools()) == ("gemini", "gemini-2.5-pro", True)
    assert GeminiProvider(api_key="k").supports_output_schema()
