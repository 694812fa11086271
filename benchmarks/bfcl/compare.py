"""What differs between what was wanted of a turn or an entry and what came; pure."""

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from benchmarks.bfcl.entries import Call
from benchmarks.bfcl.oracle import Arrival, Wanted, crosses, same
from benchmarks.bfcl.program import REFUSED

__all__ = ["Came", "Difference", "in_state", "in_turn"]


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a turn: what the methods received, what was recorded, what the program returned or why it failed."""

    arrivals: Sequence[Arrival]
    recorded: Sequence[str]
    returned: Sequence[object]
    error: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: of which call or state, what was wanted and what came."""

    call: str
    wanted: str
    came: str


def in_turn(calls: Sequence[Call], truth: Sequence[Wanted], came: Came) -> Iterator[Difference]:
    """Yield what differs in one turn, at most once a call, and the calls that nobody asked for."""
    for index, (call, wanted) in enumerate(zip(calls, truth, strict=True)):
        difference = _in_call(call, wanted, came, index)
        if difference:
            yield difference
    for arrival in came.arrivals[len(calls) :]:
        yield Difference("one call too many", "nothing", _short(arrival))
    if came.error is None and len(came.returned) != len(calls):
        yield Difference("results", f"{len(calls)} values", f"{len(came.returned)} values")


def in_state(direct: Mapping[str, object], through: Mapping[str, object]) -> Iterator[Difference]:
    """Yield the public attributes that differ between instances, as the leaderboard's own checker compares them."""
    for name, instance in direct.items():
        theirs = vars(through[name])
        for attribute, value in vars(instance).items():
            if not attribute.startswith("_") and theirs.get(attribute) != value:
                yield Difference(f"state of {name}.{attribute}", _short(value), _short(theirs.get(attribute)))


def _in_call(call: Call, wanted: Wanted, came: Came, index: int) -> Difference | None:
    if index >= len(came.arrivals):
        return Difference(call.text, _short(wanted.arrival), f"no call: {came.error}")
    arrival = came.arrivals[index]
    if arrival.name != wanted.arrival.name or not same(dict(arrival.arguments), dict(wanted.arrival.arguments)):
        return Difference(call.text, _short(wanted.arrival), _short(arrival))
    if came.recorded[index : index + 1] != [call.name]:
        return Difference(call.text, f"record {index} of {call.name}", f"records {_short(came.recorded)}")
    if index >= len(came.returned):
        return Difference(call.text, _short(wanted.result), f"no result: {came.error}")
    returned = came.returned[index]
    if _agrees(wanted.result, returned):
        return None
    return Difference(call.text, _short(wanted.result), _short(returned))


def _agrees(result: object, returned: object) -> bool:
    """Tell whether a program got the result.

    What is no plain data may come equal, as its text, or be refused by its type's name.
    """
    if crosses(result):
        return same(result, returned)
    refused = isinstance(returned, str) and returned.startswith(REFUSED)
    if refused:
        return _foreign(result) in cast("str", returned)
    return returned == result or same(_with_texts(result), returned)


def _with_texts(value: object) -> object:
    """Return a value with the texts of what is no plain data in its place."""
    if type(value) is dict:
        return {key: _with_texts(part) for key, part in cast("dict[object, object]", value).items()}
    if type(value) is list:
        return [_with_texts(part) for part in cast("list[object]", value)]
    return value if crosses(value) else str(value)


def _foreign(value: object) -> str:
    """Return the name of the first type in ``value`` that is no plain data."""
    name = type(value).__name__
    parts: list[object] = []
    if type(value) is dict:
        parts = list(cast("dict[object, object]", value).values())
    elif type(value) is list:
        parts = cast("list[object]", value)
    return next((_foreign(part) for part in parts if not crosses(part)), name)


def _short(value: object) -> str:
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = 300
    brief.maxdict = brief.maxlist = 10
    brief.maxlevel = 4
    if isinstance(value, Arrival):
        words = ", ".join(f"{name}={brief.repr(item)}" for name, item in value.arguments.items())
        return f"{value.name}({words})"
    return brief.repr(value)
