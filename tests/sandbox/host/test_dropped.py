"""What is dropped without being closed gives everything back at once, and says so where something was left."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable, Iterator

import anyio
import pytest

from ez_ptc import Limits, ProcessSandbox, Session, Toolkit
from tests.sandbox.processes import alive, all_gone, becomes, descendants, descriptors, families
from tests.sandbox.scripts import run_script

SESSION = r"a session was dropped without being closed.*use it in a `with` statement, or call close\(\)"
SANDBOX = r"a ProcessSandbox was dropped without being closed.*use it in a `with` statement, or call close\(\)"
Drop = Callable[[list[object]], None]


def at_once(held: list[object]) -> None:
    held.clear()


def in_a_cycle(held: list[object]) -> None:
    """What the garbage collector finds."""
    cycle: list[object] = [held.pop()]
    cycle.append(cycle)
    del cycle
    gc.collect()


def in_another_thread(held: list[object]) -> None:
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()


def with_an_error(held: list[object]) -> None:
    """As a caller does that does not get to close it."""

    def fail(value: object) -> None:
        del value
        raise LookupError

    with pytest.raises(LookupError):
        fail(held.pop())
    gc.collect()


@pytest.fixture(params=[at_once, in_a_cycle, in_another_thread, with_an_error], ids=lambda drop: drop.__name__)
def drop(request: pytest.FixtureRequest) -> Drop:
    found: Drop = request.param
    return found


@pytest.fixture
def before() -> Iterator[set[int]]:
    """The processes that were there before the test, the shared sandbox among them, which may be starting."""
    with Toolkit([]) as toolkit:
        assert toolkit.execute("1", 20).success
    gc.collect()
    yield descendants(os.getpid())
    gc.collect()


@pytest.fixture
def small() -> Iterator[Toolkit]:
    """A toolkit whose sandbox runs one program at a time."""
    with ProcessSandbox(ready=1, running=1, patience=20) as sandbox:
        yield Toolkit([], sandbox=sandbox)


def used_session(toolkit: Toolkit) -> Session:
    session = toolkit.session()
    assert session.execute("kept = 1", 20).success
    return session


@pytest.mark.sampled(every=4)
def test_a_dropped_session_leaves_its_place_to_others(small: Toolkit, drop: Drop) -> None:
    held: list[object] = [used_session(small)]
    with pytest.warns(ResourceWarning, match=SESSION):
        drop(held)
    assert small.execute("1 + 1", 20).return_value == 2


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.sampled(every=2)
def test_session_dropped_by_event_loop_frees_its_capacity(small: Toolkit, backend: str) -> None:
    async def main() -> None:
        session = small.session()
        assert (await session.aexecute("kept = 1", 20)).success

    with pytest.warns(ResourceWarning, match=SESSION):
        anyio.run(main, backend=backend)
    assert small.execute("1 + 1", 20).return_value == 2


@pytest.mark.sampled(every=0)
def test_many_dropped_sessions_leave_no_descriptor_and_no_process(before: set[int]) -> None:
    with ProcessSandbox(ready=1, running=4, patience=20) as sandbox:
        toolkit = Toolkit([], sandbox=sandbox)
        used_session(toolkit).close()
        sandbox.cool_down()
        held, started = len(descriptors()), families(os.getpid(), without=before)
        for _ in range(8):
            with pytest.warns(ResourceWarning, match=SESSION):
                used_session(toolkit)
            started |= families(os.getpid(), without=before)
        sandbox.cool_down()
        assert becomes(lambda: len(descriptors()), held, within=60)
        # The zygote, its parent, and a worker that is ready.
        kept = set(sorted(families(os.getpid(), without=before))[:2])
        assert becomes(lambda: max(1, sum(map(alive, started - kept))), 1, within=60)


@pytest.mark.sampled(every=0)
def test_session_without_process_is_dropped_silently(small: Toolkit) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.session()
        used_session(small).close()
        session = used_session(small)
        assert "timed out" in (session.execute("while True: pass", 0.1).error or "")
        del session
        gc.collect()
    assert small.execute("1 + 1", 20).return_value == 2


@pytest.mark.sampled(every=0)
def test_session_of_closed_sandbox_is_dropped_silently() -> None:
    held = len(descriptors())
    with ProcessSandbox(ready=1) as sandbox:
        session = used_session(Toolkit([], sandbox=sandbox))
    del session
    gc.collect()
    assert becomes(lambda: len(descriptors()), held, within=60)


@pytest.mark.sampled(every=0)
def test_a_dropped_sandbox_ends_its_processes(before: set[int], drop: Drop) -> None:
    open_before = len(descriptors())
    held: list[object] = [ProcessSandbox(ready=2)]
    for limits in (Limits(), Limits(seed=1)):
        assert Toolkit([], sandbox=held[0], limits=limits).execute("1 + 1", 20).return_value == 2  # pyright: ignore[reportArgumentType] - a sandbox
    gc.collect()
    started = families(os.getpid(), without=before)
    assert len(started) >= 4
    with pytest.warns(ResourceWarning, match=SANDBOX):
        drop(held)
    assert all_gone(started, within=60)
    assert becomes(lambda: len(descriptors()), open_before, within=60)


@pytest.mark.sampled(every=0)
def test_unstarted_sandbox_is_dropped_silently(drop: Drop) -> None:
    closed = ProcessSandbox(ready=1)
    closed.warm_up()
    closed.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drop([ProcessSandbox()])
        drop([closed])
        del closed
        gc.collect()


@pytest.mark.sampled(every=0)
def test_a_session_and_a_toolkit_keep_their_sandbox(before: set[int]) -> None:
    session = used_session(Toolkit([], sandbox=ProcessSandbox(ready=1)))
    toolkit = Toolkit([], sandbox=ProcessSandbox(ready=1))
    gc.collect()
    assert session.execute("kept + 1", 20).return_value == 2
    assert toolkit.execute("1 + 1", 20).return_value == 2
    started = families(os.getpid(), without=before)
    with pytest.warns(ResourceWarning, match=SESSION), pytest.warns(ResourceWarning, match=SANDBOX):
        del session
    with pytest.warns(ResourceWarning, match=SANDBOX):
        del toolkit
    assert all_gone(started, within=60)


@pytest.mark.sampled(every=0)
def test_a_program_keeps_its_sandbox_while_it_runs(before: set[int]) -> None:
    with pytest.warns(ResourceWarning, match=SANDBOX):
        result = Toolkit([], sandbox=ProcessSandbox(ready=1)).execute("1 + 1", 20)
    assert result.return_value == 2
    assert all_gone(families(os.getpid(), without=before), within=60)


# Toolkits over the shared sandbox, in a host of their own: nobody else shares it there.
SHARING = """
import gc, os, threading
from ez_ptc import Toolkit
from tests.sandbox.processes import all_gone, descendants

