"""Sealing the secret arguments of a run: its records have a keyed digest in their place.

The key is in a file beside the journal, and in no record, backup or export. Without it, a digest tells nothing of its
secret, not even of a short one. Each digest is made for its run, call and parameter, so equal secrets have different
ones. A program that runs again makes its secrets again, and they are compared by their digests.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from ez_ptc._private_files import warn_of_other_users, write_private_file
from ez_ptc.errors import JournalError, ProtocolError, ToolError
from ez_ptc.journal.chain import event_size
from ez_ptc.journal.record import arguments_data
from ez_ptc.journal.recorded.payloads import read_call
from ez_ptc.journal.results import call_bytes
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.both_ends.limits import LIMITS, limit_error
from ez_ptc.sandbox.protocol.frames import CallFrame
from ez_ptc.tools.definitions.secret_arguments import secret_positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ez_ptc.journal.chain import Event
    from ez_ptc.journal.record import CallState, RunRecord
    from ez_ptc.journal.stores.protocol import RunStore
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["CallRules", "Policy", "RecordedBytes", "Seal", "key_name"]

Policy = Literal["once", "idempotent", "reader"]
"""Whether a call may be repeated: never without a person's word, with the same key, or freely."""


class CallRules(NamedTuple):
    """The policy of each tool of a run, by name, and the seal of its secret arguments."""

    policies: Mapping[str, Policy]
    seal: Seal


class RecordedBytes:
    """The bytes that the journal has of one run, and may have."""

    def __init__(self, record: RunRecord) -> None:
        # Each has one writer: the thread of the store, and the reader of the program's frames.
        self._used, self._steps = record.size, 0
        self._max: int = record.start.data["limits"].get("recorded", LIMITS["recorded"].default)

    def add(self, events: Iterable[Event]) -> None:
        """Count events that are written, without what is added to the schedule."""
        self._used += sum(map(event_size, events))

    def add_steps(self, steps: Iterable[tuple[str, int]]) -> None:
        """Count steps of the program's schedule, which are recorded with any event. Raises ProtocolError for too many.

        A call can be refused, but no step.
        """
        self._steps += sum([_STEP_BYTES + len(path) for path, _ in steps])
        if self._steps > self._max:
            message = f"steps of more than the {self._max:,} bytes that its journal may have (Limits.recorded)"
            raise ProtocolError(message)

    def require(self, state: CallState, size: int) -> None:
        """Raise ToolError if a call of this size would exceed the bound; it is refused then."""
        if self._used + self._steps + size > self._max:
            state.is_refused = True
            raise ToolError(limit_error("recorded", tool=state.tool, limit=self._max))


_KEY_BYTES: Final = 32
# What a step takes in its event, without its path.
_STEP_BYTES: Final = 12
_NAME_DIGITS: Final = 32
_PREFIX: Final = "sealed:"


@dataclass(frozen=True)
class Seal:
    """Seals the secret arguments of one run; `tools` are those that have any, by name."""

    run_id: str
    key: bytes = field(default=b"", repr=False)
    tools: Mapping[str, Definition] = field(default_factory=dict[str, "Definition"])

    @classmethod
    def of(cls, store: RunStore, run_id: str, start: Mapping[str, Any], tools: Iterable[Definition] = ()) -> Seal:
        """Return the seal of a run with this first event. Raises JournalError if its key is not there."""
        name = start.get("key")
        if name is None:  # it has no secrets, or was recorded by an earlier version
            return cls(run_id)
        path = store.key_path()
        try:
            key = _read_key(path)
        except FileNotFoundError:
            key = b""
        if _name_of(key) != name:
            message = (
                f"run {run_id} has secret arguments, and {path} is not the file with their key: put it back to go on; "
                f"without it, calls can be denied with decide(), and the run ended with abandon(); nothing was run"
            )
            raise JournalError(message)
        return cls(run_id, key, {tool.name: tool for tool in tools if tool.secrets.has_any})

    def apply(self, call: CallFrame) -> CallFrame:
        """Return a call with digests in place of its secret arguments."""
        sealed = dict(self._secrets(call))
        if not sealed:
            return call
        args = [
            self._digest(call.path, sealed[key], value) if key in sealed else value
            for key, value in enumerate(call.args)
        ]
        kwargs = {
            key: self._digest(call.path, sealed[key], value) if key in sealed else value
            for key, value in call.kwargs.items()
        }
        return call._replace(args=tuple(args), kwargs=kwargs)

    def record(self, call: CallFrame, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Return what an event says of a call and its checked arguments, with masks, and its payload."""
        sealed = self.apply(call)
        data = arguments_data(arguments, sealed)
        if call.name in self.tools:
            data["sealed"] = self._secrets(call)
            data["secrets"] = list(filter(self.tools[call.name].secrets.is_secret, arguments))
        return data, call_bytes(sealed)

    def open(self, call: CallState, passed: Mapping[str, object]) -> tuple[list[object], dict[str, object]] | None:
        """Return the program's arguments of a recorded call, if the secrets in those that are passed are its own."""
        args, kwargs = read_call(call.call, self.run_id)
        arguments: dict[str | int, object] = {**dict(enumerate(args)), **kwargs}
        for key, name in call.sealed:
            if name not in passed or self._digest(call.path, name, passed[name]) != arguments.get(key):
                return None
            arguments[key] = passed[name]
        return [arguments[position] for position in range(len(args))], {key: arguments[key] for key in kwargs}

    def _secrets(self, call: CallFrame) -> list[tuple[str | int, str]]:
        tool = self.tools.get(call.name)
        if tool is None:
            return []
        return secret_positions(tool, call.args, call.kwargs)

    def _digest(self, path: str, name: str, value: object) -> str:
        # A correction may spell a number as another type: it is the same call, which must not run again.
        passed = call_bytes(CallFrame(0, path, name, (_with_integers(value),), {}, alone=True))
        message = host_codec.dumps([self.run_id, path, name]) + b"\0" + passed
        return _PREFIX + hmac.digest(self.key, message, "sha256").hex()


def _with_integers(value: object) -> object:
    """Return a value with an int in place of each equal float."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in cast("dict[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_with_integers(item) for item in cast("list[object]", value)]
    return value


def key_name(store: RunStore, tools: Iterable[Definition]) -> str | None:
    """Return the name of the journal's key for a new run, or None if no tool has a secret parameter.

    Creates a missing key. Raises JournalError if the key cannot be created or read.
    """
    if not any(tool.secrets.has_any for tool in tools):
        return None
    path = store.key_path()
    if not path.exists():
        store.create_key(_make_key)
    return _name_of(_read_key(path))


def _make_key(path: Path) -> None:
    if path.exists():  # another process has made it meanwhile
        return
    try:
        write_private_file(path, secrets.token_bytes(_KEY_BYTES))
    except OSError as error:
        message = f"cannot make the journal's key {path}: {error.strerror}; nothing was run"
        raise JournalError(message) from error


def _read_key(path: Path) -> bytes:
    try:
        with path.open("rb", buffering=0) as file:
            key = file.read(_KEY_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        message = f"cannot read the journal's key {path}: {error.strerror}; nothing was run"
        raise JournalError(message) from error
    if len(key) != _KEY_BYTES:
        message = f"expected the journal's key in {path}, of {_KEY_BYTES} bytes, got another file; nothing was run"
        raise JournalError(message)
    warn_of_other_users(path)
    return key


def _name_of(key: bytes) -> str:
    """Return the name of a key, which tells nothing of it."""
    return hmac.digest(key, b"name of the key", "sha256").hex()[:_NAME_DIGITS]
