"""OpenTelemetry spans for requests to models and for tool calls; without OpenTelemetry, they do nothing.

Names and attributes follow OpenTelemetry's semantic conventions for generative AI. Message contents are recorded only
if the environment variable `CAPTURE_CONTENT` asks for them.
"""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

__all__ = ["CAPTURE_CONTENT", "Attributes", "Notes", "span"]

Attributes = dict[str, str | int | float | bool | list[str]]

# The environment variable that tells instrumentations to record texts, arguments and results.
CAPTURE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

_ON_SPANS: Final = frozenset({"true", "span_only", "span_and_event"})


class _Span(Protocol):
    def is_recording(self) -> bool: ...
    def set_attributes(self, attributes: Mapping[str, Any]) -> None: ...
    def set_attribute(self, key: str, value: Any) -> None: ...  # noqa: ANN401 - as OpenTelemetry has it
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


@contextmanager
def span(name: str, attributes: Attributes, *, is_client: bool = False) -> Generator[Notes]:
    """Record a span for the duration of the context, and yield its `Notes`.

    It does not become the current span: an abandoned generator could not restore the previous one.
    """
    start = _span_starter()
    if start is None:
        yield Notes()
        return
    recorded = start(name, attributes=attributes, is_client=is_client)
    try:
        yield Notes(recorded)
    except BaseException as error:  # cancellation included
        recorded.set_attribute("error.type", type(error).__name__)
        raise
    finally:
        recorded.end()


@functools.cache
def _span_starter() -> Callable[..., _Span] | None:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    tracer = trace.get_tracer("ez_ptc")

    def start(name: str, *, attributes: Attributes, is_client: bool) -> _Span:
        span_kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
        return tracer.start_span(name, kind=span_kind, attributes=attributes)

    return start
