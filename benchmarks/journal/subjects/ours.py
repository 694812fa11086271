"""This library: a program of calls, in a journaled run."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.journal.subjects.ours_costs import journaled_costs
from benchmarks.journal.workload import APPROVED, EFFECTS, Journey
from ez_ptc import Approve, DidNotHappen, Happened, Journal, PendingCall, Tool, Toolkit, ez_tool

__all__ = ["recover", "start", "step_costs"]

_FILE: Final = "runs.db"
_PROGRAM: Final = "\n".join(f"print({'refund' if name == APPROVED else 'effect'}({name!r}))" for name in EFFECTS)


def start(journey: Journey) -> None:
    """Run the program until it pauses."""
    with _toolkit_of(journey) as toolkit:
        toolkit.execute(_PROGRAM)
        journey.reach("paused")


def recover(journey: Journey) -> int:
    """Resume the run: approve what waits, and say what happened where that is unknown."""
    questions = 0
    with _toolkit_of(journey) as toolkit, Journal(journey.folder / _FILE) as journal:
        (run,) = journal.runs()
        pending = run.pending
        while run.state not in {"done", "failed"}:
            questions += sum(call.state == "outcome_unknown" for call in pending)
            pending = toolkit.resume(run.id, _answers(journey, pending)).pending
            run = journal.run(run.id)
        if run.state != "done":
            message = f"the run has failed: {run.result}"
            raise RuntimeError(message)
    return questions


def _answers(journey: Journey, pending: tuple[PendingCall, ...]) -> Mapping[str, object]:
    """Return the answers of a person, who looks into the file to see what has happened."""
    answers: dict[str, object] = {}
    for call in pending:
        name = str(call.arguments["name"])
        if call.state == "needs_approval":
            answers[call.id] = Approve()
        else:
            answers[call.id] = Happened(name) if name in journey.lines else DidNotHappen()
    return answers


def step_costs(journey: Journey, steps: int) -> float:
    """Run a program of `steps` calls, and return the seconds of CPU in this process."""
    return journaled_costs(journey.folder, steps)


def _toolkit_of(journey: Journey) -> Toolkit:
    """Return a toolkit with the workload's tools and a journal in the folder."""

    def has_recorded(call: Mapping[str, Any]) -> None:
        # Called once the reply is recorded.
        if call["error"] is None:
            journey.reach(f"recorded {call['result']}")

    return Toolkit(_tools_of(journey), journal=journey.folder / _FILE, on_tool_call=has_recorded)


def _tools_of(journey: Journey) -> list[Tool[..., Any]]:
    @ez_tool
    def effect(name: str) -> str:
        """Append a line."""
        return journey.take_effect(name)

    @ez_tool(requires_approval=True)
    def refund(name: str) -> str:
        """Append a line, with an approval."""
        return journey.take_effect(name)

    return [effect, refund]
