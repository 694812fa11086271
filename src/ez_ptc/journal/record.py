"""What is known of a run: the state of each of its calls, folded from its events."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from ez_ptc.errors import JournalCorruptError, JournalError, ReplayDivergedError
from ez_ptc.formats.content import as_json
from ez_ptc.journal.chain import content_hash, event_size
from ez_ptc.journal.recorded.payloads import read_call, read_reply
from ez_ptc.messages import PendingCall
from ez_ptc.sandbox.protocol.both_ends.limits import LIMITS
from ez_ptc.sandbox.protocol.both_ends.source_repairs import SOURCE_RULES
from ez_ptc.sandbox.protocol.execution import Limits, read_limits
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.approval_requests import is_same
from ez_ptc.tools.decisions import Approve, Decision, Deny

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ez_ptc.journal.chain import Event
    from ez_ptc.sandbox.protocol.frames import CallFrame

__all__ = [
    "CallState",
    "Clearance",
    "Reply",
    "RunRecord",
    "arguments_data",
    "decision_data",
    "decision_of",
    "find_changed_secrets",
    "is_ruling",
    "pending_id",
]

Clearance = Literal["not_needed", "remembered"]
"""Why a call runs without a decision of its own: the tool's rule said so, or an approval covers the rest of the run."""

_ARGUMENTS: Final = "arguments"
_PASSED: Final = "passed"
_LARGE: Final = frozenset({str, list, dict})
# Characters or elements; a reference to anything smaller would take about as much room.
_MIN_PASSED: Final = 64
_SCHEDULE: Final = "schedule"
_VERSIONS: Final = "versions"
_CLEARANCES: Final[frozenset[str]] = frozenset(get_args(Clearance))


class Reply(NamedTuple):
    """The recorded reply to a call.

    `kind` and `body` are what the program got, and `order` is the position of the event.
    """

    kind: bytes
    body: bytes
    error: str | None
    duration_ms: float
    order: int


@dataclass(slots=True)
class CallState:
    """One call of a run.

    `call` are the program's arguments as bytes, `arguments` the checked ones as JSON. `is_open` says that the function
    may be running or have run, and `is_repeatable` that running it again is harmless. `cleared` says why it may run
    without a decision of its own. `output` is a digest of the program's output before the call, "" in older records.
    `has_returned` says that the function has returned, and `source` is the call of a failed program with this reply.
    `repeated_key` is the key of such a call that this one repeats. `is_refused` says that its arguments were too large
    to be recorded, so it did not run. `sealed` are the position or keyword and the parameter of each argument that is
    a digest in `call`; `secrets` are the names of those with a mask in `arguments`.
    """

    tool: str
    path: str
    call: bytes | None = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    is_pending: bool = False
    is_open: bool = False
    is_repeatable: bool = False
    cleared: Clearance | None = None
    decision: Decision | None = None
    decided: Event | None = None
    reply: Reply | None = None
    output: str = ""
    has_returned: bool = False
    source: str | None = None
    repeated_key: str | None = None
    is_refused: bool = False
    sealed: tuple[tuple[str | int, str], ...] = ()
    secrets: tuple[str, ...] = ()

    def release(self) -> None:
        """Drop what is only compared and passed on once, if the call has its reply: it may be many megabytes."""
        if self.reply is not None:
            self.call, self.arguments, self.reply = None, {}, self.reply._replace(body=b"")

    @property
    def is_unknown(self) -> bool:
        """Whether the call may have taken effect, and no one knows."""
        return self.is_open and self.reply is None and not self.is_repeatable

    @property
    def verdict(self) -> bool | None:
        """Whether the call needs approval: a waiting or decided call does, whatever its tool's rule is by now.

        None without a record: the call is new, or of an older journal.
        """
        if self.decision is not None or self.is_pending:
            return True
        return None if self.cleared is None else False

    @property
    def is_waiting(self) -> bool:
        """Whether the call waits for an approval."""
        return self.is_pending and self.decision is None and self.reply is None

    def state(self, *, is_owned: bool) -> Literal["running", "outcome_unknown", "needs_approval"] | None:
        """Return the state of an unfinished call, in a run with or without a live owner; else None."""
        if self.is_open and self.reply is None and is_owned:
            return "running"
        if self.is_unknown:
            return "outcome_unknown"
        return "needs_approval" if self.is_waiting else None


