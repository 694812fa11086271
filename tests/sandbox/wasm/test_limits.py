"""Limits of programs in WebAssembly, and callers that do not wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator

import pytest

from ez_ptc import Limits, SandboxError, Toolkit, WasmSandbox, ez_tool

MIB = 1 << 20
BOMB = "x = []\nwhile True: x.append(bytearray(1 << 20))"


@pytest.fixture(scope="module")
def sandbox() -> Generator[WasmSandbox]:
    with WasmSandbox(ready=1) as sandbox:
        yield sandbox


@pytest.mark.parametrize("megabytes", [32, 128])
def test_each_program_has_its_own_memory_limit(sandbox: WasmSandbox, megabytes: int) -> None:
    toolkit = Toolkit([], sandbox=sandbox, limits=Limits(memory=megabytes * MIB))
    assert (toolkit.execute(BOMB).error or "").startswith("MemoryError")
    assert toolkit.execute(f"len(bytearray({megabytes // 2 * MIB}))").success
    assert not toolkit.execute(f"len(bytearray({megabytes * 2 * MIB + 80 * MIB}))").success


def test_memory_error_in_a_session_leaves_it_usable(sandbox: WasmSandbox) -> None:
    with Toolkit([], sandbox=sandbox, limits=Limits(memory=64 * MIB)).session() as session:
        session.execute("kept = 7")
        assert (session.execute("y = bytearray(1 << 30)").error or "").startswith("MemoryError")
        assert session.execute("kept").return_value == 7


def test_late_program_costs_its_session_the_names_only(sandbox: WasmSandbox) -> None:
    with Toolkit([], sandbox=sandbox).session() as session:
        session.execute("lost = 7")
        assert "the names of this session are gone" in (session.execute("while True: pass", timeout=0.3).error or "")
        assert session.execute("'lost' in globals()").return_value is False


def test_output_and_calls_are_limited(sandbox: WasmSandbox) -> None:
    @ez_tool
    def one() -> int:
        """Return one."""
        return 1

    toolkit = Toolkit([one], sandbox=sandbox, limits=Limits(output=1_000, calls=3))
    result = toolkit.execute("print('x' * 5_000)\nfor _ in range(9): one()")
    assert len(result.output) <= 1_000
    assert "more than 3 tool calls" in (result.error or "")


@pytest.mark.parametrize("letter", ["é", "日", "😀"])
def test_bytes_of_output_are_limited(sandbox: WasmSandbox, letter: str) -> None:
    toolkit = Toolkit([], sandbox=sandbox, limits=Limits(output=1_001))
    result = toolkit.execute(f"print({letter!r} * 5_000, end='')\nprint('after')")
    kept = result.output.encode()
    assert (letter * 5_000).startswith(result.output)
    assert 997 < len(kept) <= 1_001
    assert result.truncated == {"output": len((letter * 5_000).encode()) + 6 - len(kept)}


@pytest.mark.parametrize("code", ["hang()", "try:\n    hang()\nfinally:\n    print('end')"])
def test_hanging_tool_does_not_keep_its_caller(sandbox: WasmSandbox, code: str) -> None:
    released = threading.Event()

    @ez_tool
    def hang() -> None:
        """Hang."""
        released.wait(60)

    toolkit = Toolkit([hang], sandbox=sandbox, limits=Limits(timeout=0.3, grace=0.2))
    assert "timed out" in (toolkit.execute(code).error or "")
    assert toolkit.execute("1 + 1", timeout=20).return_value == 2
    released.set()


def test_closing_a_session_ends_its_program(sandbox: WasmSandbox) -> None:
    started = threading.Event()

    @ez_tool
    def begin() -> None:
        """Begin."""
        started.set()

    session = Toolkit([begin], sandbox=sandbox).session()

    def close() -> None:
        started.wait(20)
        session.close()

    threading.Thread(target=close).start()
    with pytest.raises(SandboxError, match="this session was closed"):
        session.execute("begin()\nwhile True: pass")


def test_closing_the_sandbox_ends_its_programs() -> None:
    started = threading.Event()

    @ez_tool
    def begin() -> None:
        """Begin."""
        started.set()

    sandbox = WasmSandbox(ready=0)

    def close() -> None:
        started.wait(20)
        sandbox.close()

    threading.Thread(target=close).start()
    with pytest.raises(SandboxError, match="the sandbox was closed"):
        Toolkit([begin], sandbox=sandbox).execute("begin()\nwhile True: pass", timeout=20)


def test_cancelled_caller_leaves_the_sandbox_usable(sandbox: WasmSandbox) -> None:
    toolkit = Toolkit([], sandbox=sandbox)

    async def cancel() -> object:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(toolkit.aexecute("while True: pass"), 0.3)
        return (await toolkit.aexecute("1 + 1")).return_value

    assert asyncio.run(cancel()) == 2


def test_tool_exceptions_for_the_caller_reach_it(sandbox: WasmSandbox) -> None:
    @ez_tool
    def stop() -> None:
        """Do what Ctrl-C does."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Toolkit([stop], sandbox=sandbox).execute("stop()")
    assert Toolkit([], sandbox=sandbox).execute("1").success


def test_program_with_seed_repeats_itself(sandbox: WasmSandbox) -> None:
    code = (
        "import _random, datetime, os, random, secrets, time, uuid\n"
        "[str(datetime.datetime.now()), str(datetime.date.today()), time.time(), time.monotonic(), random.random(), "
        "os.urandom(8).hex(), secrets.token_hex(), str(uuid.uuid4()), str(uuid.uuid1()), hash('a'), time.ctime(), "
        "_random.Random().random()]"
    )
    toolkit = Toolkit([], sandbox=sandbox, limits=Limits(seed=5))
    first, second = toolkit.execute(code), toolkit.execute(code)
    assert first.success
    assert first.return_value == second.return_value
    assert first.return_value[0].startswith("2025-01-01")


def test_programs_without_seed_draw_different_numbers(sandbox: WasmSandbox) -> None:
    code = "import os, random, uuid\n[random.random(), os.urandom(8).hex(), str(uuid.uuid4())]"
    toolkit = Toolkit([], sandbox=sandbox)
    first, second = toolkit.execute(code).return_value, toolkit.execute(code).return_value
    assert not set(first) & set(second)
