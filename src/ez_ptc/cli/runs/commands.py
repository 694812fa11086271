"""The commands of `ez-ptc runs` and their options, for cyclopts; other modules run them."""

from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import App, Parameter

from ez_ptc.journal.states import RunState

__all__ = [
    "abandon",
    "approve",
    "backup",
    "copy",
    "deny",
    "discard",
    "export",
    "list_",
    "prune",
    "replay",
    "resume",
    "runs_app",
    "settle",
    "show",
    "verify",
]

_JournalName = Annotated[
    str, Parameter(name="--journal", env_var="EZ_PTC_JOURNAL", help="The file of the journal, or its address.")
]
_Run = Annotated[str, Parameter(help="The run's id, or its beginning.")]
_Call = Annotated[
    str | None,
    Parameter(help="The call's id or position. May be omitted for the only call of the run that waited so far."),
]
_Tools = Annotated[str, Parameter(help="The Toolkit of the run, as module:name; the current folder is searched, too.")]
_Flag = Annotated[bool, Parameter(negative=())]
_JsonText = Annotated[str | None, Parameter(allow_leading_hyphen=True)]

_DEFAULT_JOURNAL: Final = "runs.db"


def runs_app() -> App:
    """Return the commands of `ez-ptc runs`."""
    app = App(name="runs", help="Show the runs of a journal, decide about their calls, and continue them.")
    app.command(list_, name="list")
    for command in (show, approve, deny, settle, resume, replay, verify, export, backup, copy, prune, abandon, discard):
        app.command(command)
    return app


def list_(
    *,
    state: RunState | None = None,
    limit: int = 100,
    before: str | None = None,
    json: _Flag = False,
    journal: _JournalName = _DEFAULT_JOURNAL,
) -> int:
    """List the runs, the latest first.

    Parameters
    ----------
    state
        Only the runs in this state.
    limit
        The maximum number of runs.
    before
        The id of a run, or its beginning: only earlier ones.
    json
        Print them as JSON, with their whole programs.
    """
    from ez_ptc.cli.runs.listing import list_runs

    return list_runs(journal, state=state, limit=limit, before=before, as_json=json)


def show(run: _Run, /, *, full: _Flag = False, json: _Flag = False, journal: _JournalName = _DEFAULT_JOURNAL) -> int:
    """Show a run: its program, its calls, its result, and what it waits for.

    Parameters
    ----------
    full
        Cut no text, and none of the arguments that wait for a decision.
    json
        Print it as JSON.
    """
    from ez_ptc.cli.runs.listing import show_run

    return show_run(journal, run, in_full=full, as_json=json)


def approve(
    run: _Run,
    call: _Call = None,
    /,
    *,
    arguments: str | None = None,
    remember: _Flag = False,
    journal: _JournalName = _DEFAULT_JOURNAL,
) -> int:
    """Approve a call that waits; `resume` then runs it.

    Parameters
    ----------
    arguments
        Other arguments to run it with, all of them, as a JSON object.
    remember
        Approve all further calls of the same tool in the same run, too.
    """
    from ez_ptc.cli.runs.deciding import approve_call

    return approve_call(journal, run, call, arguments=arguments, remember=remember)


def deny(
    run: _Run,
    call: _Call = None,
    /,
    *,
    reason: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    journal: _JournalName = _DEFAULT_JOURNAL,
) -> int:
    """Deny a call that waits; it fails in the program.

    Parameters
    ----------
    reason
        The reason, which the program and the model read.
    """
    from ez_ptc.cli.runs.deciding import deny_call

    return deny_call(journal, run, call, reason=reason)


def settle(
    run: _Run,
    call: _Call = None,
    /,
    *,
    happened: _JsonText = None,
    did_not_happen: _Flag = False,
    journal: _JournalName = _DEFAULT_JOURNAL,
) -> int:
    """Say whether a call with an unknown outcome took effect. Find out first.

    Parameters
    ----------
    happened
        It did, and this is its result, as JSON.
    did_not_happen
        It did not: `resume` runs it.
    """
    from ez_ptc.cli.runs.deciding import settle_call

    return settle_call(journal, run, call, happened=happened, did_not_happen=did_not_happen)


