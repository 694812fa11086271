"""OpenAI's official SDK as a transport of requests and answers, whose contents the formats handle."""

from __future__ import annotations

import os
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from urllib.parse import urlsplit

import anyio

from ez_ptc._bodies import exhaust
from ez_ptc._extras import import_extra
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, EzPtcError, ProviderError
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.formats.wire import one_line, parse_body
from ez_ptc.providers._events import DONE, EVENT_STREAM, ServerSentEvent, events_of, of_transport, server_sent_events
from ez_ptc.providers._http import NO_KEY, error_for_status, seconds_in, usable_address, usable_key
from ez_ptc.redaction.redactor import Redactor
from ez_ptc.redaction.sources import secrets_in_url, visible_url

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
    from contextlib import AbstractAsyncContextManager

    from openai import AsyncAPIResponse, AsyncOpenAI

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.messages import Answer

__all__ = ["Account", "OpenAIConnection", "Pieces", "Wire", "account", "chat_wire", "errors_of"]

_OPENAI: Final = "https://api.openai.com/v1"
_KEY: Final = "OPENAI_API_KEY"
_ADDRESS: Final = "OPENAI_BASE_URL"
_RETRIES: Final = 2
# Seconds a server may take to close a stream after its last event.
_GRACE: Final = 1.0


class Pieces(Protocol):
    """Assembles a streamed answer."""

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take the next event, and return the text in it."""
        ...

    def end(self) -> list[TextDelta]:
        """Take the end of the stream, and return the remaining text."""
        ...

    def answer(self) -> Answer:
        """Return the whole answer."""
        ...


@dataclass(frozen=True, slots=True)
class Wire:
    """One of OpenAI's two APIs.

    Attributes:
        path: The URL's path below the base URL.
        request: Makes a request's body from a prompt and the `server`'s name.
        answer: Reads a whole answer, given the prompt and the server's name.
        pieces: Makes the reader of a streamed answer, given the same.
        open: Sends a request's body, and opens the response without reading it.
    """

    path: str
    request: Callable[..., dict[str, Any]]
    answer: Callable[..., Answer]
    pieces: Callable[..., Pieces]
    open: Callable[[AsyncOpenAI, dict[str, Any]], AbstractAsyncContextManager[AsyncAPIResponse[Any]]]


@dataclass(frozen=True, slots=True)
class Account:
    """A server's URL and key, and the maximum seconds of an answer.

    `variable` is the environment variable of the key.
    """

    address: str = field(repr=False)
    key: str = field(repr=False)
    timeout: float
    variable: str = _KEY

    @property
    def visible_address(self) -> str:
        """The URL without credentials, for messages."""
        return visible_url(self.address)

    @property
    def redactor(self) -> Redactor:
        """Removes the account's credentials from messages."""
        return Redactor([self.key, *secrets_in_url(self.address)])

    @property
    def server(self) -> str:
        """The host's name."""
        return urlsplit(self.address).hostname or ""

    @asynccontextmanager
    async def connect(self, model: str, wire: Wire) -> AsyncGenerator[OpenAIConnection]:
        """Open a connection to a model of the server, for one event loop."""
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        from ez_ptc.providers._responses import client_hooks
        from ez_ptc.redaction.quiet_urls import CompletedAddress

        address = CompletedAddress(self.address)
        http = DefaultAsyncHttpxClient(event_hooks=client_hooks(address, self.redactor))
        async with AsyncOpenAI(
            base_url=address.visible, api_key=self.key, timeout=self.timeout, max_retries=_RETRIES, http_client=http
        ) as client:
            yield OpenAIConnection(client, self, model=model, wire=wire)


def account(base_url: str | None, api_key: str | None, timeout: float) -> Account:
    """Return the account for these arguments and `OPENAI_BASE_URL` and `OPENAI_API_KEY`.

    The key in the environment is sent to OpenAI and to the URL in the environment, and to no other server.

    Raises:
        MissingExtraError: The SDK is not installed.
        AuthenticationError: There is no key for OpenAI, or the key contains an invalid character.
    """
    import_extra("openai", extra="openai")
    address = usable_address(base_url or os.environ.get(_ADDRESS) or _OPENAI, f"base_url or {_ADDRESS}")
    is_openai = urlsplit(address).hostname == urlsplit(_OPENAI).hostname
    if not api_key and (is_openai or not base_url):
        api_key = os.environ.get(_KEY)
    api_key = usable_key(api_key, _KEY)
    if not api_key and is_openai:
        message = (
            f"{visible_url(address)} needs a key: set {_KEY}, or give base_url=..., the URL of a server without keys"
        )
        raise AuthenticationError(message)
    return Account(address, api_key or NO_KEY, timeout)


def chat_wire(*, asks_for_usage: bool = True) -> Wire:
    """Return the wire of Chat Completions.

    Some servers report a stream's usage without being asked, and reject the question.
    """
    from ez_ptc.formats.openai_chat.messages import answer, request
    from ez_ptc.formats.openai_chat.stream import AnswerStream

    def open_stream(client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncAPIResponse[Any]]:
        if asks_for_usage:
            asked = {"stream_options": {"include_usage": True}}
        else:
            asked = {}
        return client.chat.completions.with_streaming_response.create(model="", messages=[], extra_body=asked | body)

    return Wire("/chat/completions", request, answer, AnswerStream, open_stream)


