"""What a program's value costs its record: an honest one has one, and any other ends its program."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from ez_ptc import Journal, Limits, Toolkit, ez_tool
from ez_ptc.journal.results import call_bytes
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.sandbox.protocol.frames import CallFrame
from tests.sandbox.scenarios.test_hostile_worker import SPEAK

_LIMITS: Final = Limits(timeout=20, grace=0.1)
_DEEP: Final = "v = 1\nfor _ in range(DEPTH): v = [v]\n"
_SLICE: Final = "v = {'$': ['sl', [v, None, None]]}\n"
_DONE: Final = "send({'t': 'done', 'value': v, 'dropped': 0})\ntime.sleep(60)"
_CALL: Final = "call(1, args=[v])\ntime.sleep(60)"
# The check of frames leaves some levels more than any value has.
_A_LITTLE_DEEP: Final = SPEAK + _DEEP.replace("DEPTH", "103")
_HOSTILE: Final = (
    _A_LITTLE_DEEP + _DONE,
    _A_LITTLE_DEEP + _CALL,
    SPEAK + _DEEP.replace("DEPTH", "400") + _SLICE + _DONE,
    SPEAK + _DEEP.replace("DEPTH", "400") + _SLICE + _CALL,
)
# Numbers of as many digits as JSON may have, and more of them than any value has.
_DIGITS: Final = (
    SPEAK
    + """
send(b'{"t":"done","dropped":0,"value":[' + b','.join([b'9' * 4_000] * 3_000) + b']}')
time.sleep(60)
"""
)


@ez_tool
def note(value: object) -> int:
    """Note a value."""
    del value
    return 1


def check_refused(result: ExecutionResult) -> None:
    """Check that a program was ended as one that breaks the protocol."""
    assert (result.status, result.return_value) == ("failed", None)
    assert "broke the sandbox's protocol" in (result.error or "")


def check_ended(journal: Journal) -> None:
    """Check that nothing of the journal waits for anyone."""
    assert {run.state for run in journal.runs()} == {"failed"}
    assert not list(journal.claimable())


def check_recorded(journal: Journal, result: ExecutionResult) -> None:
    """Check that a result is that of its record."""
    assert result.run_id is not None
    recorded = journal.run(result.run_id).result
    assert recorded is not None
    assert recorded.return_value == result.return_value


def test_program_with_a_value_that_no_record_can_have_is_ended(journal: Journal) -> None:
    with Toolkit([note], limits=_LIMITS, journal=journal) as toolkit:
        check_refused(toolkit.execute(_A_LITTLE_DEEP + _DONE))
        check_refused(asyncio.run(toolkit.aexecute(_A_LITTLE_DEEP + _CALL)))
    check_ended(journal)


@pytest.mark.security
def test_every_such_value_ends_its_program(journal: Journal) -> None:
    # Without a journal, a value that is a little too deep does no harm.
    for used, codes in ((journal, (*_HOSTILE, _DIGITS)), (None, _HOSTILE[2:])):
        with Toolkit([note], limits=_LIMITS, journal=used) as toolkit:
            for code in codes:
                check_refused(toolkit.execute(code))
                check_refused(asyncio.run(toolkit.aexecute(code)))
    check_ended(journal)


@pytest.mark.security
def test_session_goes_on_after_such_a_program(journal: Journal) -> None:
    with Toolkit([note], limits=_LIMITS, journal=journal) as toolkit:
        for code in _HOSTILE:
            with toolkit.session() as session:
                assert session.execute("x = 5").success
                check_refused(session.execute(code))
                session.execute("y = 6")
            with toolkit.session(session.id) as session:
                assert session.execute("7").return_value == 7


def test_deepest_honest_value_is_recorded(journal: Journal) -> None:
    deepest = "x = 1\nfor _ in range(101): x = [x]\n"
    with Toolkit([note], limits=_LIMITS, journal=journal) as toolkit:
        result = toolkit.execute(deepest + "x")
        check_recorded(journal, result)
        # The tool takes no such value, but the call is recorded.
        assert "nested more than 100 levels deep" in (toolkit.execute(deepest + "note(x)").error or "")
    call = CallFrame(1, "1", "note", (slice([1]),), {"$": [1]}, alone=True)
    assert host_codec.loads(call_bytes(call)) == [[slice([1])], {"$": [1]}]


@pytest.mark.security
def test_raised_limit_of_elements_holds_in_the_journal(journal: Journal) -> None:
    limits = Limits(timeout=20, elements=600_000)
    with Toolkit([note], limits=limits, journal=journal) as toolkit:
        for code in ("list(range(599_999))", "range(600_000)", "note(list(range(599_990)))"):
            result = toolkit.execute(code)
            assert result.status == "done", result.error
            check_recorded(journal, result)
