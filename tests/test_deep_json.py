"""JSON from servers and models, nested as deeply as bytes allow: an error, and never the end of the host.

CPython 3.11 follows brackets as far as the limit of recursion says, which a host may have raised beyond its stack.
"""

from __future__ import annotations

from tests.sandbox.scripts import run_script

HOST = """
import sys
sys.setrecursionlimit(10_000_000)

from ez_ptc import DecisionError, SchemaError
from ez_ptc.cli.viewing.decisions import decide_call
from ez_ptc.mcp.client.dropped_tools import DroppedTools
from ez_ptc.mcp.client.transports.pipes import salvage_answer
from ez_ptc.mcp.client.transports.watch import ConnectionWatch
from ez_ptc.openapi import ApiResponse, openapi_tools
from ez_ptc.redaction.redactor import Redactor

deep = '{"a":' * 200_000 + '"a-secret-of-the-server"' + "}" * 200_000

document = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/x": {"get": {"operationId": "x"}}}}
[tool] = openapi_tools(document, client=lambda _: ApiResponse(200, "application/json", deep.encode()))
print(tool.execute().error)

try:
    openapi_tools(deep, client=print)
except SchemaError as error:
    print(error)

print(salvage_answer('{"jsonrpc":"2.0","id":1,"result":' + deep + "}", ValueError("too deep")).error.message)

watch = ConnectionWatch(DroppedTools("shop"), Redactor(["a-secret-of-the-server"]))
print(watch.clean_message(deep)[999_990:1_000_010])

try:
    decide_call(None, deep.encode(), "Ada")
except DecisionError as error:
    print(error)
"""


def test_deep_nesting_spares_hosts_that_recurse_deeply() -> None:
    api, document, answer, message, decision = run_script(HOST).splitlines()
    assert api == "x: the API answered with JSON of more than 100 levels"
    assert document.startswith("the OpenAPI document is neither JSON nor YAML")
    assert answer == "the server's answer is invalid: too deep"
    assert "[removed]" in message
    assert decision == "expected a decision as a JSON object; nothing was decided"
