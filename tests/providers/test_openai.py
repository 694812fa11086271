"""`OpenAIProvider`, driven through the official SDK against a server on loopback."""

import socket
import sys

import pytest

from ez_ptc.errors import (
    AuthenticationError,
    ConnectionFailedError,
    MissingExtraError,
    ProviderError,
    RateLimitError,
)
from ez_ptc.providers.openai import OpenAIProvider, list_models
from ez_ptc.providers.provider import Answer, Message
from tests.providers.chat_server import ChatServer, Reply

pytest.importorskip("openai", reason="the extra `openai` is not installed")

CONVERSATION = [
    Message("system", "Be brief."),
    Message("user", "Hello"),
    Message("assistant", "Yes?"),
    Message("user", "Bye"),
]


def error(message: str, status: int, **headers: str) -> Reply:
    return Reply(f'{{"error": {{"message": "{message}"}}}}', status, headers=headers)


def refused_address() -> str:
    """Return an address on loopback where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def test_an_answer_is_what_the_model_wrote_and_what_it_took() -> None:
    with ChatServer("Good bye") as server, OpenAIProvider("scripted", base_url=server.url) as provider:
        answer = provider.answer(CONVERSATION)
    assert answer == Answer(text="Good bye", stop_reason="stop", input_tokens=12, output_tokens=3)


def test_the_conversation_goes_out_as_it_is() -> None:
    with ChatServer("ok") as server, OpenAIProvider("scripted", base_url=server.url, api_key="secret") as provider:
        provider.answer(CONVERSATION, temperature=0, max_tokens=50)
    assert server.requests == [
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
    assert server.keys == ["secret"]


def test_what_is_not_chosen_is_not_sent() -> None:
    with ChatServer("ok") as server, OpenAIProvider("scripted", base_url=server.url) as provider:
        provider.answer([Message("user", "Hello")])
    assert server.requests[0].keys() == {"model", "messages"}


def test_an_answer_without_text_is_empty() -> None:
    body = (
        '{"id": "1", "object": "chat.completion", "created": 0, "model": "m", '
        '"choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": null}}]}'
    )
    with ChatServer(Reply(body)) as server, OpenAIProvider("m", base_url=server.url) as provider:
        assert provider.answer(CONVERSATION) == Answer(text="", stop_reason="length")


def test_openai_itself_wants_a_key() -> None:
    with pytest.raises(AuthenticationError, match="set OPENAI_API_KEY"):
        OpenAIProvider("gpt")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_an_authentication_error(status: int) -> None:
    with (
        ChatServer(error("bad key", status)) as server,
        OpenAIProvider("m", base_url=server.url) as provider,
        pytest.raises(AuthenticationError, match="bad key"),
    ):
        provider.answer(CONVERSATION)


@pytest.mark.parametrize(("header", "seconds"), [("0.01", 0.01), ("Wed, 21 Oct 2015 07:28:00 GMT", None)])
def test_too_many_requests_say_how_long_to_wait(header: str, seconds: float | None) -> None:
    replies = [error("slow down", 429, **{"Retry-After": header}) for _ in range(2)]
    with (
        ChatServer(*replies) as server,
        OpenAIProvider("m", base_url=server.url) as provider,
        pytest.raises(RateLimitError, match="slow down") as caught,
    ):
        provider.answer(CONVERSATION)
    assert caught.value.retry_after == seconds


def test_another_error_has_the_servers_own_words() -> None:
    with (
        ChatServer(error("no such model", 404)) as server,
        OpenAIProvider("m", base_url=server.url) as provider,
        pytest.raises(ProviderError, match=r"404: .*no such model"),
    ):
        provider.answer(CONVERSATION)


@pytest.mark.parametrize(
    "reply",
    [
        Reply("<html>It works!</html>", content_type="text/html"),
        Reply('{"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": []}'),
        Reply('{"object": "chat.comp'),
        Reply("[]"),
    ],
    ids=["a page", "no choices", "cut off", "a list"],
)
def test_what_is_no_completion_is_a_provider_error(reply: Reply) -> None:
    with (
        ChatServer(reply) as server,
        OpenAIProvider("m", base_url=server.url) as provider,
        pytest.raises(ProviderError, match=server.url),
    ):
        provider.answer(CONVERSATION)


def test_a_server_that_is_not_there_is_named() -> None:
    address = refused_address()
    with (
        OpenAIProvider("m", base_url=address) as provider,
        pytest.raises(ConnectionFailedError, match=f"{address} cannot be reached"),
    ):
        provider.answer(CONVERSATION)


def test_the_models_of_a_server_are_listed() -> None:
    with ChatServer(models=("small", "large")) as server:
        assert list_models(base_url=server.url) == ["small", "large"]


def test_a_missing_sdk_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r'pip install "ez-ptc\[openai\]"'):
        OpenAIProvider("m", base_url="http://127.0.0.1:1/v1")
