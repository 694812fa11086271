"""The seccomp filters answer what the sandbox promises: in a simulator for both machines, and in this kernel."""

from __future__ import annotations

import errno
import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.worker.lifecycle.bpf import ALLOW, KILL, Filter, refusal
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS

ROOT = Path(__file__).resolve().parents[4]
FILTERS = ROOT / "src" / "ez_ptc" / "sandbox" / "worker" / "lifecycle" / "filters"
SCRIPT = ROOT / "scripts" / "make_filters.py"

MACHINES = ("x86_64", "aarch64")
POLICIES = ("worker", "packages", "zygote")
X32 = 0x40000000
ONES = (2**64 - 1,) * 6
# uretprobe and uprobe pass every filter: the kernel's own trampolines make these calls, and from elsewhere they fail.
PAST_THE_FILTER = {335, 336}

EPERM, EACCES, ENOSYS, EAGAIN = map(refusal, (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EAGAIN))


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALWAYS = names(
    "brk munmap nanosleep gettimeofday time times getitimer setitimer alarm set_robust_list rseq sched_yield exit "
    "exit_group restart_syscall rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack getpid getppid gettid getuid "
    "geteuid getgid getegid getcwd uname getrandom getrusage read readv write writev close lseek poll ppoll "
    "select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait"
)
FOR_PACKAGES = names("eventfd2")
WITH_ZEROS = names("clock_gettime clock_getres clock_nanosleep sched_getaffinity prlimit64 pipe2 sendto recvfrom")
FILES = names(
    "open openat openat2 creat access faccessat faccessat2 stat fstat lstat newfstatat statx readlink readlinkat "
    "getdents64 chdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 truncate chmod fchmodat link "
    "linkat symlink symlinkat"
)
ALWAYS_FOR_THE_ZYGOTE = names(
    "fork wait4 waitid set_tid_address pidfd_open pidfd_send_signal sendmsg recvmsg dup2 dup3 close_range fstat"
)
ZYGOTE_WITH_ZEROS = names("kill")

SIGCHLD, THREAD, FORK = 17, 0x3D0F00, 0x01200011
ANONYMOUS = 0x22

