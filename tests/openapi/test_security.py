"""What a program, a server and a document may try: credentials stay, and a call is the operation it is."""

from __future__ import annotations

import base64
import json
import re
import time
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import ToolError, Toolkit
from ez_ptc.openapi import ApiRequest, ApiResponse, openapi_tools
from tests.openapi.api import Api, Asked, document, serve
from tests.openapi.conftest import KEY
from tests.openapi.test_calls import one_tool, parameter

WAYS_UP = [
    *("..", ".", "../admin", "a/../../admin", "..\\admin", "a/..", "./", "a\\..\\b"),
    # Encoded once and more often, as a whole and in part, and by encodings that some servers know.
    *("%2e%2e", "%252e%252e", "%25252E.", ".%2e", "a%2f..%2f", "a%252F%2E%2E", "%5c..", "%c0%ae%c0%ae", "%u002e%u002e"),
    # What servers drop or fold before they look.
    *("..;x=1", "..\0x", " ..", "..%20", "%2e%2e%00", "\uff0e\uff0e", "a\uff0f..", "%ef%bc%8e%ef%bc%8e"),
    "%" + "25" * 50 + "2e.",
]
HARMLESS = [
    "a/b",
    "?admin=1",
    "#x",
    "a?b",
    "%2F",
    "//evil.example",
    "http://evil.example/",
    "@evil",
    ":80",
    "...",
    "a..b",
]


@pytest.mark.parametrize("value", WAYS_UP)
def test_argument_cannot_lead_up_the_path(value: str, api: Api, client: httpx2.Client) -> None:
    with pytest.raises(ToolError, match=r"leads elsewhere|many times over"):
        one_tool(client, "/pets/{id}/toys", parameter("id", "path")).call({"id": value})
    assert api.asked == []


@pytest.mark.parametrize("value", [*HARMLESS, "100%", "50%25", "a\r\nHost: evil", "\0", "é"])
def test_argument_stays_in_its_part_of_the_path(value: str, api: Api, client: httpx2.Client) -> None:
    one_tool(client, "/pets/{id}/toys", parameter("id", "path")).call({"id": value})
    (asked,) = api.asked
    assert asked.target.startswith("/v1/pets/")
    assert asked.target.endswith("/toys")
    (written,) = asked.target.removeprefix("/v1/pets/").removesuffix("/toys").split("/")
    assert unquote(written) == value


@pytest.mark.parametrize("value", ["", [], {}])
def test_empty_argument_does_not_shorten_the_path(value: object, api: Api, client: httpx2.Client) -> None:
    with pytest.raises(ToolError, match="empty"):
        one_tool(client, "/pets/{id}", parameter("id", "path")).call({"id": value})
    assert api.asked == []


def test_dots_of_two_arguments_do_not_join(api: Api, client: httpx2.Client) -> None:
    tool = one_tool(client, "/a/{x}{y}", parameter("x", "path"), parameter("y", "path"))
    with pytest.raises(ToolError, match="leads elsewhere"):
        tool.call({"x": ".", "y": "."})
    assert api.asked == []


SIBLINGS = {
    "/pets/{id}": [
        "mine",
        "MINE",
        "mine/",
        "//mine",
        "m%69ne",
        "%6di%256ee",
        "mine;x=1",
        "5/toys",
        "5%2Ftoys",
        "5%252ftoys/",
    ],
    "/pets/{id}/toys": ["5/toys/7", "mine"],
    "/jobs/{id}": ["5:cancel", "5%3Acancel", "5%253acancel"],
}
UNRELATED = {
    "/pets/{id}": ["5", "min", "mine2", "my/other/file/x", "toys", "a b", "5:cancel"],
    "/pets/{id}/toys": ["5", "toys", "5/toys"],
    "/pets/{name}/{toy}": ["5"],
    "/jobs/{id}": ["5", "cancel", ":"],
    "/jobs/{id}:cancel": ["5"],
}


