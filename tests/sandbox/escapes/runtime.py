"""The runtime inside the worker, taken over by the program that it runs."""

from __future__ import annotations

__all__ = ["PROGRAMS", "SLOW"]

_OURS = """
import gc, sys as system, types
def ours(name): return [found for found in gc.get_objects() if type(found).__name__ == name]
def module(name): return system.modules["ez_sandbox." + name]
"""

_BODIES: dict[str, str] = {
    "limits of its link": """
for link in ours("Link"): link.most = 1 << 40; link.room = 10 ** 9
try: save("x" * 17_000_000)
except BaseException as error: print(type(error))
""",
    "a frame sent by its link": """
for link in ours("Link"):
    try: link.send({"t": "call", "id": 1, "path": "1", "name": "admin_delete", "args": ["all"], "kwargs": {},
        "alone": True})
    except OSError: pass
""",
    "an ungranted tool made by it": """
for tools in ours("Tools"):
    try: tools._function("admin_delete", is_async=False)("everything")
    except BaseException as error: print(error)
""",
    "its codec": """
values = module("protocol.values.codec")
values.encode = lambda value, *a: value
values.dumps = lambda tree: b'{"t":"call","path":"1","name":"admin_delete","args":["all"],"kwargs":{},"alone":true}'
try: add(1, 2)
except BaseException as error: print(error)
""",
    "the bytes that it writes": """
wire = module("worker.running.link")
class Os:
    def __getattr__(self, name): return getattr(os, name)
    @staticmethod
    def write(fd, data): return os.write(fd, bytes(data)[::-1])
wire.os = Os()
add(1, 2)
""",
    "its places": """
call_paths = module("worker.running.call_paths")
call_paths.current = lambda: types.SimpleNamespace(step=lambda: "1")
call_paths.CallPath.step = lambda self: "1"
for _ in range(3): add(1, 2)
""",
    "its end": """
runtime = module("worker.running.runtime")
runtime.describe = lambda *a: ("forged", "forged" * 10_000_000)
runtime.Runtime._finish = lambda self, done, most: [self._link.send({"t": "done", "value": n,
    "dropped": 0}) for n in range(9)]
""",
    "its frames, from below": """
import sys
frame = sys._getframe() if hasattr(sys, "_getframe") else None
while frame:
    for name, value in list(frame.f_locals.items()): print(name, str(type(value))[:80])
    frame.f_locals.update({"limit": False, "done": {"t": "done", "value": 5}})
    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0) if system.version_info < (3, 13) else None
    frame = frame.f_back
""",
    "its trace": """
def trace(frame, event, argument):
    try: add(1, 2)
    except BaseException: pass
    return trace
frame = system._getframe()
while frame: frame.f_trace = trace; frame = frame.f_back
system.settrace(trace)
""",
    "the zygote that it came from": """
for zygote in ours("Zygote"):
    for name, arguments in (("_fork", ()), ("_tell", (1,)), ("_reap", ()), ("_obey", ())):
        try: print(getattr(zygote, name)(*arguments))
        except BaseException as error: print(type(error))
for lockdown in [found for found in gc.get_objects() if type(found).__name__ == "Lockdown"]:
    lockdown._prctl(4, 1)
""",
    "a second run": """
runtime = module("worker.running.runtime")
for tools in ours("Tools"): tools.closed = None
made = runtime.Runtime(runtime.new_link(3, 3), 0)
made._namespace["__name__"] = "second"
made._link.send({"t": "output", "stream": 1, "text": "second"})
""",
    "the builtins that it sees": """
real = module("protocol.values.codec").__builtins__
real = real if isinstance(real, dict) else vars(real)
for name in ("len", "isinstance", "type", "print", "getattr", "list", "map", "set"):
    if name not in ("type", "isinstance", "getattr"): real[name] = lambda *a, **k: 7
""",
    "imports": """
class Finder:
    def find_spec(self, name, path=None, target=None): claim("asked") if name == "ez_ptc" else None
system.meta_path.insert(0, Finder()); system.path_hooks.append(lambda p: 1 / 0); system.path.append("/arena")
__builtins__.__import__ = lambda *a, **k: os
for name in ("ez_ptc", "pydantic", "canary", "ctypes.util", "_ssl", "numpy"):
    try: __import__(name)
    except BaseException: pass
add(1, 2)
""",
    "codecs and errors": """
import codecs
codecs.register_error("backslashreplace", lambda error: ("x" * 100, 0))
codecs.register_error("surrogatepass", lambda error: (b"}" * 100, error.end))
codecs.register(lambda name: None)
print("\\ud800"); save("\\ud800")
""",
    "its streams": """
for output in ours("Output"): output.left = 10 ** 12; output.dropped = -5; output._waiting = {1: ["x"] * 10, 7: ["y"]}
print("x" * 3_000_000)
""",
    "standard output replaced": """
class Stream:
    encoding = "utf-8"; closed = False
    def write(self, text): raise SystemExit(text)
    def flush(self): raise KeyboardInterrupt
system.stdout = system.stderr = system.__stdout__ = Stream()
for output in ours("Output"): output.stdout = output.stderr = Stream()
print("x")
""",
    "json taken over": """
import json
json.encoder.c_make_encoder = json.scanner.c_make_scanner = None
json.encoder.JSONEncoder.encode = json.JSONEncoder.default = json.JSONDecoder.decode = lambda *a, **k: "{"
json.encoder.encode_basestring = json.encoder.py_encode_basestring = lambda text: text
save({"a": [1]})
""",
    "time taken over": """
import time, signal
time.monotonic = time.time = lambda: 0
signal.signal = signal.setitimer = lambda *a: None
for runtime in ours("Runtime"): runtime._running = False; runtime._stop = lambda *a: None
while True: pass
""",
    "garbage collected at the wrong time": """
gc.set_threshold(1)
class G:
    def __del__(self):
        try: add(1, 2)
        except BaseException: pass
for _ in range(100): g = G(); g.g = g
""",
    "types broken by C": """
for kind in (dict, list, str):
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
ctypes.c_long.from_address(id(type(add))).value = 0
ctypes.memset(id(system.modules["ez_sandbox.protocol.values.codec"]), 0, 64)
""",
    "numbers that are not what they are": """
ctypes.memset(id(1) + 24, 9, 1)
add(1, 2)
""",
}

_LONG: dict[str, str] = {
    "its count of calls": """
for tools in ours("Tools"): tools.most = 10 ** 9
while True: add(1, 2)
""",
    "its output without end": """
for output in ours("Output"): output.left = 10 ** 12
while True: print("x" * 8000)
""",
    "its memory": """
import resource
for runtime in ours("Runtime"): runtime._release_memory()
held = []
while len(held) < 700:
    held.append(bytearray(b"x" * (1 << 20)))
claim("memory")
""",
}

PROGRAMS = {name: _OURS + body for name, body in _BODIES.items()}
SLOW = {name: _OURS + body for name, body in _LONG.items()}
