"""One entry: each turn's calls as one program in the sandbox, beside the same calls made directly."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from benchmarks.bfcl.compare import Came, Difference, in_state, in_turn
from benchmarks.bfcl.entries import Call, Entry, methods
from benchmarks.bfcl.oracle import crosses, wanted
from benchmarks.bfcl.program import REFUSED, program
from benchmarks.bfcl.spies import Spies
from ez_ptc import Toolkit, ez_tool

__all__ = ["Mismatch", "Report", "Runner"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One difference and where it is; ``turn`` counts from 0, and is the last one for a state."""

    entry: str
    turn: int
    difference: Difference

    def __str__(self) -> str:
        """Return the lines that a person reads."""
        found = self.difference
        return f"{self.entry} turn {self.turn}: {found.call}\n    wanted {found.wanted}\n    came   {found.came}"


@dataclass(slots=True)
class Report:
    """What the entries so far gave; times in seconds: a tool described, a toolkit made of tools, a program run."""

    entries: int = 0
    turns: int = 0
    calls: int = 0
    refused: int = 0
    mismatches: list[Mismatch] = field(default_factory=list[Mismatch])
    describe_times: list[float] = field(default_factory=list[float])
    toolkit_times: list[float] = field(default_factory=list[float])
    program_times: list[float] = field(default_factory=list[float])


class Runner:
    """Runs entries over the leaderboard's classes, and keeps the report."""

    def __init__(self, apis: Mapping[str, type]) -> None:
        self.report = Report()
        self._spies = Spies()
        self._direct = apis
        self._listening = {name: self._spies.listening(api) for name, api in apis.items()}

    def run(self, entry: Entry) -> list[Mismatch]:
        """Run one entry, add it to the report, and return its differences."""
        direct, through = entry.start(self._direct), entry.start(self._listening)
        toolkit = self._toolkit(methods(through).values())
        known = methods(direct)
        found: list[Mismatch] = []
        with toolkit:
            for number, calls in enumerate(entry.turns):
                found += [Mismatch(entry.id, number, one) for one in self._turn(toolkit, known, calls)]
        found += [Mismatch(entry.id, len(entry.turns) - 1, one) for one in in_state(direct, through)]
        self.report.entries += 1
        self.report.turns += len(entry.turns)
        self.report.calls += sum(map(len, entry.turns))
        self.report.mismatches += found
        return found

    def _toolkit(self, functions: Iterable[Callable[..., object]]) -> Toolkit:
        began = time.perf_counter()
        tools = [ez_tool(function) for function in functions]
        described = time.perf_counter()
        toolkit = Toolkit(tools)
        self.report.describe_times.append((described - began) / len(tools))
        self.report.toolkit_times.append(time.perf_counter() - described)
        return toolkit

    def _turn(
        self, toolkit: Toolkit, known: Mapping[str, Callable[..., object]], calls: Sequence[Call]
    ) -> Iterable[Difference]:
        truth = [wanted(known[call.name], call) for call in calls]
        guarded = {index for index, one in enumerate(truth) if not crosses(one.result)}
        code = program(calls, guarded)
        began = time.perf_counter()
        result = toolkit.execute(code)
        self.report.program_times.append(time.perf_counter() - began)
        value = result.return_value
        returned = cast("list[object]", value) if result.success and isinstance(value, list) else []
        self.report.refused += sum(isinstance(one, str) and one.startswith(REFUSED) for one in returned)
        came = Came(
            arrivals=self._spies.take(),
            recorded=[record["name"] for record in result.tool_calls],
            returned=returned,
            error=result.error,
        )
        return in_turn(calls, truth, came)
