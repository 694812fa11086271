"""A real HTTP server on loopback that records what it is asked, and documents that describe it."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

__all__ = ["Api", "Asked", "document", "serve"]


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Api:
    """The server: `answers` maps paths to a status, headers and a body, or to a function of the request."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list[Asked])
    answers: dict[str, Any] = field(default_factory=dict[str, Any])

    def answer(self, asked: Asked) -> tuple[int, dict[str, str], bytes]:
        found: Any = self.answers.get(asked.target.partition("?")[0], {"ok": True})
        if callable(found):
            found = found(asked)
        if isinstance(found, tuple):
            return cast("tuple[int, dict[str, str], bytes]", found)
        return 200, {"content-type": "application/json"}, json.dumps(found).encode()


@contextmanager
def serve() -> Generator[Api]:
    """Serve an API on loopback."""
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body)
            api.asked.append(asked)
            status, headers, content = api.answer(asked)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = handle_any  # noqa: N815 - as http.server wants it

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server calls it
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        api.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()


def document(paths: dict[str, Any], *, version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    """Return a document with these paths."""
    return {"openapi": version, "info": {"title": "Test", "version": "1"}, "paths": paths, **more}
