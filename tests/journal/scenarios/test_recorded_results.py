"""Pictures and output of a program are recorded once, whatever the number of its pauses, and every result has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

import pytest

from ez_ptc import Journal, JournalCorruptError, Limits, ProcessSandbox, Toolkit, ez_tool
from ez_ptc.journal.chain import Event
from ez_ptc.sandbox.protocol import host_codec
from tests.journal.rewriting import rewrite_events

# What Pillow and matplotlib do when they show a picture: a test needs no package for it.
_PROGRAM: Final = """
import random, struct, sys, zlib

class Image:
    mode, width, height = "RGB", 1, 1

    def __init__(self, size):
        self.size = size

    def save(self, file, format):
        def part(kind, body):
            return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
        parts = ((b"IHDR", header), (b"IDAT", random.Random(self.size).randbytes(self.size)), (b"IEND", b""))
        file.write(b"\\x89PNG\\r\\n\\x1a\\n" + b"".join(part(kind, body) for kind, body in parts))

pictures = next(module for name, module in sys.modules.items() if name.endswith("running.pictures")).PICTURES
for number in range(6):
    if number in (0, 2, 5):
        pictures.add(Image(300_000 + number))
        pictures.add(Image(2_000))
    ask(number)
pictures.add(Image(300_000))
"""


@ez_tool(requires_approval=True)
def ask(number: int) -> int:
    """Ask."""
    return number


@pytest.fixture
def toolkits(tmp_path: Path) -> Iterator[list[Toolkit]]:
    """Return two toolkits with workers of their own, of which each starts a program again."""
    with contextlib.ExitStack() as stack:
        sandboxes = [stack.enter_context(ProcessSandbox(paused=0)) for _ in range(2)]
        limits = Limits(timeout=60)
        yield [
            stack.enter_context(Toolkit([ask], sandbox=sandbox, limits=limits, journal=tmp_path / "runs.db"))
            for sandbox in sandboxes
        ]


def _sizes(journal: Journal, run_id: str) -> list[int]:
    result = journal.run(run_id).result
    assert result is not None
    return [len(image.data or b"") // 1000 for image in result.images]


def _recorded(journal: Journal, run_id: str) -> int:
    return sum(len(event.payload or b"") for event in journal.events(run_id))


def _with_pictures_in_results(journal: Journal, run_id: str) -> None:
    """Record a paused run as earlier versions did: each pause with all pictures so far."""
    result = journal.run(run_id).result
    assert result is not None
    events: list[Event] = []
    for event in journal.events(run_id):
        if event.kind == "pause":
            fields = cast("dict[str, object]", host_codec.loads_recorded(event.payload or b""))
            fields = {**fields, "images": [image.data for image in result.images]}
            fields.pop("pictures", None)
            events.append(event._replace(payload=host_codec.dumps(host_codec.recorded_tree(fields))))
        elif event.kind != "picture":
            events.append(event)
    rewrite_events(journal, run_id, events, "paused")


_SHOWN: Final = [[300, 2]] * 2 + [[300, 2, 300, 2]] * 3 + [[300, 2, 300, 2, 300, 2]]


def test_picture_is_recorded_once_whatever_the_number_of_pauses(toolkits: list[Toolkit], tmp_path: Path) -> None:
    result = toolkits[0].execute(_PROGRAM)
    run_id = str(result.run_id)
    sizes: list[int] = []
    with Journal(tmp_path / "runs.db") as journal:
        for number, shown in enumerate(_SHOWN, 1):
            assert (result.status, _sizes(journal, run_id)) == ("paused", shown)
            assert journal.run(run_id).to_html().count("<img") == len(shown)
            sizes.append(_recorded(journal, run_id))
            result = toolkits[number % 2].resume(run_id, {result.pending[0].id: True})
        assert (result.status, len(result.images)) == ("done", 7)
        assert _sizes(journal, run_id) == [*_SHOWN[-1], 300]
        sizes.append(_recorded(journal, run_id))
        grown = [(after - before) // 100_000 for before, after in pairwise(sizes)]
        assert grown == [0, 3, 0, 0, 3, 0]  # the last picture equals the first
        assert [event.kind for event in journal.events(run_id)].count("picture") == 4
        assert toolkits[0].replay(run_id).images == result.images
        assert journal.verify() == 1


@pytest.mark.parametrize("is_abandoned", [True, False])
def test_run_with_pictures_in_its_results_goes_on(is_abandoned: bool, toolkits: list[Toolkit]) -> None:
    """Earlier versions recorded them so."""
    result = toolkits[0].execute(_PROGRAM)
    run_id = str(result.run_id)
    journal = toolkits[0].open_journal()
    _with_pictures_in_results(journal, run_id)
    result = toolkits[1].resume(run_id, {result.pending[0].id: True})
    _with_pictures_in_results(journal, run_id)
    assert _sizes(journal, run_id) == [300, 2]
    if is_abandoned:
        journal.abandon(run_id, "no use")
    else:
        toolkits[0].resume(run_id, {result.pending[0].id: True})
    assert _sizes(journal, run_id)[:2] == [300, 2]
    assert journal.verify() == 1


_PRINTING: Final = """
import sys
for number in range(6):
    if number in (0, 1, 4):
        print(str(number) * 200_000, end="")
        print("e" * 50_000 * number, file=sys.stderr, end="")
    ask(number)
