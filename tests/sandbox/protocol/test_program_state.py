"""The states of a program: each change does what the table in the docstring says, and no other is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import pytest
from hypothesis import given

from ez_ptc import Limits
from ez_ptc.sandbox.protocol.exchange import Exchange
from ez_ptc.sandbox.protocol.execution import Grants
from ez_ptc.sandbox.protocol.frames import DoneFrame, pack
from ez_ptc.sandbox.protocol.interfaces import Channel
from ez_ptc.sandbox.protocol.records import program_state
from ez_ptc.sandbox.protocol.records.program_state import CHANGES, Change, ProgramLife
from ez_ptc.toolkit.execution.channel import ToolChannel
from ez_ptc.tools.call_settings import NO_SETTINGS
from tests.state_tables import names_of, read_table, walks

TABLE: Final = read_table(program_state)
DONE: Final = pack(b'{"t":"done","dropped":0}')
CHANNEL: Final[Channel] = ToolChannel((), Grants(()), NO_SETTINGS)
# How a program comes into each state, by what a driver does.
ROUTES: Final = {
    "RUNNING": [],
    "STOPPING": ["stop"],
    "PAUSED": ["pause"],
    "FINISHED": ["finish"],
    "SPOILED": ["finish", "finish"],
    "LATE": ["stop", "finish"],
    "UNDELIVERED": ["miss"],
    "ENDED": ["end"],
}


def _resume(exchange: Exchange) -> bool:
    try:
        exchange.resume(CHANNEL)
    except ValueError:
        return False
    return True


ACTS: Final[dict[str, Callable[[Exchange], object]]] = {
    "stop": Exchange.stop,
    "pause": Exchange.pause,
    "miss": lambda exchange: exchange.change("miss"),
    "finish": lambda exchange: exchange.receive(DONE),
    "end": lambda exchange: exchange.end("gone"),
    "resume": _resume,
}


def _exchange() -> Exchange:
    return Exchange("", CHANNEL, Limits())


def test_docstring_shows_the_table_of_changes() -> None:
    assert names_of(CHANGES) == TABLE


@given(walks(TABLE))
def test_program_follows_its_table_on_every_walk(walk: list[str]) -> None:
    life, state, has_finished, reasons = ProgramLife(), "RUNNING", False, list[str]()
    for number, name in enumerate(walk):
        after = TABLE[state].get(name)
        done = DoneFrame(None, None, "", "", number) if name == "finish" else None
        reason = f"reason {number}" if name == "end" else None
        assert life.change(cast("Change", name), done=done, reason=reason) is (after is not None)
        if after is not None:
            state = after
            has_finished = has_finished or name == "finish"
            reasons += [reason] if reason else []
        assert life.state.name == state
        assert life.is_finished is has_finished
        assert life.is_over is (state not in {"RUNNING", "STOPPING"})
        assert life.wants_calls is (state == "RUNNING")
        assert life.is_late is (state in {"STOPPING", "LATE"})
        assert life.is_lost is (state in {"RUNNING", "UNDELIVERED"} and not reasons)


@pytest.mark.parametrize("state", ROUTES)
def test_first_ending_of_an_exchange_counts(state: str) -> None:
    for name in ("stop", "pause", "end", "resume"):
        exchange = _exchange()
        for step in ROUTES[state]:
            ACTS[step](exchange)
        before = exchange.state.name, exchange.result().error
        assert ACTS[name](exchange) in {name in TABLE[state], None}
        after = exchange.state.name, exchange.result().error
        assert (before[0], after[0]) == (state, TABLE[state].get(name, state))
        assert after == before or name in TABLE[state]


def test_caller_that_has_left_gets_no_further_call() -> None:
    exchange = _exchange()
    exchange.leave()
    exchange.leave()
    assert (exchange.wants_calls, exchange.state.name) == (False, "RUNNING")
    exchange.stop()
    assert exchange.receive(DONE) == []
    assert exchange.result().error == "TimeoutError: the program timed out after 30 s"


def test_parked_program_wants_calls_again_once_it_is_resumed() -> None:
    exchange = _exchange()
    with pytest.raises(ValueError, match="expected a paused program, got one that is running"):
        exchange.resume(CHANNEL)
    assert exchange.pause()
    exchange.leave()
    exchange.resume(CHANNEL)
    assert exchange.wants_calls
