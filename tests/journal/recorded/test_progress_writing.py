"""The progress of calls in the record of their run: written beside them, rarely, and for readers alone."""

import threading
from queue import SimpleQueue

import pytest

from ez_ptc import JournalError
from ez_ptc.journal.chain import Event
from ez_ptc.journal.recorded.progress import ProgressWriter, next_due
from ez_ptc.sandbox.protocol.frames import CallFrame
from ez_ptc.schema.annotations.progress import ProgressReport

_SECONDS = 20


def call(path: str) -> CallFrame:
    return CallFrame(1, path, "load", (), {}, alone=True, line=7)


def test_latest_report_of_each_call_is_written_once() -> None:
    written = SimpleQueue[Event]()
    writer = ProgressWriter(written.put)
    for done in range(5):
        writer.report(call("1.0"), ProgressReport(done, 10, "a"))
        writer.report(call("1.1"), ProgressReport(done, None, None))
    writer.report(call("2"), ProgressReport(1, 1, None))
    writer.forget(call("2"))
    calls: dict[str, object] = {}
    while len(calls) < 2:  # one event, unless the second call began in another quarter of a second
        event = written.get(timeout=_SECONDS)
        assert (event.kind, event.path) == ("progress", "")
        assert not event.data["calls"].keys() & calls.keys()
        calls |= event.data["calls"]
    writer.close()
    assert calls == {
        "1.0": {"tool": "load", "line": 7, "done": 4, "total": 10, "message": "a"},
        "1.1": {"tool": "load", "line": 7, "done": 4, "total": None, "message": None},
    }
    assert written.empty()


def test_report_never_waits_for_a_write() -> None:
    is_writing, may_end = threading.Event(), threading.Event()

    def write(event: Event) -> None:
        del event
        is_writing.set()
        assert may_end.wait(_SECONDS)

    writer = ProgressWriter(write)
    writer.report(call("1"), ProgressReport(1, 2, None))
    assert is_writing.wait(_SECONDS)
    writer.report(call("1"), ProgressReport(2, 2, None))
    writer.forget(call("1"))
    may_end.set()
    writer.close()


def test_nothing_is_written_after_the_close() -> None:
    written: list[Event] = []
    writer = ProgressWriter(written.append)
    writer.report(call("1"), ProgressReport(1, 2, None))
    writer.close()
    writer.report(call("1"), ProgressReport(2, 2, None))
    for thread in threading.enumerate():
        if thread.name == "ez-ptc progress":
            thread.join(_SECONDS)
    assert written == []


def test_failed_write_harms_no_call() -> None:
    tries = SimpleQueue[Event]()

    def write(event: Event) -> None:
        tries.put(event)
        message = "the disk is full"
        raise JournalError(message)

    writer = ProgressWriter(write)
    writer.report(call("1"), ProgressReport(1, 2, None))
    assert tries.get(timeout=_SECONDS).kind == "progress"
    writer.close()  # an error in its thread would be a warning


def test_report_without_a_further_thread_harms_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        del thread
        message = "can't start new thread"
        raise RuntimeError(message)

    written = SimpleQueue[Event]()
    writer = ProgressWriter(written.put)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)  # as where the system has no more of them
        writer.report(call("1"), ProgressReport(1, 2, None))
    writer.report(call("2"), ProgressReport(2, 2, None))
    calls: dict[str, object] = {}
    while len(calls) < 2:
        calls |= written.get(timeout=_SECONDS).data["calls"]
    writer.close()
    assert calls.keys() == {"1", "2"}


@pytest.mark.parametrize(("hours", "most"), [(1, 300), (24, 500)])
def test_long_call_is_written_about_more_and_more_rarely(hours: int, most: int) -> None:
    now, count = next_due(0.0), 0
    assert 0 < now < 1
    while now < hours * 3600:
        later = next_due(0.0, now)
        assert later - now >= 1
        now, count = later, count + 1
    assert count < most
