"""What a program on an actor costs, in questions and event loops."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final

import pytest

from ez_ptc import Toolkit
from tests.ray import shop
from tests.ray.loopback import Loopback, LoopbackActor, LoopbackToolkit


def test_program_is_one_question_and_no_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackToolkit("tests.ray.shop:toolkit") as toolkit:
        toolkit.execute("1")
        toolkit.actors[0].asked.clear()
        # They would cost more than the question.
        monkeypatch.delattr(asyncio, "new_event_loop")
        results = [toolkit.execute("find_item('lamp')['price']", approve=lambda _: True) for _ in range(3)]
        assert [result.return_value for result in results] == [25.5] * 3
        assert toolkit.actors[0].asked == ["begin"] * 3


class _NotingToolkit(Toolkit):
    """Notes the thread of each program."""

    threads: Final[list[threading.Thread]] = []

    def execute(self, *arguments: Any, **settings: Any) -> Any:
        self.threads.append(threading.current_thread())
        return super().execute(*arguments, **settings)


class _NotingActor(LoopbackActor):
    """Notes the thread of each question, and the types of what is sent for a program."""

    threads: Final[list[threading.Thread]] = []
    types: Final[list[str]] = []

    def ask(self, method: str, *arguments: object) -> Any:
        if method == "begin":
            self.types.extend(type(argument).__name__ for argument in arguments)
        return super().ask(method, *arguments)

    def change(self, method: str, value: Any) -> object:
        self.threads.append(threading.current_thread())
        if method == "begin":
            self.types.append(type(value).__name__)
        return super().change(method, value)


def test_program_that_asks_nothing_runs_in_the_thread_of_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two threads that wait for each other would take a fifth of the question's time.
    monkeypatch.setattr(shop, "toolkit", _NotingToolkit([shop.find_item]))
    monkeypatch.setattr(Loopback, "actor_class", _NotingActor)
    with LoopbackToolkit("tests.ray.shop:toolkit") as toolkit:
        toolkit.execute("1")
        toolkit.execute("1", approve=lambda _: True)
    direct, other = _NotingToolkit.threads
    assert direct in _NotingActor.threads
    assert other not in _NotingActor.threads


def test_request_and_result_need_no_pickling_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ray has a long way for all but bytes and texts.
    monkeypatch.setattr(Loopback, "actor_class", _NotingActor)
    with LoopbackToolkit("tests.ray.shop:toolkit") as toolkit:
        toolkit.execute("find_item('lamp')", context={"user": 7})
    assert _NotingActor.types[-3:] == ["str", "bytes", "bytes"]
