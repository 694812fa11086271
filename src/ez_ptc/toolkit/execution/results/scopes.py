"""Scopes of kept results: the names that a program or call knows, and the values behind them.

A conversation or a session has short names, `r1`, without a meaning elsewhere. Any other caller has handles of random
bits, resolved for that caller alone: to everyone else, another's handle is one that never existed.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import partial
from os import PathLike
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from ez_ptc._private_files import path_problem
from ez_ptc.errors import ToolError
from ez_ptc.formats.content import as_text, to_json_types
from ez_ptc.formats.encoding import NotEncodableError
from ez_ptc.results.store import ResultStore
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.replies import encode_result
from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ez_ptc.results.store import KeptResult
    from ez_ptc.sandbox.protocol.execution import Grants
    from ez_ptc.toolkit.execution.callers import Caller
    from ez_ptc.tools.tool import Tool

    Recall = Callable[[str], "tuple[object, str] | None"]
    """Returns the value and the source behind a name that the journal knows, or None."""

__all__ = [
    "CallerScope",
    "OfferedResults",
    "ResultAccess",
    "ResultScope",
    "ShortNames",
    "UnknownResultError",
    "ValueKeeper",
    "keep_value",
    "kept_value",
    "measure",
    "open_store",
]

# Larger values than programs may have are kept, to be read in parts, if they have only these types: reading the objects
# of other classes takes much longer.
_MAX_ELEMENTS: Final = 2_000_000
_SCALARS: Final = frozenset({int, float, bool, type(None)})
# No part of a recorded result has this letter.
_UNRECORDED: Final = "x"
_HANDLE: Final = re.compile(r"r_[0-9a-f]{32}[a-z]?")


class UnknownResultError(ToolError, LookupError):
    """No result of the caller has this name."""


class ValueKeeper:
    """Keeps the values of one result: each once, however often a text for a model is made of it.

    `kept` are those kept so far, by name. `parts` are parts of the result with the names that they get.
    """

    def __init__(self, scope: ResultScope) -> None:
        self.kept: Final[dict[str, KeptResult]] = {}
        self.parts: Final[list[tuple[object, str]]] = []
        self._scope = scope
        self._known: list[tuple[object, str | None]] = []

    def keep(self, value: object, *, source: str) -> str | None:
        """Keep a value; return its name, or None if it cannot be passed to programs or exceeds the quota."""
        for known, name in self._known:
            if known is value:
                return name
        # Two parts may have one text: it is itself, before it is an equal one.
        parts = [pair for pair in self.parts if value is pair[0]]
        parts += [pair for pair in self.parts if _is_part(value, pair[0])]
        whole, name = (*parts, (value, None))[0]
        kept = keep_value(self._scope.store, whole, source)
        if kept is None:
            name = None
        else:
            name = self._scope.add(kept, name, self.parts[0][1] if self.parts else None)
            self.kept[name] = kept
        self._known.append((value, name))
        return name

    @property
    def has_shortened(self) -> bool:
        """Whether a text of the result left something out, kept or not."""
        return bool(self._known)

    def __deepcopy__(self, memo: object) -> ValueKeeper:
        """Return itself: what is kept stays where it is."""
        return self

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        """Become None in another process."""
        return type(None), ()


def _is_part(value: object, part: object) -> bool:
    """Return whether a value is a part of a result; a text may have been stripped."""
    if isinstance(value, str) and isinstance(part, str):
        return value.strip() == part.strip()
    return value is part


class ResultScope:
    """The kept results of a program or call: the part common to all scopes."""

    def __init__(self, store: ResultStore) -> None:
        self.store: Final = store

    @property
    def grants(self) -> Grants:
        """The tools to read them with."""
        from ez_ptc.toolkit.execution.results.reading import result_grants  # defines tools, which takes a while

        return result_grants()

    def add(self, result: KeptResult, name: str | None, program: str | None = None) -> str:
        """Add a result under a name, or a new one; return it. `program` is the name of a recorded program's output."""
        raise NotImplementedError

    def offer(self, code: str) -> Sequence[str] | None:
        """Return the names for a program, or None if it gets no access."""
        raise NotImplementedError

    def find(self, name: str) -> KeptResult:
        """Return the result of a name. Raises UnknownResultError."""
        raise NotImplementedError

    def keeper(self) -> ValueKeeper:
        """Return the keeper of one program's or call's result."""
        return ValueKeeper(self)

    def readers(self, max_text: int) -> Mapping[str, Tool[..., Any]]:
        """Return the tools for single calls to read the results, by name, `max_text` characters at a time."""
        from ez_ptc.toolkit.execution.results.reading import reader_tools  # as above

        return reader_tools(self, max_text)

    def value(self, name: str) -> object:
        """Return a copy of a value. Raises UnknownResultError, and ResultGoneError if the value is gone."""
        result = self.find(name)
        return kept_value(result.kind, self.store.read(result))

    def text(self, name: str) -> str:
        """Return a value as text: anything but text as JSON for models. Raises as `value` does."""
        result = self.find(name)
        return self.store.text_of(result, partial(_text_of, result.kind))


