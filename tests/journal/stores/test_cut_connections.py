"""The server is gone at any message, and comes back: nothing doubled, nothing acknowledged lost."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from ez_ptc import Approve, Journal, JournalError, Toolkit
from tests.journal.programs import LIMITS, PROGRAMS, Effects
from tests.journal.sample_runs import START
from tests.journal.stores.cutting import CuttingProxy
from tests.journal.stores.server import PostgresServer

_MAX_CONTINUATIONS = 8
_SHARDS = 40


def _run(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code, run_id="r")
    while result.status == "paused":
        result = toolkit.resume("r", {call.id: Approve() for call in result.pending})


def _continue(address: str, effects: Effects, code: str) -> tuple[str, list[str]]:
    """Go on with the run, as a person and a queue would; return its output and the states it was in."""
    states: list[str] = []
    with Journal(address) as journal, Toolkit(effects.tools(), journal=journal, limits=LIMITS) as toolkit:
        if not journal.runs():
            assert effects.lines() == Counter()
            states.append("none")
            _run(toolkit, code)
        while (run := journal.run("r")).state not in {"done", "failed"}:
            states.append(run.state)
            assert len(states) < _MAX_CONTINUATIONS, states
            answers = {
                call.id: effects.settle(call) if call.state == "outcome_unknown" else Approve() for call in run.pending
            }
            toolkit.resume("r", answers)
        assert journal.verify() == 1
        assert run.result is not None
        assert run.state == "done", run.result.error
        return run.result.output, states


def _cut(address: str, proxy: CuttingProxy, folder: Path, code: str, last: int) -> tuple[Effects, int, bool]:
    """Run a program whose server is gone at a message; return its effects, the messages, and whether it got through."""
    effects, acknowledged = Effects(folder / f"{last}.effects"), Effects(folder / f"{last}.acknowledged")
    cut = address.replace(address.rpartition("@")[2].partition("/")[0], f"127.0.0.1:{proxy.port}")
    with Journal(cut) as journal:
        journal.runs()
        with Toolkit(
            effects.tools(), journal=journal, limits=LIMITS, on_tool_call=lambda call: acknowledged.happen(call["path"])
        ) as toolkit:
            proxy.cut_at(last)
            try:
                _run(toolkit, code)
                is_whole = True
            except JournalError:
                is_whole = False
            count = proxy.count
    with Journal(address) as journal:
        recorded = {event.path for run in journal.runs() for event in journal.events(run.id) if event.kind == "result"}
    assert set(acknowledged.lines()) <= recorded
    return effects, count, is_whole


def test_start_is_told_as_it_was_recorded(address: str, server: PostgresServer) -> None:
    """The server is gone at any message of a start: it returns if the run is there, and raises if it is not."""
    proxy = CuttingProxy(server.port)
    cut = address.replace(f":{server.port}/", f":{proxy.port}/")
    in_commits: dict[str, JournalError] = {}
    try:
        with Journal(cut) as journal, Journal(address) as whole:
            journal.runs()
            for point in itertools.count(1):
                proxy.cut_at(point)
                run_id = f"r{point}"
                try:
                    row, _ = journal.start("", START, run_id=run_id)
                    journal.store.locks.disown(row.number)
                    is_started = True
                except JournalError as error:
                    is_started = False
                    if "ended in a commit" in str(error):
                        in_commits[run_id] = error
                assert is_started == (run_id in {run.id for run in whole.runs()}), point
                if proxy.count < point:
                    break
    finally:
        proxy.close()
    for run_id, error in in_commits.items():
        assert f"run {run_id}: nothing was recorded" in str(error)
        assert error.run_id == run_id


@pytest.mark.sampled(every=20, first=7)
@pytest.mark.parametrize("shard", range(1, _SHARDS + 1))
@pytest.mark.parametrize("program", ["sequential", "parallel"])
def test_server_gone_at_any_message_doubles_nothing(
    program: str, shard: int, server: PostgresServer, tmp_path: Path
) -> None:
    code = PROGRAMS[program]
    proxy = CuttingProxy(server.port)
    outcomes: Counter[str] = Counter()
    try:
        expected = ""
        point, count = 0, 1
        while point <= count:
            schema = f"cut_{program}_{shard}_{point}"
            server.execute(f"CREATE SCHEMA {schema}")
            address = f"{server.address()}?options=-csearch_path%3D{schema}"
            effects, messages, is_whole = _cut(address, proxy, tmp_path, code, point)
            if not point:
                count = messages
            output, states = _continue(address, effects, code)
            expected = expected or output
            assert output == expected, (point, states)
            assert set(effects.distinct().values()) == {1}, (point, states, effects.lines())
            outcomes[" ".join([str(is_whole), *states])] += 1
            server.execute(f"DROP SCHEMA {schema} CASCADE")
            point += _SHARDS if point else shard
    finally:
        proxy.close()
    assert len(outcomes) > 1, outcomes
