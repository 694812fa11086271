"""Kill a host at points of a program, continue in another process, and compare: a program of its own.

    python -m tests.journal.crashing FOLDER PROGRAM sync|async FIRST STEP

Each host is a fork of this process that runs a program with a journal, approves what waits, and is killed at a point,
the next one STEP points later, until a host gets to its end. What is left is then continued here. Prints JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

from ez_ptc import Approve, ExecutionResult, Journal, Toolkit
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.journal.kill_points import KillPoints
from tests.journal.owners import await_locks
from tests.journal.programs import LIMITS, PROGRAMS, Effects

__all__ = ["main"]

_STATES: Final = {"done", "failed", "paused", "resumable", "outcome_unknown"}
_MAX_CONTINUATIONS: Final = 5
_KILLED: Final = "killed"


class Case:
    """One program with one kind of tools, in a folder of its own for each attempt."""

    def __init__(self, folder: Path, program: str, *, is_async: bool) -> None:
        self.folder, self.code, self.is_async = folder, PROGRAMS[program], is_async
        self.sandbox = ProcessSandbox(ready=1)

    def toolkit(self, attempt: str, sandbox: ProcessSandbox) -> tuple[Toolkit, Effects]:
        """Return a toolkit with a journal, and the effects of its tools."""
        effects = Effects(self.folder / f"{attempt}.effects")
        journal = Journal(self.folder / f"{attempt}.db", retention=None)
        acknowledged = Effects(self.folder / f"{attempt}.acknowledged")
        tools = effects.tools(is_async=self.is_async)
        return (
            Toolkit(
                tools,
                journal=journal,
                limits=LIMITS,
                sandbox=sandbox,
                on_tool_call=lambda call: acknowledged.happen(call["path"]),
            ),
            effects,
        )

    def uninterrupted(self) -> tuple[str, Counter[str], int]:
        """Return the output and effects of an uninterrupted run, and the number of points."""
        points = KillPoints(0)
        with ProcessSandbox(ready=1) as sandbox:
            toolkit, effects = self.toolkit("uninterrupted", sandbox)
            points.begin()
            result = run(toolkit, self.code)
            points.end()
        assert result.status == "done", result
        return result.output, effects.distinct(), points.count

    def killed_at(self, point: int) -> bool:
        """Run a host that is killed at a point. Return whether it was."""
        pid = os.fork()
        if not pid:
            try:
                with ProcessSandbox(ready=1) as sandbox:
                    toolkit, _ = self.toolkit(str(point), sandbox)
                    KillPoints(point).begin()
                    run(toolkit, self.code)
                os._exit(0)
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert status in {0, -signal.SIGKILL}, status
        await_locks(self.folder / f"{point}.db")
        return status != 0

    def continued(self, point: int) -> tuple[list[str], ExecutionResult | None, Effects]:
        """Continue what is left. Return the states it was in, its result, and its effects."""
        toolkit, effects = self.toolkit(str(point), self.sandbox)
        journal: Any = toolkit.journal
        states: list[str] = []
        with journal:
            assert journal.verify() <= 1
            runs = journal.runs()
            if not runs:
                assert not effects.lines(), "an effect without a run"
                return ["none"], None, effects
            self._require_acknowledged(journal, runs[0].id, point)
            result = None
            while runs[0].state not in {"done", "failed"}:
                states.append(runs[0].state)
                assert set(states) <= _STATES, states
                assert len(states) < _MAX_CONTINUATIONS, states
                decisions = {
                    call.id: effects.settle(call) if call.state == "outcome_unknown" else Approve()
                    for call in runs[0].pending
                }
                result = toolkit.resume(runs[0].id, decisions)
                runs = journal.runs()
            journal.verify()
            return [*states, runs[0].state], runs[0].result or result, effects

    def _require_acknowledged(self, journal: Journal, run_id: str, point: int) -> None:
        recorded = {event.path for event in journal.events(run_id) if event.kind == "result"}
        acknowledged = set(Effects(self.folder / f"{point}.acknowledged").lines())
        assert acknowledged <= recorded, f"lost: {acknowledged - recorded}"


def run(toolkit: Toolkit, code: str) -> ExecutionResult:
    """Run a program, and approve what waits."""
    result = toolkit.execute(code)
    while result.status == "paused":
        assert result.run_id is not None
        result = toolkit.resume(result.run_id, {call.id: Approve() for call in result.pending})
    return result


def main(folder: str, program: str, kind: str, first: str, step: str) -> dict[str, Any]:
    """Kill at each point, and return the figures."""
    case = Case(Path(folder), program, is_async=kind == "async")
    output, effects, points = case.uninterrupted()
    became: Counter[str] = Counter()
    point, killed, problems = int(first), 0, list[str]()
    # Threads and polls make the number of points vary: a host that got to its end was not killed.
    while case.killed_at(point):
        killed += 1
        try:
            states, result, found = case.continued(point)
        except Exception as error:  # noqa: BLE001 - the finding is the report
            problems.append(f"{point}: {type(error).__name__}: {error}")
        else:
            became[" ".join(states)] += 1
            if result is not None and (result.output, result.status) != (output, "done"):
                problems.append(f"{point}: {states} {result.status} {result.error} {result.output!r}")
            if result is not None and found.distinct() != effects:
                problems.append(f"{point}: {states} {found.distinct() - effects} {effects - found.distinct()}")
        point += int(step)
    case.sandbox.close()
    return {"points": points, "killed": killed, "became": became, "problems": problems}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))  # noqa: T201 - the figures
