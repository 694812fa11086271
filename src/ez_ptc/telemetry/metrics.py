"""Metrics of programs, calls and requests to models.

Names and units follow OpenTelemetry's semantic conventions, those for generative AI where they have one. If the
application has not configured a MeterProvider, nothing is measured, and OpenTelemetry is not even imported.
"""

from __future__ import annotations

import builtins
import os
import sys
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ez_ptc import errors
from ez_ptc.telemetry.labels import OTHER, BoundedLabels
from ez_ptc.telemetry.settings import redacted, settings

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager
    from types import ModuleType

    from ez_ptc.telemetry.settings import Attributes

__all__ = ["OTHER_ERROR", "Metrics", "approval_waiting", "boot_measured", "current_metrics", "error_label"]

OTHER_ERROR: Final = "_OTHER"
"""The label of classes of errors that are neither ours nor Python's, as the conventions call it."""

# With it, the first use of OpenTelemetry configures it.
_AUTOMATIC: Final = "OTEL_PYTHON_METER_PROVIDER"
# The providers of an application that has configured none. By name: one of the classes is private.
_UNCONFIGURED: Final = frozenset({"_ProxyMeterProvider", "NoOpMeterProvider"})
_MAX_MODELS: Final = 50
# The boundaries of the conventions: seconds of requests and tools, and tokens.
_SECONDS: Final = tuple(0.01 * 2**power for power in range(14))
_TOKENS: Final = tuple(4**power for power in range(14))
# A program, and most of its calls, take less than the conventions have boundaries for.
_SHORT: Final = (*(0.001 * factor for factor in (0.1, 0.2, 0.5, 1, 2, 5)), *_SECONDS)


class Metrics:
    """The instruments of one meter. Any thread may use them."""

    def __init__(self, meter: Any) -> None:  # noqa: ANN401 - OpenTelemetry may not be installed
        def histogram(name: str, unit: str, description: str, boundaries: tuple[float, ...]) -> Any:  # noqa: ANN401 - see above
            return meter.create_histogram(
                name, unit=unit, description=description, explicit_bucket_boundaries_advisory=boundaries
            )

        self._answers = histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", _SECONDS)
        self._tokens = histogram("gen_ai.client.token.usage", "{token}", "Input and output tokens used.", _TOKENS)
        self._calls = histogram("gen_ai.execute_tool.duration", "s", "Duration of calls of tools.", _SHORT)
        self._programs = histogram("ez_ptc.program.duration", "s", "Duration of programs.", _SHORT)
        self._queue = histogram("ez_ptc.program.queue.duration", "s", "Time that programs waited.", _SHORT)
        self._boots = histogram("ez_ptc.sandbox.boot.duration", "s", "Time until a sandbox was ready.", _SECONDS)
        self._cost = meter.create_counter("ez_ptc.cost", unit="{USD}", description="Cost of answers by list prices.")
        self._kills = meter.create_counter(
            "ez_ptc.program.kills", unit="{program}", description="Programs whose workers were ended under them."
        )
        self._refusals = meter.create_counter(
            "ez_ptc.call.refusals", unit="{call}", description="Calls that were refused before they ran."
        )
        self._waiting = meter.create_up_down_counter(
            "ez_ptc.approvals.waiting",
            unit="{call}",
            description="Calls of this process whose approver is being asked.",
        )
        self._tools = BoundedLabels()
        self._models = BoundedLabels()

    def record_answer(self, attributes: Attributes, seconds: float, error_type: str | None) -> None:
        """Record a request to a model; `attributes` name its operation, provider and model."""
        self._answers.record(seconds, self._model_labels(attributes, _error_labels(error_type)))

    def record_usage(self, attributes: Attributes, input_tokens: int, output_tokens: int, cost: float | None) -> None:
        """Record the tokens of an answer, and its cost in US dollars if the price is known."""
        labels = self._model_labels(attributes, {})
        self._tokens.record(input_tokens, {**labels, "gen_ai.token.type": "input"})
        self._tokens.record(output_tokens, {**labels, "gen_ai.token.type": "output"})
        if cost is not None:
            self._cost.add(cost, labels)

    def record_call(self, tool: str, seconds: float, error_type: str | None) -> None:
        """Record a call of a tool."""
        labels: Attributes = {"gen_ai.operation.name": "execute_tool", **_error_labels(error_type)}
        self._calls.record(seconds, self._tool_labels(tool, labels))

    def record_refusal(self, tool: str, reason: str) -> None:
        """Record a call that was refused: "not_approved" or "arguments"."""
        self._refusals.add(1, self._tool_labels(tool, {"ez_ptc.refusal.reason": reason}))

    def record_program(self, status: str, seconds: float, error_type: str | None) -> None:
        """Record the end of a program."""
        self._programs.record(seconds, redacted({"ez_ptc.program.status": status, **_error_labels(error_type)}))

    def record_kill(self, reason: str) -> None:
        """Record a program that was ended by the end of its worker: "timeout", "cancelled" or "lost"."""
        self._kills.add(1, redacted({"ez_ptc.kill.reason": reason}))

    def record_queue(self, seconds: float) -> None:
        """Record how long a program waited for a worker."""
        self._queue.record(seconds)

    def record_boot(self, seconds: float) -> None:
        """Record how long a sandbox took to be ready."""
        self._boots.record(seconds)

    @contextmanager
    def approval(self, tool: str) -> Generator[None]:
        """Count a call that waits for an approver."""
        labels = self._tool_labels(tool, {})
        self._waiting.add(1, labels)
        try:
            yield
        finally:
            self._waiting.add(-1, labels)

    def _tool_labels(self, tool: str, labels: Attributes) -> Attributes:
        labels = redacted({**labels, "gen_ai.tool.name": tool})
        if "gen_ai.tool.name" in labels:
            name, configured = str(labels["gen_ai.tool.name"]), settings()
            if configured.tools is None:
                name = self._tools.label(name, configured.max_tools)
            elif name not in configured.tools:
                name = OTHER
            labels["gen_ai.tool.name"] = name
        return labels

    def _model_labels(self, attributes: Attributes, labels: Attributes) -> Attributes:
        names = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")
        labels = redacted({**{name: attributes[name] for name in names if name in attributes}, **labels})
        if "gen_ai.request.model" in labels:
            labels["gen_ai.request.model"] = self._models.label(str(labels["gen_ai.request.model"]), _MAX_MODELS)
        return labels


