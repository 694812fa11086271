"""The callers of runs: a run's id alone gives no one access to another caller's run.

A run is bound to its first `principal` or, without one, to its context. A context of plain data is compared by a
digest, salted with the run's id. Any other object has no identity in another process, nor has a dataclass with
attributes beside its fields: with a run id of the caller's choice, the principal has to be given too.
"""

from __future__ import annotations

import hashlib
import json
import math
import weakref
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property  # noqa: TID251 - none is made here, and those of applications are known
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from ez_ptc.errors import JournalError
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["Caller", "CallerIdentity", "check_principal", "check_run_id", "reference_to"]

_NO_CONTEXT: Final = "none"
_OPAQUE: Final = "opaque"
# Before the digest of what can be compared of a context that has more.
_PARTIAL: Final = "partial:"
_MAX_NAME_LENGTH: Final = 200
_MAX_VALUES: Final = 10_000
_MAX_DEPTH: Final = 32
_MAX_BYTES: Final = 1 << 20
_SCALARS: Final = frozenset({str, int, bool, type(None)})
# Py_TPFLAGS_HEAPTYPE: the class was made by a class statement, not in C.
_HEAP_TYPE: Final = 1 << 9
_LAYOUT: Final = frozenset({"__dict__", "__weakref__", "__orig_class__"})


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal and the context of an execution."""

    principal: str | None
    context: object

    @property
    def is_comparable(self) -> bool:
        """Whether another process could tell the context from others: it is plain data, or there is none."""
        return _is_identity(_digest_of(self.context, ""))

    def identity(self) -> CallerIdentity:
        """Return the identity of this caller in this process, whatever becomes of the context later."""
        digest = _digest_of(self.context, "")
        return CallerIdentity(self.principal, digest, None if _is_identity(digest) else reference_to(self.context))

    def to_json(self, run_id: str) -> dict[str, str | None]:
        """Return the caller's record in a run."""
        return {"principal": self.principal, "context": _digest_of(self.context, run_id)}

    def require_identity(self, run_id: str, call: str = "execute(run_id=...)") -> None:
        """Raise JournalError if no one could tell this caller from another one of the same run id."""
        if self.principal is None and not _is_identity(_digest_of(self.context, run_id)):
            got = safe_repr_with_type(self.context)
            message = (
                f"{call}: the context is {got}, which cannot be compared with that of another call: pass "
                f"principal=..., a text that says for whom the run is; nothing was run"
            )
            raise JournalError(message)

    def is_owner(self, run_id: str, recorded: Mapping[str, Any]) -> bool:
        """Return whether a run is this caller's; `recorded` is the run's record of its caller."""
        if recorded["principal"] is None and self.principal is None:
            digest = _digest_of(self.context, run_id)
            # Earlier versions took the fields of a dataclass for all of it.
            return recorded["context"] in {digest, digest.removeprefix(_PARTIAL)}
        return bool(recorded["principal"] == self.principal)

    def require_owner(self, run_id: str, recorded: Mapping[str, Any] | None, *, is_lookup: bool = False) -> None:
        """Raise JournalError if a run is another caller's; `recorded` is the record of its own.

        A run of an older version, without such a record, can be continued by anyone, and looked up by no one.
        """
        is_own = not is_lookup if recorded is None else self.is_owner(run_id, recorded)
        if not is_own:
            message = (
                f"run {run_id} belongs to another principal or context: pass the principal= or, without one, the "
                f"context= with which it began; nothing was run"
            )
            raise JournalError(message)


@dataclass(frozen=True, slots=True)
class CallerIdentity:
    """A caller as it was: the principal or, without one, the digest of a context of plain data, or the object."""

    principal: str | None
    digest: str
    context: Callable[[], object] | None

    def is_same(self, other: object) -> bool:
        """Return whether another caller is this one."""
        if not isinstance(other, CallerIdentity) or self.principal != other.principal:
            return False
        if self.principal is not None:
            return True
        if self.context is not None and other.context is not None:
            mine = self.context()
            return mine is not None and mine is other.context()
        return self.digest == other.digest != _OPAQUE


