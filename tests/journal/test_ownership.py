"""The ownership of a run: what changes is in the table of its docstring, and a run is given up at its end."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given

from ez_ptc.journal import ownership as ownerships
from ez_ptc.journal.ownership import CHANGES, Ownership
from ez_ptc.sandbox.protocol.frames import CallFrame
from ez_ptc.tools.call_lifetime import CallInterrupted
from tests.state_tables import names_of, read_table, walks

TABLE: Final = read_table(ownerships)
CALL: Final = CallFrame(1, "1", "pay", (1,), {}, alone=True)


def test_docstring_shows_the_table_of_ownerships() -> None:
    assert names_of(CHANGES) == TABLE


@given(walks(TABLE))
def test_ownership_follows_its_table_on_every_walk(walk: list[str]) -> None:
    ownership, state, left = Ownership("r1", lambda: None), "OPEN", list[str]()
    expected = 0
    ownership.enter_function(CALL, is_repeatable=False)
    for change in walk:
        if change == "close":
            ownership.close(0)
        else:
            ownership.release(lambda state=state: left.append(state), has_ended=change == "leave")
        expected += change == "leave" and change in TABLE[state]
        state = TABLE[state].get(change, state)
        assert ownership.state.name == state
        assert len(left) == expected
        if state != "OPEN":
            with pytest.raises(CallInterrupted):
                ownership.enter_function(CALL, is_repeatable=False)
    ownership.leave_function(CALL)
    assert ownership.state.name == (state if state != "LEAVING" else "OVER")
    assert len(left) == expected + (state == "LEAVING")
