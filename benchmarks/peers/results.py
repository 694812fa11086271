"""The figures of one run, round by round, and what was aimed at."""

import statistics
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["TARGETS", "Figures", "Target", "Verdict"]


@dataclass(frozen=True, slots=True)
class Target:
    """A promise about one of this library's figures.

    Attributes:
        measure: Which figure.
        limit: The most it may be, in the measure's unit, or as a multiple where `relative_to` is given.
        relative_to: The subject whose figure in the same run it is compared to.
        kind: Whether the figure shall be at most or at least the limit.
    """

    measure: str
    limit: float
    relative_to: str | None = None
    kind: Literal["at most", "at least"] = "at most"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a target: the figure it speaks of, or None where it was not measured."""

    target: Target
    figure: float | None

    @property
    def met(self) -> bool:
        """Whether the figure was measured and is within the limit."""
        if self.figure is None:
            return False
        if self.target.kind == "at least":
            return self.figure >= self.target.limit
        return self.figure <= self.target.limit


@dataclass(slots=True)
class Figures:
    """What was measured: the rounds of each measure and subject."""

    rounds: dict[tuple[str, str], list[float]] = field(default_factory=dict[tuple[str, str], list[float]])

    def add(self, measure: str, subject: str, figure: float) -> None:
        """Keep the figure of one round."""
        self.rounds.setdefault((measure, subject), []).append(figure)

    @property
    def medians(self) -> dict[tuple[str, str], float]:
        """The median of the rounds, by measure and subject."""
        return {key: statistics.median(rounds) for key, rounds in self.rounds.items()}

    def of(self, measure: str) -> dict[str, dict[str, object]]:
        """Return the medians and the rounds of one measure, by subject."""
        found = {subject: rounds for (name, subject), rounds in self.rounds.items() if name == measure}
        medians: dict[str, object] = {subject: statistics.median(rounds) for subject, rounds in found.items()}
        return {"medians": medians, "rounds": dict(found)}

    def judge(self, target: Target, *, ours: str) -> Verdict:
        """Return whether the figures of the subject ``ours`` keep a promise."""
        medians = self.medians
        figure = medians.get((target.measure, ours))
        if figure is not None and target.relative_to is not None:
            other = medians.get((target.measure, target.relative_to))
            figure = figure / other if other else None
        return Verdict(target, figure)


TARGETS: Final[tuple[Target, ...]] = (
    Target("fresh_spaced", 1.0, relative_to="monty"),
    Target("fresh_called_spaced", 1.3, relative_to="monty"),
    Target("fresh_called_ten_spaced", 0.7, relative_to="monty"),
    Target("fresh_in_a_row", 8.0, relative_to="monty"),
    Target("fresh_called_in_a_row", 8.0, relative_to="monty"),
    Target("session", 1.0, relative_to="monty"),
    Target("call_small", 40e-6),
    Target("call_small", 0.5, relative_to="monty"),
    Target("call_text", 0.3, relative_to="monty"),
    Target("call_rows", 0.45, relative_to="monty"),
    Target("call_bytes", 1.0, relative_to="monty"),
    Target("send_rows", 1.3, relative_to="monty"),
    Target("send_text", 3.0, relative_to="monty"),
    Target("print", 2.0, relative_to="monty"),
    Target("work_fib", 1.05, relative_to="cold_python"),
    Target("work_loop", 1.05, relative_to="cold_python"),
    Target("work_sort", 1.05, relative_to="cold_python"),
    Target("throughput", 900, kind="at least"),
    Target("worker_memory", 1.6e6),
    Target("first", 0.300),
    Target("import", 0.100),
    Target("import_pydantic", 0),
)
