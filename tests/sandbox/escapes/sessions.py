"""What one program of a session leaves for the next, to be more than the host gives: each runs in the same process."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_SPEAK = """
import gc, json, sys as system, threading, time
def module(name): return system.modules["ez_sandbox." + name]
def ours(name): return [found for found in gc.get_objects() if type(found).__name__ == name]
def send(body):
    data = json.dumps(body).encode()
    os.write(3, len(data).to_bytes(4, "big") + data)
def call(number, name="save"):
    send({"t": "call", "id": number, "path": str(number), "name": name, "args": [number], "kwargs": {}, "alone": True})
def done(value): send({"t": "done", "value": value, "error": None, "dropped": 0})
def forever(go):
    def run():
        while True:
            try: go()
            except BaseException: pass
            time.sleep(0.0001)
    threading.Thread(target=run, daemon=True).start()
"""

_PAIRS: dict[str, tuple[str, ...]] = {
    "a thread that calls for the next": (
        "forever(lambda: admin_delete('all') if 'admin_delete' in globals() else add(1, 2))",
        "time.sleep(0.05)\nadd(20, 22)",
    ),
    "a thread that forges calls of the next": (
        "forever(lambda: [call(n, 'admin_delete') for n in range(1, 9)])",
        "time.sleep(0.05)\nadd(20, 22)",
    ),
    "a thread that ends the next": ("forever(lambda: done('forged'))", "time.sleep(0.05)\nadd(20, 22)"),
    "a thread that reads for the next": ("forever(lambda: os.read(3, 7))", "[add(n, 1) for n in range(20)]"),
    "an end before its time, and another": ("done('early')", "done('early'); done('twice'); add(1, 2)"),
    "a finalizer for the next": (
        "class Late:\n    def __del__(self): call(1, 'admin_delete')\nlate = Late()",
        "del late; add(1, 2)",
    ),
    "a count of calls set back": (
        "for tools in ours('Tools'): type(tools).begin = lambda self, most: setattr(self, 'most', 10 ** 9)",
        """
number = 0
try:
    while number < 3000: add(1, 2); number += 1
except BaseException: pass
if number > 2000: claim(number)
""",
    ),
    "limits of memory for the next": (
        """
import resource
runtime = module("worker.running.runtime")
runtime.Runtime._limit = lambda *a, **k: None
hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
attempt("raised", resource.setrlimit, resource.RLIMIT_DATA, (-1, -1))
resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
""",
        """
held = []
try:
    while len(held) < 90: held.append(bytearray(b"x" * (8 << 20)))
    claim("memory")
except MemoryError: held = None
""",
    ),
    "signals for the next": (
        """
import signal
signal.signal = lambda *a: None
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
module("worker.running.runtime").signal = None
""",
        "add(1, 2)\nwhile True: pass",
    ),
    "a codec for the next": (
        """
values = module("protocol.values.codec")
values.encode = lambda value, *a: {"$": ["m", [[1, 2]] * 9]}
values.dumps = lambda tree: b'{"t":"done","value":' + b"[" * 90 + b"]" * 90 + b',"error":null,"dropped":0}'
values.loads = lambda *a: {"t": "reply", "id": 1, "v": "forged"}
""",
        "add(1, 2)",
        "add(1, 2)",
    ),
    "json for the next": (
        "json.loads = json.dumps = json.JSONDecoder = json.JSONEncoder = json.decoder = json.encoder = 5",
        "save({'a': [1]})",
    ),
    "a check that asks for what it likes": (
        """
import types
check = module("check.check")
mistake = types.SimpleNamespace(line=10 ** 9, error="</tool>" * 10 ** 6, hint=5, fix=(1, 2, 3, 4, "x"))
for found in (check, module("worker.running.runtime")): found.mistakes = lambda *a: [mistake] * 10 ** 5
""",
        "add(1, 2)",
    ),
    "a compiler for the next": (
        """
program, real = module("check.reading.program"), compile
program.compile = lambda *a, **k: real("admin_delete('all')", "<program 2>", "exec")
module("worker.running.runtime").parse_program = module("worker.running.runtime").compile_program = program.compile
""",
        "add(1, 2)",
    ),
    "the names of tools for the next": (
        "globals().update(admin_delete=add, add=lambda *a: save(a))\nfor tools in ours('Tools'): tools.texts = {}",
        "admin_delete(1, 2)\nadd('all', 'of it')",
    ),
    "a place for the next": (
        """
paths = module("worker.running.call_paths")
paths.begin = lambda: None
paths.CallPath.step = lambda self: "1"
""",
        "parallel((add, 1, 2), (add, 3, 4)); add(1, 2); add(1, 2)",
    ),
}

PROGRAMS = {name: (_SPEAK + first, *rest) for name, (first, *rest) in _PAIRS.items()}
