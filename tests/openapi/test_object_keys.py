"""The keys of an object in the query or in cookies are names there: they stand in no other parameter's place."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from ez_ptc import ToolError
from ez_ptc.openapi import openapi_tools
from tests.openapi.api import Api, document
from tests.openapi.test_calls import parameter

_FREE = {"type": "object", "additionalProperties": {"type": "string"}}
_DECLARED = {"type": "object", "properties": {"api_key": {"type": "string"}, "color": {"type": "string"}}}


def _call(api: Api, *, path: str = "/x", **arguments: Any) -> None:
    operation = {
        "operationId": "act",
        "parameters": [
            parameter("filter", "query", _FREE),
            parameter("lines", "query", _FREE, style="pipeDelimited", explode=True),
            parameter("deep", "query", _FREE, style="deepObject"),
            parameter("packed", "query", _FREE, explode=False),
            parameter("pet", "query", _DECLARED),
            parameter("admin", "query", {"type": "boolean"}),
            parameter("api.key", "query", _FREE),
            parameter("prefs", "cookie", _FREE),
        ],
    }
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "signature"}}
    described = document({path: {"get": operation}}, components={"securitySchemes": schemes})
    with httpx2.Client(base_url=api.url, params={"api_key": "CLIENT"}, cookies={"session": "CLIENT"}) as client:
        (tool,) = openapi_tools(described, client=client)
        tool.call(arguments)


@pytest.mark.parametrize(
    "key",
    [
        *(
            "api_key",
            "API_KEY",
            "api_key[]",
            "api_key[0]",
            "api.key",
            "api key",
            " api_key",
            "api_key\0x",
            "\uff41pi_key",
        ),
        *("signature", "admin", "fixed"),
    ],
)
@pytest.mark.parametrize("argument", ["filter", "lines"])
def test_key_of_an_object_replaces_nothing_in_the_query(argument: str, key: str, api: Api) -> None:
    with pytest.raises(ToolError, match="the name of something else in the request"):
        _call(api, path="/x?fixed=1", **{argument: {"color": "red", key: "other"}})
    assert api.asked == []


@pytest.mark.parametrize(
    "arguments", [{"pet": {"api_key": "other"}}, {"prefs": {"session": "other"}}, {"api.key": {"api_key": "other"}}]
)
def test_key_of_an_object_replaces_no_credential(arguments: dict[str, Any], api: Api) -> None:
    with pytest.raises(ToolError, match="the name of something else in the request"):
        _call(api, **arguments)
    assert api.asked == []


@pytest.mark.parametrize(
    ("arguments", "query", "cookie"),
    [
        ({"filter": {"color": "red", "session": "1"}}, "color=red&session=1", None),
        ({"filter": {"filter": "1", "api_keys": "2", "_api_key": "3"}}, "filter=1&api_keys=2&_api_key=3", None),
        ({"pet": {"color": "red"}}, "color=red", None),
        ({"deep": {"api_key": "1"}}, "deep%5Bapi_key%5D=1", None),
        ({"packed": {"api_key": "1"}}, "packed=api_key,1", None),
        ({"prefs": {"api_key": "1", "theme": "dark"}}, "", "api_key=1; theme=dark"),
    ],
)
def test_other_keys_of_an_object_are_sent(arguments: dict[str, Any], query: str, cookie: str | None, api: Api) -> None:
    _call(api, **arguments)
    (asked,) = api.asked
    assert asked.target == "&".join(filter(None, ["/x?api_key=CLIENT", query]))
    assert asked.headers["cookie"] == "; ".join(filter(None, ["session=CLIENT", cookie]))
