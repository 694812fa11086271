"""Make the seccomp filters of the sandbox, or check that the committed ones are what this script makes.

``python scripts/make_filters.py`` writes ``src/ez_ptc/sandbox/worker/lifecycle/filters/*.bpf``; ``--check`` writes
nothing, names every file that differs and exits with 1. The filters are compiled by libseccomp (``libseccomp.so.2``,
2.5 or newer, called through ctypes): it is needed here only, never at run time.

A filter is a list of what is allowed; everything else answers EPERM. `WORKER` is what a model's program is left with,
`PACKAGES` is that and what packages also need, where programs may import any, `ZYGOTE` is both plus what forks
workers and hands them over. The worker's filter is stacked on the zygote's, so the second must allow all that the first
does.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["ARCHITECTURES", "FILTERS", "PACKAGES", "POLICIES", "WORKER", "ZYGOTE", "Comparison", "Rule", "main"]

_WORKER: Final = Path(__file__).resolve().parent.parent / "src" / "ez_ptc" / "sandbox" / "worker"
FILTERS: Final = _WORKER / "lifecycle" / "filters"
MADE_WITH: Final = (2, 5, 4)
"""The libseccomp that made the committed blobs: another one may order the same tests differently."""

ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* of linux/audit.h, by what ``os.uname().machine`` says."""

ALLOW: Final = 0x7FFF0000
KILL_PROCESS: Final = 0x80000000
_AT_MOST, _EQUAL, _MASKED = 3, 4, 7
_ACTION_BAD_ARCHITECTURE, _OPTIMIZE = 2, 8
_BINARY_TREE: Final = 2


def _refuse(number: int) -> int:
    return 0x00050000 | number


@dataclass(frozen=True, slots=True)
class Comparison:
    """One test of one argument: `operation` is libseccomp's, a masked one is ``argument & first == second``."""

    argument: int
    operation: int
    first: int
    second: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """What these calls answer when every comparison holds; several rules for one call are alternatives."""

    names: str
    comparisons: tuple[Comparison, ...] = ()
    action: int = ALLOW
    machines: tuple[str, ...] = tuple(ARCHITECTURES)


def _is(argument: int, value: int) -> Comparison:
    return Comparison(argument, _EQUAL, value)


def _at_most(argument: int, value: int) -> Comparison:
    return Comparison(argument, _AT_MOST, value)


def _only(argument: int, bits: int, required: int = 0) -> Comparison:
    """Test that `required` is set and beyond it nothing but some of `bits`.

    Only the lower half is looked at: the kernel ignores the upper one of an int, and some C libraries leave it dirty.
    """
    return Comparison(argument, _MASKED, 0xFFFFFFFF & ~bits, required)


# RLIMIT_DATA, the memory limit, counts private writable pages that are not a stack's, and nothing else. So a program
# may not make pages read-only (full ones would no longer count; empty ones cost page tables that never do), may not
# map with MAP_GROWSDOWN (0x100), and may not move and grow a piece of its stack. Nor is there a mapping that is shared,
# of a file, locked (0x2000) or huge (0x40000).
_READ_WRITE: Final = 0x3
_MAP_ANONYMOUS_PRIVATE: Final = 0x22
_MAP_TESTED: Final = 0x4212F
# With 47 bits of addresses and 16 GB of randomness the stack begins above 0x7FFC00000000 and what mmap gives ends below
# 0x7FFBFF700000 (arch/x86/mm/mmap.c). Where they cannot be told apart, mremap is refused and realloc copies.
_BELOW_THE_STACK: Final = 0x7FFBEFFFFFFF
_NONBLOCK_CLOEXEC: Final = 0x80800
_FUTEX_PRIVATE, _FUTEX_REALTIME = 0x80, 0x100
# Of MSG_* above all not OOB: on AF_UNIX it has been a way out of other sandboxes (CVE-2025-38236).
_SEND_FLAGS: Final = 0x4040  # NOSIGNAL, DONTWAIT
_RECEIVE_FLAGS: Final = 0x4142  # NOSIGNAL, WAITALL, DONTWAIT, PEEK
# What glibc's pthread_create passes; musl adds the long dead CLONE_DETACHED.
_THREAD: Final = 0x3D0F00
_CLONE_DETACHED: Final = 0x400000
# What fork passes: SIGCHLD, and from glibc CHILD_SETTID and CHILD_CLEARTID.
_FORK_TID: Final = 0x01200000
_LAST_CLOCK: Final = 11  # CLOCK_TAI; a greater number names the CPU clock of another process
_SIGCHLD: Final = 17

