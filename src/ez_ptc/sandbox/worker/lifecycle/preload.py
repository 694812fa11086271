"""What is done while files can still be read: what most programs import is loaded, and the places are forgotten."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, BuiltinImporter, ExtensionFileLoader, FrozenImporter, ModuleSpec
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, cast

from ..running.pictures import hide_places
from ..stdlib import rename

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from ..stdlib import Modules, Shelf

__all__ = ["forget_places", "preload"]

_LOADED = (
    "_strptime base64 bisect calendar collections copy csv dataclasses datetime decimal enum fractions functools "
    "hashlib heapq io itertools json math operator pprint queue random secrets statistics string struct "
    "textwrap time typing urllib.parse uuid zoneinfo"
)
_EXTENSIONS_LEFT_OUT = (
    "_crypt _curses _curses_panel _dbm _gdbm _hashlib _interpchannels _interpqueues _interpreters _multiprocessing "
    "_posixshmem _ssl _tkinter nis ossaudiodev readline spwd syslog"
)
_OTHER_CLOCKS = {"posix", "right"}
_LARGEST_ZONE = 1 << 16
_OF_TESTS = ("_ctypes_test", "_test", "_xx", "xx")


def preload(shelf: Shelf) -> None:
    """Load what needs files to be loaded, and what most programs import; read the time zones."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with _quiet_hashlib():
            importlib.import_module("hashlib")
        for name in _LOADED.split():
            importlib.import_module(name)
        for name in _extensions():
            # A build may lack the library that one of them wraps; then programs do not have it either.
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    _load_time_zones(shelf)


def _extensions() -> list[str]:
    """Return the names of the modules that are libraries of machine code, which the kernel must map."""
    names = {
        entry.partition(".")[0]
        for folder in sys.path
        if os.path.isdir(folder)
        for entry in os.listdir(folder)
        if entry.endswith(tuple(EXTENSION_SUFFIXES))
    }
    return [name for name in sorted(names - {*_EXTENSIONS_LEFT_OUT.split()}) if not name.startswith(_OF_TESTS)]


@contextlib.contextmanager
def _quiet_hashlib() -> Generator[None]:
    """Keep a CPython built with fewer hashes from logging an error for each one it lacks."""
    import logging

    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _load_time_zones(shelf: Shelf) -> None:
    import io
    import zoneinfo
    from zoneinfo import _common

    found: dict[str, slice] = {}
    for root in zoneinfo.TZPATH:
        found = _read_time_zones(root, shelf)
        if found:
            break

    def load_tzdata(key: str) -> io.BytesIO:
        if key not in found:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")  # noqa: EM102, TRY003 - CPython's own words
        return io.BytesIO(shelf.get(found[key]))

    zoneinfo.reset_tzpath(to=())
    _common.load_tzdata = load_tzdata
    _tell_libc(found, shelf)
    zoneinfo.available_timezones = lambda: set(found)


def _tell_libc(zones: Mapping[str, slice], shelf: Shelf) -> None:
    """Let `time.tzset` know the zones by name: the C library would look for their files, and take UTC without them."""
    import time

    tzset = time.tzset

    @functools.wraps(tzset)
    def tzset_by_name() -> None:
        name = os.environ.get("TZ", "").removeprefix(":")
        if name in zones:
            # The last line says the rules in the form that TZ has without files (RFC 8536, 3.3); they are today's.
            rules = bytes(shelf.get(zones[name])).rstrip(b"\n").rpartition(b"\n")[2].decode("ascii")
            os.putenv("TZ", rules or "UTC0")
        tzset()

    time.tzset = tzset_by_name


def _read_time_zones(root: str, shelf: Shelf) -> dict[str, slice]:
    """Return where on the shelf each zone is; many are one file under several names."""
    found: dict[str, slice] = {}
    known: dict[int, slice | None] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        with contextlib.suppress(OSError), os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders += [f"{folder}{entry.name}/"] if entry.name not in _OTHER_CLOCKS else []
                    continue
                if entry.inode() not in known:
                    known[entry.inode()] = _read_time_zone(entry.path, shelf)
                where = known[entry.inode()]
                if where is not None:
                    found[folder + entry.name] = where
    return found