@dataclass(slots=True)
class RunRecord:
    """A run as its events tell it; `pictures` are those of its program, by their hashes.

    `size` is about how many bytes the events had when they were read.
    """

    start: Event
    run_id: str
    calls: dict[str, CallState] = field(default_factory=dict[str, CallState])
    remembered: set[str] = field(default_factory=set[str])
    endings: list[Event] = field(default_factory=list["Event"])
    pictures: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    schedule: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    size: int = 0

    def __post_init__(self) -> None:
        """Take the versions of the library and the interpreter at the start; those of later calls may differ."""
        self.size = event_size(self.start)
        self.versions = {name: self.start.data.get(name, "") for name in ("library", "interpreter")}

    @classmethod
    def of(cls, run_id: str, events: Iterable[Event]) -> RunRecord:
        """Fold a run's events, of which the first is its start. Raises JournalCorruptError, naming the run."""
        first, *others = events
        record = cls(first, run_id)
        for event in others:
            record.add(event)
            record.size += event_size(event)
        return record

    def add(self, event: Event) -> None:
        """Add one event."""
        event_kind, path, data, payload, _, position = event
        self.versions = data.get(_VERSIONS, self.versions)
        self.schedule += [(called, int(advance)) for called, advance in data.get(_SCHEDULE, ())]
        if not path:
            if event_kind in {"pause", "end"}:
                self.endings.append(event)
            elif event_kind == "picture" and payload is not None:
                self.pictures[content_hash(payload)] = payload
            return
        call = self.calls.get(path) or self.calls.setdefault(path, CallState(str(data.get("tool", "")), path))
        if event_kind == "result":
            kind_bytes, error = str(data["kind"]).encode(), data["error"]
            call.reply = Reply(kind_bytes, payload or b"", error, float(data["duration_ms"]), position)
            call.has_returned = error is None or bool(data.get("returned"))
            call.source = data.get("source")
        elif event_kind == "decision":
            self._add_decision(call, event)
        elif event_kind in {"intent", "pending"}:
            call.call = payload
            call.arguments = data[_ARGUMENTS]
            if _PASSED in data:
                call.arguments = {**call.arguments, **self._passed_arguments(data[_PASSED], event)}
            call.output = str(data.get("output", ""))
            call.sealed = tuple((key, name) for key, name in data.get("sealed", ()))
            call.secrets = tuple(data.get("secrets", ()))
            if event_kind == "pending":
                call.is_pending = True
            else:
                call.is_open, call.is_repeatable = True, bool(data["repeatable"])
                call.repeated_key = data.get("repeated_key")
                if data.get("cleared") in _CLEARANCES:
                    call.cleared = data["cleared"]

    def _passed_arguments(self, passed: Mapping[str, int | str], event: Event) -> dict[str, Any]:
        """Return the arguments of a call that are as the program has passed them."""
        args, kwargs = read_call(event.payload, self.run_id)
        places: dict[int | str, Any] = {**dict(enumerate(args)), **kwargs}
        if not places.keys() >= {*passed.values()}:
            message = (
                f"the journal was damaged or changed: event {event.position} of run {self.run_id} names arguments that "
                f"its call does not have"
            )
            raise JournalCorruptError(message)
        return {name: places[key] for name, key in passed.items()}

    def _add_decision(self, call: CallState, event: Event) -> None:
        call.decided = event
        if not is_ruling(event):
            call.is_open = False
            return
        call.decision = decision = decision_of(event.data)
        if isinstance(decision, Approve) and decision.remember == "run":
            self.remembered.add(call.tool)

    @property
    def ending(self) -> Event | None:
        """The last event that ended an execution."""
        return self.endings[-1] if self.endings else None

    def key_of(self, path: str) -> str:
        """Return the idempotency key of a call.

        Runs of two journals may have one id of the caller's choice, and a service called by both would take the second
        call for the first one. Earlier versions recorded no text for the keys of such a run.
        """
        return f"{self.start.data.get('keys', self.run_id)}:{path}"

    @property
    def program(self) -> str:
        """The program."""
        return (self.start.payload or b"").decode()

    @property
    def source_rules(self) -> int:
        """The version of the rules by which the program's source is repaired: earlier versions recorded none.

        Raises ReplayDivergedError if this library does not have them.
        """
        rules = self.start.data.get("source_rules", 1)
        if type(rules) is not int or not 1 <= rules <= SOURCE_RULES:
            message = (
                f"the program of run {self.run_id} was read by the rules {safe_repr(rules)} for repairing sources, and "
                f"this library has those up to {SOURCE_RULES}: {self._needed_library()}; nothing was run"
            )
            raise ReplayDivergedError(message, run_id=self.run_id)
        return rules

    def limits(self) -> Limits:
        """Return the limits of the run. Raises JournalError if this library does not have them."""
        recorded: dict[str, Any] = self.start.data["limits"]
        problem = ", ".join(map(safe_repr, recorded.keys() - LIMITS.keys()))
        try:
            if not problem:
                return read_limits(recorded)
        except ValueError as error:
            problem = str(error)
        message = (
            f"run {self.run_id} was recorded with limits that this library does not have ({problem}): "
            f"{self._needed_library()}; nothing was run"
        )
        raise JournalError(message, run_id=self.run_id)

    def _needed_library(self) -> str:
        recorded = safe_repr(self.start.data.get("library", "a later version"))
        return f"resume it with the ez-ptc that recorded it ({recorded}), or a later one"

    def require_readable(self) -> None:
        """Raise JournalCorruptError if the arguments of a call or the reply to it cannot be read."""
        for call in self.calls.values():
            read_call(call.call, self.run_id)
            if call.reply is not None:
                read_reply(call.reply.kind, call.reply.body, self.run_id)

    def pending(self, run_id: str, *, is_owned: bool = False) -> tuple[PendingCall, ...]:
        """Return the calls waiting for a decision or for a word about their outcome, in order of arrival.

        In a run that has a live owner, the calls that have begun are running.
        """
        pending: list[PendingCall] = []
        for call in self.calls.values():
            state = call.state(is_owned=is_owned)
            if state is not None:
                pending.append(PendingCall(pending_id(run_id, call.path), call.tool, call.arguments, call.path, state))
        return tuple(pending)

    def replies(self, max_bytes: int) -> list[tuple[str, str | None]]:
        """Return the path of each call, with the kind and payload of its reply, in the order of the replies.

        A call has "" once the replies before it have taken `max_bytes` in all, and None without a reply.
        """
        replied = sorted((call.reply.order, call.reply, call.path) for call in self.calls.values() if call.reply)
        replies: list[tuple[str, str | None]] = []
        for _, reply, path in replied:
            max_bytes -= len(reply.body)
            ahead = (reply.kind + reply.body).decode("utf-8", "surrogatepass") if max_bytes >= 0 else ""
            replies.append((path, ahead))
        return replies + [(call.path, None) for call in self.calls.values() if call.reply is None]

    @property
    def has_unknown(self) -> bool:
        """Whether the outcome of a call is unknown."""
        return any(call.is_unknown for call in self.calls.values())

    def describe_unknown(self) -> str:
        """Return a text about the calls whose outcomes are unknown."""
        names = ", ".join(call.tool for call in self.calls.values() if call.is_unknown)
        return f"the outcome of {names} is unknown: it may have taken effect"


