"""Credentials in a server's command line, environment, URL and headers stand in no error, log, result or journal."""

import json
import logging
import subprocess
import sys
import threading
import traceback
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from ez_ptc import Journal, McpServerError, Toolkit, mcp_tools
from ez_ptc.mcp.client.servers import read_servers
from ez_ptc.redaction.redactor import Redactor
from tests.providers.loopback import LoopbackServer, Reply, Request, broken_replies

SERVER = str(Path(__file__).parents[1] / "servers/leaky.py")
KEY, PASSWORD, TOKEN = "sk-live-s3cr3t0123456789", "open&sesame", "shop/t0ken=="
SECRETS = Redactor([KEY, PASSWORD, TOKEN])


def server(scenario: str) -> dict[str, object]:
    arguments = [SERVER, scenario, "--api-key", KEY, f"postgres://ada:{PASSWORD}@db.example/shop"]
    return {"command": sys.executable, "args": arguments, "env": {"SHOP_TOKEN": TOKEN}}


def shown(error: BaseException) -> str:
    texts = ["".join(traceback.format_exception(error))]
    found: BaseException | None = error
    while found is not None:
        texts.append(repr(found))
        found = found.__cause__
    return "\n".join(texts)


@pytest.mark.parametrize("scenario", ["error", "failure", "result"])
def test_no_secret_comes_back_from_a_server(scenario: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "runs.db"
    with Journal(path) as journal, mcp_tools(server(scenario)) as tools, Toolkit(tools, journal=journal) as toolkit:
        program = "try:\n    print(leak())\nexcept Exception as error:\n    print(repr(error))\nleak()"
        result = toolkit.execute(program)
        everything = f"{result}{result.output}{toolkit.prompt()}{list(toolkit)}{caplog.text}"
        assert "[removed]" in result.output
    for file in tmp_path.iterdir():
        everything += file.read_bytes().decode("latin-1")
    assert not SECRETS.is_in(everything)
    assert "0123456789" not in everything
    assert "sk-live" not in everything  # as the rest of a line that is cut


@pytest.mark.parametrize("scenario", ["garbage", "dies"])
def test_no_secret_stands_in_the_error_of_a_start(scenario: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(McpServerError) as failed:
        mcp_tools(server(scenario))
    assert "[removed]" in str(failed.value)
    assert not SECRETS.is_in(shown(failed.value) + caplog.text)


@pytest.mark.parametrize("broken", broken_replies(b""))
def test_broken_answer_over_http_puts_no_secret_in_logs_or_errors(
    broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = f"{KEY}-ABC"
    reply = broken_replies(secret.encode())[broken]
    with LoopbackServer(lambda _: reply) as server, pytest.raises(McpServerError) as failed:
        mcp_tools(server.url, headers={"Authorization": f"Bearer {secret}"}, connect_timeout=10)
    assert not Redactor([secret]).is_in(caplog.text + shown(failed.value))


class _Bearer(httpx2.Auth):
    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        request.headers["authorization"] = f"Bearer {TOKEN}"
        yield request


@pytest.mark.parametrize("auth", [httpx2.BasicAuth("ada", PASSWORD), _Bearer()])
def test_no_secret_of_an_authentication_comes_back(auth: httpx2.Auth, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def reply(request: Request) -> Reply:
        seen = f"no {request.headers.get('authorization')}, tool {request.headers.get('mcp-name', 'leak')}"
        tools = [{"name": "leak", "description": seen, "inputSchema": {"type": "object"}}]
        results: dict[str, object] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "shop", "version": "1"},
            },
            "tools/list": {"tools": tools},
            "tools/call": {"content": [{"type": "text", "text": seen}]},
        }
        if request.method != "POST" or request.body["method"] not in results:
            return Reply(status=405)
        return Reply(body={"jsonrpc": "2.0", "id": request.body["id"], "result": results[request.body["method"]]})

    with LoopbackServer(reply) as server, Toolkit.from_mcp(server.url, auth=auth) as toolkit:
        result = toolkit.execute("leak()")
        everything = f"{result}{toolkit.prompt()}{caplog.text}"
    assert "tool leak" in str(result.return_value)
    assert not SECRETS.is_in(everything)


class _Login(httpx2.Auth):
    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        yield httpx2.Request("POST", f"{request.url}/token", json={})
        yield request


def test_other_paths_below_an_endpoint_get_no_credentials() -> None:
    with LoopbackServer(lambda _: Reply(status=404)) as server, pytest.raises(McpServerError):
        mcp_tools(f"{server.url}/mcp?key={KEY}", auth=_Login(), connect_timeout=10)
    paths = {request.path for request in server.requests}
    assert paths == {"/mcp/token", f"/mcp?key={KEY}"}


def test_server_gets_no_variable_that_it_was_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN_OF_THE_HOST", TOKEN)
    program = "import os, sys\nprint('variables', *sorted(os.environ), file=sys.stderr)\nsys.exit(1)"
    with pytest.raises(McpServerError, match=r"its last words: variables .*GIVEN.*PATH") as failed:
        mcp_tools({"command": sys.executable, "args": ["-c", program], "env": {"GIVEN": "1"}})
    assert "OF_THE_HOST" not in str(failed.value)


def test_first_connection_of_a_process_logs_no_secret() -> None:
    program = (
        "import logging, sys\nfrom ez_ptc import McpServerError, mcp_tools\n"
        "logging.basicConfig(level=logging.DEBUG)\n"
        "try:\n    mcp_tools(sys.argv[1], headers={'Authorization': sys.argv[2]}, connect_timeout=10)\n"
        "except McpServerError as error:\n    logging.info('failed')"
    )
    with LoopbackServer(lambda _: broken_replies(KEY.encode())["status"]) as server:
        ended = subprocess.run(
            [sys.executable, "-c", program, server.url, KEY], capture_output=True, text=True, timeout=60, check=True
        )
    assert "INFO:root:failed" in ended.stderr
    assert not SECRETS.is_in(ended.stderr)


@pytest.mark.parametrize(
    "words",
    [
        [f"API_KEY={KEY}", "server"],
        ["env", f"API_KEY={KEY}", "server", f"--password={PASSWORD}"],
        ["docker", "run", "-e", f"API_KEY={KEY}", "server"],
        ["npx", "--token", TOKEN, "server"],
        ["npx", "--db-pass", PASSWORD, "--pass=" + TOKEN, "server"],
        ["docker", "run", "-e", f"DB_PASS={PASSWORD}", "-e", f"PASS={TOKEN}", "server"],
        ["uvx", "server", "--header", f"Cookie: a={TOKEN}; b={PASSWORD}"],
        ["npx", "mcp-remote", f"postgres://ada:{PASSWORD}@host.example/x", "server"],
        ["uvx", "server", "--header", f"Authorization: Bearer {TOKEN}", f"--conn=Server=db;Password={PASSWORD}"],
        ["server", KEY],
    ],
)
def test_secret_of_a_command_is_found_and_not_shown(words: list[str]) -> None:
    (address,) = read_servers(words)
    assert not SECRETS.is_in(f"{address!r} {address.name}")
    alone = [secret for secret in (KEY, PASSWORD, TOKEN) if secret in " ".join(words)]
    assert not SECRETS.is_in(address.redactor({}).text(" | ".join(alone)))
    removed = address.redactor({}).text(" ".join(words))
    assert not SECRETS.is_in(removed)
    assert "server" in removed


def test_secret_of_urls_headers_and_variables_is_found() -> None:
    entry = {"url": f"https://ada:{PASSWORD}@host.example/mcp?key={KEY}", "headers": {"X-Shop": TOKEN}}
    (address,) = read_servers({"mcpServers": {"shop": entry}})
    text = json.dumps(entry)
    assert not SECRETS.is_in(address.redactor({}).text(text) + repr(address))
    assert "host.example/mcp" in address.redactor({}).text(text)
    assert not SECRETS.is_in(address.redactor({"Authorization": f"Bearer {KEY}"}).text(f"{text} {KEY}"))


@pytest.mark.parametrize(
    "wrong",
    [
        f"server --token {KEY} 'x",
        f"ftp://ada:{PASSWORD}@host.example",
        {"mcpServers": {"x": {"env": {"A": TOKEN, "K": KEY}}}},
    ],
)
def test_no_secret_stands_in_the_error_of_a_setting(wrong: object) -> None:
    with pytest.raises(ValueError, match="expected") as failed:
        mcp_tools(wrong)
    assert not SECRETS.is_in(shown(failed.value))


@pytest.mark.parametrize(
    "words", [["uvx", "mcp-server-git", "--repository", "/home/ada/projects"], ["node", "dist/index.js"]]
)
def test_ordinary_words_of_a_command_are_no_secrets(words: list[str]) -> None:
    (address,) = read_servers(words)
    assert not address.redactor({})


def test_words_of_ordinary_headers_are_no_secrets() -> None:
    """With a session, the SDK asks for a stream that is not to be stored."""
    text = "Cache-Control: no-store"
    tool = {"name": "explain", "description": text, "inputSchema": {"type": "object"}}
    begun: dict[str, object] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "shop", "version": "1"},
    }
    results: dict[str, object] = {
        "initialize": begun,
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": text}]},
    }
    asked = threading.Event()

    def reply(request: Request) -> Reply:
        if request.method != "POST":
            asked.set()
            return Reply(status=405)
        if request.body["method"] not in results:
            return Reply(status=202)
        body = {"jsonrpc": "2.0", "id": request.body["id"], "result": results[request.body["method"]]}
        return Reply(body=body, headers={"mcp-session-id": "abc"})

    with LoopbackServer(reply) as server, Toolkit.from_mcp(server.url) as toolkit:
        assert asked.wait(60)
        assert toolkit.execute("explain()").return_value == text
