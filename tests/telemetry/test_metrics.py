"""Metrics of programs, calls and requests, as the application's reader gets them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import anyio
import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, UpDownCounter
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ez_ptc import PendingCall, ScriptedProvider, Tool, ToolCall, Toolkit, configure_telemetry, ez_tool, llm
from ez_ptc.messages import Answer, TextMessage, Usage
from ez_ptc.telemetry.labels import BoundedLabels
from ez_ptc.telemetry.settings import AttributeValue

SECRET = "the orchid is in bloom"
Attributes = dict[str, object]


@pytest.fixture(scope="session")
def reader() -> InMemoryMetricReader:
    """Read the metrics of this process, whose provider can be set only once."""
    delta = dict.fromkeys((Counter, Histogram, UpDownCounter), AggregationTemporality.DELTA)
    reader = InMemoryMetricReader(preferred_temporality={**delta})
    metrics.set_meter_provider(MeterProvider([reader]))
    return reader


class Points:
    """The points of each metric since the last time, by its name."""

    def __init__(self, reader: InMemoryMetricReader) -> None:
        self._reader = reader
        reader.get_metrics_data()

    def read(self) -> dict[str, list[tuple[Attributes, float]]]:
        data: Any = self._reader.get_metrics_data()
        found: dict[str, list[tuple[Attributes, float]]] = {}
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        number = point.count if hasattr(point, "count") else point.value
                        found.setdefault(metric.name, []).append((dict(point.attributes), number))
        return found


@pytest.fixture
def points(reader: InMemoryMetricReader) -> Iterator[Points]:
    """The points of one test."""
    yield Points(reader)
    configure_telemetry()


@ez_tool
def look(where: str) -> str:
    """Look somewhere."""
    if where == "nowhere":
        raise LookupError(SECRET)
    return where


def calls_of(found: dict[str, list[tuple[Attributes, float]]]) -> dict[tuple[object, object], float]:
    calls = found.get("gen_ai.execute_tool.duration", [])
    return {(labels["gen_ai.tool.name"], labels.get("error.type")): number for labels, number in calls}


def test_programs_and_calls_are_counted_by_outcome(points: Points) -> None:
    with Toolkit([look]) as toolkit:
        toolkit.execute("look('a')\nlook('b')")
        toolkit.execute("look('nowhere')")
        anyio.run(toolkit.aexecute, "raise type('Orchid', (Exception,), {})")
    found = points.read()
    assert found["ez_ptc.program.duration"] == [
        ({"ez_ptc.program.status": "done"}, 1),
        ({"ez_ptc.program.status": "failed", "error.type": "LookupError"}, 1),
        ({"ez_ptc.program.status": "failed", "error.type": "_OTHER"}, 1),
    ]
    assert calls_of(found)["look", None] == 2
    assert calls_of(found)["look", "LookupError"] == 1


def test_tokens_cost_and_requests_are_measured(points: Points) -> None:
    answer = Answer(messages=(TextMessage("Hi"),), usage=Usage(1_000_000, 10), model="gpt-5.2")
    _, conversation = llm().provider(ScriptedProvider(answer, model="gpt-5.2")).converse("Hello")
    found = points.read()
    labels = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "scripted", "gen_ai.request.model": "gpt-5.2"}
    assert found["gen_ai.client.operation.duration"] == [(labels, 1)]
    assert found["gen_ai.client.token.usage"] == [
        ({**labels, "gen_ai.token.type": "input"}, 1),
        ({**labels, "gen_ai.token.type": "output"}, 1),
    ]
    [(_, cost)] = found["ez_ptc.cost"]
    assert conversation.cost is not None
    assert Decimal(cost).quantize(Decimal("0.0001")) == conversation.cost.quantize(Decimal("0.0001"))


def test_waiting_approvals_and_refusals_are_counted(points: Points) -> None:
    seen: list[object] = []

    def approve(call: PendingCall) -> bool:
        seen.append(points.read()["ez_ptc.approvals.waiting"])
        return call.arguments["amount"] == 1

    @ez_tool(requires_approval=True)
    def pay(amount: int) -> int:
        """Pay."""
        return amount

    with Toolkit([pay], approve=approve) as toolkit:
        toolkit.execute("pay(1)")
        after = points.read()["ez_ptc.approvals.waiting"]
        script = ScriptedProvider(ToolCall("1", "pay", {"amount": 2}), "No.")
        llm().tool(pay).approve(approve).provider(script).prompt("?")
    labels = {"gen_ai.tool.name": "pay"}
    assert (seen, after) == ([[(labels, 1)], [(labels, 1)]], [(labels, -1)])
    assert points.read()["ez_ptc.call.refusals"] == [({**labels, "ez_ptc.refusal.reason": "not_approved"}, 1)]


def test_killed_programs_are_counted_by_reason(points: Points) -> None:
    with Toolkit([]) as toolkit:
        assert not toolkit.execute("import os\nos._exit(1)").success
    assert points.read()["ez_ptc.program.kills"] == [({"ez_ptc.kill.reason": "lost"}, 1)]


def test_number_of_series_is_bounded_with_many_tools(points: Points) -> None:
    parameters = {"type": "object", "properties": {"where": {"type": "string"}}}
    tools = [Tool(f"tool_{number}", "Look.", parameters, look.fn) for number in range(100)]
    configure_telemetry(max_tools=20)
    program = "\n".join(f"{tool.name}('a')" for tool in tools)
    for _ in range(2):  # two toolkits have the same names
        with Toolkit(tools) as toolkit:
            assert toolkit.execute(program).success
    calls = calls_of(points.read())
    assert len(calls) <= 22  # those of an earlier test have labels, too
    assert sum(number for (name, _), number in calls.items() if name != "execute_tools") == 200
    assert calls["other", None] >= 150


def test_frequent_names_get_labels_beside_the_first() -> None:
    labels = BoundedLabels()
    used = [labels.label(f"tool_{number}", 100) for number in range(10_000)]
    assert len(set(used)) == 76
    often = [labels.label("tool_9999", 100) for _ in range(20)]
    assert (often[0], often[-1]) == ("other", "tool_9999")
    for number in range(1_000):
        used += [labels.label(f"tool_{number}", 100) for _ in range(20)]
    assert len(set(used)) <= 101


def test_names_that_a_model_invents_have_no_series(points: Points) -> None:
    calls = [ToolCall(str(number), f"invented_{number}" + "x" * 10_000, {}) for number in range(3)]
    llm().tool(look).provider(ScriptedProvider(calls, "Sorry.")).prompt("Look")
    assert calls_of(points.read()) == {("other", "ToolNotFoundError"): 3}


def test_only_configured_tools_have_series(points: Points) -> None:
    configure_telemetry(tools=["pay"])
    with Toolkit([look]) as toolkit:
        toolkit.execute("look('a')")
    assert ("other", None) in calls_of(points.read())


def test_redaction_sees_each_attribute(points: Points, spans: InMemorySpanExporter) -> None:
    def redact(name: str, value: AttributeValue) -> AttributeValue | None:
        if name == "error.type":
            raise ValueError(SECRET)
        if name == "ez_ptc.program.status":
            return None
        return value.replace("look", "tool 1") if isinstance(value, str) else value

    configure_telemetry(redact=redact)
    with Toolkit([look]) as toolkit:
        toolkit.execute("look('nowhere')")
    found = points.read()
    assert found["ez_ptc.program.duration"] == [({}, 1)]
    assert calls_of(found) == {("tool 1", None): 1, ("execute_tools", None): 1}
    call, program = spans.get_finished_spans()
    assert call.name == "execute_tool tool 1"
    assert "look" not in "".join(span.to_json() for span in (call, program))
    assert "error.type" not in {**(call.attributes or {}), **(program.attributes or {})}


def test_wrong_settings_are_refused() -> None:
    wrong: list[dict[str, Any]] = [{"redact": 1}, {"tools": "pay"}, {"tools": [1]}, {"max_tools": 0}]
    wrong.append({"max_tools": True})
    for options in wrong:
        with pytest.raises((TypeError, ValueError), match="expected"):
            configure_telemetry(**options)


def test_nothing_is_measured_without_a_provider() -> None:
    code = (
        "import opentelemetry.metrics\n"
        "from ez_ptc.telemetry.metrics import current_metrics\n"
        "from ez_ptc.toolkit.execution.telemetry import watched\n"
        "sandbox = object()\n"
        "assert current_metrics() is None and watched(sandbox) is sandbox\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
