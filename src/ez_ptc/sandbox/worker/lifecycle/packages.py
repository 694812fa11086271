"""The packages programs may import: loaded before the lockdown, and kept completely.

Modules that their first import does not load are read too, to be imported after the lockdown.
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

__all__ = ["MAX_OPEN", "PackageError", "has_threads", "homes", "homes_of", "load_packages"]

# Descriptors from this number on stay open in workers; none is opened after the lockdown.
MAX_OPEN = 64
# Modules of the standard library absent in programs, which packages import without using them.
_IMPORTED_BY_PACKAGES = ("multiprocessing", "webbrowser")
_NOT_FOR_PROGRAMS = {"tests", "test", "conftest", "__pycache__"}
# Threads a fork can do without: they wait for work that never comes in the sandbox, such as removing files.
_IDLE_THREADS = {"polars-ooc-clea"}


class PackageError(Exception):
    """A package cannot be made available to programs."""


def load_packages(modules: Modules, names: Sequence[str], places: Sequence[str], needed: Sequence[str]) -> None:
    """Import packages from the folders `places`, and keep the rest of them and of their dependencies.

    `needed` are the modules they may import later; these are not imported now.

    Raises:
        PackageError: A package cannot be imported, starts threads, which a fork would lack, or opens too many files.
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
    threads = _threads() - _IDLE_THREADS
    if threads:
        message = (
            f"importing {', '.join(names)} starts threads ({', '.join(sorted(threads))}), which a fork does not have: "
            "programs cannot be given it; offer what is needed of it as a tool"
        )
        raise PackageError(message)
    if max(map(int, os.listdir("/proc/self/fd"))) >= MAX_OPEN:
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
    """Keep a module, or a package with its contents; a missing one is skipped."""
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            for folder in spec.submodule_search_locations:
                _load_extensions(folder, name)
                modules.keep(folder, name, f"{place}/{name}")
        elif spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            modules.keep_file(os.path.dirname(spec.origin), name, place)


def has_threads() -> bool:
    """Return whether a package has started threads that still exist."""
    return len(os.listdir("/proc/self/task")) > 1


def _threads() -> set[str]:
    """Return the names of this process's threads except the first."""
    started: set[str] = set()
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm", encoding="utf-8") as file:
            if int(task) != os.getpid():
                started.add(file.read().strip())
    return started


def homes(before: Iterable[str], places: Sequence[str]) -> list[tuple[str, str]]:
    """Return the packages loaded from `places` since `before`, with their folders."""
    package_homes: list[tuple[str, str]] = []
    for name in sorted({module.partition(".")[0] for module in set(sys.modules).difference(before)}):
        folders = getattr(sys.modules.get(name), "__path__", ())
        package_homes += [
            (name, folder) for folder in folders if isinstance(folder, str) and folder.startswith(tuple(places))
        ]
    return package_homes


def homes_of(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the packages with these names that are not loaded, with their folders."""
    specs = [(name, PathFinder.find_spec(name)) for name in names if name not in sys.modules]
    return [(name, folder) for name, spec in specs if spec for folder in spec.submodule_search_locations or ()]


def _load_extensions(folder: str, package: str) -> None:
    """Load the extension modules of a package, since they cannot be mapped later."""
    for entry in sorted(os.listdir(folder)):
        path, stem = f"{folder}/{entry}", entry.partition(".")[0]
        if stem in _NOT_FOR_PROGRAMS or stem.startswith("_test"):
            continue
        if entry.endswith(tuple(EXTENSION_SUFFIXES)):
            # One may be for another machine, or lack a dependency; programs do without it.
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(f"{package}.{stem}")
        elif os.path.isfile(f"{path}/__init__.py"):
            _load_extensions(path, f"{package}.{entry}")


def _expect_single_threads() -> None:
    """Stop libraries from looking for their threads, one each: that needs a file, or executable memory."""

    def find_none(_controller: object) -> None:
        """Find no library."""

    controller = getattr(sys.modules.get("threadpoolctl"), "ThreadpoolController", None)
    if controller is not None:
        controller._load_libraries = find_none  # noqa: SLF001 - there is no public way
