"""Every system call there is, made by a program in a real worker, against the list of what is allowed."""

from __future__ import annotations

import errno
import platform
from collections.abc import Iterable

import pytest

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.escapes.catalog import OWN
from tests.sandbox.worker.lifecycle.bpf import ALLOW, Filter, refusal
from tests.sandbox.worker.lifecycle.test_filters import FILTERS, PAST_THE_FILTER, X32, expected_with

LAST = 600
KILLED = "killed"
LET_THROUGH = "let through"
REFUSED = {code: errno.errorcode[code] for code in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EAGAIN)}
SURVEY = """
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, lambda *a: None)
for number in {numbers}:
    about(number)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)  # for what waits: select, pselect6, ppoll
    result = libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0)
    answered(number, ctypes.get_errno() if result == -1 else 0)
"""


class Survey:
    """What was answered to each call, by its number."""

    def __init__(self, sandbox: ProcessSandbox) -> None:
        @ez_tool
        def about(number: int) -> None:
            """Note which call is about to be made."""
            self._last = number

        @ez_tool
        def answered(number: int, code: int) -> None:
            """Note what was answered."""
            self.answers[number] = REFUSED.get(code, LET_THROUGH)

        self.answers: dict[int, str] = {}
        self._last = -1
        self._toolkit = Toolkit([about, answered], limits=Limits(timeout=20, calls=3000), sandbox=sandbox)

    def make(self, numbers: Iterable[int]) -> dict[int, str]:
        """Make the calls, in as many workers as it takes."""
        left: list[int] = list(numbers)
        while left:
            error = self._toolkit.execute(SURVEY.format(numbers=left)).error
            if error is None:
                break
            # Whatever it was, the worker did not outlive it: killed, or ended as it asked (exit).
            assert self._last in left, error
            self.answers[self._last] = KILLED if "SIGSYS" in error else LET_THROUGH
            left = [number for number in left if number not in self.answers]
        return self.answers


@pytest.fixture
def survey(sandbox: ProcessSandbox) -> Survey:
    if platform.machine() not in {"x86_64", "aarch64"}:
        pytest.skip(f"there is no filter for {platform.machine()}")
    return Survey(sandbox)


def test_worker_can_make_only_listed_system_calls(survey: Survey) -> None:
    check_survey(survey, "worker")


@pytest.mark.sampled(every=0)
def test_packages_add_only_thread_wakeups() -> None:
    with ProcessSandbox(allow_imports=["attr"]) as sandbox:
        check_survey(Survey(sandbox), "packages")


def check_survey(survey: Survey, policy: str) -> None:
    machine = platform.machine()
    if machine not in {"x86_64", "aarch64"}:
        pytest.skip(f"there is no filter for {machine}")
    names = {ALLOW: LET_THROUGH} | {refusal(code): name for code, name in REFUSED.items()}
    allowed = expected_with((), policy, machine)
    promised = {number: names[allowed.get(number, refusal(errno.EPERM))] for number in range(LAST + 1)}
    found = survey.make(range(LAST + 1))
    assert found.keys() == promised.keys()
    past = PAST_THE_FILTER if machine == "x86_64" else frozenset[int]()
    assert {
        number: (found[number], promised[number]) for number in found if found[number] != promised[number]
    }.keys() <= past
    assert sum(answer == LET_THROUGH for answer in found.values()) < 70


def x32(survey: Survey, numbers: Iterable[int]) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("x32 is a way of calling of x86-64 only")
    found = survey.make(X32 | number for number in numbers)
    assert set(found.values()) == {KILLED}


def test_x32_call_kills_a_worker(survey: Survey) -> None:
    x32(survey, [*range(0, LAST, 40), 512, 520, 545, 547])


@pytest.mark.security
def test_every_x32_call_kills_a_worker(survey: Survey) -> None:
    x32(survey, range(LAST + 1))


def test_i386_call_kills_a_worker(sandbox: ProcessSandbox) -> None:
    """By two bytes in the middle of libc that happen to say `int 0x80`: a program has no code of its own."""
    if platform.machine() != "x86_64":
        pytest.skip("only x86-64 has calls of another architecture")
    with Toolkit([], sandbox=sandbox) as toolkit:
        result = toolkit.execute(OWN["executable: int 0x80 inside libc"][0])
    if result.success:
        pytest.skip("this libc has no such bytes")
    assert "SIGSYS" in (result.error or "")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filters_only_allow_refuse_or_kill(machine: str) -> None:
    """No tracer, no notification, no logging: what an answer in between would leave to somebody else.

    The second filter of restored workers refuses nothing, and its notices let each call go on.
    """
    for path in [path for path in FILTERS.glob(f"*.{machine}.bpf") if not path.name.startswith("traceless")]:
        answers = {k for code, _, _, k in Filter.parse(path.read_bytes()).instructions if code == 0x06}
        assert answers <= {ALLOW, 0x80000000, *map(refusal, REFUSED)}
