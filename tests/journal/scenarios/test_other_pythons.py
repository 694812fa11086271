"""A run that was recorded with one minor version of Python goes on with another, or diverges before anything runs."""

from __future__ import annotations

import ast
import json
import os
import random
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import pytest

from ez_ptc import Approve, ExecutionResult, Journal, Limits, ProcessSandbox, ReplayDivergedError, Toolkit
from tests.journal.programs import Effects
from tests.journal.pythons import OTHER_PYTHONS
from tests.journal.random_programs import random_program
from tests.journal.side_by_side import PATTERNS, slow_tools

# `make test-replay` sets them.
_ROUNDS: Final = int(os.environ.get("EZ_PTC_REPLAY_ROUNDS", "1"))
_PROGRAMS: Final = int(os.environ.get("EZ_PTC_REPLAY_PROGRAMS", "6")) // 20
_LIMITS: Final = Limits(timeout=60, calls=2_000)
_ENOUGH: Final = 0.95

pytestmark = [pytest.mark.security, pytest.mark.lengthy]


@pytest.fixture(params=list(permutations(OTHER_PYTHONS, 2)), ids="-".join)
def pythons(request: pytest.FixtureRequest) -> Iterator[tuple[ProcessSandbox, ProcessSandbox]]:
    """Sandboxes of two minor versions: the one that records, and the one that goes on."""
    first, second = map(OTHER_PYTHONS.__getitem__, request.param)
    with ProcessSandbox(ready=1, paused=0, python=first) as here, ProcessSandbox(ready=1, python=second) as there:
        yield here, there


class _Upgrades:
    """Runs that are recorded in one sandbox and go on in another at each pause."""

    def __init__(self, folder: Path, pythons: tuple[ProcessSandbox, ProcessSandbox]) -> None:
        self.folder = folder
        self.pythons = pythons
        self.effects = Effects(folder / "effects")
        self.count = 0
        self.differences: list[str] = []

    def run(self, code: str, tools: list[Any]) -> None:
        """Run a program to its end, and note the difference if it diverges."""
        self.count += 1
        self.effects.path.unlink(missing_ok=True)
        here, there = self.pythons
        with Journal(self.folder / f"{self.count}.db") as journal:
            with Toolkit(tools, journal=journal, limits=_LIMITS, sandbox=here) as toolkit:
                result = toolkit.execute(code)
            assert result.status == "paused", (code, result.error_output)
            with Toolkit(tools, journal=journal, limits=_LIMITS, sandbox=there) as toolkit:
                while result.status == "paused":
                    before = self.effects.lines()
                    try:
                        result = self._resume(toolkit, result)
                    except ReplayDivergedError as error:
                        assert self.effects.lines() == before
                        self.differences.append(str(error))
                        return
        assert result.status == "done", (code, result.error_output)
        assert set(self.effects.lines().values()) <= {1}

    @staticmethod
    def _resume(toolkit: Toolkit, paused: ExecutionResult) -> ExecutionResult:
        assert paused.run_id is not None
        done = toolkit.resume(paused.run_id, {call.id: Approve() for call in paused.pending}, upgrade=True)
        assert done.output.startswith(paused.output)
        return done

    @property
    def share(self) -> float:
        """The part of the runs that went on."""
        return 1 - len(self.differences) / self.count


@pytest.fixture
def upgrades(tmp_path: Path, pythons: tuple[ProcessSandbox, ProcessSandbox]) -> _Upgrades:
    return _Upgrades(tmp_path, pythons)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_concurrent_run_goes_on_with_another_python(pattern: str, upgrades: _Upgrades) -> None:
    for number in range(_ROUNDS):
        upgrades.run(PATTERNS[pattern], slow_tools(upgrades.effects, random.Random(number)))
    assert upgrades.differences == []


def test_idioms_go_on_with_another_python(shared_folder: Path, upgrades: _Upgrades) -> None:
    """What each program of the corpus prints and returns is made again before its call goes on."""
    corpus = json.loads((shared_folder / "corpora" / "programs.json").read_text(encoding="utf-8"))
    for program in corpus:
        tree = ast.parse(program["code"])
        if isinstance(last := tree.body[-1], ast.Expr):
            last.value = ast.Call(ast.Name("print"), [last.value], [])
        code = ast.unparse(ast.fix_missing_locations(tree))
        upgrades.run(f"{code}\nprint(transfer('last', 1))", upgrades.effects.tools())
    assert upgrades.share >= _ENOUGH, upgrades.differences


def test_random_programs_go_on_with_another_python(upgrades: _Upgrades) -> None:
    for seed in range(max(_PROGRAMS, 2)):
        code = f"{random_program(seed)}\nprint(transfer('last', 1))"
        upgrades.run(code, upgrades.effects.tools(is_async=seed % 2 == 1))
    assert upgrades.share >= _ENOUGH, upgrades.differences
