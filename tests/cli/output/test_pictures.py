"""Pictures on the command line: shown where a terminal can, saved where one is told to, and never lost unsaid."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from ez_ptc import ImageMessage
from ez_ptc.cli.run import escape_codes, save_pictures, show_pictures

IMAGE = ImageMessage(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 30)
ENCODED = base64.b64encode(IMAGE.data or b"").decode()


@pytest.mark.parametrize("environment", [{"KITTY_WINDOW_ID": "1"}, {"TERM": "xterm-kitty"}, {"TERM": "xterm-ghostty"}])
def test_kitty_gets_picture_in_chunks(environment: dict[str, str]) -> None:
    [codes] = escape_codes([IMAGE], environment)
    pieces = codes.split("\x1b\\")[:-1]
    assert pieces[0].startswith("\x1b_Ga=T,f=100,m=1;")
    assert [piece.startswith("\x1b_Gm=1;") for piece in pieces[1:-1]] == [True] * (len(pieces) - 2)
    assert pieces[-1].startswith("\x1b_Gm=0;")
    assert "".join(piece.partition(";")[2] for piece in pieces) == ENCODED


def test_iterm_gets_whole_picture() -> None:
    [codes] = escape_codes([IMAGE], {"TERM_PROGRAM": "iTerm.app"})
    assert codes == f"\x1b]1337;File=inline=1;size={len(IMAGE.data or b'')}:{ENCODED}\x07"


def test_other_terminals_get_a_note(capfd: pytest.CaptureFixture[str]) -> None:
    assert [*escape_codes([IMAGE], {"TERM": "xterm-256color"})] == []
    show_pictures([IMAGE, IMAGE])
    assert capfd.readouterr() == ("", "[Pictures made: 2. --images FOLDER saves them.]\n")
    show_pictures([])
    assert capfd.readouterr() == ("", "")


def test_pictures_are_saved_in_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "pictures"
    save_pictures([IMAGE, IMAGE], folder)
    assert [each.name for each in sorted(folder.iterdir())] == ["picture-1.png", "picture-2.png"]
    assert (folder / "picture-2.png").read_bytes() == IMAGE.data
    assert capfd.readouterr().err == f"{folder / 'picture-1.png'}\n{folder / 'picture-2.png'}\n"