def arguments_data(arguments: Mapping[str, Any], call: CallFrame) -> dict[str, Any]:
    """Return a call's checked arguments for an event; large ones that are as the program has passed them by position.

    What the program has passed is the payload of the event: so they are stored once. With the call's line, if known.
    """
    position = {"line": call.line} if call.line else {}
    passed: dict[str, int | str] = {}
    for name, value in arguments.items():
        if type(value) in _LARGE and len(value) > _MIN_PASSED:
            for key, argument in (*enumerate(call.args), *call.kwargs.items()):
                if type(argument) is type(value) and _is_same(value, argument):
                    passed[name] = key
                    break
    if not passed:
        return {_ARGUMENTS: arguments, **position}
    return {_ARGUMENTS: {**arguments, **dict.fromkeys(passed)}, _PASSED: passed, **position}


def _is_same(value: object, argument: object) -> bool:
    if isinstance(value, str):
        return value == argument
    try:  # True and 1 are equal, and their texts are not
        return json.dumps(value) == json.dumps(argument)
    except (TypeError, ValueError):
        return False


def find_changed_secrets(secrets: Iterable[str], shown: Mapping[str, Any], decision: object) -> list[str]:
    """Return the names of secret arguments that a decision changes: their values would be in the record."""
    arguments = decision.arguments if isinstance(decision, Approve) else None
    return [name for name in secrets if name in (arguments or ()) and not is_same((arguments or {})[name], shown[name])]


def pending_id(run_id: str, path: str) -> str:
    """Return a waiting call's id, unique among all runs."""
    return f"{run_id}:{path}"


def decision_data(decision: Decision) -> dict[str, Any]:
    """Return a decision as JSON."""
    if isinstance(decision, Approve):
        arguments = None if decision.arguments is None else as_json(dict(decision.arguments))
        return {"decision": "approve", _ARGUMENTS: arguments, "remember": decision.remember, "by": decision.by}
    if isinstance(decision, Deny):
        return {"decision": "deny", "reason": decision.reason, "by": decision.by}
    return {"decision": "pause"}


def is_ruling(event: Event) -> bool:
    """Return whether an event is a decision about an approval, and not about an unknown outcome."""
    return event.kind == "decision" and event.data["decision"] != "did_not_happen"


def decision_of(data: Any) -> Decision:  # noqa: ANN401 - JSON of a journal
    """Return the decision in an event's data."""
    if data["decision"] == "approve":
        return Approve(data[_ARGUMENTS], remember=data["remember"], by=data["by"])
    return Deny(data["reason"], by=data["by"])
