"""Anthropic's Messages API, through the official SDK."""

from __future__ import annotations

import os
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import anyio

from ez_ptc._extras import import_extra
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, ProviderError
from ez_ptc.formats.anthropic.messages import PROVIDER, answer, request
from ez_ptc.formats.anthropic.stream import AnswerStream
from ez_ptc.formats.wire import one_line, parse_body
from ez_ptc.providers._events import DONE, EVENT_STREAM, ServerSentEvent, server_sent_events
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
from ez_ptc.redaction.redactor import Redactor
from ez_ptc.redaction.sources import secrets_in_url, visible_url
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping

    from anthropic import AsyncAnthropic
    from httpx2 import Response

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.messages import Answer

__all__ = ["AnthropicProvider"]

_MODEL: Final = "claude-sonnet-5-5"
_ADDRESS: Final = "https://api.anthropic.com"
_PATH: Final = "/v1/messages"
_KEY: Final = "ANTHROPIC_API_KEY"
_TOKEN: Final = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 - the name of a variable
_CONNECT_TIMEOUT: Final = 10.0
# Seconds; a longer `retry-after` is reported to the caller at once.
_MAX_WAIT: Final = 60.0
# The SDK's own limit: generating more tokens takes longer than networks keep a silent connection open.
_MAX_SILENT_TOKENS: Final = 21_333
# The current API version rejects these for every model (platform.claude.com/docs/en/api/migration-2026-10-21); the
# previous one accepts them for the models that still do.
_SAMPLING: Final = frozenset({"temperature", "top_k", "top_p"})
_SAMPLING_VERSION: Final = "2023-06-01"
# The statuses of errors within a stream.
_STATUSES: Final = {"authentication_error": 401, "permission_error": 403, "rate_limit_error": 429}


@explain_calls(checks="tools")
class AnthropicProvider(PromptableProvider):
    """A model behind Anthropic's API, or behind any server of its Messages API.

    The key is `api_key`, or the environment variable ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; with another `base_url`
    it is optional. `timeout` is in seconds, for an answer with all its retries or, if it is streamed, for each piece.

    `betas` among a prompt's options is a list of beta features, sent in their header. A temperature uses an older
    version of the API, and models since Claude 4.7 reject it.
    """

    def __init__(
        self, model: str = _MODEL, *, api_key: str | None = None, base_url: str | None = None, timeout: float = 600.0
    ) -> None:
        self.name: Final = PROVIDER
        self.model: Final = usable_model(model)
        self.timeout: Final = timeout
        self._address: Final = usable_address(
            base_url or os.environ.get("ANTHROPIC_BASE_URL") or _ADDRESS, "base_url or ANTHROPIC_BASE_URL"
        ).rstrip("/")
        self._api_key = api_key

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[_Connection]:
        """Open a connection.

        Raises:
            AuthenticationError: There is no key.
            MissingExtraError: The SDK is not installed.
        """
        import_extra("anthropic", extra="anthropic")
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient, Timeout

        from ez_ptc.providers._responses import client_hooks
        from ez_ptc.redaction.quiet_urls import CompletedAddress

        key, token = self._credentials()
        timeout = Timeout(self.timeout, connect=min(self.timeout, _CONNECT_TIMEOUT))
        address = CompletedAddress(self._address)
        redactor = Redactor([key or "", token or "", *secrets_in_url(self._address)])
        hooks = client_hooks(address, redactor)
        hooks["response"].append(_do_not_wait_long)
        http = DefaultAsyncHttpxClient(timeout=timeout, event_hooks=hooks)
        async with AsyncAnthropic(
            api_key=key, auth_token=token, base_url=address.visible, timeout=timeout, http_client=http
        ) as client:
            yield _Connection(client, visible_url(self._address), self.timeout, redactor)

    def _credentials(self) -> tuple[str | None, str | None]:
        """Return a key or a token."""
        key = usable_key(self._api_key or os.environ.get(_KEY), _KEY)
        token = usable_key(os.environ.get(_TOKEN), _TOKEN)
        if key or token:
            if key:
                return (key, None)
            return (None, token)
        if self._address == _ADDRESS:
            message = f"{self._address} needs a key: set {_KEY}, or give AnthropicProvider(api_key=...)"
            raise AuthenticationError(message)
        return NO_KEY, None


