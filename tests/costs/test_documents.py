"""OpenAPI documents and responses cost time and memory linear in their size."""

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc import SchemaError, ToolError
from ez_ptc.openapi import ApiRequest, ApiResponse, openapi_tools
from ez_ptc.openapi.paths import find_path_problem
from tests.costs.growth import check_growth

pytestmark = pytest.mark.security


def _paths(paths: dict[str, Any], **more: object) -> str:
    return json.dumps({"openapi": "3.1.0", "paths": paths, **more})


def _schema(schema: dict[str, Any], **schemas: object) -> str:
    body = {"content": {"application/json": {"schema": schema}}}
    return _paths({"/a": {"post": {"requestBody": body}}}, components={"schemas": schemas})


def _nested(size: int, wrap: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {"type": "string"}
    for _ in range(min(size, 400)):
        value = wrap(value)
    return value


REFERENCE = "#/components/schemas/s{}"
DOCUMENTS: dict[str, Callable[[int], str]] = {
    "operations": lambda size: _paths({f"/a{number}": {"get": {}} for number in range(size)}),
    "operations of one name": lambda size: _paths({f"/a{n}": {"get": {"operationId": "same"}} for n in range(size)}),
    "operations that are no tools": lambda size: _paths({f"/a{n}": {"get": {"requestBody": []}} for n in range(size)}),
    "parameters": lambda size: _paths(
        {"/a": {"get": {"parameters": [{"name": f"p{n}", "in": "query"} for n in range(size)]}}}
    ),
    "parameters of one name": lambda size: _paths(
        {"/a": {"get": {"parameters": [{"name": "p", "in": "query"}] * size}}}
    ),
    "names of one spelling": lambda size: _paths(
        {"/a": {"get": {"parameters": [{"name": "p" + "-" * n, "in": "query"} for n in range(size // 50)]}}}
    ),
    "places in a path": lambda size: _paths({"/" + "{a}/" * size: {"get": {}}}),
    "braces": lambda size: _paths({"/" + "{" * size: {"get": {}}}),
    "similar paths": lambda size: _paths({"/a/" * number: {"get": {}} for number in range(min(size // 20, 900))}),
    "properties": lambda size: _schema(
        {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(size)}}
    ),
    "nested arrays": lambda size: _schema(_nested(size, lambda inner: {"type": "array", "items": inner})),
    "nested choices": lambda size: _schema(_nested(size, lambda inner: {"anyOf": [inner]})),
    "merged schemas": lambda size: _schema({"allOf": [{"properties": {f"p{n}": {}}} for n in range(size)]}),
    "choices": lambda size: _schema({"oneOf": [{"type": "string", "maxLength": n} for n in range(size)]}),
    "values": lambda size: _schema({"enum": [f"v{n}" for n in range(size)]}),
    "a chain of references": lambda size: _schema(
        {"$ref": REFERENCE.format(0)},
        **{f"s{n}": {"type": "array", "items": {"$ref": REFERENCE.format(n + 1)}} for n in range(size)},
    ),
    "references to one schema": lambda size: _schema(
        {"type": "object", "properties": {f"p{n}": {"$ref": REFERENCE.format(0)} for n in range(size)}},
        s0={"type": "string"},
    ),
    "a long description": lambda size: _paths({"/a": {"get": {"description": "\x1b" * size}}}),
    "a long pattern": lambda size: _schema({"type": "string", "pattern": "(a|b)" * size}),
    "blanks": lambda size: '{"openapi":"3.1.0",' + " " * size + '"paths":{}}',
    "unclosed lists": lambda size: '{"openapi":' + "[" * size,
    "lists in YAML": lambda size: "openapi: 3.1.0\npaths: " + "[" * size,
    "aliases": lambda size: "openapi: 3.1.0\nx-a: &a [b]\nx-b: [" + ",".join(["*a"] * size) + "]\npaths: {}\n",
    "aliases of a long list": lambda size: (
        f"openapi: 3.1.0\nx-a: &a [{','.join('b' * size)}]\nx-b: [{','.join(['*a'] * (size // 10))}]\npaths: {{}}\n"
    ),
    "merged keys": lambda size: (
        f"openapi: 3.1.0\nx-a: &a {{{', '.join(f'k{n}: 1' for n in range(size))}}}\n"
        f"x-b: [{', '.join(['{<<: *a}'] * size)}]\npaths: {{}}\n"
    ),
    "merged keys of merged keys": lambda size: (
        "openapi: 3.1.0\nx-0: &a0 {k: 1}\n"
        + "".join(f"x-{n + 1}: &a{n + 1} {{<<: *a{n}, k{n}: 1}}\n" for n in range(size))
        + "paths: {}\n"
    ),
    "a number to the base 60": lambda size: f"openapi: 3.1.0\nx-a: 1{':1' * 20 * size}\npaths: {{}}\n",
    "a tagged number to the base 60": lambda size: f"openapi: 3.1.0\nx-a: !!float 1{':1' * 20 * size}\npaths: {{}}\n",
    "operations beside API keys": lambda size: _paths(
        {f"/a{n}": {"get": {}} for n in range(size)},
        components={
            "securitySchemes": {f"k{n}": {"type": "apiKey", "in": "query", "name": f"k{n}"} for n in range(size)}
        },
    ),
    "responses of one large schema": lambda size: _paths(
        {f"/a{n}": {"get": {"responses": {"200": {"$ref": "#/components/responses/all"}}}} for n in range(size)},
        components={
            "responses": {"all": {"content": {"application/json": {"schema": {"$ref": REFERENCE.format(0)}}}}},
            "schemas": {"s0": {"properties": {f"p{n}": {"type": "string"} for n in range(size)}}},
        },
    ),
    "keys of a line": lambda size: "openapi: 3.1.0\n" + "a: " * size + "\n",
}


def _read(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            for tool in openapi_tools(text, client=_send):
                tool.to_format("openai")
        except SchemaError:
            return


def _send(request: ApiRequest) -> ApiResponse:
    return ApiResponse(200, "application/json", b"{}")


@pytest.mark.parametrize("shape", DOCUMENTS.values(), ids=DOCUMENTS)
def test_reading_document_takes_linear_time(shape: Callable[[int], str]) -> None:
    check_growth(shape, _read, start=250, most=16_000, bytes_each=60_000)


PARAMETERS = [{"name": f"p{number}", "in": "query", "schema": {"type": "string"}} for number in range(1_000)]
SHARED: dict[str, dict[str, Any]] = {
    "parameters": {"get": {}, "parameters": PARAMETERS},
    "properties": {
        "post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": REFERENCE.format(0)}}}}}
    },
    "values": {"get": {"parameters": [{"name": "p", "in": "query", "schema": {"$ref": REFERENCE.format(1)}}]}},
    "default values": {"get": {"parameters": [{"name": "p", "in": "query", "schema": {"$ref": REFERENCE.format(2)}}]}},
}


@pytest.mark.parametrize("item", SHARED.values(), ids=SHARED)
def test_operations_share_bound_for_copies_of_schemas(item: dict[str, Any]) -> None:
    schemas = {
        "s0": {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(1_000)}},
        "s1": {"enum": [f"v{number}" for number in range(10_000)]},
        "s2": {"type": "array", "default": [[[number] for number in range(5_000)]]},
    }
    paths: dict[str, Any] = {f"/a{number}": {"$ref": "#/components/pathItems/all"} for number in range(500)}
    document = _paths({**paths, "/b": {"get": {}}}, components={"pathItems": {"all": item}, "schemas": schemas})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tools = openapi_tools(document, client=_send)
    assert len(tools) < 120
    assert tools[-1].name == "get_b"
    assert len(caught) == len(paths) + 1 - len(tools)
    assert "is no tool: its schema is too large, by itself or beside" in str(caught[-1].message)


def _shared(count: int, schema: object, first: object = None) -> str:
    body = {"content": {"application/json": {"schema": {"$ref": REFERENCE.format(0)}}}}
    paths: dict[str, Any] = {f"/a{number}": {"post": {"requestBody": body}} for number in range(count)}
    large = {"/": {"post": {"requestBody": {"content": {"application/json": {"schema": first}}}}}} if first else {}
    return _paths({**large, **paths}, components={"schemas": {"s0": schema}})


@pytest.mark.parametrize(
    "first", [None, {"anyOf": [{"type": "object", "properties": {"p": {"maxLength": n}}} for n in range(30_000)]}]
)
def test_operation_that_is_no_tool_takes_no_share(first: object) -> None:
    """One that `include` leaves out, or that is too large by itself."""
    document = _shared(100, {"properties": {f"p{n}": {"type": "string"} for n in range(1_000)}}, first)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tools = openapi_tools(document, client=_send, include=lambda operation: operation.path in {"/", "/a99"})
    assert [tool.name for tool in tools] == ["post_a99"]
    assert len(caught) == (first is not None)


def test_operations_that_are_left_out_share_bound_for_reading() -> None:
    document = _shared(40, {"enum": [f"v{n}" for n in range(400_000)]})
    with pytest.warns(UserWarning, match=r"post_a[23]\d .* is no tool: its schema is too large, by itself or beside"):
        assert openapi_tools(document, client=_send, include=lambda _: False) == []


TEMPLATES = ["/{a}{b}{c}{d}/x", "/{a}-{b}-{c}-{d}/x", "/{a}.{b}-{c}.{d}-/x", "/x{a}/{b}x{c}x{d}"]


@pytest.mark.parametrize("character", ["a", "-", "x", ".", "\u00df", "%2d", "%252d"])
def test_checking_path_takes_linear_time(character: str) -> None:
    templates = ["/{a}/{b}", *TEMPLATES, *(f"/{{a}}/{{b}}{number}" for number in range(100))]
    check_growth(
        lambda size: f"/{character * size}/{character * size}",
        lambda path: find_path_problem(path, templates[0], templates),
        start=100,
        most=400_000,
        bytes_each=400,
    )


TYPES = {"JSON": "application/json", "text": "text/plain", "bytes": "image/png"}
CONTENTS: dict[str, Callable[[int], bytes]] = {
    "nested lists": lambda size: b"[" * size + b"]" * size,
    "a long list": lambda size: b"[" + b"1," * size + b"1]",
    "keys": lambda size: json.dumps({f"k{number}": 1 for number in range(size)}).encode(),
    "digits": lambda size: b"1" * size,
    "escapes": lambda size: b'"' + rb"\ud800" * size + b'"',
    "percents": lambda size: b'"' + b"%25" * size + b'"',
    "starts of a secret": lambda size: b'"' + b"s3cr3t-k3" * size + b'"',
    "secrets": lambda size: b'["' + b"s3cr3t-k3y " * size + b'"]',
    "entities": lambda size: b'"' + b"&#115;" * size + b'"',
    "base64": lambda size: b'"' + b"czNjcjN0" * size + b'"',
    "half characters": lambda size: b"\xc3" * size,
}


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("content_type", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("shape", CONTENTS.values(), ids=CONTENTS)
def test_reading_response_takes_linear_time(shape: Callable[[int], bytes], content_type: str, status: int) -> None:
    def run(response: ApiResponse) -> None:
        (tool,) = openapi_tools(document, client=lambda request: response)
        try:
            tool()
        except ToolError:
            return

    document = _paths({"/a": {"get": {}}})
    check_growth(
        lambda size: ApiResponse(
            status, content_type, shape(size), secrets=frozenset({"s3cr3t-k3y", "%41&amp;secret"})
        ),
        run,
        start=1_000,
        most=500_000,
        bytes_each=1_500,
    )


@pytest.mark.parametrize("charset", ["utf-16", "gb18030", "cp1252", "punycode", "idna", "utf-7", "unknown"])
def test_decoding_response_takes_linear_time(charset: str) -> None:
    def run(response: ApiResponse) -> None:
        (tool,) = openapi_tools(document, client=lambda request: response)
        tool()

    document = _paths({"/a": {"get": {}}})
    check_growth(
        lambda size: ApiResponse(200, f"text/plain; charset={charset}" + "; a=b" * (size // 100), b"ab-" * size),
        run,
        start=1_000,
        most=500_000,
        bytes_each=200,
    )
