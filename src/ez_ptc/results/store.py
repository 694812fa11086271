"""Results kept whole, for programs and further calls to read, where a model saw only a part.

Theory of operation
-------------------
A `KeptResult` is one value as the bytes of a reply to a program: copied once, immutable, and unforgeable within the
process, since only its holder can read it. A conversation or a session holds its own under short names. Everyone else
gets a handle of 128 random bits, which the store resolves for its owner only.

The store accounts for the bytes. Beyond its quota it moves the results that were read least recently to the overflow
folder, or lets go of them; beyond their age it lets go of all. A result without bytes still knows its source, and when
and why its bytes went, to tell a later reader. Results without a holder free their bytes at once, because the store
refers to them weakly; handles hold theirs.
"""

import math
import secrets
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from ez_ptc._closing import ProcessBound
from ez_ptc._forks import on_fork
from ez_ptc.errors import ToolError

__all__ = ["MAX_BYTES", "KeptResult", "Overflow", "ResultGoneError", "ResultOwner", "ResultStore"]

MAX_BYTES: Final = 64 << 20
"""The default quota of a store in memory, in bytes."""
MAX_AGE_SECONDS: Final = 24 * 3600.0
_MAX_HANDLES: Final = 10_000
_HANDLE_BYTES: Final = 16


class ResultGoneError(ToolError, LookupError):
    """The bytes of a result are gone; the message says when, why, and the call that made it."""


class Overflow(Protocol):
    """Takes the bytes beyond the quota of memory."""

    def write(self, body: bytes) -> str:
        """Store bytes and return their name. Raises OSError with the reason if it cannot."""
        ...

    def read(self, name: str) -> bytes:
        """Return stored bytes. Raises OSError if they are gone or were changed."""
        ...

    def remove(self, name: str) -> None:
        """Remove stored bytes, if they are still there."""
        ...


class ResultOwner(Protocol):
    """The caller for whom a result is kept."""

    def is_same(self, other: object) -> bool:
        """Return whether another caller is this one."""
        ...


class KeptResult:
    """One value, as `kind` and bytes of a reply to a program, and its `source`, such as a tool's name."""

    __slots__ = ("__weakref__", "_body", "_file", "_gone", "kept_at", "kind", "source")

    def __init__(self, kind: bytes, content: "bytes | tuple[Overflow, str] | None", source: str) -> None:
        """Wrap bytes, or their place and name there; None for a result that was saved without them."""
        self.kind: Final = kind
        self.source: Final = source
        self.kept_at: Final = time.time()
        self._body = content if isinstance(content, bytes) else None
        self._file = content if isinstance(content, tuple) else None
        self._gone = "it was saved without its value" if content is None else ""

    @property
    def is_gone(self) -> bool:
        """Whether there are no bytes any more."""
        return bool(self._gone)

    @property
    def bytes_in_memory(self) -> int:
        """The number of bytes in memory."""
        return len(self._body or b"")

    def read(self) -> bytes:
        """Return the bytes. Raises ResultGoneError if there are none any more."""
        body, file = self._body, self._file
        if body is None and file is not None:
            try:
                body = file[0].read(file[1])
            except OSError as error:
                self.drop(f"its file cannot be read: {error.strerror or error}")
        if body is None:
            message = f"the result of {self.source} no longer exists, {self._gone}; make it again if it is needed"
            raise ResultGoneError(message)
        return body

    def move_to(self, overflow: Overflow) -> None:
        """Move the bytes out of memory. Raises OSError if the folder cannot take them."""
        if self._body is not None:
            self._file = overflow, overflow.write(self._body)
            weakref.finalize(self, overflow.remove, self._file[1])
            self._body = None

    def drop(self, reason: str) -> None:
        """Let go of the bytes, for a reason; later readers get the first one."""
        now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        self._gone = self._gone or f"it was removed at {now}: {reason}"
        file, self._body, self._file = self._file, None, None
        if file is not None:
            file[0].remove(file[1])


class _Handle(NamedTuple):
    owner: ResultOwner
    result: KeptResult


