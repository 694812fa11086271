"""Closing what runs a program: its caller gets a typed and true answer, wherever it is closed and whatever it does."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator

import anyio
import pytest

from ez_ptc import ExecutionResult, Limits, ProcessSandbox, SandboxError, Session, Toolkit, ez_tool
from tests.sandbox.processes import becomes, descriptors
from tests.sandbox.scripts import run_script

Run = Callable[..., ExecutionResult]
CLOSED = {
    "session": "this session was closed while this program ran; it had called tools (begin): see what they did",
    "sandbox": "the sandbox was closed while this program ran; it had called tools (begin): see what they did",
}
GOES_ON = {
    "computing": "begin()\nwhile True: pass",
    "asleep": "begin()\nimport time\ntime.sleep(60)",
    "deaf": "begin()\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "printing": "begin()\nwhile True: print('x' * 100, flush=True)",
    "calling": "begin()\nwhile True: begin()",
    "in a tool": "begin(True)",
    "in tools": "parallel((begin, True), (begin, True))",
}


class Host:
    """A sandbox with a tool that says when a program has begun."""

    def __init__(self) -> None:
        self.sandbox = ProcessSandbox(ready=1, patience=20)
        self.begun = threading.Event()
        self.leave = threading.Event()

        @ez_tool
        def begin(wait: bool = False) -> None:
            """Say that the program runs."""
            self.begun.set()
            if wait:
                self.leave.wait(30)

        limits = Limits(timeout=60, output=1 << 30, calls=1_000_000)
        self.toolkit = Toolkit([begin], sandbox=self.sandbox, limits=limits)
        self.session: Session = self.toolkit.session()

    def close(self, what: str) -> None:
        (self.session if what == "session" else self.sandbox).close()
        self.leave.set()


@pytest.fixture
def host() -> Iterator[Host]:
    found = Host()
    yield found
    found.leave.set()
    found.session.close()
    found.sandbox.close()


@pytest.fixture(params=["blocking", "asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a program: from a thread, and from each event loop."""

    def run(where: Session | Toolkit, code: str) -> ExecutionResult:
        if request.param == "blocking":
            return where.execute(code)
        return anyio.run(functools.partial(where.aexecute, code), backend=request.param)

    return run


def answer(act: Callable[[], object]) -> object:
    """Return what became of a call that was begun: its value, or the error that it raised."""
    try:
        return act()
    except SandboxError as error:
        return error


def closed_meanwhile(host: Host, run: Run, what: str, code: str) -> object:
    """Run a program, close something in another thread once it has begun, and return what its caller got."""
    got: list[object] = []
    where = host.session if what == "session" else host.toolkit
    thread = threading.Thread(target=lambda: got.append(answer(lambda: run(where, code))))
    thread.start()
    assert host.begun.wait(20)
    host.close(what)
    thread.join(20)
    assert not thread.is_alive()
    return got[0]


@pytest.mark.parametrize("code", GOES_ON.values(), ids=GOES_ON.keys())
@pytest.mark.parametrize("what", ["session", "sandbox"])
@pytest.mark.sampled(every=21)
def test_program_of_closed_sandbox_or_session_raises(host: Host, run: Run, what: str, code: str) -> None:
    got = closed_meanwhile(host, run, what, code)
    assert type(got) is SandboxError
    assert str(got) == CLOSED[what]


@pytest.mark.parametrize("what", ["session", "sandbox"])
@pytest.mark.sampled(every=6)
def test_closing_gives_the_descriptors_of_a_running_program_back(run: Run, what: str) -> None:
    before = len(descriptors())
    host = Host()
    closed_meanwhile(host, run, what, GOES_ON["computing"])
    host.sandbox.close()
    assert becomes(lambda: len(descriptors()), before, within=60)


@pytest.mark.parametrize("what", ["session", "sandbox"])
@pytest.mark.sampled(every=2)
def test_closing_from_tool_or_concurrent_task_works(host: Host, what: str) -> None:
    @ez_tool
    def close() -> None:
        """Close it."""
        host.close(what)

    toolkit = Toolkit([close], sandbox=host.sandbox)
    session = host.session = toolkit.session()
    where = session if what == "session" else toolkit
    got = answer(lambda: where.execute("close()\nwhile True: pass", 20))
    assert str(got) == CLOSED[what].replace("begin", "close")


