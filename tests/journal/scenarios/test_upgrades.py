"""Runs survive upgrades of the library and of Python, as long as the program makes its record and its output again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import pytest
from pydantic import BaseModel, Field

from ez_ptc import (
    Approve,
    Happened,
    Journal,
    JournalError,
    Limits,
    PendingCall,
    ProcessSandbox,
    ReplayDivergedError,
    Tool,
    Toolkit,
    ez_tool,
)
from tests.journal.kept_runs import STATES, continuing_tools
from tests.journal.programs import Effects
from tests.journal.rewriting import change_start, record_as_first_read, replace_program

PROGRAM: Final = "print('before', effect('a'))\nprint(transfer('b', 1))"
OTHER: Final = "CPython 2.7.18 (default)"
_MINOR: Final = f"{sys.version_info[0]}.{sys.version_info[1]}"
PATCH: Final = f"CPython {_MINOR}.99 (a later patch)"


@pytest.fixture
def toolkit(effects: Effects, journal: Journal) -> Iterator[Toolkit]:
    with (
        ProcessSandbox(ready=1, paused=0) as sandbox,
        Toolkit(effects.tools(), journal=journal, sandbox=sandbox) as toolkit,
    ):
        yield toolkit


def _pause(toolkit: Toolkit, **changes: object) -> tuple[str, dict[str, Approve]]:
    """Return the id of a run that was recorded with other versions, and the decisions about it."""
    paused = toolkit.execute(PROGRAM)
    assert paused.run_id is not None
    change_start(toolkit.open_journal(), paused.run_id, **changes)
    return paused.run_id, {call.id: Approve() for call in paused.pending}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("changes", [{"library": "0.9"}, {"interpreter": PATCH}], ids=["library", "patch"])
def test_run_goes_on_with_another_library_or_patch(changes: dict[str, str], toolkit: Toolkit, effects: Effects) -> None:
    run_id, decisions = _pause(toolkit, **changes)

    done = toolkit.resume(run_id, decisions)

    assert (done.status, done.output) == ("done", "before a!\nb!\n")
    assert effects.lines() == {"effect a": 1, "transfer b 1": 1}
    assert toolkit.replay(run_id).output == done.output


def test_other_minor_version_is_asked_for_in_code(toolkit: Toolkit, effects: Effects) -> None:
    run_id, decisions = _pause(toolkit, interpreter=OTHER)

    with pytest.raises(ReplayDivergedError, match=r"recorded with interpreter CPython 2.7.18.*upgrade=True"):
        toolkit.resume(run_id, decisions)
    assert [event.kind for event in toolkit.open_journal().events(run_id)][-1] == "pause"
    assert toolkit.resume(run_id, decisions, upgrade=True).status == "done"
    assert effects.lines() == {"effect a": 1, "transfer b 1": 1}


@pytest.mark.sampled(every=2)
async def test_awaited_resume_upgrades_as_well(toolkit: Toolkit, anyio_backend: str) -> None:
    del anyio_backend
    run_id, decisions = _pause(toolkit, interpreter=OTHER)
    assert (await toolkit.aresume(run_id, decisions, upgrade=True)).status == "done"


def test_upgraded_run_belongs_to_the_version_that_went_on(toolkit: Toolkit, effects: Effects) -> None:
    paused = toolkit.execute("effect('a')\ntransfer('b', 1)\ntransfer('c', 2)")
    assert paused.run_id is not None
    change_start(toolkit.open_journal(), paused.run_id, interpreter=OTHER)

    paused = toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()}, upgrade=True)
    assert paused.run_id is not None
    assert toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()}).status == "done"
    assert effects.lines() == {"effect a": 1, "transfer b 1": 1, "transfer c 2": 1}


def test_other_output_is_found_before_anything_runs(toolkit: Toolkit, effects: Effects) -> None:
    run_id, decisions = _pause(toolkit, library="0.9")
    journal = toolkit.open_journal()
    replace_program(journal, run_id, PROGRAM.replace("before", "after"))

    with pytest.raises(ReplayDivergedError, match=r"its output before its call at 2 \(transfer\) is another"):
        toolkit.resume(run_id, decisions)
    assert effects.lines() == {"effect a": 1}
    # It still goes on where it was recorded.
    replace_program(journal, run_id, PROGRAM)
    change_start(journal, run_id, library=sys.modules["ez_ptc"].__version__)
    assert toolkit.resume(run_id).output == "before a!\nb!\n"


def test_session_of_ended_programs_goes_on_with_another_minor_version(toolkit: Toolkit, effects: Effects) -> None:
    with toolkit.session() as session:
        session.execute("name = effect('a')")
    for run in toolkit.open_journal().runs():
        change_start(toolkit.open_journal(), run.id, interpreter=OTHER)

    with toolkit.session(session.id) as session, pytest.raises(ReplayDivergedError, match="to `session` with its id"):
        session.execute("print(name)")
    with toolkit.session(session.id, upgrade=True) as session:
        assert session.execute("print(name)").output == "a!\n"
    assert effects.lines() == {"effect a": 1}


def test_session_goes_on_with_another_minor_version(toolkit: Toolkit, effects: Effects) -> None:
    with toolkit.session() as session:
        session.execute("name = effect('a')")
        paused = session.execute("print(name, transfer('b', 1))")
    journal = toolkit.open_journal()
    for run in journal.runs():
        change_start(journal, run.id, interpreter=OTHER)
    assert paused.run_id is not None
    decisions = {paused.pending[0].id: Approve()}

    with pytest.raises(ReplayDivergedError, match="upgrade=True"):
        toolkit.resume(paused.run_id, decisions)
    assert toolkit.resume(paused.run_id, decisions, upgrade=True).output == "a! b!\n"
    assert effects.lines() == {"effect a": 1, "transfer b 1": 1}


# Programs as they were given, which no later version repairs, and as the first one read them.
FIRST_READ: Final = {
    "1: x = 'c'\n2: if x > 'd':\n4:     x = effect('b')\n5: print(transfer(x, 1))": (
        "x = 'c'\nif x > 'd':\n    x = effect('b')\nprint(transfer(x, 1))"
    ),
    "> ```python\n> print(transfer('c', 1))\n> ```": "print(transfer('c', 1))",
    "x = 1\uff0c000\nprint(transfer('c', x[0]))": "x = 1,000\nprint(transfer('c', x[0]))",
}


def test_run_goes_on_by_the_rules_that_it_was_read_by(toolkit: Toolkit, effects: Effects) -> None:
    journal = toolkit.open_journal()
    for given, read in FIRST_READ.items():
        assert toolkit.execute(given).error is not None
        paused = toolkit.execute(read)
        run_id = str(paused.run_id)
        record_as_first_read(journal, run_id, given)

        assert toolkit.resume(run_id, {paused.pending[0].id: Approve()}).output == "c!\n"
        assert toolkit.replay(run_id).output == "c!\n"
        assert journal.run(run_id).view().program.strip() == read
    assert effects.lines() == {"transfer c 1": 3}


def test_session_goes_on_by_the_rules_that_its_programs_were_read_by(toolkit: Toolkit, effects: Effects) -> None:
    with toolkit.session() as session:
        run_id = str(session.execute("x = effect('a')\nif not x:\n    x = 'b'").run_id)
    record_as_first_read(toolkit.open_journal(), run_id, "1: x = effect('a')\n2: if not x:\n4:     x = 'b'")

    with toolkit.session(session.id) as session:
        assert session.execute("print(x)").output == "a!\n"
        assert session.execute("1: x = 1\n2: if x:\n4:    x = 2").error is not None
    assert effects.lines() == {"effect a": 1}


# What `Limits` took once, and no system does.
ONCE_ACCEPTED: Final[dict[str, dict[str, object]]] = {
    "amount": {"output": 10**20, "memory": 10**30, "text": 1 << 63},
    "seconds": {"cpu_time": 10**30},
    "endless": {"cpu_time": float("inf")},
    "seed": {"seed": int("9" * 77)},
    "negative": {"seed": -(10**4299)},
}


@pytest.mark.parametrize("limits", ONCE_ACCEPTED.values(), ids=ONCE_ACCEPTED)
def test_run_goes_on_with_limits_that_were_accepted_once(
    limits: dict[str, object], toolkit: Toolkit, effects: Effects
) -> None:
    program = "import random\nprint(random.random())\nprint(transfer('b', 1))"
    journal, seed = toolkit.open_journal(), cast("int", limits.get("seed", 7))
    with Toolkit(effects.tools(), journal=journal, limits=Limits(seed=seed)) as first:
        paused = first.execute(program)
    run_id = str(paused.run_id)
    change_start(journal, run_id, limits={**journal.events(run_id)[0].data["limits"], **limits})

    done = toolkit.resume(run_id, {paused.pending[0].id: Approve()})
    assert (done.status, done.output) == ("done", f"{paused.output}b!\n")
    assert toolkit.replay(run_id).output == done.output
    assert effects.lines() == {"transfer b 1": 1}


def _refund(**options: Any) -> Tool[..., Any]:
    settings: dict[str, Any] = {"requires_approval": True, **options}

    @ez_tool(**settings)
    def refund(amount: int) -> str:
        """Refund a customer."""
        return f"refunded {amount}"

    return refund


def _never(call: PendingCall) -> bool:
    del call
    return False


def _documented() -> Tool[..., Any]:
    @ez_tool(requires_approval=True)
    def refund(amount: int) -> str:
        """Refund a customer, in euros.

        Args:
            amount: What to refund.
        """
        return f"refunded {amount:d}"

    return refund


def _other_type() -> Tool[..., Any]:
    @ez_tool(requires_approval=True)
    def refund(amount: float) -> str:
        """Refund a customer."""
        return f"refunded {amount}"

    return refund


@pytest.mark.parametrize(
    ("make", "difference"),
    [
        (_other_type, "parameters"),
        (lambda: _refund(requires_approval=False), None),
        (lambda: _refund(requires_approval=_never), None),
        (lambda: _refund(read_only=True), None),
        (lambda: _refund(idempotent=True), "idempotent"),
        (_documented, None),
    ],
    ids=["type", "no approval", "rule", "reader", "idempotent", "documentation"],
)
def test_changed_tool_is_compared_by_what_the_record_needs(
    make: Callable[[], Tool[..., Any]], difference: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "runs.db"
    with Toolkit([_refund()], journal=path) as toolkit:
        paused = toolkit.execute("print(refund(5))")
    assert paused.run_id is not None
    decisions = {paused.pending[0].id: Approve()}
    with Toolkit([make()], journal=path) as toolkit:
        if difference is None:
            assert toolkit.resume(paused.run_id, decisions).output == "refunded 5\n"
        else:
            with pytest.raises(ReplayDivergedError, match=rf"'refund' has changed .*\(its {difference}\)"):
                toolkit.resume(paused.run_id, decisions)


def _kept_tools() -> list[Tool[..., Any]]:
    @ez_tool
    def effect(name: str) -> str:
        """Do something that must happen once."""
        message = f"{name} would happen twice"
        raise AssertionError(message)

    @ez_tool(read_only=True)
    def look(name: str) -> str:
        """Look at something."""
        message = f"{name} was looked at before"
        raise AssertionError(message)

    @ez_tool(requires_approval=True)
    def transfer(name: str, amount: int) -> str:
        """Do something that must be approved."""
        return f"{name} {amount}!"

    return [effect, look, transfer]


def _kept(version: int, folder: Path) -> Path:
    """Return a copy of the file of a version, with its key if it has one."""
    kept = Path(__file__).parent.parent / "kept" / f"version-{version}.db"
    for suffix in ("", "-key"):
        if (source := kept.with_name(kept.name + suffix)).exists():
            shutil.copy(source, folder / f"runs.db{suffix}")
            (folder / f"runs.db{suffix}").chmod(0o600)
    return folder / "runs.db"


def test_journal_of_version_1_is_read_and_continued(tmp_path: Path) -> None:
    """The file was written before the schedules of concurrent programs, and the traits of tools, were recorded."""
    with Journal(_kept(1, tmp_path), retention=None) as journal, Toolkit(_kept_tools(), journal=journal) as toolkit:
        assert journal.verify() == 5
        outputs: set[str] = set()
        for run in reversed(journal.runs()):
            if run.state == "done":
                continue
            before = "" if run.result is None else run.result.output
            done = toolkit.resume(run.id, {call.id: Approve() for call in run.pending}, upgrade=True)
            assert (done.status, done.output[: len(before)]) == ("done", before)
            outputs.add(done.output.splitlines()[-1].split()[0])
        assert outputs == {"e", "f", "s!"}
        assert {run.state for run in journal.runs()} == {"done"}


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_journal_of_later_versions_is_read_and_continued(version: int, tmp_path: Path) -> None:
    with (
        Journal(_kept(version, tmp_path), retention=None) as journal,
        Toolkit(continuing_tools(), journal=journal) as toolkit,
    ):
        assert journal.verify() == len(STATES) + 2
        states = {run.id: run.state for run in journal.runs()}
        assert states.items() >= STATES.items()
        with pytest.raises(JournalError, match="no run 'pruned': it was pruned"):
            journal.run("pruned")
        waiting = [run for run in journal.runs() if run.state in {"paused", "outcome_unknown"}]
        endings = {"threads": "d 5!", "branches": "e?", "secret": "door 4!", "killed": "known", "session": "s! t 2!"}
        for run in waiting:
            decisions = {call.id: Happened("known") if call.tool == "effect" else Approve() for call in run.pending}
            before = "" if run.result is None else run.result.output
            done = toolkit.resume(run.id, decisions, upgrade=True)
            assert (done.status, done.output[: len(before)]) == ("done", before)
            assert endings.pop("session" if run.session else run.id) in done.output[len(before) :]
        assert not endings
        assert journal.verify() == len(STATES) + 2


# As written by a version that did not require the tags.
EARLIER_DIGEST: Final = "23cc1104c8a8025b7395a07b81ae784d"


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    legs: int


@ez_tool(requires_approval=True)
def feed(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> str:
    """Feed a pet."""
    return f"{pet.kind} fed"


def test_run_goes_on_whose_tags_were_optional(tmp_path: Path) -> None:
    """The schemas of earlier versions did not require a union's tag that has a default."""
    with Toolkit([feed], journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute("print(feed({'kind': 'cat'}))")
        assert paused.run_id is not None
        change_start(toolkit.open_journal(), paused.run_id, tools={"feed": {"parameters": EARLIER_DIGEST}})
        assert toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()}).output == "cat fed\n"


def test_changed_tool_with_a_property_of_any_value_is_named(tmp_path: Path) -> None:
    def note(**values: object) -> str:
        return f"{values} noted"

    def described(**others: object) -> Tool[..., Any]:
        schema = {"type": "object", "properties": {"x": True, **others}, "required": ["x"]}
        return Tool.from_schema("note", "Note it.", schema, note, requires_approval=True)

    with Toolkit([described()], journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute("print(note(x=1))")
    assert paused.run_id is not None
    with (
        Toolkit([described(y={"type": "string"})], journal=tmp_path / "runs.db") as toolkit,
        pytest.raises(ReplayDivergedError, match=r"'note' has changed .*\(its parameters\)"),
    ):
        toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()})
