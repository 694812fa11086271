"""One file is one journal under every name, and a file that is lost while it is open is noticed."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ez_ptc import Journal, JournalCorruptError, JournalError, Toolkit, ez_tool
from tests.journal.sample_runs import write_run


@ez_tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def _by_link(path: Path) -> Path:
    (path.parent / "link.db").symlink_to(path.name)
    return path.parent / "link.db"


def _by_linked_folder(path: Path) -> Path:
    (path.parent / "folder").symlink_to(path.parent)
    return path.parent / "folder" / path.name


def _by_links_to_links(path: Path) -> Path:
    _by_link(path)
    (path.parent / "second.db").symlink_to(path.parent / "link.db")
    return path.parent / "second.db"


def _relative(path: Path) -> Path:
    return Path(os.path.relpath(path))


@pytest.mark.parametrize("name", [_by_link, _by_linked_folder, _by_links_to_links, _relative])
def test_names_of_one_file_share_its_locks(name: Callable[[Path], Path], tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit([pay], journal=journal) as toolkit:
        paused = toolkit.execute("print(pay(1))")
        assert paused.run_id is not None
        with Journal(name(journal.path)) as other:
            row, _ = journal.claim(paused.run_id, {}, lambda record, decisions: None)
            assert other.run(paused.run_id).state == "running"
            with pytest.raises(JournalError, match="is being executed"):
                other.claim(paused.run_id, {}, lambda record, decisions: None)
            journal.store.locks.disown(row.number)
            write_run(other, random.Random(1))
            assert journal.verify() == other.verify() == 2
    assert {path.name for path in tmp_path.iterdir() if not path.is_symlink()} == {"runs.db", "runs.db-lock"}


def test_relative_name_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Journal("runs.db") as journal:
        write_run(journal, random.Random(1))
        journal.close()
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert len(journal.runs()) == 1


def test_uri_is_refused(tmp_path: Path) -> None:
    for name in ("file:runs.db", f"file:{tmp_path}/runs.db?mode=rwc"):
        with pytest.raises(JournalError, match=r"got (the URI|an address that begins with) file:"):
            Journal(name)


def test_hard_link_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        write_run(journal, random.Random(1))
    os.link(tmp_path / "runs.db", tmp_path / "other.db")
    for name in ("other.db", "runs.db"):
        with Journal(tmp_path / name) as other, pytest.raises(JournalError, match=r"has 2 names \(hard links\)"):
            other.runs()
    (tmp_path / "other.db").unlink()
    assert len(Journal(tmp_path / "runs.db").runs()) == 1


def _replace(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("suffix", ["", "-wal", "-lock"])
@pytest.mark.parametrize("lose", [Path.unlink, _replace, _truncate, _empty])
def test_lost_file_is_noticed_before_the_next_result(lose: Callable[[Path], None], suffix: str, tmp_path: Path) -> None:
    if suffix == "-lock" and lose in {_truncate, _empty}:
        pytest.skip("it holds a number that only helps to find lost commits")
    effects: list[int] = []

    @ez_tool
    def effect(number: int) -> int:
        """Take effect."""
        effects.append(number)
        return number

    with Journal(tmp_path / "runs.db") as journal, Toolkit([effect], journal=journal) as toolkit:
        assert toolkit.execute("effect(0)").success
        write_run(journal, random.Random(1), calls=40)
        lose(journal.path.with_name(f"runs.db{suffix}"))
        for _ in range(2):
            with pytest.raises(JournalCorruptError, match=r"deleted|replaced|truncated"):
                toolkit.execute("effect(1)")
        assert effects == [0]


def test_result_in_a_deleted_file_is_not_acknowledged(tmp_path: Path) -> None:
    effects: list[int] = []

    @ez_tool
    def effect(number: int) -> int:
        """Take effect, and lose the journal meanwhile."""
        effects.append(number)
        if number == 1:
            (tmp_path / "runs.db").unlink()
        return number

    with Toolkit([effect], journal=tmp_path / "runs.db") as toolkit:
        with pytest.raises(JournalCorruptError, match=r"runs\.db was deleted while the journal was open"):
            toolkit.execute("effect(1)\neffect(2)")
        assert effects == [1]
        toolkit.open_journal().close()
        assert toolkit.execute("effect(3)").success


def test_file_whose_link_comes_later_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "runs.db")
    journal = Journal(tmp_path / "link.db")
    with Journal(tmp_path / "runs.db") as other:
        write_run(other, random.Random(1))
    with pytest.raises(JournalError, match="is a link"), journal:
        journal.runs()


_MOUNTING = """
import subprocess, sys
from ez_ptc import Journal, JournalError
source, target = sys.argv[1:]
subprocess.run(["mount", "--bind", source, target], check=True)
with Journal(target if target.endswith(".db") else f"{target}/runs.db") as journal:
    try:
        print(len(journal.runs()))
    except JournalError as error:
        print(error)
"""


@pytest.mark.parametrize("name", ["runs.db", "a b\\c\nd.db"])
def test_file_that_is_mounted_alone_is_refused(name: str, tmp_path: Path) -> None:
    """Its log and its locks would be beside each of its names."""
    enter = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*enter, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this host grants no mounts")
    path, folder = tmp_path / "journal" / "runs.db", tmp_path / "other"
    path.parent.mkdir()
    folder.mkdir()
    with Journal(path) as journal:
        write_run(journal, random.Random(1))
    for source, target in ((path, folder / name), (path.parent, folder)):
        if target != folder:
            target.touch()
        command = [*enter, sys.executable, "-c", _MOUNTING, str(source), str(target)]
        seen = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        assert ("is mounted alone" in seen and "mount its folder" in seen) if target != folder else seen == "1\n"
