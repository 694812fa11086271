"""Spans of tool calls, after OpenTelemetry's semantic conventions for generative AI."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ez_ptc.formats.content import as_json, error_text
from ez_ptc.messages import ToolCall, ToolResult
from ez_ptc.schema.standard.sentences import without_surrogates
from ez_ptc.telemetry.labels import OTHER
from ez_ptc.telemetry.metrics import current_metrics
from ez_ptc.telemetry.tracing import Notes, span

if TYPE_CHECKING:
    from ez_ptc.telemetry.settings import Attributes

__all__ = ["add_result", "call_span", "span_text"]

# Characters of a tool's name, which a model may invent.
_MAX_NAME: Final = 200
# The errors of calls that were refused before they ran.
_REFUSALS: Final = {"ArgumentsError": "arguments", "NotApprovedError": "not_approved"}


@contextmanager
def call_span(call: ToolCall) -> Generator[Notes]:
    """Record a call, with its arguments only if content is asked for; what runs meanwhile becomes part of its span."""
    name = span_text(call.name[:_MAX_NAME])
    attributes: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
    }
    if call.id:
        attributes["gen_ai.tool.call.id"] = span_text(call.id)
    metrics = current_metrics()
    started, notes = perf_counter(), Notes()
    try:
        with span(f"execute_tool {name}", attributes, is_current=True) as notes:
            if notes.wants_content:
                notes.add({"gen_ai.tool.call.arguments": span_text(as_json(call.arguments))})
            yield notes
    finally:
        if metrics is not None:
            if notes.error_type == "ToolNotFoundError":
                name = OTHER  # a model may invent any number of names
            metrics.record_call(name, perf_counter() - started, notes.error_type)
            if notes.error_type in _REFUSALS:
                metrics.record_refusal(name, _REFUSALS[notes.error_type])


def add_result(notes: Notes, result: ToolResult) -> None:
    """Record how a call has ended: the type of its error and, if content is asked for, its output or error message."""
    if notes.wants_content:
        output = as_json(result.output) if result.success else error_text(result)
        notes.add({"gen_ai.tool.call.result": span_text(output)})
    if result.exception is not None:
        notes.fail(type(result.exception).__name__)


def span_text(value: object) -> str:
    """Return a text that exporters can write, of a text or of JSON's own types."""
    # Models do write lone surrogates, and no exporter can encode them.
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return without_surrogates(value)
