"""Encoding a tool's result, for the program and for the record of its call."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ez_ptc.errors import ArgumentsError, NotApprovedError, ToolError
from ez_ptc.formats.content import key_text
from ez_ptc.formats.encoding import distinct_keys, plain_value, undeliverable
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.both_ends.limits import limit_error
from ez_ptc.sandbox.protocol.frames import CallFrame
from ez_ptc.sandbox.protocol.output_text import encodable
from ez_ptc.sandbox.protocol.rows import encode_rows
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.sandbox.protocol.values.attachments import join
from ez_ptc.schema.arguments.replacement import detach

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping

    from ez_ptc.messages import ToolResult

__all__ = ["NOT_BEGUN", "DoneCall", "EncodedResult", "MadeCalls", "Payload", "encode_call_result", "encode_result"]

_ERROR_FIELDS = 3  # of an error reply: the names of its class and of the nearest built-in one, and its message
_HASHABLE_CONTAINERS = frozenset({tuple, frozenset, values.Row})


class EncodedResult(NamedTuple):
    """A call's result: `kind` and `body` of the reply to the program, the rest for the record.

    `has_returned`: the function has returned, even if its value could not be passed on. `source` is the call of an
    earlier program with this reply, or None.
    """

    kind: bytes
    body: bytes
    result: object
    error: str | None
    duration_ms: float = 0.0
    has_returned: bool = False
    source: str | None = None

    def outcome(self) -> dict[str, object]:
        """Return the outcome for the record of the call."""
        outcome: dict[str, object] = {"result": self.result, "error": self.error, "duration_ms": self.duration_ms}
        if self.source is not None:
            outcome["already_done"] = True
        return outcome

    @property
    def is_denial(self) -> bool:
        """Whether the call required approval, and did not get it. Recorded replies say so as well."""
        return self.kind == b"e" and len(cast("list[object]", host_codec.loads(self.body))) > _ERROR_FIELDS


class DoneCall(NamedTuple):
    """A call of a program that has failed, for a correction of the program.

    `reply` is what the program got, or None if the function began and its outcome is unknown. `source` names the call
    among those of all programs that a correction continues; `key` is the idempotency key with which it ran: two calls
    have the same one if the later repeats the earlier. If its secret arguments are known by their digests only,
    `unseal` takes the arguments of another call by name, and returns this one's if the secrets are equal, else None.
    """

    tool: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    reply: EncodedResult | None
    source: str
    key: str
    unseal: Callable[[Mapping[str, object]], tuple[list[object], dict[str, object]] | None] | None = None


NOT_BEGUN: Final = "was not run: the program ended before its thread was free"
"""Said of a call in wait for the thread its tool names, after the name of the tool."""


class MadeCalls:
    """The calls of one program, for its correction.

    Arguments and values of recorded calls are left out: a correction reads them from the journal. Several threads add
    to the sets and dicts, each for its own calls.
    """

    def __init__(self, *, is_recorded: bool = False) -> None:
        self._is_recorded = is_recorded
        self._id = uuid.uuid4().hex
        self._calls: dict[int, CallFrame] = {}
        self._replies: dict[int, EncodedResult] = {}
        self.begun: set[int] = set()
        """The calls whose functions have begun."""
        self.queued: set[int] = set()
        """The calls in wait for the threads their tools name."""
        self.abandoned: set[int] = set()
        """The calls whose functions were left running."""
        self.denied: set[int] = set()
        """The calls that a decision has refused."""
        self.repeated_keys: dict[int, str] = {}
        """The keys of earlier calls that calls have repeated."""

    def add(self, call: CallFrame) -> None:
        """Add a call, with copies of its arguments: the function may change them."""
        if self._is_recorded:
            self._calls[call.number] = call._replace(args=(), kwargs={})
            return
        args = detach(call.args)
        # Copies of nothing but plain values share nothing that could change.
        if args is not call.args or call.kwargs:
            call = CallFrame(
                call.number, call.path, call.name, args, detach(call.kwargs), call.alone, call.events, call.line
            )
        self._calls[call.number] = call

    def settle(self, call: CallFrame, encoded: EncodedResult) -> None:
        """Take note of a call's reply."""
        if self._is_recorded:
            encoded = encoded._replace(body=b"", result=None)
        self._replies[call.number] = encoded

    def key(self, number: int) -> str:
        """Return the idempotency key of a call, which no other call has."""
        return f"{self._id}:{self._calls[number].path}"

    def outcomes(self) -> Iterator[DoneCall]:
        """Yield the calls not to be run again, but for those answered from an earlier program."""
        for number, call in self._calls.items():
            reply = self._replies.get(number)
            if number in self.abandoned:
                reply = None
            if reply is None:
                is_answer = number in self.begun
            else:
                is_answer = reply.source is None and (reply.has_returned or number in self.denied)
            if is_answer:
                source = self.key(number)
                key = self.repeated_keys.get(number, source)
                yield DoneCall(call.name, call.args, call.kwargs, reply, source, key)


