"""Idle actors end and free their cores; those with a program or a session stay."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ez_ptc.errors import ClusterError
from ez_ptc.ray import pool
from tests.ray import shop
from tests.ray.loopback import LoopbackActor, LoopbackToolkit

SHOP = "tests.ray.shop:toolkit"
_SOON = 0.05


@pytest.fixture
def effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of effects."""
    path = tmp_path / "effects"
    path.touch()
    monkeypatch.setenv(shop.EFFECTS, str(path))
    return path


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_actor_without_programs_gives_its_room_back() -> None:
    with LoopbackToolkit(SHOP, idle_timeout=_SOON, max_concurrency=2) as toolkit:
        for number in (1, 2):
            assert toolkit.execute(str(number)).return_value == number
            wait_until(lambda: toolkit.actors[-1].is_dead)
            assert len(toolkit.actors) == number


def test_actor_of_an_open_session_stays() -> None:
    with LoopbackToolkit(SHOP, idle_timeout=_SOON) as toolkit:
        with toolkit.session() as session:
            session.execute("x = 1")
            assert toolkit.execute("2").return_value == 2
            wait_until(lambda: toolkit.actors[1].is_dead)
            assert session.execute("x + 1").return_value == 2
        wait_until(lambda: toolkit.actors[0].is_dead)


def test_actor_with_a_failed_program_stays_for_its_correction(effects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackToolkit(SHOP, idle_timeout=_SOON) as toolkit:
        with toolkit.session():
            failed = toolkit.execute("note('once')\n1 / 0")
        wait_until(lambda: toolkit.actors[0].is_dead)
        assert not toolkit.actors[1].is_dead
        monkeypatch.setattr(pool, "_CORRECTION_SECONDS", 0.0)
        toolkit.execute("1 / 0", after=failed)
        assert toolkit.execute("note('once')", after=failed).return_value == 1
        wait_until(lambda: toolkit.actors[1].is_dead)
    assert effects.read_text() == "once\n"


def test_actor_stays_where_no_idle_time_is_set() -> None:
    before = {*threading.enumerate()}  # other tests have left timers
    with LoopbackToolkit(SHOP, idle_timeout=None) as toolkit:
        toolkit.execute("1")
        assert not any(isinstance(thread, threading.Timer) for thread in {*threading.enumerate()} - before)
        assert not toolkit.actors[0].is_dead
    with pytest.raises(ValueError, match="expected idle_timeout to be a number >= 0, got -1"):
        LoopbackToolkit(SHOP, idle_timeout=-1)


def test_actors_of_a_dropped_toolkit_end() -> None:
    toolkit = LoopbackToolkit(SHOP, idle_timeout=_SOON)
    toolkit.execute("1")
    actors = toolkit.actors
    del toolkit
    gc.collect()
    wait_until(lambda: actors[0].is_dead)


def test_actor_of_a_dropped_session_is_free_again() -> None:
    with LoopbackToolkit(SHOP, max_actors=1, start_timeout=30) as toolkit:
        events = toolkit.session().stream("print(1)\n2")
        with pytest.warns(ResourceWarning, match="a RaySession was dropped before it was closed"):
            assert len([*events]) == 2
        assert toolkit.execute("3").return_value == 3
        wait_until(lambda: "close_session" in toolkit.actors[0].asked)


def test_free_actor_that_has_died_is_replaced_for_questions() -> None:
    with LoopbackToolkit(SHOP) as toolkit:
        toolkit.execute("1")
        toolkit.actors[0].kill()
        with toolkit.session() as session:
            assert session.execute("1").return_value == 1
            toolkit.actors[1].kill()
            assert toolkit.check("find_item('lamp')") == []
        assert len(toolkit.actors) == 3


def test_actors_that_keep_dying_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackToolkit(SHOP) as toolkit:
        toolkit.execute("1")
        ask = LoopbackActor.ask

        def die(actor: LoopbackActor, method: str, *arguments: object) -> object:
            if method == "consult":
                actor.kill()
            return ask(actor, method, *arguments)

        monkeypatch.setattr(LoopbackActor, "ask", die)
        with pytest.raises(ClusterError, match=r"the actor on the node .* is lost: the actor died; call this again"):
            toolkit.prompt()
        assert len(toolkit.actors) == 3