def api_of_siblings(send: Callable[[ApiRequest], Any]) -> dict[str, Any]:
    paths = {**SIBLINGS, **UNRELATED, "/pets/mine": [], "/pets/mine/toys": [], "/pets/{id}/toys/{toy}/toys": []}
    described = {
        path: {"get": {"operationId": path, "parameters": [parameter(name, "path") for name in names_in(path)]}}
        for path in paths
    }
    return dict(zip(paths, openapi_tools(document(described), client=send), strict=True))


def names_in(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, values in SIBLINGS.items() for value in values])
def test_argument_cannot_make_the_path_of_another_operation(path: str, value: str) -> None:
    sent: list[ApiRequest] = []
    tool = api_of_siblings(sent.append)[path]
    with pytest.raises(ToolError, match="leads elsewhere"):
        tool.call(dict.fromkeys(names_in(path), value))
    assert sent == []


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, values in UNRELATED.items() for value in values])
def test_similar_paths_of_other_operations_are_no_obstacle(path: str, value: str) -> None:
    sent: list[ApiRequest] = []

    def send(request: ApiRequest) -> ApiResponse:
        sent.append(request)
        return ApiResponse(204)

    api_of_siblings(send)[path].call(dict.fromkeys(names_in(path), value))
    assert len(sent) == 1


def test_client_sends_no_request_to_another_server(api: Api) -> None:
    class Elsewhere(httpx2.Client):
        def build_request(self, method: str, url: httpx2.URL | str, **options: Any) -> httpx2.Request:
            return super().build_request(method, f"{api.url}/v1{url}", **options)

    with Elsewhere(base_url="http://other.example/v1") as client, pytest.raises(ToolError, match="was not sent"):
        one_tool(client, "/pets").call({})
    assert api.asked == []


@given(st.text(alphabet="./\\%25eEfFcC0;a", max_size=12))
def test_no_decoding_of_any_text_leads_up(value: str) -> None:
    sent: list[ApiRequest] = []

    def send(request: ApiRequest) -> ApiResponse:
        sent.append(request)
        return ApiResponse(204)

    one_tool(send, "/a/{x}/b", parameter("x", "path")).execute(x=value)
    for request in sent:
        path = request.path
        for _ in range(20):
            assert not {".", ".."} & {part.partition(";")[0] for part in re.split(r"[/\\]", path)}
            path = unquote(path)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_keeps_the_operation(in_path: str, in_query: str) -> None:
    sent: list[ApiRequest] = []

    def send(request: ApiRequest) -> ApiResponse:
        sent.append(request)
        return ApiResponse(204)

    tool = one_tool(send, "/a/{x}/b", parameter("x", "path"), parameter("q", "query"))
    result = tool.execute(x=in_path, q=in_query)
    if result.success:
        (request,) = sent
        first, second, written, last = request.path.split("/")
        assert (first, second, last, unquote(written)) == ("", "a", "b", in_path)
        assert request.path.isascii()
        assert (request.query.count("&"), request.query.count("="), request.query[:2]) == (0, 1, "q=")
        assert not set(request.query + request.path) & set("#? \r\n")
    else:
        assert sent == []


@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "a\nb", "\0", "\u2028"])
def test_header_argument_has_no_line_breaks(value: str, api: Api, client: httpx2.Client) -> None:
    with pytest.raises(ToolError, match="header"):
        one_tool(client, "/x", parameter("X-Trace", "header")).call({"X-Trace": value})
    assert api.asked == []


@pytest.mark.parametrize("name", ["Authorization", "Host", "Content-Length", "Transfer-Encoding", "Cookie", "a: b"])
def test_document_gives_no_argument_for_protocol_headers(name: str, client: httpx2.Client) -> None:
    assert one_tool(client, "/x", parameter(name, "header")).parameters["properties"] == {}


def test_clients_credentials_are_no_arguments(api: Api) -> None:
    paths = {
        "/x": {
            "get": {
                "operationId": "act",
                "parameters": [
                    parameter("X-Key", "header"),
                    parameter("token", "query"),
                    parameter("sid", "cookie"),
                    parameter("api_key", "query"),
                    parameter("q", "query"),
                ],
            }
        }
    }
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "api_key"}}
    spec = document(paths, components={"securitySchemes": schemes})
    with httpx2.Client(
        base_url=api.url, headers={"x-key": KEY}, params={"token": "t1"}, cookies={"sid": "c1"}
    ) as client:
        (tool,) = openapi_tools(spec, client=client)
        assert list(tool.parameters["properties"]) == ["q"]
        tool.call({"q": "1"})
    (asked,) = api.asked
    assert asked.target == "/x?token=t1&q=1"
    assert (asked.headers["x-key"], asked.headers["cookie"]) == (KEY, "sid=c1")


