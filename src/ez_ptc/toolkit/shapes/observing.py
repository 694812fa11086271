"""Learning the shapes of results while programs run, in memory or in a file.

Theory of operation. A call that has succeeded adds its result to the known shape of its tool, in memory. What is new is
written to the file after each program, where it is merged with what other processes have written: each observation is
added once, so their order does not matter. A key stays in memory until this process has seen it often enough to show it
to others; only then the file has it as the name of a field. Keys of fewer results may be values, and hashes of them
could be guessed, so processes add up the numbers and types of results, but not the witnesses of keys. The toolkits of
one process share them. Tools of servers stay with one toolkit: another one may have other tools of these names.

A file that cannot be used, or rows of it, never end a program: the shapes are in memory then, the program's caller gets
one warning, and each program tries the file again. What it lacks is added once it can be used.

A result that a settled shape does not accept is a drift: the shape learns it, and the program's caller gets a warning
once the program is over, since a warning may be an error.

No program is checked against an observed shape: the next result may have another one.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._forks import around_fork, on_fork
from ez_ptc._lazy import lazy
from ez_ptc._private_files import path_problem
from ez_ptc._warnings import warn_caller
from ez_ptc.errors import ShapeDriftWarning, ShapesError
from ez_ptc.results.robust_repr import robust_repr
from ez_ptc.schema.safe_repr import safe_repr_with_type
from ez_ptc.toolkit.shapes.observed import LearnedShape, ObservedShape, ShapeKey
from ez_ptc.toolkit.shapes.reading import fits, shape_of
from ez_ptc.toolkit.shapes.result_shape import NOTHING
from ez_ptc.toolkit.shapes.witnesses import MIN_RESULTS, Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Grant
    from ez_ptc.toolkit.shapes.file import ShapeFile
    from ez_ptc.toolkit.shapes.result_shape import ResultShape
    from ez_ptc.tools.tool import Tool

    ShapeSetting = bool | str | PathLike[str] | None

__all__ = ["ResultObserver", "ShapeMemory", "make_observer", "memory_of"]

# A file that a process has used before so many others is read again.
_MAX_FILES: Final = 16

_log = logging.getLogger("ez_ptc.toolkit")

# Results of which all keys are counted, also where the shape accepts them.
_MAX_STUDIED: Final = 100
_MAX_DIFFERENCES: Final = 5
_MAX_NOTICES: Final = 100
_MAX_UNREADABLE: Final = 5
_MAX_HINTS: Final = 2
_MAX_HINT: Final = 400
# Errors that a wrong idea of a result ends in.
_ERRORS: Final = ("KeyError", "AttributeError", "TypeError", "IndexError")


class ResultObserver:
    """The shapes of the results of a toolkit's tools. Any thread may use it."""

    def __init__(self, tools: Sequence[Tool[..., Any]], memory: ShapeMemory | None = None) -> None:
        self._tools: Final = tools
        self._memory: Final = memory or ShapeMemory()
        self._foreign: Final = ShapeMemory()
        # What the caller of the next program that ends is warned of.
        self._notices: Final = deque[tuple[str, type[UserWarning]]](maxlen=_MAX_NOTICES)
        self._is_read = False
        self._is_file_failing = False

    @lazy
    def _by_name(self) -> Mapping[str, Tool[..., Any]]:
        return {tool.name: tool for tool in self._tools}

    @lazy
    def _keys(self) -> dict[str, ShapeKey | None]:
        return {}

    def _key_of(self, name: str) -> ShapeKey | None:
        """Return the key of a tool; None if it declares what it returns, has secrets, or is unknown."""
        if name not in self._keys:
            tool = self._by_name.get(name)
            self._keys[name] = None if tool is None else ShapeKey.of(tool)
        return self._keys[name]

    def _read_memory(self) -> ShapeMemory:
        """Return the memory of the process, with the state of the file when this toolkit first asked."""
        with self._memory.lock:
            if self._is_read:
                return self._memory
            self._is_read = True
            try:
                unreadable = self._memory.read(lambda key: key.is_kept and self._key_of(key.tool) == key)
            except ShapesError as error:
                self._note_failure(error)
                return self._memory
        if unreadable:
            listed = ", ".join([*unreadable[:_MAX_UNREADABLE], "…"][: len(unreadable)])
            message = f"rows of the shapes file are not readable, so these tools are learned from the start: {listed}"
            self._notices.append((message, UserWarning))
        return self._memory

    def _note_failure(self, error: ShapesError) -> None:
        if not self._is_file_failing:
            self._is_file_failing = True
            self._notices.append((f"the shapes of results are kept in memory only: {error}", UserWarning))

    def observe(self, name: str, value: object, arguments: object = None) -> None:
        """Learn the result of a tool for some arguments, unless it declares what it returns."""
        key = self._key_of(name)
        if key is None:
            return
        try:
            memory = self._read_memory() if key.is_kept else self._foreign
            with memory.lock:
                self._learn(memory, key, value, arguments)
        except RuntimeError as error:  # another thread changes the value
            _log.debug("the shape of a result of %s was not read: %s", name, error)

    def _learn(self, memory: ShapeMemory, key: ShapeKey, value: object, arguments: object) -> None:
        learned = memory.known.get(key, LearnedShape())
        known, result = learned.known, NOTHING
        is_expected = fits(known.shape, value)
        if not is_expected or (learned.own.count < _MAX_STUDIED and not known.shape.is_witnessed):
            result = shape_of(value, Witness(learned.own.count, hash(robust_repr(arguments))))
        if not is_expected and known.count >= MIN_RESULTS and known.shape:
            differences = known.shape.differences(result)
            if differences:
                listed = "; ".join(differences[:_MAX_DIFFERENCES])
                message = (
                    f"{key.tool} has returned a result unlike its {known.count:,} results before: {listed}; programs "
                    f"and prompts written for those may be wrong now"
                )
                self._notices.append((message, ShapeDriftWarning))
        memory.learn(key, result)

    def settle(self) -> None:
        """Write to the file what a program has shown, and warn of results that contradict those before."""
        with self._memory.lock:
            try:
                if self._memory.save():
                    self._is_file_failing = False
            except ShapesError as error:
                self._note_failure(error)
            notices = [*self._notices]
            self._notices.clear()
        for message, category in notices:
            try:
                warn_caller(message, category)
            except UserWarning:
                # Where warnings are errors, this one would replace the result of a program.
                _log.warning("%s", message)

    def known(self, name: str) -> ObservedShape | None:
        """Return the shape of a tool's results so far, or None if there were none."""
        memories = self._read_memory(), self._foreign
        key = self._key_of(name) if any(memory.known for memory in memories) else None
        for memory in memories:
            learned = None if key is None else memory.known.get(key)
            if learned is not None and learned.known.shape:
                return learned.known
        return None

    def describe(self, name: str) -> str | None:
        """Return the shape of a tool's results for its entry, such as "Returns (observed 14 times): {id: int}"."""
        observed = self.known(name)
        return None if observed is None else f"Returns {observed.description}"

    def texts(self) -> dict[str, str]:
        """Return the shapes of all tools' results so far for their entries, by name."""
        keys = [*self._read_memory().known, *self._foreign.known]
        described = {key.tool: self.describe(key.tool) for key in keys}
        return {name: text for name, text in described.items() if text is not None}

    def complete(self, grant: Grant) -> Grant:
        """Return a tool as the sandbox knows it, with the observed type of its results."""
        observed = self.known(grant.name)
        return grant if observed is None else replace(grant, return_type=observed.type_text)

    def hints(self, result: ExecutionResult) -> list[str]:
        """Return what the tools that a failed program has called return, where its error may come from that."""
        if result.is_denied or not (result.error or "").startswith(_ERRORS):
            return []
        called = dict.fromkeys(call["name"] for call in result.tool_calls if call["error"] is None)
        described = [(name, self.known(name)) for name in called]
        hints = [f"Results of {name}() {shape.description}" for name, shape in described if shape is not None]
        return [hint for hint in hints if len(hint) <= _MAX_HINT][:_MAX_HINTS]


