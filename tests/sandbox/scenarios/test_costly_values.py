"""Values that are cheap to send and dear to receive: what they cost the host in time and memory is bounded."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.messages import ToolResult
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.exchange import Exchange
from ez_ptc.sandbox.protocol.frames import pack
from tests.sandbox.doors import Door

MIB = 1 << 20
MOST_GROWTH = 400 * MIB
MOST_SECONDS = 20
"""Of CPU time, for all the frames that one program may send: the machine's load does not count."""


@ez_tool
def count(value: int) -> int:
    """Take a whole number."""
    return value.bit_length()


@ez_tool
def weigh(value: Decimal) -> str:
    """Take a decimal number."""
    return type(value).__name__


@ez_tool
def measure(values: list[float | int]) -> int:
    """Take many numbers."""
    return len(values)


@pytest.fixture(scope="module")
def toolkit(sandbox: ProcessSandbox) -> Toolkit:
    return Toolkit([count, weigh, measure], limits=Limits(timeout=30), sandbox=sandbox)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


DEAR = {
    "wide integers": "1 << 40_000_000",
    "small fractions": "Decimal('1e-9000000')",
    "fractions without end": "Decimal('1e-999999999999999999')",
    "large powers": "Decimal('1e999999999')",
    "many digits": "Decimal('9' * 2_000_000)",
    "text of digits": "'9' * 10_000_000",
    "text with an exponent": "'1e-9000000'",
}


@pytest.mark.parametrize("value", DEAR.values(), ids=DEAR.keys())
@pytest.mark.parametrize("call", ["count({})", "weigh({})", "measure([{}] * 20)"])
@pytest.mark.sampled(every=4)
def test_cheaply_sent_number_is_cheap_to_check(toolkit: Toolkit, call: str, value: str) -> None:
    before = cpu_seconds()
    toolkit.execute(f"from decimal import Decimal\nvalue = {value}\n{call.format('value')}")
    assert cpu_seconds() - before < MOST_SECONDS
    assert toolkit.execute("count(5)").return_value == 3


def test_numbers_of_ten_thousand_digits_cross_both_ways(toolkit: Toolkit) -> None:
    result = toolkit.execute("big = 10 ** 10_000\n[count(big), big]")
    assert result.return_value == [(10**10_000).bit_length(), 10**10_000]


def many(item: bytes, number: int) -> bytes:
    return b"[" + b",".join([item] * number) + b"]"


DENSE: dict[str, Callable[[], bytes]] = {
    "a wide character in a long text": lambda: '"\U0001f600'.encode() + b"x" * 16_000_000 + b'"',
    "an escaped one": lambda: b'"\\ud83d\\ude00' + b"x" * 16_000_000 + b'"',
    "small dicts": lambda: many(b'{"a":1}', 499_000),
    "empty lists": lambda: many(b"[]", 499_000),
    "small sets": lambda: many(b'{"$":["s",[1]]}', 180_000),
    "short texts": lambda: b"[" + b",".join(b'"%06d"' % n for n in range(900_000)) + b"]",
    "short wide texts": lambda: b"[" + b",".join('"\U0001f600%d"'.encode() % n for n in range(900_000)) + b"]",
    "keys": lambda: b"{" + b",".join(b'"%06d":1' % n for n in range(490_000)) + b"}",
    "numbers": lambda: many(b"1.5", 990_000),
    "moments": lambda: many(b'{"$":["dt","2024-01-01"]}', 180_000),
    "moments in zones": lambda: many(b'{"$":["dt",["2024-01-01T00:00:00",1,[0,"x"],"Europe/Berlin"]]}', 90_000),
    "named tuples": lambda: many(b'{"$":["nt",["P",["a","b"],[1,2]]]}', 80_000),
    "deques by another name": lambda: many(b'{"$":["\\u0064q",[[],null]]}', 120_000),
    "deques": lambda: many(b'{"$":["dq",[[],null]]}', 120_000),
}


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) << 10


def _growth(argument: bytes) -> tuple[int, float]:
    """Return how far this process grows, and how long it works, when a worker sends an argument again and again."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    memory, seconds = _memory("VmRSS"), cpu_seconds()
    exchange = Exchange("1", Door(count.function), Limits())
    head = b'{"t":"call","id":%d,"path":"%d","name":"count","kwargs":{},"alone":true,"args":['
    for number in range(1, 1000):
        for call in exchange.receive(pack(head % (number, number) + argument + b"]}")):
            result = ToolResult(success=True)
            exchange.answer(call, exchange.encode(call, result))
        if exchange.is_over:
            break
    return _memory("VmHWM") - memory, cpu_seconds() - seconds


@pytest.mark.security
@pytest.mark.parametrize("kind", DENSE)
def test_total_size_of_kept_frames_is_bounded(kind: str) -> None:
    """In a fork, so that what one takes does not stay with the tests."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(send, b"%d %f" % _growth(DENSE[kind]()))
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as report:
        grown, seconds = map(float, report.read().split())
    os.waitpid(pid, 0)
    assert grown < MOST_GROWTH
    assert seconds < MOST_SECONDS
