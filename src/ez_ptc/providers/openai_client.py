"""The official SDK of OpenAI, as far as it carries requests and answers; what is in them is the formats' matter."""

from __future__ import annotations

import os
import sys
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from urllib.parse import urlsplit

import anyio

from ez_ptc._extras import import_extra
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, EzPtcError, ProviderError, RateLimitError
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.formats.wire import one_line, parse
from ez_ptc.providers.headers import seconds_in
from ez_ptc.providers.keys import usable_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
    from contextlib import AbstractAsyncContextManager

    from openai import APIStatusError, AsyncAPIResponse, AsyncOpenAI

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.messages import Answer

__all__ = ["Account", "OpenAIConnection", "Pieces", "Wire", "account", "chat_wire", "errors_of"]

_OPENAI: Final = "https://api.openai.com/v1"
_KEY: Final = "OPENAI_API_KEY"
_ADDRESS: Final = "OPENAI_BASE_URL"
# What a server that asks for no key is sent, since the SDK insists on one.
_NO_KEY: Final = "none"
_RETRIES: Final = 2
_TOO_MANY: Final = 429
_REFUSED: Final = frozenset({401, 403})
_DONE: Final = "[DONE]"
# How long a server may take to close a stream that has said it is done, in seconds.
_GRACE: Final = 1.0
_STREAMED: Final = "text/event-stream"


class Pieces(Protocol):
    """Puts together an answer that comes in pieces."""

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take the next piece, and return the text in it."""
        ...

    def end(self) -> list[TextDelta]:
        """Take the server's word that all pieces came, and return the text that is left."""
        ...

    def answer(self) -> Answer:
        """Return the whole answer."""
        ...


@dataclass(frozen=True, slots=True)
class Wire:
    """One of the two APIs of OpenAI.

    Attributes:
        path: Where a request goes, below the base URL.
        request: Makes the body of a request from a prompt and the `server` that it is for.
        answer: Reads a whole answer, given the prompt and the server too.
        pieces: Makes what reads an answer in pieces, given the same.
        open: Sends the body of a request, and opens the response to it without reading it.
    """

    path: str
    request: Callable[..., dict[str, Any]]
    answer: Callable[..., Answer]
    pieces: Callable[..., Pieces]
    open: Callable[[AsyncOpenAI, dict[str, Any]], AbstractAsyncContextManager[AsyncAPIResponse[Any]]]


@dataclass(frozen=True, slots=True)
class Account:
    """Where requests go, the key that they carry, and how many seconds an answer may take.

    `variable` is the environment variable that such a key is looked for in.
    """

    address: str
    key: str = field(repr=False)
    timeout: float
    variable: str = _KEY

    @property
    def server(self) -> str:
        """The name of the host."""
        return urlsplit(self.address).hostname or ""

    @asynccontextmanager
    async def connect(self, model: str, wire: Wire) -> AsyncGenerator[OpenAIConnection]:
        """Open a way to a model of the server, good for one event loop."""
        from openai import AsyncOpenAI

        async with AsyncOpenAI(
            base_url=self.address, api_key=self.key, timeout=self.timeout, max_retries=_RETRIES
        ) as client:
            yield OpenAIConnection(client, self, model=model, wire=wire)


def account(base_url: str | None, api_key: str | None, timeout: float) -> Account:
    """Return where requests go, from what is given and from `OPENAI_BASE_URL` and `OPENAI_API_KEY`.

    The key in the environment goes to OpenAI, and to the address in the environment; no other server gets it.

    Raises:
        MissingExtraError: The SDK is not installed.
        AuthenticationError: OpenAI itself wants a key, and there is none; or it is none that can be sent.
    """
    import_extra("openai", extra="openai")
    address = base_url or os.environ.get(_ADDRESS) or _OPENAI
    is_openai = urlsplit(address).hostname == urlsplit(_OPENAI).hostname
    if not api_key and (is_openai or not base_url):
        api_key = os.environ.get(_KEY)
    api_key = usable_key(api_key, _KEY)
    if not api_key and is_openai:
        message = f"{address} wants a key: set {_KEY}, or give base_url=..., the address of a server that wants none"
        raise AuthenticationError(message)
    return Account(address, api_key or _NO_KEY, timeout)


def chat_wire(*, asks_for_usage: bool = True) -> Wire:
    """Return Chat Completions; some servers say what a stream took without being asked, and refuse to be asked."""
    from ez_ptc.formats.openai_chat.messages import answer, request
    from ez_ptc.formats.openai_chat.stream import AnswerStream

    def open_stream(client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncAPIResponse[Any]]:
        asked = {"stream_options": {"include_usage": True}} if asks_for_usage else {}
        return client.chat.completions.with_streaming_response.create(model="", messages=[], extra_body=asked | body)

    return Wire("/chat/completions", request, answer, AnswerStream, open_stream)


