"""What a program may use, and what it is told when it uses more."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable

import pytest

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.tools import TOOLS

Execute = Callable[..., ExecutionResult]
Limited = Callable[..., Toolkit]


@pytest.fixture
def limited(sandbox: ProcessSandbox) -> Limited:
    """Make a toolkit with other limits than the usual ones."""

    def make(**limits: float) -> Toolkit:
        return Toolkit(TOOLS, limits=Limits(**limits), sandbox=sandbox)  # pyright: ignore[reportArgumentType] - int or float

    return make


# Time ----------------------------------------------------------------------------------------------------------------

BUSY: dict[str, str] = {
    "a loop": "i = 0\nwhile True: i += 1",
    "a sleep": "import time\ntime.sleep(60)",
    "a lock": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "an event": "import threading\nthreading.Event().wait()",
    "a queue": "import queue\nqueue.Queue().get()",
    "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
    "a pattern": "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
    "an event loop": "import asyncio\nasync def main():\n    while True: await asyncio.sleep(0)\nasyncio.run(main())",
    "a sleeping event loop": "await asyncio.sleep(60)",
    "a branch": "parallel((__import__('time').sleep, 60), (add, 1, 2))",
    "a sum in C": "sum(range(10**12))",
    "a power": "x = 10 ** 10 ** 8",
    "a generator in C": "import itertools\nlist(itertools.dropwhile(bool, itertools.count(1)))",
    "a stubborn loop": "while True:\n    try:\n        while True: pass\n    except BaseException: continue",
    "a stubborn end": "def f():\n    try:\n        while True: pass\n    finally: f()\nf()",
    "a blocked signal": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {14})\nwhile True: pass",
    "an ignored signal": "import signal\nsignal.signal(14, signal.SIG_IGN)\nwhile True: pass",
}  # fmt: skip


@pytest.mark.parametrize("code", BUSY.values(), ids=BUSY.keys())
@pytest.mark.sampled(every=4)
def test_busy_program_ends_with_its_time(limited: Limited, code: str) -> None:
    toolkit = limited(timeout=0.2, grace=0.05)
    result = toolkit.execute(code)
    assert (result.success, result.error) == (False, "TimeoutError: the program timed out after 0.2 s")
    assert "TimeoutError: the program timed out after 0.2 s" in result.error_output
    assert toolkit.execute("1 + 1", 20).return_value == 2


CLEAN_UP = """
total = 0
try:
    total += 1
    {busy}
except TimeoutError as error:
    print("caught", error)
finally:
    print("cleaned up")
"""


@pytest.mark.parametrize(
    "busy",
    ["while True: total += 1", "__import__('time').sleep(60)", "__import__('threading').Event().wait()"],
    ids=["loop", "sleep", "wait"],
)
def test_program_can_clean_up_after_its_timeout(execute: Execute, limited: Limited, busy: str) -> None:
    result = execute(limited(timeout=0.7, grace=20), CLEAN_UP.format(busy=busy))
    assert (result.success, result.return_value) == (False, None)
    assert result.output == "caught the program timed out after 0.7 s\ncleaned up\n"


def test_timeout_traceback_shows_the_running_line(limited: Limited) -> None:
    result = limited(timeout=0.7, grace=20).execute("def wait():\n    n = 0\n    while True:\n        n += 1\nwait()")
    assert 'File "<program>", line 5, in <module>\n    wait()\n' in result.error_output
    assert ", in wait\n" in result.error_output


def test_program_running_past_timeout_calls_no_tool(execute: Execute, limited: Limited) -> None:
    code = """
import time
try:
    time.sleep(60)
except TimeoutError:
    for attempt in range(3):
        try:
            add(1, 2)
        except BaseException as error:
            print(type(error).__name__)
