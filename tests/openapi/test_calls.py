"""Calls of an API's operations, over a real connection."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import parse_qsl

import anyio
import httpx2
import pytest

from ez_ptc import ArgumentsError, Tool, ToolError, Toolkit
from ez_ptc.openapi import ApiRequest, ApiResponse, openapi_tools
from tests.openapi.api import Api, document

PETS = document(
    {
        "/pets/{petId}": {
            "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "operationId": "getPet",
                "summary": "Get a pet.",
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}
                },
            },
            "delete": {"responses": {"204": {}}},
        },
        "/pets": {
            "post": {
                "operationId": "pets/create",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                },
            }
        },
    },
    components={
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["id", "name"],
                "properties": {
                    "id": {"type": "integer", "readOnly": True},
                    "name": {"type": "string"},
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
                },
            }
        }
    },
)


def parameter(name: str, location: str, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": location, "required": location == "path", "schema": schema or {}, **more}


def one_tool(
    client: object, path: str, *parameters: dict[str, Any], method: str = "get", **more: Any
) -> Tool[..., Any]:
    operation = {"operationId": "act", "parameters": list(parameters), **more}
    (tool,) = openapi_tools(document({path: {method: operation}}), client=client)
    return tool


def test_program_calls_operations_of_an_api(api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/pets/7"] = {"id": 7, "name": "Rex"}
    with Toolkit.from_openapi(PETS, client=client) as toolkit:
        assert [tool.name for tool in toolkit] == ["getPet", "delete_pets_petId", "pets_create"]
        result = toolkit.execute("pet = getPet(7)\npets_create(name=pet.name + ' II')\nprint(pet['name'])")
    assert (result.error, result.output) == (None, "Rex\n")
    assert [(asked.method, asked.target) for asked in api.asked] == [("GET", "/v1/pets/7"), ("POST", "/v1/pets")]
    assert json.loads(api.asked[1].body) == {"name": "Rex II"}
    assert api.asked[0].headers["authorization"] == "Bearer sk-live-4242"


def test_asynchronous_client_makes_asynchronous_tools(api: Api) -> None:
    async def main() -> object:
        async with httpx2.AsyncClient(base_url=api.url) as client:
            toolkit = Toolkit.from_openapi(PETS, client=client)
            assert all(tool.is_async for tool in toolkit)
            return (await toolkit.aexecute("(await getPet(7))['ok']")).return_value

    assert anyio.run(main) is True


@pytest.mark.parametrize("is_async", [False, True])
def test_function_can_be_the_client(is_async: bool) -> None:
    asked: list[ApiRequest] = []

    def send(request: ApiRequest) -> ApiResponse:
        asked.append(request)
        return ApiResponse(200, "application/json", b"[1]")

    async def asend(request: ApiRequest) -> ApiResponse:
        return send(request)

    tools = openapi_tools(PETS, client=asend if is_async else send)
    assert tools[0].call({"petId": 7}) == [1]
    assert asked == [ApiRequest("GET", "/pets/7")]


def test_reading_methods_are_declared_read_only(client: httpx2.Client) -> None:
    tools = openapi_tools(PETS, client=client, requires_approval=lambda operation: operation.method == "DELETE")
    assert [tool.read_only for tool in tools] == [True, None, None]
    assert [tool.requires_approval for tool in tools] == [False, True, False]


def test_included_operations_are_the_only_tools(client: httpx2.Client) -> None:
    tools = openapi_tools(PETS, client=client, include=lambda operation: operation.is_reading)
    assert [tool.name for tool in tools] == ["getPet"]


def test_result_is_described_by_the_response(client: httpx2.Client) -> None:
    get, *_ = openapi_tools(PETS, client=client)
    assert get.return_schema is not None
    assert get.return_schema["properties"]["name"] == {"type": "string"}
    assert get.return_schema["required"] == ["id", "name"]


def test_arguments_are_checked_before_anything_is_sent(api: Api, client: httpx2.Client) -> None:
    get, _, create = openapi_tools(PETS, client=client)
    assert "petId" in (get.execute(petId="seven").error or "")
    assert "colour" in (create.execute(name="Rex", colour="red").error or "")
    assert "name" in (create.execute().error or "")
    assert "friends" in (create.execute(name="Rex", friends=[{"name": 1}]).error or "")
    assert api.asked == []


# Where arguments stand ------------------------------------------------------------------------------------------------

STYLES: list[tuple[str, dict[str, Any], object, str]] = [
    ("path", {"style": "simple"}, "a b", "/x/a%20b"),
    ("path", {}, [1, 2], "/x/1,2"),
    ("path", {"style": "label"}, [1, 2], "/x/.1,2"),
    ("path", {"style": "label", "explode": True}, [1, 2], "/x/.1.2"),
    ("path", {"style": "matrix"}, [1, 2], "/x/;p=1,2"),
    ("path", {"style": "matrix", "explode": True}, [1, 2], "/x/;p=1;p=2"),
    ("path", {"style": "matrix", "explode": True}, {"a": 1}, "/x/;a=1"),
    ("path", {"explode": True}, {"a": 1, "b": 2}, "/x/a=1,b=2"),
    ("query", {}, [1, "&"], "/x?p=1&p=%26"),
    ("query", {"explode": False}, [1, ","], "/x?p=1,%2C"),
    ("query", {}, {"a": 1, "b": True}, "/x?a=1&b=true"),
    ("query", {"explode": False}, {"a": 1}, "/x?p=a,1"),
    ("query", {"style": "spaceDelimited", "explode": False}, [1, 2], "/x?p=1%202"),
    ("query", {"style": "pipeDelimited", "explode": False}, [1, 2], "/x?p=1%7C2"),
    ("query", {"style": "deepObject"}, {"a": {"b": 1}, "c": [2]}, "/x?p%5Ba%5D%5Bb%5D=1&p%5Bc%5D%5B0%5D=2"),
    ("query", {"content": {"application/json": {"schema": {}}}}, {"a": 1}, "/x?p=%7B%22a%22%3A1%7D"),
    ("query", {}, 2.0, "/x?p=2"),
    ("query", {"allowReserved": True}, "a&b=c#d", "/x?p=a%26b%3Dc%23d"),
]


@pytest.mark.parametrize(("location", "form", "value", "target"), STYLES)
def test_parameter_is_written_in_its_style(
    location: str, form: dict[str, Any], value: object, target: str, api: Api, client: httpx2.Client
) -> None:
    path = "/x/{p}" if location == "path" else "/x"
    one_tool(client, path, parameter("p", location, **form)).call({"p": value})
    assert api.asked[0].target == f"/v1{target}"


def test_headers_and_cookies_are_sent(api: Api, client: httpx2.Client) -> None:
    client.cookies.set("session", "s1")
    tool = one_tool(client, "/x", parameter("X-Trace", "header"), parameter("theme", "cookie"))
    tool.call({"X-Trace": [1, 2], "theme": "dark; admin=1"})
    assert api.asked[0].headers["x-trace"] == "1,2"
    assert api.asked[0].headers["cookie"] == "session=s1; theme=dark%3B%20admin%3D1"


def test_parameters_of_one_name_are_numbered(api: Api, client: httpx2.Client) -> None:
    tool = one_tool(client, "/x/{id}", parameter("id", "path"), parameter("id", "query"))
    tool.call({"id": "a", "id_2": "b"})
    assert api.asked[0].target == "/v1/x/a?id=b"


def body(media_type: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"required": True, "content": {media_type: {"schema": schema, **more}}}


def test_forms_are_encoded(api: Api, client: httpx2.Client) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}, "list": {}, "deep": {}, "json": {}}}
    form = body(
        "application/x-www-form-urlencoded", schema, encoding={"deep": {"style": "deepObject", "explode": True}}
    )
    tool = one_tool(client, "/x", method="post", requestBody=form)
    tool.call({"a": "1&b=2", "list": [1, 2], "deep": {"x": {"y": 1}}, "json": {"k": "v"}})
    assert api.asked[0].headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qsl(api.asked[0].body.decode()) == [
        ("a", "1&b=2"),
        ("list", "1"),
        ("list", "2"),
        ("deep[x][y]", "1"),
        ("json", '{"k": "v"}'),
    ]


def test_files_are_sent_in_multipart_forms(api: Api, client: httpx2.Client) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"file": {"type": "string", "format": "binary"}, "note": {}},
    }
    tool = one_tool(client, "/x", method="post", requestBody=body("multipart/form-data", schema))
    content = b"\x00\x01 any bytes \r\n--"
    tool.call({"file": base64.b64encode(content).decode(), "note": "hi"})
    asked = api.asked[0]
    assert asked.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert content in asked.body
    assert b'name="note"\r\n\r\nhi\r\n' in asked.body
    with pytest.raises(ToolError, match="base64"):
        tool.call({"file": "no base64!"})


def test_other_bodies_are_text_or_base64(api: Api, client: httpx2.Client) -> None:
    text = one_tool(client, "/x", method="post", requestBody=body("text/plain", {"type": "string"}))
    text.call({"body": "Grüße"})
    data = one_tool(client, "/x", method="put", requestBody=body("application/octet-stream", {}))
    data.call({"body": base64.b64encode(b"\xff\x00").decode()})
    xml = one_tool(client, "/x", method="post", requestBody=body("application/xml", {"type": "object"}))
    xml.call({"body": "<a/>"})
    assert [asked.body for asked in api.asked] == ["Grüße".encode(), b"\xff\x00", b"<a/>"]
    with pytest.raises(ArgumentsError, match="'body' must be str"):
        xml.call({"body": {"a": 1}})


def test_body_that_is_no_plain_object_is_one_argument(api: Api, client: httpx2.Client) -> None:
    schema = {"oneOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}
    tool = one_tool(client, "/x", method="post", requestBody=body("application/json", schema))
    tool.call({"body": [1, 2]})
    assert api.asked[0].body == b"[1, 2]"


def test_bodys_argument_that_is_a_parameter_too(api: Api, client: httpx2.Client) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    tool = one_tool(
        client, "/x/{id}", parameter("id", "path"), method="put", requestBody=body("application/json", schema)
    )
    tool.call({"id": "a", "body": {"id": 1}})
    assert (api.asked[0].target, api.asked[0].body) == ("/v1/x/a", b'{"id": 1}')


def test_optional_body_can_be_left_out(api: Api, client: httpx2.Client) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tool = one_tool(client, "/x", method="post", requestBody={"content": {"application/json": {"schema": schema}}})
    tool.call({})
    tool.call({"a": 1})
    assert [asked.body for asked in api.asked] == [b"", b'{"a": 1}']


# Results --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "content", "expected"),
    [
        ("application/json", b'{"a": 1}', {"a": 1}),
        ("text/json; charset=utf-8", b"[null]", [None]),
        ("application/problem+json; charset=utf-8", b"[null]", [None]),
        ("text/plain; charset=latin-1", b"Gr\xfc\xdfe", "Grüße"),
        ("text/csv", b"a,b\n1,2\n", "a,b\n1,2\n"),
        ("application/xml", b"<a/>", "<a/>"),
        ("image/png", b"\x89PNG\x00", b"\x89PNG\x00"),
        ("", b"", None),
    ],
)
def test_response_becomes_data_text_or_bytes(
    content_type: str, content: bytes, expected: object, api: Api, client: httpx2.Client
) -> None:
    api.answers["/v1/x"] = (200, {"content-type": content_type}, content)
    assert one_tool(client, "/x").call({}) == expected


def test_other_status_is_an_error_with_bounded_body(api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = (404, {"content-type": "application/json"}, b'{"message": "no such pet"}' + b" x" * 100_000)
    with pytest.raises(ToolError, match=r'act: the API answered with status 404: \{"message": "no such pet"\}') as info:
        one_tool(client, "/x").call({})
    assert len(str(info.value)) < 2_100


@pytest.mark.parametrize("content", [b"{", b"[" * 5_000 + b"]" * 5_000, b"\xff"])
def test_invalid_json_is_an_error(content: bytes, api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = (200, {"content-type": "application/json"}, content)
    with pytest.raises(ToolError, match="JSON"):
        one_tool(client, "/x").call({})


def test_large_response_is_an_error(api: Api, client: httpx2.Client) -> None:
    api.answers["/v1/x"] = (200, {"content-type": "text/plain"}, b"x" * ((16 << 20) + 1))
    with pytest.raises(ToolError, match="more than 16 MiB"):
        one_tool(client, "/x").call({})
