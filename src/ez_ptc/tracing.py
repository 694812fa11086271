"""OpenTelemetry spans of what a model was asked and which tools ran; nothing happens where it is not installed.

Names and attributes are those of OpenTelemetry's semantic conventions for generative AI. What was said is in them only
where the environment variable `CAPTURE_CONTENT` asks for it.
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

CAPTURE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable by which instrumentations of models are asked to record texts, arguments and results."""

_ON_SPANS: Final = frozenset({"true", "span_only", "span_and_event"})


class _Span(Protocol):
    def is_recording(self) -> bool: ...
    def set_attributes(self, attributes: Mapping[str, Any]) -> None: ...
    def set_attribute(self, key: str, value: Any) -> None: ...  # noqa: ANN401 - as OpenTelemetry has it
    def end(self) -> None: ...


class Notes:
    """What may be added to a span while it lasts; nothing is kept where there is none."""

    def __init__(self, span: _Span | None = None) -> None:
        self._span = span
        asked = os.environ.get(CAPTURE_CONTENT, "").strip().lower()
        self.wants_content: Final = span is not None and span.is_recording() and asked in _ON_SPANS

    def add(self, attributes: Attributes) -> None:
        """Add attributes."""
        if self._span is not None:
            self._span.set_attributes(attributes)


@contextmanager
def span(name: str, attributes: Attributes, *, is_client: bool = False) -> Generator[Notes]:
    """Record a span while the context lasts; what is yielded adds attributes to it.

    It becomes nobody's parent, because a generator that is left halfway could not undo that.
    """
    start = _starter()
    if start is None:
        yield Notes()
        return
    started = start(name, attributes=attributes, is_client=is_client)
    try:
        yield Notes(started)
    except BaseException as error:  # being cancelled is an outcome too
        started.set_attribute("error.type", type(error).__name__)
        raise
    finally:
        started.end()


@functools.cache
def _starter() -> Callable[..., _Span] | None:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    tracer = trace.get_tracer("ez_ptc")

    def start(name: str, *, attributes: Attributes, is_client: bool) -> _Span:
        kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
        return tracer.start_span(name, kind=kind, attributes=attributes)

    return start
