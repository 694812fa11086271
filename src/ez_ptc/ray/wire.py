"""An actor's answers: messages in bounded JSON, and back.

It is data of the user's own cluster, but programs of a model make most of it: a size is checked before a message is
parsed, and its shape before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ez_ptc import errors
from ez_ptc.errors import (
    ArgumentsError,
    ClusterError,
    EzPtcError,
    JournalError,
    OutcomeUnknownError,
    ProtocolError,
    RunInProgressError,
)
from ez_ptc.messages import ImageMessage, PendingCall
from ez_ptc.ray.programs import ProgramToken
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.events import ApprovalNeeded, CallEnded, CallProgress, CallStarted, OutputDelta
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.sandbox.protocol.output_text import shorten
from ez_ptc.sandbox.protocol.records.call_record import CallRecord
from ez_ptc.sandbox.protocol.replies import encode_result
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.checking import Mistake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.sandbox.protocol.events import ProgramEvent

__all__ = [
    "MAX_MESSAGE_BYTES",
    "Message",
    "error_from",
    "event_from",
    "mistakes_from",
    "pack",
    "pack_error",
    "pack_event",
    "pack_mistakes",
    "pack_result",
    "pending_fields",
    "pending_from",
    "plain_records",
    "record_from",
    "require",
    "result_from",
    "unpack",
]

Message: TypeAlias = Mapping[str, Any]
"""A message: its kind, under "is", and its fields."""

MAX_MESSAGE_BYTES: Final = 128 << 20
_MAX_ELEMENTS: Final = 2_000_000
_MAX_ERROR: Final = 4_000
# The errors of readers of foreign bytes.
_UNREADABLE: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_RESULT: Final[Mapping[str, type | tuple[type, ...]]] = {
    "output": str,
    "error_output": str,
    "return_value": object,
    "described": str,
    "success": bool,
    "error": (str, type(None)),
    "is_denied": bool,
    "status": str,
    "run_id": (str, type(None)),
    "facts": list,
    "correction": str,
    "duration_ms": (int, float),
    "notes": list,
    "truncated": dict,
    "max_text": int,
}
_PENDING: Final = {"id": str, "tool": str, "arguments": dict, "path": str, "state": str}
_RECORD: Final = {"name": str, "args": list, "kwargs": dict, "result": object, "path": str}
_MISTAKE: Final = {"line": int, "rule": str, "message": str, "suggestion": (str, type(None))}
_EVENTS: Final[Mapping[str, tuple[type[ProgramEvent], Mapping[str, type | tuple[type, ...]]]]] = {
    "output": (OutputDelta, {"text": str, "stream": str, "parent": str}),
    "started": (CallStarted, {"id": str, "parent": str, "tool": str, "args": list, "kwargs": dict, "path": str}),
    "progress": (
        CallProgress,
        {
            "id": str,
            "parent": str,
            "tool": str,
            "done": (int, float),
            "total": (int, float, type(None)),
            "message": (str, type(None)),
        },
    ),
    "ended": (
        CallEnded,
        {
            "id": str,
            "parent": str,
            "tool": str,
            "result": object,
            "error": (str, type(None)),
            "duration_ms": (int, float),
        },
    ),
}


def pack(kind: str, **fields: object) -> bytes:
    """Return a message. Values of unknown classes are replaced as for programs. Raises ProtocolError if too large."""
    payload = encode_result("the program", {"is": kind, **fields}, MAX_MESSAGE_BYTES, _MAX_ELEMENTS)
    if payload.problem is not None:
        raise ProtocolError(payload.problem)
    return payload.body


def unpack(data: object) -> Message:
    """Return the message in bytes of an actor. Raises ProtocolError for any others."""
    if not isinstance(data, bytes) or len(data) > MAX_MESSAGE_BYTES:
        message = f"an actor sent something else than a message of at most {MAX_MESSAGE_BYTES:,} bytes"
        raise ProtocolError(message)
    try:
        value = host_codec.loads(data, _MAX_ELEMENTS)
    except _UNREADABLE:
        value = None
    if not isinstance(value, dict) or not isinstance(cast("Message", value).get("is"), str):
        message = "an actor sent an invalid message"
        raise ProtocolError(message)
    return cast("Message", value)


def require(fields: object, types: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """Return these fields of a message, of these types. Raises ProtocolError if one is missing or of another type."""
    values: Message = {}
    if isinstance(fields, dict):
        values = cast("Message", fields)
    for name, expected in types.items():
        if name not in values or not isinstance(values[name], expected):
            message = f"an actor sent a message with an invalid {name!r}"
            raise ProtocolError(message)
    return {name: values[name] for name in types}


# Events ---------------------------------------------------------------------------------------------------------------


def pack_event(event: ProgramEvent) -> bytes:
    """Return an event of a running program as a message."""
    if isinstance(event, ApprovalNeeded):
        return pack("approval", pending=pending_fields(event.pending), parent=event.parent)
    [(event_type, fields)] = [
        (event_type, fields) for event_type, (cls, fields) in _EVENTS.items() if isinstance(event, cls)
    ]
    values = {name: getattr(event, name) for name in fields}
    if "args" in values:
        values["args"] = list(values["args"])
    return pack(event_type, **values)


def event_from(message: Message) -> ProgramEvent | None:
    """Return the event in a message, or None if it is another message."""
    message_type = message["is"]
    if message_type == "approval":
        return ApprovalNeeded(pending_from(message.get("pending")), require(message, {"parent": str})["parent"])
    if message_type not in _EVENTS:
        return None
    cls, types = _EVENTS[message_type]
    fields = require(message, types)
    if "args" in fields:
        fields["args"] = tuple(fields["args"])
    return cast("Any", cls)(**fields)


def pending_fields(call: PendingCall) -> dict[str, object]:
    """Return a call in wait for a decision as the fields of a message."""
    return {name: getattr(call, name) for name in _PENDING}


def pending_from(fields: object) -> PendingCall:
    """Return a call in wait for a decision."""
    return PendingCall(**require(fields, _PENDING))


def plain_records(records: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
    """Return the records of calls as the fields of a message."""
    return [{**record, "args": list(record["args"])} for record in records]


def record_from(fields: object) -> CallRecord:
    """Return the record of a call."""
    values = require(fields, {**_RECORD, "error": (str, type(None)), "duration_ms": (int, float)})
    values["args"] = tuple(values["args"])
    if cast("Message", fields).get("already_done") is True:
        values["already_done"] = True
    return cast("CallRecord", cast("Any", CallRecord)(values))


# Results --------------------------------------------------------------------------------------------------------------


def pack_result(result: ExecutionResult, token: str | None) -> bytes:
    """Return a result as a message; `token` names it in `execute(after=...)`.

    If it is too large, the values of its calls are left out first, and then its own.
    """
    fields = _result_fields(result)
    fields["attempts"] = [_result_fields(attempt) for attempt in result.attempts]
    try:
        return pack("result", result=fields, token=token)
    except ProtocolError as error:
        problem = str(error)
    calls = cast("list[dict[str, object]]", fields["tool_calls"])
    fields["tool_calls"] = [{**call, "args": [], "kwargs": {}, "result": None} for call in calls]
    fields["attempts"] = []
    try:
        return pack("result", result=fields, token=token)
    except ProtocolError:
        described = f"(the value was left on its node: {problem})"
        fields |= {"return_value": None, "described": described, "images": []}
        return pack("result", result=fields, token=token)


def _result_fields(result: ExecutionResult) -> dict[str, object]:
    fields: dict[str, object] = {name: getattr(result, name) for name in _RESULT}
    fields["facts"] = list(result.facts)
    fields["images"] = [image.data for image in result.images]
    fields["tool_calls"] = plain_records(result.tool_calls)
    fields["pending"] = [pending_fields(call) for call in result.pending]
    return fields


def result_from(message: Message, actor: object) -> ExecutionResult:
    """Return the result in a message of an actor."""
    fields = message.get("result")
    result = _result_from(fields)
    result.attempts = tuple(_result_from(attempt) for attempt in _items(fields, "attempts"))
    token = message.get("token")
    if isinstance(token, str):
        result.progress = ProgramToken(actor, token)
    return result


def _result_from(fields: object) -> ExecutionResult:
    values = require(fields, _RESULT)
    if values["status"] not in {"done", "failed", "paused"}:
        message = "an actor sent a message with an invalid 'status'"
        raise ProtocolError(message)
    values["facts"] = tuple(values["facts"])
    images = [ImageMessage(data) for data in _items(fields, "images") if isinstance(data, bytes)]
    calls = [record_from(call) for call in _items(fields, "tool_calls")]
    pending = tuple(pending_from(call) for call in _items(fields, "pending"))
    return ExecutionResult(**values, images=images, tool_calls=calls, pending=pending)


def _items(fields: object, name: str) -> Sequence[object]:
    return cast("list[object]", require(fields, {name: list})[name])


def pack_mistakes(mistakes: Sequence[Mistake]) -> bytes:
    """Return the mistakes of a program as a message."""
    return pack("mistakes", mistakes=[{name: getattr(mistake, name) for name in _MISTAKE} for mistake in mistakes])


def mistakes_from(message: Message) -> list[Mistake]:
    """Return the mistakes in a message."""
    return [Mistake(**require(fields, _MISTAKE)) for fields in _items(message, "mistakes")]


# Errors ---------------------------------------------------------------------------------------------------------------


def pack_error(error: BaseException) -> bytes:
    """Return an exception as a message: our own ones with their attributes, others with their class's name."""
    fields: dict[str, object] = {"type": type(error).__name__, "message": shorten(str(error), _MAX_ERROR)}
    if isinstance(error, OutcomeUnknownError):
        fields["pending"] = [pending_fields(call) for call in error.pending if isinstance(call, PendingCall)]
    if isinstance(error, JournalError):
        fields |= {"run_id": error.run_id, "owner": getattr(error, "owner", None)}
    if isinstance(error, ArgumentsError):
        fields["problems"] = [shorten(problem, _MAX_ERROR) for problem in error.problems]
    return pack("error", **fields)


def error_from(message: Message, node: str) -> Exception:
    """Return the exception in a message. A foreign one, except TypeError and ValueError, becomes a ClusterError."""
    fields = require(message, {"type": str, "message": str})
    name, text = fields["type"], shorten(fields["message"], _MAX_ERROR)
    cls = {"TypeError": TypeError, "ValueError": ValueError}.get(name) or getattr(errors, name, None)
    if not isinstance(cls, type) or not issubclass(cls, (EzPtcError, TypeError, ValueError)):
        return ClusterError(f"the node {safe_repr(node)} raised {name}: {text}")
    if issubclass(cls, OutcomeUnknownError):
        return cls(text, pending=[pending_from(call) for call in _items(message, "pending")])
    if issubclass(cls, ArgumentsError):
        return cls(text, problems=[str(problem) for problem in _items(message, "problems")])
    if issubclass(cls, JournalError):
        names = ("run_id", "owner") if issubclass(cls, RunInProgressError) else ("run_id",)
        known = {name: message[name] for name in names if isinstance(message.get(name), str)}
        return cls(text, **known)
    return cls(text)
