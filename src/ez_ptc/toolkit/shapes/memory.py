"""The shapes that a process knows, in memory and, of one's own functions, in a file.

All toolkits of a process on one file share a memory: a web application may make a toolkit for each request, and none of
them would see a key often enough to take it for the name of a field.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from ez_ptc._forks import around_fork, on_fork
from ez_ptc.toolkit.shapes.observed import LearnedShape, ObservedShape, ShapeKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ez_ptc.toolkit.shapes.file import ShapeFile
    from ez_ptc.toolkit.shapes.result_shape import ResultShape

__all__ = ["ShapeMemory", "memory_of"]

# A file that a process has used before so many others is read again.
_MAX_FILES: Final = 16


class ShapeMemory:
    """What is known of the results of tools. Hold its lock; the methods raise ShapesError if the file is not usable."""

    def __init__(self, file: ShapeFile | None = None) -> None:
        self.known: Final = dict[ShapeKey, LearnedShape]()
        self._file: Final = file
        self._unsaved: Final = set[ShapeKey]()
        self._after_fork()
        # A fork must not inherit SQLite's locks: it would take the file for locked as long as it runs.
        around_fork(self, before=lambda memory: memory.lock.acquire(), after=lambda memory: memory.lock.release())
        on_fork(self, ShapeMemory._after_fork)

    def _after_fork(self) -> None:
        self.lock = threading.RLock()
        for key in self._unsaved:  # the parent process writes these results
            self.known[key] = replace(self.known[key], unsaved=0)
        self._unsaved.clear()

    def read(self, is_wanted: Callable[[ShapeKey], bool]) -> list[str]:
        """Take over the shapes of the wanted tools from the file, and return the tools whose row is not readable."""
        if self._file is None:
            return []
        filed = self._file.read(is_wanted)
        for key in {**filed, **self.known}:
            observed = filed.get(key, ObservedShape())
            if observed is not None and is_wanted(key):
                self.known[key] = self.known.get(key, LearnedShape()).with_file(observed)
        return [key.tool for key, observed in filed.items() if observed is None]

    def learn(self, key: ShapeKey, result: ResultShape) -> None:
        """Add a result, whose shape is empty if it is known."""
        self.known[key] = self.known.get(key, LearnedShape()).after(result)
        if self._file is not None:
            self._unsaved.add(key)

    def save(self) -> bool:
        """Merge what is new into the file, and return whether there was anything."""
        if self._file is None or not self._unsaved:
            return False
        self.known.update(self._file.merge({key: self.known[key] for key in self._unsaved}))
        self._unsaved.clear()
        return True


def memory_of(file: ShapeFile) -> ShapeMemory:
    """Return the memory of this process for a file."""
    memories, path = _memories(), file.path.resolve()
    memory = memories.setdefault(path, ShapeMemory(file))
    for oldest in list(memories)[:-_MAX_FILES]:
        memories.pop(oldest, None)
    return memory


@cache
def _memories() -> dict[Path, ShapeMemory]:
    return {}
