"""Preloading while files can still be read: common imports are loaded, then the host's paths are removed."""

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
_MAX_ZONE_BYTES = 1 << 16
_OF_TESTS = ("_ctypes_test", "_test", "_xx", "xx")


def preload(shelf: Shelf) -> None:
    """Load extension modules and common imports, and read the time zones."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with _quiet_hashlib():
            importlib.import_module("hashlib")
        for name in _LOADED.split():
            importlib.import_module(name)
        files = {file for folder in sys.path if os.path.isdir(folder) for file in os.listdir(folder)}
        extensions = {file.partition(".")[0] for file in files if file.endswith(tuple(EXTENSION_SUFFIXES))}
        for name in sorted(extensions):
            if _is_left_out(name):
                continue
            # This build lacks the library it wraps, so programs lack it too.
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    _load_time_zones(shelf)


def _is_left_out(extension: str) -> bool:
    return extension in _EXTENSIONS_LEFT_OUT.split() or extension.startswith(_OF_TESTS)


@contextlib.contextmanager
def _quiet_hashlib() -> Generator[None]:
    """Keep a CPython built with fewer hashes from logging an error for each missing one."""
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

    zones: dict[str, slice] = {}
    for root in zoneinfo.TZPATH:
        zones = _read_time_zones(root, shelf)
        if zones:
            break

    def load_tzdata(key: str) -> io.BytesIO:
        if key not in zones:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")  # noqa: EM102, TRY003 - CPython's own words
        return io.BytesIO(shelf.get(zones[key]))

    zoneinfo.reset_tzpath(to=())
    _common.load_tzdata = load_tzdata
    _tell_libc(zones, shelf)
    zoneinfo.available_timezones = lambda: set(zones)


def _tell_libc(zones: Mapping[str, slice], shelf: Shelf) -> None:
    """Tell `time.tzset` the rules of the zones: the C library would look for their files, and use UTC without them."""
    import time

    tzset = time.tzset

    @functools.wraps(tzset)
    def tzset_by_name() -> None:
        name = os.environ.get("TZ", "").removeprefix(":")
        if name in zones:
            # The last line has the current rules in the form TZ takes without files (RFC 8536, 3.3).
            rules = bytes(shelf.get(zones[name])).rstrip(b"\n").rpartition(b"\n")[2].decode("ascii")
            os.putenv("TZ", rules or "UTC0")
        tzset()

    time.tzset = tzset_by_name


def _read_time_zones(root: str, shelf: Shelf) -> dict[str, slice]:
    """Return the position of each zone on the shelf; several names may share one file."""
    zones: dict[str, slice] = {}
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
                    with open(entry.path, "rb", buffering=0) as file:
                        data = file.read(_MAX_ZONE_BYTES)
                    known[entry.inode()] = shelf.put(data) if data.startswith(b"TZif") else None
                position = known[entry.inode()]
                if position is not None:
                    zones[folder + entry.name] = position
    return zones


class _MachineCode:
    """Finds the loaded extension modules again, whose files are gone."""

    def __init__(self) -> None:
        self._loaded = {
            name: module
            for name, module in sys.modules.items()
            if isinstance(getattr(getattr(module, "__spec__", None), "loader", None), ExtensionFileLoader)
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a loaded module."""
        del path, target
        return ModuleSpec(name, self) if name in self._loaded else None  # pyright: ignore[reportArgumentType] - it has what importlib calls

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module as it is."""
        return self._loaded[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: its code has run."""


class _BuiltIns(BuiltinImporter):
    """Finds the same modules in every build of CPython: some have extension modules in the interpreter itself."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a built-in module, unless programs lack it where it is a file."""
        return None if _is_left_out(fullname) else super().find_spec(fullname, path, target)


_EVERYBODYS = {"", "/", "/usr", "/usr/local"}
_PLACE_NAMES = ("origin", "cached", "path", "filename")
_SYS_PLACES = ("prefix", "exec_prefix", "base_prefix", "base_exec_prefix", "executable", "_base_executable")


def forget_places(folder: str, packages: Sequence[str], package_places: Sequence[str]) -> None:
    """Make the kept modules the only importable ones, and remove the host's paths from all that programs can see."""
    places = {os.path.dirname(os.__file__): "<stdlib>", folder: "<sandbox>"}
    places = dict.fromkeys(package_places, "<packages>") | places
    places |= dict.fromkeys({sys.prefix, sys.base_prefix} - _EVERYBODYS, "<python>")

    def hide(path: str) -> str:
        return next((name + path[len(root) :] for root, name in places.items() if path.startswith(root)), path)

    if packages:
        for candidate in gc.get_objects():
            if type(candidate) is FunctionType:
                rename(candidate.__code__, hide(candidate.__code__.co_filename))
            elif type(candidate) is dict and "__file__" in candidate:
                # A module may keep copies of its namespace.
                _hide_in_names(cast("dict[str, object]", candidate), hide)
        hide_places(hide)
    machine_code = _MachineCode()
    for module in cast("list[object]", list(sys.modules.values())):
        # Some entries are classes (typing.io was one), which hold no paths.
        _hide_in_names(vars(module) if isinstance(module, ModuleType) else {}, hide)
        spec = getattr(module, "__spec__", None)
        for holder in (spec, getattr(spec, "loader_state", None), getattr(module, "__loader__", None)):
            _hide_in_attributes(holder, hide)
    for name in _SYS_PLACES:
        setattr(sys, name, "")
    # importlib reports this as the folder of frozen modules, and so do they.
    setattr(sys, "_stdlib_dir", "<stdlib>")  # noqa: B010 - pyright knows no such name
    sys.argv = ["<program>"]
    sys.orig_argv = [""]
    os.environ.clear()
    cast("Modules", sys.meta_path[0]).absent = frozenset()
    sys.meta_path[1:] = [_BuiltIns, FrozenImporter, machine_code]
    for name in [name for name in sys.modules if name.startswith(("sysconfig", "_sysconfigdata"))]:
        # It has computed paths of the host; another import finds no module.
        sys.modules.pop(name, None)
    sys.path[:] = []
    sys.path_importer_cache.clear()


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
            # Built-in and frozen modules share loader classes and have read-only specs, which name no files.
            with contextlib.suppress(AttributeError, TypeError):
                setattr(holder, name, hide(value))
