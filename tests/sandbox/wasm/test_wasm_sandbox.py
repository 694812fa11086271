"""Programs in WebAssembly: the same worker, without a kernel's isolation."""

from __future__ import annotations

import asyncio
import textwrap
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.wasm.backend import WasmSandbox
from tests.sandbox.worker.running import test_programs
from tests.sandbox.worker.running.programs import PROGRAMS
from tests.sandbox.worker.running.stdlib_programs import STDLIB_PROGRAMS

OURS = PROGRAMS | STDLIB_PROGRAMS


@ez_tool
def double(x: int) -> int:
    """Double."""
    return 2 * x


@ez_tool
async def later(x: int) -> int:
    """Answer later."""
    await asyncio.sleep(0.05)
    return x


@pytest.fixture(scope="module")
def toolkit() -> Generator[Toolkit]:
    with WasmSandbox() as sandbox:
        yield Toolkit([double, later], sandbox=sandbox)


def test_program_calls_tools_and_prints(toolkit: Toolkit) -> None:
    result = toolkit.execute("print(double(4)); double(5)")
    assert (result.output, result.return_value) == ("8\n", 10)


@pytest.mark.parametrize(
    "code",
    [
        "parallel((later, 1), (later, 2), (later, 3))",
        "import asyncio\nasync def m():\n    return await asyncio.gather(*map(later, (1, 2, 3)))\nasyncio.run(m())",
        "from concurrent.futures import ThreadPoolExecutor as P\nwith P() as p: r = list(p.map(later, [1, 2, 3]))\nr",
        "import asyncio\nawait asyncio.gather(*(asyncio.to_thread(later, x) for x in (1, 2, 3)))",
    ],
)
def test_calls_side_by_side_reach_the_host_together(toolkit: Toolkit, code: str) -> None:
    running, most = 0, 0

    @ez_tool(name="later")
    async def counted(x: int) -> int:
        """Answer later."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.1)
        running -= 1
        return x

    with WasmSandbox(ready=1) as sandbox:
        result = Toolkit([counted], sandbox=sandbox).execute(code)
    assert (result.return_value, most) == ([1, 2, 3], 3)


@pytest.mark.parametrize(
    "code",
    [
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "import queue\nqueue.Queue().get()",
        "import queue\nqueue.SimpleQueue().get()",
        "import threading\nthreading.Event().wait()",
    ],
)
def test_waits_for_threads_that_never_run_are_errors(toolkit: Toolkit, code: str) -> None:
    assert (toolkit.execute(code).error or "").startswith("RuntimeError: this waits for another thread")


def test_late_program_runs_its_finally(toolkit: Toolkit) -> None:
    result = toolkit.execute("try:\n    while True:\n        x = 1\nfinally:\n    print('end')", timeout=0.5)
    assert (result.output, result.error) == ("end\n", "TimeoutError: the program timed out after 0.5 s")


WAITS = {
    "done, rest = cf.wait(calls, timeout=0.5)\nr = [len(done), len(rest)]": [1, 1],
    "done, rest = cf.wait(calls[1:], timeout=0)\nr = [len(done), len(rest)]": [0, 1],
    "done, rest = cf.wait(calls, return_when=cf.FIRST_COMPLETED)\nr = [len(done), len(rest)]": [1, 1],
    "for f in cf.as_completed(calls, timeout=0.5): r.append(f.result())": [1, "late"],
    "for x in pool.map(answer, (1, 2), timeout=0.5): r.append(x)": [1, "late"],
    "calls[1].exception(timeout=0.1)": ["late"],
    "calls[0].add_done_callback(lambda f: r.append(f.result()))\nr.append(0)\ncalls[0].result()": [0, 1],
    "r = [calls[1].cancel(), calls[1].running(), calls[1].done()]": [False, True, False],
}


@pytest.mark.parametrize("code", WAITS)
def test_waits_for_calls_in_pools_end_in_time(code: str) -> None:
    released = threading.Event()

    @ez_tool
    def answer(x: int) -> int:
        """Answer 1 at once, and others late."""
        return x if x == 1 or released.wait(60) else 0

    @ez_tool
    def release() -> None:
        """Let the late answers come."""
        released.set()

    with WasmSandbox(ready=0) as sandbox:
        result = Toolkit([answer, release], sandbox=sandbox).execute(
            "import concurrent.futures as cf\npool = cf.ThreadPoolExecutor(4)\nr = []\n"
            "calls = [pool.submit(answer, x) for x in (1, 2)]\n"
            f"try:\n{textwrap.indent(code, '    ')}\nexcept TimeoutError:\n    r.append('late')\nrelease()\nr"
        )
    assert (result.return_value, result.error) == (WAITS[code], None)


def test_pool_of_one_runs_its_calls_in_order() -> None:
    running, most, order = 0, 0, list[int]()

    @ez_tool
    async def write(x: int) -> int:
        """Write."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        order.append(x)
        running -= 1
        return x

    code = "from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(1)\n"
    code += "for x in range(4): p.submit(write, x)"
    with WasmSandbox(ready=0) as sandbox:
        assert Toolkit([write], sandbox=sandbox).execute(code).success
    assert (most, order) == (1, [0, 1, 2, 3])


