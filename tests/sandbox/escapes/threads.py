"""Threads that stay, signals that do not come, code that does not stop."""

from __future__ import annotations

__all__ = ["PROGRAMS", "SLOW"]

PROGRAMS: dict[str, str] = {
    "a thread that calls on after the end": """
import threading, time
def go():
    while True:
        try: add(1, 2)
        except BaseException: time.sleep(0.0001)
for _ in range(5): threading.Thread(target=go, daemon=True).start()
""",
    "finalizers that call tools": """
import weakref, atexit, gc
class Late:
    def __del__(self): save("from the grave")
late = Late(); late.me = late
weakref.finalize(Late, save, "finalized")
atexit.register(save, "at exit")
gc.callbacks.append(lambda phase, info: save(phase))
""",
    "a tool called from a hook": """
import sys as system
system.addaudithook(lambda event, arguments: admin_delete(event) if event == "os.putenv" else None)
system.unraisablehook = system.excepthook = lambda *a: add(1, 2)
system.setprofile(lambda *a: None); system.settrace(lambda *a: None)
os.putenv("a", "b"); add(1, 2)
""",
    "an audit hook that raises at everything": """
import sys as system
def hook(event, arguments): raise SystemExit(event)
system.addaudithook(hook)
""",
    "threads in their thousands": """
import _thread, time
def wait(): time.sleep(60)
started = 0
try:
    for _ in range(20000):
        _thread.start_new_thread(wait, ()); started += 1
except (RuntimeError, MemoryError): pass
if started > 2000: claim(started)
""",
    "stacks of a gigabyte": """
import threading
for size in (1 << 30, 512 << 20, 200 << 20):
    threading.stack_size(size)
    thread = threading.Thread(target=lambda: None)
    try: thread.start()
    except RuntimeError: continue
    if size > 400 << 20: claim(size)
""",
    "exceptions thrown into the runtime": """
import threading
main = threading.main_thread().ident
def strike():
    for _ in range(50): ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main),
        ctypes.py_object(KeyboardInterrupt))
threading.Thread(target=strike, daemon=True).start()
add(1, 2)
""",
    "an interrupt for the runtime": "ctypes.pythonapi.PyErr_SetInterrupt()",
    "the lock of the interpreter given away": "ctypes.pythonapi.PyEval_SaveThread()",
    "a lock that nobody gives back": """
import gc, threading
for found in gc.get_objects():
    if type(found).__name__ == "Link": found._lock = found._writing = threading.Lock()
""",
}

SLOW: dict[str, str] = {
    "the alarm blocked": """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
while True: pass
""",
    "the alarm ignored": "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass",
    "an alarm that is handled otherwise": """
import signal
signal.signal(signal.SIGALRM, lambda *a: add(1, 2))
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    "waiting in C": "LIBC.pause()",
    "sleeping in C": "while True: LIBC.sleep(1000)",
    "reading from the host for ever": "while True: LIBC.read(3, ctypes.create_string_buffer(64), 64)",
    "a switch that never comes": """
import sys as system, threading
system.setswitchinterval(1e6)
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
spin()
""",
    "an end that does not end": """
class Late:
    def __del__(self):
        while True: pass
Late()
""",
    "a thread that is waited for": """
import threading, time
threading.Thread(target=time.sleep, args=(3600,)).start()
""",
    "work that takes no signals": "sum(range(10 ** 12))",
    "catching every end": """
def go():
    while True:
        try:
            while True: pass
        except BaseException: go()
go()
""",
    "alarms of its own": """
import signal
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
while True: pass
""",
}
