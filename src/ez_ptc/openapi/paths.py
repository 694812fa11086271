"""Whether a server could take the path of a request for another operation's.

Servers differ in when and how often they decode a path, and in how they simplify it before they look for the route:
they drop `.` and `..`, empty parts, parameters after `;`, everything after a NUL; some take a backslash for a slash,
ignore case, or know encodings of their own. So a path is checked as each of them could read it.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

__all__ = ["find_path_problem"]

# A value that is encoded more often has no honest reading.
_MAX_DECODINGS: Final = 8
_SEPARATORS: Final = re.compile(r"[/\\]")
_PARAMETER: Final = re.compile(r"\{[^{}]*\}")
# Of IIS, and the overlong forms of . / and \ that lenient decoders of UTF-8 accept.
_UNICODE_ESCAPE: Final = re.compile(r"%u([0-9a-f]{4})", re.IGNORECASE)
_OVERLONG: Final = re.compile(r"%c0%ae|%c0%af|%c1%9c", re.IGNORECASE)
_OVERLONG_TEXTS: Final = {"%c0%ae": ".", "%c0%af": "/", "%c1%9c": "\\"}
# Characters that no template has, in the place of a value.
_ANY_VALUE: Final = "\ufffc0"


def find_path_problem(path: str, template: str, templates: Sequence[str]) -> str | None:
    """Return why an encoded path may not lead to its operation, or None if it does.

    Args:
        path: The path, with its values filled in.
        template: The operation's path, with `{parameters}`.
        templates: The paths of all operations of the API.
    """
    readings = list(_readings(path))
    if len(readings) > _MAX_DECODINGS:
        return "an argument is percent-encoded many times over"
    for reading in readings:
        if _leads_up(reading) and not _leads_up(template):
            return "an argument makes a part of the path . or .., which leads elsewhere"
    normalized = [_normalize(reading).split("/") for reading in readings]
    for other in _distinguishable(template, tuple(templates)):
        if any(_fits(parts, other) for parts in normalized):
            return f"an argument makes the path that of another operation, {other}, which leads elsewhere"
    return None


def _readings(path: str) -> Iterator[str]:
    """Yield the path, and its form after each decoding until there is no change."""
    for _ in range(_MAX_DECODINGS + 1):
        yield path
        decoded = _OVERLONG.sub(lambda match: _OVERLONG_TEXTS[match[0].lower()], path)
        decoded = unquote(_UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), decoded))
        if decoded == path:
            return
        path = decoded


def _parts(path: str) -> list[str]:
    """Return the parts of a path as a lenient server reads them."""
    parts = _SEPARATORS.split(unicodedata.normalize("NFKC", path))
    return [segment.partition("\0")[0].partition(";")[0].strip() for segment in parts]


def _leads_up(path: str) -> bool:
    return any(segment in {".", ".."} for segment in _parts(path))


def _normalize(path: str) -> str:
    return "/".join(filter(None, _parts(path))).casefold()


@lru_cache(maxsize=1024)
def _distinguishable(template: str, templates: tuple[str, ...]) -> tuple[str, ...]:
    """Return the other templates fitting only some paths of this one."""
    usual, start = _normalize(_PARAMETER.sub(_ANY_VALUE, template)).split("/"), _start(template)
    return tuple(
        other
        for other in templates
        if (_start(other).startswith(start) or start.startswith(_start(other))) and not _fits(usual, other)
    )


def _start(template: str) -> str:
    """Return the text before the first parameter."""
    return template.partition("{")[0].casefold()


def _fits(parts: Sequence[str], template: str) -> bool:
    """Return whether the parts of a normalized path fit a template."""
    steps = _steps(template)
    return len(parts) == len(steps) and all(map(_fits_step, parts, steps))


@lru_cache(maxsize=4096)
def _steps(template: str) -> tuple[tuple[str, ...], ...]:
    """Return the texts around the parameters, of each part of a template."""
    texts = _PARAMETER.sub("{}", template.strip("/")).casefold()
    return tuple(tuple(step.split("{}")) for step in texts.split("/"))


def _fits_step(value: str, texts: Sequence[str]) -> bool:
    """Return whether a part of a path has these texts in this order, with one character or more between two of them.

    The first of its positions is as good as any for each text: a regular expression would try them all.
    """
    first, *between = texts
    if not between:
        return value == first
    last = between.pop()
    if not (value.startswith(first) and value.endswith(last)):
        return False
    position = len(first)
    for text in between:
        position = value.find(text, position + 1)
        if position < 0:
            return False
        position += len(text)
    return position < len(value) - len(last)
