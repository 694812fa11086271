"""Attachments: long texts and bytes beside a frame's JSON, in both directions."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.errors import ProtocolError
from ez_ptc.messages import ToolResult
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.frames import CallFrame, DoneFrame, FrameReader, OutputFrame, pack, parse
from ez_ptc.sandbox.protocol.replies import encode_call_result, encode_result
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.sandbox.protocol.values.attachments import MIN_ATTACHED, attach, join, split
from tests.sandbox.alike import alike

LONG = MIN_ATTACHED
TEXTS = st.sampled_from(
    ["", "short", "x" * (LONG - 1), "x" * LONG, "–漢\U0001f600" * LONG, "\0" * LONG, "\ud83d" * LONG]
)
DATA = st.sampled_from([b"", b"\0", b"{" * (LONG - 1), b"\xff\0" * LONG])
VALUES = st.recursive(
    TEXTS | DATA | st.integers() | st.none(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, min_size=32, max_size=34),
        st.tuples(inner, inner),
        st.dictionaries(TEXTS | st.just("$"), inner, max_size=3),
        st.dictionaries(st.integers() | DATA | TEXTS, inner, max_size=3),
        st.sets(TEXTS | DATA, max_size=3),
        st.lists(inner, max_size=3).map(deque[object]),
    ),
    max_leaves=12,
)


def done(value: object, *others: bytes) -> bytes:
    """Return the body of a done frame with a value, and with more attachments."""
    attached: list[bytes] = []
    tree = values.encode(value, attached=attached)
    frame = values.dumps({"t": "done", "value": tree, "dropped": 0})
    return join(frame, [*attached, *others]) if attached or others else frame


@given(VALUES)
def test_any_value_crosses_to_the_host_unchanged(value: object) -> None:
    frame = parse(done(value))
    assert isinstance(frame, DoneFrame)
    assert alike(frame.value, value)


@given(VALUES)
def test_any_value_crosses_to_the_worker_unchanged(value: object) -> None:
    attached: list[bytes] = []
    kind, body, problem = encode_result("find", value, 1 << 30, attached=attached)
    assert problem is None
    assert (kind == b"a") is bool(attached)
    data, attachments = split(body) if attached else (body, [])
    if kind != b"s":
        assert alike(values.reader(lambda record: record, attachments=attachments)(data), value)


@pytest.mark.parametrize("size", [LONG - 1, LONG])
def test_long_texts_and_bytes_are_attached(size: int) -> None:
    for value in ("x" * size, b"\0" * size, bytearray(size), ["x" * size], [{"text": "x" * size}] * 40):
        assert done(value).startswith(b"\0") is (size == LONG)


def test_recorded_replies_have_no_attachments() -> None:
    result = ToolResult(True, b"\0" * LONG)
    assert encode_call_result("find", result, 1 << 20).kind == b"m"
    assert encode_call_result("find", result, 1 << 20, may_marshal=True).kind == b"a"


def marked(*numbers: object, attached: tuple[bytes, ...] = (b"t" * LONG, b"b" * LONG)) -> bytes:
    """Return a frame with marks of these numbers, and with attachments."""
    pieces: list[bytes] = []
    for data in attached:
        attach(data, pieces)
    value = [{"$": ["at", number]} for number in numbers]
    return join(json.dumps({"t": "done", "value": value, "dropped": 0}).encode(), pieces)


def piece(kind: bytes, size: int, data: bytes) -> bytes:
    return kind + size.to_bytes(4, "big") + data


WHOLE = marked(0, 1)
ONE = b'{"t":"done","value":{"$":["at",0]},"dropped":0}'
ONE_PICTURE = b'{"t":"picture","data":{"$":["at",0]}}'
HOSTILE: dict[str, bytes] = {
    "repeated": marked(0, 0, 1),
    "repeated at the end": marked(0, 1, 1),
    "out of order": marked(1, 0),
    "one without a mark": marked(0),
    "all without a mark": marked(),
    "a mark too many": marked(0, 1, 2),
    "a mark without attachments": marked(0, attached=())[5:],
    "attachments without JSON": b"\0" + bytes(4) + piece(b"b", LONG, bytes(LONG)),
    "a negative number": marked(-2, -1),
    "a boolean": marked(False, True),
    "a float": marked(0.0, 1.0),
    "a text": marked("0", "1"),
    "a huge number": marked(0, 10**30),
    "no number": marked(None, [0]),
    "a short attachment": marked(0, 1, attached=(b"x" * LONG, b"x" * (LONG - 1))),
    "an empty attachment": marked(0, attached=(b"",)),
    "an unknown kind": join(ONE, [piece(b"x", LONG, bytes(LONG))]),
    "no kind": join(ONE, [b"b"]),
    "text that is not UTF-8": join(ONE, [piece(b"t", LONG, b"\xff" * LONG)]),
    "a length beyond the frame": join(ONE, [piece(b"b", 1 << 31, b"x" * LONG)]),
    "JSON beyond the frame": b"\0" + b"\xff\xff\xff\xff" + WHOLE[5:],
    "JSON within an attachment": b"\0" + bytes(4) + WHOLE[5:],
    "more data": WHOLE + b"{}",
    "a frame in a frame": b"\0" + len(WHOLE).to_bytes(4, "big") + WHOLE,
    "only a zero byte": b"\0",
    "bytes as output": join(b'{"t":"output","stream":1,"text":{"$":["at",0]}}', [piece(b"b", LONG, bytes(LONG))]),
    "text as the kind": join(b'{"t":{"$":["at",0]},"value":1,"dropped":0}', [piece(b"t", LONG, b"x" * LONG)]),
    "text as a picture": join(ONE_PICTURE, [piece(b"t", LONG, b"x" * LONG)]),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_malformed_attachments_end_the_worker(body: bytes) -> None:
    assert isinstance(parse(WHOLE), DoneFrame)
    with pytest.raises(ProtocolError):
        parse(body)


def test_frame_cut_at_any_byte_of_its_headers_is_refused() -> None:
    second = len(WHOLE) - LONG
    for end in (*range(1, 80), *range(second - 8, second + 2), len(WHOLE) - 1):
        with pytest.raises(ProtocolError):
            parse(WHOLE[:end])


@given(st.binary(max_size=60), st.integers(0, 80), st.binary(max_size=4))
def test_changed_bytes_are_a_frame_or_refused(more: bytes, position: int, changed: bytes) -> None:
    for data in (b"\0" + more, WHOLE[:position] + changed + WHOLE[position + len(changed) :]):
        received = FrameReader(1 << 16).read(pack(data))
        assert len(received.frames) + (received.violation is not None) == 1


@pytest.mark.parametrize(("data", "factor"), [(b"x", 1), (b"\xff", 1), ("x", 1), ("é", 4)])
def test_memory_of_attachments_counts_against_the_limit(data: bytes | str, factor: int) -> None:
    frame = pack(done(data * 100_000))
    reader = FrameReader(len(frame))
    read = 0
    while reader.read(frame).violation is None:
        read += 1
    assert read in {16 // factor - 1, 16 // factor}


def test_oversized_frame_of_attachments_is_refused_before_storing() -> None:
    received = FrameReader(1000).read((1001).to_bytes(4, "big") + b"\0")
    assert "over the limit of 1,000" in str(received.violation)


def test_attachments_are_arguments_and_output_too() -> None:
    pieces: list[bytes] = []
    args = values.text([values.encode("é" * LONG, attached=pieces), values.encode(b"\0" * LONG, attached=pieces)])
    frame = b'{"id":1,"t":"call","path":"1","alone":true,"name":"f","args":%b,"kwargs":{}}' % args.encode()
    assert parse(join(frame, pieces)) == CallFrame(1, "1", "f", ("é" * LONG, b"\0" * LONG), {}, alone=True)
    text = [piece(b"t", LONG + 3, b"x" * LONG + b"\xed\xa0\xbd")]
    output = parse(join(b'{"t":"output","stream":1,"text":{"$":["at",0]}}', text))
    assert output == OutputFrame(1, "x" * LONG + r"\ud83d")


@ez_tool
def echo(value: object) -> object:
    """Return the value."""
    return value


@ez_tool
def size_of(text: str) -> int:
    """Return the length of a text."""
    return len(text)


PROGRAM = """
import threading
seen = []
def cross(value):
    answers = [echo(value), echo([value, {"inner": value}])]
    seen.append(answers == [value, [value, {"inner": value}]] and type(answers[0]) is type(value))
