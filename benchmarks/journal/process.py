"""One process of a subject: ``python -m benchmarks.journal.process SUBJECT ACTION FOLDER ARGUMENT``.

ACTION is "start" or "recover" (ARGUMENT: the kill point, or nothing); the second prints how many questions a person has
answered. Or it is "steps" (ARGUMENT: how many), which prints the seconds of CPU; of ez-ptc, "plain" and "parallel" too,
"resume" (ARGUMENT: the recorded calls), "upkeep" (ARGUMENT: the runs) and "stream" (ARGUMENT: how often); of DBOS,
"times" (ARGUMENT: how many steps), wall-clock and CPU.
"""

import json
import sys
from pathlib import Path

from benchmarks.journal.subjects import load
from benchmarks.journal.workload import Journey

__all__ = ["main"]


def main(name: str, action: str, folder: str, argument: str) -> None:
    """Do one thing with one subject."""
    if action in {"start", "recover", "steps"}:
        subject = load(name)
        if action == "start":
            subject.start(Journey(Path(folder), argument))
        elif action == "recover":
            print(json.dumps(subject.recover(Journey(Path(folder), argument))))
        else:
            print(json.dumps(subject.step_costs(Journey(Path(folder)), int(argument))))
        return
    if action == "times":  # where ez-ptc is not installed
        from benchmarks.journal.subjects import dbos_sqlite

        print(json.dumps(dbos_sqlite.step_times(Journey(Path(folder)), int(argument))))
        return
    from benchmarks.journal.subjects import ours_costs, ours_upkeep

    measures = {
        "plain": ours_costs.plain_costs,
        "parallel": ours_costs.parallel_costs,
        "resume": ours_costs.resume_times,
        "stream": ours_costs.stream_times,
        "upkeep": ours_upkeep.upkeep_figures,
    }
    print(json.dumps(measures[action](Path(folder), int(argument))))


if __name__ == "__main__":
    main(*sys.argv[1:])
