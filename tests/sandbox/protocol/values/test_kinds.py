"""The one table of kinds of values: what reads it agrees, and no mark that was written changes its meaning."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import deque
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

import pytest

from ez_ptc.errors import ProtocolError
from ez_ptc.formats.encoding import SCALAR_TEXTS
from ez_ptc.sandbox.protocol.frames import DoneFrame, parse
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.sandbox.protocol.values.kinds import CONTAINERS, DECODERS, VALUE_KINDS, parts_of
from ez_ptc.toolkit.shapes.reading import shape_of

# As journals have them, which are read by every later version.
WRITTEN = {
    '{"$":["t",[1]]}': (1,),
    '{"$":["b","eA=="]}': b"x",
    '{"$":["s",[1]]}': {1},
    '{"$":["fs",[1]]}': frozenset({1}),
    '{"$":["m",[[1,2]]]}': {1: 2},
    '{"$":["dq",[[1],3]]}': deque([1], 3),
    '{"$":["nt",["P",["x"],[1]]]}': values.Row("P", ["x"], [1]),
    '{"$":["rg","0/9/2"]}': range(0, 9, 2),
    '{"$":["sl",[1,9,null]]}': slice(1, 9),
    '{"$":["c",[1.0,2.0]]}': 1 + 2j,
    '{"$":["fr","1/3"]}': Fraction(1, 3),
    '{"$":["dec","1.10"]}': Decimal("1.10"),
    '{"$":["dt","2026-01-02T03:04:05"]}': dt.datetime(2026, 1, 2, 3, 4, 5),
    '{"$":["d","2026-01-02"]}': dt.date(2026, 1, 2),
    '{"$":["tm","03:04:05"]}': dt.time(3, 4, 5),
    '{"$":["td",[1,2,3]]}': dt.timedelta(1, 2, 3),
    '{"$":["tz",[3600000000]]}': dt.timezone(dt.timedelta(hours=1)),
    '{"$":["z","UTC"]}': ZoneInfo("UTC"),
    '{"$":["u","00000000-0000-0000-0000-000000000001"]}': uuid.UUID(int=1),
    '{"$":["x","PurePosixPath /a"]}': PurePosixPath("/a"),
    '{"$":["x","IPv4Address 1.2.3.4"]}': IPv4Address("1.2.3.4"),
}


def test_marks_keep_the_meaning_that_journals_have() -> None:
    for text, value in WRITTEN.items():
        assert values.loads(text.encode()) == value
        assert values.text(values.encode(value)) == text
    assert values.loads(b'{"$":["i","0xff"]}') == 255
    assert {text.split('"')[3] for text in WRITTEN} | {"i"} == DECODERS.keys()


def test_kind_with_text_in_json_is_named_for_models() -> None:
    samples = {type(value): value for value in WRITTEN.values()}
    named = [kind for kind in VALUE_KINDS if kind.json_format and kind.types[0] in samples]
    assert {kind.types[0].__name__ for kind in named} >= {"bytes", "datetime", "date", "timedelta", "Decimal", "UUID"}
    for kind in named:
        assert kind.types[0] in SCALAR_TEXTS
        schema = shape_of(samples[kind.types[0]]).to_schema()
        assert schema == {"type": "string", "format": kind.json_format}


def nested(levels: int) -> object:
    """Return tuples in tuples as a program may write them: they can be members and keys, too."""
    tree: object = 1
    for _ in range(levels):
        tree = {"$": ["t", [tree]]}
    return tree


def frames_with(mark: str, part: object) -> list[bytes]:
    """Return frames with `part` where the payload of a kind may have it."""
    payloads = [[part], [[part], None], ["P", ["x"], [part]], [[1, part]], [[part, 1]], [1, part, 1], [1, 1, part]]
    return [values.dumps({"t": "done", "value": {"$": [mark, payload]}, "dropped": 0}) for payload in payloads]


def test_no_kind_holds_a_value_that_is_nested_too_deeply() -> None:
    taken: set[str] = set()
    for mark in DECODERS:
        for shallow, deep in zip(
            frames_with(mark, nested(50)), frames_with(mark, nested(values.MAX_DEPTH + 8)), strict=True
        ):
            try:
                frame = parse(shallow)
            except ProtocolError:
                continue
            assert isinstance(frame, DoneFrame)
            assert type(frame.value) in CONTAINERS
            assert list(parts_of(frame.value))
            taken.add(mark)
            with pytest.raises(ProtocolError, match="nested too deeply"):
                parse(deep)
    assert taken == {kind.mark for kind in VALUE_KINDS if CONTAINERS.intersection(kind.types)} | {"m"}
