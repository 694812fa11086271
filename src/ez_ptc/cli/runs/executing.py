"""`ez-ptc runs resume` and `ez-ptc runs replay`: runs of a journal, with the user's toolkit."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ez_ptc.cli.pending import RunReference
from ez_ptc.cli.run import CommandError, ResultOptions, load_toolkit, print_result
from ez_ptc.cli.runs.opening import find_run_id, open_journal
from ez_ptc.cli.terminal import printable, printable_lines
from ez_ptc.errors import OutcomeUnknownError, ReplayDivergedError
from ez_ptc.sandbox.protocol.execution import ExecutionResult

if TYPE_CHECKING:
    from collections.abc import Generator

    from ez_ptc.journal.journal import Journal
    from ez_ptc.toolkit.toolkit import Toolkit

__all__ = ["replay_run", "resume_run"]


def resume_run(
    journal_path: str, prefix: str, *, tools: str, options: ResultOptions, principal: str | None = None
) -> int:
    """Continue a run, print its result, and return the exit code for it: 3 if calls still wait.

    Raises:
        CommandError: The run or the toolkit is missing, or the run has ended.
        JournalError: The run is being executed, or it is that of another toolkit, principal or context.
        SandboxError: Programs cannot run here.
    """
    with _toolkit_and_run(journal_path, prefix, tools) as (toolkit, journal, run_id):
        state = journal.run(run_id).state
        if state in {"done", "failed"}:
            message = f"run {run_id} is {state} already: ez-ptc runs show shows its result"
            raise CommandError(message)
        try:
            result = toolkit.resume(run_id, principal=principal)
        except OutcomeUnknownError:
            # Nothing was run: the same calls wait as before.
            text = "calls may have taken effect: someone has to find out"
            result = ExecutionResult(
                success=False, error=text, status="paused", run_id=run_id, pending=journal.run(run_id).pending
            )
    return print_result(result, RunReference(run_id, journal.name, tools, principal), options)


def replay_run(journal_path: str, prefix: str, *, tools: str, options: ResultOptions) -> int:
    """Run a finished program from its record, print its result, and return 0 if that is the recorded one, else 1.

    Raises:
        CommandError: The run or the toolkit is missing.
        JournalError: The run has not ended.
        SandboxError: Programs cannot run here.
    """
    with _toolkit_and_run(journal_path, prefix, tools) as (toolkit, _, run_id):
        try:
            result = toolkit.replay(run_id)
        except ReplayDivergedError as error:
            print(f"ez-ptc: {printable_lines(str(error))}", file=sys.stderr)
            return 1
    print_result(result, None, options)
    print(f"ez-ptc: run {printable(run_id)} replays to its recorded result", file=sys.stderr)
    return 0


@contextmanager
def _toolkit_and_run(journal_path: str, prefix: str, tools: str) -> Generator[tuple[Toolkit, Journal, str]]:
    """Yield the toolkit with the journal instead of its own, the journal, and the id of the run."""
    with open_journal(journal_path) as journal:
        run_id = find_run_id(journal, prefix, is_to_change=True)
        with replace(load_toolkit(tools), journal=journal) as toolkit:
            yield toolkit, journal, run_id