class OpenAIConnection:
    """An open way to a server; it does what `Connection` says."""

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
        """Give the model's answer as it is written; whole and at once where the server does not stream."""
        prompt, server, patience = self._with_model(prompt), self._account.server, _Patience(self._account.timeout)
        body = {"stream": True, **self._wire.request(prompt, server=server)}
        pieces = self._wire.pieces(prompt, server=server)
        with errors_of(self._account):
            opening = self._wire.open(self._client, body)
            response = await patience.next(opening.__aenter__)
            try:
                if _STREAMED not in response.headers.get("content-type", ""):
                    answer = self._whole(await patience.next(response.read), prompt)
                    if answer.text:
                        yield TextDelta(answer.text)
                else:
                    async with aclosing(_events(response, patience)) as events:
                        async for data in events:
                            deltas = pieces.end() if data == _DONE else pieces.feed(cast("Any", parse(data)))
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
        """Read a whole answer."""
        body = parse(received)
        if not isinstance(body, dict):
            message = f"it is no JSON object but {type(body).__name__}"
            raise ValueError(message)  # noqa: TRY004 - of the same kind as what is no JSON at all
        return self._wire.answer(cast("dict[str, Any]", body), prompt, server=self._account.server)


class _Patience:
    """How long a server may still keep us waiting; what a caller does meanwhile is not counted."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    async def next(self, wait: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever is waited for
        """Await what a function returns. Raises TimeoutError when patience is at an end."""
        began = anyio.current_time()
        with anyio.fail_after(self.left):
            result = await wait()
        self.left -= anyio.current_time() - began
        return result


async def _events(response: AsyncAPIResponse[Any], patience: _Patience) -> AsyncGenerator[str]:
    """Give the data of server-sent events, up to the one that says that the stream is done."""
    async with aclosing(_data(response, patience)) as several:
        async for data in several:
            yield data
            if data == _DONE:
                break
        # On to the very end, after which the connection is good for the next request.
        patience.left = min(patience.left, _GRACE)
        with suppress(TimeoutError):
            async for _ in several:
                pass


async def _data(response: AsyncAPIResponse[Any], patience: _Patience) -> AsyncGenerator[str]:
    decoder, chunks = _Decoder(), response.iter_bytes()
    try:
        while True:
            try:
                chunk = await patience.next(chunks.__anext__)
            except StopAsyncIteration:
                break
            for data in decoder.feed(chunk):
                yield data
        for data in decoder.end():
            yield data
    finally:
        await _end(chunks)


async def _end(chunks: AsyncIterator[bytes]) -> None:
    """End generators inside of each other, all of them: closing the outermost leaves the others to the collector."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        async for _ in chunks:
            pass


class _Decoder:
    """Takes the bytes of server-sent events, and gives the data of those that are whole."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._lines: list[str] = []

    def feed(self, chunk: bytes) -> list[str]:
        """Take more bytes."""
        self._rest += chunk
        if b"\n" not in chunk:
            return []
        *lines, self._rest = self._rest.split(b"\n")
        whole = (self._line(line.decode().removesuffix("\r")) for line in lines)
        return [data for data in whole if data]

    def end(self) -> list[str]:
        """Return the data of an event that has nothing after it."""
        return [data for data in (*self.feed(b"\n"), self._line("")) if data]

    def _line(self, line: str) -> str:
        if line.startswith("data:"):
            self._lines.append(line.removeprefix("data:").removeprefix(" "))
        if line:
            return ""
        data, self._lines = "\n".join(self._lines), []
        return data


@contextmanager
def errors_of(account: Account) -> Generator[None]:
    """Turn the errors of the SDK, and of what it builds on, into ours; the only place that does."""
    import openai

    address = account.address

    try:
        yield
    except EzPtcError:
        raise
    except (TimeoutError, openai.APITimeoutError, *_of_transport("TimeoutException")) as error:
        message = f"{address} took too long to answer: ask again, or give it more time, timeout=..."
        raise ConnectionFailedError(message) from error
    except (openai.APIConnectionError, *_of_transport("HTTPError")) as error:
        reason = one_line(str(error.__cause__ or error))
        message = f"{address} cannot be reached, or broke the connection: {reason}; is it running, and at this address?"
        raise ConnectionFailedError(message) from error
    except openai.APIStatusError as error:
        raise _of_status(account, error) from error
    except (openai.OpenAIError, ValueError, RecursionError) as error:
        message = (
            f"{address} gave no usable answer: {one_line(str(error))}; is it the address of an API, with its version?"
        )
        raise ProviderError(message) from error


def _of_transport(name: str) -> tuple[type[Exception], ...]:
    """Return an error of the HTTP client under the SDK, which lets some through: httpx2, and httpx before it."""
    clients = (sys.modules.get(client) for client in ("httpx2", "httpx"))
    return tuple(getattr(client, name) for client in clients if client is not None)


def _of_status(account: Account, error: APIStatusError) -> ProviderError:
    message = f"{account.address} answered {error.status_code}: {_reason(error)}"
    if error.status_code in _REFUSED:
        return AuthenticationError(f"{message}; is {account.variable} right?")
    if error.status_code == _TOO_MANY:
        return RateLimitError(message, retry_after=seconds_in(error.response.headers.get("retry-after")))
    return ProviderError(message)


def _reason(error: APIStatusError) -> str:
    """Return the server's own words."""
    body: object = error.body
    if isinstance(body, dict):
        fields = cast("dict[str, object]", body)
        body = next((fields[key] for key in ("message", "detail", "error") if fields.get(key)), None)
    return one_line(body or error.response.text or "it does not say why")
