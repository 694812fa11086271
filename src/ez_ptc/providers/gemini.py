"""Gemini, through Google's SDK."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast
from urllib.parse import quote

import anyio

from ez_ptc._extras import import_extra
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, ProviderError
from ez_ptc.formats.gemini.messages import answer, request
from ez_ptc.formats.gemini.stream import AnswerStream
from ez_ptc.formats.wire import one_line, parse, parse_body
from ez_ptc.providers._events import EVENT_STREAM, server_sent_events
from ez_ptc.providers._http import (
    NO_KEY,
    clean_errors,
    error_for_status,
    seconds_in,
    usable_address,
    usable_key,
    usable_model,
)
from ez_ptc.providers.prompting import PromptableProvider
from ez_ptc.redaction.quiet_urls import CompletedAddress
from ez_ptc.redaction.redactor import Redactor
from ez_ptc.redaction.sources import secrets_in_url

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from ssl import SSLContext

    from google.genai import Client
    from google.genai.errors import APIError
    from httpx2 import AsyncClient, Response

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.messages import Answer

__all__ = ["GeminiConnection", "GeminiProvider"]

_MODEL: Final = "gemini-3.8-flash"
_ADDRESS: Final = "GOOGLE_GEMINI_BASE_URL"
_VARIABLES: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_REFUSED: Final = 401
# Seconds before each retry, if the server does not say; and the maximum it may ask for.
_PAUSES: Final = (0.5, 1.0)
_MAX_PAUSE: Final = 60.0
_AGAIN: Final = (408, 429)
_SERVER_ERROR: Final = 500
_MAX_SHOWN: Final = 200


@explain_calls(checks="timeout tools")
class GeminiProvider(PromptableProvider):
    """Google's Gemini.

    Args:
        model: The model's name.
        api_key: The key; by default, the environment variable GEMINI_API_KEY or GOOGLE_API_KEY.
        base_url: The URL of another server of Gemini's API, which may not need a key.
        timeout: The maximum seconds for an answer, or for the next piece of a streamed one.

    Raises:
        MissingExtraError: The SDK is not installed.
        AuthenticationError: There is no key.
    """

    def __init__(
        self, model: str = _MODEL, *, api_key: str | None = None, base_url: str | None = None, timeout: float = 600.0
    ) -> None:
        import_extra("google.genai", extra="gemini", package="google-genai")
        key = usable_key(api_key or next(filter(None, map(os.environ.get, _VARIABLES)), None), " or ".join(_VARIABLES))
        base_url = base_url or os.environ.get(_ADDRESS)
        if base_url is not None:
            usable_address(base_url, f"base_url or {_ADDRESS}")
        elif key is None:
            message = f"Gemini needs a key: set {' or '.join(_VARIABLES)}, or pass api_key=..."
            raise AuthenticationError(message)
        self.name = "gemini"
        self.model = usable_model(model)
        self._timeout = timeout
        self._redactor = Redactor([key or "", *secrets_in_url(base_url or "")])
        self._address = CompletedAddress(base_url or "")
        self._client = _client(key or NO_KEY, self._address.visible or None, timeout)
        self._certificates: Final = _certificates()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[GeminiConnection]:
        """Open a connection."""
        from httpx2 import AsyncClient

        from ez_ptc.providers._responses import client_hooks

        # The SDK's own HTTP client needs asyncio; this one works on any event loop.
        hooks = client_hooks(self._address, self._redactor)
        async with AsyncClient(follow_redirects=True, verify=self._certificates, event_hooks=hooks) as http:
            yield GeminiConnection(self._client, http, self._timeout, self._redactor)


def _client(key: str, base_url: str | None, timeout: float) -> Client:
    """Return the SDK's client, which builds requests without sending them."""
    from google.genai import Client
    from google.genai.types import HttpOptions
    from httpx2 import AsyncClient

    unused = AsyncClient()
    options = HttpOptions(base_url=base_url, timeout=max(1, int(timeout * 1000)), httpx_async_client=unused)
    client = Client(vertexai=False, api_key=key, http_options=options)
    client.close()
    return client


def _certificates() -> SSLContext:
    # Slow to create, so all connections share it.
    from httpx2 import create_ssl_context

    return create_ssl_context()


