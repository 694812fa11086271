"""A credential in a URL stands in nothing that is shown, whoever sends the requests: providers, MCP and OpenAPI."""

from __future__ import annotations

import base64
import io
import json
import logging
import string
import tempfile
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ez_ptc import (
    AnthropicProvider,
    EzPtcError,
    GeminiProvider,
    Journal,
    MistralProvider,
    OpenAIChatProvider,
    OpenAIProvider,
    Toolkit,
    llm,
    mcp_tools,
)
from ez_ptc.openapi import openapi_tools
from ez_ptc.providers.openai_chat import list_models
from ez_ptc.redaction.quiet_urls import CompletedAddress
from ez_ptc.redaction.redactor import Redactor
from tests.providers.loopback import LoopbackServer, Reply, Request

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

Ask = Callable[[str, Path], object]
API = {"openapi": "3.1.0", "paths": {"/look": {"get": {"operationId": "look"}}}}


def _ask(provider: Callable[..., Any], *, is_streamed: bool, key: str = "k") -> Ask:
    def ask(url: str, folder: Path) -> object:
        model = provider("m", base_url=url, api_key=key, timeout=20)
        conversation = llm().provider(model).options(max_tokens=10)
        question = conversation.stream("Hello") if is_streamed else [conversation.converse("Hello")]
        return repr([repr(model), conversation, *question])

    return ask


def _ask_mcp(url: str, folder: Path) -> object:
    return repr(list(mcp_tools(url, call_timeout=20)))


def _ask_api(url: str, folder: Path) -> object:
    with httpx2.Client(base_url=url.partition("?")[0], params={"key": url.rpartition("=")[2]}) as client:
        tools = openapi_tools(API, client=client)
        with Journal(folder / "runs.db") as journal, Toolkit(tools, journal=journal) as toolkit:
            return repr([toolkit.prompt(), toolkit.execute("try:\n    print(look())\nfinally:\n    look()")])


def _ask_models(url: str, folder: Path) -> object:
    return list_models(base_url=url, api_key="k")


PROVIDERS: list[Callable[..., Any]] = [
    AnthropicProvider,
    GeminiProvider,
    MistralProvider,
    OpenAIChatProvider,
    OpenAIProvider,
]
CLIENTS: dict[str, Ask] = {"list_models": _ask_models, "MCP": _ask_mcp, "OpenAPI": _ask_api}
for provider in PROVIDERS:
    CLIENTS[provider.__name__] = _ask(provider, is_streamed=False)
    CLIENTS[f"{provider.__name__} streaming"] = _ask(provider, is_streamed=True)


@contextmanager
def _collect_logs() -> Generator[io.StringIO]:
    """Collect what is logged at any level."""
    logged, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(logged), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield logged
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _show(ask: Ask, url: str) -> str:
    """Return everything that is shown of a conversation with a server: results, errors, logs and journals."""
    with tempfile.TemporaryDirectory() as name, _collect_logs() as logged:
        try:
            shown = repr(ask(url, Path(name)))
        except EzPtcError as error:
            shown = "".join(traceback.format_exception(error)) + repr(error) + repr(error.__cause__)
        files = [path.read_bytes().decode("latin-1") for path in Path(name).iterdir()]
    return "\n".join([shown, logged.getvalue(), *files])


SECRETS = st.text(string.ascii_letters + string.digits + "é/+=&%:@ ?#[]\\\"'", min_size=10, max_size=30).filter(
    lambda text: len(text.strip(" +")) >= 10 and not any(word in text for word in ("removed", "127.0.0.1"))
)


