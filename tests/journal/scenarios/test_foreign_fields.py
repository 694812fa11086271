"""Events whose chain fits, and which no library has written: nothing runs, and no run stays locked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import pytest

from ez_ptc import (
    Approve,
    ContinuationError,
    ExecutionResult,
    EzPtcError,
    Journal,
    JournalCorruptError,
    JournalError,
    ProcessSandbox,
    ReplayDivergedError,
    Toolkit,
)
from ez_ptc.journal.chain import Event
from ez_ptc.journal.recorded.event_fields import EVENT_FIELDS, RESULT_FIELDS
from ez_ptc.journal.rows import find_run
from ez_ptc.sandbox.protocol.both_ends.source_repairs import SOURCE_RULES
from tests.journal.programs import Effects
from tests.journal.rewriting import change_start, rewrite_events

PROGRAM: Final = "print(effect('a'), look('b' * 70))\nprint(transfer('c' * 70, 5))\nprint(transfer('d', 6))"
# Of each type of JSON, and those that Python takes for others.
MISSING: Final = object()
OTHER_VALUES: Final[tuple[object, ...]] = (
    *(MISSING, None, True, 0, -1, 1 << 70, 1.5, float("nan"), "", "x", "5"),
    *([], ["x"], [["x", "y"]], {}, {"x": 1}),
)


@pytest.fixture
def toolkit(effects: Effects, journal: Journal) -> Iterator[Toolkit]:
    with (
        ProcessSandbox(ready=1, paused=0) as sandbox,
        Toolkit(effects.tools(), journal=journal, sandbox=sandbox) as toolkit,
    ):
        yield toolkit


def _pause(toolkit: Toolkit) -> str:
    """Return the id of a run with events of all kinds, which waits for a decision."""
    paused = toolkit.execute(PROGRAM)
    assert paused.run_id is not None
    paused = toolkit.resume(paused.run_id, {paused.pending[0].id: Approve(by="me")})
    assert (paused.status, len(paused.pending)) == ("paused", 1)
    return str(paused.run_id)


def _with_progress(events: Sequence[Event]) -> list[Event]:
    """Return events with a report of the first call, and a picture, before its result."""
    place = next(place for place, event in enumerate(events) if event.kind == "result")
    report = {"tool": "effect", "line": 1, "done": 1, "total": 2, "message": "half"}
    progress = Event("progress", "", {"calls": {"1": report}}, None, events[place].time)
    picture = Event("picture", payload=b"\x89PNG", time=events[place].time)
    return [*events[:place], progress, picture, *events[place:]]


def _resume(toolkit: Toolkit, run_id: str) -> None:
    toolkit.resume(run_id, {call.id: Approve() for call in toolkit.open_journal().run(run_id).pending})


def _assert_refused(toolkit: Toolkit, run_id: str, effects: Effects, match: str) -> None:
    """Assert that a run cannot be resumed, that nothing was written or run, and that no one owns it."""
    journal = toolkit.open_journal()
    before, done = journal.store.read(lambda rows: find_run(rows, run_id)), effects.lines()
    with pytest.raises(JournalError, match=match) as caught:
        toolkit.resume(run_id, {f"{run_id}:4": Approve()})
    assert run_id in str(caught.value)
    assert journal.store.read(lambda rows: find_run(rows, run_id)) == before
    assert effects.lines() == done
    assert not journal.store.locks.is_owned(before.number)


@pytest.mark.parametrize("rules", [0, SOURCE_RULES + 1, True, None, float("nan"), "2", [2]])
def test_program_of_unknown_rules_is_left_to_its_library(rules: object, toolkit: Toolkit, effects: Effects) -> None:
    run_id = _pause(toolkit)
    change_start(toolkit.open_journal(), run_id, source_rules=rules, library="9.9")

    _assert_refused(toolkit, run_id, effects, r"rules .* for repairing sources.*ez-ptc that recorded it \('9.9'\)")
    with pytest.raises(ReplayDivergedError, match="up to 2"):
        toolkit.open_journal().run(run_id).to_html()

    change_start(toolkit.open_journal(), run_id, source_rules=SOURCE_RULES)
    _resume(toolkit, run_id)
    assert effects.lines()["transfer d 6"] == 1


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        ({"later": 5}, r"limits that this library does not have \('later'\).*recorded it"),
        ({"timeout": "x"}, "Limits.timeout must be a positive number, got 'x'"),
        (None, "its field limits is wrong"),
        ([], "its field limits is wrong"),
    ],
)
def test_unknown_limits_are_refused_before_a_claim(
    limits: object, match: str, toolkit: Toolkit, effects: Effects
) -> None:
    run_id = _pause(toolkit)
    change_start(toolkit.open_journal(), run_id, limits=limits)
    _assert_refused(toolkit, run_id, effects, match)


def test_reply_with_unknown_mark_is_refused_before_a_claim(toolkit: Toolkit, effects: Effects) -> None:
    run_id = _pause(toolkit)
    journal = toolkit.open_journal()
    events = _changed(journal.events(run_id), "result", {"kind": "m"}, b'{"$":["later",[]]}')
    rewrite_events(journal, run_id, events, "paused")
    _assert_refused(toolkit, run_id, effects, "the reply to a call .*KeyError")


def _fail(toolkit: Toolkit, run_id: str, **options: Any) -> ExecutionResult:
    return toolkit.execute("1 / 0", run_id=run_id, principal="ann", **options)


def test_ended_run_without_a_result_is_damaged(toolkit: Toolkit, journal: Journal) -> None:
    _fail(toolkit, "r")
    *events, end = journal.events("r")
    rewrite_events(journal, "r", [*events, end._replace(payload=None)], "failed")
    uses: list[Callable[[str], object]] = [toolkit.replay, partial(toolkit.find_result, principal="ann")]
    for use in (*uses, partial(_fail, toolkit)):
        with pytest.raises(JournalCorruptError, match="run r has ended, and has no result"):
            use("r")


def test_page_stands_beside_runs_that_cannot_be_read(toolkit: Toolkit, journal: Journal) -> None:
    result = _fail(toolkit, "first")
    toolkit.execute("print('corrected')", run_id="second", after=result, principal="ann")
    *events, end = journal.events("first")
    rewrite_events(journal, "first", [*events, end._replace(payload=b"[]")], "failed")
    attempts = journal.run("second").view().attempts
    assert [(attempt.id, attempt.state) for attempt in attempts] == [("first", "damaged"), ("second", "done")]

    change_start(journal, "second", repairs="\ud800")
    assert "corrected" in journal.run("second").to_html()


def test_portable_export_leaves_progress_out(toolkit: Toolkit, journal: Journal, tmp_path: Path) -> None:
    done = toolkit.execute("print(effect('a'))", run_id="r")
    rewrite_events(journal, "r", _with_progress(journal.events("r")), "done")
    lines = [*journal.export("r", portable=True)]
    assert "progress" in {event.kind for event in journal.events("r")}
    assert "progress" not in {json.loads(line)["kind"] for line in lines}
    with Journal(tmp_path / "other.db") as other:
        assert other.load(lines) == "r"
        assert toolkit.replay("r", journal=other).output == done.output


def test_run_that_continues_itself_is_damaged(toolkit: Toolkit, journal: Journal) -> None:
    _fail(toolkit, "second", after=_fail(toolkit, "first"))
    change_start(journal, "first", continues={"run": "second", "reread": False})
    with pytest.raises(ContinuationError, match="run second continues itself"):
        toolkit.execute("1", after=journal.run("second").result, principal="ann")


def test_page_stands_in_a_session_with_a_damaged_program(toolkit: Toolkit, journal: Journal) -> None:
    with toolkit.session() as session:
        first, second = (str(session.execute(f"print({number})").run_id) for number in range(2))
    change_start(journal, first, limits=None)
    entries = journal.run(second).view().entries
    assert [(entry.id, entry.state) for entry in entries] == [(first, "damaged"), (second, "done")]
    assert "damaged" in journal.run(second).to_html()


@pytest.mark.parametrize("damage", ["reply", "arguments", "result"])
def test_run_that_cannot_be_read_is_abandoned(damage: str, toolkit: Toolkit, journal: Journal) -> None:
    run_id = _pause(toolkit)
    events = journal.events(run_id)
    if damage == "reply":
        events = _changed(events, "result", {"kind": "m"}, b'{"$":["later",[]]}')
    elif damage == "arguments":
        events = _changed(events, "pending", {"passed": {"name": 7}}, None)
    else:
        events = [*events[:-1], events[-1]._replace(payload=b"[]")]
    rewrite_events(journal, run_id, events, "paused")
    journal.abandon(run_id, "it cannot be read", by="Ann")

    (run,) = journal.runs()
    assert (run.state, run.pending) == ("failed", ())
    error = json.loads(journal.events(run_id)[-1].payload or b"")["error"]
    assert error.startswith("the run was abandoned by Ann: it cannot be read; the journal was damaged or changed: ")
    assert journal.claimable() == []


def test_damaged_run_hides_none_to_go_on_with(
    toolkit: Toolkit, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    damaged, good = _pause(toolkit), _pause(toolkit)
    events = _changed(journal.events(damaged), "pending", {"arguments": []}, None)
    rewrite_events(journal, damaged, events, "paused")
    journal.decide(good, {journal.run(good).pending[0].id: False})
    assert [run.id for run in journal.claimable()] == [good]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("ez_ptc.journal", "WARNING")
    assert record.getMessage().startswith(f"run {damaged} is left out of those to go on with: the journal was damaged")


def _changed(events: Sequence[Event], kind: str, data: Mapping[str, Any], payload: bytes | None) -> list[Event]:
    """Return events, of which the first of a kind has other data, without missing ones, or another payload."""
    place = next(place for place, event in enumerate(events) if event.kind == kind)
    fields = _present({**events[place].data, **data})
    changed = events[place]._replace(data=fields, payload=events[place].payload if payload is None else payload)
    return [*events[:place], changed, *events[place + 1 :]]


def _present(value: Any) -> Any:  # noqa: ANN401 - JSON of any form
    """Return JSON without what is missing in it."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _present(item) for name, item in fields.items() if item is not MISSING}
    if isinstance(value, list):
        return [_present(item) for item in cast("list[Any]", value) if item is not MISSING]
    return value


