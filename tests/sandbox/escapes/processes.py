"""Other processes: starting, becoming and keeping them."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    "every kind of fork": """
import _posixsubprocess
for name in ("fork", "vfork"):
    result = getattr(LIBC, name)()
    if result == 0: LIBC._exit(0)
    refused(name, result)
    if name in NR: refused(name, sys(name))
for flags in (17, 0x11, 0x4111, 0x100 | 17, 0x01200011, 0x3D0F00 & ~0x10000, 0x8000 | 17, 0):
    result = sys("clone", flags, 0, 0, 0, 0)
    if result == 0: LIBC._exit(0)
    refused(("clone", flags), result)
for way in (os.fork, os.forkpty, os.openpty, lambda: os.system("true") == 0 and 1, lambda: os.popen("true").read()):
    try: result = way()
    except OSError: continue
    if result == 0 and result is not False: os._exit(0)
    if result: claim(way)
""",
    "every kind of exec": """
words, path = ["sh", "-c", "cat /arena/canary.txt >&2"], "/bin/sh"
attempt("execv", os.execv, path, words)
attempt("execve", os.execve, path, words, {})
attempt("posix_spawn", os.posix_spawn, path, words, {})
attempt("posix_spawnp", os.posix_spawnp, "sh", words, {})
array = (ctypes.c_char_p * 4)(b"sh", b"-c", b"touch /arena/mark/exec", None)
for number in ("execve",): refused(number, sys(number, b"/bin/sh", array, None))
refused("execveat", sys("execveat", -100, b"/bin/sh", array, None, 0))
LIBC.execv(b"/bin/sh", array)
LIBC.posix_spawn(ctypes.create_string_buffer(8), b"/bin/sh", None, None, array, None)
LIBC.system(b"touch /arena/mark/system")
LIBC.popen(b"touch /arena/mark/popen", b"r")
LIBC.wordexp(b"$(touch /arena/mark/wordexp)", ctypes.create_string_buffer(64), 0)
""",
    "children that would stay": """
import subprocess
try: import multiprocessing
except ImportError: pass
for start in (lambda: subprocess.Popen(["sleep", "30"], start_new_session=True),
              lambda: multiprocessing.get_context("fork").Process(target=int).start(),
              lambda: multiprocessing.get_context("spawn").Process(target=int).start(),
              lambda: os.spawnv(os.P_NOWAIT, "/bin/sleep", ["sleep", "30"]), lambda: os.setsid() and None):
    attempt(start, start)
""",
    "threads in other shapes": """
import _thread
for flags in (0x3D0F00 | 0x20000000, 0x3D0F00 | 0x80000000, 0x3D0F00 | 0x1000, 0x3D0F00 | 0x2000, 0x3D0F00 | 0x8000):
    refused(hex(flags), sys("clone", flags, 0, 0, 0, 0))
""",
    "killing itself": "os.kill(os.getpid(), 9)",
    "a null pointer": "ctypes.string_at(0)",
    "an abort": "LIBC.abort()",
    "the exit of C": "LIBC.exit(0)",
    "the exit of the interpreter": "ctypes.pythonapi.Py_Exit(0)",
    "a fatal error": "ctypes.pythonapi.Py_FatalError(b'gone')",
    "stopping itself": """
import signal
for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN):
    attempt(number, signal.raise_signal, number)
    LIBC.raise_(number) if hasattr(LIBC, "raise_") else None
""",
}
