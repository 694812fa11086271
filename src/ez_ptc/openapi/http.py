"""Sending requests with the user's HTTP client, whose base URL and credentials stay with it."""

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from ez_ptc._bodies import ENCODINGS, Decompressor
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import ToolError
from ez_ptc.redaction.quiet_logs import quiet_logs
from ez_ptc.redaction.redactor import Redactor
from ez_ptc.redaction.sources import ORDINARY_HEADERS, secrets_in_headers, secrets_in_url
from ez_ptc.telemetry.tracing import trace_headers

__all__ = ["MAX_RESPONSE_BYTES", "ApiRequest", "ApiResponse", "Client", "HttpClient", "too_large"]

# As much as one message to a program may have by default.
MAX_RESPONSE_BYTES: Final = 16 << 20
_MAX_REDIRECTS: Final = 5
# They log the URL of each request.
_LOGGERS: Final = ("httpx", "httpx2", "httpcore", "httpcore2")
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


@explain_calls
@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request of a tool.

    Attributes:
        method: The HTTP method, in capitals.
        path: The path below the API's base URL, percent-encoded; it begins with a slash.
        query: The query, percent-encoded, without the question mark.
        headers: Further headers.
        content: The body, or None.
    """

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None


@explain_calls
@dataclass(frozen=True, slots=True)
class ApiResponse:
    """The response to a request.

    Attributes:
        status: The HTTP status.
        content_type: The `Content-Type` header, or "".
        content: The body, at most 16 MiB.
        secrets: Texts of at least eight characters that are removed from what programs get, such as the credentials of
            the request.
        addresses: Texts that are removed from errors.
    """

    status: int
    content_type: str = ""
    content: bytes = b""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    addresses: frozenset[str] = field(default=frozenset(), repr=False)


class HttpClient(Protocol):
    """Sends a request to the API, with its base URL and credentials; an asynchronous function may do it, too."""

    def __call__(self, request: ApiRequest, /) -> "ApiResponse | Awaitable[ApiResponse]":
        """Return the response. Raises what it wants: programs learn only the exception's class."""
        ...


@dataclass(frozen=True, slots=True)
class Client:
    """The user's client: `send` takes a request; `names` are the parameters it sends itself, as `header:x-api-key`."""

    send: Callable[[ApiRequest], Any]
    is_async: bool
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, client: object, servers: str) -> "Client":
        """Return the client of what a user passes; `servers` is a note for the error about a missing base URL.

        Raises TypeError for anything else, ValueError for a client without a base URL.
        """
        if all(hasattr(client, name) for name in ("build_request", "send", "base_url")):
            http_client: Any = client
            if not str(http_client.base_url).startswith(("http://", "https://")):
                message = f"expected an HTTP client with a base URL, got none: pass httpx.Client(base_url='https://…'){servers}"
                raise ValueError(message)
            names = {f"header:{name}".lower() for name in http_client.headers if name.lower() not in ORDINARY_HEADERS}
            names |= {f"query:{name}".lower() for name in http_client.params}
            names |= {f"cookie:{name}".lower() for name in http_client.cookies}
            is_async = inspect.iscoroutinefunction(http_client.send)
            return cls(partial(_asend if is_async else _send, http_client), is_async, frozenset(names))
        if callable(client):
            is_async = inspect.iscoroutinefunction(client) or inspect.iscoroutinefunction(type(client).__call__)
            return cls(client, is_async)
        message = f"expected an httpx client or a function that sends an ApiRequest, got {type(client).__name__}"
        raise TypeError(message)


def _send(client: Any, request: ApiRequest) -> ApiResponse:  # noqa: ANN401 - a client of httpx, of any version
    built = _add_headers(_build(client, request))
    for _ in range(_MAX_REDIRECTS):
        with _quiet(Redactor(_sent_secrets(client, request, built))):
            response = client.send(built, stream=True, follow_redirects=False)
            try:
                target = _redirect(request, response)
                if target is None:
                    content = _ResponseContent(response)
                    for chunk in response.iter_bytes() if content.is_read else response.iter_raw():
                        content.add(chunk)
                    return _received(client, request, response, content)
            finally:
                response.close()
        built = client.build_request(request.method, target)
        _add_headers(built).url = target  # without the client's query: the server has chosen this one
    raise _too_many_redirects(request)


async def _asend(client: Any, request: ApiRequest) -> ApiResponse:  # noqa: ANN401 - a client of httpx, of any version
    built = _add_headers(_build(client, request))
    for _ in range(_MAX_REDIRECTS):
        with _quiet(Redactor(_sent_secrets(client, request, built))):
            response = await client.send(built, stream=True, follow_redirects=False)
            try:
                target = _redirect(request, response)
                if target is None:
                    content = _ResponseContent(response)
                    async for chunk in response.aiter_bytes() if content.is_read else response.aiter_raw():
                        content.add(chunk)
                    return _received(client, request, response, content)
            finally:
                await response.aclose()
        built = client.build_request(request.method, target)
        _add_headers(built).url = target  # without the client's query: the server has chosen this one
    raise _too_many_redirects(request)


