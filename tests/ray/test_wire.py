"""What an actor sends: each message is bounded, and its shape is checked before it is used."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ez_ptc import ApprovalNeeded, CallEnded, CallProgress, CallStarted, OutputDelta, ProgramEnded
from ez_ptc.errors import ClusterError, ContinuationError, JournalError, Overloaded, ProtocolError, RunInProgressError
from ez_ptc.messages import PendingCall
from ez_ptc.ray import wire
from ez_ptc.sandbox.protocol.events import ProgramEvent
from tests.ray.loopback import Loopback, LoopbackActor, LoopbackToolkit


class _HostileActor(LoopbackActor):
    answers: list[Any] = []  # noqa: RUF012 - replaced by each test

    def change(self, method: str, value: Any) -> object:
        return self.answers if method == "begin" else value


class _HostileToolkit(LoopbackToolkit):
    cluster_class = type("_HostileCluster", (Loopback,), {"actor_class": _HostileActor})


@pytest.mark.parametrize(
    "answer",
    [
        b"not JSON",
        b"[1]",
        b'{"is": "result"}',
        b'{"is": "result", "result": {"output": 1}, "token": null}',
        b'{"is": "output", "text": [], "stream": "output", "parent": ""}',
        b'{"is": "ask", "number": 1, "name": "tool", "tool": "none", "arguments": {}}',
        b'{"is": "ask", "number": 1, "name": "__class__"}',
        b'{"is": "error", "type": [], "message": ""}',
        b"[" * 100_000,
        7,
    ],
)
def test_what_an_actor_sends_is_checked(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_HostileActor, "answers", [answer])
    with _HostileToolkit("tests.ray.shop:toolkit") as toolkit, pytest.raises(ProtocolError):
        toolkit.execute("1")


def test_every_kind_of_event_crosses() -> None:
    events: list[ProgramEvent] = [
        OutputDelta("text\ud800", "error", "p"),
        CallStarted("p:1", "p", "buy", (1, b"x"), {"name": {1, 2}}, "1"),
        CallProgress("p:1", "p", "buy", 1, 2.5, "half"),
        CallProgress("p:1", "p", "buy", 1),
        ApprovalNeeded(PendingCall("p:1", "buy", {"name": "lamp"}, "1"), "p"),
        CallEnded("p:1", "p", "buy", None, "ToolError: no", 1.5),
    ]
    assert {ProgramEnded, *map(type, events)} == {*get_args(ProgramEvent)}
    assert [wire.event_from(wire.unpack(wire.pack_event(event))) for event in events] == events


def test_only_our_errors_keep_their_class() -> None:
    foreign = wire.error_from(wire.unpack(wire.pack("error", type="SystemExit", message="x" * 100_000)), "node-1")
    assert type(foreign) is ClusterError
    assert len(str(foreign)) < 10_000
    for error in (ContinuationError("no"), ValueError("no"), Overloaded("no")):
        again = wire.error_from(wire.unpack(wire.pack_error(error)), "node-1")
        assert (type(again), str(again)) == (type(error), "no")


def test_errors_of_the_journal_name_their_run() -> None:
    for error in (JournalError("lost", run_id="r"), RunInProgressError("taken", run_id="r", owner="process 7")):
        received = wire.error_from(wire.unpack(wire.pack_error(error)), "node")
        assert type(received) is type(error)
        assert vars(received) == vars(error)
