"""OpenTelemetry spans for requests to models, programs and tool calls.

Names and attributes follow OpenTelemetry's semantic conventions for generative AI. Message contents are recorded only
if the environment variable `CAPTURE_CONTENT` asks for them. If the application has not configured OpenTelemetry,
nothing is recorded, and OpenTelemetry is not even imported.
"""

from __future__ import annotations

import functools
import os
import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol

from ez_ptc.telemetry.settings import Attributes, redacted

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from contextlib import AbstractContextManager
    from types import ModuleType

__all__ = ["CAPTURE_CONTENT", "Notes", "current_call", "is_tracing", "span", "trace_headers"]

# The environment variable that tells instrumentations to record texts, arguments and results.
CAPTURE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

_ON_SPANS: Final = frozenset({"true", "span_only", "span_and_event"})
# With it, the first use of OpenTelemetry configures it.
_AUTOMATIC: Final = "OTEL_PYTHON_TRACER_PROVIDER"


class _Span(Protocol):
    def is_recording(self) -> bool: ...
    def set_attributes(self, attributes: Mapping[str, Any]) -> None: ...
    def set_status(self, status: Any) -> None: ...  # noqa: ANN401 - OpenTelemetry may not be installed
    def end(self) -> None: ...


class Notes:
    """Adds attributes to a span; without a span, they are dropped."""

    def __init__(self, span: _Span | None = None) -> None:
        self._span = span
        setting = os.environ.get(CAPTURE_CONTENT, "").strip().lower()
        self.wants_content: Final = span is not None and span.is_recording() and setting in _ON_SPANS
        self.error_type: str | None = None

    def active(self) -> AbstractContextManager[object]:
        """Return a context in which spans that begin become children of this one."""
        trace = _configured_trace()
        if trace is None or self._span is None:
            return nullcontext()
        return trace.use_span(self._span, record_exception=False, set_status_on_exception=False)

    def add(self, attributes: Attributes) -> None:
        """Add attributes."""
        if self._span is not None:
            self._span.set_attributes(redacted(attributes))

    def fail(self, error_type: str) -> None:
        """Record that what the span stands for has failed, with the type of its error."""
        self.error_type = error_type
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attributes(redacted({"error.type": error_type}))
            self._span.set_status(StatusCode.ERROR)


def is_tracing() -> bool:
    """Return whether the application has configured OpenTelemetry."""
    return _configured_trace() is not None


@contextmanager
def span(
    name: str, attributes: Attributes, *, is_client: bool = False, is_current: bool = False, parent: Notes | None = None
) -> Generator[Notes]:
    """Record a span for the duration of the context, and yield its `Notes`.

    It is a child of `parent`, or else of the current span. With `is_current`, spans that begin meanwhile become its
    children. A generator must not use it: an abandoned one could not restore the previous span.
    """
    trace = _configured_trace()
    if trace is None:
        notes = Notes()
        try:
            yield notes
        except BaseException as error:
            notes.fail(type(error).__name__)
            raise
        return
    span_kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
    name = str(redacted({"span.name": name}).get("span.name", "redacted"))
    with nullcontext() if parent is None else parent.active():
        recorded = trace.get_tracer("ez_ptc").start_span(name, kind=span_kind, attributes=redacted(attributes))
    notes = Notes(recorded)
    surroundings: Any = nullcontext()
    if is_current:
        surroundings = trace.use_span(recorded, record_exception=False, set_status_on_exception=False)
    try:
        with surroundings:
            yield notes
    except BaseException as error:  # cancellation included
        notes.fail(type(error).__name__)
        raise
    finally:
        recorded.end()


def trace_headers() -> dict[str, str]:
    """Return the headers `traceparent` and `tracestate` of the current span; none without one.

    Baggage is left out: it may say more of the application than a foreign API should know.
    """
    if _configured_trace() is None:
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers


def current_call(tool: str) -> Notes | None:
    """Return the notes of the current span if it stands for a call of `tool`, also of another library; else None."""
    trace = _configured_trace()
    if trace is None:
        return None
    current: Any = trace.get_current_span()
    attributes: Mapping[str, object] = getattr(current, "attributes", None) or {}  # only recorded spans have any
    names = (tool, redacted({"gen_ai.tool.name": tool}).get("gen_ai.tool.name"))
    if attributes.get("gen_ai.operation.name") != "execute_tool" or attributes.get("gen_ai.tool.name") not in names:
        return None
    return Notes(current)


def _configured_trace() -> ModuleType | None:
    """Return the module `opentelemetry.trace`, or None if the application has not configured it."""
    trace: Any = sys.modules.get("opentelemetry.trace") or _import_automatic_trace()
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return trace


@functools.cache  # a variable takes longer to look up than a module
def _import_automatic_trace() -> ModuleType | None:
    if _AUTOMATIC not in os.environ:
        return None
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace
