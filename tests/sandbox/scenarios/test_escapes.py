"""Hostile programs against the real sandbox: nothing of the host is reached, and the host goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.sandbox.escapes.catalog import OWN, SLOW
from tests.sandbox.scripts import ROOT

# Each of them takes the whole of its time or of its memory, which the tests of the limits try in another way.
SLOW_CLASSES = ("timeouts", "memory", "output")
PARTS = 6
in_parts = pytest.mark.parametrize("part", range(PARTS))
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]


def throw_away(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in namespaces that end with it."""
    return subprocess.run(
        [*NAMESPACES, *command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def in_namespaces() -> None:
    """Skip the tests where hostile programs cannot be kept apart from this machine."""
    if os.geteuid() != 0:
        pytest.skip("hostile programs run only in throwaway namespaces, which need root")
    try:
        possible = throw_away("true").returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        pytest.skip("hostile programs run only in throwaway namespaces, which cannot be made here")


def breaches(folder: Path, *arguments: str) -> dict[str, list[str]]:
    """Return what programs in an arena have breached, by the program's name."""
    done = throw_away(sys.executable, "-m", "tests.sandbox.arena", str(folder), *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def corpus(shared_folder: Path) -> tuple[Path, dict[str, str]]:
    path = shared_folder / "corpora" / "escapes.json"
    return path, {entry["id"]: entry["class"] for entry in json.loads(path.read_text(encoding="utf-8"))}


@in_parts
@pytest.mark.sampled(every=PARTS)
def test_hostile_programs_reach_nothing(shared_folder: Path, tmp_path: Path, part: int) -> None:
    path, classes = corpus(shared_folder)
    names = [name for name, kind in classes.items() if kind not in SLOW_CLASSES]
    assert len(names) > 150
    names = names[part::PARTS]
    assert breaches(tmp_path, str(path), *names) == {name: [] for name in names}


@pytest.mark.security
@pytest.mark.parametrize("slow", SLOW_CLASSES)
def test_hostile_programs_that_take_their_time_reach_nothing(shared_folder: Path, tmp_path: Path, slow: str) -> None:
    path, classes = corpus(shared_folder)
    names = [name for name, kind in classes.items() if kind == slow]
    assert len(names) > 2
    assert breaches(tmp_path, str(path), *names) == {name: [] for name in names}


# Some of each class, and all that are over at once.
EVERYDAY = ("kernel", "executable", "files", "processes", "aftermath")


@in_parts
@pytest.mark.sampled(every=PARTS)
def test_own_hostile_programs_reach_nothing(tmp_path: Path, part: int) -> None:
    names = [name for name in OWN if name.startswith(EVERYDAY)]
    assert len(names) > 40
    names = names[part::PARTS]
    assert breaches(tmp_path, "own", *names) == {name: [] for name in names}


def kinds(programs: Iterable[str]) -> list[str]:
    """Return the classes of programs: each is a test, so that they can run side by side."""
    return sorted({name.partition(":")[0] for name in programs})


@pytest.mark.security
@pytest.mark.parametrize("kind", [kind for kind in kinds(OWN) if kind not in EVERYDAY])
def test_remaining_hostile_programs_reach_nothing(tmp_path: Path, kind: str) -> None:
    names = [name for name in OWN if name.startswith(f"{kind}:")]
    assert breaches(tmp_path, "own", *names) == {name: [] for name in names}


@pytest.mark.security
@pytest.mark.parametrize("kind", kinds(SLOW))
def test_slow_hostile_programs_reach_nothing(tmp_path: Path, kind: str) -> None:
    names = [name for name in SLOW if name.startswith(f"{kind}:")]
    assert breaches(tmp_path, "slow", *names) == {name: [] for name in names}


BREACHES = ["claim", "canary", "ungranted", "net", "marker", "host state", "mem", "host error", "threads", "processes"]


@pytest.mark.parametrize("hows", [["claim", "canary"], pytest.param(BREACHES, marks=pytest.mark.sampled(every=0))])
def test_each_kind_of_breach_would_be_seen(hows: list[str], tmp_path: Path) -> None:
    """Made by a tool, since no program can; without this the tests above would prove nothing."""
    found = breaches(tmp_path, "breach", *hows)
    seen: set[str] = set()
    for how in hows:
        kinds = {kind for kind in BREACHES if any(name.startswith(kind) for name in found[how])}
        assert how in kinds
        assert how not in seen
        seen |= kinds