def test_arguments_are_not_taken_for_credentials(api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = echo_ok
    tool = one_tool(client, "/x", parameter("X-Account", "header"), parameter("theme", "cookie"))
    assert tool.call({"X-Account": "12345", "theme": "darkest"}) == ["12345", "theme=darkest"]


# What comes back ------------------------------------------------------------------------------------------------------


def echo_ok(asked: Asked) -> list[str]:
    return [asked.headers["x-account"], asked.headers["cookie"]]


def echo(asked: Asked) -> tuple[int, dict[str, str], bytes]:
    return 500, {"content-type": "text/html"}, f"<pre>{asked.headers}</pre>".encode()


def test_credentials_echoed_by_a_server_are_removed(api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = echo
    with Toolkit.from_openapi(document({"/x": {"get": {"operationId": "act"}}}), client=client) as toolkit:
        failed = toolkit.execute("try:\n    act()\nexcept Exception as error:\n    print(error)")
        assert "status 500" in failed.output
        assert KEY not in failed.output
        assert client.base_url.host not in failed.output

        def repeat(asked: Asked) -> dict[str, str]:
            return {"seen": asked.headers["authorization"]}

        api.answers["/v1/x"] = repeat
        assert toolkit.execute("act()").return_value == {"seen": "[removed]"}


def test_basic_credentials_are_removed(api: Api) -> None:
    api.answers["/x"] = echo
    address = api.url.replace("http://", "http://ann:open-sesame@")
    with httpx2.Client(base_url=address) as client:
        error = one_tool(client, "/x").execute().error or ""
    assert api.asked[0].headers["authorization"].startswith("Basic ")
    assert "open-sesame" not in error
    assert base64.b64encode(b"ann:open-sesame").decode() not in error


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("media_type", ["application/json", "text/plain; charset={}", "application/octet-stream"])
@pytest.mark.parametrize("status", [200, 401])
def test_credentials_are_removed_in_every_encoding(encoding: str, media_type: str, status: int, api: Api) -> None:
    secret = "sk/live+s\u00e9cret=="
    body = json.dumps({"you sent": secret, secret: ["", secret]}).replace("/", "\\/").encode(encoding)
    if not media_type.startswith("application/json"):
        body = f"{secret} {body.decode(encoding)}".encode(encoding)
    api.answers["/v1/x"] = (status, {"content-type": media_type.format(encoding)}, body)
    with httpx2.Client(base_url=f"{api.url}/v1", params={"key": secret}) as client:
        result = one_tool(client, "/x").execute()
    output = result.output
    text = output.decode("latin-1") if isinstance(output, bytes) else f"{output!r} {result.error}"
    if not isinstance(output, bytes) or encoding == "utf-8":
        assert "[removed]" in text
    for half in ("live", "cret", "\\u00e9"):
        assert half not in text.replace("\0", "")


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "unicode_escape", "raw_unicode_escape", "utf-7", "base64", "zip", "rot13"]
)
def test_charset_that_is_no_text_is_not_used(charset: str, api: Api, client: httpx2.Client) -> None:
    body = b"aaaaa-" + b"a" * 100_000
    api.answers["/v1/x"] = (200, {"content-type": f"text/plain; charset={charset}"}, body)
    began = time.process_time()
    assert one_tool(client, "/x").call({}) == body.decode()
    assert time.process_time() - began < 1


