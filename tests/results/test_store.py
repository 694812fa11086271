"""Results that are kept whole: their quota, their age, and their owners."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.results.store import KeptResult, ResultGoneError, ResultStore


@dataclass(frozen=True)
class Owner:
    name: str

    def is_same(self, other: object) -> bool:
        return self == other


def added(store: ResultStore, body: bytes, source: str = "find") -> KeptResult:
    kept = store.add(b"s", body, source)
    assert kept is not None
    return kept


@given(st.lists(st.binary(min_size=1, max_size=40)), st.integers(min_value=40, max_value=100))
def test_bytes_within_the_quota_are_read_back_whole(bodies: list[bytes], quota: int) -> None:
    store = ResultStore(quota)
    kept = [added(store, body) for body in bodies]

    assert store.used_bytes <= quota
    room = quota
    for body, result in zip(reversed(bodies), reversed(kept), strict=True):
        room -= len(body)
        if room < 0:
            break
        assert store.read(result) == body


def test_result_over_the_quota_is_not_kept() -> None:
    store = ResultStore(3)

    assert store.add(b"s", b"four", "find") is None
    assert store.used_bytes == 0


def test_evicted_result_says_when_why_and_what_made_it() -> None:
    store = ResultStore(10)
    first, second = added(store, b"x" * 6, "find_orders"), added(store, b"y" * 6)

    with pytest.raises(ResultGoneError, match=r"result of find_orders no longer exists, .* at \d{4}-.* 10 bytes"):
        store.read(first)
    assert store.read(second) == b"y" * 6


def test_result_read_last_stays_longest() -> None:
    store = ResultStore(10)
    first, second = added(store, b"1" * 4), added(store, b"2" * 4)
    store.read(first)
    added(store, b"3" * 4)

    assert not first.is_gone
    assert second.is_gone


def test_expired_result_is_gone_though_there_is_room() -> None:
    store = ResultStore(max_age=-1)
    kept = added(store, b"old")

    with pytest.raises(ResultGoneError, match="results are kept for"):
        store.read(kept)
    assert store.used_bytes == 0


def test_result_that_no_one_holds_frees_its_bytes() -> None:
    store = ResultStore()
    kept = added(store, b"x" * 100)
    assert store.used_bytes == 100
    del kept
    gc.collect()

    assert store.used_bytes == 0


def test_adopted_result_counts_once() -> None:
    store, other = ResultStore(), ResultStore()
    kept = added(store, b"12345")
    other.adopt(kept)
    other.adopt(kept)

    assert other.used_bytes == 5
    assert other.read(kept) == b"12345"


def test_handle_is_known_to_its_owner_alone() -> None:
    store = ResultStore()
    kept = added(store, b"secret")
    handle = store.publish(kept, Owner("ada"))

    assert store.find(handle, Owner("ada")) is kept
    assert store.find(handle, Owner("eve")) is None
    assert store.find(handle[:-1], Owner("ada")) is None
    assert len(handle.removeprefix("r_")) * 4 >= 96


def test_handles_of_one_result_differ() -> None:
    store = ResultStore()
    kept = added(store, b"x")

    assert len({store.publish(kept, Owner("ada")) for _ in range(1_000)}) == 1_000


def test_threads_never_exceed_the_quota() -> None:
    store = ResultStore(1_000)
    kept: list[KeptResult] = []

    def add() -> None:
        for number in range(200):
            kept.append(added(store, bytes([number]) * 90))
            assert store.used_bytes <= 1_000

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sum(not result.is_gone for result in kept) <= 11
    assert len(kept) == 800


def test_only_what_is_old_enough_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    store, kept = ResultStore(max_age=10), list[KeptResult]()

    def pass_time(now: float) -> None:
        monkeypatch.setattr("time.time", lambda: now)

    for now in (1_000.0, 1_005.0, 1_009.0, 1_011.0, 1_016.0):
        pass_time(now)
        kept.append(added(store, b"x"))
    assert [result.is_gone for result in kept] == [True, True, False, False, False]
    pass_time(1_019.5)
    with pytest.raises(ResultGoneError, match="kept for 10 s"):
        store.read(kept[2])
    assert store.used_bytes == 2