def make_observer(setting: ShapeSetting, tools: Sequence[Tool[..., Any]]) -> ResultObserver | None:
    """Return the observer for a toolkit's setting `shapes`, or None without one.

    Raises TypeError for another setting, and ShapesError if the file cannot be used.
    """
    if setting is None or setting is False:
        return None
    if setting is True or setting == ":memory:":
        return ResultObserver(tools)
    if not (isinstance(setting, str) or hasattr(setting, "__fspath__")) or not str(setting):
        message = f"expected shapes to be the path of a file, or True for memory; got {safe_repr_with_type(setting)}"
        raise TypeError(message)
    problem = path_problem(setting, "shapes are kept in a file")
    if problem is not None:
        raise ShapesError(problem)
    from ez_ptc.toolkit.shapes.file import ShapeFile  # SQLite is not needed otherwise

    file = ShapeFile(setting)
    file.create()
    return ResultObserver(tools, memory_of(file))


class ShapeMemory:
    """What is known of the results of tools. Hold its lock; the methods raise ShapesError if the file is not usable.

    All toolkits of a process on one file share a memory: a web application may make a toolkit for each request, and
    none of them would see a key often enough to take it for the name of a field.
    """

    def __init__(self, file: ShapeFile | None = None) -> None:
        self.known: Final = dict[ShapeKey, LearnedShape]()
        self._file: Final = file
        self._unsaved: Final = set[ShapeKey]()
        self._after_fork()
        # A fork must not inherit SQLite's locks: it would take the file for locked as long as it runs.
        around_fork(
            self,
            before=lambda memory, may_wait: memory.lock.acquire(may_wait),
            after=lambda memory: memory.lock.release(),
        )
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
