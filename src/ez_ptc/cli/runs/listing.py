"""`ez-ptc runs list` and `ez-ptc runs show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ez_ptc.cli.calls import call_text, outcome_text, quote_lines
from ez_ptc.cli.pending import RunReference, call_data, pending_data, pending_lines
from ez_ptc.cli.run import CommandError, json_text
from ez_ptc.cli.runs.opening import find_run_id, open_journal
from ez_ptc.cli.terminal import printable
from ez_ptc.formats.content import as_json
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.results import call_records
from ez_ptc.journal.upkeep.listing import short_id
from ez_ptc.tools.decisions import Approve, Deny

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from ez_ptc.journal.record import CallState
    from ez_ptc.journal.run import Run
    from ez_ptc.journal.states import RunState

__all__ = ["list_runs", "show_run"]

_MAX_LINES: Final = 20
_MAX_NAMES: Final = 3
_MAX_WORDS: Final = 200
# Widths of a table's columns, and between them, in characters.
_GAP: Final = 2
_MIN_WAITS: Final = 12
_MIN_PROGRAM: Final = 8
_STATE_COLORS: Final[Mapping[str, str]] = {
    "done": "green",
    "failed": "red",
    "outcome_unknown": "bold red",
    "damaged": "bold red",
    "paused": "bold yellow",
}


def list_runs(journal_path: str, *, state: RunState | None, limit: int, before: str | None, as_json: bool) -> int:
    """Print a page of the runs of a journal, the latest first, and return 0. Raises CommandError for a wrong option."""
    if limit < 1:
        message = f"--limit: expected a positive number, got {limit}"
        raise CommandError(message)
    with open_journal(journal_path) as journal:
        runs = journal.runs(state, limit=limit, before=before and find_run_id(journal, before))
        ids = journal.store.read(lambda database: [short_id(database, run.id) for run in runs])
    if as_json:
        print(json_text([_run_data(run) for run in runs]))
    elif runs:
        _print_table(runs, ids)
        if len(runs) == limit:
            print(f"\nThere may be earlier runs: add --before {printable(ids[-1])}")
        if any(run.state == "damaged" for run in runs):
            print("\nOf a damaged run, ez-ptc runs show says what is wrong; ez-ptc runs discard removes it.")
    else:
        print("no runs" if state is None else f"no runs in the state {state}")
    return 0


def _print_table(runs: Sequence[Run], ids: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    waiting = [[_one_line(call.tool) for call in run.pending if call.state != "running"] for run in runs]
    for names in waiting:
        if len(names) > _MAX_NAMES:
            names[_MAX_NAMES:] = [f"{len(names) - _MAX_NAMES:,} more"]
    programs = [next((_one_line(line) for line in run.program.splitlines() if line.strip()), "") for run in runs]
    columns = {
        "Run": [Text(printable(run_id)) for run_id in ids],
        "State": [Text(run.state, _STATE_COLORS.get(run.state, "")) for run in runs],
        "Changed": [Text(_local_time(run.changed)) for run in runs],
        "Waits": [Text(", ".join(names)) for names in waiting],
        "Program": [Text(program) for program in programs],
    }
    console = Console(highlight=False)
    widths = {title: max(len(title), *(cell.cell_len for cell in cells)) for title, cells in columns.items()}
    # People type the ids, and decide by what waits: the program's text goes first, then the time, and lines are folded
    # before anything else is cut.
    left = console.width - sum(widths[title] + _GAP for title in ("Run", "State", "Changed"))
    least = min(widths["Waits"], _MIN_WAITS)
    is_dated = left >= least
    if not is_dated:
        left += widths.pop("Changed") + _GAP
    widths["Waits"] = min(widths["Waits"], max(least, left))
    left -= widths["Waits"] + _GAP
    program = widths.pop("Program")
    if is_dated and left >= _MIN_PROGRAM:
        widths["Program"] = min(program, left)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for title, width in widths.items():
        is_folded = title == "Waits"
        table.add_column(title, width=width, no_wrap=not is_folded, overflow="fold" if is_folded else "ellipsis")
    for cells in zip(*(columns[title] for title in widths), strict=True):
        table.add_row(*cells)
    console.width = max(console.width, sum(widths.values()) + _GAP * len(widths))
    console.print(table)


def show_run(journal_path: str, prefix: str, *, in_full: bool, as_json: bool) -> int:
    """Print a run: its program, its calls, its result and what waits; return 0."""
    with open_journal(journal_path) as journal:
        run = journal.run(find_run_id(journal, prefix))
        record = RunRecord.of(run.id, journal.events(run.id))
    reference = RunReference(run.id, journal.name, principal=run.principal)
    if as_json:
        print(json_text(_full_data(run, record, reference)))
        return 0
    for line in _run_lines(run, record, None if in_full else _MAX_LINES):
        print(line)
    if run.pending or run.state == "resumable":
        print()
        for line in pending_lines(reference, run.pending, in_full=in_full):
            print(line)
    return 0


def _one_line(text: str) -> str:
    return printable(text.strip()[:_MAX_WORDS])


def _local_time(moment: datetime) -> str:
    return moment.astimezone().isoformat(" ", "seconds")[:19]


def _run_lines(run: Run, record: RunRecord, most: int | None) -> Iterator[str]:
    yield f"Run {printable(run.id)}"
    yield f"  {run.state}, started {_local_time(run.created)}, changed {_local_time(run.changed)}"
    if run.session is not None:
        yield f"  of the session {_one_line(run.session)}"
    if run.principal is not None:
        yield f"  for {_one_line(run.principal)}"
    if run.state == "running":
        yield f"  executed by {_one_line(run.owner)}"
    yield "  Program:"
    yield from quote_lines(run.program, most)
    calls = call_records(record, is_owned=run.state == "running")
    if calls:
        yield "  Calls:"
    for call in calls[:most]:
        decision = _decision_text(record.calls[call["path"]])
        yield f"      {_one_line(call['path'])}: {call_text(call)}{decision} -> {outcome_text(call)}"
    if most is not None and len(calls) > most:
        yield f"      … and {len(calls) - most:,} more calls"
    if run.result is not None:
        texts = {
            "Output": run.result.output,
            "Value": run.result.value_text(),
            "Errors": run.result.error_output or (run.result.error if run.result.status == "failed" else ""),
        }
        for title, text in texts.items():
            if text:
                yield f"  {title}:"
                yield from quote_lines(text, most)


def _decision_text(call: CallState) -> str:
    """Return who decided about a call, and the arguments it ran with if they were edited."""
    if call.decided is None:
        return ""
    by = _one_line(str(call.decided.data.get("by") or "someone"))
    if isinstance(call.decision, Deny):
        return f", denied by {by}"
    if isinstance(call.decision, Approve) and call.decision.arguments is not None:
        edited = call_text({"name": call.tool, "args": (), "kwargs": call.decision.arguments})
        return f", approved by {by} as {edited}"
    if isinstance(call.decision, Approve):
        return f", approved by {by}"
    return f", run again by {by}"


def _run_data(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "state": run.state,
        "created": run.created.isoformat(),
        "changed": run.changed.isoformat(),
        "session": run.session,
        "principal": run.principal,
        "owner": run.owner if run.state == "running" else None,
        "program": run.program,
        "pending": [call_data(call) for call in run.pending],
    }


def _full_data(run: Run, record: RunRecord, reference: RunReference) -> dict[str, Any]:
    next_steps: dict[str, Any] = {}
    if run.pending or run.state == "resumable":
        next_steps = pending_data(reference, run.pending)
    result = None
    if run.result is not None:  # without its calls, which the run has
        names = ("output", "error_output", "return_value", "described", "success", "error", "status", "duration_ms")
        result = {name: as_json(getattr(run.result, name)) for name in (*names, "truncated", "images")}
    return {
        **_run_data(run),
        "calls": [as_json(dict(call)) for call in call_records(record, is_owned=run.state == "running")],
        "result": result,
        **next_steps,
    }
