"""Pictures inside a page."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final

from ez_ptc.view.markup import element

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.messages import ImageMessage

__all__ = ["draw_pictures"]

_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAX_BYTES: Final = 16 << 20


def draw_pictures(images: Iterable[ImageMessage]) -> str:
    """Return pictures as elements with their bytes; of more than 16 MiB in all, their number."""
    drawn: list[str] = []
    room, hidden = _MAX_BYTES, 0
    for number, image in enumerate(images, 1):
        data = image.data or b""
        if image.media_type not in _TYPES or not data or len(data) > room:
            hidden += 1
            continue
        room -= len(data)
        source = f"data:{image.media_type};base64,{b64encode(data).decode()}"
        drawn.append(f'<img src="{source}" alt="picture {number}">')  # whole, however long
    if hidden:
        drawn.append(element("p", f"{hidden:,} pictures are not shown here.", class_="note"))
    return "".join(drawn)
