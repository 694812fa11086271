"""Two programs that run at a time, of two toolkits: whatever one does in the kernel, the other one finds no change."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ez_ptc import ExecutionResult, Limits, ProcessSandbox, Toolkit, ez_tool
from tests.sandbox.worker.lifecycle.bpf import ALLOW, Filter
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS
from tests.sandbox.worker.lifecycle.test_filters import FILTERS

SECONDS = 30
MACHINE = platform.machine()
LSEEK = NUMBERS[MACHINE]["lseek"] if MACHINE in NUMBERS else 0
TOGETHER = """
import ctypes, fcntl, os, resource, socket, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, arguments))
    return result if result >= 0 else -ctypes.get_errno()
"""
SENDER = """
for step in {steps}:
    exec(step)
    meet()  # the other one looks now
    meet()
"""
RECEIVER = """
def look():
    return {look}
before, found = look(), []
for step in {steps}:
    meet()
    if look() != before:
        found.append(step)
    meet()
found
"""


@pytest.fixture(params=["process", "restored"], scope="module")
def kits(request: pytest.FixtureRequest) -> Iterator[tuple[Toolkit, Toolkit]]:
    """Two toolkits of one sandbox, whose programs wait for one another with the tool `meet`."""
    both = threading.Barrier(2)

    @ez_tool
    def meet() -> None:
        """Wait for the other program."""
        both.wait(SECONDS)

    @ez_tool
    def other() -> None:
        """Do nothing."""

    if request.param == "restored" and MACHINE != "x86_64":
        pytest.skip("workers are restored on x86-64 only")
    with ProcessSandbox(fresh=request.param) as sandbox:
        limits = Limits(timeout=SECONDS, calls=10_000)
        found = tuple(Toolkit(tools, sandbox=sandbox, limits=limits) for tools in ([meet], [meet, other]))
        for _ in range(3):
            for kit in found:
                kit.execute("1")
        yield found[0], found[1]


def run_both(kits: tuple[Toolkit, Toolkit], first: str, second: str) -> tuple[ExecutionResult, ExecutionResult]:
    """Run two programs at a time, and return their results."""
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(kit.execute, TOGETHER + code) for kit, code in zip(kits, (first, second), strict=True)]
        results = [run.result(2 * SECONDS) for run in runs]
    assert [result.error for result in results] == [None, None]
    return results[0], results[1]


def admitted(name: str, arguments: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the arguments with which a worker's filter lets a call through."""
    filter_ = Filter.parse((FILTERS / f"worker.{MACHINE}.bpf").read_bytes())
    return [each for each in arguments if filter_.answer(MACHINE, NUMBERS[MACHINE][name], *each) == ALLOW]


@pytest.fixture(autouse=True)
def _filtered() -> None:
    if MACHINE not in NUMBERS:
        pytest.skip(f"there is no filter for {MACHINE}")


STREAMS = (
    f"[[libc.fcntl(3, 3, 0)], [(libc.fcntl(fd, 1, 0), libc.fcntl(fd, 3, 0), call({LSEEK}, fd, 0, 1))"
    " for fd in (0, 1, 2)]]"
)


@pytest.mark.sampled(every=2)
def test_no_admitted_command_reaches_descriptors_of_others(kits: tuple[Toolkit, Toolkit]) -> None:
    """Every command of fcntl and ioctl that the filter admits, with every flag, on every descriptor of a worker."""
    commands = [command for _, command in admitted("fcntl", [(0, command) for command in range(2048)])]
    requests = [request for _, request in admitted("ioctl", [(0, request) for request in range(0x10000)])]
    assert (len(commands), len(requests)) == (5, 3)
    flags = [0, *(1 << bit for bit in range(24)), 0xFFFFFFFF]
    # Not on the link: a program that sets its flags loses it.
    steps = [
        f"for flag in {flags}: libc.fcntl({fd}, {command}, ctypes.c_ulong(flag))"
        for fd in (0, 1, 2)
        for command in commands
        if command != 1030
    ]
    steps += [f"libc.ioctl({fd}, {request}, ctypes.byref(ctypes.c_int(1)))" for fd in (0, 1, 2) for request in requests]
    steps += [f"call({LSEEK}, {fd}, 4711, 0)" for fd in (0, 1, 2)]
    steps += [f"os.set_blocking({fd}, {value})" for fd in (0, 1, 2) for value in (False, True, False)]
    steps += [f"os.write({fd}, b'x' * 70000); os.read({fd}, 10)" for fd in (0, 1, 2)]
    steps += ["copy = libc.fcntl(0, 1030, 0); libc.fcntl(copy, 4, 0x800); os.close(copy)", "libc.fcntl(3, 4, 0x400)"]
    _, result = run_both(kits, SENDER.format(steps=steps), RECEIVER.format(steps=steps, look=STREAMS))
    assert result.return_value == []


