"""What is told to OpenTelemetry, and what is not."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ez_ptc import ScriptedProvider, ToolCall, llm
from ez_ptc.errors import ProviderError
from ez_ptc.messages import Answer, MessageRole, TextMessage, Usage

SECRET = "the orchid is in bloom"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def look(where: str) -> str:
    """Look somewhere."""
    if where == "nowhere":
        raise LookupError(SECRET)
    return SECRET


def test_answers_and_tools_are_spans_without_anything_that_was_said(spans: InMemorySpanExporter) -> None:
    said = (TextMessage(SECRET, role=MessageRole.ASSISTANT),)
    last = Answer(messages=said, usage=Usage(30, 4), model="m-1", provider="scripted", id="a1")
    calls = [ToolCall("c1", "look", {"where": SECRET}), ToolCall("c2", "look", {"where": "nowhere"})]
    llm().tool(look).provider(ScriptedProvider(calls, last)).prompt(SECRET)

    first, *tools, second = spans.get_finished_spans()
    one, two = sorted(tools, key=lambda each: str(attributes(each)["gen_ai.tool.call.id"]))  # they run side by side
    assert [each.name for each in (first, one, two, second)] == ["chat", *["execute_tool look"] * 2, "chat"]
    assert attributes(one) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "c1",
    }
    assert attributes(two)["error.type"] == "LookupError"
    assert attributes(second) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.response.id": "a1",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ("end",),
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 4,
    }
    assert SECRET not in "".join(each.to_json() for each in spans.get_finished_spans())


def test_a_provider_that_fails_is_a_span_with_its_error(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ProviderError):
        llm().provider(ScriptedProvider(ProviderError(SECRET))).prompt("Hi")
    (span,) = spans.get_finished_spans()
    assert attributes(span) == {"gen_ai.operation.name": "chat", "error.type": "ProviderError"}


def test_conversations_go_on_without_opentelemetry() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None; "
        "from ez_ptc import ScriptedProvider, llm; "
        "sys.exit(llm().provider(ScriptedProvider('Hello.')).prompt('Hi') != 'Hello.')"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
