"""What is measured of a subject, inside the process that has started it.

Each measure is a function of a subject that returns one figure: seconds, programs a second or bytes. It is asked for it
once a round, between the same questions to the other subjects. Standard library only, as `subject`.
"""

import contextlib
import os
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, cast

from benchmarks.peers.memory import of_the_lot, of_workers, private_of
from benchmarks.peers.subject import GRANTED_CALLS, Subject, elapsed

__all__ = ["MEASURES", "Measure", "Unit"]

Unit = Literal["seconds", "a second", "bytes"]

_GAP: Final = 0.02
_SPACED: Final = 40
_IN_A_ROW: Final = 100
_BIG_CALLS: Final = 20
_HUGE_CALLS: Final = 3
_TRIES: Final = 3
_CALLERS: Final = 8
_THROUGHPUT_SECONDS: Final = 1.0
# No more than a pool of Monty has processes.
_SESSIONS: Final = 3

_SMALL: Final = "x = 1 + 1\nx"
_NEXT: Final = "x = x + 1\nx"
_CALLS: Final = "{2}\nfor number in range({0}):\n    {1}\n{0}"
_ONE_CALL: Final = "x = echo(2)\nx"
_TEN_CALLS: Final = "for number in range(10):\n    x = echo(2)\nx"
# As long as a model writes it: what is checked before it runs.
_WRITTEN: Final = """
totals = {}
for number in range(1, 4):
    value = echo(number)
    name = "odd" if value % 2 else "even"
    totals[name] = totals.get(name, 0) + value
names = sorted(totals, key=lambda name: -totals[name])
lines = []
for name in names:
    share = totals[name] / sum(totals.values())
    lines.append(f"{name}: {totals[name]} ({share:.0%})")
first = lines[0].split(":")[0].upper()
first
"""
_TIMED: Final = """
import time
began = [time.process_time(), time.perf_counter()]
{0}
[time.process_time() - began[0], time.perf_counter() - began[1]]
"""
_FIB: Final = "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(24)"
_LOOP: Final = "total = 0\nfor number in range(1_000_000):\n    total += number & 7"
_SORT: Final = """
numbers = []
seed = 1
for _ in range(30_000):
    seed = seed * 48271 % 2147483647
    numbers.append(seed)
groups = {}
for number in numbers:
    groups.setdefault(number % 997, []).append(number)
best = sorted(groups, key=lambda key: (-sum(groups[key]), key))
words = sorted(str(number) for number in numbers)
longest = max(len(group) for group in groups.values())
"""