def encode_call_result(
    tool: str, result: ToolResult, max_bytes: int, max_elements: int = values.MAX_NODES, *, may_marshal: bool = False
) -> EncodedResult:
    """Encode a call's result for the program and its record. It may run foreign code, as slow as it likes.

    With `may_marshal`, the body of a large table is in `marshal`, and any may have attachments, for a worker to read
    now.
    """
    if not result.success:
        cls = ToolError if result.exception is None else type(result.exception)
        # The text names the class if the message is not enough alone, but the program sees the class in any case.
        message = (result.error_text or "the tool failed").removeprefix(cls.__name__).removeprefix(": ")
        error: tuple[object, ...]
        if issubclass(cls, NotApprovedError):
            # Programs know it as a plain error of a tool.
            error = "ToolError", "Exception", message, True
        elif issubclass(cls, ArgumentsError):
            error = "TypeError", "TypeError", message
        else:
            bases = cast("list[type]", cls.__mro__)
            builtin = next(base.__name__ for base in bases if base.__module__ == "builtins")
            error = cls.__name__, builtin, message
        return EncodedResult(
            b"e", host_codec.dumps(error), None, encodable(result.error_text or message), result.duration_ms
        )
    output = result.output
    table = encode_rows(output, max_bytes, max_elements) if may_marshal else None
    if table is not None:
        return EncodedResult(b"r", *table, None, result.duration_ms, has_returned=True)
    mark, body, problem = encode_result(
        tool, output, max_bytes, max_elements, attached=list[bytes]() if may_marshal else None
    )
    # A value that cannot be encoded may contain itself, and so cannot be copied either.
    if not problem:
        output = detach(output)
    return EncodedResult(mark, body, output, problem, result.duration_ms, has_returned=True)


class Payload(NamedTuple):
    """The kind and bytes of a reply; `problem` is the reason if the result cannot be passed on."""

    kind: bytes
    body: bytes
    problem: str | None = None


def encode_result(
    tool: str,
    output: object,
    max_bytes: int,
    max_elements: int = values.MAX_NODES,
    *,
    max_text: int | None = None,
    attached: list[bytes] | None = None,
) -> Payload:
    """Encode a tool's return value for the program, or an error if it exceeds a limit.

    `max_text` are the characters of all its texts, by default four for each of the bytes. With `attached`, an empty
    list, the body may have attachments.
    This runs code of foreign objects, and may take as long as that does.
    """
    try:
        if type(output) is str:
            mark, body = b"s", output.encode("utf-8", "surrogatepass")
        else:
            most_text = max_text or 4 * max_bytes
            tree = values.encode(
                output,
                _to_plain,
                most_text=most_text,
                plain_members=_plain_members,
                most=max_elements,
                attached=attached,
            )
            mark, body = _payload(host_codec.dumps(tree), attached)
    except Exception as error:  # noqa: BLE001 - foreign code: an object may raise anything when it is read
        return _error_payload(tool, str(error))
    if len(body) > max_bytes:
        return _error_payload(
            tool, f"it has {len(body):,} bytes, and {limit_error('frame', limit=max_bytes, verb='reach the program')}"
        )
    return Payload(mark, body)


def _payload(json: bytes, attached: list[bytes] | None) -> tuple[bytes, bytes]:
    """Return the kind and body of a value's reply."""
    if attached:
        return b"a", join(json, attached)
    return b"m" if b'"$"' in json else b"v", json


def _error_payload(tool: str, problem: str) -> Payload:
    message = undeliverable(tool, problem)
    return Payload(b"e", host_codec.dumps(("RuntimeError", "RuntimeError", message)), message)


def _plain_members(items: Any) -> object:  # noqa: ANN401 - a dict or a set
    """Return a dict or set with plain keys or members; a list if they are not hashable or no longer distinct."""
    if type(items) is dict:
        return distinct_keys(cast("dict[Any, object]", items), _plain_key)
    try:
        plain: Collection[object] = type(items)(map(_plain_member, items))
    except TypeError:  # a record has no hash
        return list(items)
    if len(plain) == len(items):
        return plain
    return list(items)


def _plain_member(member: object) -> object:
    plain = _plain(member)
    if type(plain) in _HASHABLE_CONTAINERS:
        return _map_items(_plain_member, plain)
    return plain


def _plain_key(key: object) -> Hashable:
    plain = _plain(key)
    if type(plain) in _HASHABLE_CONTAINERS:
        return cast("Hashable", _map_items(_plain_key, plain))
    if type(plain) in values.KEYS:
        return cast("Hashable", plain)
    return key_text(plain)


def _to_plain(value: object, max_elements: int = values.MAX_NODES) -> object:
    if type(value) is range:  # one with too many elements to be passed as a range
        return plain_value(value, max_elements)
    return plain_value(value, max_elements, values.KINDS)


def _plain(value: object) -> object:
    """Return a value the program gets unchanged, or its plain substitute."""
    if type(value) in values.KEYS:
        return value
    names = values.names_of(value)
    if names is None:
        return _to_plain(value)
    return values.Row(*names, cast("Iterable[object]", value))


def _map_items(function: Callable[[object], object], items: Any) -> object:  # noqa: ANN401 - a tuple or a frozenset
    mapped = map(function, cast("Iterable[object]", items))
    names = values.names_of(items)
    if names is None:
        return type(items)(mapped)
    return values.Row(*names, mapped)
