"""An application with telemetry: a conversation whose program calls a server and, if it is installed, a framework.

    python -m tests.telemetry.scenario ENDPOINT

sends its spans and metrics to the endpoint, as does the server that it starts.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mcp import StdioServerParameters
from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from ez_ptc import ScriptedProvider, Toolkit, ez_tool, llm, mcp_tools
from ez_ptc.messages import Answer, TextMessage, ToolCallMessage, Usage

SECRET = "the orchid is in bloom"


def configure(endpoint: str, service: str) -> None:
    """Send the spans and metrics of this process to a receiver."""
    resource = Resource({"service.name": service})
    tracer_provider = TracerProvider(resource=resource)
    tracer_provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    trace.set_tracer_provider(tracer_provider)
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{endpoint}/v1/metrics"))
    metrics.set_meter_provider(MeterProvider([reader], resource=resource))


@ez_tool
def stock(item: str) -> int:
    """Return how many there are, as the server's program counts them."""
    with Toolkit([count]) as toolkit:
        return toolkit.execute(f"count({item!r})").return_value


@ez_tool
def count(item: str) -> int:
    """Count letters."""
    with trace.get_tracer("shop").start_as_current_span("database"):
        return len(item)


@ez_tool(requires_approval=True)
def refund(item: str) -> str:
    """Refund."""
    return item


async def ask_framework(question: str) -> str:
    """Let an agent of a framework answer with a program of its own."""
    ai: Any = import_module("pydantic_ai")
    messages: Any = import_module("pydantic_ai.messages")
    ours: Any = import_module("ez_ptc.integrations.pydantic_ai")

    def answer(entries: list[object], info: object) -> object:
        del info
        if len(entries) > 1:
            return messages.ModelResponse([messages.TextPart("done")])
        call = messages.ToolCallPart("execute_tools", {"code": f"print(count({question!r}))"})
        return messages.ModelResponse([call])

    model = import_module("pydantic_ai.models.function").FunctionModel(answer)
    instrumentation = import_module("pydantic_ai.capabilities").Instrumentation()
    with Toolkit([count]) as toolkit:
        agent = ai.Agent(model, tools=ours.export_tools(toolkit), capabilities=[instrumentation])
        return str((await agent.run(question)).output)


def converse(endpoint: str) -> None:
    """Run the conversation."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.telemetry.scenario", endpoint, "serve"],
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )
    has_framework = find_spec("pydantic_ai") is not None
    code = f"print(stock(item={SECRET!r}))\ntry:\n    refund('x')\nexcept Exception:\n    pass\n"
    if has_framework:
        code += "print(await ask_framework('lamp'))\n"
    call = ToolCallMessage("execute_tools", "c1", {"code": code})
    first = Answer(messages=(call,), stop_reason="tool_calls", usage=Usage(1_000, 100), model="gpt-5.2")
    last = Answer(messages=(TextMessage("Done."),), usage=Usage(2_000, 10), model="gpt-5.2")
    framework = [ez_tool(ask_framework)] if has_framework else []
    with mcp_tools(server) as served, Toolkit([*served, refund, *framework], approve=lambda _: False) as toolkit:
        llm().toolkit(toolkit).provider(ScriptedProvider(first, last, model="gpt-5.2")).prompt(SECRET)


if __name__ == "__main__":
    if sys.argv[2:] == ["serve"]:
        configure(sys.argv[1], "server")
        with Toolkit([stock]) as toolkit:
            toolkit.as_mcp_server(mode="tools").run()
    else:
        configure(sys.argv[1], "application")
        converse(sys.argv[1])
    meter_provider = metrics.get_meter_provider()
    assert isinstance(meter_provider, MeterProvider)
    meter_provider.shutdown()
