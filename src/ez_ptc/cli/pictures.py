"""Pictures on a terminal that can show them, or in files."""

from __future__ import annotations

import os
import sys
from base64 import b64encode
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ez_ptc.messages import ImageMessage

__all__ = ["escape_codes", "save_pictures", "show_pictures"]

_PIECE: Final = 4096
"""Letters that kitty takes at a time."""


def save_pictures(images: Sequence[ImageMessage], folder: Path) -> None:
    """Save pictures as picture-1.png and so on, and say where. Raises OSError where they cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images, start=1):
        path = folder / f"picture-{number}.png"
        path.write_bytes(image.data or b"")
        print(path, file=sys.stderr)


def show_pictures(images: Sequence[ImageMessage]) -> None:
    """Show pictures on a terminal that can, and say elsewhere that there are some."""
    if not images:
        return
    shown = [*escape_codes(images, os.environ)] if sys.stdout.isatty() else []
    for codes in shown:
        sys.stdout.write(f"{codes}\n")
    if not shown:
        print(f"[Pictures made: {len(images)}. --images FOLDER saves them.]", file=sys.stderr)


def escape_codes(images: Iterable[ImageMessage], environment: Mapping[str, str]) -> Iterable[str]:
    """Yield what makes a terminal show each picture, or nothing for a terminal that is not known to show any.

    Sources: kitty's "Terminal graphics protocol", which Ghostty has too, and iTerm2's "Inline Images Protocol", which
    WezTerm has too.
    """
    program, kind = environment.get("TERM_PROGRAM", ""), environment.get("TERM", "")
    for image in images:
        text = b64encode(image.data or b"").decode("ascii")
        if program in {"iTerm.app", "WezTerm"}:
            yield f"\x1b]1337;File=inline=1;size={len(image.data or b'')}:{text}\x07"
        elif "KITTY_WINDOW_ID" in environment or kind in {"xterm-kitty", "xterm-ghostty"}:
            pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
            yield "".join(
                f"\x1b_G{'a=T,f=100,' if number == 0 else ''}m={int(number < len(pieces) - 1)};{piece}\x1b\\"
                for number, piece in enumerate(pieces)
            )
