"""Programs that leave something behind, or nothing, and the probe that looks for it."""

from __future__ import annotations

from typing import Final

from tests.sandbox.escapes.catalog import PRELUDE

__all__ = ["ASK_THE_KERNEL", "PLAIN", "PROBE", "TAINTING", "TRACELESS"]

PLAIN: Final = {
    "a sum": "1 + 1",
    "rows": """
rows = [{'id': n, 'name': str(n)} for n in range(300)]
sorted(rows, key=lambda row: -row['id'])[:3]
""",
    "imports": """
import datetime, json, re, statistics
json.dumps([statistics.mean([1, 2]), str(datetime.date(2020, 1, 1))])
""",
    "an error": "{}['a']",
    "a mistake": "1 +",
    "an exception group": "raise ExceptionGroup('x', [ValueError(1), KeyError(2)])",
    "output": """
import sys
for n in range(200): print(n, 'text')
print('x', file=sys.stderr)
""",
    "calls": "[add(n, n) for n in range(5)]",
    "recursion": """
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(15)
""",
    "a class": """
class A:
    x = 1
    def __del__(self): A.x += 1
A().x
""",
    "collection": """
import gc
x = []
x.append(x)
del x
gc.collect()
""",
    "an exit": "raise SystemExit(3)",
    "text": r"""
import textwrap, difflib
''.join(difflib.ndiff(['a\n'], ['b\n'])) + textwrap.fill('a b ' * 50)
""",
    "sleep": """
import time
time.sleep(0.001)
""",
    "random numbers": """
import random, secrets, uuid
[random.random(), secrets.token_hex(), str(uuid.uuid1())]
""",
}
"""What models write, most of it."""

