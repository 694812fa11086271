"""What an application decides about its telemetry: which values leave it, and which tools have series of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, cast

from ez_ptc._wrong_calls import explain_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AttributeValue", "Attributes", "Redact", "TelemetrySettings", "configure_telemetry", "redacted", "settings"]

AttributeValue: TypeAlias = str | int | float | bool | list[str]
Attributes: TypeAlias = dict[str, AttributeValue]
Redact: TypeAlias = Callable[[str, AttributeValue], AttributeValue | None]

_log = logging.getLogger("ez_ptc.telemetry")
_log.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """The settings of this process; `configure_telemetry` documents them."""

    redact: Redact | None = None
    tools: frozenset[str] | None = None
    max_tools: int = 100


@dataclass(slots=True)
class _Holder:
    settings: TelemetrySettings = TelemetrySettings()


@cache
def _holder() -> _Holder:
    return _Holder()


def settings() -> TelemetrySettings:
    """Return the settings of this process."""
    return _holder().settings


@explain_calls(checks="tools")
def configure_telemetry(
    *, redact: Redact | None = None, tools: Collection[str] | None = None, max_tools: int = 100
) -> None:
    """Set what spans and metrics of this process contain; what is left out gets its default.

        configure_telemetry(redact=lambda name, value: None if name == "gen_ai.tool.call.arguments" else value)

    Args:
        redact: Called with the name and the value of each attribute of a span or a metric, and with "span.name" and the
            name of each span; returns the value to record, or None to leave it out. If it fails, the value is left out.
        tools: The names of the tools with series of their own; the others share the name "other". By default, those
            used most.
        max_tools: The number of tools with series of their own, if `tools` does not name them.

    Raises:
        TypeError: `redact` is not a function, or `tools` are not names.
        ValueError: `max_tools` is not a positive int.
    """
    if redact is not None and not callable(redact):
        message = f"expected redact to be a function of a name and a value, got {type(redact).__name__}"
        raise TypeError(message)
    names = cast("Iterable[object]", tools or ())
    if isinstance(tools, str) or not all(isinstance(name, str) for name in names):
        message = "expected tools to be a list of the names of tools, as in tools=['pay', 'refund']"
        raise TypeError(message)
    if type(max_tools) is not int or max_tools < 1:
        message = f"expected max_tools to be a positive int, got {type(max_tools).__name__} {max_tools!r:.80}"
        raise ValueError(message)
    _holder().settings = TelemetrySettings(redact, None if tools is None else frozenset(tools), max_tools)


def redacted(attributes: Mapping[str, AttributeValue]) -> Attributes:
    """Return attributes as the application's function lets them leave."""
    redact = settings().redact
    if redact is None:
        return dict(attributes)
    values = {name: _redact(redact, name, value) for name, value in attributes.items()}
    return {name: value for name, value in values.items() if value is not None}


def _redact(redact: Redact, name: str, value: AttributeValue) -> AttributeValue | None:
    try:
        answer = cast("object", redact(name, value))
    except Exception as error:  # noqa: BLE001 - foreign code, whose failure must neither fail a call nor let a value pass
        _log.warning("redact failed for the attribute %s (%s): it is left out", name, type(error).__name__)
        return None
    if answer is None or isinstance(answer, str | int | float | list):
        return cast("AttributeValue | None", answer)
    _log.warning("redact returned %s for the attribute %s: it is left out", type(answer).__name__, name)
    return None
