"""A damaged journal says so, and is never silently wrong."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from ez_ptc import Journal, JournalCorruptError, JournalError
from tests.journal.sample_runs import NOTHING_KEPT, exported, write_run

_FLIPS = 60


def _copy(journal: Journal, folder: Path) -> Path:
    folder.mkdir()
    for suffix in ("", "-wal", "-lock"):
        path = journal.path.with_name(journal.path.name + suffix)
        if path.exists():
            shutil.copy(path, folder / path.name)
    return folder / journal.path.name


def _usage(path: Path) -> dict[str, list[str]] | None:
    """Return what a user sees of a journal; None if the journal refuses."""
    try:
        with Journal(path) as journal:
            journal.verify()
            return exported(journal)
    except JournalError:
        return None


def test_damaged_schema_that_is_no_text_is_detected(tmp_path: Path) -> None:
    """SQLite quotes it in its error, which Python's module then cannot decode."""
    with Journal(tmp_path / "runs.db") as journal:
        write_run(journal, random.Random(1))
    content = journal.path.read_bytes()
    assert b"CREATE TABLE runs" in content
    journal.path.write_bytes(content.replace(b"CREATE TABLE runs", b"CREATE T\x80BLE runs", 1))
    with Journal(journal.path) as damaged, pytest.raises(JournalCorruptError, match=r"is damaged: .*restore it"):
        damaged.runs()