@pytest.mark.parametrize(
    "code",
    [
        "await asyncio.get_running_loop().run_in_executor(None, later, 5)",
        "await asyncio.to_thread(lambda: later(5))",
        "async def other():\n    return await later(5)\nawait asyncio.to_thread(lambda: asyncio.run(other()))",
        "await asyncio.wrap_future(ThreadPoolExecutor().submit(later, 5))",
    ],
)
def test_executors_of_event_loops_call_tools(toolkit: Toolkit, code: str) -> None:
    head = "import asyncio\nfrom concurrent.futures import ThreadPoolExecutor\n"
    result = toolkit.execute(head + code)
    assert (result.return_value, result.error) == (5, None)


TURNS = {
    "wit_world.turn('', float('nan'))": "waited for no number of seconds",
    "wit_world.turn('\u4e2d', 0.0)": "sent text instead of bytes",
    "wit_world.turn('\\0' * 5, 0.0)": "unreadable frame",
    "wit_world.turn('x' * 10_000_000, 0.0)": "a frame of 2,021,161,080 bytes",
    "wit_world.turn('\xff' * 10_000_000, 0.0)": "a frame of 4,294,967,295 bytes",
    "wit_world.turn('x' * 100_000_000, 0.0)": "sent 100,000,000 bytes at once",
    "while True: wit_world.turn('', 0.0)": "timed out after",
    "wit_world.turn('', float('inf'))": "timed out after",
    "wit_world.turn(None, None)": "crashed the interpreter",
}


@pytest.mark.parametrize("awaits", [False, True])
@pytest.mark.parametrize("code", TURNS)
def test_host_function_misused_ends_its_program_only(toolkit: Toolkit, code: str, awaits: bool) -> None:
    program = f"import wit_world\n{code}"
    timeout = 2 if "timed out" in TURNS[code] else 60
    if awaits:
        result = asyncio.run(toolkit.aexecute(program, timeout=timeout))
    else:
        result = toolkit.execute(program, timeout=timeout)
    assert TURNS[code] in (result.error or "")
    assert toolkit.execute("double(3)", timeout=20).return_value == 6


def test_host_function_called_for_nothing_does_nothing(toolkit: Toolkit) -> None:
    code = "import wit_world\nfor _ in range(1_000): wit_world.turn('', 0.0)\ndouble(3)"
    assert toolkit.execute(code).return_value == 6


@pytest.mark.parametrize(
    "code", ["sum(range(10**12))", "import select\nselect.poll().poll()", "import os\nos._exit(0)"]
)
def test_next_program_runs_after_a_lost_one(toolkit: Toolkit, code: str) -> None:
    assert not toolkit.execute(code, timeout=0.5).success
    assert toolkit.execute("1 + 1").return_value == 2