class OpenAIConnection:
    """A connection to a server; see `ProviderConnection`."""

    def __init__(self, client: AsyncOpenAI, account: Account, *, model: str, wire: Wire) -> None:
        self._client = client
        self._account = account
        self._model = model
        self._wire = wire

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the model's answer to a prompt."""
        prompt = self._with_model(prompt)
        body = self._wire.request(prompt, server=self._account.server)
        with errors_of(self._account):
            with anyio.fail_after(self._account.timeout):
                received = await self._client.post(self._wire.path, body=body, cast_to=str)
            return self._whole(received, prompt)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Yield the model's answer as it is written; all at once if the server does not stream."""
        prompt, server, patience = self._with_model(prompt), self._account.server, _Patience(self._account.timeout)
        body = {"stream": True, **self._wire.request(prompt, server=server)}
        pieces = self._wire.pieces(prompt, server=server)
        with errors_of(self._account):
            opening = self._wire.open(self._client, body)
            response = await patience.next(opening.__aenter__)
            try:
                if EVENT_STREAM not in response.headers.get("content-type", ""):
                    answer = self._whole(await patience.next(response.read), prompt)
                    if answer.text:
                        yield TextDelta(answer.text)
                else:
                    async with aclosing(_events(response, patience, self._account.visible_address)) as events:
                        async for event in events:
                            if event.data == DONE:
                                deltas = pieces.end()
                            else:
                                deltas = pieces.feed(cast("Any", event.read()))
                            for delta in deltas:
                                yield delta
                    answer = pieces.answer()
            finally:
                with anyio.CancelScope(shield=True):
                    await opening.__aexit__(None, None, None)
        yield answer

    def _with_model(self, prompt: Prompt) -> Prompt:
        if prompt.model:
            return prompt
        return replace(prompt, model=self._model)

    def _whole(self, received: str | bytes, prompt: Prompt) -> Answer:
        """Read a whole answer; some servers stream without being asked, or do not say that they do."""
        events = events_of(received.encode() if isinstance(received, str) else received)
        if events is not None:
            pieces = self._wire.pieces(prompt, server=self._account.server)
            for event in events:
                if event.data == DONE:
                    pieces.end()
                else:
                    pieces.feed(cast("Any", event.read()))
            return pieces.answer()
        body = parse_body(received)
        if not isinstance(body, dict):
            message = f"expected a JSON object, got {type(body).__name__}"
            raise ValueError(message)  # noqa: TRY004 - of the same kind as what is no JSON at all
        return self._wire.answer(cast("dict[str, Any]", body), prompt, server=self._account.server)


class _Patience:
    """The remaining time to wait for a server; time spent by the caller does not count."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    async def next(self, wait: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever is waited for
        """Await a function's result. Raises TimeoutError at the end of the time."""
        began = anyio.current_time()
        with anyio.fail_after(self.left):
            result = await wait()
        self.left -= anyio.current_time() - began
        return result


async def _events(response: AsyncAPIResponse[Any], patience: _Patience, server: str) -> AsyncGenerator[ServerSentEvent]:
    """Yield server-sent events, up to the last event of a stream."""
    async with aclosing(server_sent_events(_patient(response.iter_bytes(), patience), server)) as events:
        async for event in events:
            yield event
            if event.data == DONE:
                break
        # Read to the very end, so that the connection can be used again.
        patience.left = min(patience.left, _GRACE)
        with suppress(TimeoutError):
            async for _ in events:
                pass


async def _patient(chunks: AsyncIterator[bytes], patience: _Patience) -> AsyncGenerator[bytes]:
    """Yield chunks of a response. Raises TimeoutError at the end of the time."""
    try:
        while True:
            try:
                chunk = await patience.next(chunks.__anext__)
            except StopAsyncIteration:
                return
            yield chunk
    finally:
        await exhaust(chunks)


@contextmanager
def errors_of(account: Account) -> Generator[None]:
    """Map the errors of the SDK, and of libraries below it, to ours; the only place to do so."""
    import openai

    from ez_ptc.providers._responses import raise_for_redirect

    address, redactor = account.visible_address, account.redactor

    try:
        yield
    except EzPtcError as error:
        redactor.cause(error)  # formats quote answers
        raise
    except (TimeoutError, openai.APITimeoutError, *of_transport("TimeoutException")) as error:
        message = f"{address} took too long to answer: ask again, or give it more time, timeout=..."
        raise ConnectionFailedError(message) from redactor.cause(error)
    except (openai.APIConnectionError, *of_transport("HTTPError")) as error:
        if isinstance(error.__cause__, EzPtcError):  # of the border, in a body that the SDK has read
            raise error.__cause__ from None
        reason = one_line(redactor.text(str(error.__cause__ or error)))
        message = f"{address} cannot be reached, or broke the connection: {reason}; is it running, and at this address?"
        raise ConnectionFailedError(message) from redactor.cause(error)
    except openai.APIStatusError as error:
        raise_for_redirect(error.response, address, redactor, error)
        body: object = error.body
        if isinstance(body, dict):
            fields = cast("dict[str, object]", body)
            body = next((fields[key] for key in ("message", "detail", "error") if fields.get(key)), None)
        reason = one_line(redactor.value(body or error.response.text or "it does not say why"))
        message = f"{address} answered {error.status_code}: {reason}"
        retry_after = seconds_in(error.response.headers.get("retry-after"))
        raise error_for_status(
            message, error.status_code, key_variable=account.variable, retry_after=retry_after
        ) from redactor.cause(error)
    except (openai.OpenAIError, ValueError, RecursionError) as error:
        reason = one_line(redactor.text(str(error)))
        message = f"{address} gave no usable answer: {reason}; is it the address of an API, with its version?"
        raise ProviderError(message) from redactor.cause(error)