@pytest.mark.anyio
@pytest.mark.sampled(every=2)
async def test_task_may_close_what_another_uses(host: Host) -> None:
    got: list[object] = []

    async def run() -> None:
        try:
            got.append(await host.session.aexecute(GOES_ON["computing"]))
        except SandboxError as error:
            got.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        while not host.begun.is_set():
            await anyio.lowlevel.checkpoint()
        host.close("session")
    assert str(got[0]) == CLOSED["session"]


@pytest.mark.sampled(every=3)
def test_closed_session_frees_its_capacity(run: Run) -> None:
    host = Host()
    host.sandbox.close()
    host.sandbox = ProcessSandbox(ready=1, running=1, patience=20)
    host.toolkit = Toolkit(host.toolkit.tools, sandbox=host.sandbox)
    for _ in range(3):
        host.begun.clear()
        host.session = host.toolkit.session()
        closed_meanwhile(host, run, "session", GOES_ON["computing"])
        assert run(host.toolkit, "1 + 1").return_value == 2
    host.sandbox.close()


@pytest.mark.sampled(every=3)
def test_session_of_closed_sandbox_raises(host: Host, run: Run) -> None:
    assert run(host.session, "kept = 1").success
    host.sandbox.close()
    for _ in range(2):
        assert "the sandbox of this session is closed" in str(answer(lambda: run(host.session, "kept")))


@pytest.mark.security
def test_closing_at_any_moment_is_answered_with_the_truth(host: Host) -> None:
    """A right result, or that it was closed; never something that has not happened."""
    for step in range(40):
        session = host.toolkit.session()
        assert session.execute("kept = 20").success
        got: list[object] = []

        def use(session: Session = session, got: list[object] = got) -> None:
            got.append(answer(lambda: session.execute("begin()\nbegin()\nkept + 22")))

        thread = threading.Thread(target=use)
        thread.start()
        for _ in range(step * 40):
            if got:
                break
        session.close()
        thread.join(20)
        [found] = got
        if isinstance(found, ExecutionResult):
            assert (found.error, found.return_value) == (None, 42)
        else:
            assert "session" in str(found)
            assert "closed" in str(found)


AT_EXIT = """
import atexit, sys, threading
from ez_ptc import ProcessSandbox, SandboxError, Toolkit, ez_tool

begun, over = threading.Event(), threading.Event()

@ez_tool
def begin() -> None:
    "Say that the program runs."
    begun.set()

sandbox = ProcessSandbox(ready=1) if sys.argv[1] != "toolkit" else None
toolkit = Toolkit([begin], sandbox=sandbox)
session = toolkit.session()

def use():
    try:
        (session if sys.argv[1] == "session" else toolkit).execute("begin()\\nwhile True: pass", 60)
    except SandboxError as error:
        print(error, flush=True)
    over.set()

def close():
    {"sandbox": sandbox and sandbox.close, "session": session.close, "toolkit": toolkit.close}[sys.argv[1]]()
    over.wait(20)
    toolkit.close()

atexit.register(close)
threading.Thread(target=use, daemon=True).start()
assert begun.wait(20)
"""


@pytest.mark.parametrize(
    ("what", "says"), [("session", CLOSED["session"]), ("sandbox", CLOSED["sandbox"]), ("toolkit", CLOSED["sandbox"])]
)
@pytest.mark.sampled(every=0)
def test_closing_at_interpreter_exit_is_answered_normally(what: str, says: str) -> None:
    assert run_script(AT_EXIT, what) == says + "\n"


@pytest.mark.sampled(every=0)
def test_closing_one_toolkit_spares_programs_of_others() -> None:
    code = """
import threading
from ez_ptc import Toolkit, ez_tool
begun = threading.Event()

@ez_tool
def begin() -> None:
    "Say that the program runs."
    begun.set()
    closed.wait(20)

closed = threading.Event()
toolkit, other = Toolkit([begin]), Toolkit([])
assert other.execute("1").success
got = []
thread = threading.Thread(target=lambda: got.append(toolkit.execute("begin()\\n42")))
thread.start()
assert begun.wait(20)
toolkit.close()
closed.set()
thread.join()
print(got[0].return_value, other.execute("1 + 1").return_value)
other.close()
"""
    assert run_script(code) == "42 2\n"
