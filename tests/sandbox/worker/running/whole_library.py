"""Programs that see what the standard library is: each prints the same in plain CPython and in the sandbox."""

__all__ = ["OF_THE_LIBRARY"]

OF_THE_LIBRARY = {
    "every text encoding": """
from encodings.aliases import aliases
for name in sorted({*aliases.values()}):
    try:
        print(name, "Tee".encode(name), "Tee".encode(name).decode(name))
    except LookupError as error:
        print(name, error)
""",
    "encodings that are modules": """
import codecs, encodings.cp037, encodings.uu_codec
print(codecs.lookup("cp1140").name, encodings.cp037.getregentry().name, codecs.encode(b"tea", "uu"))
print(b"\\x93\\xfa\\x96{".decode("shift_jis_2004"), "caf\u00e9".encode("mac_turkish"))
try:
    "x".encode("mbcs")
except LookupError as error:
    print(error)
""",
    "a warning of a module that is imported": """
import warnings
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    import sre_compile
here = (lambda: 0).__code__.co_filename
print([(str(each.message), each.lineno, each.filename == here) for each in given])
""",
    "context variables are the program's own": """
import asyncio, contextvars, threading
from concurrent.futures import ThreadPoolExecutor
mine = contextvars.ContextVar("mine", default=0)
def seen(): return [(variable.name, value) for variable, value in contextvars.copy_context().items()]
def show(): print(seen(), mine.get())
show()
thread = threading.Thread(target=show)
thread.start()
thread.join()
with ThreadPoolExecutor(1) as pool:
    pool.submit(mine.set, 3).result()
    print(pool.submit(seen).result(), mine.get())
async def work(): return seen()
async def main():
    mine.set(5)
    print(await asyncio.gather(work(), asyncio.create_task(work()), asyncio.to_thread(seen)))
asyncio.run(main())
show()
print(len(contextvars.copy_context()))
""",
    "tracebacks of threads and jobs": """
import sys, threading, traceback
from concurrent.futures import ThreadPoolExecutor
def names(error): return [frame.name for frame in traceback.extract_tb(error.__traceback__)]
def fail(): raise ValueError("no")
with ThreadPoolExecutor(1) as pool:
    try:
        pool.submit(fail).result()
    except ValueError as error:
        print(names(error))
threading.excepthook = lambda given: print(names(given.exc_value))
thread = threading.Thread(target=fail)
before = sorted(vars(thread))
thread.start()
thread.join()
print(sorted(vars(thread)) == before or sorted({*vars(thread)} ^ {*before}))
""",
    "a thread that cannot be hashed": """
import threading
from dataclasses import dataclass
@dataclass
class Work(threading.Thread):
    count: int
    def __post_init__(self): threading.Thread.__init__(self)
    def run(self): print(self.count)
work = Work(3)
try:
    work.start()
    work.join()
except TypeError as error:
    print(error)
""",
    "a frozen module from its source": """
import _imp, sys
_imp._override_frozen_modules_for_tests(-1)
for name in ("importlib.machinery", "genericpath", "zipimport"):
    sys.modules.pop(name, None)
    print(__import__(name, fromlist=["x"]).__spec__.origin != "frozen")
_imp._override_frozen_modules_for_tests(0)
""",
    "importlib in Python alone": """
import sys
kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "importlib"}
blocked = {name: sys.modules.pop(name) for name in ("_frozen_importlib", "_frozen_importlib_external")}
sys.modules.update(dict.fromkeys(blocked))
import _imp
_imp._override_frozen_modules_for_tests(-1)
try:
    import importlib.machinery
    print(importlib.machinery is not kept.get("importlib.machinery"), importlib.import_module("json").dumps([1]))
finally:
    _imp._override_frozen_modules_for_tests(0)
    sys.modules.update(kept | blocked)
""",
}
