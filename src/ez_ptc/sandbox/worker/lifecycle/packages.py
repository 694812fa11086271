"""Packages that programs may import besides the standard library: loaded before the lockdown, and kept whole.

What their first import leaves for later is read as well, so that it can be imported when no file can be read any more.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import warnings
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..stdlib import Modules

__all__ = ["MOST_OPEN", "PackageError", "has_threads", "homes", "homes_of", "load_packages"]

MOST_OPEN = 64
"""From this number on, no descriptor is closed in workers; none is opened after the lockdown."""
_IMPORTED_BY_PACKAGES = ("multiprocessing", "webbrowser")
"""Modules of the standard library that programs lack, and packages import without using them."""
_NOT_FOR_PROGRAMS = {"tests", "test", "conftest", "__pycache__"}
_IDLE_THREADS = {"polars-ooc-clea"}
"""What a fork can do without: they wait for work that there is none of in here, such as removing files."""


class PackageError(Exception):
    """A package cannot be given to programs."""


def load_packages(modules: Modules, names: Sequence[str], places: Sequence[str], needed: Sequence[str]) -> None:
    """Import packages from the folders ``places``, and keep the rest of them and of what they need.

    ``needed`` are the modules that they may import later, and are not imported now.

    Raises:
        PackageError: One cannot be imported, starts threads, which no fork would have, or opens too many files.
    """
    before = set(sys.modules)
    sys.path += places
    for name in names:
        _load(name)
    for name, folder in homes(before, places):
        _load_extensions(folder, name)
    for name, folder in homes(before, places):
        modules.keep(folder, name, f"<packages>/{name}")
    for name in needed:
        if name not in sys.modules:
            _keep(modules, name, "<packages>")
    for name in _IMPORTED_BY_PACKAGES:
        _keep(modules, name, "<stdlib>")
    _expect_single_threads()
    _require_forks(names)


def _require_forks(names: Sequence[str]) -> None:
    """Raise PackageError where a fork of this process would not be what the packages expect."""
    threads = _threads() - _IDLE_THREADS
    if threads:
        message = (
            f"importing {', '.join(names)} starts threads ({', '.join(sorted(threads))}), which a fork does not have: "
            "programs cannot be given it; offer what is needed of it as a tool"
        )
        raise PackageError(message)
    if max(map(int, os.listdir("/proc/self/fd"))) >= MOST_OPEN:
        message = f"importing {', '.join(names)} opens too many files: programs cannot be given it"
        raise PackageError(message)


def _load(name: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    except BaseException as error:
        message = (
            f"the package {name!r}, which programs are to import, cannot be imported: {type(error).__name__}: {error}"
        )
        raise PackageError(message) from error


def _keep(modules: Modules, name: str, place: str) -> None:
    """Keep a module, or a package with all that is in it; one that cannot be found is done without."""
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            for folder in spec.submodule_search_locations:
                _load_extensions(folder, name)
                modules.keep(folder, name, f"{place}/{name}")
        elif spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            modules.keep_file(os.path.dirname(spec.origin), name, place)


def has_threads() -> bool:
    """Return whether a package has started threads that are still there."""
    return len(os.listdir("/proc/self/task")) > 1


def _threads() -> set[str]:
    """Return the names of the threads of this process, but for its first."""
    started: set[str] = set()
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm", encoding="utf-8") as file:
            if int(task) != os.getpid():
                started.add(file.read().strip())
    return started


def _expect_single_threads() -> None:
    """Let nobody look for the threads of libraries, each of which has one: that takes a file, or executable memory."""
    found = getattr(sys.modules.get("threadpoolctl"), "ThreadpoolController", None)
    if found is not None:
        found._load_libraries = _find_none  # noqa: SLF001 - there is no public way


def _find_none(_controller: object) -> None:
    """Find no library."""


def homes(before: Iterable[str], places: Sequence[str]) -> list[tuple[str, str]]:
    """Return the packages that have been loaded from one of the places since ``before``, with their folders."""
    found: list[tuple[str, str]] = []
    for name in sorted({module.partition(".")[0] for module in set(sys.modules).difference(before)}):
        folders = getattr(sys.modules.get(name), "__path__", ())
        found += [(name, folder) for folder in folders if isinstance(folder, str) and folder.startswith(tuple(places))]
    return found


def homes_of(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the packages of these names that are not loaded, with their folders."""
    specs = [(name, PathFinder.find_spec(name)) for name in names if name not in sys.modules]
    return [(name, folder) for name, spec in specs if spec for folder in spec.submodule_search_locations or ()]


def _load_extensions(folder: str, package: str) -> None:
    """Load the machine code of a package: the kernel lets nobody map it later."""
    for entry in sorted(os.listdir(folder)):
        path, stem = f"{folder}/{entry}", entry.partition(".")[0]
        if stem in _NOT_FOR_PROGRAMS or stem.startswith("_test"):
            continue
        if entry.endswith(tuple(EXTENSION_SUFFIXES)):
            # One of them may be for another machine, or need what is not installed: then programs do without it.
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(f"{package}.{stem}")
        elif os.path.isfile(f"{path}/__init__.py"):
            _load_extensions(path, f"{package}.{entry}")