Case = tuple[str, tuple[int, ...], bool, bool]
CASES: tuple[Case, ...] = (
    # name, arguments, may a worker, may the zygote
    ("mmap", (0, 4096, 0, ANONYMOUS), True, True),
    ("mmap", (0, 4096, 3, ANONYMOUS), True, True),
    ("mmap", (0, 4096, 3, ANONYMOUS | 0x4010), True, True),  # NORESERVE, FIXED
    ("mmap", (0, 4096, 3, ANONYMOUS | 0x20000), True, True),  # STACK
    ("mmap", (0, 4096, 1, ANONYMOUS), False, False),  # its page tables would be free of charge
    ("mmap", (0, 4096, 7, ANONYMOUS), False, False),
    ("mmap", (0, 4096, 5, ANONYMOUS), False, False),
    ("mmap", (0, 4096, 4, ANONYMOUS), False, False),
    ("mmap", (0, 4096, 3 | 0x10, ANONYMOUS), False, False),  # BTI
    ("mmap", (0, 4096, 3 | 0x20, ANONYMOUS), False, False),  # MTE: its tags take memory that nobody counts
    ("mmap", (0, 4096, 3, 0x21), False, False),  # SHARED
    ("mmap", (0, 4096, 3, 0x23), False, False),  # SHARED_VALIDATE
    ("mmap", (0, 4096, 3, 0x02), False, False),  # of a file
    ("mmap", (0, 4096, 3, ANONYMOUS | 0x100), False, False),  # GROWSDOWN
    ("mmap", (0, 4096, 3, ANONYMOUS | 0x2000), False, False),  # LOCKED
    ("mmap", (0, 4096, 3, ANONYMOUS | 0x40000), False, False),  # HUGETLB
    ("mprotect", (0, 4096, 3), True, True),
    ("mprotect", (0, 4096, 0), False, False),
    ("mprotect", (0, 4096, 1), False, False),
    ("mprotect", (0, 4096, 5), False, False),
    ("mprotect", (0, 4096, 7), False, False),
    ("mprotect", (0, 4096, 3 | 0x10), False, False),
    ("mprotect", (0, 4096, 3 | 0x20), False, False),
    ("mprotect", (0, 4096, 3 | 0x01000000), False, False),  # GROWSDOWN
    ("mprotect", (0, 4096, 3 | 4 << 32), False, False),
    ("mremap", (0x7FFC00000000, 4096, 1 << 30, 1), False, False),  # the stack's lowest place
    ("mremap", (0x7F0000000000, 4096, 1 << 30, 3), False, False),  # FIXED
    ("mremap", (0x7F0000000000, 4096, 1 << 30, 5), False, False),  # DONTUNMAP
    ("madvise", (0, 4096, 4), True, True),
    ("madvise", (0, 4096, 8), True, True),
    ("madvise", (0, 4096, 102), True, True),
    ("madvise", (0, 4096, 103), True, True),
    ("madvise", (0, 4096, 12), False, False),  # MERGEABLE
    ("madvise", (0, 4096, 100), False, False),  # HWPOISON
    ("clone", (THREAD,), True, True),
    ("clone", (THREAD | 0x400000,), True, True),  # as musl does
    ("clone", (FORK,), False, True),
    ("clone", (SIGCHLD,), False, True),
    ("clone", (0,), False, False),
    ("clone", (THREAD & ~0x10000,), False, False),  # no THREAD
    ("clone", (0x4111,), False, False),  # vfork: VM, VFORK
    *(
        ("clone", (flags | 1 << bit,), False, False)  # namespaces, ptrace, parent, pidfd, io
        for bit in (7, 12, 13, 14, 15, 17, 23, 25, 26, 27, 28, 29, 30, 31)
        for flags in (THREAD, FORK)
    ),
    ("futex", (0, 0x80), True, True),
    ("futex", (0, 0x81), True, True),
    ("futex", (0, 0x189), True, True),
    ("futex", (0, 0x83), True, True),
    *(("futex", (0, operation), False, False) for operation in (0, 1, 3, 9, 0x100, 0x109)),  # one for all processes
    *(("futex", (0, operation), False, False) for operation in (2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 0x86)),
    ("clock_gettime", (11,), True, True),
    ("clock_gettime", (12,), False, False),
    ("clock_gettime", ((~1 << 3) | 2,), False, False),  # process 1
    ("clock_getres", (0xFFFFFFF6,), False, False),
    ("clock_nanosleep", ((~1 << 3) | 2,), False, False),
    ("sched_getaffinity", (1,), False, False),
    ("prlimit64", (1,), False, False),
    *(("prlimit64", (0, resource), True, True) for resource in range(16)),  # asks only
    *(("prlimit64", (0, resource, 4096), True, True) for resource in (0, 1, 2, 3, 4, 5, 7, 9)),
    # NPROC, MEMLOCK, SIGPENDING, MSGQUEUE and others: compared with what the user's other processes have.
    *(("prlimit64", (0, resource, 4096), False, False) for resource in (6, 8, 10, 11, 12, 13, 14, 15, 16)),
    ("socketpair", (1, 1, 0), True, True),
    ("socketpair", (1, 1 | 0x80800, 0), True, True),
    ("socketpair", (1, 2, 0), False, False),  # a datagram may have an address
    ("socketpair", (1, 5, 0), False, False),
    ("socketpair", (2, 1, 0), False, False),
    ("socketpair", (1, 1, 1), False, False),
    ("sendto", (3, 0, 0, 0x4040, 0), True, True),
    ("sendto", (3, 0, 0, 0, 0x1000), False, False),  # an address
    ("sendto", (3, 0, 0, 0, 1 << 32), False, False),
    ("sendto", (3, 0, 0, 1, 0), False, False),  # OOB
    ("recvfrom", (3, 0, 0, 0x4142), True, True),
    ("recvfrom", (3, 0, 0, 1), False, False),  # OOB
    ("recvfrom", (3, 0, 0, 0x2000), False, False),  # ERRQUEUE
    ("pipe2", (0, 0x80800), True, True),
    ("pipe2", (0, 0x80), False, False),  # NOTIFICATION_PIPE
    ("pipe2", (0, 0x4000), False, False),  # DIRECT
    *(("ioctl", (3, request), True, True) for request in (0x5421, 0x5450, 0x5451)),
    *(("ioctl", (3, request), False, False) for request in (0, 0x5401, 0x5412, 0x5413, 0x541B, 0x5452, 0x8901)),
    *(("fcntl", (3, command), True, True) for command in (1, 2, 3, 4, 1030)),
    *(("fcntl", (3, command), False, False) for command in (0, 5, 6, 8, 10, 15, 1024, 1031, 1033)),
    *(("prctl", (option,), False, True) for option in (1, 4, 15, 22, 38)),
    *(
        ("prctl", (option,), False, False)
        for option in (0, 8, 23, 24, 28, 31, 35, 36, 47, 50, 54, 55, 0x53564D41, 0x59616D61)
    ),
    ("seccomp", (1, 0), False, True),
    ("seccomp", (1, 8), False, False),  # NEW_LISTENER
    ("seccomp", (0, 0), False, False),
    ("kill", (7, 9), False, True),
    ("kill", (2**32 - 1, 9), False, False),
    ("kill", (2**64 - 1, 9), False, False),
    ("newfstatat", (3, 0, 0, 0x1000), False, True),
    ("newfstatat", (3, 0, 0, 0x1100), False, False),
)