class GeminiConnection:
    """A connection to Gemini.

    The SDK provides each request's URL, version and key, and reads errors. Bodies bypass its types, which refuse
    unknown fields in a request and drop those in a response.
    """

    def __init__(self, client: Client, http: AsyncClient, timeout: float, redactor: Redactor) -> None:
        self._redactor = redactor
        self._client = client
        self._http = http
        self._timeout = timeout

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the model's answer to a prompt. Raises as every `ProviderConnection` does."""
        body = request(prompt)
        with _errors(self._redactor), anyio.fail_after(self._timeout):
            response = await self._open(prompt.model, "generateContent", body)
            try:
                content = await response.aread()
            finally:
                await response.aclose()
        with clean_errors(self._redactor):
            return answer(self._parse(content, parse_body), prompt)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Yield the model's answer as it is written. Raises as every `ProviderConnection` does."""
        body, reader = request(prompt), AnswerStream(prompt)
        with _errors(self._redactor), anyio.fail_after(self._timeout):
            response = await self._open(prompt.model, "streamGenerateContent?alt=sse", body)
        content_type = response.headers.get("content-type", "")
        if not content_type.startswith(EVENT_STREAM):
            await response.aclose()
            _refuse(f"{one_line(content_type) or 'something without a content type'} instead of a stream")
        async with aclosing(response), aclosing(server_sent_events(response.aiter_bytes(), "Gemini")) as events:
            while True:
                with clean_errors(self._redactor), _errors(self._redactor), anyio.fail_after(self._timeout):
                    event = await anext(events, None)
                if event is None:
                    break
                with clean_errors(self._redactor):
                    deltas = reader.feed(self._parse(event.data.encode(), parse))
                for delta in deltas:
                    yield delta
        with clean_errors(self._redactor):
            whole = reader.answer()
        yield whole

    async def _open(self, model: str, method: str, body: dict[str, Any]) -> Response:
        """Send a request, with retries, and return the response after a successful start."""
        from google.genai.errors import APIError
        from httpx2 import TransportError

        for pause in _PAUSES:
            try:
                return await self._send(model, method, body)
            except APIError as error:
                wait = _wait(error)
                pause_now = pause if wait is None else wait
                is_over = error.code not in _AGAIN and error.code < _SERVER_ERROR
                if is_over or pause_now > _MAX_PAUSE:
                    raise
            except TransportError:
                pause_now = pause
            await anyio.sleep(pause_now)
        return await self._send(model, method, body)

    async def _send(self, model: str, method: str, body: dict[str, Any]) -> Response:
        from google.genai.errors import APIError

        from ez_ptc.providers._responses import raise_for_redirect

        path = model if "/" in model else f"models/{model}"
        api = self._client._api_client  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no public method takes a body as it is
        asked = api._build_request("post", f"{quote(path)}:{method}", {})  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as above, for its address and headers
        response = await self._http.send(
            self._http.build_request("POST", asked.url, headers=asked.headers, json=body, timeout=asked.timeout),
            stream=True,
        )
        try:
            raise_for_redirect(response, "Gemini", self._redactor)
            await cast("Any", APIError).raise_for_async_response(response)
        except BaseException:
            await response.aclose()
            raise
        return response

    def _parse(self, data: bytes, parse_data: Callable[[bytes], object]) -> Mapping[str, Any]:
        try:
            parsed = parse_data(data)
        except (ValueError, RecursionError):
            _refuse(f"invalid JSON: {self._start(data)}")
        if not isinstance(parsed, Mapping):
            _refuse(f"JSON other than an object: {self._start(data)}")
        return cast("Mapping[str, Any]", parsed)

    def _start(self, data: bytes) -> str:
        """Return the beginning of an unusable answer."""
        return repr(self._redactor.text(data.decode(errors="replace"))[:_MAX_SHOWN])


@contextmanager
def _errors(redactor: Redactor) -> Generator[None]:
    """Map the SDK's errors to ours; the only place to do so."""
    from google.genai.errors import APIError
    from httpx2 import InvalidURL, RequestError

    try:
        yield
    except APIError as error:
        reason = one_line(redactor.text(error.message or error.status or "it does not say why"))
        message = f"Gemini answered {error.code}: {reason}"
        has_invalid_key = "API_KEY_INVALID" in [detail.get("reason") for detail in _details(error)]
        status = _REFUSED if has_invalid_key else error.code
        raise error_for_status(
            message, status, key_variable=" or ".join(_VARIABLES), retry_after=_wait(error)
        ) from redactor.cause(error)
    except TimeoutError as error:
        message = "Gemini took too long to answer: ask again, or allow more time with GeminiProvider(timeout=...)"
        raise ConnectionFailedError(message) from error
    except RequestError as error:
        message = f"the connection to Gemini failed: {one_line(redactor.text(str(error)) or type(error).__name__)}"
        raise ConnectionFailedError(message) from redactor.cause(error)
    except (InvalidURL, ValueError, RecursionError) as error:  # the SDK's failures to read an error
        message = f"Gemini gave no usable answer: {one_line(redactor.text(str(error)))}"
        raise ProviderError(message) from redactor.cause(error)


def _wait(error: APIError) -> float | None:
    """Return the seconds the server asks to wait, or None."""
    headers: Mapping[str, str] = getattr(cast("Any", error).response, "headers", {})
    asked = [detail.get("retryDelay") for detail in _details(error)]
    waits = [
        seconds_in(text.removesuffix("s")) for text in (headers.get("retry-after"), *asked) if isinstance(text, str)
    ]
    return next((wait for wait in waits if wait is not None), None)


def _details(error: APIError) -> list[Mapping[str, Any]]:
    body = _object(cast("Any", error).details)
    details: object = _object(body.get("error")).get("details")
    if isinstance(details, list):
        return [_object(detail) for detail in cast("list[object]", details)]
    return []


def _object(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    return {}


def _refuse(problem: str) -> NoReturn:
    message = f"Gemini answered with {problem}: is base_url the address of its API?"
    raise ProviderError(message)
