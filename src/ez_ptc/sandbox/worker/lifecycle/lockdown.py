"""The isolation the kernel is asked to enforce, step by step, in a fixed order.

Every step is a system call through ctypes, since the worker has the standard library only. A step the kernel refuses is
recorded. The rules of its system call filters are in `scripts/make_filters.py`. `probe` and the host decide what is
required, by what actually holds instead of by return values.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import platform
import resource
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Lockdown", "LockdownError"]

_NOBODY = 65534
_HOST_NAME = b"sandbox"
# The names in `ps`, of at most 15 bytes, and what it shows as the command of all of them.
_ZYGOTE_NAME = b"ez-ptc zygote"
_WORKER_NAME = b"ez-ptc worker"
_COMMAND = b"ez-ptc sandbox"
# The fields of `/proc/self/stat` after the name, in which anything may stand: where the arguments begin and end.
_ARGUMENT_FIELDS = slice(45, 47)

_CLONE = {"mount": 0x00020000, "pid": 0x20000000, "network": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000}
_NAMESPACE_FILES = {
    "mount": "mnt",
    "pid": "pid_for_children",
    "network": "net",
    "ipc": "ipc",
    "uts": "uts",
    "user": "user",
}
_CLONE_NEWUSER = 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NAME, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 15, 24, 38
_SECCOMP_SET_MODE_FILTER = 1
_SIGKILL = 9
_LAST_CAPABILITY = 63

# The numbers of pivot_root and seccomp differ; Landlock is recent enough to have the same number everywhere.
_NUMBERS = {"x86_64": {"pivot_root": 155, "seccomp": 317}, "aarch64": {"pivot_root": 41, "seccomp": 277}}
_LANDLOCK_CREATE, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_READ_FILE = 1 << 2
_LANDLOCK_VERSION = 1


_FIXED_LIMITS = (
    (resource.RLIMIT_CORE, 0, 0),
    (resource.RLIMIT_FSIZE, 0, 0),
    # RLIMIT_DATA does not count stacks, and a program may raise its own soft limits.
    (resource.RLIMIT_STACK, 8 << 20, 64 << 20),
)


# The maximum of a worker: sockets hold kernel memory that no other limit counts.
_DESCRIPTORS = 64


# An argument of full register width: of a C int, the kernel would also read the undefined upper half.
_whole = ctypes.c_ulong.from_param


class LockdownError(OSError):
    """The kernel refused a step without which there is no sandbox."""


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


class _Filter:
    """A seccomp filter in memory, as the kernel expects it."""

    def __init__(self, path: str) -> None:
        self._code = ctypes.create_string_buffer(code := _read(path), len(code))
        self.program = ctypes.byref(_FilterProgram(len(code) // 8, ctypes.addressof(self._code)))


class Lockdown:
    """The steps of the lockdown, each called once, with their outcomes."""

    landlock = 0
    uid = 0
    """The user of this process, as the host sees it."""
    empty_root = False
    _nameless = False

    def __init__(self, folder: str, filters: Mapping[str, str], *, readable: int | None = None) -> None:
        """Load this machine's seccomp filters from a folder, each named by its policy: "zygote", "worker", others.

        With `readable`, the zygote may open files in the folder with that descriptor, and workers deny themselves it.
        """
        self.readable = readable
        self.machine = platform.machine()
        if self.machine not in _NUMBERS:
            message = f"there is no system call filter for {self.machine}"
            raise LockdownError(message)
        self._numbers = _NUMBERS[self.machine]
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._filters = {policy: _Filter(f"{folder}/{name}.{self.machine}.bpf") for policy, name in filters.items()}
        # Prepared here for every worker: looking up errno and argument types would write to copied pages.
        direct = ctypes.PyDLL(None)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if most == resource.RLIM_INFINITY:
            descriptors = _DESCRIPTORS
        else:
            descriptors = min(_DESCRIPTORS, most)
        self._worker_name = ctypes.create_string_buffer(_WORKER_NAME)
        self.confining = (
            # Before the limit of descriptors, since it opens one.
            *(() if readable is None else [self.deny_all_files]),
            # Before the filter, which forbids it.
            functools.partial(direct.prctl, *map(_whole, (_PR_SET_NAME, ctypes.addressof(self._worker_name), 0, 0, 0))),
            functools.partial(direct.prctl, _PR_SET_PDEATHSIG, *map(_whole, (_SIGKILL, 0, 0, 0))),
            # After all descriptors are handed over: the kernel compares it with those of the user's other processes
            # that no one has received yet.
            functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (descriptors, descriptors)),
            functools.partial(
                direct.syscall,
                *map(_whole, (self._numbers["seccomp"], _SECCOMP_SET_MODE_FILTER, 0)),
                self._filters["worker"].program,
            ),
        )
        self.namespaces: list[str] = []
        self.refused: dict[str, str] = {}

    def _call(self, number: int, *arguments: object) -> int:
        return self._check(self._libc.syscall(ctypes.c_long(number), *arguments))

    @staticmethod
    def _check(result: int) -> int:
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result

    def _try(self, what: str, step: Callable[[], object]) -> bool:
        try:
            step()
        except OSError as error:
            self.refused[what] = errno.errorcode.get(error.errno or 0, str(error))
            return False
        return True

    def forget_environment(self) -> None:
        """Overwrite the variables this process was started with, since unset ones stay in its memory."""
        variables = ctypes.POINTER(ctypes.c_void_p).in_dll(self._libc, "environ")
        position = 0
        while address := variables[position]:
            ctypes.memset(address, 0, len(ctypes.string_at(address)))
            position += 1
        self._libc.clearenv()

    def take_name(self) -> None:
        """Name this process and its forks for `ps`, which overwrites its arguments: they have paths of the host."""
        self._check(self._libc.prctl(_PR_SET_NAME, _ZYGOTE_NAME, *map(_whole, (0, 0, 0))))
        with contextlib.suppress(OSError):  # without /proc, there is no `ps` either
            fields = _read("/proc/self/stat").rpartition(b")")[2].split()[_ARGUMENT_FIELDS]
            start, end = map(int, fields)
            command = _COMMAND[: max(end - start - 1, 0)]
            ctypes.memset(start, 0, end - start)
            ctypes.memmove(start, command, len(command))

    def enter_namespaces(self, *, keep_user: bool) -> None:
        """Leave the host's namespaces and its uid 0, as far as the kernel permits; with `keep_user`, keep that uid."""
        if os.geteuid() == 0:
            self._unshare_each()
            # Root without a capability has the rights of any other user, once it gives up the capabilities left.
            self._try("groups", lambda: os.setgroups([]))
            self._try("gid", lambda: os.setresgid(_NOBODY, _NOBODY, _NOBODY))
            if not keep_user:
                self._try("uid", lambda: os.setresuid(_NOBODY, _NOBODY, _NOBODY))
            # Changing ids makes root the owner of /proc/self, with the maps a user namespace needs.
            self._prctl(_PR_SET_DUMPABLE, 1)
        # In a user namespace, it may have no number.
        uid, gid = os.getuid(), os.getgid()
        self.uid = uid
        if self._try("user", lambda: self._leave("user", _CLONE_NEWUSER)):
            self.namespaces.append("user")
            self.refused.pop("user", None)
            self._try("uid_map", lambda: _write_maps(uid, gid))
            self._unshare_each()

    def _leave(self, name: str, flag: int) -> None:
        before = _namespace(name)
        self._check(self._libc.unshare(flag))
        # A filter around this process may report success without doing anything.
        if before and _namespace(name) == before:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    def _unshare_each(self) -> None:
        for name, flag in _CLONE.items():
            if name not in self.namespaces and self._try(name, lambda name=name, flag=flag: self._leave(name, flag)):
                self.namespaces.append(name)
                self.refused.pop(name, None)
        # Only in a namespace that is verifiably new: the host keeps its name.
        if "uts" in self.namespaces and _namespace("uts") and not self._nameless:
            self._nameless = self._try("host_name", self._forget_host_name)
        if "mount" in self.namespaces and not self.empty_root:
            self.empty_root = self._try("empty_root", self._empty_the_root)

    def _forget_host_name(self) -> None:
        for name in (self._libc.sethostname, self._libc.setdomainname):
            self._check(name(_HOST_NAME, ctypes.c_size_t(len(_HOST_NAME))))
        setattr(platform, "_uname_cache", None)  # noqa: B010 - no public name, and pyright knows none

    def _empty_the_root(self) -> None:
        mount = self._libc.mount
        self._check(mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))
        folder = next(folder for folder in (b"/tmp", b"/dev", b"/proc", b"/") if os.path.isdir(folder))
        flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
        self._check(mount(b"none", folder, b"tmpfs", ctypes.c_ulong(flags), b"size=4k,mode=555"))
        os.chdir(folder)
        self._call(self._numbers["pivot_root"], b".", b".")
        self._check(self._libc.umount2(b".", _MNT_DETACH))
        os.chdir("/")
        self._check(mount(None, b"/", None, ctypes.c_ulong(flags | _MS_REMOUNT | _MS_RDONLY), None))

    def give_up_privileges(self) -> None:
        """Drop every capability and the possibility to gain one."""
        for number in range(_LAST_CAPABILITY + 1):
            self._libc.prctl(_PR_CAPBSET_DROP, *map(_whole, (number, 0, 0, 0)))
        header = struct.pack("=Ii", 0x20080522, 0)
        self._try("capabilities", lambda: self._check(self._libc.capset(header, bytes(24))))
        try:
            self._prctl(_PR_SET_NO_NEW_PRIVS, 1)
        except OSError as error:
            message = f"the kernel refuses the promise of no new privileges ({error.strerror})"
            raise LockdownError(message) from error
        self._prctl(_PR_SET_DUMPABLE, 0)

    def _prctl(self, option: int, value: int) -> None:
        self._check(self._libc.prctl(option, *map(_whole, (value, 0, 0, 0))))

    def deny_files(self, *, but: int | None = None) -> None:
        """Apply a Landlock ruleset, which denies every right this kernel's version knows.

        Files below the folder with the descriptor `but` can be opened for reading; workers deny themselves these, too.
        """
        try:
            version = self._call(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_LANDLOCK_VERSION))
            self._restrict(version, but)
        except OSError as error:
            self.refused["landlock"] = errno.errorcode.get(error.errno or 0, str(error))
            return
        self.landlock = version

    def _restrict(self, version: int, but: int | None) -> None:
        attributes = _landlock_attributes(version)
        ruleset = self._call(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
        if but is not None:
            rule = struct.pack("=Qi", _LANDLOCK_READ_FILE, but)
            self._call(_LANDLOCK_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_uint(1), rule, ctypes.c_uint(0))
        self._call(_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
        os.close(ruleset)

    def deny_all_files(self) -> None:
        """Apply a ruleset without rules in a worker, if there is Landlock. Raises OSError."""
        if self.landlock:
            self._restrict(self.landlock, None)

    def program(self, policy: str) -> object:
        """Return the filter of a policy, as the kernel expects it."""
        return self._filters[policy].program

    def die_with_parent(self) -> None:
        """Ask the kernel to kill this process when its parent dies."""
        self._prctl(_PR_SET_PDEATHSIG, _SIGKILL)

    def filter_calls(self) -> None:
        """Install the zygote's system call filter. Raises OSError if the kernel refuses."""
        operation = map(_whole, (_SECCOMP_SET_MODE_FILTER, 0))
        self._call(self._numbers["seccomp"], *operation, self._filters["zygote"].program)

    @staticmethod
    def limit_resources() -> None:
        """Set the limits common to all workers; memory and CPU time are set for each execution.

        The zygote keeps as many descriptors as possible: those it has sent count until they are received, together with
        those sent by its user's other processes.
        """
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        for name, soft, hard in _FIXED_LIMITS:
            # A lower limit of the host stays, since raising a limit needs a privilege.
            most = resource.getrlimit(name)[1]
            hard = hard if most == resource.RLIM_INFINITY else min(hard, most)  # noqa: PLW2901 - the limit that holds
            resource.setrlimit(name, (min(soft, hard), hard))


def _namespace(name: str) -> str | None:
    """Return an identifier of the namespace that this process's children are in, or None if unknown."""
    try:
        return os.readlink(f"/proc/self/ns/{_NAMESPACE_FILES[name]}")
    except OSError:
        return None


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _write_maps(uid: int, gid: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _landlock_attributes(version: int) -> bytes:
    """Return `struct landlock_ruleset_attr` with every right of this ABI version (kernel: Landlock documentation)."""
    file_rights = (1 << 13) - 1
    for since, bit in ((2, 13), (3, 14), (5, 15)):
        if version >= since:
            file_rights |= 1 << bit
    attributes = struct.pack("=Q", file_rights)
    if version >= 4:  # noqa: PLR2004 - TCP bind and connect
        attributes += struct.pack("=Q", 0b11)
    if version >= 6:  # noqa: PLR2004 - abstract sockets and signals
        attributes += struct.pack("=Q", 0b11)
    return attributes
