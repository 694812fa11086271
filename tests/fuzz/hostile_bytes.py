"""What the host promises of any bytes from a worker, as one function over them: a fuzzer and the tests call it."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise
from typing import cast

from ez_ptc.messages import ToolResult
from ez_ptc.sandbox.protocol.exchange import Exchange
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.sandbox.protocol.frames import CallFrame, pack
from tests.sandbox.doors import Door

__all__ = ["LIMITS", "outcome", "shown", "stream_of", "survive"]

LIMITS = Limits(frame=1 << 14, calls=4, outstanding=100, output=100)
_MOST_DEPTH = 150
_LEAVES = (str, bytes, int, float, type(None), dt.date, dt.time, dt.timedelta, Decimal, uuid.UUID)
_CUT = b"\n"


def note(value: object = None) -> object:
    """Stand for a tool; never called here."""
    return value


def stream_of(data: bytes) -> bytes:
    """Return the bytes that a worker would write: after an even byte as they are, else each line in a frame."""
    if not data or data[0] % 2 == 0:
        return data[1:]
    return b"".join(map(pack, data[1:].split(_CUT)))


def shown(value: object, depth: int = 0) -> str:
    """Return one text for equal values; raise where a value is of a type or a depth that nobody expects."""
    assert depth <= _MOST_DEPTH, "a value that is nested too deeply reached the host"
    kind = type(value).__name__
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        items = [f"{shown(key, depth + 1)}:{shown(item, depth + 1)}" for key, item in pairs]
        return f"dict({','.join(sorted(items))})"
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [shown(item, depth + 1) for item in cast("Iterable[object]", value)]
        return f"{kind}({','.join(items if isinstance(value, (list, tuple)) else sorted(items))})"
    assert isinstance(value, _LEAVES), f"a {kind} reached the host"
    return f"{kind}({value:x})" if isinstance(value, int) else f"{kind}({value!r})"


def outcome(chunks: Iterable[bytes]) -> list[str]:
    """Feed chunks to an exchange, answering each call at once, and return what came of it."""
    door = Door(note)
    exchange = Exchange("1", door, LIMITS)
    seen: list[str] = []
    for chunk in chunks:
        seen.extend(_taken(exchange, call) for call in exchange.receive(chunk))
        if exchange.is_over and not exchange.is_finished:
            break
    result = exchange.result()
    assert len(result.output) + len(result.error_output) <= LIMITS.output + LIMITS.frame
    # One call more than allowed is answered with a refusal; what is over comes to nothing.
    seen.append(f"{shown(result.return_value)} {result.error!r} {result.output!r} {result.error_output!r}")
    assert len(result.tool_calls) == len(seen) - 1 or result.error
    return seen


def _taken(exchange: Exchange, call: CallFrame) -> str:
    assert call.name == "note"
    refusal = exchange.refusal(call)
    if refusal is None:
        result = ToolResult(success=True, output=call.args)
        exchange.answer(call, exchange.encode(call, result))
    else:
        assert call.number > LIMITS.calls
        exchange.refuse(call, refusal)
    return f"{call.number} {call.path} {call.alone} {shown(call.args)} {shown(call.kwargs)}"


def survive(data: bytes) -> list[str]:
    """Return what comes of bytes, the same however they are torn; raise for anything but a clean refusal."""
    stream = stream_of(data)
    whole = outcome([stream])
    step = 1 + len(data) % 7
    places = [*range(0, min(len(stream), 200), step), len(stream)]
    torn = outcome(stream[start:end] for start, end in pairwise(places))
    assert torn[-1] == whole[-1], (torn, whole)
    return whole
