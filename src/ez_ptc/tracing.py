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

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from types import ModuleType

__all__ = ["CAPTURE_CONTENT", "Attributes", "Notes", "current_call", "is_tracing", "span"]

Attributes = dict[str, str | int | float | bool | list[str]]

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

    def add(self, attributes: Attributes) -> None:
        """Add attributes."""
        if self._span is not None:
            self._span.set_attributes(attributes)

    def fail(self, error_type: str) -> None:
        """Record that what the span stands for has failed, with the type of its error."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attributes({"error.type": error_type})
            self._span.set_status(StatusCode.ERROR)


def is_tracing() -> bool:
    """Return whether the application has configured OpenTelemetry."""
    return _configured_trace() is not None


@contextmanager
def span(name: str, attributes: Attributes, *, is_client: bool = False, is_current: bool = False) -> Generator[Notes]:
    """Record a span for the duration of the context, and yield its `Notes`.

    With `is_current`, spans that begin meanwhile become its children. A generator must not use it: an abandoned one
    could not restore the previous span.
    """
    trace = _configured_trace()
    if trace is None:
        yield Notes()
        return
    span_kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
    recorded = trace.get_tracer("ez_ptc").start_span(name, kind=span_kind, attributes=attributes)
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


def current_call(tool: str) -> Notes | None:
    """Return the notes of the current span if it stands for a call of `tool`, also of another library; else None."""
    trace = _configured_trace()
    if trace is None:
        return None
    current: Any = trace.get_current_span()
    attributes: Mapping[str, object] = getattr(current, "attributes", None) or {}  # only recorded spans have any
    if (attributes.get("gen_ai.operation.name"), attributes.get("gen_ai.tool.name")) != ("execute_tool", tool):
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