_CALLING: Final = (("called", "1 call", _ONE_CALL), ("called_ten", "10 calls", _TEN_CALLS))
# What a tool returns.
_RETURNED: Final = (
    ("small", "small value", "echo(number)", GRANTED_CALLS),
    ("text", "100 KB of text", "text()", _BIG_CALLS),
    ("rows", "100 KB of rows", "rows()", _BIG_CALLS),
    ("bytes", "10 MB of bytes", "data()", _HUGE_CALLS),
)
# What a program passes to a tool. The rows are dicts, as programs make them of what a tool returns.
_SENT: Final = (
    ("rows", "100 KB of rows", "value = [dict(row) for row in rows()]", "accept(value)", _BIG_CALLS),
    ("text", "1 MB of text", "value = 'x' * 1_000_000", "accept(value)", _BIG_CALLS),
    ("bytes", "10 MB of bytes", "value = data()", "accept(value)", _HUGE_CALLS),
)
_PRINTED: Final = "value = 'x' * 100_000"
# Not more than this library keeps of a program's output.
_PRINTS: Final = 10


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure about a subject.

    Attributes:
        name: What JSON calls it.
        title: What the table calls it.
        unit: What the figure counts.
        take: Returns the figure, or None where the subject has none.
        once: The figure does not vary: one round is enough.
    """

    name: str
    title: str
    unit: Unit
    take: Callable[[Subject], float | None]
    once: bool = False


def _spaced(subject: Subject, *, code: str = _SMALL) -> float | None:
    """Return the median time of programs whose callers come 20 ms apart: each finds a machine that sleeps."""
    if code is not _SMALL and not subject.offers_tools:
        return None
    times: list[float] = []
    for _ in range(_SPACED):
        time.sleep(_GAP)
        times.append(elapsed(lambda: subject.run(code)))
    return statistics.median(times)


def _in_a_row(subject: Subject, *, code: str = _SMALL) -> float | None:
    """Return the median time of programs that run back to back, once nothing that was made ready before is left."""
    if code is not _SMALL and not subject.offers_tools:
        return None
    for _ in range(_IN_A_ROW // 10):
        subject.run(code)
    return statistics.median(elapsed(lambda: subject.run(code)) for _ in range(_IN_A_ROW))


def _written(subject: Subject) -> float | None:
    """Return the median time of programs of twelve lines with three calls, back to back."""
    if not subject.offers_tools:
        return None
    return statistics.median(elapsed(lambda: subject.run(_WRITTEN)) for _ in range(_IN_A_ROW))


def _session(subject: Subject) -> float | None:
    """Return the median time of programs that run back to back in one session and use its names."""
    with subject.session() as run:
        if run is None:
            return None
        run("x = 1")
        return statistics.median(elapsed(partial(run, _NEXT)) for _ in range(_IN_A_ROW))


def _call(subject: Subject, *, expression: str, calls: int, setup: str = "") -> float | None:
    """Return the time of one of ``calls`` calls of a tool in a program, less that of a program that calls nothing.

    Both begin with the lines ``setup``, which may call a tool once.
    """
    if not subject.offers_tools:
        return None
    with_calls = min(elapsed(lambda: subject.run(_CALLS.format(calls, expression, setup))) for _ in range(_TRIES))
    without = min(elapsed(lambda: subject.run(_CALLS.format(calls, "number", setup))) for _ in range(_TRIES))
    return max(with_calls - without, 0) / calls


def _work(subject: Subject, *, code: str) -> float:
    """Return the CPU time of a program that only computes, as its own clock says.

    A machine that is busy with other things does not count, nor does the start of the program. Where programs see no
    CPU time (Monty), the time that passed has to do.
    """
    return min(_own_time(subject.run(_TIMED.format(code))) for _ in range(_TRIES))


def _own_time(answer: object) -> float:
    cpu, passed = cast("list[float]", answer)
    return cpu or passed


def _throughput(subject: Subject, *, code: str = _SMALL) -> float | None:
    """Return how many programs a second 8 threads get done that run one after another each."""
    if code is not _SMALL and not subject.offers_tools:
        return None
    until = time.perf_counter() + _THROUGHPUT_SECONDS
    done = [0] * _CALLERS

    def keep_running(caller: int) -> None:
        while time.perf_counter() < until:
            if subject.run(code) != 2:  # noqa: PLR2004 - the value of each of these programs
                message = "a program returned another one's value"
                raise RuntimeError(message)
            done[caller] += 1

    callers = [threading.Thread(target=keep_running, args=(caller,)) for caller in range(_CALLERS)]
    took = elapsed(lambda: [[each.start() for each in callers], [each.join() for each in callers]])
    return sum(done) / took


def _memory(subject: Subject, *, read: Callable[[int], float | None]) -> float | None:
    """Return what ``read`` finds of the processes below this one once they are ready and idle."""
    subject.run(_SMALL)
    time.sleep(0.5)
    return read(os.getpid())


def _session_memory(subject: Subject) -> float | None:
    """Return the private memory of one more session that has run a program, wherever the subject keeps it."""

    def open_one() -> bool:
        run = sessions.enter_context(subject.session())
        return run is not None and run(_SMALL) is not None

    with contextlib.ExitStack() as sessions:
        if not open_one():
            return None
        time.sleep(0.5)
        before = private_of(os.getpid())
        for _ in range(_SESSIONS):
            open_one()
        time.sleep(0.5)
        return max(private_of(os.getpid()) - before, 0) / _SESSIONS


MEASURES: Final[tuple[Measure, ...]] = (
    Measure("fresh_spaced", "fresh program, callers 20 ms apart", "seconds", _spaced),
    *(
        Measure(f"fresh_{name}_spaced", f"fresh program, {title}, 20 ms apart", "seconds", partial(_spaced, code=code))
        for name, title, code in _CALLING
    ),
    Measure("fresh_in_a_row", "fresh program, back to back", "seconds", _in_a_row),
    *(
        Measure(
            f"fresh_{name}_in_a_row", f"fresh program, {title}, back to back", "seconds", partial(_in_a_row, code=code)
        )
        for name, title, code in _CALLING
    ),
    Measure("fresh_written", "fresh program of 12 lines, 3 tool calls", "seconds", _written),
    Measure("session", "program in an open session", "seconds", _session),
    *(
        Measure(f"call_{name}", f"tool call, {title}", "seconds", partial(_call, expression=code, calls=calls))
        for name, title, code, calls in _RETURNED
    ),
    *(
        Measure(
            f"send_{name}",
            f"tool call with {title}",
            "seconds",
            partial(_call, expression=code, calls=calls, setup=setup),
        )
        for name, title, setup, code, calls in _SENT
    ),
    Measure(
        "print", "100 KB printed", "seconds", partial(_call, expression="print(value)", calls=_PRINTS, setup=_PRINTED)
    ),
    Measure("work_fib", "CPU work in a program: fib(24)", "seconds", partial(_work, code=_FIB)),
    Measure("work_loop", "CPU work in a program: 1,000,000 loops", "seconds", partial(_work, code=_LOOP)),
    Measure("work_sort", "CPU work in a program: sort, dicts, text", "seconds", partial(_work, code=_SORT)),
    Measure("throughput", "programs a second, 8 callers", "a second", _throughput),
    *(
        Measure(
            f"throughput_{name}", f"programs a second, {title}, 8 callers", "a second", partial(_throughput, code=code)
        )
        for name, title, code in _CALLING
    ),
    Measure("worker_memory", "private memory of a ready worker", "bytes", partial(_memory, read=of_workers), once=True),
    Measure("session_memory", "memory of one more session", "bytes", _session_memory, once=True),
    Measure("whole_memory", "memory of all its processes", "bytes", partial(_memory, read=of_the_lot), once=True),
)
