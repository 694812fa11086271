"""Pictures in files, and on terminals with image support."""

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

# The maximum length of one escape code of kitty's protocol, in characters of base64.
_MAX_CHUNK: Final = 4096


def save_pictures(images: Sequence[ImageMessage], folder: Path) -> None:
    """Save pictures as picture-1.png, picture-2.png, …, and print their paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images, start=1):
        path = folder / f"picture-{number}.png"
        path.write_bytes(image.data or b"")
        print(path, file=sys.stderr)


def show_pictures(images: Sequence[ImageMessage]) -> None:
    """Show pictures on a terminal with image support, and otherwise print their number."""
    codes: list[str] = []
    if sys.stdout.isatty():
        codes = list(escape_codes(images, os.environ))
    for code in codes:
        sys.stdout.write(f"{code}\n")
    if images and not codes:
        print(f"[Pictures made: {len(images)}. --images FOLDER saves them.]", file=sys.stderr)


def escape_codes(images: Iterable[ImageMessage], environment: Mapping[str, str]) -> Iterable[str]:
    """Yield the escape code for each picture, or nothing for a terminal without known image support.

    Sources: kitty's "Terminal graphics protocol" (also Ghostty), iTerm2's "Inline Images Protocol" (also WezTerm).
    """
    program, terminal = environment.get("TERM_PROGRAM", ""), environment.get("TERM", "")
    for image in images:
        text = b64encode(image.data or b"").decode("ascii")
        if program in {"iTerm.app", "WezTerm"}:
            yield f"\x1b]1337;File=inline=1;size={len(image.data or b'')}:{text}\x07"
        elif "KITTY_WINDOW_ID" in environment or terminal in {"xterm-kitty", "xterm-ghostty"}:
            chunks = [text[start : start + _MAX_CHUNK] for start in range(0, len(text), _MAX_CHUNK)]
            codes = [f"\x1b_Gm=1;{chunk}\x1b\\" for chunk in chunks]
            codes[-1] = codes[-1].replace("m=1", "m=0", 1)
            codes[0] = codes[0].replace("m=", "a=T,f=100,m=", 1)
            yield "".join(codes)
