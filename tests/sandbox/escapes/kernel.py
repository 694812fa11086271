"""System calls made directly: each must be refused, whatever its arguments."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    "every way to open": """
path = b"/arena/canary.txt"
how = (ctypes.c_uint64 * 3)(0, 0, 0)
found = [sys("open", path, 0), sys("openat", -100, path, 0), sys("openat", 3, path, 0), sys("creat", path, 0o600),
         sys("openat2", -100, path, how, 24), sys("open_by_handle_at", -100, bytes(128), 0),
         sys("name_to_handle_at", -100, path, bytes(128), bytes(8), 0), sys("execve", path, None, None)]
for fd in found:
    if fd >= 0: claim(os.read(fd, 100))
""",
    "io_uring": """
parameters = ctypes.create_string_buffer(120)
for number in (425, 426, 427): refused(number, sys(number, 8, parameters, 0, 0, 0, 0))
""",
    "another root": """
for name in ("chroot", "chdir", "pivot_root"): refused(name, sys(name, b"/", b"/"))
refused("mount", sys("mount", b"none", b"/", b"tmpfs", 0, None))
refused("umount", sys("umount2", b"/", 2))
for number in (428, 429, 430, 431, 432, 433, 442): refused(number, sys(number, b"tmpfs", 0, 0, 0, 0))
""",
    "namespaces": """
for bit in range(7, 32):
    refused(("unshare", bit), sys("unshare", 1 << bit))
    refused(("setns", bit), sys("setns", 3, 1 << bit))
    flags = 1 << bit | 17
    result = sys("clone", flags, 0, 0, 0, 0)
    if result == 0: LIBC._exit(0)
    refused(("clone", bit), result)
for size in (64, 80, 88):
    arguments = (ctypes.c_uint64 * 11)(0x10000000)
    result = sys("clone3", arguments, size)
    if result == 0: LIBC._exit(0)
    refused("clone3", result)
""",
    "memory of others": """
here, there = ctypes.create_string_buffer(64), (ctypes.c_uint64 * 2)()
for pid in {os.getpid(), os.getppid(), 0, 1, 2, 3}:
    for request in (0, 1, 16, 0x4206, 0x420e): refused(("ptrace", pid), sys("ptrace", request, pid, 0, 0))
    for name in ("process_vm_readv",): refused((name, pid), sys(name, pid, there, 1, there, 1, 0))
    refused(("kcmp", pid), sys("kcmp", pid, pid, 0, 0, 0))
    fd = sys("pidfd_open", pid, 0)
    refused(("pidfd", pid), fd)
    refused(("pidfd_getfd", pid), sys("pidfd_getfd", 3, 0, 0))
    refused(("process_madvise", pid), sys(440, 3, there, 1, 4, 0))
""",
    "signals to others": """
information = ctypes.create_string_buffer(128)
me = os.getpid()
for pid in (me, os.getppid(), 1, 0, -1):
    for number in (0, 9, 19, 10):
        refused(("kill", pid), sys("kill", pid, number))
        refused(("tkill", pid), sys("tkill", pid, number))
        refused(("tgkill", pid), sys("tgkill", pid, pid, number))
        refused(("queue", pid), sys("rt_sigqueueinfo", pid, number, information))
        refused(("pidfd", pid), sys("pidfd_send_signal", 3, number, None, 0))
""",
    "sockets of every family": """
import socket
for family in range(46):
    for kind in (1, 2, 3, 5): refused(("socket", family, kind), sys("socket", family, kind, 0))
    if family != 1: refused(("pair", family), sys("socketpair", family, 1, 0, (ctypes.c_int * 2)()))
near, far = socket.socketpair()
address = b"\\x02\\x00\\xbb\\x7f\\x7f\\x00\\x00\\x01" + bytes(8)
for fd in (3, near.fileno()):
    for name in ("connect", "bind"): refused(name, sys(name, fd, address, 16))
    refused("sendto", sys("sendto", fd, b"x", 1, 0, address, 16))
    refused("accept", sys("accept4", fd, None, None, 0))
    refused("oob", sys("sendto", fd, b"x", 1, 1, 0, 0))
""",
    "passing descriptors": """
import socket
near, far = socket.socketpair()
attempt("sendmsg", near.sendmsg, [b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, (3).to_bytes(4, "little"))])
attempt("recvmsg", far.recvmsg, 16, 64)
attempt("to the host", lambda: socket.socket(1, 1, 0, fileno=3).sendmsg([b"x"]))
for name in ("sendmmsg", "recvmmsg"): refused(name, sys(name, 3, bytes(64), 1, 0, None))
""",
    "who is at the other end": """
out, size = ctypes.create_string_buffer(64), (ctypes.c_uint32 * 1)(64)
for option in (17, 59, 77, 31): refused(("SO_PEER", option), sys("getsockopt", 3, 1, option, out, size))
for option in (7, 8, 16, 32, 33): refused(("option", option), sys("setsockopt", 3, 1, option, out, 4))
refused("getpeername", sys("getpeername", 3, out, size))
refused("shutdown", sys("shutdown", 3, 2))
""",
    "other kernel objects": """
attributes = ctypes.create_string_buffer(128)
for name in ("bpf", "perf_event_open", "userfaultfd", "inotify_init1", "fanotify_init", "timer_create", "msgget",
             "shmget", "memfd_create", "keyctl", "landlock_create_ruleset", "seccomp"):
    refused(name, sys(name, 0, attributes, 128, 0, 0))
for name in ("semget", "msgget", "mq_open", "add_key", "request_key", "signalfd", "signalfd4", "timerfd_create",
             "perf_event_open", "memfd_secret"):
    refused(name, sys(name, attributes, attributes, 0, 0, 0))
""",
    "process settings": """
for option in (*range(80), 0x53564D41, 0x59616D61): refused(("prctl", option), sys("prctl", option, 1, 0, 0, 0))
for name in ("personality", "setuid", "setresuid", "capset", "umask", "setgid", "setpgid", "setsid", "setreuid",
             "setregid", "setgroups", "setresgid", "setfsuid", "setfsgid", "setpriority", "sched_setparam",
             "sched_setscheduler", "setrlimit", "sched_setaffinity", "set_mempolicy", "ioprio_set", "sched_setattr"):
    refused(name, sys(name, 0, 0, 0))
""",
    "the machine": """
for name in ("syslog", "vhangup", "modify_ldt", "pivot_root", "adjtimex", "chroot", "sync", "acct", "settimeofday",
             "mount", "umount2", "swapon", "swapoff", "sethostname", "setdomainname", "iopl", "ioperm", "init_module",
             "delete_module", "quotactl", "clock_settime", "kexec_load", "finit_module", "kexec_file_load"):
    refused(name, sys(name, 0, 0, 0, 0, 0))
""",
    "moving bytes between descriptors": """
reader, writer = os.pipe()
os.write(writer, b"x" * 100)
for fd in (3, reader):
    for name in ("splice", "tee", "vmsplice"): refused(name, sys(name, fd, 0, writer, 0, 10, 0))
    for name in ("sendfile", "copy_file_range"): refused(name, sys(name, writer, fd, 0, 10))
""",
    "every fcntl and ioctl": """
for fd in range(8):
    for command in (0, 5, 6, 7, 8, 9, 10, 11, 15, 16, 36, 37, 38, 1024, 1025, 1026, 1031, 1032, 1033, 1034, 1036, 1038):
        refused(("fcntl", fd, command), sys("fcntl", fd, command, 1 << 20))
    for request in (0x5401, 0x5412, 0x540E, 0x541B, 0x5411, 0x5452, 0x8901, 0x8902, 0x8904, 0x8912, 0x4004667F):
        refused(("ioctl", fd, request), sys("ioctl", fd, request, ctypes.create_string_buffer(64)))
""",
    "clocks of others": """
moment = (ctypes.c_long * 2)()
for pid in (1, os.getppid(), os.getpid()):
    for kind in (0, 1, 2): refused(("clock", pid), sys("clock_gettime", (~pid << 3 | kind) & 0xFFFFFFFF, moment))
refused("affinity", sys("sched_getaffinity", os.getppid(), 128, ctypes.create_string_buffer(128)))
refused("limits", sys("prlimit64", os.getppid(), 7, None, moment))
""",
    "x32": """
refused("x32", sys(0x40000000 | 39))
if os.uname().machine == "x86_64": claim("alive")
""",
    "x32 open": """
refused("x32", sys(0x40000000 | 2, b"/arena/canary.txt", 0, 0))
if os.uname().machine == "x86_64": claim("alive")
""",
    "numbers that wrap around": """
refused("64 bits", sys(0x1_0000_0002, b"/arena/canary.txt", 0, 0))
refused("negative", sys(-2, b"/arena/canary.txt", 0, 0))
for number in (1 << 31, 1 << 29, 0xFFFF, 0xFFFFFFFF): refused(number, sys(number, b"/arena/canary.txt", 0, 0))
""",
}
