"""Eight processes that race for the same runs: a program of its own.

    python -m tests.journal.racing FOLDER resume|decide|claim RUNS

Prints how many winners each run had, and what the losers were told.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from ez_ptc import Approve, DecisionError, Journal, JournalError, Toolkit
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.journal.programs import LIMITS, Effects

__all__ = ["main"]

_RACERS = 8


def _race(folder: Path, kind: str, pending: list[tuple[str, str]]) -> list[str]:
    """Try to win each run, and return what came of it."""
    outcomes: list[str] = []
    journal = Journal(folder / "runs.db")
    with ProcessSandbox(ready=1) as sandbox:
        effects = Effects(folder / "effects")
        toolkit = Toolkit(effects.tools(), journal=journal, limits=LIMITS, sandbox=sandbox)
        for run_id, call_id in pending:
            try:
                if kind == "resume":
                    outcomes.append(toolkit.resume(run_id, {call_id: Approve()}).status)
                else:
                    journal.decide(run_id, {call_id: Approve(by=str(os.getpid()))})
                    outcomes.append("done")
            except (DecisionError, JournalError) as error:
                outcomes.append(type(error).__name__)
    return outcomes


def _claim(folder: Path, pending: list[tuple[str, str]]) -> list[str]:
    """Go on with what is claimable until nothing is, and return what came of each run."""
    outcomes = dict.fromkeys([run_id for run_id, _ in pending], "none")
    with Journal(folder / "runs.db") as journal, ProcessSandbox(ready=1) as sandbox:
        effects = Effects(folder / "effects")
        toolkit = Toolkit(effects.tools(), journal=journal, limits=LIMITS, sandbox=sandbox)
        while runs := journal.claimable(5):
            for run in runs:
                try:
                    outcomes[run.id] = toolkit.resume(run.id).status
                except JournalError as error:
                    if outcomes[run.id] == "none":
                        outcomes[run.id] = type(error).__name__
    return list(outcomes.values())


def main(folder: str, kind: str, runs: str) -> dict[str, Any]:
    """Race, and return the figures."""
    path = Path(folder)
    effects = Effects(path / "effects")
    with Journal(path / "runs.db") as journal, ProcessSandbox(ready=1) as sandbox:
        toolkit = Toolkit(effects.tools(), journal=journal, limits=LIMITS, sandbox=sandbox)
        results = [toolkit.execute(f"print(transfer('{number}', 1))") for number in range(int(runs))]
    pending = [(str(result.run_id), result.pending[0].id) for result in results]
    if kind == "claim":
        with Journal(path / "runs.db") as journal:
            for run_id, call_id in pending:
                journal.decide(run_id, {call_id: Approve()})
    gate, starter = os.pipe()
    pids: list[int] = []
    for racer in range(_RACERS):
        pid = os.fork()
        if not pid:
            try:
                os.close(starter)
                os.read(gate, 1)  # ends when the starter is closed
                (path / f"{racer}.json").write_text(
                    json.dumps(_claim(path, pending) if kind == "claim" else _race(path, kind, pending))
                )
                os._exit(0)
            finally:
                os._exit(1)
        pids.append(pid)
    os.close(starter)
    codes = {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids}
    outcomes = [json.loads((path / f"{racer}.json").read_text()) for racer in range(_RACERS)]
    winners = Counter(sum(outcome[number] == "done" for outcome in outcomes) for number in range(int(runs)))
    with Journal(path / "runs.db") as journal:
        assert journal.verify() == int(runs)
        states = Counter(run.state for run in journal.runs(limit=int(runs)))
    losers = Counter(outcome for racer in outcomes for outcome in racer if outcome != "done")
    return {
        "codes": sorted(codes),
        "winners": winners,
        "losers": losers,
        "states": states,
        "effects": Counter(effects.lines().values()),
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))  # noqa: T201 - the figures
