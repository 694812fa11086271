"""Results of executions as bytes, for a run's last event, and back."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.chain import Event, content_hash
from ez_ptc.journal.recorded.payloads import read_call, read_reply, read_result
from ez_ptc.messages import ImageMessage
from ez_ptc.results.bounds import MAX_TEXT
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.sandbox.protocol.records.call_record import CallRecord
from ez_ptc.sandbox.protocol.replies import DoneCall, EncodedResult
from ez_ptc.tools.decisions import Deny

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ez_ptc.journal.record import CallState, RunRecord
    from ez_ptc.sandbox.protocol.frames import CallFrame

    _Named = Mapping[str, object]

__all__ = [
    "call_bytes",
    "call_record",
    "call_records",
    "calls_to_answer",
    "ending_events",
    "reply_event",
    "result_from_bytes",
    "result_to_bytes",
]

_SCALARS: Final = frozenset[type]({str, int, float, bool, type(None)})
# Characters of output; to find less than these takes longer than to record them again.
_MIN_EARLIER: Final = 4096
_FIELDS: Final = (
    "output",
    "error_output",
    "return_value",
    "described",
    "success",
    "error",
    "status",
    "duration_ms",
    "truncated",
    "max_text",
)


def result_to_bytes(result: ExecutionResult, earlier: Mapping[str, str] | None = None) -> bytes:
    """Return a result without its calls and pictures, which have events of their own, and without earlier output."""
    fields: dict[str, Any] = {name: getattr(result, name) for name in _FIELDS}
    for name, text in (earlier or {}).items():
        if len(text) > _MIN_EARLIER and fields[name].startswith(text):
            fields[name] = fields[name][len(text) :]
            fields.setdefault("appended", []).append(name)
    if result.is_denied:  # earlier versions do not know it, and read everything else
        fields["is_denied"] = True
    fields["images"] = []
    if result.images:
        fields["pictures"] = [content_hash(image.data or b"") for image in result.images]
    return host_codec.dumps({name: host_codec.recorded_tree(value) for name, value in fields.items()})


def ending_events(
    name: Literal["pause", "end"], data: Mapping[str, Any], result: ExecutionResult, record: RunRecord | None
) -> list[Event]:
    """Return the events of how an execution ended: what of its pictures and its result the record does not have."""
    recorded, earlier = dict[bytes, bytes](), dict[str, str]()
    if record is not None:
        recorded = record.pictures
        with suppress(JournalCorruptError):  # else all of it is recorded
            earlier = _join_output(record)
    pictures = {content_hash(image.data or b""): image.data for image in result.images}
    new = [Event("picture", payload=picture) for digest, picture in pictures.items() if digest not in recorded]
    return [*new, Event(name, data=data, payload=result_to_bytes(result, earlier))]


def _join_output(record: RunRecord) -> dict[str, str]:
    """Return the output of the last pause or end of a run, by its fields; each may go on from the one before."""
    parts: dict[str, list[str]] = {"output": [], "error_output": []}
    appended = set(parts)
    for event in reversed(record.endings):
        fields = read_result(event.payload or b"", record.run_id)
        for name in appended:
            parts[name].insert(0, fields.get(name, ""))
        appended &= set(fields.get("appended", ()))
        if not appended:
            break
    return {name: "".join(texts) for name, texts in parts.items()}


def reply_event(call: CallFrame, encoded: EncodedResult) -> Event:
    """Return the event of a call's reply."""
    data: dict[str, Any] = {
        "tool": call.name,
        "kind": encoded.kind.decode(),
        "error": encoded.error,
        "duration_ms": encoded.duration_ms,
    }
    if encoded.source is not None:
        data["source"] = encoded.source
    if encoded.error is not None and encoded.has_returned:
        data["returned"] = True
    return Event("result", call.path, data, encoded.body)


