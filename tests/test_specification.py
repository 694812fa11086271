"""SPECIFICATION.md names real tests, and each of its promises has one."""

from __future__ import annotations

import re
from pathlib import Path

PROMISE = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \| (.+?) \|$", re.MULTILINE)
TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
SLOW = re.compile(r"^(?:pytestmark = |@)pytest\.mark\.(?:security|sampled\(every=0)", re.MULTILINE)
NODE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def promises(repository: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the number of each promise with the tests that it names."""
    text = (repository / "SPECIFICATION.md").read_text(encoding="utf-8")
    return [(number, NODE.findall(tests)) for number, _, tests in PROMISE.findall(text)]


def names_in(path: Path, *, without_slow: bool = False) -> set[str]:
    """Return the names of the test functions in a file, with or without those of the slow tests."""
    text = path.read_text(encoding="utf-8")
    blocks = text.split("\n\n\n")
    if without_slow and not SLOW.search(blocks[0]):
        blocks = [block for block in blocks if not SLOW.search(block)]
    elif without_slow:
        blocks = []
    return {name for block in blocks for name in TEST.findall(block)}


def test_every_test_that_is_named_exists(repository: Path) -> None:
    named = {node for _, nodes in promises(repository) for node in nodes}
    files = {name: names_in(repository / name) for name, _ in named if (repository / name).is_file()}
    assert {f"{name}::{test}" for name, test in named if test not in files.get(name, set())} == set()


def test_every_promise_has_unique_number_and_test(repository: Path) -> None:
    found = promises(repository)
    assert len(found) > 20
    assert len({number for number, _ in found}) == len(found)
    assert [number for number, nodes in found if not nodes] == []


def test_every_promise_is_tested_in_each_run(repository: Path) -> None:
    found = promises(repository)
    files = {name for _, nodes in found for name, _ in nodes}
    quick = {name: names_in(repository / name, without_slow=True) for name in files}
    assert [number for number, nodes in found if not any(test in quick[name] for name, test in nodes)] == []
