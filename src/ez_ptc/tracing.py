"""OpenTelemetry spans of what a model was asked and which tools ran; nothing happens where it is not installed.

Names and attributes are those of OpenTelemetry's semantic conventions for generative AI. Nothing that was said is in
them: no text, no arguments, no results.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

__all__ = ["Attributes", "span"]

Attributes = dict[str, str | int | list[str]]


class _Span(Protocol):
    def set_attributes(self, attributes: Mapping[str, Any]) -> None: ...
    def set_attribute(self, key: str, value: Any) -> None: ...  # noqa: ANN401 - as OpenTelemetry has it
    def end(self) -> None: ...


@contextmanager
def span(name: str, attributes: Attributes) -> Generator[Callable[[Attributes], None]]:
    """Record a span while the context lasts; what is yielded adds attributes to it.

    It becomes nobody's parent, because a generator that is left halfway could not undo that.
    """
    start = _starter()
    if start is None:
        yield _ignored
        return
    started = start(name, attributes=attributes)
    try:
        yield started.set_attributes
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
    return trace.get_tracer("ez_ptc").start_span


def _ignored(attributes: Attributes) -> None:
    """Take attributes that nobody wants."""
    del attributes