class _Connection:
    """A connection to the API; see `ProviderConnection` in `providers/provider.py`."""

    def __init__(self, client: AsyncAnthropic, address: str, timeout: float, redactor: Redactor) -> None:
        self._client = client
        self._address = address
        self._timeout = timeout
        self._redactor = redactor

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the model's answer to a prompt."""
        body = request(prompt)
        if body["max_tokens"] > _MAX_SILENT_TOKENS:
            async with aclosing(self.stream(prompt)) as events:
                return cast("Answer", [event async for event in events][-1])
        response = await self._send(body, streamed=False)
        with self._errors():
            received = parse_body(response.text)
        with clean_errors(self._redactor):
            return answer(cast("Mapping[str, Any]", received), prompt)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Yield the model's answer as it is written."""
        response = await self._send({**request(prompt), "stream": True}, streamed=True)
        pieces = AnswerStream(prompt)
        async with aclosing(response), aclosing(server_sent_events(response.aiter_bytes(), self._address)) as events:
            content_type = response.headers.get("content-type", "")
            if not content_type.startswith(EVENT_STREAM):
                text = one_line(content_type) or "nothing"
                message = f"{self._address} answered with {text} instead of events: is it its API's address?"
                raise ProviderError(message)
            while (event := await self._next(events)) is not None:
                with clean_errors(self._redactor):
                    deltas = pieces.feed(cast("Mapping[str, Any]", event))
                for delta in deltas:
                    yield delta
        with clean_errors(self._redactor):
            whole = pieces.answer()
        yield whole

    async def _send(self, body: dict[str, Any], *, streamed: bool) -> Response:
        from anthropic import AsyncStream
        from httpx2 import Response

        betas: list[str] = body.pop("betas", None) or []
        headers, params = dict[str, str](), dict[str, str]()
        if betas:
            headers, params = {"anthropic-beta": ",".join(betas)}, {"beta": "true"}
        if body.keys() & _SAMPLING:
            headers["anthropic-version"] = _SAMPLING_VERSION
        with self._errors(), anyio.fail_after(self._timeout):
            sent = await self._client.post(
                _PATH,
                cast_to=Response,
                body=body,
                options=cast("Any", {"headers": headers, "params": params}),
                stream=streamed,
                stream_cls=AsyncStream[object],
            )
        return cast("Response", sent)

    async def _next(self, events: AsyncIterator[ServerSentEvent]) -> object | None:
        """Return the next event with content, or None after the last one."""
        with clean_errors(self._redactor), self._errors(), anyio.fail_after(self._timeout):
            async for received in events:
                if received.data == DONE:  # of proxies and other servers, below the last event
                    continue
                read = received.read()
                fields = _fields(read)
                event_type = fields.get("type", "error" if "error" in fields else "ping")
                if event_type == "error":
                    summary = f"{self._address} broke off its answer"
                    raise _of(summary, self._redactor.value(read))
                if event_type != "ping" or not isinstance(read, dict):
                    return read
        return None

    @contextmanager
    def _errors(self) -> Generator[None]:
        """Map the SDK's errors, and those below it, to ours; the only place to do so."""
        import anthropic
        import httpx2

        from ez_ptc.providers._responses import raise_for_redirect

        redactor = self._redactor
        try:
            yield
        except anthropic.APIStatusError as error:
            raise_for_redirect(error.response, self._address, redactor, error)
            summary = f"{self._address} answered {error.status_code}"
            raise _of(summary, redactor.value(error.body), error.response) from redactor.cause(error)
        except (TimeoutError, anthropic.APITimeoutError, httpx2.TimeoutException) as error:
            message = f"{self._address} took longer than {self._timeout:g} s: ask again, or raise the timeout"
            raise ConnectionFailedError(message) from redactor.cause(error)
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            if isinstance(error.__cause__, ProviderError):  # of the border, in a body that the SDK has read
                raise error.__cause__ from None
            reason = error.__cause__ or error
            text = one_line(redactor.text(str(reason)) or type(reason).__name__)
            message = f"{self._address} cannot be reached, or broke off: {text}; is that its address?"
            raise ConnectionFailedError(message) from redactor.cause(error)
        except (anthropic.AnthropicError, ValueError, RecursionError) as error:  # the decoder's own errors
            text = one_line(redactor.text(str(error)))
            message = f"{self._address} gave no usable answer: {text}; is it the address of its API?"
            raise ProviderError(message) from redactor.cause(error)


async def _do_not_wait_long(response: Response) -> None:
    """Limit the time the SDK waits, whatever the server asks for."""
    if (_seconds(response) or 0.0) > _MAX_WAIT:
        response.headers["x-should-retry"] = "false"


def _of(what: str, body: object, response: Response | None = None) -> ProviderError:
    """Return the error that the provider describes in `body`, with its message."""
    status = None if response is None else response.status_code
    problem = _fields(_fields(body).get("error"))
    error_type, text = str(problem.get("type") or ""), problem.get("message") or safe_repr(body)
    message = ": ".join(filter(None, (what, one_line(error_type), one_line(text))))
    retry_after = None if response is None else _seconds(response)
    return error_for_status(message, _STATUSES.get(error_type, status), key_variable=_KEY, retry_after=retry_after)


def _fields(value: object) -> Mapping[str, object]:
    if isinstance(value, dict):
        return cast("Mapping[str, object]", value)
    return {}


def _seconds(response: Response) -> float | None:
    return seconds_in(response.headers.get("retry-after"))
