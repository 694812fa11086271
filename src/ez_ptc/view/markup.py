"""Foreign text and values inside HTML: escaped, with visible control characters, and within a bound."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

from ez_ptc.formats.previews import Previews
from ez_ptc.results.sketch import sketch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ez_ptc.messages import ImageMessage

__all__ = [
    "MAX_PAGE_TEXT",
    "attributes",
    "cut_middle",
    "draw_pictures",
    "element",
    "indented_json",
    "markup_text",
    "moment_text",
    "recorded_json",
    "structure_json",
    "visible_text",
]

_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAX_BYTES: Final = 16 << 20

MAX_PAGE_TEXT: Final = 2_000_000
"""The characters of one text of a page, such as a program's output."""

_MAX_LINE: Final = 200
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# Invisible and harmless: blanks of numbers, and what joins emoji.
_PLAIN: Final = "\n\t\xa0\u202f\u200d"


class _Visible(dict[int, str]):
    """A table for `str.translate`: unprintable characters as Python's escapes."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        shown = character
        if character not in _PLAIN and not character.isprintable():
            shown = repr(character)[1:-1]
        self[point] = shown
        return shown


def markup_text(text: str, most: int = MAX_PAGE_TEXT) -> str:
    """Return foreign text for HTML, as content or in a quoted attribute; control characters become visible escapes."""
    return escape(visible_text(cut_middle(text, most)))


def visible_text(text: str) -> str:
    """Return text in which control characters, but for line ends and tabs, are visible escapes."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_Visible())


def cut_middle(text: str, most: int) -> str:
    """Return a text of at most about `most` characters: of a longer one, the beginning, a note, and the end."""
    if len(text) <= most:
        return text
    end = most // 4
    start = most - end
    return f"{text[:start]}\n[… {len(text) - most:,} characters are not shown here …]\n{text[len(text) - end :]}"


def structure_json(value: object, most: int) -> str:
    """Return a value as JSON of at most `most` characters, with notes in place of what has no room."""
    text = sketch(value, most, plain=Previews(most))
    if text.isprintable():
        return text
    # Other escapes than JSON's own would not be JSON.
    unprintable = {character for character in text if not character.isprintable()}
    return text.translate({ord(character): json.dumps(character)[1:-1] for character in unprintable})


def recorded_json(value: object, most: int) -> str:
    """Same as `structure_json`, for a value from a record, whose types are Python's own."""
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError):  # a date, or a number that JSON does not have
        return structure_json(value, most)
    if len(text) > most or not text.isprintable():
        return structure_json(value, most)
    return text


def indented_json(value: object, most: int) -> str:
    """Same as `structure_json`, on several lines if it is long."""
    text = structure_json(value, most)
    if len(text) <= _MAX_LINE:
        return text
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False)


def element(tag: str, content: str, **names: object) -> str:
    """Return an element with HTML `content`; the values of its attributes are escaped, and None leaves one out."""
    return f"<{tag}{attributes(names)}>{content}</{tag}>"


def attributes(names: Mapping[str, object]) -> str:
    """Return attributes, each after a blank; `class_` is `class`, `data_id` is `data-id`, and True has no value."""
    written: list[str] = []
    for name, value in names.items():
        key = name.rstrip("_").replace("_", "-")
        if value is True:
            written.append(f" {key}")
        elif value is not None and value is not False:
            written.append(f' {key}="{markup_text(str(value))}"')
    return "".join(written)


def moment_text(seconds: float) -> str:
    """Return a time, in seconds since 1970, as text in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds").replace("+00:00", " UTC")


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
