"""The component's entry: keeps the standard library in memory, prepares the worker, and serves."""

import gc
import importlib
import importlib.machinery
import io
import marshal
import os
import sys
import time
import types
import warnings
import zlib
from typing import Any, ClassVar

import wit_world
import zones
from ez_sandbox.check.absences import ABSENT

filters = list(warnings.filters)
warnings.simplefilter("ignore")
HOME = "/python"
# As in processes, and what WebAssembly cannot have.
LEFT_OUT = frozenset(
    "__main__ __pycache__ ctypes lib-dynload site-packages tests".split()
    + [name for names in ABSENT.values() for name in names.split()]
)
PRELOADED = """
    _strptime base64 bisect calendar collections copy csv dataclasses datetime decimal enum fractions functools
    hashlib heapq html io itertools json math operator pprint queue random secrets statistics string struct
    textwrap time typing urllib.parse uuid zoneinfo asyncio concurrent.futures.thread tokenize difflib ast inspect
    linecache logging traceback types contextlib abc re importlib.util keyword encodings.utf_8 encodings.latin_1
    encodings.ascii encodings.idna unicodedata
""".split()


class Kept:
    """Finds modules in memory: compiled and compressed, with names instead of paths, as in processes."""

    modules: ClassVar[dict[str, tuple[bool, str, bytes]]] = {}

    @classmethod
    def keep(cls, folder: str, prefix: str, shown: str) -> None:
        """Keep the modules in a folder, whose names begin with `prefix`; tracebacks call the folder `shown`."""
        for entry in sorted(os.listdir(folder)):
            path, stem = f"{folder}/{entry}", entry.removesuffix(".py")
            if stem in LEFT_OUT:
                continue
            if entry.endswith(".py"):
                is_package = stem == "__init__"
                name = prefix[:-1] if is_package else prefix + stem
                with open(path, "rb") as file:
                    source = file.read()
                if name:
                    filename = f"{shown}/{entry}"
                    code = compile(source, filename, "exec", dont_inherit=True)
                    cls.modules[name] = is_package, filename, zlib.compress(marshal.dumps(code), 9)
            elif os.path.exists(f"{path}/__init__.py"):
                cls.keep(path, f"{prefix}{entry}.", f"{shown}/{entry}")

    @classmethod
    def find_spec(cls, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of a module that is kept."""
        if name not in cls.modules:
            return None
        loader: Any = cls
        is_package, filename = cls.modules[name][:2]
        spec = importlib.machinery.ModuleSpec(name, loader, is_package=is_package, origin=filename)
        spec.has_location = True
        return spec

    @staticmethod
    def create_module(_: object) -> None:
        """Leave it to Python."""

    @classmethod
    def exec_module(cls, module: types.ModuleType) -> None:
        """Run a module."""
        exec(marshal.loads(zlib.decompress(cls.modules[module.__name__][2])), vars(module))


def keep_zones() -> None:
    """Let `zoneinfo` find the time zones in memory."""
    import zoneinfo
    from zoneinfo import _common

    def load(key: str) -> io.BytesIO:
        if key not in zones.ZONES:
            message = f"No time zone found with key {key}"
            raise zoneinfo.ZoneInfoNotFoundError(message)
        return io.BytesIO(zones.ZONES[key])

    zoneinfo.reset_tzpath(to=())
    _common.load_tzdata = load
    zoneinfo.available_timezones = lambda: set(zones.ZONES)


# WASI has no clock of a thread's own time; there is one thread, and it runs when the host lets it.
time.thread_time, time.thread_time_ns = time.perf_counter, time.perf_counter_ns
worker = importlib.machinery.PathFinder.find_spec("ez_sandbox")
Kept.keep(HOME, "", "<stdlib>")
if worker is not None and worker.submodule_search_locations:
    Kept.keep(worker.submodule_search_locations[0], "ez_sandbox.", "<sandbox>")
finder: Any = Kept
sys.meta_path.insert(0, finder)
for name in PRELOADED:
    importlib.import_module(name)
keep_zones()

from ez_sandbox.wasm.guest.guest import Guest  # noqa: E402 - its modules are found once the finder above is there

guest = Guest(wit_world.turn)


class WitWorld(wit_world.WitWorld):
    """What the component exports."""

    def serve(self) -> None:
        """Run programs until the host is gone."""
        guest.serve()

    def stop(self) -> None:
        """Stop the running program."""
        guest.stop()


sys.path[:] = []
sys.path_importer_cache.clear()
os.environ.clear()
left = {importlib.machinery.PathFinder, finder}
sys.meta_path[:] = [*(known for known in sys.meta_path if known not in left), finder]
warnings.resetwarnings()
vars(warnings)["filters"][:] = filters
gc.collect()
gc.freeze()
# Without it, Python 3.14.0 looks at all of a large program's objects again and again.
gc.set_threshold(50_000)
