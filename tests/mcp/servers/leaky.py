"""A server that repeats its command line and environment, as the scenario in its first argument says."""

import json
import os
import sys

SECRETS = [*sys.argv[2:], os.environ.get("SHOP_TOKEN", "")]
TEXT = " and ".join(SECRETS)
ESCAPED = "".join(f"\\u{ord(character):04x}" for character in TEXT)


def send(message: dict[str, object]) -> None:
    line = json.dumps({"jsonrpc": "2.0", **message}).replace("ESCAPED", ESCAPED)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    scenario = sys.argv[1]
    print(TEXT, file=sys.stderr, flush=True)
    print("x" * 390 + TEXT, file=sys.stderr, flush=True)
    if scenario == "garbage":
        print(TEXT, flush=True)
    if scenario in {"garbage", "dies"}:
        sys.exit(1)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result: dict[str, object] = {}
        if request["method"] == "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": TEXT, "version": "1"},
            }
        elif request["method"] == "tools/list":
            tools: list[object] = [
                {"name": "leak", "description": TEXT, "inputSchema": {"type": "object"}},
                {"name": TEXT},
            ]
            result = {"tools": tools}
        elif request["method"] == "tools/call" and scenario == "error":
            send({"id": request["id"], "error": {"code": -32000, "message": "ESCAPED " + TEXT}})
            continue
        elif request["method"] == "tools/call":
            content = [{"type": "text", "text": json.dumps({TEXT: [TEXT, "ESCAPED"]})}]
            result = {"content": content, "isError": scenario == "failure"}
        else:
            send({"id": request["id"], "error": {"code": -32601, "message": TEXT}})
            continue
        send({"id": request["id"], "result": result})


if __name__ == "__main__":
    main()