"""


@pytest.mark.parametrize("damaged", [False, True])
def test_output_is_recorded_once_whatever_the_number_of_pauses(
    damaged: bool, toolkits: list[Toolkit], tmp_path: Path
) -> None:
    result = toolkits[0].execute(_PRINTING)
    run_id = str(result.run_id)
    sizes: list[int] = []
    with Journal(tmp_path / "runs.db") as journal:
        for number in range(1, 7):
            shown = journal.run(run_id).result
            assert shown is not None
            assert shown.status == result.status == "paused"
            assert (shown.output, shown.error_output) == (result.output, result.error_output)
            assert len(result.output) == 200_000 * (1 + (number > 1) + (number > 4))
            sizes.append(_recorded(journal, run_id))
            if damaged and number == 6:  # only another writer could do that
                events = toolkits[0].open_journal().events(run_id)
                events = [event._replace(payload=b"[]") if event.kind == "pause" else event for event in events]
                rewrite_events(toolkits[0].open_journal(), run_id, events, "paused")
            result = toolkits[number % 2].resume(run_id, {result.pending[0].id: True})
        shown = journal.run(run_id).result
        assert shown is not None
        assert (shown.status, shown.output, shown.error_output) == ("done", result.output, result.error_output)
        assert toolkits[0].replay(run_id).output == result.output
        grown = [(after - before) // 100_000 for before, after in pairwise(sizes)]
        assert damaged or (grown, journal.verify()) == ([2, 0, 0, 4, 0], 1)


def test_exported_run_has_its_pictures(toolkits: list[Toolkit], tmp_path: Path) -> None:
    toolkits[0].execute(_PROGRAM.replace("ask(number)", "0"), run_id="r")
    with Journal(tmp_path / "runs.db") as journal, Journal(tmp_path / "other.db") as other:
        assert other.load(journal.export("r", portable=True)) == "r"
        assert _sizes(other, "r") == _sizes(journal, "r") == [*_SHOWN[-1], 300]


def test_result_without_its_picture_is_damaged(toolkits: list[Toolkit], tmp_path: Path) -> None:
    result = toolkits[0].execute(_PROGRAM)
    run_id = str(result.run_id)
    with Journal(tmp_path / "runs.db") as journal:
        first, *others = [event for event in journal.events(run_id) if event.kind != "picture"]
        rewrite_events(journal, run_id, [first, *others], "paused")
        with pytest.raises(JournalCorruptError, match="has pictures that were not recorded"):
            journal.run(run_id)
        journal.abandon(run_id, "it is damaged")
        assert journal.run(run_id).state == "failed"
