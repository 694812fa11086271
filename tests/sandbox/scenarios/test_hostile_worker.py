"""A program that speaks for its worker: whatever it writes, the host holds, and the next program runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.processes import threads

Execute = Callable[..., ExecutionResult]

SPEAK = """
import json, os, time
def send(body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    raw(len(data).to_bytes(4, "big") + data)
def raw(data):
    while data:
        data = data[os.write(3, data):]
def call(number, name="note", **changes):
    send({"t": "call", "id": number, "path": str(number), "name": name, "args": [number], "kwargs": {}, "alone": True,
          **changes})
"""


@pytest.fixture
def arrived() -> list[object]:
    """What has reached the tool."""
    return []


@pytest.fixture
def toolkit(sandbox: ProcessSandbox, arrived: list[object]) -> Iterator[Toolkit]:
    """A tool that notes what it is called with, one that returns much, and one that does not return."""
    over = threading.Event()

    @ez_tool
    def note(value: object) -> int:
        """Note a value."""
        arrived.append(value)
        return len(arrived)

    @ez_tool
    def much(size: int) -> str:
        """Return much."""
        return "x" * size

    @ez_tool
    def hang() -> None:
        """Hang."""
        over.wait()

    # All of it is waited for where a program is silent; the others are given more than they can need.
    limits = Limits(timeout=0.6, grace=0.1, calls=20, outstanding=8)
    yield Toolkit([note, much, hang], limits=limits, sandbox=sandbox)
    over.set()


BROKEN: dict[str, tuple[str, int]] = {
    "bytes that are no frame": ("raw(b'\\xff' * 100)", 0),
    "a frame that is no JSON": ("send(b'{')", 0),
    "a tool that was not granted": ("call(1, 'admin_delete')", 0),
    "a number left out": ("call(2)", 0),
    "a number again": ("call(1); call(1)", 1),
    "a place again": ("call(1); call(2, path='1')", 1),
    "no place": ("call(1, path='')", 0),
    "more calls than may wait": ("for n in range(1, 30): call(n, 'hang', args=[], alone=False)", 0),
    "a length without end": ("raw(b'\\x7f\\xff\\xff\\xff')", 0),
    "deep brackets": ("send(b'[' * 200_000 + b']' * 200_000)", 0),
    "many values": ("send(b'[' + b'0,' * 3_000_000 + b'0]')", 0),
    "output without end": ("while True: send({'t': 'output', 'stream': 1, 'text': 'x' * 60_000})", 0),
    "empty output without end": ("while True: send({'t': 'output', 'stream': 1, 'text': ''})", 0),
    "a stream that is none": ("send({'t': 'output', 'stream': 3, 'text': 'x'})", 0),
    "a reply": ("send({'t': 'reply', 'id': 1, 'v': 5})", 0),
    "a value that is none": ("send({'t': 'done', 'value': {'$': ['u', 5]}, 'dropped': 0})", 0),
}


@pytest.mark.parametrize(("code", "arrivals"), BROKEN.values(), ids=BROKEN.keys())
def test_a_worker_that_breaks_the_rules_is_ended(
    execute: Execute, toolkit: Toolkit, arrived: list[object], code: str, arrivals: int
) -> None:
    result = execute(toolkit, f"{SPEAK}\n{code}\ntime.sleep(60)", 60)
    assert (result.success, result.return_value) == (False, None)
    assert "broke the sandbox's protocol" in (result.error or "")
    # A call that was in order when it came may have been made.
    assert len(arrived) <= arrivals
    assert execute(toolkit, "note('next')", 20).success


SILENT: dict[str, str] = {
    "half a length": "raw(b'\\x00\\x00')",
    "half a frame": "raw(b'\\x00\\x00\\x01\\x00{')",
    "a frame that drips": "raw((10_000_000).to_bytes(4, 'big'))\nwhile True: raw(b' '); time.sleep(0.01)",
    "calls whose answers nobody reads": "for n in range(1, 8): call(n, 'much', args=[10_000_000])",
    "the same side by side": "for n in range(1, 8): call(n, 'much', args=[10_000_000], alone=False)",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT.keys())
@pytest.mark.sampled(every=5)
def test_stalling_worker_ends_with_its_time(execute: Execute, toolkit: Toolkit, code: str) -> None:
    result = execute(toolkit, f"{SPEAK}\n{code}\ntime.sleep(60)")
    assert result.error == "TimeoutError: the program timed out after 0.6 s"
    assert execute(toolkit, "note('next')", 20).success


def test_program_may_fake_its_own_end(execute: Execute, toolkit: Toolkit) -> None:
    """It could have returned that value as well."""
    code = "send({'t': 'done', 'value': 'forged', 'dropped': 0})\nnote('late')\n'real'"
    result = execute(toolkit, f"{SPEAK}\n{code}", 60)
    assert (result.success, result.return_value, result.tool_calls) == (True, "forged", [])
    assert execute(toolkit, "note('next')", 20).success


def test_forged_call_is_checked_like_any_other(execute: Execute, toolkit: Toolkit, arrived: list[object]) -> None:
    forged = "call(1, 'much', args=['many'], kwargs={'admin': True})"
    result = execute(toolkit, f"{SPEAK}\n{forged}\ntime.sleep(60)", 2)
    [record] = result.tool_calls
    assert "'size'" in (record["error"] or "")
    assert "'admin'" in (record["error"] or "")
    assert arrived == []


def test_closing_the_descriptor_ends_the_program(execute: Execute, toolkit: Toolkit) -> None:
    result = execute(toolkit, "import os, time\nos.close(3)\ntime.sleep(60)", 60)
    assert not result.success
    assert execute(toolkit, "note('next')", 20).success


@pytest.mark.security
def test_hostile_programs_use_up_no_threads_of_the_host(toolkit: Toolkit) -> None:
    toolkit.execute("note(1)", 60)
    before = threads()
    for code in BROKEN.values():
        toolkit.execute(f"{SPEAK}\n{code[0]}\ntime.sleep(60)", 60)
    until = threading.Event()
    for _ in range(3_000):
        if threads() <= before:
            break
        until.wait(0.02)
    assert threads() <= before