class ShortNames(ResultScope):
    """The results of one conversation or session, as `r1`, `r2`, ...

    `recall` looks up a result in the journal; `earlier` are the names of those there.
    """

    def __init__(
        self,
        store: ResultStore,
        results: Mapping[str, KeptResult] | None = None,
        *,
        recall: Recall | None = None,
        earlier: Sequence[str] = (),
    ) -> None:
        super().__init__(store)
        self._recall = recall
        self._lock = threading.Lock()
        self._results: dict[str, KeptResult | None] = dict.fromkeys(earlier)
        self._count = 0
        for name, result in (results or {}).items():
            store.adopt(result)
            self.add(result, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._results)

    def add(self, result: KeptResult, name: str | None, program: str | None = None) -> str:
        """Add a result under a name, or the next free one; return it.

        Of a recorded program, what the record does not have gets a name of its own kind: to another process, `r2` is
        the output of the second program, which is longer after each pause.
        """
        with self._lock:
            if program is None:
                while name is None or self._results.get(name, result) not in {None, result}:
                    self._count += 1
                    name = f"r{self._count}"
            elif name is None:
                name = program
                while name in self._results or name == program:
                    name += _UNRECORDED
            self._results[name] = result
        return name

    def offer(self, code: str) -> Sequence[str] | None:
        """Return the names, or None if nothing is kept."""
        del code
        return self.names or None

    def find(self, name: str) -> KeptResult:
        """Return the result of a name. Raises UnknownResultError with the names there are."""
        result = self._results.get(name)
        if result is None and self._recall is not None and name in self._results:
            recalled = self._recall(name)
            if recalled is not None:
                result = self._results[name] = keep_value(self.store, *recalled)
        if result is None:
            names = ", ".join(self._results) or "none is kept"
            message = f"there is no result {safe_repr(name)}: expected one of {names}"
            raise UnknownResultError(message)
        return result


class CallerScope(ResultScope):
    """The results of one caller, by handles; a program knows those in its text."""

    def __init__(self, store: ResultStore, caller: Caller, recall: Recall | None = None) -> None:
        super().__init__(store)
        self._caller = caller
        self._recall = recall

    def add(self, result: KeptResult, name: str | None, program: str | None = None) -> str:
        """Add a result under a handle, or a new one; return it."""
        del program
        return self.store.publish(result, self._caller.identity(), name)

    def offer(self, code: str) -> Sequence[str] | None:
        """Return the handles in the text of a program, as far as they are the caller's; None if there are none."""
        if "r_" not in code:
            return None
        handles = list(dict.fromkeys(_HANDLE.findall(code)))
        if not handles:
            return None
        return [handle for handle in handles if self._find(handle) is not None]

    def find(self, name: str) -> KeptResult:
        """Return the result of a handle. Raises UnknownResultError, in the same words for another caller's."""
        result = self._find(name)
        if result is None:
            message = f"there is no result {safe_repr(name)} of this caller: expected the name from a note of its own"
            raise UnknownResultError(message)
        return result

    def _find(self, handle: str) -> KeptResult | None:
        owner = self._caller.identity()
        result = self.store.find(handle, owner)
        if result is None and self._recall is not None and _HANDLE.fullmatch(handle):
            recalled = self._recall(handle)
            result = None if recalled is None else keep_value(self.store, *recalled)
            if result is not None:
                self.store.publish(result, owner, handle)
        return result


