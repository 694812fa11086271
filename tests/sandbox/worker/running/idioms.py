"""What programs do that needs the kernel, one function an idiom; `confined` runs them under a filter."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import datetime as dt
import decimal
import errno
import io
import json
import mmap
import os
import platform
import queue
import random
import re
import resource
import select
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
import uuid
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.sandbox.worker.lifecycle.system_calls import NUMBERS

__all__ = ["IDIOMS", "expect_refusal"]

LIBC = ctypes.CDLL(None, use_errno=True)


def expect_refusal(call: Callable[..., object], *arguments: object) -> None:
    try:
        call(*arguments)
    except PermissionError:
        return
    message = f"{call} was not refused"
    raise AssertionError(message)


def threads() -> None:
    """Start many, meet at each kind of lock, wait in vain with a timeout."""
    found: queue.Queue[int] = queue.Queue(1)
    barrier = threading.Barrier(3)
    event = threading.Event()
    many = [threading.Thread(target=found.put, args=(number,)) for number in range(40)]
    many += [threading.Thread(target=barrier.wait) for _ in range(2)]
    many += [threading.Timer(0.001, event.set)]
    for thread in many:
        thread.start()
    assert sum(found.get(timeout=20) for _ in range(40)) == sum(range(40))
    barrier.wait(20)
    assert event.wait(20)
    for thread in many:
        thread.join(20)
    condition = threading.Condition()
    with condition:
        assert not condition.wait(0.001)
    assert threading.get_native_id() != 0


def thread_with_a_big_stack() -> None:
    """Ask for another stack size than the one that is cached."""
    before = threading.stack_size(16 << 20)
    thread = threading.Thread(target=sum, args=([1, 2],))
    thread.start()
    thread.join(20)
    threading.stack_size(before)


def pool() -> None:
    """Map over an executor of threads, of a given size and of that of the machine."""
    with ThreadPoolExecutor(8) as executor:
        assert sum(executor.map(len, ["a"] * 1000)) == 1000
    with ThreadPoolExecutor() as executor:
        assert executor.submit(max, 1, 2).result(20) == 2


async def _echo(number: int) -> int:
    await asyncio.sleep(0.001)
    return number


async def _asynchronous() -> None:
    # A busy machine is no reason for debug mode to write to standard error.
    asyncio.get_running_loop().slow_callback_duration = 60
    assert await asyncio.gather(*map(_echo, range(50))) == list(range(50))
    assert await asyncio.to_thread(sum, [1, 2]) == 3
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()
    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(_echo(number))
    near, far = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=near)
    writer.write(b"hello\n")
    await writer.drain()
    assert far.recv(6, socket.MSG_PEEK) == b"hello\n"
    far.sendall(b"you\n")
    assert await reader.readline() == b"you\n"
    writer.close()
    await writer.wait_closed()
    far.close()


def event_loops() -> None:
    """Run loops one after another, also in debug mode."""
    for debug in (False, True, False):
        asyncio.run(_asynchronous(), debug=debug)


def clocks() -> None:
    """Read each clock there is, sleep, and ask the time of day."""
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        assert time.get_clock_info(name).resolution > 0
    for clock in (time.CLOCK_BOOTTIME, time.CLOCK_TAI, time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID):
        assert time.clock_gettime(clock) > 0
        assert time.clock_getres(clock) > 0
    time.sleep(0)
    time.sleep(0.001)
    assert os.times().elapsed > 0
    assert time.strftime("%Y %Z")
    assert dt.datetime.now().astimezone().tzinfo


def memory() -> None:
    """Grow and drop blocks of all sizes, also from threads, which brings malloc's other arenas in."""

    def churn() -> None:
        for size in range(30):
            block, small = bytearray(size * 50_000), [bytes(1000) for _ in range(2000)]
            del block, small

    grown: list[object] = []
    for number in range(1_000_000):
        grown.append(number)  # noqa: PERF402 - growing bit by bit is the point
    data = bytearray(50 << 20)
    data.extend(bytes(30 << 20))
    del data[100:], grown
    many = [threading.Thread(target=churn) for _ in range(8)]
    for thread in many:
        thread.start()
    for thread in many:
        thread.join(60)
    with mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        area[5] = 7
        area.madvise(mmap.MADV_DONTNEED)
        assert area[5] == 0


def too_much_memory() -> None:
    """Meet the limit as a MemoryError and go on."""
    resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, 400 << 20))
    for size in (1 << 30, 1 << 46):
        try:
            bytearray(size)
        except MemoryError:
            continue
        message = f"{size} bytes were not refused"
        raise AssertionError(message)


def computation() -> None:
    """Do what needs no kernel at all."""
    decimal.getcontext().prec = 2000
    assert str(decimal.Decimal(2).sqrt()).startswith("1.41")
    assert re.sub("a+", "b", "caaat") == "cbt"
    assert json.loads(json.dumps({"a": [1]})) == {"a": [1]}
    assert zlib.decompress(zlib.compress(bytes(10**6))) == bytes(10**6)
    assert len(sorted(random.random() for _ in range(100_000))) == 100_000


