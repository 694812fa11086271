"""Programs of one session share their names, and nothing else that is theirs alone."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
from collections.abc import Callable, Iterator

import anyio
import pytest

from ez_ptc import Limits, ProcessSandbox, SandboxError, Session, Toolkit, ez_tool
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.processes import all_gone, descendants, families, inside
from tests.sandbox.tools import TOOLS

Run = Callable[..., ExecutionResult]
GONE = "the names of this session are gone: define again what is needed"


@pytest.fixture
def session(toolkit: Toolkit) -> Iterator[Session]:
    with toolkit.session() as found:
        yield found


@pytest.fixture(params=["blocking", "asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a program of a session: from a thread, and from each event loop."""

    def run(session: Session, code: str, timeout: float | None = None) -> ExecutionResult:
        if request.param == "blocking":
            return session.execute(code, timeout)
        return anyio.run(functools.partial(session.aexecute, code, timeout), backend=request.param)

    return run


def test_program_uses_names_of_earlier_programs(run: Run, session: Session) -> None:
    assert run(session, "import statistics\ntotal = add(1, 2)").success
    assert run(session, "def more(n):\n    return add(total, n)").success
    result = run(session, "total += 1\nmore(statistics.mean([2, 4]))")
    assert (result.error, result.return_value) == (None, 7)
    assert [call["name"] for call in result.tool_calls] == ["add"]


def test_session_may_switch_between_blocking_and_awaiting(session: Session) -> None:
    assert session.execute("x = add(1, 1)").success
    assert anyio.run(session.aexecute, "x = add(x, 1)").success
    assert anyio.run(session.aexecute, "x = add(x, 1)", backend="trio").success
    assert session.execute("x").return_value == 4


def test_sessions_do_not_see_one_another(toolkit: Toolkit) -> None:
    with toolkit.session() as one, toolkit.session() as other:
        assert one.execute("mine = 1").success
        assert "NameError" in (other.execute("mine").error or "")
    assert "NameError" in (toolkit.execute("mine").error or "")


def test_each_program_has_its_own_output_calls_and_paths(run: Run, session: Session) -> None:
    for number in range(3):
        result = run(session, f"print({number})\nimport sys\nprint('e', file=sys.stderr)\nadd({number}, 1)")
        assert (result.output, result.error_output) == (f"{number}\n", "e\n")
        assert [(call["path"], call["args"]) for call in result.tool_calls] == [("1", (number, 1))]


@pytest.mark.parametrize("end", ["exit()", "quit(0)", "import sys\nsys.exit()", "sys.stdin.close()", "1 / 0"])
def test_the_module_lives_on_whichever_way_a_program_ends(session: Session, end: str) -> None:
    session.execute(f"import sys, __main__\nclass Shop: pass\nshop = Shop()\n{end}")
    later = "import pickle\nprint(__main__.shop is shop, type(pickle.loads(pickle.dumps(shop))) is Shop)\n"
    reads = "try: input()\nexcept EOFError: print('nothing')"
    assert session.execute(later + reads).output == "True True\nnothing\n"


def test_each_program_has_the_limits_to_itself(sandbox: ProcessSandbox) -> None:
    limits = Limits(calls=2, output=20)
    with Toolkit(TOOLS, sandbox=sandbox, limits=limits).session() as session:
        for _ in range(3):
            result = session.execute("print('x' * 20, end='')\nadd(1, 2)\nadd(3, 4)")
            assert (result.output, result.error, result.truncated) == ("x" * 20, None, {})
        assert "more than 2 tool calls" in (session.execute("[add(n, 1) for n in range(3)]").error or "")
        assert session.execute("print('x' * 30)").truncated == {"output": 11}
        assert session.execute("add(1, 2)").return_value == 3


@pytest.mark.sampled(every=0)
def test_cpu_time_is_counted_from_where_a_program_begins(sandbox: ProcessSandbox) -> None:
    limits = Limits(cpu_time=1, timeout=30)
    code = "import time\nbegan = time.process_time()\nwhile time.process_time() - began < {}: pass"
    with Toolkit([], sandbox=sandbox, limits=limits).session() as session:
        for _ in range(2):
            assert session.execute("kept = 1\n" + code.format(0.6)).error is None
        assert "1 s of CPU time" in (session.execute(code.format(20)).error or "")
        assert session.execute("kept").return_value == 1


def test_error_keeps_names_and_shows_lines_of_each_program(run: Run, session: Session) -> None:
    run(session, "def half(n):\n    # the second line\n    return n / 0")
    result = run(session, "kept = 5\nhalf(kept)")
    assert "line 3, in half\n    return n / 0" in result.error_output
    assert "line 2, in <module>\n    half(kept)" in result.error_output
    assert GONE not in result.error_output
    assert run(session, "kept").return_value == 5