def check_run_id(run_id: object) -> None:
    """Raise ValueError unless a run id is a printable text of moderate length."""
    _check_name("run_id", run_id)


def check_principal(principal: object) -> None:
    """Raise ValueError unless a principal is None or a printable text of moderate length."""
    if principal is not None:
        _check_name("principal", principal)


def _check_name(name: str, value: object) -> None:
    if isinstance(value, str) and 0 < len(value) <= _MAX_NAME_LENGTH and value.isprintable():
        return
    message = f"expected {name} as 1 to {_MAX_NAME_LENGTH} printable characters, got {safe_repr(value)}"
    raise ValueError(message)


def reference_to(context: object) -> Callable[[], object]:
    """Return a function that returns an object, or None once no one else holds it."""
    try:
        return weakref.ref(context)
    except TypeError:  # an object of a class without weak references
        return lambda: context


def _digest_of(context: object, run_id: str) -> str:
    """Return the digest of a context of plain data, or the word for none, or for any other.

    It is marked as partial if the context has attributes beside the fields of a dataclass.
    """
    if context is NO_CONTEXT:
        return _NO_CONTEXT
    plain = _Plain()
    try:
        text = json.dumps([run_id, plain.form(context, 0)])
    except _OpaqueError:
        return _OPAQUE
    return (_PARTIAL if plain.is_partial else "") + hashlib.sha256(text.encode()).hexdigest()


def _is_identity(digest: str) -> bool:
    """Return whether a digest tells a context from all others."""
    return digest != _OPAQUE and not digest.startswith(_PARTIAL)


class _OpaqueError(Exception):
    """A value has no form that is the same in every process."""


class _Plain:
    """Writes plain data of bounded size, in different forms for different values."""

    def __init__(self) -> None:
        self._values_left = _MAX_VALUES
        self._bytes_left = _MAX_BYTES
        self.is_partial = False

    def form(self, value: Any, depth: int) -> object:  # noqa: ANN401 - any value
        """Return the form, as JSON. Raises _OpaqueError if there is none."""
        self._values_left -= 1
        cls = cast("type[object]", type(value))
        if cls is str:
            self._bytes_left -= len(value)
        elif cls is int:
            self._bytes_left -= value.bit_length() // 8
        if self._values_left < 0 or self._bytes_left < 0 or depth > _MAX_DEPTH:
            raise _OpaqueError
        if cls in _SCALARS:
            return hex(value) if cls is int else [cls.__name__, value]
        if cls is float and math.isfinite(value):
            return ["float", value.hex()]
        if cls is UUID:
            return ["UUID", value.hex]
        if cls in {list, tuple}:
            return [cls.__name__, *(self.form(item, depth + 1) for item in value)]
        if cls is dict:
            return self._record(value, cls, depth)
        if is_dataclass(cls):
            self.is_partial = self.is_partial or not _has_fields_only(value)
            return self._record(value, cls, depth)
        raise _OpaqueError

    def _record(self, value: Any, kind: type[object], depth: int) -> object:  # noqa: ANN401 - a dict or a dataclass
        items = value if kind is dict else {field.name: getattr(value, field.name, None) for field in fields(value)}
        if not all(type(key) is str for key in items):
            raise _OpaqueError
        name = f"{kind.__module__}.{kind.__qualname__}"
        return [name, *([key, self.form(items[key], depth + 1)] for key in sorted(items))]


def _has_fields_only(value: Any) -> bool:  # noqa: ANN401 - a dataclass
    """Return whether the fields of a dataclass are all it holds: two users may differ in nothing but an attribute."""
    names: set[str] = {field.name for field in fields(value)}
    held: set[str] = {*getattr(value, "__dict__", ())}
    for base in type(value).__mro__[:-1]:
        if not base.__flags__ & _HEAP_TYPE:  # a dict, a list or another class of C with content of its own
            return False
        slots: str | Iterable[str] = base.__dict__.get("__slots__", ())
        held.update([slots] if isinstance(slots, str) else slots)
        names.update(name for name, member in vars(base).items() if isinstance(member, cached_property))
    return held <= names | _LAYOUT