def randomness() -> None:
    """Ask the kernel for random bytes."""
    assert len(os.urandom(9)) == 9
    assert uuid.uuid4() != uuid.uuid4()
    assert random.SystemRandom().random() < 1


def alarms() -> None:
    """Interrupt a sleep and a loop, as the soft stop does."""

    def spin() -> None:
        while True:
            pass

    def stop(*_: object) -> None:
        raise TimeoutError

    async def wait_in_a_loop() -> None:
        # Set here: an alarm that came before the loop ran would leave a coroutine that nobody has awaited.
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        await asyncio.get_running_loop().create_future()

    signal.signal(signal.SIGALRM, stop)
    # Nothing sleeps its time out: the alarm comes first.
    waits = ((lambda: time.sleep(60), 0.002), (spin, 0.002), (threading.Event().wait, 0.002))
    for wait, seconds in (*waits, (lambda: asyncio.run(wait_in_a_loop()), 60)):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            wait()
        except TimeoutError:
            continue
        message = "the alarm did not come"
        raise AssertionError(message)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.alarm(100) == 0
    assert signal.alarm(0) > 0
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


def recursion() -> None:
    """Go deep, and too deep."""

    def down(depth: int) -> int:
        return depth and 1 + down(depth - 1)

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    assert down(9000) == 9000
    sys.setrecursionlimit(before)
    try:
        down(10_000)
    except RecursionError:
        return
    message = "no RecursionError"
    raise AssertionError(message)


def descriptors() -> None:
    """Use pipes and socket pairs in every way that asyncio and the runtime might."""
    receive, send = os.pipe()
    with os.fdopen(send, "w") as writer:
        writer.write("hello")
    with io.FileIO(os.dup(receive)) as raw:
        assert raw.read(2) == b"he"
    os.set_blocking(receive, False)
    with os.fdopen(receive) as reader:
        assert reader.read() == "llo"
    near, far = socket.socketpair()
    near.setblocking(False)
    assert near.send(b"x") == 1
    for kind in (selectors.EpollSelector, selectors.PollSelector, selectors.SelectSelector):
        with kind() as selector:
            selector.register(far, selectors.EVENT_READ)
            assert selector.select(20)
    assert select.select([far], [], [], 20)[0] == [far]
    near.settimeout(0.001)
    with contextlib.suppress(TimeoutError):
        near.recv(1)
    near.close()
    far.close()


def curiosity() -> None:
    """Ask what programs ask about their machine."""
    assert os.getcwd()  # noqa: PTH109 - the call itself is what is tried
    assert os.getpid() != os.getppid()
    assert platform.system() == "Linux"
    assert os.cpu_count()
    assert os.sched_getaffinity(0)
    assert os.sysconf("SC_PAGE_SIZE") > 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0


def errors() -> None:
    """Write a traceback of a file that cannot be read, and fail to import."""
    try:
        int("x")
    except ValueError:
        assert "ValueError" in traceback.format_exc()
    try:
        import no_such_module  # noqa: F401 # pyright: ignore[reportMissingImports, reportUnusedImport]
    except ModuleNotFoundError:
        return


def _share_a_page() -> None:
    """Ask the kernel itself: musl's mmap makes a lack of memory of a refusal."""
    number, flags = NUMBERS[platform.machine()]["mmap"], mmap.MAP_SHARED | mmap.MAP_ANONYMOUS
    if LIBC.syscall(*map(ctypes.c_long, (number, 0, 4096, mmap.PROT_READ, flags, -1, 0))) == -1:
        raise OSError(ctypes.get_errno(), "the page is not shared")


def forbidden() -> None:
    """Reach for files, networks and processes, and be refused with an exception."""
    expect_refusal(Path("/etc/passwd").read_text)
    expect_refusal(os.listdir, "/")
    expect_refusal(os.stat, "/proc/1")
    expect_refusal(os.mkdir, "/tmp/x")
    expect_refusal(os.fork)
    expect_refusal(os.execv, "/bin/true", ["true"])
    expect_refusal(os.kill, os.getpid(), 0)
    expect_refusal(os.memfd_create, "x")
    expect_refusal(socket.socket)
    expect_refusal(socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM)
    expect_refusal(_share_a_page)
    expect_refusal(time.clock_gettime, (~1 << 3) | 2)  # the CPU clock of process 1
    page = ctypes.c_size_t.in_dll(LIBC, "environ").value & ~4095
    assert LIBC.mremap(ctypes.c_size_t(page), ctypes.c_size_t(4096), ctypes.c_size_t(1 << 30), 1) == -1  # the stack
    assert ctypes.get_errno() == errno.EPERM
    assert not os.path.exists("/etc")  # noqa: PTH110 - pathlib's raises


IDIOMS: tuple[Callable[[], None], ...] = (
    threads,
    thread_with_a_big_stack,
    pool,
    event_loops,
    clocks,
    memory,
    computation,
    randomness,
    alarms,
    recursion,
    descriptors,
    curiosity,
    errors,
    forbidden,
    too_much_memory,
)
"""The last one lowers a limit for good."""
