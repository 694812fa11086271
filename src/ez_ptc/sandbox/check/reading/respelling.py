"""Respelling what Python cannot read outside of strings: typographic signs, commands to a shell, tabs, line numbers.

A sign is replaced only where it can mean one thing. Text that stood between quotes stays between them: with another
closing quote than the model's, its text would run as code.
"""

from __future__ import annotations

import ast
import html
import re
from itertools import pairwise

__all__ = ["FOREIGN", "SIGNS", "STRAIGHT", "even_tabs", "respell", "unescape_html", "without_line_numbers"]

STRAIGHT = {"\u201c": '"', "\u2018": "'"}
# Signs of other scripts and of text processing, which Python does not read outside of strings.
SIGNS = (
    dict(zip("\uff08\uff09\u3010\u3011\uff3b\uff3d\uff5b\uff5d\uff0c\u3001\uff1a\uff1b", "()[][]{},,:;", strict=True))
    | {"\uff1d": "=", "\uff0b": "+", "\uff0d": "-", "\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00f7": "/"}
    | {"\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u2192": "->", "\uff1c": "<", "\uff1e": ">"}
    | dict.fromkeys("\u200b\u2060\ufeff", "")
    | dict.fromkeys("\u0085\u2028\u2029", "\n")
)
# A string in straight quotes, up to the end of its line, so that each is read once; and a comment. A string that is not
# closed may end in a backslash, with the text: otherwise it would be read from each of its quotes.
_STRING = (
    r"""(?P<string>"{3}(?>(?:[^"\\]|\\.|"(?!""))*)(?:"{3}|\\?\Z)|'{3}(?>(?:[^'\\]|\\.|'(?!''))*)(?:'{3}|\\?\Z)"""
    r"""|"(?:[^"\\\n]|\\.)*+(?:"|\\?$)|'(?:[^'\\\n]|\\.)*+(?:'|\\?$)|\#[^\n]*+)"""
)
# Commands to a shell that install, and those to a notebook that only display.
_COMMANDS = (
    r"|^[ \t]*+(?P<command>(?:[!%](?:pip3?|uv|conda|apt(?:-get)?)\b|(?:python3? -m )?pip3? install\b"
    r"|%matplotlib\b|%%?time\b(?=[ \t]*+$)|%%python3?\b)[^\n]*+\n?)"
)
# And strings in typographic quotes, and signs that Python does not know.
FOREIGN = re.compile(
    _STRING + _COMMANDS + "|\u201c[^\u201c\u201d\n]*+\u201d|\u2018[^\u2018\u2019\n]*+\u2019"
    f"|[\u00a0\u2000-\u200b\u202f\u205f\u3000{''.join(SIGNS)}]",
    re.DOTALL | re.MULTILINE,
)
# Between these, a comma may be that of a number: 1,000 is one number to a reader and two arguments to Python.
_THOUSANDS = re.compile(r"(?<=\d)[\uff0c\u3001]\d{3}(?!\d)")
# A straight quote within typographic ones, which may have been meant to end the string if code follows.
_INNER_QUOTE = re.compile(
    r"""\\.|(?P<open>\\)\Z|(?P<quote>["'])(?P<code>[ \t]*+(?:[,)\]}:;=+\-*/%<>&|]|\.\w))?""", re.DOTALL
)
_ENTITY = re.compile(r"&(?:quot|apos|lt|gt|amp|nbsp|#(?:34|39|60|62|38|160)|#x(?:22|27|3[cCeE]|26|[aA]0));")
_INDENTATION = re.compile(_STRING + r"|^[ \t]++", re.DOTALL | re.MULTILINE)
_WIDTHS = (4, 8, 2, 1, 3, 5, 6, 7)
_NUMBERED = re.compile(r"[ \t]*+(?P<number>\d{1,4})(?P<mark>[ \t]*[:|.)\u2192]|\t|(?=[ ]{2}|\Z))[ ]?(?P<rest>.*)")


def respell(text: str) -> str:
    """Return text without typographic quotes, signs and blanks, and commands to a shell, outside of its strings."""

    def rewrite(found: re.Match[str]) -> str:
        foreign = found[0]
        if found["string"] or _THOUSANDS.match(text, found.start()):
            return foreign
        if found["command"]:
            return ""
        if foreign[0] in STRAIGHT:
            return _straighten(foreign)
        return SIGNS.get(foreign, " ")

    return FOREIGN.sub(rewrite, text)


def _straighten(quotation: str) -> str:
    """Return a string in straight quotes, or unchanged if its text may have been meant to end before."""
    quote = STRAIGHT[quotation[0]]
    content = quotation[1:-1]
    inner = [match for match in _INNER_QUOTE.finditer(content) if match["quote"] == quote or match["open"]]
    if any(match["open"] or match["code"] for match in inner):
        return quotation
    ends = [0, *(match.start() for match in inner), len(content)]
    escaped = "\\".join(content[start:end] for start, end in pairwise(ends))
    return f"{quote}{escaped}{quote}"


def unescape_html(text: str) -> str:
    """Return text with the signs that HTML escapes, or unchanged if one could end a string that it stands in."""
    signs = {html.unescape(entity) for entity in _ENTITY.findall(text)}
    if any(quote in signs and quote in text for quote in ('"', "'")):
        return text
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text)


def even_tabs(text: str) -> str | None:
    """Return text with blanks instead of tabs before its lines, or None if it has one meaning with no width of a tab.

    With tabs of four blanks, a line may stand under another condition than with tabs of eight.
    """
    if "\t" not in text:
        return None
    meant: dict[str, str] = {}
    for width in _WIDTHS:
        evened = _INDENTATION.sub(lambda found, width=width: found["string"] or found[0].expandtabs(width), text)
        try:
            meant.setdefault(ast.dump(ast.parse(evened)), evened)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # raised by the parser
            continue
    return next(iter(meant.values())) if len(meant) == 1 else None


def without_line_numbers(text: str) -> str | None:
    """Return a listing without the numbers before its lines, or None if it has none, or leaves lines out."""
    lines = [(_NUMBERED.fullmatch(line), line) for line in text.split("\n")]
    numbered = [(index, match) for index, (match, _) in enumerate(lines) if match]
    if not numbered or any(line.strip() for match, line in lines if not match):
        return None
    marks = {match["mark"].strip(" ") for _, match in numbered if match["rest"].strip()}
    numbers = [(index, int(match["number"])) for index, match in numbered]
    # Lines without a number, which are blank, may count or not.
    is_whole = all(after - before in {1, line - last} for (last, before), (line, after) in pairwise(numbers))
    if len(marks) > 1 or not is_whole:
        return None
    return "\n".join(match["rest"] if match else "" for match, _ in lines)