def _variants(kind: str, events: Sequence[Event]) -> Iterator[tuple[str, Mapping[str, Any], bytes | None]]:
    """Yield each field of the first event of a kind with each other value, and other payloads."""
    fields = next(event.data for event in events if event.kind == kind)
    schema = cast("dict[str, Any]", EVENT_FIELDS[kind])
    known = schema.get("choices", {"": schema})
    described = {name: field["schema"]["type"] for choice in known.values() for name, field in choice["fields"].items()}
    for name in sorted({*fields, *described}):
        for value in OTHER_VALUES:
            yield f"{name}={value!r}", {name: value}, None
            inside = {"list": ([value], [[value, "x"]], [["x", value]]), "dict": ({"x": value},)}
            for nested in inside.get(described.get(name, ""), ()):
                yield f"{name}={nested!r}", {name: nested}, None
            if isinstance(fields.get(name), dict):
                for key in ("x", *fields[name]):
                    yield f"{name}.{key}={value!r}", {name: {**fields[name], key: value}}, None
    for payload in (b"", b"\xff", b"null", b"[]", b'[[],"x"]', b'{"$":["x",1]}', b'{"$":1}', b"[[[]]]", b"[" * 5_000):
        yield f"payload={payload[:10]!r}", {}, payload
    if kind in {"pause", "end"}:
        for name in cast("dict[str, Any]", RESULT_FIELDS)["fields"]:
            for value in OTHER_VALUES[1:]:
                text = json.dumps({"output": "", "success": True, "status": "done", "images": [], name: value})
                yield f"result.{name}={value!r}", {}, text.encode()


