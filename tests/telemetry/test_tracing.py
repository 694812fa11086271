"""What is told to OpenTelemetry, and what is not."""

import json
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ez_tool, llm
from ez_ptc.errors import ProviderError
from ez_ptc.messages import Answer, MessageRole, TextMessage, Usage
from ez_ptc.telemetry.tracing import CAPTURE_CONTENT

SECRET = "the orchid is in bloom"


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def look(where: str) -> str:
    """Look somewhere."""
    if where == "nowhere":
        raise LookupError(SECRET)
    return SECRET


def test_answers_and_tools_are_spans_without_content(spans: InMemorySpanExporter) -> None:
    said = (TextMessage(SECRET, role=MessageRole.ASSISTANT),)
    last = Answer(messages=said, usage=Usage(30, 4, 20, 1), model="m-1", provider="scripted", id="a1")
    calls = [ToolCall("c1", "look", {"where": SECRET}), ToolCall("c2", "look", {"where": "nowhere"})]
    llm().tool(look).provider(ScriptedProvider(calls, last)).prompt(SECRET, max_tokens=50)

    first, *tools, second, whole = spans.get_finished_spans()
    assert (whole.name, whole.parent) == ("invoke_agent", None)
    assert all(span.parent == whole.context for span in (first, *tools, second))
    assert [first.kind, tools[0].kind] == [trace.SpanKind.CLIENT, trace.SpanKind.INTERNAL]
    one, two = sorted(tools, key=lambda each: str(attributes(each)["gen_ai.tool.call.id"]))  # they run side by side
    assert [each.name for each in (first, one, two, second)] == [
        "chat scripted",
        *["execute_tool look"] * 2,
        "chat scripted",
    ]
    assert attributes(one) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
    }
    assert attributes(two)["error.type"] == "LookupError"
    assert attributes(second) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.max_tokens": 50,
        "gen_ai.response.id": "a1",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 1,
    }
    assert SECRET not in "".join(each.to_json() for each in spans.get_finished_spans())


def test_failing_provider_is_a_span_with_error(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ProviderError):
        llm().provider(ScriptedProvider(ProviderError(SECRET))).prompt("Hi")
    span, whole = spans.get_finished_spans()
    assert attributes(span) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "error.type": "ProviderError",
    }
    assert attributes(whole) == {**attributes(span), "gen_ai.operation.name": "invoke_agent"}


def test_fallback_is_named_in_its_answer_span(spans: InMemorySpanExporter) -> None:
    first, second = ScriptedProvider(ProviderError("ill"), model="one"), ScriptedProvider("Hello.", model="two")
    llm().provider(first).fallback(second).prompt("Hi")
    span, _ = spans.get_finished_spans()
    assert (span.name, attributes(span)["gen_ai.request.model"]) == ("chat one", "two")


# What was said, where somebody asks for it ----------------------------------------------------------------------------


@pytest.fixture
def content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CAPTURE_CONTENT, "true")


def said_in(span: ReadableSpan, name: str) -> Any:  # noqa: ANN401 - any JSON
    return json.loads(str(attributes(span)[name]))


@pytest.mark.usefixtures("content")
def test_content_is_recorded_where_it_is_asked_for(spans: InMemorySpanExporter) -> None:
    calls = [ToolCall("c1", "look", {"where": "here"}), ToolCall("c2", "look", {"where": "nowhere"})]
    asked = llm().agent("Be brief.").image(b"\x89PNG\r\n\x1a\n").image("https://example.org/a.png").tool(look)
    asked.provider(ScriptedProvider(calls, "Done.")).prompt("Look.")

    first, *tools, second, _ = spans.get_finished_spans()
    one, two = sorted(tools, key=lambda each: str(attributes(each)["gen_ai.tool.call.id"]))
    assert said_in(second, "gen_ai.system_instructions") == [{"type": "text", "content": "Be brief."}]
    asked_for = [
        {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"where": "here"}},
        {"type": "tool_call", "id": "c2", "name": "look", "arguments": {"where": "nowhere"}},
    ]
    assert said_in(second, "gen_ai.input.messages") == [
        {"role": "user", "parts": [{"type": "image", "mime_type": "image/png", "size": 8}]},
        {"role": "user", "parts": [{"type": "uri", "modality": "image", "uri": "https://example.org/a.png"}]},
        {"role": "user", "parts": [{"type": "text", "content": "Look."}]},
        {"role": "assistant", "parts": asked_for},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": SECRET}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "response": SECRET}]},
    ]
    assert said_in(first, "gen_ai.output.messages") == [
        {"role": "assistant", "parts": asked_for, "finish_reason": "tool_call"}
    ]
    assert said_in(second, "gen_ai.output.messages") == [
        {"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}
    ]
    assert said_in(one, "gen_ai.tool.call.arguments") == {"where": "here"}
    assert [attributes(each)["gen_ai.tool.call.result"] for each in (one, two)] == [SECRET, SECRET]


@pytest.mark.usefixtures("content")
def test_every_attribute_is_one_of_the_conventions(spans: InMemorySpanExporter) -> None:
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    script = ScriptedProvider(ToolCall("c1", "look", {"where": "nowhere"}), "Done.")
    llm().agent("Be brief.").tool(look).provider(script).prompt("Look.", temperature=0, max_tokens=5)
    used = {name for span in spans.get_finished_spans() for name in attributes(span)}
    assert used - known == {"error.type"}
    assert {"gen_ai.input.messages", "gen_ai.tool.call.result", "gen_ai.request.temperature"} <= used


@pytest.mark.usefixtures("content")
def test_program_in_answer_text_is_span_with_report(spans: InMemorySpanExporter) -> None:
    provider = ScriptedProvider("```python\nprint(6 * 7)\n```", "It is 42.")
    with Toolkit([ez_tool(look)]) as toolkit:
        llm().toolkit(toolkit, mode="prompt").provider(provider).prompt("What is it?")
    _, span, _, _ = spans.get_finished_spans()
    assert span.name == "execute_tool execute_tools"
    assert said_in(span, "gen_ai.tool.call.arguments") == {"code": "print(6 * 7)"}
    assert "42" in str(attributes(span)["gen_ai.tool.call.result"])


@pytest.mark.usefixtures("content")
def test_values_exporters_cannot_write_are_replaced(spans: InMemorySpanExporter) -> None:
    call = ToolCall("c\ud83d", "lo\udc00ok", '{"where": "\ud83d')
    llm().tool(look).provider(ScriptedProvider(call, "Done.")).prompt("Look \ud83d")
    for span in spans.get_finished_spans():
        (span.name + span.to_json()).encode()
        "".join(str(value) for value in attributes(span).values()).encode()


@pytest.mark.parametrize("asked", ["", "false", "no_content", "event_only", "yes please"])
def test_only_explicit_true_records_content(
    asked: str, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE_CONTENT, asked)
    llm().tool(look).provider(ScriptedProvider(ToolCall("", "look", {"where": SECRET}), SECRET)).prompt(SECRET)
    assert SECRET not in "".join(each.to_json() for each in spans.get_finished_spans())


def test_conversations_go_on_without_opentelemetry() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None; "
        "from ez_ptc import ScriptedProvider, llm; "
        "sys.exit(llm().provider(ScriptedProvider('Hello.')).prompt('Hi') != 'Hello.')"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
