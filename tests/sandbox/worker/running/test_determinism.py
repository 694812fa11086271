"""A program with a seed sees the same world in every run; without one, a new world each time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ez_ptc import Limits, Toolkit
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.scripts import run_script
from tests.sandbox.tools import TOOLS

SEES: dict[str, str] = {
    "clocks": "import time\n[time.time(), time.time_ns(), time.monotonic(), time.perf_counter(), time.process_time(), "
    "time.ctime(), time.asctime(), time.strftime('%c'), list(time.localtime()), time.clock_gettime(0)]",
    "dates": "from datetime import date, datetime, timezone\n"
    "[str(x) for x in (datetime.now(), datetime.now(timezone.utc), datetime.today(), date.today())]",
    "time passing": "import time\nstart = time.monotonic()\nfor n in range(5): time.sleep(0.002)\n"
    "time.monotonic() - start",
    "random numbers": "import random\n[random.random(), random.Random().random(), random.SystemRandom().random(), "
    "random.sample(range(99), 5)]",
    "random bytes": "import os, secrets\n[os.urandom(8).hex(), secrets.token_hex(8), secrets.choice(range(10**9))]",
    "unique ids": "import uuid\n[str(uuid.uuid4()), str(uuid.uuid1()), str(uuid.uuid1()), uuid.getnode()]",
    "names of files": "import tempfile\nnames = tempfile._get_candidate_names()\n[next(names), next(names)]",
    "sets of values": "[list({str(n) for n in range(60)}), list({(str(n), n / 7) for n in range(60)}), hash('x')]",
    "processes and threads": "import os, threading\n[os.getpid(), threading.get_ident()]",
    # Event loops keep the real time, in which a loaded machine may leave a program waiting between two tasks.
    "tasks": "async def work(n):\n    await asyncio.sleep(n % 3 / 5)\n    seen.append(n)\nseen = []\n"
    "await asyncio.gather(*[work(n) for n in range(9)])\nseen",
    "a log": "import logging, io\nstream = io.StringIO()\n"
    "logging.basicConfig(stream=stream, format='%(asctime)s %(message)s')\nlogging.error('x')\nstream.getvalue()",
}  # fmt: skip
FREE = ("tasks", "sets of values")
"""What may well be the same in two workers of one zygote."""


@pytest.fixture(scope="module")
def pinned() -> Iterator[Toolkit]:
    """A toolkit whose programs have a seed."""
    with ProcessSandbox(ready=2) as sandbox:
        yield Toolkit(TOOLS, limits=Limits(seed=0), sandbox=sandbox)


def seen(toolkit: Toolkit, code: str) -> Any:  # noqa: ANN401 - whatever a program sees
    result = toolkit.execute(code, 30)
    assert result.success, result.error_output
    return result.return_value


def test_the_first_program_of_a_sandbox_has_the_addresses_of_later_ones() -> None:
    """They are not promised, but a resumed program, often the first, should not differ without need."""
    with ProcessSandbox(ready=2) as sandbox:
        toolkit = Toolkit(TOOLS, limits=Limits(seed=0), sandbox=sandbox)
        first, *others = (seen(toolkit, "class A: pass\n[id(A), id(object()), id(add)]") for _ in range(3))
    assert others == [first, first]


@pytest.mark.parametrize("code", SEES.values(), ids=SEES.keys())
def test_two_programs_with_one_seed_see_the_same(pinned: Toolkit, code: str) -> None:
    first = seen(pinned, code)
    # What other programs did, and how they ended, makes no difference.
    pinned.execute("add(1, 2)\n[object() for _ in range(10_000)]")
    pinned.execute("import os\nos._exit(3)")
    assert seen(pinned, code) == first


SETS = """
class A:
    def method(self): return self.number
    def other(self): return -self.number
    @classmethod
    def name(cls): return cls.__name__
def made(number): return lambda: number
between = []
for number in range(8):
    between += [[made(0), A(), A().method] for _ in range(JUNK)]
    a = A()
    a.number = number
    between.append(a)
objects = [a for a in between if isinstance(a, A)]
methods = {a.method for a in objects} | {a.other for a in objects} | {A.name}
functions = {add, echo, fail, stop, made, *(made(a) for a in objects)}
assert echo in functions and objects[3].other in methods and {add: 1}[add] == len({A.name, A.name})
[f.__name__ for f in functions], [m() for m in methods], parallel([(echo, f.__name__) for f in {add, stop, fail, echo}])
"""


def test_sets_of_functions_have_one_order_at_any_addresses(pinned: Toolkit) -> None:
    first, *others = (seen(pinned, SETS.replace("JUNK", str(number))) for number in (0, 7, 100))
    assert others == [first, first]


ALL = """
import json
from ez_ptc import Limits, Toolkit
from tests.sandbox.worker.running.test_determinism import SEES, seen
with Toolkit([], limits=Limits(seed=7)) as toolkit:
    print(json.dumps([seen(toolkit, code) for code in SEES.values()]))
"""


@pytest.mark.sampled(every=0)
def test_another_host_sees_the_same(tmp_path: object) -> None:
    """Its first program, and with other things in its environment."""
    first = json.loads(run_script(ALL))
    assert json.loads(run_script(ALL, "with", "arguments", env={"SOMETHING": str(tmp_path)})) == first


def test_another_seed_gives_other_numbers(pinned: Toolkit) -> None:
    assert pinned.sandbox is not None
    other = Toolkit(TOOLS, limits=Limits(seed=1), sandbox=pinned.sandbox)
    for name in ("random numbers", "random bytes", "unique ids", "names of files"):
        assert seen(pinned, SEES[name]) != seen(other, SEES[name])


@pytest.mark.parametrize("name", [name for name in SEES if name not in FREE])
def test_without_a_seed_no_two_programs_see_the_same(toolkit: Toolkit, name: str) -> None:
    assert seen(toolkit, SEES[name]) != seen(toolkit, SEES[name])


def test_the_pinned_clock_goes_on(pinned: Toolkit) -> None:
    """A program that waits for a moment sees it come, and one that sleeps finds as much time gone."""
    code = """
import time
until = time.time() + 0.5
while time.time() < until: pass
start = time.monotonic()
time.sleep(0.05)
asyncio.run(asyncio.sleep(0.05))
0.1 <= time.monotonic() - start < 0.11
"""
    assert seen(pinned, code) is True


def test_pinned_program_calls_tools_and_times_out_normally(pinned: Toolkit) -> None:
    assert seen(pinned, "[add(n, 1) for n in range(5)]") == [1, 2, 3, 4, 5]
    result = pinned.execute("while True: pass", 0.2)
    assert result.error == "TimeoutError: the program timed out after 0.2 s"


def test_dates_of_a_pinned_program_are_dates(pinned: Toolkit) -> None:
    code = """
from datetime import date, datetime
isinstance(datetime.now(), datetime), type(datetime.now()) is datetime, isinstance(date.today(), date), datetime.now()
"""
    value = list(seen(pinned, code))
    assert value[:3] == [True, True, True]
    assert str(value[3]).startswith("2025-01-01 00:00:00.")


def test_non_integer_seed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Limits\.seed must be an int of <= 4,300 digits or None, got 'x'"):
        Limits(seed="x")  # pyright: ignore[reportArgumentType] - what is refused
