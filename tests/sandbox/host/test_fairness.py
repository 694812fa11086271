"""The programs of one toolkit do not keep those of another one waiting."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor

import anyio
import pytest

from ez_ptc import ExecutionResult, Limits, Overloaded, ProcessSandbox, Toolkit, ez_tool
from tests.sandbox.fresh import FRESH

SECONDS = 60


class Greedy:
    """A toolkit whose programs run until they may end."""

    def __init__(self, sandbox: ProcessSandbox) -> None:
        self.running = 0
        self.most = 0
        self._sandbox = sandbox
        self._may_end = threading.Event()
        self._changed = threading.Condition()

        @ez_tool
        def hold() -> None:
            """Hold the worker."""
            self._count(1)
            self._may_end.wait(SECONDS)
            self._count(-1)

        self.kit = Toolkit([hold], sandbox=sandbox, limits=Limits(timeout=SECONDS))

    def _count(self, more: int) -> None:
        with self._changed:
            self.running += more
            self.most = max(self.most, self.running)
            self._changed.notify_all()

    def end(self) -> None:
        """Let the programs end."""
        self._may_end.set()

    def wait_for(self, running: int) -> None:
        """Wait until that many of its programs run."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.running >= running, SECONDS), self.running

    @contextlib.contextmanager
    def started(self, count: int) -> Generator[list[Future[ExecutionResult]]]:
        """Start programs in threads; they end with the block, and must not fail."""
        with ThreadPoolExecutor(count) as pool:
            runs = [pool.submit(self.kit.execute, "hold()") for _ in range(count)]
            try:
                yield runs
            finally:
                self.end()
            assert [run.result(SECONDS).error for run in runs] == [None] * count


def numbers_of(kit: Toolkit, count: int, template: str = "{}") -> list[object]:
    """Run programs in many threads, and return their values."""

    def run(number: int) -> object:
        return kit.execute(template.format(number)).return_value

    with ThreadPoolExecutor(40) as pool:
        return list(pool.map(run, range(count)))


def executed(kit: Toolkit, code: str) -> ExecutionResult:
    return kit.execute(code)


def awaited(kit: Toolkit, code: str) -> ExecutionResult:
    return anyio.run(kit.aexecute, code)


def in_session(kit: Toolkit, code: str) -> ExecutionResult:
    with kit.session() as session:
        return session.execute(code)


@pytest.mark.parametrize("run", [executed, awaited, in_session])
@pytest.mark.parametrize("running", [1, 2, 5])
@pytest.mark.sampled(every=10)
def test_other_toolkit_starts_beside_a_greedy_one(running: int, run: Callable[[Toolkit, str], ExecutionResult]) -> None:
    with ProcessSandbox(running=running, ready=1, patience=SECONDS, fresh=FRESH) as sandbox:
        greedy, other = Greedy(sandbox), Toolkit([], sandbox=sandbox)
        with greedy.started(running + 6):
            greedy.wait_for(running)
            for number in range(5):
                assert run(other, str(number)).return_value == number
            assert greedy.running == running
        assert greedy.most == running


@pytest.mark.security
def test_three_hundred_programs_leave_room_for_others() -> None:
    with ProcessSandbox(fresh=FRESH) as sandbox:
        greedy, other = Greedy(sandbox), Toolkit([], sandbox=sandbox)
        with greedy.started(300):
            greedy.wait_for(256)
            assert numbers_of(other, 200) == list(range(200))
            assert greedy.running == 256


def test_open_sessions_of_one_toolkit_leave_room() -> None:
    with ProcessSandbox(running=3, ready=1, fresh=FRESH) as sandbox, contextlib.ExitStack() as stack:
        first, second = (Toolkit([], sandbox=sandbox) for _ in range(2))
        for _ in range(3):
            stack.enter_context(first.session()).execute("1")
        assert second.execute("2").return_value == 2
        assert awaited(second, "3").return_value == 3


@pytest.mark.security
def test_programs_that_wait_for_another_toolkits_programs_end() -> None:
    """All places are held by programs whose tools run others: once a deadlock until the callers gave up."""
    with ProcessSandbox(running=2, ready=1, patience=SECONDS, fresh=FRESH) as sandbox:
        inner = Toolkit([], sandbox=sandbox)

        @ez_tool
        def nested(number: int) -> int:
            """Run a program of the other toolkit."""
            return inner.execute(str(number)).return_value

        outer = Toolkit([nested], sandbox=sandbox, limits=Limits(timeout=SECONDS))
        assert numbers_of(outer, 12, "nested({})") == list(range(12))


@pytest.mark.sampled(every=0)
def test_excess_is_bounded_and_shared() -> None:
    with ProcessSandbox(running=8, ready=1, patience=SECONDS, fresh=FRESH) as sandbox:
        kits = [Greedy(sandbox) for _ in range(5)]
        with contextlib.ExitStack() as stack:
            for kit in kits:
                stack.enter_context(kit.started(10))
            kits[0].wait_for(1)
            # One more than its capacity, whoever has it.
            for _ in range(200):
                assert sum(kit.running for kit in kits) <= 9
                threading.Event().wait(0.001)
            for kit in kits:
                kit.end()


@pytest.mark.security
def test_no_toolkit_starves() -> None:
    """Many short programs of one keep taking places, and each program of the other gets its turn."""
    with ProcessSandbox(running=2, ready=1, patience=SECONDS, fresh=FRESH) as sandbox:
        busy, patient = (Toolkit([], sandbox=sandbox) for _ in range(2))
        is_over = threading.Event()

        def flood() -> None:
            while not is_over.is_set():
                busy.execute("1")

        with ThreadPoolExecutor(10) as pool:
            floods = [pool.submit(flood) for _ in range(6)]
            results = numbers_of(patient, 30)
            is_over.set()
            assert [run.result(SECONDS) for run in floods] == [None] * 6
    assert results == list(range(30))


def test_full_queue_takes_the_first_caller_of_another_toolkit() -> None:
    with ProcessSandbox(running=1, waiting=2, ready=1, patience=SECONDS, fresh=FRESH) as sandbox:
        greedy = Greedy(sandbox)
        others = [Toolkit([], sandbox=sandbox) for _ in range(2)]
        with greedy.started(1):
            greedy.wait_for(1)
            with ThreadPoolExecutor(3) as pool:
                waiting = [pool.submit(greedy.kit.execute, "hold()") for _ in range(2)]
                queue = sandbox._pool._queue  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing tells that they wait
                until = threading.Event()
                for _ in range(5_000):
                    if len(queue) == 2:
                        break
                    until.wait(0.005)
                with pytest.raises(Overloaded):
                    greedy.kit.execute("1")
                assert [kit.execute("5").return_value for kit in others] == [5, 5]
                greedy.end()
                assert [run.result(SECONDS).error for run in waiting] == [None, None]
