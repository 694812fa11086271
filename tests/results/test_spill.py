"""Results on disk: whose the folder is, what is in it, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ez_ptc.results.spill import SpillFolder
from ez_ptc.results.store import KeptResult, ResultGoneError, ResultStore

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders of one user are a matter of POSIX")


def spilled(store: ResultStore, body: bytes) -> KeptResult:
    """Return a result that newer ones have moved to the folder."""
    kept = store.add(b"s", body, "find")
    newer = store.add(b"s", b"n" * store.max_bytes, "find")
    assert kept is not None
    assert newer is not None
    return kept


def test_evicted_result_is_read_from_the_folder(tmp_path: Path) -> None:
    store = ResultStore(100, overflow=SpillFolder(tmp_path / "spill"))
    kept = spilled(store, b"x" * 60)

    assert store.used_bytes == 0
    assert store.read(kept) == b"x" * 60
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "spill").iterdir()] == [0o600]
    assert (tmp_path / "spill").stat().st_mode & 0o777 == 0o700


def test_file_goes_with_its_result(tmp_path: Path) -> None:
    store = ResultStore(100, overflow=SpillFolder(tmp_path / "spill"))
    kept = spilled(store, b"x" * 60)
    del kept

    assert list((tmp_path / "spill").iterdir()) == []


def test_folder_of_others_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)

    with pytest.raises(PermissionError, match=r"chmod 700"):
        SpillFolder(shared)


def test_link_is_refused_now_and_later(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match=r"link"):
        SpillFolder(tmp_path / "link")

    folder = SpillFolder(tmp_path / "spill")
    (tmp_path / "spill").rmdir()
    (tmp_path / "spill").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match=r"spill"):
        folder.write(b"secret")
    assert list((tmp_path / "real").iterdir()) == []


def test_link_in_place_of_a_file_is_never_followed(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path / "spill")
    name = folder.write(b"secret")
    (tmp_path / "other").write_bytes(b"secret")
    (tmp_path / "spill" / name).unlink()
    (tmp_path / "spill" / name).symlink_to(tmp_path / "other")

    with pytest.raises(OSError, match=r"link"):
        folder.read(name)


@pytest.mark.parametrize("content", [b"secres", b"", b"secretsecret"])
def test_changed_file_is_gone(tmp_path: Path, content: bytes) -> None:
    store = ResultStore(100, overflow=SpillFolder(tmp_path / "spill"))
    kept = spilled(store, b"secret")
    next((tmp_path / "spill").iterdir()).write_bytes(content)

    with pytest.raises(ResultGoneError, match="content was changed"):
        store.read(kept)


def test_full_folder_loses_only_what_it_cannot_take(tmp_path: Path) -> None:
    store = ResultStore(100, overflow=SpillFolder(tmp_path / "spill", max_bytes=80))
    first = spilled(store, b"1" * 60)
    second = spilled(store, b"2" * 60)

    assert store.read(first) == b"1" * 60
    with pytest.raises(ResultGoneError, match=r"cannot be written to the folder: .* 80 bytes"):
        store.read(second)


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write to read-only folders")
def test_read_only_folder_says_so(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path / "spill")
    store = ResultStore(100, overflow=folder)
    (tmp_path / "spill").chmod(0o500)
    kept = spilled(store, b"1" * 60)
    (tmp_path / "spill").chmod(0o700)

    with pytest.raises(ResultGoneError, match="Permission denied"):
        store.read(kept)


def test_removed_folder_says_so(tmp_path: Path) -> None:
    store = ResultStore(100, overflow=SpillFolder(tmp_path / "spill"))
    (tmp_path / "spill").rmdir()

    with pytest.raises(ResultGoneError, match="No such file"):
        store.read(spilled(store, b"1" * 60))


def test_processes_share_a_folder_and_its_quota(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path / "spill", max_bytes=100)
    mine = folder.write(b"m" * 60)
    program = (
        "import sys; from ez_ptc.results.spill import SpillFolder; folder = SpillFolder(sys.argv[1], max_bytes=100)\n"
        "print(folder.write(b'o' * 40))\n"
        "try: folder.write(b'o')\n"
        "except OSError as error: print(error.strerror)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "spill")]
    name, refusal = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()

    assert refusal == "the files in it would exceed 100 bytes"
    assert (folder.read(mine), folder.read(name)) == (b"m" * 60, b"o" * 40)


def test_files_of_killed_processes_go_in_time(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path / "spill", max_bytes=100)
    old = tmp_path / "spill" / folder.write(b"o" * 80)
    os.utime(old, (0, 0))
    folder.write(b"n" * 80)

    assert not old.exists()
