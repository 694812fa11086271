"""Modules that are loaded when they are first imported, and what lies between a program and them."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_KEPT = """
import gc, importlib, sys as system
def ours(name): return [found for found in gc.get_objects() if type(found).__name__ == name]
gc.unfreeze()
shelves, kept = ours("Shelf"), ours("Modules")
def address(view):
    return ctypes.addressof(ctypes.c_char.from_buffer(view)) if not view.readonly else id(view)
"""

PROGRAMS: dict[str, str | tuple[str, ...]] = {
    "the shelf written to": (
        f"""{_KEPT}
class Buffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t)] + [
        (name, ctypes.c_void_p) for name in "abcdefgh"]
for shelf in shelves:
    found = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(shelf._seen), ctypes.byref(found), 0)
    if sys("mprotect", found.buf, (found.len + 4095) & ~4095, 3) == 0:
        ctypes.memset(found.buf, 0x41, found.len)
try:
    import tomllib
except BaseException: pass
""",
        """
import tomllib, zoneinfo
if tomllib.loads("a = 1") != {"a": 1} or not zoneinfo.ZoneInfo("Asia/Tokyo"): claim("written")
""",
    ),
    "a loader that runs other code": (
        f"""{_KEPT}
planted = compile("claim('planted')\\nPLANTED = 1", "<stdlib>/colorsys.py", "exec")
for found in {{type(each) for each in gc.get_objects() if type(each).__name__ == "_Kept"}}:
    found.get_code = lambda self, name="": planted
for modules in kept: modules._kept["planted"] = modules._kept["colorsys"]
""",
        """
import colorsys
if hasattr(colorsys, "PLANTED"): claim("planted")
try: import planted
except ModuleNotFoundError: pass
else: claim("planted")
""",
    ),
    "loaders that read": f"""{_KEPT}
import json, pkgutil, zipimport, importlib.util, importlib.resources, linecache, tokenize
from importlib import machinery
for path in ("/arena/canary.txt", "/proc/self/environ", "../arena/canary.txt"):
    for kind in (machinery.SourceFileLoader, machinery.SourcelessFileLoader):
        attempt(path, kind("x", path).get_data, path); attempt(path, kind("x", path).get_code, "x")
    attempt(path, zipimport.zipimporter, path); attempt(path, tokenize.open, path)
    attempt(path, lambda: importlib.util.spec_from_file_location("x", path + ".py").loader.get_data(path))
    if linecache.getlines(path): claim(path)
for name in ("json", "email", "asyncio"):
    attempt(name, lambda: pkgutil.get_data(name, "__init__.py").decode())
    attempt(name, lambda: importlib.resources.files(name).joinpath("__init__.py").read_text())
""",
    "what is not there for programs": """
import importlib, sys as system
for name in ("_ssl", "_hashlib", "readline", "_multiprocessing", "_posixshmem", "_interpreters", "_testcapi", "ez_ptc"):
    system.modules.pop(name, None)
    attempt(name, importlib.import_module, name)
    attempt(name, lambda: importlib.machinery.PathFinder.find_spec(name, ["/usr/lib", "/lib"]).loader.load_module(name))
""",
    "modules taken away before the end": """
import sys as system
system.meta_path[:] = []; system.path_hooks[:] = []
for name in list(system.modules):
    if name not in ("sys", "builtins"): system.modules[name] = None
{}["missing"]
""",
    "modules that raise when they are looked at": """
import sys as system, types
class Module(types.ModuleType):
    def __getattribute__(self, name): raise SystemExit(name)
for name in ("linecache", "difflib", "traceback", "inspect", "json", "re", "ast", "signal", "resource", "os"):
    system.modules[name] = Module(name)
system.modules["ez_sandbox"] = system.modules["ez_sandbox.protocol.values.codec"] = Module("x")
missing
""",
    "the lock of imports kept": """
import _imp, threading
taken = threading.Event()
def keep(): _imp.acquire_lock(); taken.set(); threading.Event().wait()
threading.Thread(target=keep, daemon=True).start()
taken.wait(1)
{}["missing"]
""",
    "marshal and frozen modules": """
import _imp, marshal, types
for name in ("zipimport", "_frozen_importlib"): _imp.get_frozen_object(name)
for n in range(3000):
    try: marshal.loads(bytes([0xe3]) + os.urandom(200))
    except (ValueError, EOFError, TypeError, MemoryError): pass
""",
    "code of a module changed in memory": (
        """
import json, textwrap
def planted(*a, **k): return "planted"
for function in (json.dumps, json.loads, textwrap.dedent): function.__code__ = planted.__code__
ctypes.memset(id(json.JSONEncoder.encode.__code__) + 24, 0, 16)
""",
        """
import json, textwrap
if [json.dumps(1), json.loads("1"), textwrap.dedent(" a")] != ["1", 1, "a"]: claim("planted")
""",
    ),
}
