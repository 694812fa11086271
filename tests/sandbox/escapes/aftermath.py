"""What one program leaves for the next."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, tuple[str, ...]] = {
    "names and modules": (
        """
import sys as system, builtins, types, json
builtins.PLANTED = 1; __builtins__.PLANTED = 2; system.modules["planted"] = types.ModuleType("planted")
system.modules["ez_sandbox.protocol.values.codec"].PLANTED = json.PLANTED = 3; json.dumps = None
for module in list(system.modules.values()): setattr(module, "PLANTED", 4)
""",
        """
import sys as system, json
found = [name for name, module in system.modules.items() if hasattr(module, "PLANTED")]
if found or "planted" in system.modules or "PLANTED" in globals() or json.dumps([1]) != "[1]": claim(found)
""",
    ),
    "the environment and the process": (
        """
import resource, signal, locale, threading
os.environ["PLANTED"] = "1"; LIBC.setenv(b"PLANTED", b"1", 1)
signal.signal(signal.SIGUSR1, lambda *a: None); signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)); threading.stack_size(1 << 20)
""",
        """
import resource, signal
LIBC.getenv.restype = ctypes.c_char_p
found = [os.environ.get("PLANTED"), LIBC.getenv(b"PLANTED"), signal.pthread_sigmask(0, []),
         callable(signal.getsignal(signal.SIGUSR1)), resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 64]
if any(found): claim(found)
""",
    ),
    "descriptors and memory": (
        """
import socket
held = [os.pipe() for _ in range(10)]
for _, end in held: os.write(end, b"planted")
os.write(1, b"planted"); pages = [bytearray(b"planted" * 100_000) for _ in range(100)]
""",
        """
for fd in range(4, 64):
    os.set_blocking(fd, False) if LIBC.fcntl(fd, 1, 0) >= 0 else None
    try: claim((fd, os.read(fd, 100)))
    except OSError: pass
place = sys("mmap", 0, 64 << 20, 3, 0x22, -1, 0)
if b"planted" * 3 in ctypes.string_at(place, 64 << 20): claim("memory")
""",
    ),
    "threads and children": (
        """
import threading, time
def stay():
    while True: time.sleep(0.01); os.environ["PLANTED"] = "1"
for _ in range(20): threading.Thread(target=stay, daemon=True).start()
""",
        """
import threading, time
time.sleep(0.05)
if threading.active_count() > 1 or "PLANTED" in os.environ: claim(threading.enumerate())
""",
    ),
    "a random number seen before": (
        "import random, secrets, uuid, tempfile\nsave([random.random(), secrets.token_hex(), str(uuid.uuid4())])",
        "import random, secrets, uuid\nsave([random.random(), secrets.token_hex(), str(uuid.uuid4())])",
    ),
    "a death in the middle of a call": ("save('first'); LIBC.abort()", "if add(1, 2) != 3: claim('mixed up')"),
    "an answer that nobody took": (
        "import threading\nfor n in range(30): threading.Thread(target=lookup, args=('tea',), daemon=True).start()",
        "if [add(n, n) for n in range(20)] != [n * 2 for n in range(20)]: claim('mixed up')",
    ),
}
