"""Programs in WebAssembly: the same worker, without a kernel's isolation."""

from __future__ import annotations

import asyncio
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
    assert result.return_value == ({}, [""], False, False)


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
