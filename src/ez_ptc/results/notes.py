r"""Notes: our own sentences inside the text of a result, in a form that no result can have.

A note begins with `(ez-ptc: `. In foreign text, a bracket before these words is replaced by its escape, such as
`\u0028`, whatever the form of the bracket, the case, the shape of the letters and the invisible characters between
them. The same is done to the first character of other sentences of ours. Quotes, slashes and `<` are none: names and
paths have them. JSON and Python read the escape inside a string as the character, so that only plain text shows a
difference.
"""

import re
from typing import Final

__all__ = ["NOTE", "escape_notes", "gap_note", "location_text", "note"]

NOTE: Final = "(ez-ptc: "

_INVISIBLE: Final = (
    "[\\s\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e"
    "\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\U000e0000-\\U000e0fff\\x00-\\x1f\\x7f-\\x9f]"
)
_BRACKETS: Final = (
    "[(\\[{\\u207d\\u208d\\u2329\\u2768-\\u2775\\u27e6-\\u27ef\\u2985-\\u2998\\u2e22-\\u2e29\\u2e55-\\u2e5c"
    "\\u3008-\\u301b\\ufd3e\\ufd3f\\ufe17\\ufe35-\\ufe44\\ufe47\\ufe59-\\ufe5e\\uff08\\uff3b\\uff5b\\uff5f\\uff62]"
)
# Latin letters, full-width ones, and those of other alphabets that look the same.
_LETTERS: Final = (
    "[eE\\uff45\\uff25\\u0435\\u0415\\u0395\\u212e]",
    "[zZ\\uff5a\\uff3a\\u0396\\u1d22]",
    "[pP\\uff50\\uff30\\u0440\\u0420\\u03c1\\u03a1]",
    "[tT\\uff54\\uff34\\u0442\\u0422\\u03a4\\u03c4]",
    "[cC\\uff43\\uff23\\u0441\\u0421\\u03f2\\u03f9]",
)
# The beginnings of our other sentences beside a result's text.
_SENTENCES: Final = (
    r"\[Pictures made:",
    r"\[No output captured",
    r"\[Done\. The program",
    r"\[Done, but",
    r"\[Left out here:",
    r"\[[\d,]+ more bytes were cut",
    r"These calls have succeeded before the error",
    r"These calls are already done",
    r"The correction fails with the same error",
)
_FORGED_SENTENCE: Final = re.compile("|".join(_SENTENCES))
_E, _Z, _P, _T, _C = (f"{letter}{_INVISIBLE}{{0,8}}" for letter in _LETTERS)
_FORGED: Final = re.compile(rf"{_BRACKETS}(?={_INVISIBLE}{{0,8}}{_E}{_Z}[\W_]{{0,8}}{_P}{_T}{_LETTERS[4]})")
_LAST_LETTERS: Final = re.compile(f"{_T}{_LETTERS[4]}")


def note(text: str) -> str:
    """Return a sentence of ours as a note."""
    return f"{NOTE}{text})"


def gap_note(count: int, unit: str) -> str:
    """Return the note about `count` units, such as "characters", that are left out in its position."""
    if count == 1:
        unit = unit.removesuffix("s")
    return note(f"{count:,} {unit} left out here")


def location_text(name: str | None, *, is_whole: bool = True) -> str:
    """Return where a result is kept, as a clause of a note; with None, it is not."""
    if name is None:
        return "the rest is not kept: it is too large, or no value for programs"
    kept = "the whole"
    if not is_whole:
        kept = "all that was not cut"
    return f'{kept} is kept as results["{name}"]'


def escape_notes(text: str) -> str:
    """Return foreign text in which nothing has the form of a note; text without such a form is returned unchanged."""
    # Nearly all texts end here.
    if _LAST_LETTERS.search(text) is not None:
        text = _FORGED.sub(_escape_first, text)
    if _FORGED_SENTENCE.search(text) is not None:
        text = _FORGED_SENTENCE.sub(_escape_first, text)
    return text


def _escape_first(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0][0]):04x}{match[0][1:]}"