TRACELESS: Final = {
    "too much recursion": """
def f(): return f()
f()
""",
    "builtins": """
import builtins
builtins.left = 1
builtins.len = None
del builtins.sorted
""",
    "the real builtins": """
import sys
sys.__dict__['left'] = 1
for m in list(sys.modules.values()): vars(m)['left'] = 2
""",
    "modules": """
import sys, types, json
sys.modules['left'] = types.ModuleType('left')
json.dumps = None
del sys.modules['re']
""",
    "the runtime": """
import sys
for name, m in list(sys.modules.items()):
    if name.startswith('ez_sandbox'): vars(m).clear()
""",
    "decimals": """
import decimal
decimal.getcontext().prec = 7
decimal.DefaultContext.prec = 9
""",
    "recursion limit": """
import sys
sys.setrecursionlimit(123)
""",
    "environment": """
import os
os.environ['LEFT'] = 'x'
LIBC.setenv(b'LEFT', b'y', 1)
""",
    "paths and hooks": """
import sys
sys.path.append('left')
sys.meta_path.clear()
sys.excepthook = sys.displayhook = None
""",
    "trace functions": """
import sys, threading
sys.settrace(lambda *a: None)
sys.setprofile(lambda *a: None)
threading.settrace(print)
""",
    "collector": """
import gc
gc.disable()
gc.set_threshold(1)
gc.callbacks.append(print)
""",
    "exit functions": """
import atexit
atexit.register(print, 'left')
""",
    "warnings and logging": """
import logging, warnings
warnings.simplefilter('error')
logging.getLogger().setLevel(1)
""",
    "thread-local": """
import threading
threading.local().x = 1
threading.stack_size(1 << 20)
threading.excepthook = None
""",
    "rounding mode": "LIBC.fesetround(0x800)",
    "data of the C library": """
ctypes.c_int.in_dll(LIBC, 'optind').value = 77
LIBC.srand(7)
""",
    "heap": """
LIBC.malloc.restype = ctypes.c_void_p
ctypes.memset(LIBC.malloc(30_000), 7, 30_000)
""",
    "small integers": "ctypes.memmove(id(5) + 24, id(6) + 24, 4)",
    "constants": "ctypes.memmove(id(True) + 24, id(False) + 24, 4)",
    "interned text": "ctypes.memset(id('left behind') + 48, 66, 4)",
    "switch interval": """
import sys
sys.setswitchinterval(0.5)
sys.set_int_max_str_digits(0)
""",
    "the context": """
import contextvars
v = contextvars.ContextVar('left')
v.set(1)
""",
    "async hooks": """
import sys
sys.set_asyncgen_hooks(print, print)
sys.set_coroutine_origin_tracking_depth(5)
""",
    "codecs": """
import codecs
codecs.register(lambda name: None)
codecs.register_error('left', print)
""",
    "a class of C": """
import datetime
ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.date))
""",
    "a done frame": """
import json, os
def send(frame):
    body = json.dumps(frame).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
send({"t": "done", "value": 1, "error": None, "dropped": 0})
os.read(3, 1)
""",
    "two done frames": """
import json, os
def send(frame):
    body = json.dumps(frame).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
send({"t": "done", "value": 1, "error": None, "dropped": 0})
send({"t": "done", "value": 1, "error": None, "dropped": 0})
""",
    "bytes after the end": """
import json, os
def send(frame):
    body = json.dumps(frame).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
send({"t": "done", "value": 1, "error": None, "dropped": 0})
while True: os.write(3, b"left")
""",
    "an end that goes on": """
import json, os
def send(frame):
    body = json.dumps(frame).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
send({"t": "done", "value": 1, "error": None, "dropped": 0})
while True: pass
""",
    "an end that sleeps": """
import json, os
def send(frame):
    body = json.dumps(frame).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
import time
send({"t": "done", "value": 1, "error": None, "dropped": 0})
time.sleep(5)
""",
    "a reply that is not read": """
import json, os
def send(frame):
    body = json.dumps(frame).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
send({"t": "call", "id": 1, "path": "1", "name": "add", "args": [1, 2], "kwargs": {}, "alone": True})
""",
    "a crash": "LIBC.abort()",
    "an early exit": """
import os
os._exit(0)
""",
    "an end beside a reply": """
import json, os
def send(frame):
    body = json.dumps(frame).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
send({"t": "call", "id": 1, "path": "1", "name": "add", "args": [1, 2],
      "kwargs": {}, "alone": True})
import time
time.sleep(0.05)
send({"t": "done", "value": 1, "error": None, "dropped": 0})
while True: time.sleep(1)
""",
}
"""What is left without a system call that the kernel would remember, and ends that are no ends."""

TAINTING: Final = {
    "a mapping": "sys('mmap', 0, 1 << 20, 3, 0x22, -1, 0)",
    "a mapping moved": """
place = sys('mmap', 0, 1 << 20, 3, 0x22, -1, 0)
sys('mremap', place, 1 << 20, 1 << 21, 1, 0)
""",
    "a mapping emptied": """
buffer = ctypes.create_string_buffer(1 << 14)
sys('madvise', ctypes.addressof(buffer) + 4095 & ~4095, 4096, 4)
""",
    "a mapping made writable": "sys('mprotect', id(5) & ~4095, 4096, 3)",
    "memory unmapped": """
place = sys('mmap', 0, 1 << 20, 3, 0x22, -1, 0)
sys('munmap', place, 1 << 20)
""",
    "the break": "sys('brk', sys('brk', 0) + (1 << 20))",
    "a big list": """
x = list(range(2_000_000))
len(x)
""",
    "a thread": """
import threading
t = threading.Thread(target=print)
t.start()
t.join()
""",
    "a thread that stays": """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
""",
    "an event loop": """
import asyncio
await asyncio.sleep(0)
""",
    "a signal handler": """
import signal
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
""",
    "a signal mask": """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
""",
    "a signal stack": """
stack = ctypes.create_string_buffer(65536)
sys('sigaltstack', (ctypes.c_ulong * 3)(ctypes.addressof(stack), 0, 65536), 0)
""",
    "a timer": """
import signal
signal.setitimer(signal.ITIMER_REAL, 100, 100)
""",
    "a timer of CPU time": """
import signal
signal.setitimer(signal.ITIMER_PROF, 100, 100)
""",
    "an alarm": """
import signal
signal.alarm(100)
""",
    "descriptors": """
import os
os.pipe()
""",
    "a closed descriptor": """
import os
os.close(0)
""",
    "a closed link": """
import os
os.close(3)
""",
    "flags of a descriptor": """
import os
os.set_blocking(3, False)
os.set_inheritable(3, True)
""",
    "a pair of sockets": """
import socket
socket.socketpair()
""",
    "an event queue": """
import select
select.epoll()
""",
    "a limit": """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
""",
    "a lower limit of memory": """
import resource
resource.setrlimit(resource.RLIMIT_DATA, (1 << 26, 1 << 26))
""",
    "a robust list": "sys('set_robust_list', 0, 24)",
    "restartable sequences": "sys('rseq', 0, 0, 0, 0)",
    "a deep stack": """
def deep(n): return sorted([n], key=lambda x: deep(n - 1) if n else 0)
deep(60)
""",
}
"""What the kernel would remember."""