def test_sessions_keep_names(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        session.execute("x = double(2)")
        assert session.execute("x + 1").return_value == 5


def test_nothing_of_the_host_is_visible(toolkit: Toolkit) -> None:
    result = toolkit.execute("import os, sys\n(dict(os.environ), sys.argv, os.path.exists('/etc'), os.getpid() > 1000)")
    assert result.return_value == ({}, ["<program>"], False, False)


@pytest.mark.parametrize(("program", "expected"), OURS.values(), ids=OURS.keys())
def test_programs_give_cpythons_answer(toolkit: Toolkit, program: str, expected: str) -> None:
    result = toolkit.execute(program)
    assert (result.error, repr(result.return_value)) == (None, expected)


@pytest.mark.security
def test_public_corpus_programs_give_exact_values_here(toolkit: Toolkit, shared_folder: Path) -> None:
    test_programs.test_public_corpus_programs_give_exact_values(toolkit, shared_folder)


@pytest.mark.parametrize("code", ["a == b", "repr(a)", "import json\njson.dumps(a)"])
def test_deep_recursion_in_c_ends_its_instance_only(toolkit: Toolkit, code: str) -> None:
    nest = "a = []; b = []\nfor _ in range(200_000):\n    a = [a]; b = [b]\n"
    assert not toolkit.execute(nest + code).success
    assert toolkit.execute("1 + 1").return_value == 2


@pytest.mark.parametrize(
    "code",
    [
        "import json\njson.loads('[' * 100_000)",
        "import json\nx = []\nfor _ in range(100_000):\n    x = [x]\njson.dumps(x)",
        "compile('+'.join(['1'] * 100_000), 'x', 'eval')",
        "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __getattr__(s, n): return getattr(s, n)\nA().x",
        "import pickle\nx = []\nfor _ in range(50_000):\n    x = [x]\npickle.dumps(x)",
        "import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return 1 + f(n + 1)\nf(0)",
        "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n    def __init__(self): A()\nA()",
        "import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return sorted([n], key=f)\nf(0)",
    ],
)
def test_deep_recursion_is_a_recursion_error(toolkit: Toolkit, code: str) -> None:
    assert (toolkit.execute(code).error or "").startswith("RecursionError")


def test_wait_in_a_thread_for_its_starter_is_an_error(toolkit: Toolkit) -> None:
    code = "import queue, threading\nq = queue.Queue()\nthreading.Thread(target=q.get).start()\nq.put(1)"
    assert (toolkit.execute(code).error or "").startswith("RuntimeError: this waits for another thread")


@pytest.mark.parametrize(
    "code",
    [
        "import _thread\nr = []\n_thread.start_new_thread(r.append, (7,))\nr[0]",
        "import asyncio\nasync def m(): return await later(7)\nasyncio.SelectorEventLoop().run_until_complete(m())",
        "import queue, threading\nq = queue.Queue()\nthreading.Thread(target=q.put, args=(7,)).start()\nq.get()",
        "import threading\nr = []\nt = threading.Timer(0.01, lambda: r.append(7))\nt.start()\nt.join()\nr[0]",
    ],
)
def test_other_ways_to_threads_and_loops_work(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    assert (result.return_value, result.error) == (7, None)


def test_prompt_names_the_python_of_the_component(toolkit: Toolkit) -> None:
    version = toolkit.execute("import sys\n'.'.join(map(str, sys.version_info[:2]))").return_value

    assert f"This is Python {version}." in toolkit.prompt()


def test_session_finds_its_tools_and_output_again(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        session.execute("import io, sys\ndouble = double(1)\nsys.stdout = io.StringIO()\n1 / 0")

        assert session.execute("print(double(4))").output == "8\n"


@pytest.mark.parametrize(
    "code",
    [
        "loop.run_until_complete(later(1))",
        "loop.run_until_complete(asyncio.gather(later(1), later(2)))[0]",
        "loop.run_until_complete(asyncio.ensure_future(later(1), loop=loop))",
        "asyncio.Runner().run(later(1))",
        "asyncio.run(asyncio.wait_for(later(1), 20))",
    ],
)
def test_asynchronous_tool_is_driven_by_hand(toolkit: Toolkit, code: str) -> None:
    assert toolkit.execute(f"import asyncio\nloop = asyncio.new_event_loop()\n{code}").return_value == 1


def test_silent_program_is_told_why(toolkit: Toolkit) -> None:
    assert "never calls it" in toolkit.execute("def main():\n    print(double(1))").described