def load(policy: str, machine: str) -> Filter:
    return Filter.parse((FILTERS / f"{policy}.{machine}.bpf").read_bytes())


def expected_with(arguments: tuple[int, ...], policy: str, machine: str) -> dict[int, int]:
    """Return what the table above promises for each number, called with only zeros or only ones."""
    allowed = ALWAYS | (WITH_ZEROS if arguments == () else frozenset[str]())
    if policy != "worker" and arguments == ():
        allowed |= FOR_PACKAGES
    refused = {"clone3": ENOSYS}
    if arguments == ():
        refused["futex"] = EAGAIN
    if policy == "zygote":
        allowed |= ALWAYS_FOR_THE_ZYGOTE | (ZYGOTE_WITH_ZEROS if arguments == () else frozenset[str]())
    else:
        refused |= dict.fromkeys(FILES, EACCES)
    answers = dict.fromkeys(allowed, ALLOW) | refused
    numbers = NUMBERS[machine]
    return {numbers[name]: answer for name, answer in answers.items() if name in numbers}


@pytest.mark.parametrize("arguments", [(), ONES], ids=["zeros", "ones"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("policy", POLICIES)
def test_only_the_calls_of_the_list_are_allowed(policy: str, machine: str, arguments: tuple[int, ...]) -> None:
    """Every number there is and many that are not, asked of the simulator."""
    filter_ = load(policy, machine)
    promised = expected_with(arguments, policy, machine)
    numbers = [*range(1200), 2**30 - 1, 2**32 - 1]
    found = {number: filter_.answer(machine, number, *arguments) for number in numbers}
    assert found == {number: promised.get(number, EPERM) for number in numbers}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("policy", POLICIES)
def test_multi_purpose_system_call_is_filtered_by_arguments(policy: str, machine: str) -> None:
    """Each case of the table, for the machines that have the call."""
    filter_ = load(policy, machine)
    numbers = NUMBERS[machine]
    wrong: list[str] = []
    for name, arguments, worker, zygote in CASES:
        allowed = zygote if policy == "zygote" else worker
        if name in numbers and (filter_.answer(machine, numbers[name], *arguments) == ALLOW) != allowed:
            wrong.append(f"{name}{arguments} must be {'allowed' if allowed else 'refused'}")
    assert wrong == []


def test_mremap_may_move_only_outside_the_stack() -> None:
    """The limit on memory does not count a stack; aarch64 has no address that tells the two apart everywhere."""
    for policy in POLICIES:
        for machine, allowed in (("x86_64", ALLOW), ("aarch64", EPERM)):
            number = NUMBERS[machine]["mremap"]
            assert load(policy, machine).answer(machine, number, 0x7F0000000000, 4096, 8192, 1) == allowed


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_call_by_the_rules_of_another_architecture_kills(policy: str, machine: str) -> None:
    """So that no number means one thing to the filter and another to the kernel."""
    filter_ = load(policy, machine)
    others = {"x86_64", "aarch64", "i386", "arm", "riscv64"} - {machine}
    assert {filter_.answer(other, number) for other in others for number in range(600)} == {KILL}


@pytest.mark.parametrize("policy", POLICIES)
def test_x32_calls_kill(policy: str) -> None:
    """The x32 numbers of x86-64 come with the architecture of the others."""
    filter_ = load(policy, "x86_64")
    assert {filter_.answer("x86_64", X32 | number) for number in range(1200)} == {KILL}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_zygote_may_do_all_that_a_worker_may(machine: str) -> None:
    """A worker's filter is stacked on the zygote's: what either refuses is refused."""
    worker, zygote = load("worker", machine), load("zygote", machine)
    calls = [(NUMBERS[machine][name], arguments) for name, arguments, *_ in CASES if name in NUMBERS[machine]]
    calls += [(number, ()) for number in range(600)]
    allowed = [
        (number, arguments) for number, arguments in calls if worker.answer(machine, number, *arguments) == ALLOW
    ]
    assert len(allowed) > len(ALWAYS) / 2
    assert {zygote.answer(machine, number, *arguments) for number, arguments in allowed} == {ALLOW}


def run_confined(policy: str, what: str) -> dict[str, str]:
    """Run the program beside this test under a filter of this machine and return its report."""
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        pytest.skip(f"there is no filter for {sys.platform} on {platform.machine()}")
    blob = FILTERS / f"{policy}.{platform.machine()}.bpf"
    command = [sys.executable, "-W", "error", "-m", "tests.sandbox.worker.lifecycle.confined", str(blob), what]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_python_works_under_the_filter_of_a_worker() -> None:
    """Threads, event loops, alarms, memory, pipes: everything but what reaches outside."""
    assert run_confined("worker", "idioms") == {}


@pytest.mark.sampled(every=0)
def test_zygote_forks_and_passes_workers_under_filter() -> None:
    """Fork, stack the worker's filter, pass descriptors, kill, reap."""
    assert run_confined("zygote", "forking") == {}


@pytest.mark.security
def test_this_kernel_answers_as_the_simulator_does() -> None:
    """Every number and its x32 twin, called with zeros in a confined process."""
    answers = {int(number): answer for number, answer in run_confined("worker", "survey").items()}
    machine = platform.machine()
    filter_ = load("worker", machine)
    refusals = {refusal(code): f"errno {code}" for code in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EAGAIN)}
    refusals[KILL] = "SIGSYS"
    past = PAST_THE_FILTER if machine == "x86_64" else set[int]()
    promised = {number: refusals.get(filter_.answer(machine, number), "let through") for number in answers}
    found = {number: answer if answer in refusals.values() else "let through" for number, answer in answers.items()}
    assert {number: found[number] for number in answers if found[number] != promised[number]}.keys() <= past
    assert len(answers) > 1000


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script's comparison, or skip with its own sentence."""
    command = [sys.executable, str(SCRIPT), "--check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.stderr.startswith("skipped"):
        pytest.skip(done.stderr.strip())
    return done


def test_committed_filters_match_the_script() -> None:
    """Nobody edited a blob, and nobody edited the policy alone."""
    done = check()
    assert (done.returncode, done.stdout) == (0, "")


def test_the_comparison_names_a_filter_that_differs(tmp_path: Path) -> None:
    """One bit is enough, and a missing file differs as well."""
    shutil.copytree(FILTERS, tmp_path, dirs_exist_ok=True)
    changed = tmp_path / "worker.x86_64.bpf"
    changed.write_bytes(changed.read_bytes()[:-1] + b"\x01")
    (tmp_path / "zygote.aarch64.bpf").unlink()
    done = check(str(tmp_path))
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["worker.x86_64.bpf", "zygote.aarch64.bpf"]