PROBE: Final = (
    PRELUDE
    + r"""
import asyncio, atexit, builtins, contextvars, datetime, decimal, gc, json, locale, logging, random, re, resource
import select, signal, sys as system, threading, time, warnings
def flags(fd):
    return [LIBC.fcntl(fd, 1, 0), LIBC.fcntl(fd, 3, 0)]
LIBC.getenv.restype = ctypes.c_char_p
def fingerprint():
    handlers = [str(signal.getsignal(n)) for n in signal.valid_signals()]
    names = sorted(name for name in system.modules if name != "__main__")
    limits = [resource.getrlimit(n) for n in range(16)]
    return {
        "builtins": sorted(vars(builtins)), "sane": [len([1]), sorted([2, 1]), 5 + 1, str(True), json.dumps([1])],
        "modules": names, "marks": [n for n, m in system.modules.items() if m is not None and hasattr(m, "left")],
        "decimal": [decimal.getcontext().prec, decimal.DefaultContext.prec], "recursion": system.getrecursionlimit(),
        "environment": [sorted(os.environ.items()), LIBC.getenv(b"LEFT")],
        "threads": [threading.active_count(), threading.stack_size(), str(system.gettrace()), str(system.getprofile())],
        "descriptors": [flags(fd) for fd in range(64)], "limits": limits,
        "timers": [signal.getitimer(n) for n in range(3)],
        "signals": handlers,
        "rounding": LIBC.fegetround(), "C": ctypes.c_int.in_dll(LIBC, "optind").value,
        "collector": [gc.isenabled(), gc.get_threshold(), len(gc.callbacks)],
        "paths": [system.path, len(system.meta_path), str(system.displayhook), str(system.excepthook)],
        "warnings": len(warnings.filters), "logging": logging.getLogger().level,
        "other": [system.getswitchinterval(), system.get_int_max_str_digits(), str(system.get_asyncgen_hooks()[0]),
                  len(list(contextvars.copy_context())), atexit._ncallbacks(), "left behind"],
        "variables": [name for name in globals() if name.startswith("left")],
        "call": add(20, 22),
    }
[fingerprint(), [random.random(), os.urandom(8).hex(), random.SystemRandom().random()]]
"""
)

ASK_THE_KERNEL: Final = (
    PRELUDE
    + r"""
import signal
stack = (ctypes.c_ulong * 3)()
sys("sigaltstack", 0, ctypes.addressof(stack))
# The addresses that it gives next tell of mappings.
[sorted(signal.pthread_sigmask(0, [])), list(stack), sys("mmap", 0, 4096, 3, 0x22, -1, 0), sys("brk", 0)]
"""
)
"""What only a call that prevents the restoration can ask for."""
