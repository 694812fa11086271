"""A finished run is repeated from its record, to the byte, without running a tool."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from ez_ptc import Journal, JournalError, Limits, ReplayDivergedError, Toolkit, ez_tool
from tests.journal.programs import Effects

_PIECES = [
    """
import random
print(random.random(), random.sample(range(100), 5))
""",
    """
import time, datetime
print(time.time(), datetime.datetime.now(), time.monotonic_ns())
""",
    """
import uuid, os, secrets
print(uuid.uuid4(), os.urandom(4), secrets.token_hex(4))
""",
    """
print({effect(name) for name in 'abcdef'}, {object: 1, int: 2}, set('hello world'))
""",
    """
print({object() for _ in range(3)} and [hash('x'), hash(str)])
""",
    """
import threading
threads = [threading.Thread(target=effect, args=(f't{n}',)) for n in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(threads))
""",
    """
import concurrent.futures as c
with c.ThreadPoolExecutor(3) as pool:
    print(list(pool.map(effect, 'xyz')))
""",
    """
import asyncio
async def work(n):
    await asyncio.sleep(0)
    return await asyncio.to_thread(effect, n)
async def main():
    print(await asyncio.gather(*map(work, 'klm')))
asyncio.run(main())
""",
    """
try:
    effect(n=1)
except Exception as error:
    print(type(error).__name__, error)
""",
    """
print(parallel((effect, 'p'), (look, 'q'), (charge, 'r')))
""",
    """
print(effect('é' * 3000)[:3], charge('c'), look('l'))
""",
    """
print(sorted(vars()), [effect(str(n)) for n in range(20)])
""",
    """
import sys
print('to stderr', file=sys.stderr)
look('s')
""",
    """
effect('last')
raise ValueError('on purpose')
""",
]


def _program(chance: random.Random) -> str:
    return "\n".join(chance.sample(_PIECES[:-1], 3) + chance.choice([[], [], [_PIECES[-1]]]))


@pytest.mark.lengthy
@pytest.mark.sampled(every=100)
@pytest.mark.parametrize("shard", range(100))
def test_recorded_runs_replay_to_equal_output(shard: int, tmp_path: Path) -> None:
    effects, chance = Effects(tmp_path / "effects"), random.Random(shard)
    with Journal(tmp_path / "runs.db") as journal, Toolkit(effects.tools(), journal=journal) as toolkit:
        for _ in range(10):
            recorded = toolkit.execute(_program(chance))
            before = effects.lines()
            assert recorded.run_id is not None
            replayed = journal.replay(recorded.run_id, toolkit)
            assert (replayed.output, replayed.error_output) == (recorded.output, recorded.error_output)
            assert (replayed.error, replayed.return_value) == (recorded.error, recorded.return_value)
            assert effects.lines() == before


def test_replay_in_a_later_process_time_is_equal(tmp_path: Path) -> None:
    @ez_tool
    def clock() -> float:
        """Tell the time."""
        return 1.5

    with Journal(tmp_path / "runs.db") as journal, Toolkit([clock], journal=journal) as toolkit:
        result = toolkit.execute("import time\nprint(time.time(), clock(), time.time())")
        assert result.run_id is not None
        assert journal.replay(result.run_id, toolkit).output == result.output


def test_replay_of_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    with Journal(tmp_path / "runs.db") as journal, Toolkit(effects.tools(), journal=journal) as toolkit:
        result = toolkit.execute("transfer('a', 1)")
        assert result.run_id is not None
        with pytest.raises(JournalError, match="resume it first"):
            journal.replay(result.run_id, toolkit)


def test_replay_with_another_tool_is_refused(tmp_path: Path) -> None:
    @ez_tool(name="effect")
    def other(name: int) -> str:
        """Do something else."""
        return str(name)

    effects = Effects(tmp_path / "effects")
    with Journal(tmp_path / "runs.db") as journal, Toolkit(effects.tools(), journal=journal) as toolkit:
        result = toolkit.execute("effect('a')")
        assert result.run_id is not None
        with Toolkit([other, *effects.tools()[1:]]) as changed, pytest.raises(ReplayDivergedError, match="has changed"):
            Toolkit([*changed], journal=journal).replay(result.run_id)


def test_replay_of_a_timed_out_run_calls_nothing(tmp_path: Path) -> None:
    """A call that was left behind gets no result, as when it was recorded; nor do those beside it."""
    leave = threading.Event()
    effects = Effects(tmp_path / "effects")

    @ez_tool
    def hang(name: str) -> None:
        """Wait longer than the program may run."""
        effects.happen(name)
        assert leave.wait(60)

    journal = Journal(tmp_path / "runs.db")
    tools = [hang, *effects.tools()]
    with journal, Toolkit(tools, journal=journal, limits=Limits(timeout=0.3)) as toolkit:
        program = "print(effect('a'))\nparallel(lambda: hang('b'), lambda: (effect('c'), hang('d')))"
        result = toolkit.execute(program, run_id="r")
        leave.set()
        assert "the outcome of hang, hang is unknown" in (result.error or "")
        before = effects.lines()
        assert set(before.values()) == {1}
        replayed = toolkit.replay("r")
        assert (replayed.error, replayed.output) == (result.error, result.output)
        assert effects.lines() == before
        toolkit.close()
        assert effects.lines() == before