class ResultStore(ProcessBound):
    """Results up to a quota of bytes in memory and an age; any thread may use it."""

    def __init__(
        self, max_bytes: int = MAX_BYTES, *, max_age: float = MAX_AGE_SECONDS, overflow: Overflow | None = None
    ) -> None:
        """Set the quota in bytes, the age in seconds, and the folder for bytes beyond the quota."""
        self.max_bytes: Final = max_bytes
        self._max_age = max_age
        self._overflow = overflow
        # When the next result expires, or earlier.
        self._next_expiry = math.inf
        self._renew_lock()
        on_fork(self, ResultStore._renew_lock)
        self._used = 0
        # The least recently read first. A weak reference is equal to another one of the same living object.
        self._results: OrderedDict[weakref.ref[KeptResult], int] = OrderedDict()
        self._dropped: deque[weakref.ref[KeptResult]] = deque()
        self._handles: OrderedDict[str, _Handle] = OrderedDict()
        self._last_text: tuple[weakref.ref[KeptResult], str] | None = None

    def _renew_lock(self) -> None:
        # Reentrant: the garbage collector may drop a result while the lock is held.
        self._lock = threading.RLock()

    @property
    def used_bytes(self) -> int:
        """The bytes in memory."""
        with self._lock:
            self._forget_dropped()
            return self._used

    def add(self, kind: bytes, body: bytes, source: str) -> KeptResult | None:
        """Keep a value; None if it exceeds the quota on its own."""
        if len(body) > self.max_bytes:
            return None
        result = KeptResult(kind, body, source)
        self.adopt(result)
        return result

    def adopt(self, result: KeptResult) -> None:
        """Account for a result from elsewhere, such as a loaded conversation; once, however often it is called."""
        with self._lock:
            self._forget_dropped()
            reference = weakref.ref(result, self._dropped.append)
            size = result.bytes_in_memory
            if reference in self._results or not size:
                return
            self._results[reference] = size
            self._used += size
            self._next_expiry = min(self._next_expiry, result.kept_at + self._max_age)
            self._drop_expired()
            while self._used > self.max_bytes:
                oldest = next(iter(self._results))
                self._release(oldest)
                self._evict(oldest())

    def read(self, result: KeptResult) -> bytes:
        """Return a result's bytes. Raises ResultGoneError if they are gone."""
        with self._lock:
            self._drop_expired(result)
            reference = weakref.ref(result)
            if reference in self._results:
                self._results.move_to_end(reference)
        return result.read()

    def text_of(self, result: KeptResult, decode: Callable[[bytes], str]) -> str:
        """Return a result's bytes as text; readers in parts share the last one. Raises ResultGoneError as `read`."""
        body = self.read(result)
        last = self._last_text
        if last is not None and last[0]() is result:
            return last[1]
        text = decode(body)
        self._last_text = weakref.ref(result, self._forget_text), text
        return text

    def _forget_text(self, reference: "weakref.ref[KeptResult]") -> None:
        last = self._last_text
        if last is not None and last[0] is reference:
            self._last_text = None

    def publish(self, result: KeptResult, owner: ResultOwner, handle: str | None = None) -> str:
        """Return the handle of a result, for its owner only: a new one, unless it is given."""
        handle = handle or f"r_{secrets.token_hex(_HANDLE_BYTES)}"
        with self._lock:
            self._handles[handle] = _Handle(owner, result)
            while len(self._handles) > _MAX_HANDLES:
                self._handles.popitem(last=False)
        return handle

    def find(self, handle: str, owner: ResultOwner) -> KeptResult | None:
        """Return the result of an owner's handle; None if there is none, or it is another's."""
        with self._lock:
            entry = self._handles.get(handle)
        if entry is None or not entry.owner.is_same(owner):
            return None
        return entry.result

    def _drop_expired(self, *others: KeptResult) -> None:
        now = time.time()
        results = list(others)
        if now > self._next_expiry:
            results += filter(None, [reference() for reference in self._results])
            expiries = [result.kept_at + self._max_age for result in results]
            self._next_expiry = min((expiry for expiry in expiries if expiry >= now), default=math.inf)
        for result in results:
            if result.kept_at + self._max_age < now:
                self._release(weakref.ref(result))
                result.drop(f"results are kept for {self._max_age:,.0f} s")

    def _evict(self, result: KeptResult | None) -> None:
        if result is None:
            return
        reason = f"newer results took its place, and {self.max_bytes:,} bytes are kept"
        if self._overflow is None:
            result.drop(reason)
            return
        try:
            result.move_to(self._overflow)
        except OSError as error:
            result.drop(f"{reason} in memory; it cannot be written to the folder: {error.strerror or error}")

    def _release(self, reference: "weakref.ref[KeptResult]") -> None:
        self._used -= self._results.pop(reference, 0)

    def _forget_dropped(self) -> None:
        while self._dropped:
            self._release(self._dropped.popleft())
