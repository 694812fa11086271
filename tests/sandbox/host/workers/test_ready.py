"""Workers that are told the limits and the tools of the next program before it comes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.host.workers.ready import ReadyWorkers
from tests.sandbox.processes import becomes
from tests.sandbox.scripts import run_script

MANY = 24

# What a program finds of tools: its own, and others in all objects that there are.
FIND = """
import gc
known = [name for name in ("first_tool", "second_tool") if name in globals()]
texts = [part for thing in gc.get_objects() if isinstance(thing, dict) for part in list(thing) if isinstance(part, str)]
known, "first" + "_tool" in texts, "second" + "_tool" in texts
"""
LIMITS = """
import resource
[resource.getrlimit(name) for name in (resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_STACK)]
"""


@ez_tool
def first_tool(x: int) -> int:
    """Add one."""
    return x + 1


@ez_tool
def second_tool(x: int) -> int:
    """Add two."""
    return x + 2


@pytest.fixture
def own() -> Iterator[ProcessSandbox]:
    with ProcessSandbox() as sandbox:
        yield sandbox


def prepare(sandbox: ProcessSandbox, toolkit: Toolkit) -> ReadyWorkers:
    """Run programs until workers are prepared for more of them."""
    pause = threading.Event()
    for _ in range(500):
        assert toolkit.execute("1 + 1", 20).success
        ready = sandbox._pool.zygote().ready  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no program can tell
        if len(ready) > ready.blank:
            return ready
        pause.wait(0.01)
    raise TimeoutError


def test_prepared_workers_run_programs_with_their_tools(own: ProcessSandbox) -> None:
    toolkit = Toolkit([first_tool], sandbox=own)
    prepare(own, toolkit)
    for number in range(MANY):
        result = toolkit.execute(f"first_tool({number})")
        assert (result.return_value, len(result.tool_calls)) == (number + 1, 1)


def test_preparation_leaves_nothing_for_the_program(own: ProcessSandbox) -> None:
    toolkit = Toolkit([first_tool], sandbox=own)
    prepare(own, toolkit)
    result = toolkit.execute("first_tool(1)\n[name for name in globals() if not name.startswith('__')]")
    assert (result.output, result.return_value) == ("", ["first_tool"])
    assert [call["path"] for call in result.tool_calls] == ["1"]


def test_programs_learn_nothing_of_others_tools(own: ProcessSandbox) -> None:
    first, second = Toolkit([first_tool], sandbox=own), Toolkit([second_tool], sandbox=own)
    prepare(own, first)
    for _ in range(6):
        assert second.execute(FIND, 20).return_value == (["second_tool"], False, True)
        assert first.execute(FIND, 20).return_value == (["first_tool"], True, False)


@pytest.mark.security
def test_other_tools_become_the_prepared_ones(own: ProcessSandbox) -> None:
    for tool in (first_tool, second_tool, first_tool):
        toolkit = Toolkit([tool], sandbox=own)
        prepare(own, toolkit)
        assert toolkit.execute(f"{tool.name}(1)").success


def count_prepared(sandbox: ProcessSandbox) -> int:
    ready = sandbox._pool.zygote().ready  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no program can tell
    return len(ready) - ready.blank


def test_workers_are_prepared_from_the_second_program(own: ProcessSandbox) -> None:
    toolkit = Toolkit([first_tool], sandbox=own)
    assert toolkit.execute("first_tool(1)", 20).success
    # With the next program, none is ordered then, so that there is time to prepare those that there are.
    own.cool_down()
    assert toolkit.execute("first_tool(1)", 20).success
    assert becomes(lambda: count_prepared(own) > 0, True, within=60)


def test_alternating_toolkits_find_all_workers_blank(own: ProcessSandbox) -> None:
    first, second = Toolkit([first_tool], sandbox=own), Toolkit([second_tool], sandbox=own)
    for _ in range(2):
        assert first.execute("first_tool(1)", 20).success
        own.cool_down()
    for _ in range(3):
        assert second.execute(FIND, 20).return_value == (["second_tool"], False, True)
        assert becomes(lambda: count_prepared(own), 0, within=60)
        own.cool_down()
        assert first.execute(FIND, 20).return_value == (["first_tool"], True, False)
        own.cool_down()
    assert count_prepared(own) == 0


@pytest.mark.security
def test_a_rare_toolkit_leaves_others_their_prepared_workers(own: ProcessSandbox) -> None:
    first, second = Toolkit([first_tool], sandbox=own), Toolkit([second_tool], sandbox=own)
    for _ in range(20):
        assert first.execute("first_tool(1)", 20).success
        # Only programs that find a worker ready count as programs in a row.
        own.cool_down()
    assert first.execute("first_tool(1)", 20).success
    assert becomes(lambda: count_prepared(own) > 0, True, within=60)
    assert second.execute(FIND, 20).return_value == (["second_tool"], False, True)
    # As in the background, which may come later.
    own._pool.order_ready()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no program can tell
    assert count_prepared(own) > 0


@pytest.mark.sampled(every=0)
def test_prepared_workers_have_the_same_limits(own: ProcessSandbox) -> None:
    toolkit = Toolkit([first_tool], sandbox=own, timeout=7.0)
    before = toolkit.execute(LIMITS).return_value
    prepare(own, toolkit)
    assert [toolkit.execute(LIMITS).return_value for _ in range(5)] == [before] * 5
    greedy = toolkit.execute("bytearray(1 << 40)")
    assert greedy.error is not None
    assert "MemoryError" in greedy.error


@pytest.mark.sampled(every=0)
def test_other_limits_hold_beside_prepared_workers(own: ProcessSandbox) -> None:
    toolkit = Toolkit([first_tool], sandbox=own, timeout=7.0)
    prepare(own, toolkit)
    other = Toolkit([first_tool], sandbox=own, timeout=90.0)
    usual, more = (kit.execute(LIMITS).return_value for kit in (toolkit, other))
    assert more[1][0] > usual[1][0]


@pytest.mark.sampled(every=0)
def test_sessions_take_no_prepared_worker(own: ProcessSandbox) -> None:
    toolkit = Toolkit([first_tool], sandbox=own)
    prepare(own, toolkit)
    with toolkit.session() as session:
        assert session.execute("kept = first_tool(1)").success
        assert session.execute("import resource\nkept, resource.getrlimit(resource.RLIMIT_CPU)[1]").return_value == (
            2,
            -1,
        )


# In a host of their own: other sandboxes of this process may start or end workers meanwhile.
CLOSED = """
from ez_ptc import Toolkit
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.host.workers.test_ready import first_tool, prepare
from tests.sandbox.processes import becomes, descriptors

with ProcessSandbox() as first:
    assert Toolkit([first_tool], sandbox=first).execute("1 + 1", 60).success
before = len(descriptors())
own = ProcessSandbox()
ready = prepare(own, Toolkit([first_tool], sandbox=own))
own.close()
# A thread in the background may have been about to end a worker.
print(becomes(lambda: len(ready), 0, within=60), becomes(lambda: len(descriptors()), before, within=60))
"""


@pytest.mark.security
def test_closed_sandbox_leaves_no_prepared_worker() -> None:
    assert run_script(CLOSED, timeout=300) == "True True\n"


@pytest.mark.sampled(every=0)
def test_worker_that_arrives_late_is_ended(own: ProcessSandbox) -> None:
    ready = prepare(own, Toolkit([first_tool], sandbox=own))
    arrival = ready.pop()
    assert arrival is not None
    own.close()
    ready.add(arrival)
    assert arrival.ended
    assert len(ready) == 0
