"""Histories and journals are for their owner only, under any name and mask, and links lead nowhere."""

import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ez_ptc import Journal, ShapesError, Toolkit, ToolkitImportError
from ez_ptc.conversation.saving.history import History
from ez_ptc.errors import HistoryError, JournalError
from ez_ptc.messages import TextMessage
from ez_ptc.toolkit.loading import load_toolkit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")


def write_history(path: Path) -> None:
    with History(path) as history:
        history.save([TextMessage("secret")])


def write_journal(path: Path) -> None:
    with Journal(path) as journal, Toolkit([], journal=journal) as toolkit:
        toolkit.execute("1")


WRITERS: list[Callable[[Path], None]] = [write_history, write_journal]


class Mask(AbstractContextManager[None]):
    def __init__(self, mask: int) -> None:
        self.mask = mask

    def __enter__(self) -> None:
        self.mask = os.umask(self.mask)

    def __exit__(self, *_: object) -> None:
        os.umask(self.mask)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277, 0o777])
@pytest.mark.parametrize("name", ["runs.db", "file:x?mode=memory", "-", "a b.sqlite3", "\u00e9"])
def test_database_is_for_its_owner_under_any_name_and_mask(
    write: Callable[[Path], None], mask: int, name: str, tmp_path: Path
) -> None:
    with Mask(mask):
        write(tmp_path / name)
    written = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in tmp_path.iterdir()}
    assert name in written
    assert set(written.values()) == {0}


@pytest.mark.parametrize("write", WRITERS)
def test_link_to_nothing_is_not_followed(write: Callable[[Path], None], tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link.db"
    link.symlink_to(target)
    with pytest.raises((OSError, JournalError)):
        write(link)
    assert not target.exists()


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o602])
def test_database_that_others_may_access_is_named(write: Callable[[Path], None], mode: int, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    write(path)
    path.chmod(mode)
    with pytest.warns(UserWarning, match=rf"other users may access .*runs\.db \(mode 0{mode:o}\)"):
        write(path)


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda: Journal("runs.db"), JournalError),
        (lambda: Toolkit([], journal="runs.db"), JournalError),
        (lambda: History(Path("chats.db")), HistoryError),
        (lambda: Toolkit([], shapes="shapes.json"), ShapesError),
        (lambda: Toolkit([], spill="spilled"), ValueError),
        (lambda: load_toolkit("shop:toolkit", Path()), ToolkitImportError),
    ],
)
def test_relative_path_in_a_deleted_folder_is_explained(
    use: Callable[[], object], error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deleted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()

    with pytest.raises(error, match="the working directory was deleted: give an absolute path"):
        use()
    with Journal(tmp_path / "runs.db") as journal:
        assert journal.runs() == []
