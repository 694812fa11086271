"""The border to a provider's server: what is accepted of its responses.

Every HTTP client of a provider has a hook here, which sees each response before its body is read, and before a redirect
is followed. A redirect to another origin is not followed: the key and the conversation were meant for the configured
server. The body is decompressed in bounded steps, and is ended at `MAX_ANSWER_BYTES`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import httpx2

from ez_ptc._bounded_stream import ask_plainly, bound_body
from ez_ptc.errors import ProviderError, RedirectRefusedError
from ez_ptc.redaction.quiet_logs import quiet_logs_while_it_lives
from ez_ptc.redaction.sources import visible_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.redaction.quiet_urls import CompletedAddress
    from ez_ptc.redaction.redactor import Redactor

__all__ = ["MAX_ANSWER_BYTES", "client_hooks", "raise_for_redirect", "sync_client_hooks"]

MAX_ANSWER_BYTES: Final = 64 << 20
"""Of a whole answer or a stream: more than any provider sends, pictures included."""

_REFUSED: Final = "ez_ptc_refused_redirect"
# By the names of their loggers: they log what servers answer, and the errors of the connection.
_SDKS: Final = ("anthropic", "google_genai", "openai")


def client_hooks(address: CompletedAddress, redactor: Redactor) -> dict[str, list[Callable[..., Any]]]:
    """Return the event hooks of an asynchronous HTTP client of a server.

    `redactor` cleans the headers of responses, and what the SDK and the libraries below it log of the server.
    """
    _quiet_libraries(redactor)

    async def prepare(request: httpx2.Request) -> None:
        ask_plainly(request)
        address.complete(request)

    async def check(response: httpx2.Response) -> None:
        _check(response, redactor)

    return {"request": [prepare], "response": [check]}


def sync_client_hooks(address: CompletedAddress, redactor: Redactor) -> dict[str, list[Callable[..., Any]]]:
    """Same as `client_hooks`, for a blocking client."""
    _quiet_libraries(redactor)
    return {"request": [ask_plainly, address.complete], "response": [partial(_check, redactor=redactor)]}


def _quiet_libraries(redactor: Redactor) -> None:
    import httpcore2  # with its loggers, as the client does when it is made

    quiet_logs_while_it_lives(redactor, httpcore2.__name__, httpx2.__name__, *_SDKS)


def raise_for_redirect(
    response: httpx2.Response, address: str, redactor: Redactor, error: Exception | None = None
) -> None:
    """Raise RedirectRefusedError if a response is a redirect that was not followed; `address` is the server's.

    The target is the server's text, and may repeat the key; so may the SDK's `error` about it.
    """
    target: object = response.extensions.get(_REFUSED)
    if target is not None:
        message = (
            f"{address} answered with a redirect to {target}, which was not followed: the key and the conversation are "
            "for the configured server only; if that is its new address, configure it as base_url"
        )
        raise RedirectRefusedError(redactor.text(message)) from (error and redactor.cause(error))


def _check(response: httpx2.Response, redactor: Redactor) -> None:
    """Keep a redirect to another origin from being followed, clean the headers, and bound the body."""
    if response.has_redirect_location:
        sent, location = response.request.url, response.headers["location"]
        try:
            target = sent.join(location)
            is_same = (target.scheme, target.host, target.port) == (sent.scheme, sent.host, sent.port)
            visible = visible_url(str(target))
        except (httpx2.InvalidURL, ValueError):
            is_same, visible = False, "an invalid address"
        if not is_same:
            # The client follows what has a location, and the SDKs would send the request again after an exception.
            del response.headers["location"]
            response.headers["x-should-retry"] = "false"
            response.extensions[_REFUSED] = visible
    for name, value in [*response.headers.items()]:
        is_followed = name == "location" and response.has_redirect_location
        if not is_followed and redactor.is_in(value):
            response.headers[name] = redactor.text(value)
    response.extensions["reason_phrase"] = redactor.content(response.extensions.get("reason_phrase", b""))
    message = f"the answer has more than {MAX_ANSWER_BYTES >> 20} MiB: is that the address of an API?"
    bound_body(response, MAX_ANSWER_BYTES, ProviderError(message), ProviderError)