"""
    result = execute(limited(timeout=0.7, grace=20), code)
    assert result.output == "TimeoutError\n" * 3
    assert [call for call in result.tool_calls if call["result"] is not None] == []


def test_output_before_kill_is_kept(execute: Execute, limited: Limited) -> None:
    code = "print('x' * 20_000)\nadd(1, 2)\nprint('tail')\nsum(range(10**12))"
    result = execute(limited(timeout=0.7, grace=0.1), code)
    assert result.output.startswith("x" * 20_000)
    assert [call["result"] for call in result.tool_calls] == [3]


def test_the_time_can_be_given_with_the_program(execute: Execute, toolkit: Toolkit) -> None:
    assert execute(toolkit, "while True: pass", 0.2).error == "TimeoutError: the program timed out after 0.2 s"


@pytest.mark.security
def test_processor_time_has_a_separate_limit(limited: Limited) -> None:
    result = limited(cpu_time=1, timeout=60).execute("print('on')\nadd(1, 2)\nwhile True: pass")
    assert not result.success
    assert "used up its 1 s of CPU time" in (result.error or "")
    assert result.output == "on\n"


def test_waiting_costs_no_processor_time(limited: Limited) -> None:
    assert limited(cpu_time=1, timeout=60).execute("import time\ntime.sleep(1.2)\n5").return_value == 5


# Memory --------------------------------------------------------------------------------------------------------------

HUNGRY: dict[str, str] = {
    "a text": "x = 'x' * 10**11",
    "a list": "x = [0] * (3 * 10**8)",
    "a list of numbers": "x = list(range(5 * 10**8))",
    "a format": "x = f'{1:>{5 * 10**9}}'",
    "a product": "import itertools\nx = list(itertools.product(range(100), repeat=5))",
    "a dict that grows": "d = {}\ni = 0\nwhile True:\n    d[i] = [i] * 1000\n    i += 1",
    "a text of shared lists": "x = ['lol' * 10]\nfor i in range(40): x = [x, x]\nstr(x)",
    "a database": "import sqlite3\nsqlite3.connect(':memory:').execute('select zeroblob(900000000)').fetchall()",
    "something compressed": "import zlib\nd = zlib.compressobj(1)\n"
    "z = b''.join(d.compress(bytes(1 << 20)) for _ in range(99))\nzlib.decompress(z + d.flush())",
}  # fmt: skip


@pytest.mark.parametrize("code", HUNGRY.values(), ids=HUNGRY.keys())
@pytest.mark.sampled(every=4)
def test_memory_error_names_the_limit(limited: Limited, code: str) -> None:
    toolkit = limited(memory=64 << 20, timeout=60)
    result = toolkit.execute(code)
    assert not result.success
    assert (result.error or "").startswith("MemoryError")
    assert (result.error or "").endswith("(the program may use 64 MiB)")
    assert "MemoryError" in result.error_output
    assert toolkit.execute("1 + 1").return_value == 2


def test_kernel_pages_count_as_memory(limited: Limited) -> None:
    code = (
        "import mmap\nkept = []\nwhile True: kept.append(mmap.mmap(-1, 1 << 24, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))"
    )
    assert (limited(memory=64 << 20).execute(code).error or "").startswith(f"OSError: [Errno {errno.ENOMEM}] ")


def test_running_out_of_memory_can_be_survived(limited: Limited) -> None:
    code = "try:\n    x = [0] * 10**9\nexcept MemoryError:\n    x = 'less'\nprint(add(20, 22))\nx"
    result = limited(memory=64 << 20).execute(code)
    assert (result.return_value, result.output) == ("less", "42\n")


def test_the_memory_that_is_promised_is_there(limited: Limited) -> None:
    assert limited(memory=128 << 20).execute("x = bytearray(110 << 20)\nlen(x) >> 20").return_value == 110


def test_program_retrying_refused_memory_ends_with_its_time(limited: Limited) -> None:
    code = "x = []\nwhile True:\n    try:\n        x.append(bytearray(10**6))\n    except MemoryError:\n        pass"
    result = limited(memory=64 << 20, timeout=0.5, grace=0.2).execute(code)
    assert not result.success


def test_a_program_cannot_start_threads_without_end(limited: Limited) -> None:
    code = "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    result = limited(timeout=60).execute(code)
    assert (result.error or "").startswith("RuntimeError: can't start new thread")


# Output --------------------------------------------------------------------------------------------------------------


def test_output_over_the_limit_is_cut_and_counted(execute: Execute, limited: Limited) -> None:
    result = execute(limited(output=100), "for i in range(50): print('line', i)\n5")
    whole = "".join(f"line {i}\n" for i in range(50))
    assert (result.success, result.return_value) == (True, 5)
    assert result.output == whole[:100]
    assert result.truncated == {"output": len(whole) - 100}


def test_both_streams_share_the_limit(limited: Limited) -> None:
    code = "import sys\nprint('o' * 79, flush=True)\nprint('e' * 79, file=sys.stderr, flush=True)"
    result = limited(output=100).execute(code)
    assert (result.output, result.error_output) == ("o" * 79 + "\n", "e" * 20)
    assert result.truncated == {"output": 60}


PRINTED = {
    "ascii": ("print('a' * 5000, end='')", "a" * 5000),
    "two bytes": ("print('é' * 5000, end='')", "é" * 5000),
    "three bytes": ("print('日' * 5000, end='')", "日" * 5000),
    "four bytes": ("print('😀' * 5000, end='')", "😀" * 5000),
    "mixed": ("print('é☕' * 1000)", "é☕" * 1000 + "\n"),
    "after ascii": ("print('a' * 998 + '日' * 1000, end='')", "a" * 998 + "日" * 1000),
    "a small letter after a gap": ("print('a' * 998 + '日', end='', flush=True)\nprint('bc')", "a" * 998 + "日bc\n"),
    "many prints": ("for _ in range(5000): print('日', end='', flush=True)", "日" * 5000),
    "lone surrogates": ("print('\\ud800' * 500, end='')", r"\ud800" * 500),
    "invalid bytes": ("import sys\nsys.stdout.buffer.write(b'\\xff' * 900)", r"\xff" * 900),
    "half of a letter": ("import sys\nsys.stdout.buffer.write('日'.encode()[:2])", r"\xe6\x97"),
    "halves": (
        "import sys\nfor byte in '日'.encode() * 500:\n    sys.stdout.buffer.write(bytes([byte])); sys.stdout.flush()",
        "日" * 500,
    ),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("most", [1, 2, 3, 7, 999, 1000, 1001, 100_000])
def test_bytes_are_limited_and_no_letter_is_torn(limited: Limited, most: int) -> None:
    """What is returned is the beginning of what was printed, and what was cut is the rest, in bytes."""
    toolkit = limited(output=most)
    for name, (code, printed) in PRINTED.items():
        result = toolkit.execute(code)
        cut = result.truncated.get("output", 0)
        assert printed.startswith(result.output), name
        assert len(result.output.encode()) + cut == len(printed.encode()), name
        assert len(result.output.encode()) <= most, name
        # At most a part of one letter is missing.
        assert not cut or len(result.output.encode()) > most - 4, name


def test_half_of_a_letter_is_not_in_the_next_output(limited: Limited) -> None:
    with limited(output=1000).session() as session:
        assert session.execute("import sys\nsys.stdout.buffer.write('日'.encode()[:2])").output == r"\xe6\x97"
        assert session.execute("print('next')").output == "next\n"


FORGED = """
import ctypes, json, os, struct
def send(text):
    body = json.dumps({"t": "output", "stream": 1, "text": text}).encode()
    os.write(3, struct.pack(">I", len(body)) + body)
