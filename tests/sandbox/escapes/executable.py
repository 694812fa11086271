"""Code of the program's own, or pieces of other code jumped into: without it, only what is allowed can be called."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_NOTE = """
CODE = {"x86_64": b"\\xb8\\x2a\\x00\\x00\\x00\\xc3",
    "aarch64": b"\\x40\\x05\\x80\\x52\\xc0\\x03\\x5f\\xd6"}[os.uname().machine]
def run(address):
    ctypes.memmove(address, CODE, len(CODE))
    if ctypes.CFUNCTYPE(ctypes.c_long)(address)() == 42: claim("code of its own ran")
"""

_FIND = """
def text():
    names = "getpid printf malloc qsort strtod iconv system getaddrinfo regexec wordexp syscall".split()
    places = [ctypes.cast(getattr(LIBC, name), ctypes.c_void_p).value for name in names]
    near = [place for place in places if abs(place - places[-1]) < 1 << 21]
    return min(near), ctypes.string_at(min(near), max(near) - min(near))
def jump(pattern, claimed):
    start, found = text()
    place = found.find(pattern)
    if place >= 0:
        ctypes.CFUNCTYPE(ctypes.c_long)(start + place)()
        claim(claimed)
"""

PROGRAMS: dict[str, str] = {
    "mappings that are executable": """
import mmap
for protection in (4, 5, 6, 7):
    for flags in (0x22, 0x21, 0x2022, 0x4022, 0x20022, 0x40022, 0x122, 0x32, 0x62):
        refused((protection, flags), sys("mmap", 0, 4096, protection, flags, -1, 0))
        attempt((protection, flags), mmap.mmap, -1, 4096, flags, protection)
""",
    "memory made executable": f"""{_NOTE}
place = sys("mmap", 0, 8192, 3, 0x22, -1, 0)
for name, more in (("mprotect", ()), ("pkey_mprotect", (-1,)), ("pkey_mprotect", (0,))):
    for protection in (4, 5, 6, 7, 0x1000007, 0x2000005, 0x100000007):
        refused((name, protection), sys(name, place, 4096, protection, *more))
run(place)
""",
    "reading implies running": f"""{_NOTE}
refused("personality", sys("personality", 0x0400000))
run(sys("mmap", 0, 4096, 3, 0x22, -1, 0))
""",
    "the heap": f"{_NOTE}\nrun(ctypes.addressof(ctypes.create_string_buffer(4096)))",
    "the stack": f"{_NOTE}\nrun(ctypes.addressof(ctypes.c_char.from_buffer(bytearray(64))))",
    "over the code of libc": f"""{_NOTE}
place = ctypes.cast(LIBC.getpid, ctypes.c_void_p).value & ~4095
for protection in (3, 7): refused(protection, sys("mprotect", place, 4096, protection) if protection == 7 else -1)
run(place)
""",
    "a page put in the place of code": """
place = ctypes.cast(LIBC.getloadavg, ctypes.c_void_p).value & ~4095
old = ctypes.string_at(place, 4096)
if sys("mmap", place, 4096, 3, 0x32, -1, 0) == place:
    ctypes.memmove(place, old, 4096)
    refused("mprotect", sys("mprotect", place, 4096, 5))
    ctypes.CFUNCTYPE(ctypes.c_long)(place)()
    claim("it ran")
""",
    "code moved by mremap": f"""{_NOTE}
code = ctypes.cast(LIBC.getpid, ctypes.c_void_p).value & ~4095
for flags in (0, 1, 2, 3, 4, 5, 7):
    moved = sys("mremap", code, 4096, 8192 if flags == 1 else 4096, flags, 0x10000000)
    if moved > 0 and moved != code: run(moved)
refused("remap_file_pages", sys("remap_file_pages", code, 4096, 0, 0, 0))
""",
    "a library of its own": """
attempt("memfd", os.memfd_create, "x")
for path in ("/arena/canary.txt", "/proc/self/fd/3", "/dev/fd/3", "libnss_files.so.2",
    "/lib/x86_64-linux-gnu/libcrypt.so.1", "./x.so"):
    attempt(path, ctypes.CDLL, path)
import importlib.machinery, importlib.util
loader = importlib.machinery.ExtensionFileLoader("x", "/arena/x.so")
attempt("extension", loader.create_module, importlib.util.spec_from_loader("x", loader))
""",
    "callbacks from C": """
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
made = [kind(lambda a, b: 0) for _ in range(200)]
numbers = (ctypes.c_int * 5)(5, 4, 3, 2, 1)
LIBC.qsort(numbers, 5, 4, made[0])
""",
    "int 0x80 inside libc": f"{_FIND}\njump(bytes([0xCD, 0x80]), 'int 0x80')",
    "sysenter inside libc": f"{_FIND}\njump(bytes([0x0F, 0x34]), 'sysenter')",
    "a system call inside libc": f"""{_FIND}
start, found = text()
place = found.find(bytes([0x0F, 0x05, 0xC3]))
if place >= 0: refused("jumped", ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_char_p,
    ctypes.c_long)(start + place)(b"/arena/canary.txt", 0))
""",
    "bytecode of its own": """
import types
def f(): pass
for first in range(256):
    code = f.__code__.replace(co_code=bytes([first, 255]) * 40, co_consts=(), co_names=(), co_stacksize=1)
    if first % 51 == 50: types.FunctionType(code, {})()
""",
}
