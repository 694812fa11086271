"""The two filters of restored workers: what their zygote may do, and which calls leave no trace."""

from __future__ import annotations

import pytest

from tests.sandbox.worker.lifecycle.bpf import ALLOW, KILL, Filter
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS
from tests.sandbox.worker.lifecycle.test_filters import FILTERS, names

MACHINE = "x86_64"
NOTIFY = 0x7FC00000
X32 = 0x40000000
PROC_FD, CLOEXEC = 9, 0o2000000
# These change nothing of what the kernel keeps of a process, with any arguments that a worker may use.
WITHOUT_TRACE = names(
    "read write readv writev recvfrom sendto poll ppoll select pselect6 getpid getppid gettid getuid geteuid "
    "getgid getegid getcwd uname getrandom getrusage sched_getaffinity clock_gettime clock_getres clock_nanosleep "
    "nanosleep gettimeofday time times getitimer sched_yield exit exit_group sendmsg"
)
# name, arguments, is without trace
CASES = (
    ("prlimit64", (0, 7, 0), True),
    ("prlimit64", (0, 7, 4096), False),
    ("prlimit64", (0, 2, 4096), True),  # RLIMIT_DATA is restored
    ("fcntl", (3, 1), True),
    ("fcntl", (3, 3), True),
    *(("fcntl", (3, command), False) for command in (0, 2, 4, 1030)),
    ("futex", (4096, 0x80), True),
    ("futex", (4096, 0x81), True),
    ("futex", (4096, 0x83), False),
    ("futex", (4096, 0), False),
    ("futex", (4096, 1), False),
)


def load(policy: str) -> Filter:
    return Filter.parse((FILTERS / f"{policy}.{MACHINE}.bpf").read_bytes())


def test_every_call_but_the_listed_is_told() -> None:
    filter_ = load("traceless")
    numbers = {NUMBERS[MACHINE][name] for name in WITHOUT_TRACE}
    by_argument = {NUMBERS[MACHINE][name] for name, *_ in CASES}
    for number in [*range(1200), 2**30 - 1, 2**32 - 1]:
        if number not in by_argument and number not in range(X32, 2 * X32):
            assert filter_.answer(MACHINE, number) == (ALLOW if number in numbers else NOTIFY), number


@pytest.mark.parametrize(("name", "arguments", "is_traceless"), CASES)
def test_multi_purpose_call_is_told_by_its_arguments(
    name: str, arguments: tuple[int, ...], *, is_traceless: bool
) -> None:
    assert load("traceless").answer(MACHINE, NUMBERS[MACHINE][name], *arguments) == (ALLOW if is_traceless else NOTIFY)


def test_call_by_other_rules_kills_a_restored_worker() -> None:
    filter_ = load("traceless")
    assert {filter_.answer(MACHINE, X32 | number) for number in range(600)} == {KILL}
    assert {filter_.answer("i386", number) for number in range(600)} == {KILL}


def test_what_leaves_no_trace_is_allowed_to_workers() -> None:
    """But for `sendmsg`, which hands over the second filter before the first is there."""
    worker = load("worker")
    refused = {name for name in WITHOUT_TRACE if worker.answer(MACHINE, NUMBERS[MACHINE][name]) != ALLOW}
    assert refused == {"sendmsg"}


def test_keeper_does_all_that_a_zygote_does_and_little_more() -> None:
    keeper, zygote = load("keeper"), load("zygote")
    allowed = {number for number in range(600) if zygote.answer(MACHINE, number) == ALLOW}
    more = {number for number in range(600) if keeper.answer(MACHINE, number) == ALLOW} - allowed
    assert {number for number in allowed if keeper.answer(MACHINE, number) != ALLOW} == set()
    # pread64, process_vm_readv, process_vm_writev, landlock_create_ruleset, landlock_restrict_self
    assert more == {17, 310, 311, 444, 446}


@pytest.mark.parametrize(
    ("arguments", "is_allowed"),
    [
        ((PROC_FD, 4096, CLOEXEC), True),
        ((PROC_FD, 4096, 0), True),
        ((PROC_FD, 4096, 1), False),
        ((PROC_FD, 4096, 0o100), False),
        ((PROC_FD + 1, 4096, CLOEXEC), False),
        ((2**64 - 100, 4096, CLOEXEC), False),  # AT_FDCWD
    ],
)
def test_keeper_opens_files_of_proc_only(arguments: tuple[int, ...], *, is_allowed: bool) -> None:
    assert (load("keeper").answer(MACHINE, 257, *arguments) == ALLOW) == is_allowed