send("日" * 300)
send("日" * 30)
send("日" * 10)
"""


def test_host_counts_bytes_of_output_too(limited: Limited) -> None:
    result = limited(output=1000).execute(FORGED)
    assert result.output == "日" * 330
    assert "more output than its limits allow" in (result.error or "")


def test_output_up_to_the_limit_is_whole(limited: Limited) -> None:
    result = limited(output=100).execute("print('x' * 99)")
    assert (len(result.output), result.truncated) == (100, {})


def test_traceback_survives_used_up_output_limit(limited: Limited) -> None:
    result = limited(output=10).execute("import sys\nprint('x' * 50, file=sys.stderr)\n1 / 0")
    assert result.error_output.startswith("x" * 10 + "Traceback")
    assert result.error == "ZeroDivisionError: division by zero"


def test_megabyte_of_small_prints_is_no_violation(toolkit: Toolkit) -> None:
    """Also flushed one by one."""
    result = toolkit.execute("for i in range(5_000): print(i, flush=True)\n'end'")
    assert (result.return_value, len(result.output.splitlines())) == ("end", 5_000)


# Calls and frames ----------------------------------------------------------------------------------------------------


def test_calls_over_the_limit_raise_in_the_program(execute: Execute, limited: Limited) -> None:
    code = "for i in range(5):\n    try: print(add(i, i))\n    except RuntimeError as error: print(error)"
    result = execute(limited(calls=3), code)
    assert result.output.splitlines()[:3] == ["0", "2", "4"]
    assert result.output.count("3 tool calls") == 2
    assert result.success


def test_waiting_calls_never_exceed_the_limit(execute: Execute, sandbox: ProcessSandbox) -> None:
    """Found by counting, in a tool that lets nobody go before the limit is reached."""
    gate = threading.Barrier(3, timeout=60)
    lock = threading.Lock()
    seen = [0, 0]

    @ez_tool
    def wait(number: int) -> int:
        """Wait for two others."""
        with lock:
            seen[0] += 1
            seen[1] = max(seen)
        gate.wait()
        with lock:
            seen[0] -= 1
        return number

    toolkit = Toolkit([wait], limits=Limits(outstanding=3), sandbox=sandbox)
    result = execute(toolkit, "parallel(*[(wait, n) for n in range(9)])")
    assert result.return_value == list(range(9))
    assert seen == [0, 3]


def test_oversized_frame_raises_at_its_call(execute: Execute, limited: Limited) -> None:
    code = """
