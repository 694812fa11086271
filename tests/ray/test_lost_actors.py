"""Actors that die at each question of their caller: no recorded effect is doubled, and none is lost."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import DidNotHappen, ExecutionResult, Happened, ProgramEnded, RayToolkit, ez_tool
from ez_ptc.errors import ClusterError, WorkerDiedError
from ez_ptc.ray import conversing
from tests.ray import shop
from tests.ray.loopback import Loopback, LoopbackActor, LoopbackToolkit

PROGRAM = "for number in range(4):\n    print(note(str(number)))"


class _MortalActor(LoopbackActor):
    """Dies once, when it has been asked so often: before it has answered, or after, when no one learns of it."""

    lives: list[int] = []  # noqa: RUF012 - replaced by each test
    dies_first = True

    def ask(self, method: str, *arguments: object) -> Any:
        if self.dies_first and self._is_over():
            self.kill()
        return super().ask(method, *arguments)

    def change(self, method: str, value: Any) -> object:
        if not self.dies_first and self._is_over():
            self.kill()
        return value

    def _is_over(self) -> bool:
        if not self.lives:
            return False
        self.lives[0] -= 1
        return self.lives[0] < 0 and self.lives.pop() < 0


class _MortalCluster(Loopback):
    actor_class = _MortalActor


class _MortalToolkit(LoopbackToolkit):
    cluster_class = _MortalCluster


def go_on(toolkit: RayToolkit, result: ExecutionResult, effects: Path) -> ExecutionResult:
    """Say of each call of unknown outcome what happened, as a person who looks at the effects, until the run ends."""
    while result.status == "paused":
        decisions: dict[str, object] = {}
        for call in result.pending:
            notes = effects.read_text().splitlines()
            text = call.arguments["text"]
            decisions[call.id] = Happened(notes.index(text) + 1) if text in notes else DidNotHappen()
        assert result.run_id is not None
        result = toolkit.resume(result.run_id, decisions)
    return result


def run_with_death(folder: Path, lives: int, *, dies_first: bool) -> list[str]:
    """Run the program with an actor that dies once, and return the effects; the result is what it always is."""
    effects = folder / "effects"
    effects.write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(shop.EFFECTS, str(effects))
        patch.setattr(shop, "journaled", shop.Toolkit([shop.note], journal=folder / f"{lives}-{dies_first}.db"))
        patch.setattr(_MortalActor, "lives", [lives])
        patch.setattr(_MortalActor, "dies_first", dies_first)
        with _MortalToolkit("tests.ray.shop:journaled") as toolkit:
            refusal, outcome = "", ("done", "1\n2\n3\n4\n")
            try:
                ended = [*toolkit.stream(PROGRAM)][-1]
                assert isinstance(ended, ProgramEnded)
                result = go_on(toolkit, ended.result, effects)
                outcome = result.status, result.output
            except WorkerDiedError as error:
                refusal = str(error)
        shop.journaled.close()
    notes = effects.read_text().splitlines()
    if refusal:  # the actor died before it recorded anything
        assert ("it was not run again" in refusal, notes) == (True, [])
    else:
        assert (outcome, notes) == (("done", "1\n2\n3\n4\n"), ["0", "1", "2", "3"])
    return notes


def test_actor_that_dies_doubles_no_effect(tmp_path: Path) -> None:
    for dies_first in (True, False):
        notes = run_with_death(tmp_path, 3, dies_first=dies_first)
        assert len(notes) == len(set(notes))


@pytest.mark.security
@pytest.mark.parametrize("dies_first", [True, False])
def test_actor_that_dies_at_any_question_doubles_no_effect(tmp_path: Path, dies_first: bool) -> None:
    for lives in range(40):
        try:
            notes = run_with_death(tmp_path, lives, dies_first=dies_first)
        except ClusterError:
            assert lives < 2  # it has never started
        else:
            assert len(notes) == len(set(notes))


class _QuietActor(LoopbackActor):
    """Runs a program until it has been asked three times whether it lives, and answers that or not."""

    is_alive = True
    released = threading.Event()

    def ask(self, method: str, *arguments: object) -> Any:
        if method == "ping":
            if self.asked.count("ping") >= 2 or not self.is_alive:
                self.released.set()
            if not self.is_alive:
                return Future[Any]()
        return super().ask(method, *arguments)


class _QuietToolkit(LoopbackToolkit):
    cluster_class = type("_QuietCluster", (Loopback,), {"actor_class": _QuietActor})


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    released = threading.Event()

    @ez_tool
    def hang() -> bool:
        """Hang."""
        return released.wait(60)

    monkeypatch.setattr(_QuietActor, "released", released)
    monkeypatch.setattr(shop, "toolkit", shop.Toolkit([hang]))
    monkeypatch.setattr(conversing, "QUIET_SECONDS", 0.01)
    return released


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.usefixtures("released")
def test_silent_program_of_living_actor_goes_on(*, is_streamed: bool) -> None:
    with _QuietToolkit("tests.ray.shop:toolkit") as toolkit:
        if is_streamed:
            ended = [*toolkit.stream("hang()", timeout=60)][-1]
            assert isinstance(ended, ProgramEnded)
            result = ended.result
        else:
            result = toolkit.execute("hang()", timeout=60)
        assert result.return_value is True
        assert toolkit.actors[0].asked.count("ping") >= 3


@pytest.mark.parametrize("is_streamed", [False, True])
def test_silent_actor_is_lost_with_its_program(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch, *, is_streamed: bool
) -> None:
    monkeypatch.setattr(_QuietActor, "is_alive", False)
    monkeypatch.setattr(conversing, "MAX_SILENCE", 0.02)
    with _QuietToolkit("tests.ray.shop:toolkit") as toolkit:
        with pytest.raises(WorkerDiedError, match="it has not answered for 0 s"):
            _ = [*toolkit.stream("hang()", timeout=60)] if is_streamed else toolkit.execute("hang()", timeout=60)
        assert toolkit.actors[0].is_dead
    assert released.is_set()
