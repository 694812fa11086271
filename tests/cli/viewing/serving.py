"""A server of the pages of a journal, on a real socket, with a run that waits and two people."""

import http.client
import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ez_ptc import History, Journal, Toolkit, ez_tool
from ez_ptc.cli.viewing.application import ViewerApplication
from ez_ptc.cli.viewing.view import ViewOptions
from ez_ptc.mcp.server.http import HttpSettings, app_server, open_listeners

__all__ = ["SECRET", "TOKENS", "Viewer", "application_server", "refund", "serving"]

TOKENS = {"Ada": "token-of-Ada-0123456789", "Bob": "token-of-Bob-0123456789"}
SECRET = "Zimmermann"


@ez_tool(requires_approval=True)
def refund(customer: str, amount: int, note: str = "") -> str:
    """Refund a customer."""
    return f"refunded {amount}"


@dataclass(frozen=True)
class Viewer:
    """A server of the pages of a journal with one run that waits."""

    port: int
    run_id: str
    path: Path | str

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        """Send a request; headers are Ada's and the server's own unless others are given, or ""."""
        names = {"host": f"127.0.0.1:{self.port}", "authorization": f"Bearer {TOKENS['Ada']}"}
        names |= {"content_type": "application/json"} | headers
        data = b"" if body is None else json.dumps(body).encode()
        names["content_length"] = str(len(data))
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in names.items() if value]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            # At once: a server that refuses the head closes the connection, which a body on its way would reset.
            connection.sendall(head.encode() + data)
            answer = http.client.HTTPResponse(connection, method=method)
            answer.begin()
            return answer.status, answer.read().decode()

    @contextmanager
    def events(self) -> Generator[socket.socket]:
        """Ask for the events of the run's page, and return the connection once they come."""
        request = (
            f"GET /events/run/{self.run_id} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {TOKENS['Ada']}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(request.encode())
            text = ""
            while "event: ready" not in text:
                text += connection.recv(4096).decode()
            assert "text/event-stream" in text
            yield connection

    def address(self, name: str) -> str:
        """Return a person's address of the page of the run."""
        return f"http://127.0.0.1:{self.port}/run/{self.run_id}#token={TOKENS[name]}"

    def decision(self, word: str = "approve", **fields: object) -> dict[str, object]:
        with Journal(self.path) as journal:
            digest = next((call.digest for call in journal.run(self.run_id).pending), "")
        return {"run": self.run_id, "path": "1", "digest": digest, "decision": word, **fields}

    def decisions(self) -> list[dict[str, object]]:
        with Journal(self.path) as journal:
            return [dict(event.data) for event in journal.events(self.run_id) if event.kind == "decision"]


@contextmanager
def serving(
    folder: Path,
    options: ViewOptions | None = None,
    *,
    amount: int = 7,
    program: str = "",
    history: History | None = None,
    address: str | None = None,
) -> Generator[Viewer]:
    """Serve a journal, in a file or at an address, with one run: of a program, or of one that waits for a refund."""
    path = address or folder / "runs.db"
    with Toolkit([refund], journal=path) as toolkit:
        result = toolkit.execute(program or f"print(refund({SECRET!r}, {amount}, 'a' * 3))")
    assert result.run_id is not None
    with Journal(path) as journal, application_server(journal, history, options) as viewer:
        yield replace(viewer, run_id=result.run_id, path=path)


@contextmanager
def application_server(
    journal: Journal | None,
    history: History | None = None,
    options: ViewOptions | None = None,
    *,
    seconds_for_body: float = 30.0,
) -> Generator[Viewer]:
    """Serve the pages of a journal, or of a history alone."""
    listeners = open_listeners(HttpSettings(port=0))
    people = (options or ViewOptions()).people(listeners, TOKENS)
    server = app_server(ViewerApplication(journal, people, history, seconds_for_body))
    server.config.timeout_graceful_shutdown = 1
    thread = threading.Thread(target=server.run, kwargs={"sockets": listeners})
    thread.start()
    try:
        yield Viewer(listeners[0].getsockname()[1], "", "")
    finally:
        server.should_exit = True
        thread.join(20)
        for listener in listeners:
            listener.close()
    assert not thread.is_alive()