@pytest.mark.parametrize("is_asked", [True, False])
def test_errors_of_the_client_are_not_passed_on(is_asked: bool) -> None:
    def send(_: ApiRequest) -> ApiResponse:
        message = f"cannot reach https://ann:{KEY}@internal.example/v1"
        raise ConnectionError(message)

    client: Any = httpx2.Client(base_url=f"http://ann:{KEY}@127.0.0.1:1/v1") if is_asked else send
    toolkit = Toolkit.from_openapi(document({"/x": {"get": {"operationId": "act"}}}), client=client)
    result = toolkit.execute("act()")
    text = f"{result.error}{result.error_output}{result.tool_calls}"
    assert "act: the API could not be asked (Connect" in text
    for secret in (KEY, "ann", "internal", "127.0.0.1"):
        assert secret not in text


def test_program_and_prompt_have_no_address_and_no_key(api: Api, client: httpx2.Client) -> None:
    spec = document({"/x": {"get": {"operationId": "act"}}}, servers=[{"url": api.url}])
    toolkit = Toolkit.from_openapi(spec, client=client)
    seen = toolkit.prompt() + str(toolkit.tool_schema()) + repr(toolkit) + repr(list(toolkit))
    seen += str(toolkit.execute("[str(vars(act)) if hasattr(act, '__dict__') else '', repr(act), act.__doc__]"))
    assert KEY not in seen
    assert api.url.removeprefix("http://") not in seen


def test_redirect_to_another_host_is_not_followed(api: Api, client: httpx2.Client) -> None:
    with serve() as other:
        api.answers["/v1/x"] = (302, {"location": f"{other.url}/steal"}, b"")
        with pytest.raises(ToolError, match="another host, which is not followed") as info:
            one_tool(client, "/x").call({})
        assert other.asked == []
    assert other.url not in str(info.value)


def test_redirect_within_the_host_is_followed(api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = (301, {"location": "/v1/y"}, b"")
    assert one_tool(client, "/x").call({}) == {"ok": True}
    assert [asked.target for asked in api.asked] == ["/v1/x", "/v1/y"]


def test_circle_of_redirects_ends(api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = (307, {"location": "/v1/x"}, b"")
    with pytest.raises(ToolError, match="more than 5 redirects"):
        one_tool(client, "/x").call({})


def test_redirected_change_is_not_repeated(api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = (307, {"location": "/v1/y"}, b"")
    with pytest.raises(ToolError, match="not followed"):
        one_tool(client, "/x", method="post").call({})
    assert len(api.asked) == 1


def bomb(encoding: str) -> bytes:
    """Return 64 MiB of blanks in the size of one chunk."""
    compressor = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "raw deflate": -15}[encoding])
    return b"".join(compressor.compress(b" " * (1 << 20)) for _ in range(64)) + compressor.flush()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.sampled(every=6)
def test_compressed_response_has_a_size_in_memory(encoding: str, is_async: bool, api: Api) -> None:
    body, headers = bomb(encoding), {"content-encoding": encoding.rpartition(" ")[2], "content-type": "text/plain"}
    api.answers["/v1/x"] = (200, headers, body)
    client = (httpx2.AsyncClient if is_async else httpx2.Client)(base_url=f"{api.url}/v1")
    tool = one_tool(client, "/x")
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match="more than 16 MiB"):
            tool.call({})
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
def test_compressed_response_is_read(encoding: str, api: Api, client: httpx2.Client) -> None:
    compressor = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "raw deflate": -15}[encoding])
    body = compressor.compress(b"x" * (3 << 20)) + compressor.flush()
    headers = {"content-encoding": encoding.rpartition(" ")[2], "content-type": "text/plain"}
    api.answers["/v1/x"] = (200, headers, body)
    assert one_tool(client, "/x").call({}) == "x" * (3 << 20)
    client.event_hooks = {"response": [httpx2.Response.read]}
    assert one_tool(client, "/x").call({}) == "x" * (3 << 20)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("br", "br"), ("zstd", "zstd"), ("gzip, gzip", "another encoding"), (KEY, "another encoding")],
)
def test_encoding_that_cannot_be_bounded_is_refused(encoding: str, name: str, api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = (200, {"content-encoding": encoding}, b"x")
    client.headers["accept-encoding"] = "br, gzip;q=0.5, zstd, *"
    with pytest.raises(ToolError, match=f"expected an answer in gzip or deflate, got {name}$"):
        one_tool(client, "/x").call({})
    assert api.asked[-1].headers["accept-encoding"] == "gzip;q=0.5"
