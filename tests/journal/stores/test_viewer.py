"""The pages of a journal in PostgreSQL: what waits is shown, decided by a person, and goes on elsewhere."""

from __future__ import annotations

import socket
from html import unescape
from pathlib import Path

import pytest

from ez_ptc import Journal, Toolkit
from tests.cli.viewing.browser import find_browser, running_browser
from tests.cli.viewing.serving import SECRET, TOKENS, Viewer, refund, serving
from tests.journal.stores.server import PostgresServer


def test_person_decides_on_a_page_and_another_host_goes_on(address: str, tmp_path: Path) -> None:
    with serving(tmp_path, address=address) as viewer:
        for page in ("/data/", f"/data/run/{viewer.run_id}"):
            status, text = viewer.ask("GET", page)
            assert status == 200
            assert "Allow refund (1)?" in text
            assert f'customer = "{SECRET}"' in unescape(text)
            assert "s3cret" not in text
        assert viewer.ask("GET", f"/data/run/{viewer.run_id}", authorization="")[0] == 401
        with Toolkit([refund], journal=address) as elsewhere:  # a run of another host is shown as well
            other = str(elsewhere.execute("print('of another host')").run_id)
        assert other in viewer.ask("GET", "/data/")[1]
        assert "2 runs are complete and unchanged" in viewer.ask("GET", "/data/audit")[1]
        _decide_while_watching(viewer)
        assert viewer.ask("POST", "/decisions", viewer.decision())[0] == 409
        with Toolkit([refund], journal=address) as elsewhere:
            assert elsewhere.resume(viewer.run_id).output == "refunded 7\n"
        assert "refunded 7" in viewer.ask("GET", f"/data/run/{viewer.run_id}")[1]


def _decide_while_watching(viewer: Viewer) -> None:
    """Send a decision, and read its event."""
    request = (
        f"GET /events/run/{viewer.run_id} HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\n"
        f"Authorization: Bearer {TOKENS['Ada']}\r\n\r\n"
    )
    text = ""
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=20) as connection:
        connection.sendall(request.encode())
        for event in ("ready", "changed"):
            while f"event: {event}" not in text:
                received = connection.recv(4096).decode()
                assert received
                text += received
            if event == "ready":
                answer = viewer.ask("POST", "/decisions", viewer.decision(), authorization=f"Bearer {TOKENS['Bob']}")
                assert answer == (200, "approve: '1', by Bob")


def test_page_of_a_server_that_is_gone_says_so(address: str, server: PostgresServer, tmp_path: Path) -> None:
    with serving(tmp_path, address=address) as viewer:
        server.stop("immediate")
        try:
            status, text = viewer.ask("GET", "/data/")
            assert status == 409
            assert "cannot reach the journal" in text
            assert "s3cret" not in text
        finally:
            server.start()
        assert viewer.ask("GET", "/data/")[0] == 200


@pytest.mark.skipif(find_browser() is None, reason="no browser: install chromium, or name one in EZ_PTC_BROWSER")
def test_person_approves_in_a_browser(address: str, tmp_path: Path) -> None:
    path = find_browser()
    assert path is not None
    with (
        serving(tmp_path, address=address) as viewer,
        running_browser(path, tmp_path / "profile") as browser,
        browser.tab(viewer.address("Ada")) as tab,
    ):
        tab.wait_for("document.querySelector('[data-person]')")
        # A click on what has just appeared is refused for a second.
        tab.evaluate("new Promise((resolve) => setTimeout(resolve, 1100))")
        tab.tab_to("Approve")
        tab.press("Enter")
        tab.wait_for("document.querySelector('h1')?.textContent.includes('can be resumed')")
        assert viewer.decisions()[0]["by"] == "Ada"
        assert tab.problems == []
        with Journal(address) as journal:
            assert [run.id for run in journal.claimable()] == [viewer.run_id]