_MEMORY: Final = (
    Rule("brk munmap"),
    *(
        Rule("mmap", (_is(2, protection), Comparison(3, _MASKED, _MAP_TESTED, _MAP_ANONYMOUS_PRIVATE)))
        for protection in (0, _READ_WRITE)
    ),
    Rule("mprotect", (_is(2, _READ_WRITE),)),
    Rule("mremap", (_at_most(0, _BELOW_THE_STACK), _is(3, 1)), machines=("x86_64",)),  # MAYMOVE
    *(Rule("madvise", (_is(2, advice),)) for advice in (4, 8, 102, 103)),  # DONTNEED, FREE, GUARD_INSTALL, GUARD_REMOVE
)
_TIME: Final = (
    Rule("clock_gettime clock_getres clock_nanosleep", (_at_most(0, _LAST_CLOCK),)),
    Rule("nanosleep gettimeofday time times getitimer setitimer alarm"),
)
_THREADS: Final = (
    Rule("clone", (_only(0, _CLONE_DETACHED, _THREAD),)),
    Rule("clone3", action=_refuse(errno.ENOSYS)),  # its flags are behind a pointer; glibc then tries clone
    *(  # WAIT and WAKE, REQUEUE (musl), WAIT_BITSET; priority inheritance, where the kernel's holes were, is out
        Rule("futex", (_only(1, _FUTEX_REALTIME | bits, _FUTEX_PRIVATE | operation),))
        for operation, bits in ((0, 1), (3, 0), (9, 0))
    ),
    *(  # Without PRIVATE, a word in a library is one futex for all processes; who joins a thread then tries again.
        Rule("futex", (_only(1, _FUTEX_REALTIME, operation),), _refuse(errno.EAGAIN)) for operation in (0, 9)
    ),
    Rule("set_robust_list rseq sched_yield exit exit_group restart_syscall"),
    Rule("sched_getaffinity", (_is(0, 0),)),
)
_SIGNALS: Final = (Rule("rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack"),)
_IDENTITY: Final = (
    Rule("getpid getppid gettid getuid geteuid getgid getegid getcwd uname getrandom getrusage"),
    Rule("prlimit64", (_is(0, 0), _is(2, 0))),  # asks only
    # CPU, FSIZE, DATA, STACK, CORE, RSS, NOFILE, AS. The kernel compares the others with what all processes of a user
    # have: who lowers NPROC finds out how many threads others run.
    *(Rule("prlimit64", (_is(0, 0), _is(1, resource))) for resource in (0, 1, 2, 3, 4, 5, 7, 9)),
)
# No `fstat`: the inode numbers of sockets count what the whole machine makes.
_DESCRIPTORS: Final = (
    Rule("read readv write writev close lseek"),
    Rule("poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait"),
    Rule("pipe2", (_only(1, _NONBLOCK_CLOEXEC),)),
    Rule("socketpair", (_is(0, 1), _only(1, _NONBLOCK_CLOEXEC, 1), _is(2, 0))),  # AF_UNIX, SOCK_STREAM
    Rule("sendto", (_only(3, _SEND_FLAGS), _is(4, 0))),  # an address would reach sockets outside
    Rule("recvfrom", (_only(3, _RECEIVE_FLAGS),)),
    *(Rule("ioctl", (_is(1, request),)) for request in (0x5421, 0x5450, 0x5451)),  # FIONBIO, FIONCLEX, FIOCLEX
    *(Rule("fcntl", (_is(1, command),)) for command in (1, 2, 3, 4, 1030)),  # GETFD SETFD GETFL SETFL DUPFD_CLOEXEC
)
# Refused like everything else, but with the answer that says "a file" to the reader of the exception.
_FILES: Final = (
    Rule(
        "open openat openat2 creat access faccessat faccessat2 stat fstat lstat newfstatat statx readlink readlinkat "
        "getdents64 chdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 truncate chmod fchmodat "
        "link linkat symlink symlinkat",
        action=_refuse(errno.EACCES),
    ),
)

