"""The pages of a journal as an ASGI application.

A browser opens one empty page at every address, and its script asks for the contents with the token in a header, as it
does for new events and with decisions. So no address, cookie or form has the token, and a page of another origin, which
cannot send this header, can neither read nor decide anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

import anyio
import anyio.to_thread

from ez_ptc.cli.viewing.contents import NO_RUNS, RUN_PREFIX, read_contents, read_version
from ez_ptc.cli.viewing.decisions import MAX_DECISION_BYTES, decide_call
from ez_ptc.errors import EzPtcError
from ez_ptc.mcp.server.admission import Refusal
from ez_ptc.mcp.server.http import send_refusal
from ez_ptc.view.conversation_page import CONVERSATION_PREFIX, CONVERSATIONS_PATH
from ez_ptc.view.markup import element, markup_text
from ez_ptc.view.page import content_policy, document
from ez_ptc.view.run_list import AUDIT_PATH

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from ez_ptc.cli.viewing.people import People
    from ez_ptc.conversation.saving.history import History
    from ez_ptc.journal.journal import Journal

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

__all__ = ["ViewerApplication"]

_PAGES: Final = frozenset({"/", AUDIT_PATH, CONVERSATIONS_PATH})
_DATA: Final = "/data"
_EVENTS: Final = "/events"
_SECONDS_BETWEEN_LOOKS: Final = 0.5
_LOOKS_BETWEEN_SIGNS: Final = 30
_POLICY_VIOLATION: Final = 1008
_SHELL: Final = """
<header><h1>Runs</h1></header>
<form id="token" hidden><p><label>The token of this server
<input type="password" name="token" autocomplete="off" required></label> <button class="primary">Open</button></p>
<p class="note">The command ez-ptc view prints an address with it.</p></form>
<noscript><p>This page needs its script.</p></noscript>
"""


@dataclass(frozen=True)
class ViewerApplication:
    """The application: pages of a journal's runs for some people, to look and to decide about calls; of a history, too.

    At least one of the two is there.
    """

    journal: Journal | None
    people: People
    history: History | None = None
    seconds_for_body: float = 30.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await _answer_lifespan(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            refusal = await self._answer(scope, receive, send)
            if refusal is not None:
                await send_refusal(send, refusal)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Refusal | None:
        method, path = scope["method"], scope["path"]
        refusal = self.people.refuse_address(scope)
        if refusal is not None:
            return refusal
        if method == "GET" and _is_page(path):
            await _send_text(send, document("Runs", _SHELL, is_served=True))
            return None
        caller = self.people.caller(scope)
        if isinstance(caller, Refusal):
            return caller
        return await self._answer_person(caller, scope, receive, send)

    async def _answer_person(self, caller: str, scope: Scope, receive: Receive, send: Send) -> Refusal | None:
        method, path = scope["method"], scope["path"]
        if method == "POST" and path == "/decisions":
            return await self._decide(scope, receive, send, caller)
        if method == "GET" and path == "/person":
            await _send_text(send, caller, kind="text/plain")
            return None
        if method == "GET" and path.startswith(_DATA) and _is_page(path.removeprefix(_DATA)):
            return await self._send_contents(scope, send, caller)
        if method == "GET" and path.startswith(_EVENTS) and _is_page(path.removeprefix(_EVENTS)):
            return await self._send_events(path.removeprefix(_EVENTS), receive, send)
        return Refusal(404, "expected GET / or GET /run/ID")

    async def _send_contents(self, scope: Scope, send: Send, caller: str) -> Refusal | None:
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        read = partial(read_contents, self.journal, scope["path"].removeprefix(_DATA), query, self.history)
        try:
            body = await anyio.to_thread.run_sync(read)
        except (EzPtcError, ValueError) as error:
            return Refusal(409, str(error))
        words = f"You decide as {markup_text(caller)}."
        if self.journal is not None and scope["path"] != f"{_DATA}/":
            words += " " + element("a", "All runs", href="/")
        if self.history is not None:
            words += " " + element("a", "Conversations", href=CONVERSATIONS_PATH)
        person = element("p", words, class_="note", data_person=caller)
        await _send_text(send, person + body)
        return None

    async def _decide(self, scope: Scope, receive: Receive, send: Send, caller: str) -> Refusal | None:
        if self.journal is None:
            return Refusal(409, NO_RUNS)
        types = [value for name, value in scope["headers"] if name == b"content-type"]
        if types != [b"application/json"]:
            return Refusal(415, "expected the content type application/json")
        body = None
        with anyio.move_on_after(self.seconds_for_body) as scope_of_body:
            body = await _read_body(receive)
        if scope_of_body.cancelled_caught:
            return Refusal(408, f"expected a whole decision within {self.seconds_for_body:g} seconds")
        if body is None:
            return Refusal(413, f"expected a decision of at most {MAX_DECISION_BYTES:,} bytes")
        try:
            words = await anyio.to_thread.run_sync(partial(decide_call, self.journal, body, caller))
        except EzPtcError as error:
            return Refusal(409, str(error))
        await _send_text(send, words, kind="text/plain")
        return None

    async def _send_events(self, page: str, receive: Receive, send: Send) -> Refusal | None:
        """Send an event whenever a page has changed, until the client goes."""
        look = partial(read_version, self.journal, page, self.history)
        try:
            version = await anyio.to_thread.run_sync(look)
        except EzPtcError as error:
            return Refusal(409, str(error))
        await send({"type": "http.response.start", "status": 200, "headers": _headers("text/event-stream")})
        async with anyio.create_task_group() as tasks:

            async def wait_for_end() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait_for_end)
            await _send_part(send, "event: ready\ndata: \n\n")
            looks = 0
            while True:
                await anyio.sleep(_SECONDS_BETWEEN_LOOKS)
                looks += 1
                try:
                    before, version = version, await anyio.to_thread.run_sync(look)
                except EzPtcError:  # the run is gone, or its file: the page says so when it is loaded again
                    await _send_part(send, "event: changed\ndata: \n\n")
                    tasks.cancel_scope.cancel()
                    break
                if version != before:
                    await _send_part(send, "event: changed\ndata: \n\n")
                elif looks % _LOOKS_BETWEEN_SIGNS == 0:
                    await _send_part(send, ":\n\n")  # proxies end connections without a sign of life
        await send({"type": "http.response.body", "body": b""})
        return None


def _is_page(path: str) -> bool:
    """Return whether a path is a page's, also of an unknown run."""
    return path in _PAGES or path.startswith((RUN_PREFIX, CONVERSATION_PREFIX))


async def _answer_lifespan(receive: Receive, send: Send) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request, or None if it is too large or its client is gone."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_DECISION_BYTES or message["type"] != "http.request":
            return None
        if not message.get("more_body"):
            return body


async def _send_text(send: Send, text: str, *, kind: str = "text/html") -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _headers(kind)})
    await send({"type": "http.response.body", "body": text.encode()})


async def _send_part(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


def _headers(kind: str) -> list[tuple[bytes, bytes]]:
    policy = f"{content_policy(is_served=True)}; frame-ancestors 'none'"
    return [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-security-policy", policy.encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]
