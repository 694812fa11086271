"""The file has a version: an older one is brought to the present one at once or not at all, a newer one is refused."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Journal, JournalError
from ez_ptc.journal.locks import FileLocks
from ez_ptc.journal.recorded.event_fields import EVENT_FIELDS, RESULT_FIELDS
from ez_ptc.journal.storage.tables import VERSION, schema
from ez_ptc.sandbox.protocol.both_ends.limits import LIMITS
from ez_ptc.sandbox.protocol.both_ends.source_repairs import SOURCE_RULES
from ez_ptc.sandbox.protocol.values.kinds import DECODERS
from tests.journal.kill_points import KillPoints

_KEPT = Path(__file__).parent.parent / "kept" / "version-1.db"


def _kept(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = Path(shutil.copy(_KEPT, folder / "runs.db"))
    path.chmod(0o600)
    return path


def _version(path: Path) -> int:
    database = sqlite3.connect(path)
    ((version,),) = database.execute("PRAGMA user_version").fetchall()
    database.close()
    return int(version)


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_file_of_each_version_becomes_as_a_new_one(version: int, tmp_path: Path) -> None:
    schemas: list[set[tuple[str, str]]] = []
    old = Path(shutil.copy(_KEPT.with_name(f"version-{version}.db"), tmp_path / "old.db"))
    old.chmod(0o600)
    assert _version(old) == version
    for path in (old, tmp_path / "new.db"):
        with Journal(path) as journal:
            journal.verify()
        assert _version(path) == VERSION
        database = sqlite3.connect(path)
        schemas.append(schema(database))
        database.close()
    assert schemas[0] == schemas[1]


def test_two_users_bring_a_file_to_its_version_once(tmp_path: Path) -> None:
    for number in range(10):
        path = _kept(tmp_path / str(number))
        barrier = threading.Barrier(3)
        counts: list[int] = []

        def verify(path: Path = path, barrier: threading.Barrier = barrier, counts: list[int] = counts) -> None:
            with Journal(path) as journal:
                barrier.wait(60)
                counts.append(journal.verify())

        users = [threading.Thread(target=verify) for _ in range(3)]
        for user in users:
            user.start()
        for user in users:
            user.join(60)
        assert counts == [5, 5, 5]


@pytest.mark.parametrize(
    ("statement", "reader"),
    [
        ("UPDATE format SET reader = '9.1'", "9.1 or later"),
        ("DROP TABLE format", "the one that wrote it"),
        ("UPDATE format SET reader = '1.0.0'", "the one that wrote it"),
    ],
)
def test_newer_file_is_refused_with_its_reader(statement: str, reader: str, tmp_path: Path) -> None:
    path = _kept(tmp_path)
    with Journal(path) as journal:
        journal.runs()
    database = sqlite3.connect(path)
    database.execute(statement)
    database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.commit()
    database.close()
    before = path.read_bytes()
    match = f"expected a version from 1 to {VERSION}, got {VERSION + 1}, which needs a newer .*: {reader};"
    with Journal(path) as journal, pytest.raises(JournalError, match=match):
        journal.runs()
    assert path.read_bytes() == before


def test_file_of_a_running_earlier_program_stays_as_it_is(tmp_path: Path) -> None:
    path = _kept(tmp_path)
    earlier = FileLocks(path.with_name("runs.db-lock"))  # of a process that has forked, or closed its journal
    assert earlier.own(5)
    with Journal(path) as journal:
        with pytest.raises(JournalError, match="or a program of it is running there"):
            journal.runs()
        assert _version(path) == 1
        earlier.disown(5)
        assert journal.verify() == 5
    assert _version(path) == VERSION


def test_file_in_use_by_an_earlier_version_stays_as_it_is(tmp_path: Path) -> None:
    path = _kept(tmp_path)
    earlier = FileLocks(path.with_name("runs.db-lock"))
    earlier.enter()
    with Journal(path) as journal:
        with pytest.raises(JournalError, match=r"open in a process with an earlier version.*end that process"):
            journal.runs()
        assert _version(path) == 1
        earlier.close()
        assert journal.verify() == 5
    assert _version(path) == VERSION


def test_recorded_words_belong_to_the_version_of_the_file() -> None:
    """Other words than those of its version need a new version, or an earlier library claims runs it cannot read."""
    events = {kind: sorted(_fields_in(schema)) for kind, schema in EVENT_FIELDS.items()}
    words = {"events": events, "result": sorted(_fields_in(RESULT_FIELDS)), "source rules": SOURCE_RULES}
    words |= {"limits": sorted(LIMITS), "values": sorted(DECODERS)}
    kept = _KEPT.with_name(f"version-{VERSION}.words.json")
    assert json.loads(kept.read_text()) == words


def _fields_in(schema: Any) -> set[str]:  # noqa: ANN401 - as pydantic has it
    if "fields" in schema:
        return set[str](schema["fields"])
    return set[str]().union(*map(_fields_in, schema["choices"].values()))


def _open_until(path: Path, last: int) -> bool:
    """Open a journal in a process that is killed at a point; return whether it got to its end."""
    pid = os.fork()
    if not pid:
        points = KillPoints(last)
        points.begin()
        Journal(path).runs()
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("stride", [17, pytest.param(1, marks=pytest.mark.security)])
def test_killed_migration_is_done_by_the_next_one(stride: int, tmp_path: Path) -> None:
    last = 0
    versions: set[int] = set()
    is_done = False
    while not is_done:
        last += stride
        path = _kept(tmp_path / str(last))
        is_done = _open_until(path, last)
        versions.add(_version(path))
        with Journal(path) as journal:
            assert journal.verify() == 5
    assert versions == {1, VERSION}
    assert last > 20