@dataclass(frozen=True)
class OfferedResults:
    """The results for one program. `names` are those of its record, if it has one."""

    scope: ResultScope
    names: Sequence[str] | EllipsisType | None = ...

    @property
    def grants(self) -> Grants:
        """The tools to read them with."""
        return self.scope.grants

    def offer(self, code: str) -> Sequence[str] | None:
        """Return the names for a program, or None if it gets no access."""
        return self.scope.offer(code) if isinstance(self.names, EllipsisType) else self.names

    def keeper(self) -> ValueKeeper:
        """Return the keeper of the program's own result."""
        return self.scope.keeper()


@dataclass(frozen=True)
class ResultAccess:
    """How a toolkit's programs come to kept results: through a conversation's or session's names, or their caller's.

    `recall` returns the value of a caller's handle in the journal. `names` are those of `OfferedResults`.
    """

    store: ResultStore
    scope: ResultScope | None = None
    recall: Callable[[Caller, str], tuple[object, str] | None] | None = None
    names: Sequence[str] | EllipsisType | None = ...

    def of(self, caller: Caller) -> OfferedResults:
        """Return the results for a caller's program."""
        recall = None if self.recall is None else partial(self.recall, caller)
        return OfferedResults(self.scope or CallerScope(self.store, caller, recall), self.names)


def open_store(spill: object = None) -> ResultStore:
    """Return a new store; the folder `spill` takes the values beyond its quota.

    Raises TypeError if it is not a path, and OSError if others may use the folder, or it cannot be used.
    """
    if spill is None:
        return ResultStore()
    if not isinstance(spill, str | PathLike):
        message = f"expected spill to be the path of a folder, got {safe_repr_with_type(spill)}"
        raise TypeError(message)
    folder = cast("str | PathLike[str]", spill)
    problem = path_problem(folder, "spill is a folder")
    if problem is not None:
        raise ValueError(problem)
    from ez_ptc.results.spill import SpillFolder

    return ResultStore(overflow=SpillFolder(folder))


def keep_value(store: ResultStore, value: object, source: str) -> KeptResult | None:
    """Keep a copy of a value; None, without a copy, if it exceeds the quota or cannot be passed to programs."""
    extent = measure(value, _MAX_ELEMENTS, store.max_bytes)
    if extent == "large":
        return None
    encode = partial(encode_result, source, value, store.max_bytes, max_text=store.max_bytes)
    if extent == "plain":
        encode = partial(encode, max_elements=_MAX_ELEMENTS)
    mark, body, problem = encode()
    return None if problem is not None else store.add(mark, body, source)


def measure(value: object, max_elements: int, max_bytes: int) -> Literal["plain", "large", "other"]:
    """Return "large" if a value's texts alone exceed a number of bytes, or its members a number of elements.

    Otherwise "plain" if it has only texts, numbers, lists, tuples and dicts, else "other".
    """
    rest: list[object] = [value]
    count, size = 1, 0
    while rest:
        item = rest.pop()
        cls = type(item)
        members: tuple[Collection[object], ...] = ()
        if cls is str or cls is bytes:
            size += len(cast("str", item))
        elif cls is dict:
            items = cast("dict[object, object]", item)
            members = items.keys(), items.values()
            count += 2 * len(items)
        elif cls is list or cls is tuple:
            members = (cast("list[object]", item),)
            count += len(members[0])
        elif cls not in _SCALARS:
            return "other"
        if size > max_bytes or count > max_elements:  # before any of them is copied
            return "large"
        for iterable in members:
            rest += iterable
    return "plain"


def _text_of(kind: bytes, body: bytes) -> str:
    if kind == b"m":  # with marks of types, which the JSON for models does not have
        try:
            return as_text(to_json_types(kept_value(kind, body)))
        except NotEncodableError:  # more than a model ever gets
            return body.decode()
    return body.decode("utf-8", "surrogatepass")


def kept_value(kind: bytes, body: bytes) -> object:
    """Return the value in the bytes of a kept result."""
    return body.decode("utf-8", "surrogatepass") if kind == b"s" else host_codec.loads(body, _MAX_ELEMENTS)