def _read_time_zone(path: str, shelf: Shelf) -> slice | None:
    fd = os.open(path, os.O_RDONLY)
    try:
        data = os.read(fd, _LARGEST_ZONE)
    finally:
        os.close(fd)
    return shelf.put(data) if data.startswith(b"TZif") else None


class _MachineCode:
    """Finds again what was loaded from a library of machine code, whose file is gone."""

    def __init__(self) -> None:
        self._loaded = {
            name: module
            for name, module in sys.modules.items()
            if isinstance(getattr(getattr(module, "__spec__", None), "loader", None), ExtensionFileLoader)
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module that was loaded."""
        del path, target
        return ModuleSpec(name, self) if name in self._loaded else None  # pyright: ignore[reportArgumentType] - it has what importlib calls

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module as it is."""
        return self._loaded[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: its code has run."""


_EVERYBODYS = {"", "/", "/usr", "/usr/local"}
_PLACE_NAMES = ("origin", "cached", "path", "filename")
_SYS_PLACES = (
    "prefix",
    "exec_prefix",
    "base_prefix",
    "base_exec_prefix",
    "executable",
    "_base_executable",
)


def forget_places(folder: str, packages: Sequence[str], package_places: Sequence[str]) -> None:
    """Leave what is kept as all that can be imported, and no path of the host in what programs see of it."""
    places = {os.path.dirname(os.__file__): "<stdlib>", folder: "<sandbox>"}
    places = dict.fromkeys(package_places, "<packages>") | places
    places |= dict.fromkeys({sys.prefix, sys.base_prefix} - _EVERYBODYS, "<python>")

    def hide(path: str) -> str:
        return next((name + path[len(root) :] for root, name in places.items() if path.startswith(root)), path)

    if packages:
        _hide_in_objects(hide)
        hide_places(hide)
    machine_code = _MachineCode()
    for module in list(sys.modules.values()):
        _hide_in_module(module, hide)
        spec = getattr(module, "__spec__", None)
        for holder in (spec, getattr(spec, "loader_state", None), getattr(module, "__loader__", None)):
            _hide_in_attributes(holder, hide)
    for name in _SYS_PLACES:
        setattr(sys, name, "")
    # Where importlib takes frozen modules to be from: they say so too.
    setattr(sys, "_stdlib_dir", "<stdlib>")  # noqa: B010 - pyright knows no such name
    sys.argv = ["<program>"]
    sys.orig_argv = [""]
    os.environ.clear()
    cast("Modules", sys.meta_path[0]).absent = frozenset()
    sys.meta_path[1:] = [BuiltinImporter, FrozenImporter, machine_code]
    for name in [name for name in sys.modules if name.startswith(("sysconfig", "_sysconfigdata"))]:
        # What it has computed names places; who imports it again finds none.
        sys.modules.pop(name, None)
    sys.path[:] = []
    sys.path_importer_cache.clear()


def _hide_in_objects(hide: Callable[[str], str]) -> None:
    for found in gc.get_objects():
        if type(found) is FunctionType:
            rename(found.__code__, hide(found.__code__.co_filename))
        elif type(found) is dict and "__file__" in found:
            # What a module makes while it is loaded may have a copy of the module's names.
            _hide_in_names(cast("dict[str, object]", found), hide)


def _hide_in_module(module: object, hide: Callable[[str], str]) -> None:
    # Some entries of sys.modules are classes (typing.io was one): they hold no paths.
    _hide_in_names(vars(module) if isinstance(module, ModuleType) else {}, hide)


def _hide_in_names(names: dict[str, object], hide: Callable[[str], str]) -> None:
    for name, value in list(names.items()):
        if type(value) is str:
            names[name] = hide(value)
    places = names.get("__path__")
    if isinstance(places, list):
        names["__path__"] = [hide(path) for path in cast("list[str]", places)]


def _hide_in_attributes(holder: object, hide: Callable[[str], str]) -> None:
    for name in _PLACE_NAMES:
        value = getattr(holder, name, None)
        if isinstance(value, str):
            # Built-in and frozen modules share loader classes and have read-only specs: they name no files.
            with contextlib.suppress(AttributeError, TypeError):
                setattr(holder, name, hide(value))