@pytest.mark.parametrize(
    "code",
    [
        "parallel((add, 1, 2), (add, 3, 4))",
        "await asyncio.gather(asyncio.to_thread(add, 1, 2), asyncio.to_thread(add, 3, 4))",
        """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor() as pool:
    found = list(pool.map(add, [1, 3], [2, 4]))
found""",
        """
import threading
found = []
thread = threading.Thread(target=lambda: found.extend([add(1, 2), add(3, 4)]))
thread.start()
thread.join()
found""",
    ],
    ids=["parallel", "asyncio", "executor", "thread"],
)
def test_parallel_calls_work_in_each_program(run: Run, session: Session, code: str) -> None:
    for _ in range(2):
        result = run(session, code)
        assert (result.error, result.return_value) == (None, [3, 7])


def test_thread_of_earlier_program_cannot_call(session: Session) -> None:
    code = """
import threading
go, told, said = threading.Event(), threading.Event(), []
def late():
    go.wait()
    try:
        add(1, 2)
    except RuntimeError as error:
        said.append(str(error))
    told.set()
threading.Thread(target=late, daemon=True).start()
"""
    assert session.execute(code).success
    result = session.execute("go.set()\ntold.wait(10)\nsaid")
    assert (result.return_value, result.tool_calls) == (["the program that started this is over"], [])


LOST: dict[str, tuple[str, str]] = {
    "too long": ("while True: pass", "timed out after 0.5 s"),
    "an exit": ("import os\nos._exit(3)", "exit code 3"),
    "a crash": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    "bytes that are no frame": ("import os, time\nos.write(3, b'\\xff' * 100)\ntime.sleep(60)", "protocol"),
}


@pytest.mark.parametrize(("code", "says"), LOST.values(), ids=LOST.keys())
@pytest.mark.sampled(every=4)
def test_lost_names_are_reported_and_session_restarts(run: Run, session: Session, code: str, says: str) -> None:
    assert run(session, "kept = 1").success
    result = run(session, code, 0.5)
    assert says in (result.error or "")
    assert (result.error or "").endswith(f"; {GONE}")
    assert result.to_string().endswith(f"{GONE}\n")
    assert "NameError" in (run(session, "kept", 20).error or "")
    assert run(session, "kept = 2\nadd(kept, 1)", 20).return_value == 3


@pytest.mark.anyio
async def test_cancelled_program_loses_names_and_next_result_reports(toolkit: Toolkit) -> None:
    async with toolkit.session() as session:
        assert (await session.aexecute("kept = 1")).success
        with anyio.move_on_after(0.1):
            await session.aexecute("import time\ntime.sleep(60)")
        result = await session.aexecute("print('not run')")
        assert (result.output, result.success) == ("", False)
        assert result.error == f"{GONE} (its last program was cut off; this program was not run)"
        assert "NameError" in ((await session.aexecute("kept")).error or "")


def test_session_killed_while_idle_is_reported() -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=1) as own, Toolkit([], sandbox=own).session() as session:
        number = session.execute("import os\nkept = 1\nos.getpid()").return_value
        started = families(os.getpid(), without=before)
        [worker] = [pid for pid in started if inside(pid) == number]
        os.kill(worker, signal.SIGKILL)
        assert (session.execute("kept").error or "").endswith(GONE)
        assert session.execute("1 + 1").return_value == 2
    assert all_gone(started, within=60)


@pytest.mark.security
def test_session_with_killed_zygote_is_reported() -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=1) as own, Toolkit([], sandbox=own).session() as session:
        assert session.execute("kept = 1").success
        for pid in families(os.getpid(), without=before):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert (session.execute("kept").error or "").endswith(GONE)
        assert session.execute("1 + 1").return_value == 2


def test_a_session_runs_one_program_at_a_time(sandbox: ProcessSandbox) -> None:
    entered, leave = threading.Event(), threading.Event()

    @ez_tool
    def stay() -> None:
        """Stay until it may leave."""
        entered.set()
        leave.wait(20)

    with Toolkit([stay], sandbox=sandbox).session() as session:
        first = threading.Thread(target=session.execute, args=("stay()",))
        first.start()
        assert entered.wait(20)
        with pytest.raises(SandboxError, match="is running a program"):
            session.execute("1")
        leave.set()
        first.join(20)
        assert session.execute("1 + 1").return_value == 2


def test_closed_session_runs_nothing_and_ends_its_process() -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=0) as own:
        session = Toolkit([], sandbox=own).session()
        number = session.execute("import os\nos.getpid()").return_value
        [worker] = [pid for pid in families(os.getpid(), without=before) if inside(pid) == number]
        session.close()
        session.close()
        assert all_gone({worker}, within=60)
        with pytest.raises(SandboxError, match="closed: open a new one"):
            session.execute("1")


def test_asynchronous_tools_are_called_from_blocking_programs(toolkit: Toolkit) -> None:
    @ez_tool
    async def twice(n: int) -> int:
        """Double."""
        await anyio.lowlevel.checkpoint()
        return 2 * n

    with Toolkit([twice], sandbox=toolkit.sandbox).session() as session:
        assert session.execute("x = twice(2)").success
        assert session.execute("await twice(x)").return_value == 8


def test_invalid_code_is_refused_and_keeps_names(session: Session) -> None:
    assert session.execute("kept = 1").success
    assert "null character" in (session.execute("\0").error or "")
    assert "SyntaxError" in (session.execute("kept = (").error or "")
    assert session.execute("kept").return_value == 1