@pytest.mark.lengthy
@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_flipped_bits_are_detected_or_harmless(suffix: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    journal = Journal(tmp_path / "runs.db")
    for _ in range(3):
        write_run(journal, chance)
    if suffix:
        journal.close()
        write_run(journal, chance, calls=2, ended=False)
    with journal:
        intact = exported(journal)
        if not suffix:
            journal.close()
        detected = 0
        for number in range(_FLIPS):
            path = _copy(journal, tmp_path / str(number))
            damaged = path.with_name(path.name + suffix)
            content = bytearray(damaged.read_bytes())
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            damaged.write_bytes(content)
            seen = _usage(path)
            detected += seen is None
            assert seen in (None, intact)
    assert detected > _FLIPS // 10


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_truncated_journal_is_detected(suffix: str, tmp_path: Path) -> None:
    chance = random.Random(1)
    journal = Journal(tmp_path / "runs.db")
    write_run(journal, chance)
    journal.close()
    with journal:
        write_run(journal, chance, calls=1)
        intact = exported(journal)
        for number in range(20):
            path = _copy(journal, tmp_path / str(number))
            damaged = path.with_name(path.name + suffix)
            damaged.write_bytes(damaged.read_bytes()[: chance.randrange(damaged.stat().st_size) if number else 0])
            assert _usage(path) is None, number
        assert exported(journal) == intact


def test_earlier_copy_of_a_journal_is_refused(tmp_path: Path) -> None:
    chance = random.Random(2)
    journal = Journal(tmp_path / "runs.db")
    write_run(journal, chance)
    journal.close()
    shutil.copy(journal.path, tmp_path / "copy.db")
    write_run(journal, chance)
    journal.close()
    shutil.copy(tmp_path / "copy.db", journal.path)

    with pytest.raises(JournalCorruptError, match=r"delete runs\.db-lock"), journal:
        journal.runs()
    (tmp_path / "runs.db-lock").unlink()
    with Journal(journal.path) as restored:
        assert len(restored.runs()) == 1


def test_deleted_journal_begins_anew(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        write_run(journal, random.Random(3))
    journal.path.unlink()

    with Journal(journal.path) as again:
        assert again.runs() == []


_TAMPERING = {
    "UPDATE runs SET state = 'failed'": "table runs",
    "UPDATE runs SET id = 'other' WHERE number = 2": "event 1 of run other",
    "UPDATE runs SET number = 7 WHERE number = 2": "row 7, 1 of the table events",
    "UPDATE runs SET epoch = 9, owner = 'me'": "table runs",
    "DELETE FROM runs WHERE number = 3": "row 3 of the table",
    "DELETE FROM runs": "row 2 of the table",
    "INSERT INTO runs SELECT 9, 'x', session, state, created,"
    " changed, epoch, owner, events, head FROM runs LIMIT 1": "run x",
    "UPDATE events SET data = CAST('{}' AS BLOB) WHERE position = 3": "event 3 of run",
    "UPDATE events SET time = time + 1 WHERE position = 2": "event 2 of run",
    "UPDATE events SET path = '9' WHERE position = 2": "event 2 of run",
    "UPDATE events SET payload = x'00' WHERE position = 2": "event 2 of run",
    "DELETE FROM events WHERE position = 4": "event 4 of run",
    "DELETE FROM events WHERE position = 8": "event 8 of run",
    "INSERT INTO events SELECT run, 99, kind, path, time, data, payload, content, hash FROM events LIMIT 1": "event 9",
    "INSERT INTO events SELECT 99, 1, kind,"
    " path, time, data, payload, content, hash FROM events LIMIT 1": "table events",
    "UPDATE contents SET data = x'00'": "content is missing or was changed",
    "DELETE FROM contents": "content is missing",
    "INSERT INTO contents VALUES (x'00', x'00')": "table contents",
    "UPDATE uses SET run = 1 WHERE run = 2": "table uses",
    "DELETE FROM uses": "table uses",
    "INSERT INTO uses SELECT 99, hash FROM contents LIMIT 1": "table uses",
    "UPDATE pruned SET id = 'other'": "table pruned",
    "DELETE FROM pruned": "removed or added",
    "INSERT INTO pruned VALUES (2, 'x', 0.0, x'00')": "table pruned",
    "UPDATE commits SET number = 1": "had",
    "UPDATE commits SET number = 1000": "table commits",
    "DELETE FROM commits": "table commits",
    "UPDATE sqlite_sequence SET seq = 0": "table runs",
    "UPDATE sqlite_sequence SET seq = 10": "table runs",
    "DELETE FROM sqlite_sequence": "table runs",
    "UPDATE sqlite_sequence SET seq = 'many'": "sqlite_sequence",
    "UPDATE sqlite_sequence SET seq = x'00'": "sqlite_sequence",
    "UPDATE sqlite_sequence SET seq = 1 << 60": "row 5 of the table runs",
    "UPDATE sqlite_sequence SET name = 'other'": "sqlite_sequence",
    "INSERT INTO sqlite_sequence VALUES ('runs', 4)": "sqlite_sequence",
    "UPDATE events SET payload = x'00' WHERE content IS NOT NULL": "event . of run",
    "UPDATE events SET payload = x'' WHERE content IS NOT NULL": "event . of run",
    "INSERT INTO pruned VALUES (-1, 'x', 0.0, x'00')": "table pruned",
    "UPDATE pruned SET time = 0.0": "table pruned",
    "UPDATE commits SET is_open = 7": "table commits",
    "UPDATE format SET reader = '9'": "table format",
    "DELETE FROM format": "table format",
    "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END": "trigger t",
    "DROP INDEX runs_of_sessions": "runs_of_sessions",
}


@pytest.mark.parametrize("statement", _TAMPERING)
def test_tampering_by_statements_is_located(statement: str, tmp_path: Path) -> None:
    chance = random.Random(11)
    with Journal(tmp_path / "runs.db", retention=None) as journal:
        pruned = write_run(journal, chance)
        assert journal.prune(NOTHING_KEPT) == 1
        ids = [write_run(journal, chance) for _ in range(3)]
        assert journal.verify() == 3
        assert pruned not in ids
    database = sqlite3.connect(journal.path)
    assert database.execute("SELECT count(*) > 1 FROM uses").fetchone() == (1,)
    with database:
        assert database.execute(statement).rowcount
    database.close()

    with Journal(journal.path) as tampered, pytest.raises(JournalCorruptError, match=_TAMPERING[statement]):
        tampered.verify()
