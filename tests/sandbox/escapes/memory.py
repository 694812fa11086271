"""Memory: of the worker beyond its limit, of the kernel on its behalf, and of the host."""

from __future__ import annotations

__all__ = ["PROGRAMS", "SLOW"]

_LIMIT = "MOST = 700 << 20\n"

PROGRAMS: dict[str, str] = {
    "limits raised": """
import resource
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        number = getattr(resource, name)
        soft, hard = resource.getrlimit(number)
        if hard != resource.RLIM_INFINITY:
            attempt(name, resource.setrlimit, number, (hard, hard + 1))
            attempt(name, resource.setrlimit, number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
attempt("of the parent", resource.prlimit, os.getppid(), resource.RLIMIT_DATA)
""",
    "descriptors without end": """
made = 0
try:
    while True: os.pipe(); made += 2
except OSError: pass
if made > 200: claim(made)
""",
    "limits raised, then memory": f"""{_LIMIT}
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
held = []
try:
    while sum(map(len, held)) < MOST: held.append(bytearray(b"x" * (8 << 20)))
    claim("beyond the limit")
except MemoryError: pass
""",
    "mappings of other kinds": """
for flags in (0x21, 0x22 | 0x2000, 0x22 | 0x40000, 0x22 | 0x100, 0x02, 0x01):
    refused(("mmap", hex(flags)), sys("mmap", 0, 1 << 21, 3, flags, -1, 0))
for protection in (1, 2): refused(("mmap", protection), sys("mmap", 0, 1 << 40, protection, 0x22, -1, 0))
for advice in (3, 14, 22, 23, 12, 9, 10, 21, 25): refused(("madvise", advice), sys("madvise", 0, 1 << 21, advice))
for name in ("mlock", "mlock2"): refused(name, sys(name, 0, 4096, 0))
""",
    "the stack": """
import resource, sys as system, threading
resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, 64 << 20))
system.setrecursionlimit(10 ** 7)
def deep(n): return deep(n + 1) + 1
deep(0)
""",
    "locals of C": """
ctypes.CDLL(None).memset(ctypes.addressof(ctypes.c_char.from_buffer(bytearray(8))) - (1 << 30), 1, 1 << 20)
""",
}

SLOW: dict[str, str] = {
    "mappings one after the other": f"""{_LIMIT}
held = 0
while held < MOST:
    place = sys("mmap", 0, 1 << 21, 3, 0x4022, -1, 0)
    if place <= 0: break
    ctypes.memset(place, 1, 1 << 21); held += 1 << 21
if held >= MOST: claim("beyond the limit")
""",
    "mappings that are given back in name only": f"""{_LIMIT}
held = 0
while held < MOST:
    place = sys("mmap", 0, 1 << 22, 3, 0x4022, -1, 0)
    if place <= 0: break
    ctypes.memset(place, 1, 1 << 22); held += 1 << 22
    sys("mprotect", place, 1 << 22, 1); sys("mprotect", place, 1 << 22, 0)
    sys("madvise", place, 1 << 22, 8)
if held >= MOST: claim("beyond the limit")
""",
    "stacks of many threads": f"""{_LIMIT}
import _thread, threading, time
threading.stack_size(60 << 20)
held = 0; lock = threading.Lock()
def fill():
    global held
    buffer = ctypes.create_string_buffer(1)
    def deep(n): return deep(n - 1) if n else time.sleep(30)
    with lock: held += 60 << 20
    deep(100)
try:
    for _ in range(60): _thread.start_new_thread(fill, ())
except (RuntimeError, MemoryError): pass
time.sleep(0.3)
if held >= MOST: claim(held)
""",
    "buffers of sockets": """
import socket
held, pairs = 0, []
try:
    while True:
        near, far = socket.socketpair(); near.setblocking(False); far.setblocking(False)
        for end in (near, far):
            try:
                while True: held += end.send(b"x" * 65536)
            except BlockingIOError: pass
        pairs.append((near, far))
except OSError: pass
if held > 64 << 20: claim(held)
""",
    "buffers of pipes": """
held, ends = 0, []
try:
    while True:
        ends.append(os.pipe()); os.set_blocking(ends[-1][1], False)
        LIBC.fcntl(ends[-1][1], 1031, 1 << 20)
        try:
            while True: held += os.write(ends[-1][1], b"x" * 4096)
        except BlockingIOError: pass
except OSError: pass
if held > 64 << 20: claim(held)
""",
    "errors of memory that are caught": """
held = []
while True:
    try: held.append(bytearray(1 << 16))
    except MemoryError: held.append(None); held and held.pop(0)
""",
    "a bomb that is packed": """
import zlib
data = zlib.compress(bytes(100 << 20), 9)
for _ in range(50): data = zlib.compress(data)
for _ in range(60): data = zlib.decompress(data)
""",
    "wide characters for the host": """
for _ in range(40): save("\\U0001F600" + "x" * 16_000_000)
""",
    "wide characters for the host, in its result": """
"\\U0001F600" + "x" * 16_000_000
""",
    "small things for the host": """
for n in range(40): save([{"a": 1} for _ in range(160_000)])
""",
    "empty lists for the host": """
for n in range(40): save([[] for _ in range(499_000)])
""",
    "small sets for the host": """
for n in range(60): save([{n} for n in range(120_000)])
""",
    "bytes for the host": "for _ in range(40): save(bytes(12_000_000))",
    "many texts for the host": "for n in range(40): save([str(k) * 3 for k in range(490_000)])",
    "keys for the host": "for n in range(40): save({str(n) + str(k): k for k in range(240_000)})",
    "output for the host": """
import sys as system
while True: print("\\U0001F600" * 10_000); print("x", file=system.stderr)
""",
    "an error that is huge": """
class E(Exception):
    def __str__(self): return "\\U0001F600" * 50_000_000
error = E(); error.__notes__ = ["n" * 50_000_000] * 5
raise error
""",
    "calls without an answer that is read": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(64) as pool: list(pool.map(save, ["x" * 1_000_000] * 500))
""",
}
