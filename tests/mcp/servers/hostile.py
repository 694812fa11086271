"""A server whose every tool answers, or floods, as no server should.

python hostile.py SCENARIO
"""

import json
import sys
from typing import Any

OBJECT = {"type": "object"}


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}))


def tool(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": OBJECT, **more}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


LINES = {
    "half_a_pair": '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a\\ud800b"}]}}',
    "nested": '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"x":'
    + "[" * 5_000
    + "]" * 5_000
    + "}}}",
    "huge_number": '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"x":' + "9" * 5_000 + "}}}",
    "control_character": '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a\x00b"}]}}',
    "number": '{"jsonrpc":"2.0","id":%d,"result":5}',
    "error_text": '{"jsonrpc":"2.0","id":%d,"error":"no \\u001b[31mluck"}',
    "odd_id": '{"jsonrpc":"2.0","id":true,"result":[]}\n{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"late"}}',
    "content_number": '{"jsonrpc":"2.0","id":%d,"result":{"content":[5]}}',
    "bad_media": '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"image","data":"!!","mimeType":"image/png"}]}}',
    "closed_code": '{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"no \\u001b[31mluck"}}',
}
FLOODS: dict[str, dict[str, Any]] = {
    "progress": {"method": "notifications/progress", "params": {"progress": 1, "message": "\x1b[31mx"}},
    "logs": {"method": "notifications/message", "params": {"level": "emergency", "data": "\x1b[2J"}},
    "questions": {
        "method": "elicitation/create",
        "params": {"message": "password?", "requestedSchema": {"type": "object", "properties": {}}},
    },
    "changes": {"method": "notifications/tools/list_changed"},
}


def tools_of(scenario: str) -> list[Any]:
    """Return what `tools/list` answers."""
    if scenario == "schemas":
        draft_4 = {"$schema": "http://json-schema.org/draft-04/schema#", **OBJECT}
        number = {"type": "number", "minimum": 0, "exclusiveMinimum": True}
        return [
            tool("null"),
            tool("too_deep", inputSchema=nested(300)),
            tool("properties_list", inputSchema={"type": "object", "properties": ["x"]}),
            tool("required_text", inputSchema={"type": "object", "required": "x"}),
            tool("bad_pattern", inputSchema={"type": "object", "properties": {"x": {"pattern": "(["}}}),
            tool("local_file", inputSchema={"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}}),
            tool("boolean_property", inputSchema={"type": "object", "properties": {"x": False, "y": True}}),
            tool("draft_4", inputSchema={**draft_4, "properties": {"x": number}}),
        ]
    if scenario == "resources":
        return [tool("null")]
    return [tool(name) for name in (*LINES, *FLOODS)]


def flood(name: str, request: dict[str, Any]) -> None:
    message = FLOODS[name]
    for number in range(2_000):
        if name == "questions":
            send({**message, "id": f"question {number}"})
        elif name == "progress":
            send(
                {
                    **message,
                    "params": {**message["params"], "progressToken": request["params"]["_meta"]["progressToken"]},
                }
            )
        else:
            send(message)


def answer(scenario: str, request: dict[str, Any]) -> None:
    """Answer a request."""
    number, method = request["id"], request["method"]
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}, "logging": {}}
        capabilities |= {"resources": {}} if scenario == "resources" else {}
        server = {"name": "hostile", "version": "1"}
        version = request["params"]["protocolVersion"]
        result: dict[str, Any] = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}
        if scenario == "null_version":
            result["protocolVersion"] = None
        send({"id": number, "result": result})
    elif method == "tools/list":
        if scenario == "silent_list":
            return
        send({"id": number, "result": {"tools": "none" if scenario == "text_list" else tools_of(scenario)}})
    elif method == "tools/call":
        name = request["params"]["name"]
        if name in FLOODS:
            flood(name, request)
            send({"id": number, "result": {"content": [{"type": "text", "text": "done"}]}})
        else:
            write(LINES.get(name, '{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}') % number)
    elif method == "resources/list":
        resources = [{"uri": 5, "name": "broken"}, {"uri": "shop://prices", "name": "prices"}]
        send({"id": number, "result": {"resources": resources}})
    else:
        send({"id": number, "error": {"code": -32601, "message": "unknown method"}})


def main() -> None:
    """Answer requests until the client closes the input."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            answer(sys.argv[1], request)


main()
