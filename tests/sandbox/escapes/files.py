"""Files, and what knows a way to them."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    "what the kernel tells of processes": """
for pid in ("self", "thread-self", 1, os.getpid(), os.getppid(), "self/task/1"):
    for name in ("environ", "cmdline", "maps", "mem", "fd/3", "root/arena/canary.txt", "cwd", "status", "stat", "exe",
                 "mountinfo", "net/tcp", "net/unix", "ns/net", "attr/current", "auxv", "oom_score_adj"):
        for read in (lambda p: open(p, "rb").read(), os.readlink, os.stat, os.listdir):
            attempt((pid, name), read, f"/proc/{pid}/{name}")
""",
    "what the kernel tells of itself": """
for path in ("/proc/cpuinfo", "/proc/version", "/proc/sys/kernel/hostname", "/proc/net/route",
    "/proc/sys/vm/mmap_min_addr",
             "/sys/kernel/mm", "/sys/class/net", "/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/null", "/dev/urandom",
                 "/dev/shm",
             "/dev/pts/0", "/run", "/etc/hosts", "/etc/resolv.conf", "/etc/machine-id", "/etc/localtime", "/tmp", "."):
    attempt(path, os.stat, path)
    attempt(path, os.listdir, path)
    attempt(path, open, path, "rb")
""",
    "by every library that opens files": """
import bz2, gzip, lzma, zipfile, tarfile, tokenize, shelve, io, pathlib, shutil, fileinput, configparser, json
import runpy, wave
import importlib.machinery, logging.handlers, tempfile, glob, linecache, csv, codecs, tracemalloc
path = "/arena/canary.txt"
ways = [bz2.open, gzip.open, lzma.open, zipfile.ZipFile, tarfile.open, tokenize.open, io.open_code, io.FileIO,
    runpy.run_path,
        codecs.open, wave.open, pathlib.Path(path).read_text, lambda p: shutil.copy(p, "/arena/mark/copied"),
            os.listxattr,
        importlib.machinery.SourceFileLoader("x", path).get_data, logging.FileHandler, tempfile.mkstemp, os.mkfifo,
        lambda p: list(fileinput.input(p)), lambda p: tracemalloc.Snapshot.load(p), lambda p: os.symlink(p,
            "/arena/mark/s")]
for way in ways: attempt(way, way, path)
claim(linecache.getline(path, 1)) if linecache.getline(path, 1) else None
claim(configparser.ConfigParser().read(path)) if configparser.ConfigParser().read(path) else None
claim(glob.glob("/arena/*")) if glob.glob("/arena/*") else None
""",
    "by SQLite": """
import sqlite3
for name in ("/arena/mark/x.db", "file:/arena/canary.txt?mode=ro&immutable=1", "file:/arena/mark/y.db?vfs=unix-none"):
    attempt(name, lambda name=name: sqlite3.connect(name, uri=True).execute("create table t(x)"))
base = sqlite3.connect(":memory:")
attempt("attach", base.execute, "attach '/arena/mark/z.db' as z")
attempt("vacuum", base.execute, "vacuum into '/arena/mark/v.db'")
if hasattr(base, "enable_load_extension"):
    base.enable_load_extension(True)
    attempt("extension", base.load_extension, "/arena/x.so")
base.execute("pragma temp_store=1"); base.execute("pragma cache_size=1"); base.execute("create table t(x)")
base.executemany("insert into t values (?)", ((os.urandom(500),) for _ in range(5000)))
attempt("sort on disk", lambda: base.execute("select x from t order by x desc").fetchall() and 1/0)
""",
    "by links, entities and templates": """
import xml.sax, xml.etree.ElementTree as tree, xml.sax.handler, io, urllib.request
text = '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///arena/canary.txt">]><a>&e;</a>'
attempt("entity", tree.fromstring, text)
reader = xml.sax.make_parser(); found = []
class Handler(xml.sax.handler.ContentHandler):
    def characters(self, content): found.append(content)
reader.setContentHandler(Handler()); reader.setFeature(xml.sax.handler.feature_external_ges, True)
try: reader.parse(io.StringIO(text))
except Exception: pass
print(found)
""",
    "what it has in memory": """
import gc, sys as system
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(LIBC, "environ")
if environ: print([environ[n] for n in range(3) if environ[n]])
print(ctypes.string_at(LIBC.getenv(b"CANARY_ENV") or b""), os.environ, system.argv, system.orig_argv)
start = ctypes.addressof(ctypes.c_char.from_address(ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p).value))
for found in gc.get_objects():
    if isinstance(found, (dict, list)) and "canary-in" in repr(list(found))[:10000]: print(repr(found)[:500])
""",
    "the stack it was started with": """
import re
auxiliary = ctypes.c_void_p.in_dll(LIBC, "__libc_stack_end").value
data = ctypes.string_at(auxiliary, 2000)
print(re.findall(rb"[ -~]{4,}", data))
""",
    "writing where it may not": """
for path in ("/arena/mark/a", "/tmp/a", "/dev/shm/a", "a", "/a", "/var/tmp/a", "/proc/self/oom_score_adj", "/dev/null"):
    for flags in (os.O_CREAT | os.O_WRONLY, os.O_TMPFILE | os.O_RDWR, os.O_PATH, os.O_RDONLY | os.O_DIRECTORY):
        attempt(path, os.open, path, flags)
    for way in (os.mkdir, os.unlink, os.rmdir, lambda p: os.rename("/arena/canary.txt", p), lambda p: os.truncate(p, 0),
                lambda p: os.utime(p), lambda p: os.chmod(p, 0o777), lambda p: os.chown(p, 0, 0), os.chdir, os.chroot):
        attempt(path, way, path)
""",
}