def current_metrics() -> Metrics | None:
    """Return the metrics of the application's MeterProvider, or None if it has not configured one."""
    module: Any = sys.modules.get("opentelemetry.metrics") or _import_automatic()
    if module is None:
        return None
    provider = module.get_meter_provider()
    if type(provider).__name__ in _UNCONFIGURED:
        return None
    return _metrics_of(provider)


def approval_waiting(tool: str) -> AbstractContextManager[None]:
    """Return a context in which a call waits for its approver."""
    metrics = current_metrics()
    return nullcontext() if metrics is None else metrics.approval(tool)


@contextmanager
def boot_measured() -> Generator[None]:
    """Measure the boot of a sandbox, unless it fails."""
    start = perf_counter()
    yield
    metrics = current_metrics()
    if metrics is not None:
        metrics.record_boot(perf_counter() - start)


def error_label(name: str) -> str:
    """Return the name of a class of errors if it is Python's or ours; any other one could be anything."""
    error_class = vars(builtins).get(name) or vars(errors).get(name)
    is_known = isinstance(error_class, type) and issubclass(error_class, BaseException)
    return name if is_known else OTHER_ERROR


def _error_labels(error_type: str | None) -> Attributes:
    return {} if error_type is None else {"error.type": error_label(error_type)}


@lru_cache(maxsize=8)
def _metrics_of(provider: Any) -> Metrics:  # noqa: ANN401 - OpenTelemetry may not be installed
    return Metrics(provider.get_meter("ez_ptc"))


@cache  # a variable takes longer to look up than a module
def _import_automatic() -> ModuleType | None:
    if _AUTOMATIC not in os.environ:
        return None
    try:
        from opentelemetry import metrics
    except ImportError:
        return None
    return metrics