for value in ["x" * 5_000, "é\\0" * 5_000, b"\\xff\\0" * 5_000, "x" * 4_095, "\\N{ROCKET}" * 4_096]:
    cross(value)
threads = [threading.Thread(target=cross, args=(str(number) * 5_000,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("y" * 10_000)
(all(seen), len(seen), "z" * 10_000, b"z" * 10_000)
"""


def run_fresh(toolkit: Toolkit) -> Any:  # noqa: ANN401 - whatever the program returns
    result = toolkit.execute(PROGRAM)
    assert result.output == "y" * 10_000 + "\n", result.error
    return result.return_value


def run_twice_in_session(toolkit: Toolkit) -> Any:  # noqa: ANN401 - whatever the program returns
    with toolkit.session() as session:
        assert session.execute(PROGRAM).success
        return session.execute(PROGRAM).return_value


EXPECTED = (True, 8, "z" * 10_000, b"z" * 10_000)


@pytest.mark.parametrize("run", [run_fresh, run_twice_in_session])
def test_long_values_cross_in_programs_and_sessions(run: Callable[[Toolkit], object]) -> None:
    with Toolkit([echo]) as toolkit:
        assert run(toolkit) == EXPECTED


@pytest.mark.parametrize("fresh", ["process", "restored"])
def test_long_values_cross_in_new_and_restored_workers(fresh: Literal["process", "restored"]) -> None:
    with ProcessSandbox(fresh=fresh) as sandbox, Toolkit([echo], sandbox=sandbox) as toolkit:
        assert [run_fresh(toolkit) for _ in range(3)] == [EXPECTED] * 3


def test_journaled_long_values_are_read_again(tmp_path: Path) -> None:
    with Toolkit([echo], journal=tmp_path / "runs.db") as toolkit:
        first = toolkit.execute(PROGRAM)
        again = toolkit.execute(PROGRAM, run_id=first.run_id)
    assert first.return_value == again.return_value == EXPECTED
    # Calls of several threads are recorded in the order in which they begin.
    results = [{call["path"]: call["result"] for call in result.tool_calls} for result in (first, again)]
    assert results[0] == results[1]
    assert len(results[0]) == len(first.tool_calls)


def test_half_characters_are_refused_as_in_short_texts() -> None:
    with Toolkit([echo, size_of]) as toolkit:
        errors = [
            toolkit.execute(f"{tool}('{text}' * {count})").error
            for tool in ("echo", "size_of")
            for text in (r"\ud83d", r"\ud83d\ude00")
            for count in (1, 5_000)
        ]
    assert all(error is not None and "lone surrogate" in error for error in errors), errors


def test_arguments_over_the_limit_are_refused_by_name() -> None:
    with Toolkit([size_of], limits=Limits(frame=1 << 16)) as toolkit:
        assert toolkit.execute("size_of('x' * 65_000)").return_value == 65_000
        error = toolkit.execute("size_of('x' * 66_000)").error
    assert error is not None
    assert "the arguments of size_of have 66," in error
