"""Any bytes from a worker lead to frames or to a clean refusal, the same however they are torn.

`frames.json` has what the fuzzer found worth keeping (`make fuzz` goes on from there); hypothesis makes frames that are
nearly right, which random bytes rarely are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.sandbox.protocol.values import codec as values
from tests.fuzz.hostile_bytes import outcome, survive

FOUND = cast("list[str]", json.loads(Path(__file__).with_name("frames.json").read_text(encoding="utf-8")))

TEXTS = st.sampled_from(["note", "1", "1.2", "call", "done", "output", "picture", "reply", "", "x" * 200]) | st.text()
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
MARKS = st.sampled_from(["t", "s", "fs", "m", "b", "dt", "d", "tm", "td", "dec", "u", "i", "zz"])
PAYLOADS = SCALARS | st.sampled_from(["eA==", "2024-01-02", "03:04", "1e5", "NaN", "0xff", "-0x1"])


def marked(mark: str, payload: object) -> object:
    return {"$": [mark, payload]}


def deeper(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    lists, dicts = st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)
    pairs = st.lists(st.lists(inner, min_size=2, max_size=2), max_size=2)
    return lists | dicts | st.builds(marked, MARKS, lists) | st.builds(marked, st.just("m"), pairs)


TREES: st.SearchStrategy[object] = st.recursive(SCALARS | st.builds(marked, MARKS, PAYLOADS), deeper, max_leaves=12)
CALL: dict[str, object] = {"t": "call", "id": 1, "path": "1", "name": "note", "args": [], "kwargs": {}, "alone": True}
OUTPUT: dict[str, object] = {"t": "output", "stream": 1, "text": "x"}
PICTURE: dict[str, object] = {"t": "picture", "data": {"$": ["b", "iVBORw0KGgo="]}}
DONE: dict[str, object] = {"t": "done", "value": None, "error": None, "trace": "", "kind": "", "dropped": 0}


@st.composite
def nearly_frames(draw: st.DrawFn) -> bytes:
    """Return frames one after the other, most in order, some with a field changed, left out or added."""
    bodies: list[bytes] = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        frame = dict(draw(st.sampled_from([CALL, CALL, OUTPUT, PICTURE, DONE])))
        if frame["t"] == "call":
            frame |= {"id": number, "path": str(number), "args": draw(st.lists(TREES, max_size=3))}
        elif frame["t"] == "done":
            frame["value"] = draw(TREES)
        for name in draw(st.lists(st.sampled_from(sorted(frame)), max_size=1)):
            frame[name] = draw(TREES)
        for name in draw(st.lists(st.sampled_from([*sorted(frame), "extra"]), max_size=1)):
            frame.pop(name, None) if draw(st.booleans()) else frame.setdefault(name, draw(TREES))
        bodies.append(values.dumps(frame).replace(b"\n", b" "))
    return b"\x01" + b"\n".join(bodies)


@pytest.mark.sampled(every=0)
@given(nearly_frames())
def test_nearly_valid_frames_are_accepted_or_refused(data: bytes) -> None:
    survive(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_accepted_or_refused(data: bytes) -> None:
    survive(data)


@given(nearly_frames(), st.integers(0, 400), st.integers(0, 255))
def test_frame_with_one_changed_byte_is_accepted_or_refused(data: bytes, place: int, byte: int) -> None:
    changed = bytearray(data)
    changed[place % len(changed)] = byte
    survive(bytes(changed))


def test_fuzzer_findings_are_accepted_or_refused() -> None:
    assert 20 < len(FOUND) <= 200
    ends = [survive(text.encode("latin-1"))[-1] for text in FOUND]
    assert any("frame" in end for end in ends)
    assert any(not end.startswith("NoneType") for end in ends)


def test_misread_bytes_would_be_noticed() -> None:
    """Or the tests above would test nothing."""
    forged = b'{"t":"done","value":{"$":["i","0x5"]},"error":null,"dropped":0}'
    assert survive(b"\x01" + forged)[-1].startswith("int(5) None")
    assert "unknown kind" in survive(b"\x01{}")[-1]
    with pytest.raises(TypeError):
        outcome(cast("list[bytes]", [None]))