def result_from_bytes(payload: bytes, run_id: str, record: RunRecord, *, has_calls: bool = True) -> ExecutionResult:
    """Return the result of `result_to_bytes`, with the calls of the record unless `has_calls` is false."""
    fields = read_result(payload, run_id)
    if fields.pop("appended", None):
        fields |= _join_output(record)
    pictures = [*fields.pop("images"), *map(record.pictures.get, fields.pop("pictures", ()))]
    if None in pictures:
        message = f"the journal was damaged or changed: the result of run {run_id} has pictures that were not recorded"
        raise JournalCorruptError(message)
    images = [ImageMessage(picture) for picture in pictures]
    # Earlier versions had no bound of its own for a model's text, and recorded that of the output.
    text = record.start.data["limits"].get("text")
    fields["max_text"] = text if type(text) is int and text > 0 else MAX_TEXT
    calls = call_records(record) if has_calls else []
    return ExecutionResult(**fields, images=images, tool_calls=calls, run_id=run_id, pending=record.pending(run_id))


def call_records(record: RunRecord, *, is_owned: bool = False) -> list[CallRecord]:
    """Return the calls of a run, which has a live owner or none, as in `ExecutionResult.tool_calls`.

    Reads of kept results are recorded, but not listed.
    """
    tools = record.start.data["tools"]
    return [call_record(record.run_id, call, is_owned=is_owned) for call in record.calls.values() if call.tool in tools]


def calls_to_answer(
    run_id: str, record: RunRecord, open_seal: Callable[[CallState, _Named], Any]
) -> Iterator[DoneCall]:
    """Yield the calls of a run not to be run again, but for those answered from an earlier run.

    `open_seal` is `Seal.open`.
    """
    for call in record.calls.values():
        reply, is_denied = call.reply, isinstance(call.decision, Deny)
        is_done = reply is not None and call.source is None and (call.has_returned or is_denied)
        if not is_done and (reply is not None or not call.is_open):
            continue
        args, kwargs = read_call(call.call, run_id)
        encoded = None
        if reply is not None:
            value, has_returned = read_reply(reply.kind, reply.body, run_id), call.has_returned
            encoded = EncodedResult(
                reply.kind, reply.body, value, reply.error, reply.duration_ms, has_returned=has_returned
            )
        source = f"{run_id}:{call.path}"
        key = call.repeated_key or record.key_of(call.path)
        unseal = partial(open_seal, call) if call.sealed else None
        yield DoneCall(call.tool, tuple(args), kwargs, encoded, source, key, unseal)


def call_record(run_id: str, call: CallState, *, is_owned: bool = False) -> CallRecord:
    """Return a call of a run with or without a live owner, as in `ExecutionResult.tool_calls`."""
    args, kwargs = read_call(call.call, run_id)
    reply = call.reply
    if reply is not None:
        error = reply.error
    elif call.state(is_owned=is_owned) == "running":
        error = "the call is running"
    elif call.is_unknown:
        error = "the outcome of the call is unknown"
    else:
        error = "the call waits for a decision"
    return CallRecord(
        name=call.tool,
        args=tuple(args),
        kwargs=kwargs,
        result=None if reply is None else read_reply(reply.kind, reply.body, run_id),
        error=error,
        duration_ms=0.0 if reply is None else reply.duration_ms,
        path=call.path,
    )


def call_bytes(call: CallFrame) -> bytes:
    """Return a call's arguments in a form that is equal for equal calls."""
    if set(map(type, (*call.args, *call.kwargs.values()))) <= _SCALARS:  # they are their own encoding
        return host_codec.dumps((call.args, call.kwargs))
    tree = host_codec.call_tree(call.args, call.kwargs)
    body = host_codec.dumps(tree)
    if b'"$"' in body:
        body = host_codec.dumps(_in_order(tree))
    return body


def _in_order(tree: object) -> object:
    """Return an encoded tree with the members of its sets in order: the host iterates over a set as it likes."""
    if isinstance(tree, list):
        return [_in_order(item) for item in cast("list[object]", tree)]
    if not isinstance(tree, dict):
        return tree
    fields = {key: _in_order(item) for key, item in cast("dict[str, object]", tree).items()}
    mark = fields.get("$")
    if isinstance(mark, list) and mark[0] in {"s", "fs"}:
        name, members = cast("tuple[str, list[object]]", tuple(cast("list[object]", mark)))
        fields["$"] = [name, sorted(members, key=host_codec.dumps)]
    return fields