def _use(toolkit: Toolkit, run_id: str) -> None:
    """Do everything that reads a run; only the library's own errors may come of it."""
    journal = toolkit.open_journal()
    uses = (
        journal.runs,
        journal.claimable,
        journal.verify,
        lambda: journal.run(run_id).result,
        lambda: journal.run(run_id).to_html(),
        lambda: [*journal.export(run_id)],
        lambda: [*journal.export(run_id, portable=True)],
        lambda: toolkit.find_result(run_id),
        lambda: toolkit.replay(run_id),
        lambda: _resume(toolkit, run_id),
    )
    for use in uses:
        with suppress(EzPtcError):
            use()


@pytest.mark.sampled(every=97)
@pytest.mark.parametrize("part", range(97))
@pytest.mark.parametrize("kind", EVENT_FIELDS)
def test_foreign_field_raises_only_errors_of_the_library(
    kind: str, part: int, toolkit: Toolkit, effects: Effects, journal: Journal
) -> None:
    run_id = _pause(toolkit)
    if kind == "end":
        _resume(toolkit, run_id)
    events, row = _with_progress(journal.events(run_id)), journal.store.read(lambda rows: find_run(rows, run_id))
    for name, data, payload in [*_variants(kind, events)][part::97]:
        rewrite_events(journal, run_id, _changed(events, kind, data, payload), row.state)
        effects.path.unlink(missing_ok=True)
        try:
            _use(toolkit, run_id)
        except Exception as error:
            error.add_note(f"{kind}: {name}")
            raise
        assert effects.lines().items() <= {("transfer d 6", 1)}, name
        assert not journal.store.locks.is_owned(row.number), name
