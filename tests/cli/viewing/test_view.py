"""The pages of a journal over HTTP, with real sockets: who sees what, and whose decision counts."""

import json
import re
import socket
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest

from ez_ptc import Approve, Journal, Toolkit, ez_tool
from ez_ptc.cli.app import main
from ez_ptc.cli.viewing.people import UserHeader
from ez_ptc.cli.viewing.view import ViewOptions
from ez_ptc.tools.approvals import approval
from tests.cli.viewing.serving import SECRET, TOKENS, Viewer, application_server, refund, serving


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    with serving(tmp_path_factory.mktemp("viewer")) as served:
        yield served


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Viewer]:
    with serving(tmp_path) as served:
        yield served


def test_person_with_a_token_sees_what_waits(viewer: Viewer) -> None:
    for page in ("/data/", f"/data/run/{viewer.run_id}"):
        status, text = viewer.ask("GET", page)
        assert status == 200
        assert "Allow refund (1)?" in text
        assert "You decide as Ada." in text
        assert f'customer = "{SECRET}"' in unescape(text)


def refused_headers(viewer: Viewer) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield headers of requests that nothing is shown to."""
    own = f"127.0.0.1:{viewer.port}"
    yield "no token", {"authorization": ""}
    yield "another token", {"authorization": "Bearer token-of-Eve-0123456789"}
    yield "a prefix", {"authorization": f"Bearer {TOKENS['Ada'][:-1]}"}
    yield "another scheme", {"authorization": f"Basic {TOKENS['Ada']}"}
    yield "a cookie", {"authorization": "", "cookie": f"token={TOKENS['Ada']}"}
    for host in ("evil.example", f"evil.example:{viewer.port}", "127.0.0.1", "", f"{own}.evil.example"):
        yield f"host {host}", {"host": host}
    for origin in (
        "http://evil.example",
        "null",
        f"https://{own}",
        f"http://localhost:{viewer.port}",
        f"http://{own}x",
    ):
        yield f"origin {origin}", {"origin": origin}
    for site in ("cross-site", "same-site"):
        yield f"site {site}", {"sec_fetch_site": site}


def test_nothing_is_shown_or_decided_without_token_and_own_page(viewer: Viewer) -> None:
    before = viewer.decisions()
    for name, headers in refused_headers(viewer):
        for page in ("/data/", f"/data/run/{viewer.run_id}", "/events/"):
            status, text = viewer.ask("GET", page, **headers)
            assert status in {400, 401, 403, 421}, name
            assert SECRET not in text
            assert viewer.run_id not in text
        status, text = viewer.ask("POST", "/decisions", viewer.decision(), **headers)
        assert status in {400, 401, 403, 421}, name
    assert viewer.decisions() == before == []


def test_empty_page_has_nothing_of_the_journal(viewer: Viewer) -> None:
    for path in ("/", f"/run/{viewer.run_id}", "/run/unknown"):
        status, text = viewer.ask("GET", path, authorization="")
        assert status == 200
        assert SECRET not in text
        assert viewer.run_id not in text


def test_records_are_checked_on_a_page(fresh: Viewer) -> None:
    assert "1 run is complete and unchanged" in fresh.ask("GET", "/data/audit")[1]
    with closing(sqlite3.connect(fresh.path)) as database, database:
        database.execute("UPDATE events SET time = time + 1 WHERE position = 1")
    page = fresh.ask("GET", "/data/audit")[1]
    assert f"event 1 of run {fresh.run_id}" in unescape(page)
    assert fresh.ask("GET", "/data/audit", authorization="")[0] == 401


def test_person_of_a_token_is_named(viewer: Viewer) -> None:
    for name, token in TOKENS.items():
        assert viewer.ask("GET", "/person", authorization=f"Bearer {token}") == (200, name)
    assert viewer.ask("GET", "/person", authorization="Bearer other")[0] == 401


def test_other_methods_and_types_decide_nothing(viewer: Viewer) -> None:
    body = viewer.decision()
    for method in ("GET", "PUT", "DELETE", "OPTIONS", "HEAD"):
        assert viewer.ask(method, "/decisions", body)[0] == 404
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert viewer.ask("POST", "/decisions", body, content_type=kind)[0] == 415
    assert viewer.ask("POST", "/decisions", {**body, "note": "x" * (1 << 20)})[0] == 413
    assert viewer.decisions() == []


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "0" * 64},
        {"digest": "\ud800"},
        {"digest": None},
        {"path": 1},
        {"decision": "deny", "changes": {"amount": "1"}},
        {"decision": "deny", "reason": ["text"]},
        {"decision": "deny", "reason": "x" * 4_001},
        {"result": 1},
        {"changes": {"amount": 1}},
        {"changes": {"amount": "NaN"}},
        {"run": "\ud800"},
        {"path": "2"},
        {"run": "unknown"},
        {"decision": "yes"},
        {"decision": None},
        {"more": 1},
        {"changes": {"amount": '"many"'}},
        {"changes": {"amount": "1.5"}},
        {"changes": {"amount": "not JSON"}},
        {"changes": {"other": "1"}},
        {"changes": ["amount"]},
        {"decision": "happened", "result": 1},
        {"decision": "did_not_happen"},
    ],
)
def test_wrong_decision_is_refused_and_recorded_nowhere(viewer: Viewer, change: dict[str, object]) -> None:
    status, text = viewer.ask("POST", "/decisions", {**viewer.decision(), **change})
    assert status == 409
    assert "\x1b" not in text
    assert viewer.decisions() == []


def test_approval_by_a_person_is_resumed_elsewhere(fresh: Viewer) -> None:
    status, text = fresh.ask("POST", "/decisions", fresh.decision(), authorization=f"Bearer {TOKENS['Bob']}")
    assert (status, text) == (200, "approve: '1', by Bob")
    with Toolkit([refund], journal=fresh.path) as toolkit:
        assert toolkit.resume(fresh.run_id).output == "refunded 7\n"
    assert fresh.decisions()[0]["by"] == "Bob"


def test_edit_changes_one_argument_and_leaves_the_others_exact(tmp_path: Path) -> None:
    large = 12_345_678_901_234_567_890
    with serving(tmp_path, amount=large) as viewer:
        text = unescape(viewer.ask("GET", f"/data/run/{viewer.run_id}")[1])
        form = json.loads(re.findall(r'data-form="(\{.*?\})" data-state', text)[0])
        assert form["arguments"]["amount"] == str(large)
        assert form["schema"]["properties"]["amount"]["type"] == "integer"
        assert viewer.ask("POST", "/decisions", viewer.decision(changes={"note": '"b"'}))[0] == 200
        assert viewer.decisions()[0]["arguments"] == {"customer": SECRET, "amount": large, "note": "b"}


def test_edit_beside_a_null_that_the_schema_leaves_out_fits(tmp_path: Path) -> None:
    @ez_tool(requires_approval=True)
    def move(place: str | None, days: int | None = None, note: str = "") -> str:
        """Move."""
        return repr((place, days, note))

    path = tmp_path / "runs.db"
    with Toolkit([move], journal=path) as toolkit, Journal(path) as journal, application_server(journal) as served:
        toolkit.execute("print(move(None))", run_id="run")
        viewer = replace(served, run_id="run", path=path)
        assert viewer.ask("POST", "/decisions", viewer.decision(changes={"days": '"3"'}))[0] == 409
        assert viewer.ask("POST", "/decisions", viewer.decision(changes={"note": '"b"'}))[0] == 200
        assert toolkit.resume("run").output == "(None, None, 'b')\n"


@pytest.mark.parametrize("required", [[[]], [{}], "note"], ids=repr)
def test_edit_beside_an_invalid_schema_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, required: object
) -> None:
    def record(_: object) -> dict[str, object]:
        return {"type": "object", "properties": {"note": {"type": "string"}}, "required": required}

    monkeypatch.setattr(approval, "form_schema", record)

    @ez_tool(requires_approval=True)
    def move(note: str = "", days: int | None = None) -> None:
        """Move."""

    path = tmp_path / "runs.db"
    with Toolkit([move], journal=path) as toolkit, Journal(path) as journal, application_server(journal) as served:
        toolkit.execute("move()", run_id="run")
        viewer = replace(served, run_id="run", path=path)
        status, text = viewer.ask("POST", "/decisions", viewer.decision(changes={"note": '"b"'}))
        assert (status, "not a valid JSON Schema" in text) == (409, True)


def test_denial_has_its_reason(fresh: Viewer) -> None:
    reason = "<b>too much</b>\x1b[31m"
    assert fresh.ask("POST", "/decisions", fresh.decision("deny", reason=reason))[0] == 200
    assert (fresh.decisions()[0]["decision"], fresh.decisions()[0]["reason"]) == ("deny", reason)
    page = fresh.ask("GET", f"/data/run/{fresh.run_id}")[1]
    assert "<b>too" not in page
    assert "\x1b" not in page


def test_first_of_many_decisions_counts_and_others_are_told(fresh: Viewer) -> None:
    body = fresh.decision()
    names = ["Ada", "Bob"] * 4

    def decide(name: str) -> tuple[int, str]:
        return fresh.ask("POST", "/decisions", body, authorization=f"Bearer {TOKENS[name]}")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(decide, names))
    assert sorted(status for status, _ in answers) == [200] + [409] * 7
    (decision,) = fresh.decisions()
    winner = names[[status for status, _ in answers].index(200)]
    assert decision["by"] == winner
    assert all(f"by {winner}" in text for _, text in answers)


def test_header_of_a_proxy_names_the_person(tmp_path: Path) -> None:
    options = ViewOptions(user_header="X-User", trust_proxy=("::ffff:127.0.0.1",))
    with serving(tmp_path, options) as viewer:
        assert "You decide as Eve &lt;b&gt;." in viewer.ask("GET", "/data/", x_user="Eve <b>")[1]
        assert "You decide as Ada." in viewer.ask("GET", "/data/")[1]
        assert viewer.ask("GET", "/data/", x_user="Eve", authorization="")[0] == 401
        assert viewer.ask("GET", "/data/", x_user="Eve\x1b[2J")[0] == 400
        assert viewer.ask("GET", "/data/", x_user="E" * 201)[0] == 400
        assert viewer.ask("GET", "/data/", x_user="Eve", X_User="Ada")[0] == 400
        assert viewer.ask("POST", "/decisions", viewer.decision(), x_user="Eve")[0] == 200
        assert viewer.decisions()[0]["by"] == "Eve"


def test_forged_header_shows_and_decides_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, ViewOptions(user_header="X-User", trust_proxy=("192.0.2.1",))) as viewer:
        for page in ("/data/", f"/data/run/{viewer.run_id}", "/events/"):
            status, text = viewer.ask("GET", page, x_user="Eve")
            assert status == 403
            assert SECRET not in text
        assert viewer.ask("POST", "/decisions", viewer.decision(), x_user="Eve", x_forwarded_for="192.0.2.1")[0] == 403
        assert viewer.decisions() == []


def test_header_that_is_not_configured_names_nobody(fresh: Viewer) -> None:
    assert "You decide as Ada." in fresh.ask("GET", "/data/", x_user="Eve", x_forwarded_user="Eve")[1]


@pytest.mark.parametrize(
    ("name", "addresses"),
    [("X-User", []), ("X User", ["127.0.0.1"]), ("", ["127.0.0.1"]), ("X-User", ["proxy"]), ("X-User", ["10.0.0.0/8"])],
)
def test_header_needs_a_name_and_an_address(name: str, addresses: list[str]) -> None:
    with pytest.raises(ValueError, match=r"expected|needs"):
        UserHeader.of(name, addresses)


def test_proxy_without_a_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="add --user-header"):
        ViewOptions(trust_proxy=("127.0.0.1",)).people([], TOKENS)


def test_change_of_a_run_is_an_event(fresh: Viewer) -> None:
    with fresh.events() as connection:
        fresh.ask("POST", "/decisions", fresh.decision())
        text = ""
        while "event: changed" not in text:
            received = connection.recv(4096).decode()
            assert received
            text += received


def test_only_pages_have_contents_and_events(viewer: Viewer) -> None:
    for path in ("", "X", "//", "/RUN/1", "/static/x", "/audit/", "/%2e%2e/", "/conversations/1"):
        assert viewer.ask("GET", f"/data{path}")[0] == 404, path
        assert viewer.ask("GET", f"/events{path}")[0] == 404, path
    assert viewer.ask("HEAD", "/", authorization="")[0] == 401


def test_body_that_never_ends_is_refused(fresh: Viewer) -> None:
    with Journal(fresh.path) as journal, application_server(journal, seconds_for_body=0.05) as viewer:
        request = (
            f"POST /decisions HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nContent-Length: 500\r\n"
            f"Content-Type: application/json\r\nAuthorization: Bearer {TOKENS['Ada']}\r\n\r\n{{"
        )
        with socket.create_connection(("127.0.0.1", viewer.port), timeout=20) as connection:
            connection.sendall(request.encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 408 ")
    assert fresh.decisions() == []


def test_page_of_a_pruned_run_says_so(fresh: Viewer) -> None:
    decision = fresh.decision("deny")
    with Toolkit([refund], journal=fresh.path) as toolkit, Journal(fresh.path) as journal:
        assert fresh.ask("POST", "/decisions", decision)[0] == 200
        toolkit.resume(fresh.run_id)
        with fresh.events() as connection:
            assert journal.prune(timedelta(0)) == 1
            received = b""
            while data := connection.recv(4096):
                received += data
                if received.endswith(b"0\r\n\r\n"):
                    break
        assert b"event: changed" in received
    for method, page, body in (("GET", f"/data/run/{fresh.run_id}", None), ("POST", "/decisions", decision)):
        status, text = fresh.ask(method, page, body)
        assert (status, "it was pruned" in text) == (409, True)
    assert fresh.ask("GET", "/data/")[0] == 200


def test_decision_about_a_call_that_runs_again_is_told_the_first(tmp_path: Path) -> None:
    inside, gate = threading.Event(), threading.Event()

    @ez_tool(read_only=True)
    def look_up() -> int:
        """Look something up."""
        inside.set()
        assert gate.wait(60)
        return 1

    path = tmp_path / "runs.db"
    with (
        Toolkit([refund, look_up], journal=path) as toolkit,
        Journal(path) as journal,
        application_server(journal) as served,
        ThreadPoolExecutor() as pool,
    ):
        paused = toolkit.execute("refund('Ada', 1)\nlook_up()\nprint(refund('Bob', 2))", run_id="run")
        viewer = replace(served, run_id="run", path=path)
        decision = viewer.decision("deny")
        resumed = pool.submit(toolkit.resume, "run", {paused.pending[0].id: Approve(by="Eve")})
        assert inside.wait(60)
        status, text = viewer.ask("POST", "/decisions", decision)
        assert (status, "decided already: approve, by Eve" in text) == (409, True)
        status, text = viewer.ask("POST", "/decisions", {**decision, "path": "3"})
        assert (status, "no pending call" in text) == (409, True)
        gate.set()
        assert resumed.result(60).status == "paused"
    assert [event["by"] for event in viewer.decisions()] == ["Eve"]


def test_fifty_waiting_calls_are_all_asked_about(tmp_path: Path) -> None:
    program = "parallel(*[(refund, f'customer {n}', n) for n in range(50)])"
    with serving(tmp_path, program=program) as viewer:
        for page in ("/data/", f"/data/run/{viewer.run_id}"):
            text = viewer.ask("GET", page)[1]
            assert text.count('class="question"') == text.count("data-form") == 50


def test_damaged_run_is_named_and_others_are_shown(fresh: Viewer) -> None:
    with Toolkit([refund], journal=fresh.path) as toolkit:
        damaged = str(toolkit.execute("print('whole')").run_id)
    with closing(sqlite3.connect(fresh.path)) as database, database:
        changed = "UPDATE events SET time = time + 1 WHERE run = (SELECT number FROM runs WHERE id = ?)"
        assert database.execute(changed, [damaged]).rowcount
    status, page = fresh.ask("GET", "/data/")
    assert (status, f'<a href="/run/{damaged}">' in page, '"state damaged">' in page) == (200, True, True)
    assert str(fresh.decision()["digest"]) in page
    assert fresh.ask("GET", f"/data/run/{damaged}")[0] == 409


def test_unknown_run_or_query_is_refused(fresh: Viewer) -> None:
    assert "no run" in fresh.ask("GET", "/data/run/../../etc/passwd")[1]
    assert fresh.ask("GET", "/data/?state=strange")[0] == 409
    assert fresh.ask("GET", "/data/?state=paused")[0] == 200
    assert fresh.ask("GET", "/data/?before=unknown")[0] == 409


def test_page_is_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Toolkit([refund], journal=tmp_path / "runs.db") as toolkit:
        run_id = str(toolkit.execute("print(1)").run_id)
    file = tmp_path / "run.html"
    assert main(["view", run_id[:10], "--journal", str(tmp_path / "runs.db"), "--output", str(file)]) == 0
    assert f"Run {run_id}" in file.read_text()
    assert main(["view", run_id, "--journal", str(tmp_path / "none.db"), "--output", str(file)]) == 2
    assert "no journal at" in capsys.readouterr().err