@contextmanager
def _quiet(redactor: Redactor) -> Generator[None]:
    """Keep the credentials of a request out of what the client logs of it, and out of its errors."""
    with quiet_logs(redactor, *_LOGGERS):
        try:
            yield
        except ToolError:
            raise
        except Exception as error:  # of any client, and of its hooks; what has no credential is raised as it is
            if redactor.cause(error) is None:
                message = f"the API could not be asked ({type(error).__name__})"
                raise ToolError(message) from None
            raise


def _build(client: Any, request: ApiRequest) -> Any:  # noqa: ANN401 - a client and a request of httpx
    headers = {name: value for name, value in request.headers if name.lower() != "cookie"}
    built = client.build_request(request.method, request.path, headers=headers, content=request.content)
    wanted = client.base_url.raw_path.partition(b"?")[0].rstrip(b"/") + request.path.encode("ascii", "replace")
    # The arguments are encoded already; whatever the client makes of them, this is what counts.
    if _origin(built.url) != _origin(client.base_url) or built.url.raw_path.partition(b"?")[0] != wanted:
        message = "the arguments would change the path of the request, which was not sent"
        raise ToolError(message)
    # Not as `params`, which would replace the client's, where a key may be.
    if request.query:
        queries = [query for query in (built.url.query, request.query.encode("ascii")) if query]
        built.url = built.url.copy_with(query=b"&".join(queries))
    # A header of one's own would replace the client's cookies.
    cookies = [value for name, value in request.headers if name.lower() == "cookie"]
    if cookies:
        built.headers["cookie"] = "; ".join(filter(None, [built.headers.get("cookie"), *cookies]))
    return built


def _add_headers(built: Any) -> Any:  # noqa: ANN401 - a request of httpx
    """Ask only for encodings that are decompressed in steps here, and name the current span."""
    wanted = [coding.strip() for coding in built.headers.get("accept-encoding", "").split(",")]
    built.headers["accept-encoding"] = (
        ", ".join(coding for coding in wanted if coding.startswith(ENCODINGS)) or "identity"
    )
    for name, value in trace_headers().items():
        # The user's instrumentation, if there is one, replaces it by that of its own span.
        built.headers.setdefault(name, value)
    return built


def _redirect(request: ApiRequest, response: Any) -> Any:  # noqa: ANN401 - a response and an URL of httpx
    """Return the URL to go on with, or None. Raises ToolError for a redirect that is not followed."""
    if response.status_code not in _REDIRECTS or "location" not in response.headers:
        return None
    target = response.url.join(response.headers["location"])
    if _origin(target) != _origin(response.url):
        message = f"the API answered with a redirect ({response.status_code}) to another host, which is not followed"
        raise ToolError(message)
    if request.method not in {"GET", "HEAD"}:
        message = f"the API answered {request.method} with a redirect ({response.status_code}), which is not followed"
        raise ToolError(message)
    return target


def _origin(url: Any) -> tuple[object, ...]:  # noqa: ANN401 - an URL of httpx
    return url.scheme, url.host, url.port


def _too_many_redirects(request: ApiRequest) -> ToolError:
    return ToolError(f"the API answered {request.method} with more than {_MAX_REDIRECTS} redirects")


class _ResponseContent:
    """The content of a response: decompressed here in steps, because one chunk of it may become very large."""

    def __init__(self, response: Any) -> None:  # noqa: ANN401 - a response of httpx
        self.chunks: Final[list[bytes]] = []
        self._left = MAX_RESPONSE_BYTES
        self.is_read: Final[bool] = response.is_stream_consumed
        # What the client has read already is no longer compressed.
        encoding = "" if self.is_read else response.headers.get("content-encoding", "")
        self._decompressor = Decompressor(encoding, ToolError)

    def add(self, chunk: bytes) -> None:
        for piece in self._decompressor.pieces(chunk):
            self._left -= len(piece)
            if self._left < 0:
                raise too_large()
            self.chunks.append(piece)


def too_large() -> ToolError:
    """Return the error about a response that is too large."""
    return ToolError(f"the response has more than {MAX_RESPONSE_BYTES >> 20} MiB: ask for less at a time")


def _received(client: Any, request: ApiRequest, response: Any, content: _ResponseContent) -> ApiResponse:  # noqa: ANN401 - objects of httpx
    base_url = client.base_url
    return ApiResponse(
        response.status_code,
        response.headers.get("content-type", ""),
        b"".join(content.chunks),
        frozenset(_secrets(client, request, response)),
        # Errors quote the address; in data, addresses are what programs ask for.
        frozenset({str(base_url), base_url.netloc.decode("ascii"), base_url.host}),
    )


def _secrets(client: Any, request: ApiRequest, response: Any) -> Iterator[str]:  # noqa: ANN401 - objects of httpx
    # An authentication may have sent several requests.
    for sent in [answered.request for answered in (*response.history, response)]:
        yield from _sent_secrets(client, request, sent)


def _sent_secrets(client: Any, request: ApiRequest, sent: Any) -> Iterator[str]:  # noqa: ANN401 - objects of httpx
    """Yield the credentials in a request that a client sends for a tool's."""
    yield from secrets_in_headers(sent.headers.items(), frozenset(name.lower() for name, _ in request.headers))
    yield sent.url.password or ""
    yield from client.cookies.values()
    yield from map(str, client.params.values())
    yield from secrets_in_url(str(client.base_url))