for how, packages in (("drop", []), ("cycle", ["docstring_parser"]), ("thread", ["idna"])):
    toolkit = Toolkit([], allow_imports=packages)
    assert toolkit.execute("1 + 1").return_value == 2
    other = Toolkit([], allow_imports=packages)
    assert other.execute("1 + 1").return_value == 2
    started = descendants(os.getpid())
    del toolkit
    gc.collect()
    assert not all_gone(started, within=0.1), "the other toolkit uses them"
    assert other.execute("1 + 1").return_value == 2
    if how == "cycle":
        vars(other)["self"] = other
    held = [other]
    del other
    if how == "thread":
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
    held.clear()
    gc.collect()
    assert all_gone(started, within=60), how
session = Toolkit([]).session()
assert session.execute("kept = 1").success
gc.collect()
assert session.execute("kept").return_value == 1
session.close()
print(len(descendants(os.getpid())) > 0)
del session
gc.collect()
print(all_gone(descendants(os.getpid()), within=60))
"""


@pytest.mark.sampled(every=0)
def test_last_dropped_toolkit_ends_shared_sandbox_silently() -> None:
    assert run_script(SHARING, timeout=120) == "True\nTrue\n"


@pytest.mark.sampled(every=0)
def test_dropped_toolkit_spares_a_given_sandbox() -> None:
    with ProcessSandbox(ready=1) as sandbox:
        for _ in range(3):
            assert Toolkit([], sandbox=sandbox).execute("1 + 1", 20).return_value == 2
            gc.collect()


ALIVE_AT_THE_END = """
import os, sys
from ez_ptc import ProcessSandbox, Toolkit
from tests.sandbox.processes import descendants

sandbox = ProcessSandbox(ready=1)
toolkit = Toolkit([], sandbox=sandbox)
shared = Toolkit([])
session, other = toolkit.session(), shared.session()
for run in (toolkit.execute, shared.execute, session.execute, other.execute):
    assert run("kept = 1").success
if sys.argv[1] == "cycle":
    sandbox.self, session.self = sandbox, session
if sys.argv[1] == "function":
    def late(kept=(sandbox, toolkit, shared, session, other)): pass
    sys.late = late
print(*descendants(os.getpid()))
if sys.argv[1] == "exit":
    sys.exit(0)
"""


@pytest.mark.parametrize("how", ["plain", "cycle", "function", "exit"])
@pytest.mark.sampled(every=0)
def test_objects_alive_at_interpreter_exit_end_silently(how: str) -> None:
    pids = {int(pid) for pid in run_script(ALIVE_AT_THE_END, how).split()}
    assert len(pids) >= 6
    assert all_gone(pids, within=60)


FORKED = """
import gc, os, warnings
from ez_ptc import ProcessSandbox, Toolkit

warnings.filterwarnings("ignore", category=DeprecationWarning)  # threads and fork
sandbox = ProcessSandbox(ready=1)
toolkit = Toolkit([], sandbox=sandbox)
session = toolkit.session()
assert session.execute("kept = 1").success
child = os.fork()
if child == 0:
    del session, toolkit, sandbox
    gc.collect()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(session.execute("kept").return_value, toolkit.execute("1 + 1").return_value)
session.close()
sandbox.close()
"""


@pytest.mark.sampled(every=0)
def test_objects_dropped_in_fork_survive_in_parent() -> None:
    assert run_script(FORKED) == "1 2\n"


GROWING = """
import gc, os, sys, warnings
from ez_ptc import Toolkit

def held():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

hooks = []
register = os.register_at_fork
os.register_at_fork = lambda **calls: (hooks.append(calls), register(**calls))
with Toolkit([]) as toolkit:
    ways = {
        "closed": lambda: toolkit.session().close(),
        "dropped": toolkit.session,
        "toolkits": lambda: Toolkit([]),
    }
    way = ways[sys.argv[1]]
    for _ in range(2_000):
        way()
    before, hooks_before = held(), len(hooks)
    for _ in range(int(sys.argv[2])):
        way()
    print(held() - before, len(hooks) - hooks_before)
"""


@pytest.mark.parametrize(("way", "number"), [("closed", 100_000), ("dropped", 100_000), ("toolkits", 20_000)])
@pytest.mark.sampled(every=0)
def test_closed_or_dropped_objects_leave_no_hook(way: str, number: int) -> None:
    grown, hooks = map(int, run_script(GROWING, way, str(number), timeout=120).split())
    assert grown < 2 << 20
    assert hooks == 0
