"""Whatever bytes a worker sends: frames, or a ProtocolError, soon and in little memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox.protocol.frames import CallFrame, DoneFrame, Frame, FrameReader, OutputFrame, RestFrame, pack, parse
from ez_ptc.sandbox.protocol.values import codec as values

CALL: dict[str, object] = {
    "t": "call", "id": 1, "path": "3.1", "name": "add", "args": [1, {"$": ["t", [2]]}], "kwargs": {"k": 1},
    "alone": True,
}  # fmt: skip
OUTPUT: dict[str, object] = {"t": "output", "stream": 1, "text": "tea"}
DONE: dict[str, object] = {"t": "done", "value": {"a": 1}, "dropped": 0}
FAILED: dict[str, object] = {"t": "done", "error": "E: x", "trace": "T", "kind": "error", "dropped": 3}
REST: dict[str, object] = {"t": "rest", "replies": 1, "events": [["1.2", 5], ["", 0]]}


def body(frame: object) -> bytes:
    return values.dumps(frame)


def done(value: object) -> bytes:
    return body({"t": "done", "value": values.encode(value), "dropped": 0})


def test_each_kind_of_frame_is_read() -> None:
    assert parse(body(CALL)) == CallFrame(1, "3.1", "add", (1, (2,)), {"k": 1}, alone=True)
    assert parse(body(OUTPUT)) == OutputFrame(1, "tea")
    assert parse(body(DONE)) == DoneFrame({"a": 1}, None, "", "", 0)
    assert parse(body(FAILED)) == DoneFrame(None, "E: x", "T", "error", 3)
    assert parse(body(REST)) == RestFrame(1, (("1.2", 5), ("", 0)))


@given(st.lists(st.sampled_from([CALL, OUTPUT, DONE, FAILED]), max_size=5), st.lists(st.integers(0, 400), max_size=9))
def test_frames_are_the_same_however_the_bytes_are_cut(frames: list[dict[str, object]], cuts: list[int]) -> None:
    data = b"".join(pack(body(frame)) for frame in frames)
    reader = FrameReader(1000)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(places)]
    received: list[object] = []
    for piece in pieces:
        received += read(reader, piece)
        if received and isinstance(received[-1], DoneFrame):
            break
    ends = [number for number, frame in enumerate(frames, 1) if frame["t"] == "done"]
    assert received == [parse(body(frame)) for frame in frames[: min(ends, default=len(frames))]]


def read(reader: FrameReader, data: bytes) -> list[Frame]:
    """Return the frames that `data` completes, or raise the violation among them."""
    received = reader.read(data)
    if received.violation is not None:
        raise received.violation
    return received.frames


def feed(data: bytes) -> None:
    """Read `data` as far as it can be; nothing but a ProtocolError may come out."""
    for frame in FrameReader(1 << 16).read(data).frames:
        assert isinstance(frame, CallFrame | OutputFrame | DoneFrame)


def test_frames_before_a_violation_are_received() -> None:
    received = FrameReader(1000).read(pack(body(CALL)) + pack(body(OUTPUT)) + pack(b"{}") + pack(body(CALL)))
    assert received.frames == [parse(body(CALL)), parse(body(OUTPUT))]
    assert "unknown kind" in str(received.violation)


@given(st.binary())
def test_any_bytes_are_frames_or_refused(data: bytes) -> None:
    feed(data)
    feed(pack(data))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda items: st.lists(items, max_size=4) | st.dictionaries(st.text(max_size=3) | st.just("$"), items, max_size=3),
    max_leaves=12,
)
MARKS = st.sampled_from(["t", "s", "fs", "m", "b", "dt", "d", "tm", "td", "dec", "u", "i", "?"])
PAYLOADS = JSON | st.lists(st.tuples(JSON, JSON), max_size=3)
MARKED = st.fixed_dictionaries({"$": st.lists(MARKS | JSON, max_size=3) | st.tuples(MARKS, PAYLOADS)})
ODD = st.one_of(JSON, MARKED, st.lists(MARKED, max_size=3), st.fixed_dictionaries({"k": MARKED}))


@given(st.sampled_from([CALL, OUTPUT, DONE, FAILED]), st.data())
def test_odd_frame_is_read_or_refused(frame: dict[str, object], data: st.DataObject) -> None:
    changed = dict(frame)
    for key in data.draw(st.lists(st.sampled_from(["t", "value", "dropped", *frame, "more"]), max_size=3)):
        changed[key] = data.draw(ODD)
    for key in data.draw(st.lists(st.sampled_from(sorted(frame)), max_size=1)):
        changed.pop(key, None)
    feed(pack(json.dumps(changed).encode()))


@given(ODD)
@example({"$": ["u", 5]})
@example({"$": ["d", None]})
@example({"$": ["td", ["1", 2]]})
@example({"$": ["td", [10**400]]})
@example({"$": ["dec", [0, [1], "x"]]})
@example({"$": ["i", 5]})
@example({"$": ["s", [[]]]})
@example({"$": ["s", [{"$": ["dec", "sNaN"]}]]})
@example({"$": ["m", [[1, 2, 3]]]})
@example({"$": [["t"], []]})
@example({"$": "tb"})
@example({"$": ["b", "é"]})
@example({"$": ["dt", "2024-01-01T00:00:00+99:99"]})
def test_unencodable_value_is_read_or_refused(value: object) -> None:
    feed(pack(json.dumps({"t": "done", "value": value, "dropped": 0}).encode()))


def test_oversized_frame_is_refused_before_storing() -> None:
    reader = FrameReader(1000)
    with pytest.raises(ProtocolError, match="1,001 bytes, over the limit of 1,000"):
        read(reader, (1001).to_bytes(4, "big"))


def test_bytes_after_the_end_are_never_parsed() -> None:
    received = FrameReader(1000).read(pack(body(OUTPUT)) + pack(body(DONE)) + pack(b"nonsense"))
    assert (received.frames[1:], received.violation) == ([parse(body(DONE))], None)


def test_texts_of_frames_can_always_be_encoded() -> None:
    half = "\ud800"
    done = parse(body({"t": "done", "error": half, "trace": half, "described": half, "dropped": 0}))
    assert isinstance(done, DoneFrame)
    assert (done.error, done.trace, done.described) == ("\\ud800",) * 3
    assert parse(body({**OUTPUT, "text": half})) == OutputFrame(1, "\\ud800")


def without(frame: dict[str, object], key: str) -> dict[str, object]:
    return {name: value for name, value in frame.items() if name != key}


WRONG: dict[str, object] = {
    "a list": [],
    "a text": "call",
    "no kind": without(CALL, "t"),
    "an unknown kind": {**CALL, "t": "reply"},
    "a kind that is no text": {**CALL, "t": ["call"]},
    **{f"a call without {key}": without(CALL, key) for key in CALL},
    "a call with more": {**CALL, "extra": 1},
    "a number that is true": {**CALL, "id": True},
    "a number that is a fraction": {**CALL, "id": 1.0},
    "a path of words": {**CALL, "path": "one"},
    "an empty path": {**CALL, "path": ""},
    "a path with an end of line": {**CALL, "path": "1\n"},
    "a path that is too deep": {**CALL, "path": ".".join(["1"] * 65)},
    "a path of a long number": {**CALL, "path": "1" * 10},
    "a path in other digits": {**CALL, "path": "٣"},
    "a name that is no text": {**CALL, "name": None},
    "arguments by name in place of a list": {**CALL, "args": {}},
    "arguments that are a tuple": {**CALL, "args": {"$": ["t", [1]]}},
    "keywords that are no texts": {**CALL, "kwargs": {"$": ["m", [[1, 2]]]}},
    "keywords that are a list": {**CALL, "kwargs": []},
    "alone is a number": {**CALL, "alone": 1},
    **{f"output without {key}": without(OUTPUT, key) for key in OUTPUT},
    "output with more": {**OUTPUT, "extra": 1},
    "output on another stream": {**OUTPUT, "stream": 3},
    "output on a stream that is true": {**OUTPUT, "stream": True},
    "output that is no text": {**OUTPUT, "text": ["tea"]},
    "an end with more": {**DONE, "extra": 1},
    "an end that does not say what is missing": without(DONE, "dropped"),
    "an end with less than nothing missing": {**DONE, "dropped": -1},
    "an end with a fraction missing": {**DONE, "dropped": 0.5},
    "an error that is no text": {**FAILED, "error": ["x"]},
    "a traceback that is no text": {**FAILED, "trace": None},
    "a cause that is no text": {**FAILED, "kind": 1},
    "a line below the first": {**CALL, "line": -1},
    "a line that is too large": {**CALL, "line": 1 << 31},
    "a line that is true": {**CALL, "line": True},
    "a path of a long number below": {**CALL, "path": "1." + "1" * 10},
    "more left out than can be": {**DONE, "dropped": 1 << 63},
    "a description that is no text": {**DONE, "described": ["x"]},
    "a corrected program that is too long": {**FAILED, "correction": "x" * 5_001},
    "pictures left out that are less than none": {**DONE, "images_left": -1},
    "pictures left out that are true": {**DONE, "images_left": True},
    "more pictures left out than can be": {**DONE, "images_left": 1 << 63},
    "an unknown repair": {**DONE, "repaired": ["marks", "unknown"]},
    "a repair that is no text": {**DONE, "repaired": [["marks"]]},
    "repairs that are a dict": {**DONE, "repaired": {"marks": 1}},
    **{f"a rest without {key}": without(REST, key) for key in REST},
    "a rest with more": {**REST, "extra": 1},
    "replies that are true": {**REST, "replies": True},
    "an event of a path in words": {**REST, "events": [["one", 1]]},
    "an event before now": {**REST, "events": [["1", -1]]},
    "an event too far away": {**REST, "events": [["1", 1 << 63]]},
    "an event at true": {**REST, "events": [["1", True]]},
    "an event with more": {**REST, "events": [["1", 1, 1]]},
    "events that are a dict": {**REST, "events": {"1": 1}},
}  # fmt: skip


def test_frames_at_their_limits_are_read() -> None:
    most: list[dict[str, object]] = [
        {**CALL, "line": (1 << 31) - 1, "path": ".".join(["1" * 9] * 64)},
        {**FAILED, "dropped": (1 << 63) - 1, "images_left": (1 << 63) - 1, "correction": "x" * 5_000},
        {**REST, "events": [["1", (1 << 63) - 1]]},
    ]
    for frame in most:
        parse(body(frame))


@pytest.mark.parametrize("frame", WRONG.values(), ids=WRONG.keys())
def test_a_frame_of_the_wrong_shape_is_refused(frame: object) -> None:
    with pytest.raises(ProtocolError):
        parse(body(frame))


@pytest.mark.parametrize(
    "text", [b"", b"{", b"nonsense", b"\xff\xfe", b'{"t":"done"', b'{"t":"done"} {}', b"1e", b"0x1"]
)
def test_non_json_is_refused(text: bytes) -> None:
    with pytest.raises(ProtocolError, match="unreadable"):
        parse(text)


PAIRS = {"lists": (b"[", b"]"), "dicts": (b'{"a":', b"}"), "both": (b'[{"a":', b"}]")}


@pytest.mark.parametrize(("opening", "closing"), PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize("depth", [1_000, 1_000_000])
@pytest.mark.parametrize("whole", [True, False], ids=["closed", "open"])
@pytest.mark.sampled(every=4)
def test_deep_nesting_is_refused(opening: bytes, closing: bytes, depth: int, *, whole: bool) -> None:
    """And at once: it took hours where brackets were matched by repeated passes."""
    with pytest.raises(ProtocolError):
        parse(opening * depth + b"0" + closing * depth * whole)


# Made only where they are read: all of them are hundreds of megabytes.
LONG_TEXTS: dict[str, Callable[[], bytes]] = {
    "quotes escaped": lambda: b'["' + b'\\"' * 8_000_000,
    "backslashes": lambda: b'["' + b"\\" * 15_999_999,
    "quotes": lambda: b'"' * 16_000_000,
    "texts": lambda: b'[""' + b'"\\"' * 5_000_000,
    "brackets in a text": lambda: b'["' + b"[" * 16_000_000 + b'"]',
    "brackets and quotes": lambda: b"[" * 3_000_000 + b'"' + b'\\"' * 6_000_000,
    "commas": lambda: b"," * 16_000_000,
}


@pytest.mark.parametrize("made", LONG_TEXTS.values(), ids=LONG_TEXTS.keys())
@pytest.mark.sampled(every=4)
def test_bytes_slow_to_parse_are_refused_in_one_pass(made: Callable[[], bytes]) -> None:
    """16 MB each; an expression that tried again from every quote would be at it for days."""
    text = made()
    with pytest.raises(ProtocolError):
        parse(text)


ODD_VALUES: dict[str, Callable[[], object]] = {
    "brackets": lambda: "[{" * 50_000,
    "quotes": lambda: '"\\' * 50_000,
    "commas": lambda: ",[{" * 1_000_000,
    "both": lambda: ['"]' * 3000, {"]}": "[["}],
    "lists": lambda: [[[0] * 1000] * 10] * 10,
    "dict": lambda: {f"key {n}": [n] for n in range(100_000)},
    "many": lambda: [""] * 450_000,
}


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("made", ODD_VALUES.values(), ids=ODD_VALUES.keys())
def test_honest_values_that_look_odd_are_read(made: Callable[[], object]) -> None:
    value = made()
    assert parse(done(value)) == DoneFrame(value, None, "", "", 0)


NESTS: dict[str, Callable[[object], object]] = {
    "list": lambda v: [v],
    "tuple": lambda v: (v,),
    "dict": lambda v: {"k": v},
    "number as a key": lambda v: {1: v},
}


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS.keys())
def test_value_nested_to_the_limit_is_read(nest: Callable[[object], object]) -> None:
    value: object = "x" * 5000
    for _ in range(values.MAX_DEPTH):
        value = nest(value)
    assert parse(done(value)) == DoneFrame(value, None, "", "", 0)


@pytest.mark.parametrize("item", [b"{}", b"[]", b"0"])
def test_too_many_values_are_refused_without_being_made(item: bytes) -> None:
    text = b"[" + (item + b",") * 2_500_000 + b"0]"
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="too many values"):
            parse(text)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(text)
    finally:
        tracemalloc.stop()


def test_all_frames_together_are_bounded() -> None:
    """The host keeps what was printed and the arguments of every call."""
    reader = FrameReader(1 << 20)
    data = pack(body({**OUTPUT, "text": "x" * 1_000_000})) * 100
    with pytest.raises(ProtocolError, match="together"):
        read(reader, data)


@pytest.mark.sampled(every=0)
def test_frame_of_tiny_texts_is_refused_in_little_memory() -> None:
    """Sixteen megabytes of them took 900 while the texts were taken out."""
    text = b"[" + b'[{""' * 1_100_000
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="too many values"):
            parse(text)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(text)
    finally:
        tracemalloc.stop()
