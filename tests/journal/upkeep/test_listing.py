"""A page of runs is read and checked alone, and no one who writes waits for it."""

from __future__ import annotations

import io
import random
import sqlite3
import threading
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from ez_ptc import Journal, JournalCorruptError, JournalError, Toolkit, ez_tool
from ez_ptc.journal.upkeep.listing import find_ids
from tests.costs.test_calls import count_steps
from tests.journal.sample_runs import NOTHING_KEPT, START, write_run


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a journal with seven runs, of which every second one has ended; the latest first."""
    path = tmp_path_factory.mktemp("seven") / "runs.db"
    with Journal(path) as journal:
        ids = [write_run(journal, random.Random(number), ended=number % 2 == 0) for number in range(7)]
    return path, ids[::-1]


def test_pages_are_the_whole_list(seven: tuple[Path, list[str]]) -> None:
    path, ids = seven
    with Journal(path) as journal:
        for limit in (1, 2, 3, 7, 100):
            listed: list[str] = []
            while page := journal.runs(limit=limit, before=listed[-1] if listed else None):
                assert len(page) <= limit
                listed += [run.id for run in page]
            assert listed == ids
        done = journal.runs("done", limit=2)
        assert [run.id for run in done] == ids[0:4:2]
        assert [run.id for run in journal.runs("done", limit=9, before=done[-1].id)] == ids[4::2]
        assert [run.id for run in journal.runs("resumable", limit=2)] == ids[1:5:2]
        assert journal.runs("failed") == []


def test_page_begins_before_a_pruned_run(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db", retention=None) as journal:
        first, second = [write_run(journal, random.Random(number), ended=number == 1) for number in range(2)]
        journal.prune(NOTHING_KEPT)
        assert [run.id for run in journal.runs(before=second)] == [first]


def test_unknown_beginning_of_an_id_is_looked_up_without_reading_runs(tmp_path: Path) -> None:
    steps: list[int] = []
    with Journal(tmp_path / "runs.db") as journal:
        for number in range(8):
            write_run(journal, random.Random(number), calls=0)
            if number in (1, 7):
                look = partial(journal.store.read, lambda rows: find_ids(rows, "unknown"))
                assert look() == []
                steps.append(count_steps(look))
    assert steps[0] == steps[1]


@pytest.mark.parametrize("beginning", ["", "a", "ab", "a%", "a_", "aé", "a\U0010ffff", "b"])
def test_ids_of_any_text_are_found_by_their_beginnings(beginning: str, tmp_path: Path) -> None:
    ids = ["b", "ab", "a", "a%", "a_c", "aéd", "a\U0010ffffx", "A", "a\U0001f600", "abc"]
    with Journal(tmp_path / "runs.db") as journal:
        for run_id in ids:
            row, _ = journal.start("1", START, run_id=run_id)
            journal.store.locks.disown(row.number)
        matching = [run_id for run_id in ids if run_id.startswith(beginning)]
        expected = [beginning] if beginning in ids else matching
        assert journal.store.read(lambda rows: find_ids(rows, beginning)) == expected


def test_wrong_page_is_refused(seven: tuple[Path, list[str]]) -> None:
    with Journal(seven[0]) as journal:
        for limit in (0, -1, True, 1.5, None):
            with pytest.raises(ValueError, match="limit must be a positive int"):
                journal.runs(limit=cast("int", limit))
        with pytest.raises(JournalError, match="no run 'unknown'"):
            journal.runs(before="unknown")
        with pytest.raises(TypeError):
            journal.runs(before=cast("str", journal.runs(limit=1)[0]))


def test_result_of_a_listed_run_is_that_of_the_run(tmp_path: Path) -> None:
    @ez_tool
    def double(text: str) -> str:
        """Double a text."""
        return 2 * text

    with Journal(tmp_path / "runs.db") as journal, Toolkit([double], journal=journal) as toolkit:
        long_program = f"print(double('x' * 5000))\n# {'-' * 5000}"
        toolkit.execute(long_program)
        (listed,) = journal.runs()
        run = journal.run(listed.id)
        assert listed == run
        assert listed.program == long_program
        assert listed.result == run.result
        assert listed.result is not None
        assert listed.result.tool_calls[0]["result"] == "x" * 10_000


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET data = CAST('{}' AS BLOB) WHERE run = 2 AND position = 3",
        "UPDATE events SET payload = x'00' WHERE run = 2 AND position = 2",
        "UPDATE events SET payload = x'00' WHERE run = 2 AND position = 1",
        "UPDATE runs SET state = 'failed' WHERE number = 2",
        "UPDATE runs SET owner = 'me' WHERE number = 2",
        "DELETE FROM events WHERE run = 2 AND position = 4",
    ],
)
def test_page_is_checked_and_others_are_not(statement: str, tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        ids = [write_run(journal, random.Random(number)) for number in range(3)]
    database = sqlite3.connect(tmp_path / "runs.db")
    with database:
        database.execute(statement)
    database.close()
    with Journal(tmp_path / "runs.db") as journal:
        assert [run.id for run in journal.runs(limit=1)] == ids[2:]
        assert [run.id for run in journal.runs(before=ids[1])] == ids[:1]
        listed = journal.runs()
        assert [(run.id, run.state) for run in listed] == [(ids[2], "done"), (ids[1], "damaged"), (ids[0], "done")]
        assert [run.id for run in journal.runs("damaged")] == [ids[1]]
        assert ids[1] not in [run.id for run in journal.runs("done")]
        for use in (lambda: journal.run(ids[1]), lambda: listed[1].result, listed[1].to_html, journal.verify):
            with pytest.raises(JournalCorruptError):
                use()
        assert ids[1] in repr(listed[1])
        console = Console(record=True, width=100, file=io.StringIO())
        console.print(listed[1])
        assert console.export_text().strip() == f"damaged, run {ids[1]}"


def test_no_writer_waits_for_a_reader(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        write_run(journal, random.Random(1))
        entered, leave = threading.Event(), threading.Event()

        def read(database: Any) -> int:  # noqa: ANN401 - rows of SQLite
            before = len(database.execute("SELECT * FROM runs").fetchall())
            entered.set()
            assert leave.wait(60)
            assert len(database.execute("SELECT * FROM runs").fetchall()) == before
            return before

        counts: list[int] = []
        readers = [threading.Thread(target=lambda: counts.append(journal.store.read(read))) for _ in range(3)]
        for reader in readers:
            reader.start()
        assert entered.wait(60)
        # It would deadlock if a writer or another reader had to wait.
        write_run(journal, random.Random(2), calls=255)
        assert len(journal.runs()) == 2
        leave.set()
        for reader in readers:
            reader.join(60)
        assert set(counts) <= {1, 2}
        assert len(counts) == 3
        assert journal.verify() == 2
