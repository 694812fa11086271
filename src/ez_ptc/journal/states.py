"""The states of runs, which the command line names before it imports a journal.

Theory of operation. The row of a run has one of five states. `rows.append` alone changes it, together with the events
that say why, as this table says, and refuses what the table does not have. So nothing follows the end of a run, even if
another process still writes.

    recorded        | record          | claim   | pause  | lose            | finish | fail
    running         | running         | running | paused | outcome_unknown | done   | failed
    paused          | paused          | running |        |                 |        | failed
    outcome_unknown | outcome_unknown | running |        |                 |        | failed
    done            |                 |         |        |                 |        |
    failed          |                 |         |        |                 |        |

- record: calls and decisions about them are added, also by functions that outlive their execution.
- claim: another execution begins, in any process, once the owner of the last one is gone.
- pause: an execution ends, and calls wait for decisions; with lose, a call among them may have taken effect.
- finish, fail: the program has ended. A run that cannot go on is abandoned, which is fail.

A reader is told a `RunState`. Unless the run has ended, it follows from the owner and the calls: `RunReader.state`. A
run whose record was changed is "damaged" in lists, and hides no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHANGES", "ENDINGS", "FINISHED", "RecordedState", "RunChange", "RunState"]

RunState = Literal["running", "resumable", "paused", "outcome_unknown", "done", "failed", "damaged"]
"""The state of a run: "running" has a live owner; "resumable" lost its process, and can go on."""

RecordedState: TypeAlias = Literal["running", "paused", "outcome_unknown", "done", "failed"]
RunChange: TypeAlias = Literal["record", "claim", "pause", "lose", "finish", "fail"]

CHANGES: Final[Mapping[str, Mapping[RunChange, RecordedState]]] = {
    "running": {
        "record": "running",
        "claim": "running",
        "pause": "paused",
        "lose": "outcome_unknown",
        "finish": "done",
        "fail": "failed",
    },
    "paused": {"record": "paused", "claim": "running", "fail": "failed"},
    "outcome_unknown": {"record": "outcome_unknown", "claim": "running", "fail": "failed"},
    "done": {},
    "failed": {},
}
FINISHED: Final = ("done", "failed")
ENDINGS: Final[Mapping[str, RunChange]] = {
    "paused": "pause",
    "outcome_unknown": "lose",
    "done": "finish",
    "failed": "fail",
}
"""How an execution ends, by the state that it leaves."""
