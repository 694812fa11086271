"""The run frame, by which a worker gets a program, its limits and its tools."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING

from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.both_ends.limits import LIMITS, limit_error, worker_limits
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.sandbox.protocol.frames import pack
from ez_ptc.sandbox.protocol.pictures import MAX_PICTURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.sandbox.protocol.execution import Grant, Limits
    from ez_ptc.sandbox.protocol.interfaces import Channel

__all__ = [
    "SPIN_SECONDS",
    "OfferedFunctions",
    "SessionState",
    "max_frames",
    "prepare_frame",
    "rejected_result",
    "run_frame",
    "shared_head",
    "timeout_message",
]

# Somewhat more than a small call takes at the other end of the connection, on a slow machine.
SPIN_SECONDS = 200e-6

_CORES = os.cpu_count() or 1
_SPARE_FRAMES = 64
_OUTPUT_BLOCK_BYTES = 4096


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session's state before a program: the number of calls so far, and the limits of the last program."""

    calls: int = 0
    limits: Limits | None = None


def rejected_result(message: str) -> ExecutionResult:
    """Return the result of a program that was not started."""
    return ExecutionResult(success=False, status="failed", error=message, error_output=message + "\n")


def max_frames(limits: Limits) -> int:
    """Return how many frames a program may send."""
    # Each call may come with a frame of output on either stream, and its reply may be waited for; then there are output
    # between calls, pictures, and the end.
    return 4 * limits.calls + limits.output // _OUTPUT_BLOCK_BYTES + MAX_PICTURES + _SPARE_FRAMES


def timeout_message(limits: Limits) -> str:
    """Return the error of a program that takes too long."""
    return limit_error("timeout", limit=limits.timeout)


def run_frame(
    code: str, channel: Channel | None, limits: Limits, *, spin_seconds: float, in_session: bool, more: bytes = b""
) -> bytes:
    """Return the run frame; without `channel`, for a worker that knows the tools and the limits already.

    `more` are further fields as JSON, each after a comma.
    """
    if channel is None:
        head = b'{"t":"run"'
    elif channel.recorder is None:
        head = shared_head(channel, limits)
    else:
        head = _head(limits, channel.grants.encoded, channel.recorder.clock_ns)
    tail = b'%b,"session":true}' % more if in_session else more + b"}"
    return pack(b'%b,"spin":%g,"code":%b%b' % (head, spin_seconds, encode_basestring_ascii(code).encode(), tail))


class OfferedFunctions:
    """The functions of one program besides those its worker has: to read kept results, to find tools, and named tools.

    `readers` are those that it may call, by name; no record lists their calls.
    """

    def __init__(self, code: str, channel: Channel, *, in_session: bool) -> None:
        kept, finders = channel.results, channel.finders
        self._kept = kept
        self._names = None if kept is None else kept.offer(code)
        self._grants, self._named = channel.grants, list[str]()
        if channel.grants.is_large:
            # A program whose run began with fewer tools may have called some whose names it computes.
            recorded = set[str]() if channel.recorder is None else channel.recorder.called
            names = dict.fromkeys([*channel.grants.names_in(code), *sorted(recorded)])
            self._named = [name for name in names if name in channel.grants.by_name]
        has_finder = finders is not None and any(map(code.__contains__, finders.by_name))
        self._finders = finders if has_finder else None
        self.readers: Mapping[str, Grant] = {}
        if kept is not None and self._names is not None:
            self.readers = kept.grants.by_name
        if finders is not None and (has_finder or in_session):
            # In a session, an earlier program may have named them.
            self.readers = {**finders.by_name, **self.readers}

    @property
    def is_empty(self) -> bool:
        """Whether the program gets no function besides its tools."""
        return self._names is None and self._finders is None and not self._named

    def fields(self) -> bytes:
        """Return the fields of the run frame with the functions, and with the names of the kept results."""
        fields = b""
        if self._kept is not None and self._names is not None:
            names = host_codec.dumps(list(self._names))
            fields = b',"results":{"names":%b,"tools":%b}' % (names, self._kept.grants.encoded)
        rows = self._grants.rows(self._named)
        if self._finders is not None:
            rows += self._finders.rows(self._finders.by_name)
        if rows:
            fields += b',"named":%b' % host_codec.dumps(rows)
        if self._grants.is_large:
            fields += b',"unnamed":%d' % (len(self._grants.by_name) - len(self._named))
        return fields


def shared_head(channel: Channel, limits: Limits) -> bytes:
    """Return the limits and the tools as the head of a run frame, the same for all programs that have these."""
    return channel.grants.cached_run_head(limits, _head)


def prepare_frame(head: bytes) -> bytes:
    """Return a run frame without a program: the worker notes the limits and the tools of a later one."""
    return pack(head + b"}")


def _head(limits: Limits, tools: bytes, clock_ns: int | None = None) -> bytes:
    """Return the head of a run frame, the same for all programs with these limits and tools."""
    # Always limited: during an approval the program's clock stands still, but it may go on computing.
    cpu_seconds = math.ceil(limits.cpu_time or (limits.timeout + limits.grace) * _CORES)
    numbers = {limit.worker_name: getattr(limits, name) for name, limit in LIMITS.items() if limit.worker_name}
    numbers = worker_limits(**numbers | {"cpu": cpu_seconds, "clock": clock_ns})
    messages = {"timeout": timeout_message(limits), "cpu": limit_error("cpu_time", limit=cpu_seconds)}
    head = host_codec.dumps({"t": "run", "limits": numbers, "messages": messages})
    return b'%b,"tools":%b' % (head[:-1], tools)
