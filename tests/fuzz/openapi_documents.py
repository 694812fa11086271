"""What `openapi_tools` promises of any text: tools, or a clean refusal."""

from __future__ import annotations

import json
import warnings

from ez_ptc import SchemaError, Tool, ToolCall
from ez_ptc.openapi import ApiRequest, ApiResponse, openapi_tools

__all__ = ["survive"]

_STARTS = ("{", '{"openapi":"3.1.0","paths":', "openapi: 3.0.3\n", "openapi: 3.1.0\npaths:\n  /a:\n    post:\n")
_ENDS = ("", "}", "", "")


def send(request: ApiRequest) -> ApiResponse:
    """Stand for the user's client."""
    return ApiResponse(200, "application/json", b"{}")


def survive(data: bytes) -> list[str]:
    """Return what the tools of a document are called; raise for anything but a clean refusal.

    The first byte says how the text begins.
    """
    if not data:
        return []
    way = data[0] % len(_STARTS)
    text = _STARTS[way] + data[1:].decode(errors="replace") + _ENDS[way]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of operations that are no tools
        try:
            tools = openapi_tools(text, client=send)
        except SchemaError:
            return ["refused"]
    for tool in tools:
        _use(tool)
    return [tool.name for tool in tools]


def _use(tool: Tool[..., object]) -> None:
    assert tool.name.isidentifier()
    json.dumps(tool.parameters)
    assert tool.signature
    for provider in ("openai", "gemini"):
        try:
            json.dumps(tool.to_format(provider))
        except SchemaError:
            continue
    assert isinstance(tool.run(ToolCall("1", tool.name, "{}")).success, bool)