def attempt(size):
    try:
        return len(echo("x" * size))
    except (TypeError, ValueError) as error:
        return str(error)
[attempt(1_000), attempt(20_000), attempt(2_000)]
"""
    result = execute(limited(frame=10_000), code)
    assert result.success, result.error
    small, large, again = result.return_value
    assert (small, again) == (1_000, 2_000)
    assert "at most 10,000" in large


def test_a_value_over_the_frame_limit_is_described(limited: Limited) -> None:
    result = limited(frame=10_000).execute("'x' * 20_000")
    assert (result.success, result.return_value) == (True, None)
    assert "it has 20," in result.described
    assert "at most 10,000" in result.described
    assert "at most 300" in (limited(frame=300).execute("'x' * 20_000").error or "")


def test_ten_megabytes_go_both_ways(toolkit: Toolkit) -> None:
    result = toolkit.execute("text = echo('x' * 10_000_000)\ntext")
    assert result.success, result.error
    assert len(result.return_value) == 10_000_000


DESCRIPTORS = """
import errno, os, resource
found = []
try:
    while len(found) < 1_000:
        found += os.pipe()
except OSError as error:
    print(errno.errorcode[error.errno])
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_000, 1_000))
except (OSError, ValueError):
    print("not raised")
[len(found), resource.getrlimit(resource.RLIMIT_NOFILE)]
"""


def test_a_program_has_few_descriptors_and_gets_no_more(execute: Execute, toolkit: Toolkit) -> None:
    result = execute(toolkit, DESCRIPTORS, 20)
    assert result.output == "EMFILE\nnot raised\n", result
    opened, limits = result.return_value
    assert opened < 64
    assert limits == (64, 64)


def test_program_over_its_length_never_starts(execute: Execute, limited: Limited) -> None:
    small, large = "echo('x')  # " + "é" * 7, "echo('x')  # " + "é" * 8
    toolkit = limited(program=20)
    assert execute(toolkit, small).return_value == "x"
    result = execute(toolkit, large)
    assert (result.error, result.tool_calls) == ("ValueError: the program has 21 characters; at most 20 can be run", [])
    assert execute(limited(frame=1_000, program=9), "echo('x')").success


# The limits themselves -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["timeout", "memory", "output", "calls", "outstanding", "frame"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "5", True, None])
def test_a_limit_that_limits_nothing_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"Limits\.{name} must be a positive (number|int), got "):
        Limits(**{name: value})  # pyright: ignore[reportArgumentType] - what is refused


@pytest.mark.parametrize("value", [-0.1, float("nan"), "5"])
def test_invalid_grace_period_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"Limits\.grace must be a number >= 0"):
        Limits(grace=value)  # pyright: ignore[reportArgumentType] - what is refused


@pytest.mark.parametrize("seconds", [float("inf"), 1e10, 10**400])
def test_a_time_without_end_is_refused(sandbox: ProcessSandbox, seconds: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        Toolkit(TOOLS, timeout=seconds, sandbox=sandbox)
