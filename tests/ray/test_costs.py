"""What a program on an actor costs, in questions and event loops."""

from __future__ import annotations

import asyncio

import pytest

from tests.ray.loopback import LoopbackToolkit


def test_program_is_one_question_and_no_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackToolkit("tests.ray.shop:toolkit") as toolkit:
        toolkit.execute("1")
        toolkit.actors[0].asked.clear()
        # They would cost more than the question.
        monkeypatch.delattr(asyncio, "new_event_loop")
        results = [toolkit.execute("find_item('lamp')['price']", approve=lambda _: True) for _ in range(3)]
        assert [result.return_value for result in results] == [25.5] * 3
        assert toolkit.actors[0].asked == ["begin"] * 3