_SHARED: Final = (*_MEMORY, *_TIME, *_THREADS, *_SIGNALS, *_IDENTITY, *_DESCRIPTORS)
# A number by which threads wake one another: less than a pipe, and what is written in Rust does not start without it.
_FOR_PACKAGES: Final = (Rule("eventfd2", (_only(1, _NONBLOCK_CLOEXEC),)),)
WORKER: Final = (*_SHARED, *_FILES)
PACKAGES: Final = (*WORKER, *_FOR_PACKAGES)
ZYGOTE: Final = (
    *_SHARED,
    *_FOR_PACKAGES,
    Rule("fstat"),
    Rule("newfstatat", (_is(3, 0x1000),)),  # AT_EMPTY_PATH: how glibc 2.33 to 2.38 asks for the kind of a descriptor
    Rule("fork wait4 waitid set_tid_address"),
    Rule("clone", (_only(0, _FORK_TID, _SIGCHLD),)),
    Rule("kill", (_at_most(0, 0x7FFFFFFF),)),  # one process or its own group, never everything
    Rule("pidfd_open pidfd_send_signal sendmsg recvmsg dup2 dup3 close_range"),
    # SET_PDEATHSIG, SET_DUMPABLE, SET_NAME, SET_SECCOMP, SET_NO_NEW_PRIVS
    *(Rule("prctl", (_is(0, option),)) for option in (1, 4, 15, 22, 38)),
    Rule("seccomp", (_is(0, 1), _is(1, 0))),  # SET_MODE_FILTER without flags
)
# What the zygote of restored workers also does: see `sandbox/restored/zygote`. The number is that of its `/proc`.
_PROC_FD: Final = 9
_CLOEXEC: Final = 0o2000000
KEEPER: Final = (
    *ZYGOTE,
    Rule("openat", (_only(0, 0, _PROC_FD), _only(2, _CLOEXEC))),
    Rule("userfaultfd", (_is(0, _CLOEXEC | 1),)),  # USER_MODE_ONLY
    # UFFDIO_API, UFFDIO_REGISTER, PAGEMAP_SCAN, SECCOMP_IOCTL_NOTIF_RECV, _SEND, _SET_FLAGS
    *(
        Rule("ioctl", (_is(1, request),))
        for request in (0xC018AA3F, 0xC020AA00, 0xC0606610, 0xC0502100, 0xC0182101, 0x40082104)
    ),
    *(Rule("ptrace", (_is(0, request),)) for request in (17, 0x4204, 0x4205, 0x4206, 0x4207)),  # DETACH … INTERRUPT
    Rule("process_vm_readv process_vm_writev pread64 landlock_create_ruleset landlock_restrict_self"),
    Rule("prlimit64", (_is(1, 2),)),  # RLIMIT_DATA
    Rule("madvise", (_is(2, 10),)),  # DONTFORK
    Rule("seccomp", (_is(0, 1), _is(1, 0x28))),  # NEW_LISTENER, WAIT_KILLABLE_RECV
)
# What leaves no trace in the kernel, so that a worker that has made no other call can be restored. Everything else is
# told to the zygote before it happens.
TRACELESS: Final = (
    Rule("read write readv writev recvfrom sendto poll ppoll select pselect6"),
    Rule("getpid getppid gettid getuid geteuid getgid getegid getcwd uname getrandom getrusage sched_getaffinity"),
    Rule("clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getitimer sched_yield"),
    *(
        Rule("futex", (_only(1, _FUTEX_REALTIME | bits, _FUTEX_PRIVATE | operation),))
        for operation, bits in ((0, 1), (9, 0))
    ),
    # The worker's filter refuses `sendmsg`; until that is installed, it hands over what installing this one returns.
    Rule("exit exit_group sendmsg"),
    *(Rule("fcntl", (_is(1, command),)) for command in (1, 3)),  # GETFD, GETFL
    Rule("prlimit64", (_is(2, 0),)),  # asks only
    Rule("prlimit64", (_is(1, 2),)),  # RLIMIT_DATA, which is restored
)
POLICIES: Final = {"zygote": ZYGOTE, "worker": WORKER, "packages": PACKAGES, "keeper": KEEPER, "traceless": TRACELESS}
_NOTIFY: Final = 0x7FC00000
_OTHERWISE: Final = {"traceless": _NOTIFY}
_MACHINES: Final = {"keeper": ("x86_64",), "traceless": ("x86_64",)}