@pytest.mark.security
@pytest.mark.parametrize("client", CLIENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    status=st.sampled_from([200, 400, 401, 503]),
    password=SECRETS,
    key=SECRETS,
    token=st.text(string.ascii_letters + string.digits, min_size=20, max_size=40),
)
def test_credential_of_a_url_is_shown_nowhere(
    client: str, spans: InMemorySpanExporter, status: int, password: str, key: str, token: str
) -> None:
    secrets = [password, key, f"sk-{token}"]

    def echo(request: Request) -> Reply:
        text = " ".join([request.path, *request.headers.values(), *secrets])
        headers = {"Content-Type": "application/json", "x-should-retry": "false"}
        return Reply(status=status, body=json.dumps({"error": {"message": text}, key: text}), headers=headers)

    with LoopbackServer(echo) as server:
        host = server.url.removeprefix("http://")
        url = f"http://ada:{quote(password, safe='')}@{host}/sk-{token}/v1?key={quote(key, safe='')}"
        shown = _show(CLIENTS[client], url)
        (request, *_) = server.requests
    shown += "".join(span.to_json() for span in spans.get_finished_spans())
    assert f"/sk-{token}/v1" in request.path
    assert request.path.partition("?")[2].startswith("key=")
    assert request.headers["authorization"].startswith("Basic ")
    assert "HTTP Request" in shown
    for secret in secrets:
        assert not Redactor([secret]).is_in(shown), (secret, shown)


KEY = "xk-Sup3rS3cretK3y-0123456789"


def _ask_api_with_key(url: str, folder: Path) -> object:
    with httpx2.Client(base_url=url, headers={"X-Api-Key": KEY}) as client:
        return Toolkit(openapi_tools(API, client=client)).execute("look()")


@pytest.mark.parametrize("status", [200, 302, 401])
@pytest.mark.parametrize("client", [*(_ask(each, is_streamed=True, key=KEY) for each in PROVIDERS), _ask_api_with_key])
def test_key_in_headers_of_an_answer_is_shown_nowhere(client: Ask, status: int) -> None:
    def echo(request: Request) -> Reply:
        encoded = base64.b64encode(KEY.encode()).decode()
        headers = {"x-request-id": KEY, "x-encoded": encoded, "set-cookie": f"key={KEY}", "x-should-retry": "false"}
        headers |= {"location": f"http://127.0.0.1:9/{KEY}", "www-authenticate": f'Bearer realm="{KEY}"'}
        return Reply(status=status, body={"error": {"message": KEY, "code": encoded}}, headers=headers)

    with LoopbackServer(echo) as server:
        shown = _show(client, server.url)
    assert "receive_response_headers" in shown
    assert not Redactor([KEY]).is_in(shown), shown


@pytest.mark.parametrize(
    ("url", "path", "expected"),
    [
        ("http://h/v1?key=abc", "/v1/chat", "/v1/chat?key=abc"),
        ("http://h/v1/?key=abc", "/v1/chat?alt=sse", "/v1/chat?key=abc&alt=sse"),
        ("http://h?key=abc", "/chat", "/chat?key=abc"),
        ("http://h/sk-aaaaaaaaaaaaaaaaaaaaaaaaa1/v1", "/[removed]/v1/x", "/sk-aaaaaaaaaaaaaaaaaaaaaaaaa1/v1/x"),
        ("http://h/v1?key=abc", "/v12/chat", "/v12/chat"),
        ("http://h/v1", "/v1/chat", "/v1/chat"),
    ],
)
def test_credentials_are_added_below_the_url(url: str, path: str, expected: str) -> None:
    address = CompletedAddress(url)
    assert "abc" not in address.visible
    request = httpx2.Request("GET", f"http://h{path}")
    address.complete(request)
    assert request.url.raw_path.decode() == expected
    assert "key" not in str(request.url)


@pytest.mark.parametrize("url", ["http://[", "localhost:8000/v1", "", "http://", "no address"])
def test_unusable_url_stays_as_it_is(url: str) -> None:
    assert CompletedAddress(url).visible == url


def test_endpoint_gives_other_paths_no_credentials() -> None:
    address = CompletedAddress("http://ada:open-sesame@h/?key=abc", is_endpoint=True)
    other, endpoint = (httpx2.Request("GET", f"http://h/{path}") for path in (".well-known/x", ""))
    for request in (other, endpoint):
        address.complete(request)
    assert (other.url.raw_path, endpoint.url.raw_path) == (b"/.well-known/x", b"/?key=abc")
    assert "authorization" not in other.headers
    assert endpoint.headers["authorization"].startswith("Basic ")