def resume(  # noqa: PLR0913 - users type them
    run: _Run,
    /,
    *,
    tools: _Tools,
    calls: _Flag = False,
    json: _Flag = False,
    images: Path | None = None,
    principal: str | None = None,
    journal: _JournalName = _DEFAULT_JOURNAL,
) -> int:
    """Continue a run that has paused, or whose process died. No call runs twice.

    The exit code is 0 if the program succeeds, 1 if it fails, and 3 if calls wait for a decision.

    Parameters
    ----------
    calls
        Print the tool calls on standard error.
    json
        Print the result as JSON.
    images
        The folder for the program's pictures.
    principal
        For whom the run is, if it began with one: `ez-ptc runs show` shows it.
    """
    from ez_ptc.cli.run import ResultOptions
    from ez_ptc.cli.runs.executing import resume_run

    options = ResultOptions(as_json=json, show_calls=calls, images=images)
    return resume_run(journal, run, tools=tools, options=options, principal=principal)


def replay(run: _Run, /, *, tools: _Tools, json: _Flag = False, journal: _JournalName = _DEFAULT_JOURNAL) -> int:
    """Run a finished program from its record, without calling a tool. The exit code is 1 if the result differs.

    Parameters
    ----------
    json
        Print the result as JSON.
    """
    from ez_ptc.cli.run import ResultOptions
    from ez_ptc.cli.runs.executing import replay_run

    return replay_run(journal, run, tools=tools, options=ResultOptions(as_json=json))


def verify(*, journal: _JournalName = _DEFAULT_JOURNAL) -> int:
    """Check that no row of the journal was damaged or changed. The exit code is 1 if one was."""
    from ez_ptc.cli.runs.maintaining import verify_journal

    return verify_journal(journal)


def export(
    run: _Run, /, *, pytest: Path | None = None, tools: str | None = None, journal: _JournalName = _DEFAULT_JOURNAL
) -> int:
    """Print all events of a run, as lines of JSON, or write a test that replays it.

    Parameters
    ----------
    pytest
        Write a test to this file instead: it replays the run with its recorded results, without calling a tool.
    tools
        The Toolkit that the test imports, as module:name.
    """
    from ez_ptc.cli.runs.maintaining import export_run
    from ez_ptc.cli.runs.testing import write_test

    if pytest is not None:
        return write_test(journal, run, pytest, tools)

    return export_run(journal, run)


def backup(
    file: Annotated[Path, Parameter(help="The new file.")], /, *, journal: _JournalName = _DEFAULT_JOURNAL
) -> int:
    """Copy the journal to a new file, complete as of this moment; programs go on meanwhile."""
    from ez_ptc.cli.runs.maintaining import back_up

    return back_up(journal, file)


def copy(
    source: Annotated[str, Parameter(help="The file or the address of the journal with the runs.")],
    target: Annotated[str, Parameter(help="The file, which may be new, or the address to copy them to.")],
    /,
) -> int:
    """Copy ended runs to another journal, each compared with its chain; the others stay where they are."""
    from ez_ptc.cli.runs.maintaining import copy_ended

    return copy_ended(source, target)


def prune(
    *,
    days: float = 90,
    state: tuple[Literal["done", "failed", "paused", "resumable", "outcome_unknown"], ...] = ("done", "failed"),
    journal: _JournalName = _DEFAULT_JOURNAL,
) -> int:
    """Remove old runs. Programs go on meanwhile, and a run that is being executed is never removed.

    Parameters
    ----------
    days
        Only runs that have not changed for so many days.
    state
        Only runs in this state; several may be named.
    """
    from ez_ptc.cli.runs.maintaining import prune_runs

    return prune_runs(journal, days=days, states=state)


def abandon(
    run: _Run,
    /,
    *,
    reason: Annotated[str, Parameter(allow_leading_hyphen=True)],
    journal: _JournalName = _DEFAULT_JOURNAL,
) -> int:
    """End a run that cannot go on, as failed. Nothing of it runs again.

    Parameters
    ----------
    reason
        The reason, which the run's error names.
    """
    from ez_ptc.cli.runs.maintaining import abandon_run

    return abandon_run(journal, run, reason=reason)


def discard(run: _Run, /, *, journal: _JournalName = _DEFAULT_JOURNAL) -> int:
    """Remove one damaged run: its record is lost. A run that can be read is kept."""
    from ez_ptc.cli.runs.maintaining import discard_run

    return discard_run(journal, run)
