"""The half of the harness outside: gives a module of Lib/test to both sides, and takes what became of its tests."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ez_ptc import Limits, Tool, Toolkit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FOLDER", "Outcome", "Side", "find_modules", "run_inside", "run_outside"]

FOLDER: Final = Path(json.__file__).parent.parent / "test"
"""CPython's own tests, in the installation of this interpreter; distributions leave them out."""
SECONDS: Final = 20
_LIMITS: Final = Limits(timeout=SECONDS, memory=1 << 30, calls=1_000_000)
_PROGRAM: Final = (Path(__file__).parent / "inside.py").read_text(encoding="utf-8")
_ENDS: Final = 3
"""How often a side that hung or died is started again for the tests that are left."""
_RANK: Final = {"started": 0, "ok": 1, "skipped": 2, "failed": 3, "error": 4}
_OUTSIDE: Final = """
import json, os, sys
def source_of(name, _folder=sys.argv[1]):
    if name.partition(".")[0] != "test":
        return []
    path = os.path.join(_folder, *name.split(".")[1:])
    for path, kind in (os.path.join(path, "__init__.py"), "package"), (path + ".py", "module"):
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return [file.read(), kind]
    return []
def report(*row, _file=os.fdopen(os.dup(1), "w")):
    print(json.dumps(row), file=_file, flush=True)
os.dup2(2, 1)
with open(sys.argv[2], encoding="utf-8") as _file:
    exec(compile(_file.read(), "program", "exec", dont_inherit=True))
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test: ok, skipped, failed, error, or started where it never ended."""

    outcome: str
    raised: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


@dataclass(slots=True)
class Side:
    """What became of the tests of a module on one side."""

    tests: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    finished: bool = False
    end: str = ""

    def take(self, test: str, outcome: str, raised: list[str], asked: list[str]) -> None:
        """Keep the worst that is reported of a test."""
        if outcome == "finished":
            self.finished = True
            return
        before = self.tests.get(test)
        if test and (
            before is None or _RANK[outcome] > _RANK[before.outcome] or outcome == before.outcome == "started"
        ):
            self.tests[test] = Outcome(outcome, tuple(raised), tuple(asked))


def find_modules() -> list[str]:
    """Return the names of the modules of tests that are installed, those of packages one by one."""
    # Before Python 3.12, what test_unittest collects lies elsewhere, and it looks into that folder.
    unittests = [file for file in FOLDER.parent.glob("unittest/test/**/test*.py") if file.stem != "test"]
    top = [file for file in FOLDER.glob("test_*.py") if not (unittests and file.stem == "test_unittest")]
    nested = list(FOLDER.glob("test_*/**/test*.py"))
    found = {path.relative_to(FOLDER.parent).with_suffix("").parts for path in top + nested + unittests}
    return sorted(map(".".join, found))


@cache
def _helpers() -> frozenset[str]:
    """Return the names of the modules that `test.support` imports at its top: without them no test begins."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in FOLDER.joinpath("support").glob("*.py")]
    statements = [statement for tree in trees for statement in tree.body if isinstance(statement, ast.Import)]
    return frozenset(alias.name for statement in statements for alias in statement.names)


def source_of(name: str) -> list[str]:
    """Return the text of a module of CPython's tests, and whether it is a package or a module."""
    if not all(part.isidentifier() for part in name.split(".")):
        return []
    path = FOLDER.parent.joinpath(*name.split("."))
    if {"test", "tests"}.isdisjoint(name.split(".")) and name not in _helpers():
        return []
    for file, kind in ((path / "__init__.py", "package"), (path.with_suffix(".py"), "module")):
        if file.is_file():
            return [file.read_text(encoding="utf-8"), kind]
    return []


def run_inside(module: str) -> Side:
    """Run the tests of a module as a program in the sandbox."""
    side = Side()

    def report(test: str, outcome: str, raised: list[str], asked: list[str]) -> None:
        """Take what became of a test."""
        side.take(test, outcome, raised, asked)

    def execute(program: str) -> str:
        with Toolkit([Tool.from_function(source_of), Tool.from_function(report)], limits=_LIMITS) as toolkit:
            return toolkit.execute(program).error or ""

    return _complete(side, module, execute)


def run_outside(module: str) -> Side:
    """Run the tests of a module in a plain process of the same interpreter, in an empty folder."""
    side = Side()

    def execute(program: str) -> str:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            file = Path(folder, "program.py")
            file.write_text(program, encoding="utf-8")
            command = [sys.executable, "-B", "-P", "-s", "-S", "-c", _OUTSIDE, str(FOLDER), str(file)]
            try:
                done = subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS, check=False)
                output, end = done.stdout, f"exit {done.returncode}"
            except subprocess.TimeoutExpired as expired:
                output, end = expired.stdout or b"", "timeout"
        for line in output.decode("utf-8", "replace").splitlines():
            side.take(*json.loads(line))
        return end

    return _complete(side, module, execute)


def _complete(side: Side, module: str, execute: Callable[[str], str]) -> Side:
    for _ in range(_ENDS):
        side.finished = False
        side.end = execute(f"{_PROGRAM}\nrun({module!r}, {set(side.tests) or ()!r})\n")
        if side.finished or module in side.tests:
            break
    return side
