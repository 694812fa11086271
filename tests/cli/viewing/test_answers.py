"""What the pages' server sends with each answer, and whom it answers at all."""

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from ez_ptc import Journal
from ez_ptc.cli.viewing.application import ViewerApplication
from ez_ptc.cli.viewing.view import ViewOptions
from tests.cli.viewing.serving import TOKENS, Viewer, serving

PROTECTIVE = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    with serving(tmp_path_factory.mktemp("pages")) as served:
        yield served


@pytest.mark.parametrize("path", ["/", "/run/x", "/data/", "/person"])
def test_every_answer_keeps_other_pages_out(viewer: Viewer, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=20)
    connection.request("GET", path, headers={"Authorization": f"Bearer {TOKENS['Ada']}"})
    answer = connection.getresponse()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    connection.close()
    assert answer.status == 200
    assert headers.items() >= PROTECTIVE.items()
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]


def test_empty_page_too_is_sent_to_its_own_address_only(viewer: Viewer) -> None:
    for path in ("/", "/run/x", "/conversations"):
        assert viewer.ask("GET", path, host=f"evil.example:{viewer.port}", authorization="")[0] == 421
        assert viewer.ask("GET", path, origin="http://evil.example", authorization="")[0] == 403


def test_decision_of_a_client_that_left_is_not_recorded(viewer: Viewer) -> None:
    body = json.dumps(viewer.decision()).encode()
    sent: list[Any] = []
    with Journal(viewer.path) as journal, socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        headers = {"host": f"127.0.0.1:{port}", "authorization": f"Bearer {TOKENS['Ada']}"}
        headers["content-type"] = "application/json"
        scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/decisions", "server": ("127.0.0.1", port)}
        scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
        messages = iter([{"type": "http.request", "body": body, "more_body": True}, {"type": "http.disconnect"}])

        async def receive() -> Any:  # noqa: ANN401 - a message of ASGI
            return next(messages)

        async def send(message: Any) -> None:  # noqa: ANN401 - as above
            sent.append(message)

        anyio.run(ViewerApplication(journal, ViewOptions().people([listener], TOKENS)), scope, receive, send)
    assert sent[0]["status"] == 413
    assert viewer.decisions() == []
