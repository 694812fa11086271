"""The conversation with a worker, without a worker: what is let in, what is refused, and what is made of the end."""

from __future__ import annotations

import json
import re
import struct
import tracemalloc
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ez_ptc.errors import ArgumentsError, NotApprovedError, ToolError
from ez_ptc.messages import ToolResult
from ez_ptc.sandbox.protocol.exchange import Exchange
from ez_ptc.sandbox.protocol.execution import Grant, Grants, Limits
from ez_ptc.sandbox.protocol.frames import CallFrame, pack
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.tools.call_lifetime import CallLife

CODE = "print('tea ☕')"


def png() -> bytes:
    """Return a picture of one pixel."""
    header = (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    chunks = [header, (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big") for name, body in chunks
    )


PNG = png()


@dataclass
class Door:
    """A channel over two names whose calls nobody runs; it keeps the records."""

    has_listeners: bool = True
    recorder: None = None
    observer: None = None
    results: None = None
    finders: None = None

    grants: Grants = field(
        default_factory=lambda: Grants([Grant("add", "add(a, b)", "Add.", is_async=True), Grant("ok")])
    )
    ended_with: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        raise NotImplementedError

    async def acall(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        raise NotImplementedError

    def report_call(self, record: dict[str, Any]) -> None:
        self.ended_with.append(record)


def exchange(door: Door | None = None, **limits: float) -> Exchange:
    return Exchange(CODE, door or Door(), Limits(**cast("Mapping[str, Any]", limits)))


def call(number: int = 1, path: str | None = None, name: str = "add", **changes: object) -> bytes:
    frame = {"t": "call", "id": number, "path": path or str(number), "name": name, "args": [1], "kwargs": {"b": 2}}
    return pack(values.dumps({**frame, "alone": True, **changes}))


def output(text: str, stream: int = 1) -> bytes:
    return pack(values.dumps({"t": "output", "stream": stream, "text": text}))


def picture(data: bytes = PNG) -> bytes:
    return pack(values.dumps({"t": "picture", "data": values.encode(data)}))


def done(**changes: object) -> bytes:
    return pack(values.dumps({"t": "done", "dropped": 0, **changes}))


def unpacked(frame: bytes) -> dict[str, Any]:
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    return json.loads(frame[4:])


def replied(frame: bytes) -> tuple[int, str, Any]:
    """Return the number, the kind and the payload of a reply."""
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    kind, payload = chr(frame[4]), frame[9:].decode("utf-8", "surrogatepass")
    return int.from_bytes(frame[5:9], "big"), kind, payload if kind == "s" else json.loads(payload)


def answered(talk: Exchange, asked: CallFrame, result: ToolResult) -> bytes:
    """End a call as a driver does, and return the reply."""
    frame = talk.answer(asked, talk.encode(asked, result))
    talk.report_call(asked)
    talk.mark_sent(asked)
    return frame


def test_first_frame_has_program_tools_and_limits() -> None:
    frame = unpacked(exchange(timeout=2, memory=1 << 20, output=10, calls=7, outstanding=3, frame=4096).opening())
    assert (frame["t"], frame["code"]) == ("run", CODE)
    types = "[[[`a`,``,true],[`b`,``,true]],[0,2],[false,false],``,[]]"
    assert frame["tools"] == [["add", "add(a, b)", "Add.", True, types, False], ["ok", "", "", False, "", False]]
    numbers = {"memory": 1 << 20, "output": 10, "frame": 4096, "outstanding": 3}
    assert frame["limits"] == frame["limits"] | numbers


def test_a_call_is_let_in_run_and_answered() -> None:
    door = Door()
    talk = exchange(door)
    [asked] = talk.receive(call())
    assert asked == CallFrame(1, "1", "add", (1,), {"b": 2}, alone=True)
    assert talk.refusal(asked) is None
    answer = replied(answered(talk, asked, ToolResult(success=True, output=(3, b"x"), duration_ms=1.5)))
    assert answer == (1, "m", {"$": ["t", [3, {"$": ["b", "eA=="]}]]})
    record = {"name": "add", "args": (1,), "kwargs": {"b": 2}, "result": (3, b"x"), "error": None}
    assert door.ended_with == talk.result().tool_calls == [{**record, "duration_ms": 1.5, "path": "1"}]


class ShopError(LookupError):
    pass


class OddError(ShopError, KeyError):
    pass


@pytest.mark.parametrize(
    ("exception", "error"),
    [
        (ValueError("no"), ["ValueError", "ValueError", "no"]),
        (ShopError("no"), ["ShopError", "LookupError", "no"]),
        (OddError("no"), ["OddError", "KeyError", "no"]),
        (ToolError("no"), ["ToolError", "Exception", "no"]),
        (ArgumentsError("no"), ["TypeError", "TypeError", "no"]),
        (None, ["ToolError", "Exception", "no"]),
    ],
)
def test_tool_failure_is_sent_as_class_and_message(exception: Exception | None, error: list[str]) -> None:
    talk = exchange()
    [asked] = talk.receive(call())
    answer = replied(answered(talk, asked, ToolResult(success=False, error="no", exception=exception)))
    assert answer == (1, "e", error)
    # A KeyError's message is only its key.
    shown = "OddError: no" if isinstance(exception, OddError) else "no"
    assert talk.result().tool_calls[0]["error"] == shown


class Moody:
    """Raises when it is looked at."""

    def __getattr__(self, name: str) -> object:
        raise KeyError(name)


@pytest.mark.parametrize(
    "value", [object(), Moody(), [iter([1])], {"k": print}], ids=lambda value: type(value).__name__
)
def test_a_result_of_an_unknown_class_is_its_text(value: object) -> None:
    talk = exchange()
    [asked] = talk.receive(call())
    _, kind, _ = replied(answered(talk, asked, ToolResult(success=True, output=value)))
    assert kind in {"v", "m"}
    assert talk.result().tool_calls[0]["error"] is None


def test_unpassable_result_is_a_tool_failure() -> None:
    talk = exchange()
    [asked] = talk.receive(call())
    loop: list[object] = []
    loop.append(loop)
    _, _, error = replied(answered(talk, asked, ToolResult(success=True, output=loop)))
    assert error[:2] == ["RuntimeError", "RuntimeError"]
    assert error[2].startswith("'add' has run, but what it returned cannot be passed on: the value refers to itself")
    assert talk.result().tool_calls[0]["error"] == error[2]


def test_result_over_frame_limit_is_a_tool_failure() -> None:
    talk = exchange(frame=1000)
    [asked] = talk.receive(call())
    _, _, error = replied(answered(talk, asked, ToolResult(success=True, output="é" * 501)))
    assert "it has 1,002 bytes, and at most 1,000 can reach the program" in error[2]


@pytest.mark.parametrize(
    ("value", "kind", "payload"),
    [
        ("☕ \ud800 \0", "s", "☕ \ud800 \0"),
        ([1, {"a": None}], "v", [1, {"a": None}]),
        (["\ud800", 2**70], "v", ["\ud800", 2**70]),
        ({"$": 1}, "m", {"$": ["m", [["$", 1]]]}),
        ([float("inf")], "v", [float("inf")]),
    ],
    ids=["text", "records", "what pydantic does not take", "a mark of its own", "infinity"],
)
def test_reply_names_its_encoding(value: object, kind: str, payload: object) -> None:
    talk = exchange()
    [asked] = talk.receive(call())
    assert replied(answered(talk, asked, ToolResult(success=True, output=value))) == (1, kind, payload)


def test_repeated_long_text_is_refused_before_serialization() -> None:
    """Three hundred megabytes of JSON from one megabyte of memory."""
    talk = exchange(frame=1 << 20)
    [asked] = talk.receive(call())
    value = ["x" * 1_000_000] * 300
    tracemalloc.start()
    try:
        _, _, error = replied(answered(talk, asked, ToolResult(success=True, output=value)))
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    assert "characters and bytes" in error[2]


VIOLATIONS: dict[str, tuple[bytes, str]] = {
    "a number left out": (call(2), "out of order"),
    "a number again": (call(1) + call(1, "2"), "out of order"),
    "a number below": (call(0), "out of order"),
    "a tool that was not granted": (call(name="admin_delete"), "not granted"),
    "a tool in other letters": (call(name="ADD"), "not granted"),
    "two calls from one place": (call(1, "1.1") + call(2, "1.1"), "the same path"),
    "more calls than may wait": (b"".join(call(n) for n in (1, 2, 3, 4)), "unanswered"),
    "more output than is allowed": (output("x" * 60) + output("y" * 41, 2), "more output"),
    "no picture": (picture(PNG[:-1]), "an invalid picture"),
    "more frames than are needed": (output("") * 500, "more frames"),
    "no frame at all": (pack(b"[]"), "unknown kind"),
}


@pytest.mark.parametrize(("data", "says"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_a_worker_that_breaks_the_rules_is_found_out(data: bytes, says: str) -> None:
    talk = exchange(output=100, calls=10, outstanding=3)
    talk.receive(data)
    assert re.search(f"broke the sandbox's protocol and was ended: .*{says}", str(talk.result().error))


@pytest.mark.parametrize("late", [call(2, "2"), done(value=6), output("x")], ids=["a call", "an end", "output"])
def test_frames_after_the_end_are_ignored_and_worker_discarded(late: bytes) -> None:
    at_once, later = exchange(), exchange()
    calls = at_once.receive(call() + done(value=5) + late)
    assert [each.number for each in calls] == [1]
    calls = later.receive(call() + done(value=5))
    assert later.receive(late) == []
    for talk in (at_once, later):
        assert talk.is_over
        assert not talk.is_reusable
        answered(talk, calls[0], ToolResult(success=True, output=3))
        result = talk.result()
        assert (result.return_value, result.output, len(result.tool_calls)) == (5, "", 1)
        assert not talk.is_reusable


def test_frames_before_a_violation_count() -> None:
    talk = exchange()
    assert talk.receive(output("before") + call() + pack(b"{}")) == []
    result = talk.result()
    assert (result.output, len(result.tool_calls)) == ("before", 1)
    assert "broke the sandbox's protocol" in str(result.error)


def test_waiting_calls_may_reach_the_limit() -> None:
    talk = exchange(outstanding=2)
    first, _ = talk.receive(call(1) + call(2))
    answered(talk, first, ToolResult(success=True))
    assert [each.number for each in talk.receive(call(3))] == [3]


def test_call_over_limit_is_refused_and_program_continues() -> None:
    talk = exchange(calls=2)
    calls = talk.receive(call(1) + call(2) + call(3))
    assert [talk.refusal(each) is None for each in calls] == [True, True, False]
    reason = talk.refusal(calls[2]) or ""
    assert "more than 2 tool calls" in reason
    assert replied(talk.refuse(calls[2], reason)) == (3, "e", ["RuntimeError", "RuntimeError", reason])
    talk.receive(done(value=1))
    result = talk.result()
    assert (result.success, result.tool_calls[2]["error"]) == (True, reason)


@pytest.mark.parametrize(("replies", "pauses"), [(0, False), (1, True)])
def test_only_a_program_with_all_its_replies_pauses(replies: int, pauses: bool) -> None:
    talk = exchange()
    first, second = talk.receive(call(1) + call(2))
    talk.wait_for_decision(second)
    answered(talk, first, ToolResult(success=True))
    talk.receive(pack(values.dumps({"t": "rest", "replies": replies, "events": []})))
    assert (talk.result().status == "paused") is pauses


def test_no_call_runs_once_the_time_is_over() -> None:
    talk = exchange(timeout=1.5)
    talk.stop()
    [asked] = talk.receive(call())
    assert talk.refusal(asked) == "the program timed out after 1.5 s"


def test_unfinished_call_is_marked() -> None:
    talk = exchange()
    talk.receive(call() + done())
    assert talk.result().tool_calls[0]["error"] == "the call was still running when the program ended"


def test_finished_program_has_value_and_output() -> None:
    talk = exchange()
    talk.receive(output("a") + output("E", 2) + output("b") + done(value={"$": ["t", [1]]}, dropped=7))
    result = talk.result()
    assert (result.success, result.status, result.error) == (True, "done", None)
    assert (result.output, result.error_output, result.return_value) == ("ab", "E", (1,))
    assert result.truncated == {"output": 7}
    assert talk.is_finished


def test_pictures_are_in_the_result_whatever_the_ending() -> None:
    paused, lost = exchange(), exchange()
    for talk in (paused, lost):
        talk.receive(picture() + call())
        assert [image.data for image in talk.result().images] == [PNG]
    assert paused.pause()
    lost.end("the worker is gone")
    assert [len(talk.result().images) for talk in (paused, lost)] == [1, 1]
    done_talk = exchange()
    done_talk.receive(picture() + output("a") + picture() + done(images_left=2))
    assert (len(done_talk.result().images), done_talk.result().truncated) == (2, {"images": 2})


@pytest.mark.parametrize(("most", "count"), [(3 * len(PNG), 3), (3 * len(PNG) + 1, 3), (1 << 20, 32)])
def test_pictures_of_all_frames_have_a_limit_together(most: int, count: int) -> None:
    talk = exchange(images=most)
    talk.receive(picture() * count)
    assert (len(talk.result().images), talk.is_over) == (count, False)
    talk.receive(picture())
    result = talk.result()
    assert (len(result.images), result.error) == (
        count,
        "the program broke the sandbox's protocol and was ended: more pictures than its limits allow",
    )


def test_failed_program_has_error_traceback_and_no_value() -> None:
    talk = exchange()
    talk.receive(output("warning\n", 2) + done(error="ValueError: x", trace="Traceback\n", value=5))
    result = talk.result()
    assert (result.success, result.status, result.error) == (False, "failed", "ValueError: x")
    assert (result.error_output, result.return_value) == ("warning\nTraceback\n", None)


@pytest.mark.parametrize("exception", [NotApprovedError("no"), ToolError("no"), None])
def test_workers_word_alone_makes_no_refusal(exception: Exception | None) -> None:
    talk = exchange()
    for asked in talk.receive(call()) if exception else []:
        answered(talk, asked, ToolResult(success=False, error="no", exception=exception))
    talk.receive(done(error="ToolError: no", kind="denied"))

    assert talk.result().is_denied == isinstance(exception, NotApprovedError)


def test_refusal_before_the_time_was_up_is_a_timeout() -> None:
    talk = exchange()
    [asked] = talk.receive(call())
    answered(talk, asked, ToolResult(success=False, error="no", exception=NotApprovedError("no")))
    talk.stop()
    talk.receive(done(error="ToolError: no", kind="denied"))

    assert not talk.result().is_denied


def test_out_of_memory_error_names_the_limit() -> None:
    talk = exchange(memory=64 << 20)
    talk.receive(done(error="MemoryError", trace="MemoryError\n", kind="memory"))
    assert talk.result().error == "MemoryError (the program may use 64 MiB)"


def test_success_after_timeout_counts_as_failure() -> None:
    talk = exchange(timeout=2)
    talk.stop()
    talk.receive(done(value=5))
    result = talk.result()
    assert (result.success, result.return_value) == (False, None)
    assert result.error == "TimeoutError: the program timed out after 2 s"
    assert result.error in result.error_output


def test_missing_worker_is_lost_until_explained() -> None:
    talk = exchange()
    talk.receive(output("so far"))
    assert talk.is_lost
    talk.end("it crashed")
    talk.end("something else")
    assert not talk.is_lost
    result = talk.result()
    assert (result.success, result.error, result.output) == (False, "it crashed", "so far")
    assert result.error_output == "it crashed\n"
