"""Work in the background of a caller."""

from __future__ import annotations

import threading

from ez_ptc.sandbox.host.workers.background import Background

SECONDS = 10


def test_requested_work_runs_in_another_thread() -> None:
    done, where = threading.Semaphore(0), list[int]()

    def work() -> None:
        where.append(threading.get_ident())
        done.release()

    background = Background(work)
    for _ in range(3):
        background.request()
        assert done.acquire(timeout=SECONDS)
    background.close()
    assert threading.get_ident() not in where


def test_requested_work_lets_its_caller_go_on_first() -> None:
    done, order = threading.Semaphore(0), list[str]()

    def work() -> None:
        order.append("work")
        done.release()

    background = Background(work)
    for _ in range(2):
        background.request(after=0.2)
        order.append("caller")
        assert done.acquire(timeout=SECONDS)
    background.close()
    assert order == ["caller", "work"] * 2


def test_request_during_the_work_is_not_lost() -> None:
    begun, go_on = threading.Semaphore(0), threading.Semaphore(0)

    def work() -> None:
        begun.release()
        go_on.acquire(timeout=SECONDS)

    background = Background(work)
    background.request()
    assert begun.acquire(timeout=SECONDS)
    background.request()
    background.request()
    go_on.release(2)
    assert begun.acquire(timeout=SECONDS)
    background.close()


def test_work_is_done_here_without_threads() -> None:
    done = list[int]()
    background = Background(lambda: done.append(threading.get_ident()))
    before = threading.stack_size(1 << 46)
    try:
        background.request()
    finally:
        threading.stack_size(before)
    assert done == [threading.get_ident()]


def test_closed_background_has_no_thread() -> None:
    ended = threading.Event()
    background = Background(ended.set)
    background.request()
    assert ended.wait(SECONDS)
    ended.clear()
    background.close()
    background.close()
    assert ended.wait(SECONDS)