@pytest.mark.parametrize("operation", [0, 9, 0x100, 0x109])
def test_no_futex_is_shared(kits: tuple[Toolkit, Toolkit], operation: int) -> None:
    """A page of the C library is one object for all processes, unless a futex is private."""
    number = NUMBERS[MACHINE]["futex"]
    word = "word = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~3\n"
    waits = f"""
class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
limit = Time(3, 0)
if {operation} & 0x100: limit = Time(int(time.time()) + 3, 0)
elif {operation} & 8: limit = Time(int(time.monotonic()) + 3, 0)
meet()
call({number}, word, {operation}, ctypes.c_uint32.from_address(word).value, ctypes.addressof(limit), 0, 0xFFFFFFFF)
"""
    wakes = f"""
meet()
until, woken = time.monotonic() + 1, 0
while time.monotonic() < until and not woken:
    woken = max(*(call({number}, word, operation, 99, 99, word + 4, 0xFFFFFFFF) for operation in (1, 3, 10, 0x81)))
woken
"""
    waited, woken = run_both(kits, word + waits + "\n'waited'", word + wakes)
    assert woken.return_value <= 0
    assert waited.return_value == "waited"


def test_private_futexes_and_joins_work(kits: tuple[Toolkit, Toolkit]) -> None:
    code = """
import threading, ctypes
def work(): done.append(1)
done = []
threads = [threading.Thread(target=work) for _ in range(30)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
# As a C library joins: by the word that the kernel clears when a thread ends.
thread, libc = ctypes.c_ulong(), ctypes.CDLL(None)
assert libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.usleep, ctypes.c_void_p), 50_000) == 0
assert libc.pthread_join(thread, None) == 0
len(done)
"""
    assert kits[0].execute(code).return_value == 30


COUNTS = """{
    name: resource.getrlimit(number) for name, number in vars(resource).items() if name.startswith("RLIMIT_")
}, resource.getrusage(resource.RUSAGE_CHILDREN), os.getppid(), os.getcwd(), os.uname(), os.sched_getaffinity(0),
"""


def test_nothing_that_counts_for_a_user_is_seen(kits: tuple[Toolkit, Toolkit]) -> None:
    """Threads, sockets, pending signals and timers of one program change nothing that another one can ask for."""
    steps = [
        # Before there are threads, one of which would take the signal.
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
        "kept = [socket.socketpair() for _ in range(20)]",
        "event = threading.Event(); threads = [threading.Thread(target=event.wait) for _ in range(20)]",
        "[thread.start() for thread in threads]",
        "signal.setitimer(signal.ITIMER_VIRTUAL, 0.001); sum(range(10 ** 6))",
        "import select; epoll = select.epoll(); [epoll.register(end) for pair in kept for end in pair]",
        "memory = bytearray(100 << 20)",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))",
        "event.set(); [thread.join() for thread in threads]; kept.clear(); del memory",
    ]
    look = f"[{COUNTS}]"
    _, result = run_both(kits, SENDER.format(steps=steps), RECEIVER.format(steps=steps, look=look))
    assert result.return_value == []


@pytest.mark.parametrize("name", ["NPROC", "MEMLOCK", "SIGPENDING", "MSGQUEUE", "NICE", "RTPRIO", "RTTIME"])
def test_no_limit_measures_what_others_use(kits: tuple[Toolkit, Toolkit], name: str) -> None:
    """Who could lower such a limit would find by bisection how much all processes of the user have."""
    code = f"""
def lower():
    soft, hard = resource.getrlimit(resource.RLIMIT_{name})
    try:
        resource.setrlimit(resource.RLIMIT_{name}, (min(soft, 1) if soft >= 0 else 1, hard))
    except (PermissionError, ValueError):
        return "refused"
lower()
"""
    assert kits[0].execute(TOGETHER + code).return_value == "refused"


def test_no_number_counts_what_the_machine_makes(kits: tuple[Toolkit, Toolkit]) -> None:
    """The inode number of a socket or a pipe is the next one of the machine."""
    code = """
import select
def numbers():
    buffer = ctypes.create_string_buffer(512)
    for fd in (0, 3, *(end.fileno() for end in socket.socketpair()), select.epoll().fileno()):
        for number in STATS:
            yield call(number, fd, ctypes.addressof(buffer), ctypes.addressof(buffer), 0x1000, ctypes.addressof(buffer))
        try:
            yield os.fstat(fd).st_ino
        except PermissionError:
            yield -1
sorted(set(numbers()))
"""
    numbers = [NUMBERS[MACHINE][name] for name in ("fstat", "newfstatat", "statx") if name in NUMBERS[MACHINE]]
    found = kits[0].execute(TOGETHER + code.replace("STATS", str(numbers))).return_value
    assert found == [-13, -1]


def test_null_device_keeps_no_times(kits: tuple[Toolkit, Toolkit]) -> None:
    """All descriptors of null devices lead to one inode: reading and writing change none of its times."""

    def look() -> tuple[int, ...]:
        status = Path(os.devnull).stat()
        return status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns

    before = look()
    code = "[(os.write(fd, b'x' * 70000), os.read(fd, 10)) for fd in (0, 1, 2) for _ in range(100)]"
    assert kits[0].execute(TOGETHER + code).error is None
    assert look() == before
