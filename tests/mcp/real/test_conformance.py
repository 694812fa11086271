"""The official conformance suite, on our client and our server.

What is not run, and why:

- client `auth/client-credentials-jwt`, `auth/client-credentials-basic`, `auth/cross-app-access-complete-flow`: they are
  extensions of the protocol, for which the SDK has providers; those are passed as `auth`.
- client `auth/2025-03-26-oauth-metadata-backcompat`: its metadata names another issuer than the one asked, which the
  SDK refuses (RFC 8414, 3.3).
- server `logging-set-level`, `completion-complete`, `resources-*`, `prompts-*`, `tools-call-with-logging`,
  `tools-call-sampling`: a toolkit serves tools, and nothing that these ask for.
- server `tools-call-elicitation`, `elicitation-sep1034-defaults`, `elicitation-sep1330-enums`: they ask for forms of
  the server's own, and our only question is whether a call may run.
- server `tools-call-with-progress`: it asks for progress from 0 to 100; ours counts the calls of a program.
- server `server-sse-polling`: it asks for a tool that closes its own stream.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ez_ptc.mcp.server.http import HttpSettings, http_server, open_listeners
from tests.mcp.real.conftest import Peers
from tests.mcp.servers.conformance import toolkit

CLIENT = Path(__file__).with_name("conformance_client.py")
MAX_SECONDS = 120

CLIENT_SCENARIOS = [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
]
SERVER_SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]


def run_suite(peers: Peers, *arguments: str, folder: Path) -> None:
    """Run the suite, and fail with what it prints."""
    command = [*peers.node("conformance", "dist/index.js"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("scenario", CLIENT_SCENARIOS)
def test_client_conforms(peers: Peers, scenario: str, tmp_path: Path) -> None:
    run_suite(peers, "client", "--command", f"{sys.executable} {CLIENT}", "--scenario", scenario, folder=tmp_path)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the suite's tools, and return the address."""
    settings = HttpSettings(port=0, no_token=True)
    listeners = open_listeners(settings)
    server = http_server(toolkit.as_mcp_server(mode="tools").server, settings, listeners)
    thread = threading.Thread(target=server.run, args=(listeners,))
    thread.start()
    yield f"http://127.0.0.1:{listeners[0].getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join(30)


@pytest.mark.parametrize("scenario", SERVER_SCENARIOS)
def test_server_conforms(peers: Peers, url: str, scenario: str, tmp_path: Path) -> None:
    run_suite(peers, "server", "--url", url, "--scenario", scenario, folder=tmp_path)
