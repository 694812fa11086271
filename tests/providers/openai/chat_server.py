"""A server on loopback that speaks OpenAI's Chat Completions and says what it was told to; for the real SDK."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["ChatServer", "Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response as it goes out."""

    body: str
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict[str, str])


class ChatServer:
    """Answers each chat completion with the next reply: a text that the model says, or a whole response.

    `requests` are the bodies it got, `keys` the keys that came with them. `url` is what a client takes as its base URL.
    """

    def __init__(self, *replies: str | Reply, models: tuple[str, ...] = ("scripted",)) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self._replies = iter(replies)
        self._models = models
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_reply(self, request: dict[str, Any]) -> Reply:
        """Return the response to a chat completion."""
        self.requests.append(request)
        reply = next(self._replies, Reply('{"error": {"message": "no more replies"}}', 500))
        return reply if isinstance(reply, Reply) else Reply(_completion(reply, request["model"]))

    def models(self) -> Reply:
        """Return the response to a question for the models there are."""
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in self._models]
        return Reply(json.dumps({"object": "list", "data": data}))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(script.models())

            def do_POST(self) -> None:
                script.keys.append(self.headers["Authorization"].removeprefix("Bearer "))
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._send(script.next_reply(json.loads(body)))

            def _send(self, reply: Reply) -> None:
                body = reply.body.encode()
                self.send_response(reply.status)
                for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
                """Say nothing."""

        return Handler


def _completion(text: str, model: str) -> str:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage}
    )