class _Argument(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operation", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class _Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint), ("minor", ctypes.c_uint), ("micro", ctypes.c_uint))


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_version.restype = ctypes.POINTER(_Version)
    library.seccomp_init.restype = ctypes.c_void_p
    return library


def _version(library: ctypes.CDLL) -> tuple[int, int, int]:
    found = library.seccomp_version().contents
    return int(found.major), int(found.minor), int(found.micro)


def _must(result: int, doing: str) -> None:
    if result != 0:
        message = f"libseccomp could not {doing}: {os.strerror(-result)}"
        raise SystemExit(message)


def _add(library: ctypes.CDLL, context: ctypes.c_void_p, rule: Rule, architecture: int) -> None:
    comparisons = [_Argument(test.argument, test.operation, test.first, test.second) for test in rule.comparisons]
    for name in rule.names.split():
        number = int(library.seccomp_syscall_resolve_name(name.encode()))  # this machine's; it is translated
        if number == -1:
            message = f"libseccomp knows no system call named {name!r}"
            raise SystemExit(message)
        if library.seccomp_syscall_resolve_name_arch(ctypes.c_uint32(architecture), name.encode()) < 0:
            continue  # the architecture has no such call
        array = (_Argument * len(comparisons))(*comparisons)
        result = library.seccomp_rule_add_exact_array(
            context, ctypes.c_uint32(rule.action), number, len(comparisons), array
        )
        _must(result, f"add a rule for {name}")


def _compile(library: ctypes.CDLL, name: str, machine: str) -> bytes:
    """Give the filter of one policy as an array of ``struct sock_filter``."""
    architecture = ARCHITECTURES[machine]
    otherwise = _OTHERWISE.get(name, _refuse(errno.EPERM))
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(otherwise)))
    token = ctypes.c_uint32(architecture)
    native = int(library.seccomp_arch_native()) & 0xFFFFFFFF
    if native != architecture:
        _must(library.seccomp_arch_add(context, token), "add the architecture")
        _must(library.seccomp_arch_remove(context, ctypes.c_uint32(native)), "remove the native architecture")
    kill = ctypes.c_uint32(KILL_PROCESS)
    _must(library.seccomp_attr_set(context, _ACTION_BAD_ARCHITECTURE, kill), "kill other architectures")
    _must(library.seccomp_attr_set(context, _OPTIMIZE, ctypes.c_uint32(_BINARY_TREE)), "ask for a binary tree")
    for rule in POLICIES[name]:
        if machine in rule.machines:
            _add(library, context, rule, architecture)
    with tempfile.TemporaryFile() as file:
        _must(library.seccomp_export_bpf(context, file.fileno()), "export the filter")
        file.seek(0)
        made = file.read()
    library.seccomp_release(context)
    return made


def _make(library: ctypes.CDLL, folder: Path) -> dict[Path, bytes]:
    return {
        folder / f"{policy}.{machine}.bpf": _compile(library, policy, machine)
        for policy in POLICIES
        for machine in _MACHINES.get(policy, ARCHITECTURES)
    }


def _compare(made: dict[Path, bytes], version: tuple[int, int, int]) -> int:
    different = [path.name for path, blob in made.items() if not path.is_file() or path.read_bytes() != blob]
    for name in sorted(different):
        sys.stdout.write(f"{name} is not what scripts/make_filters.py makes: run it and commit the result\n")
    if different and version != MADE_WITH:
        sys.stderr.write(f"skipped: the filters were made with libseccomp {MADE_WITH}, this is {version}\n")
        return 0
    return 1 if different else 0


def main() -> int:
    """Write the filters, or with ``--check`` compare them; 0 when all is as it should be."""
    parser = argparse.ArgumentParser(description="Make the sandbox's seccomp filters.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing, exit with 1 if any differs")
    parser.add_argument("folder", nargs="?", type=Path, default=FILTERS, help="where the filters lie")
    arguments = parser.parse_args()
    try:
        library = _load()
    except OSError as missing:
        sys.stderr.write(f"skipped: libseccomp is not on this machine ({missing})\n")
        return 0 if arguments.check else 1
    made = _make(library, arguments.folder)
    if arguments.check:
        return _compare(made, _version(library))
    for path, blob in made.items():
        path.write_bytes(blob)
        sys.stdout.write(f"{path.name}: {len(blob) // 8} instructions\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
