"""The bounds of a worker's frames, exactly: their length, depth and number of values, and what all of them keep."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox.protocol.frames import CallFrame, DoneFrame, FrameReader, pack, parse
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.schema.arguments.replacement import detach
from tests.sandbox.protocol.test_frames import CALL, DONE, OUTPUT, body, read


@pytest.mark.parametrize("cut", [0, 2, 10])
def test_length_of_a_frame_is_limited_exactly(cut: int) -> None:
    """However its bytes arrive: a whole frame is read by another way than its pieces."""
    data, size = pack(body(DONE)), len(body(DONE))
    reader = FrameReader(size)
    assert [*read(reader, data[:cut]), *read(reader, data[cut:])] == [parse(body(DONE))]
    reader = FrameReader(size - 1)
    with pytest.raises(ProtocolError, match=f"{size} bytes, over the limit of {size - 1}"):
        assert [*read(reader, data[:cut]), *read(reader, data[cut:])] == []


LEVELS = {
    "lists": ["[", "]"],
    "dicts": ['{"a":', "}"],
    "tuples": ['{"$":["t",[', "]]}"],
    "keys": ['{"$":["m",[[1,', "]]]}"],
    "both": ['{"a":', "}", "[", "]"],
    "all": ['{"a":', "}", "[", "]", '{"$":["m",[[1,', "]]]}"],
}


@pytest.mark.parametrize("around", LEVELS.values(), ids=LEVELS.keys())
@pytest.mark.parametrize("inner", ["0", "[]", "[[]]", '{"a":[]}', '"[[[["', '"\\\\"', '"\\"]"'])
def test_depth_of_values_is_limited_exactly(around: list[str], inner: str) -> None:
    """Frames may be short or long, and brackets in texts do not count."""
    inside = json.loads(inner)
    levels = (1 if isinstance(inside, list | dict) else 0) + (1 if inner in ("[[]]", '{"a":[]}') else 0)
    for padding in (0, 5_000):
        most = values.MAX_DEPTH + 7 - levels
        for depth in (most, most + 1, 2 * most, 3 * most):
            value = inner
            for number in range(depth):
                opening, closing = around[2 * number % len(around) :][:2]
                value = f"{opening}{value}{closing}"
            text = f'{{"t":"done","dropped":0,"trace":"{"x" * padding}","value":{value}}}'.encode()
            if depth == most:
                assert isinstance(parse(text), DoneFrame)
            else:
                with pytest.raises(ProtocolError, match=r"too deeply|RecursionError"):
                    parse(text)


def test_number_of_values_is_limited_exactly() -> None:
    """Two separators for an element: in tables, keys count as well."""
    for limit in (3_000, values.MAX_NODES + 100):
        for number in (2 * limit, 2 * limit + 10):
            # Two brackets are around them, and a comma in the text does not count.
            text = b'{"t":"done","dropped":0,"trace":"[,{","value":[' + b"1," * (number - 6) + b"1]}"
            if number == 2 * limit:
                assert isinstance(parse(text, limit), DoneFrame)
                assert len(read(FrameReader(16 << 20, limit), pack(text))) == 1
            else:
                with pytest.raises(ProtocolError, match="too many values"):
                    parse(text, limit)
                with pytest.raises(ProtocolError, match="too many values"):
                    read(FrameReader(16 << 20, limit), pack(text))


def test_elements_of_ranges_count_by_the_limit() -> None:
    text = body({**DONE, "value": {"$": ["rg", "0/3e8/1"]}})
    assert parse(text, 1_000) == DoneFrame(range(1_000), None, "", "", 0)
    with pytest.raises(ProtocolError, match="unreadable"):
        parse(text, 999)
    assert read(FrameReader(1_000, 10**6), pack(body({**DONE, "value": {"$": ["rg", "0/f4240/1"]}})))


def many(item: str) -> str:
    return f"[{','.join([item] * 500)}]"


KEPT = {
    "numbers": many("1.5"),
    "texts": f"[{','.join(map(json.dumps, map(str, range(10**6, 10**6 + 500))))}]",
    "dicts": many('{"a":1}'),
    "lists": many("[]"),
    "sets": many('{"$":["s",[1]]}'),
    "deques": many('{"$":["dq",[[]]]}'),
    "deques by another name": many('{"$":["\\u0064q",[[]]]}'),
    "a wide character": '"\U0001f600' + "x" * 5_000 + '"',
    "an escaped wide character": '"\\ud83d\\ude00' + "x" * 5_000 + '"',
    "short dicts": '[{"a":{"b":{"c":[1,[2,[3]]]}}},' + ",".join(['{"a":[]}'] * 60) + "]",
}


@pytest.mark.parametrize("argument", KEPT.values(), ids=KEPT.keys())
def test_memory_of_all_kept_frames_is_bounded(argument: str) -> None:
    """By sixteen frames of the maximum length, with the copies of arguments that records have."""
    data = pack(body({**CALL, "args": []}).replace(b'"args":[]', f'"args":[{argument}]'.encode()))
    reader, kept = FrameReader(1 << 20), list[object]()
    tracemalloc.start()
    try:
        while frames := reader.read(data).frames:
            [frame] = frames
            assert isinstance(frame, CallFrame)
            kept.append((frame, detach(frame.args)))
        assert tracemalloc.get_traced_memory()[0] < 16 << 20
    finally:
        tracemalloc.stop()
    assert len(kept) > 1


@pytest.mark.parametrize(("elements", "frames"), [(1_000, 16), (values.MAX_NODES, 16), (2 * values.MAX_NODES, 32)])
def test_raised_number_of_values_raises_what_is_kept(elements: int, frames: int) -> None:
    data = body({**OUTPUT, "text": "x" * 100_000})
    reader = FrameReader(len(data) + 1_000, elements)
    received = [len(reader.read(pack(data)).frames) for _ in range(40)]
    assert received == [1] * frames + [0] * (40 - frames)
