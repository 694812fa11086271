"""Small models' spellings of JSON: each is rewritten as JSON, and then read by the one parser.

Text is rewritten token by token, and only if a token can mean one thing. Incomplete text stays invalid.
"""

import re
from typing import Final

__all__ = ["respell"]

_TOKEN: Final = re.compile(
    # Text that never ends is one token as well: looking for its end from each later quote would take quadratic time.
    r"""(?P<double>"(?:[^"\\]|\\.)*+(?P<end>")?)"""
    r"""|(?P<single>'(?:[^'\\]|\\.)*+(?P<single_end>')?)"""
    r"""|(?P<name>(?<![\w.])(?:True|False|None)(?!\w))"""
    r"""|(?P<comma>,)(?=\s*+[}\]])""",
    re.DOTALL,
)
_NAMES: Final = {"True": "true", "False": "false", "None": "null"}
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_ESCAPED_CONTROL: Final = re.compile(r"(?<!\\)(?:\\\\)*+\\[\x00-\x1f]")
_ESCAPE: Final = re.compile(r"""\\x([0-9a-fA-F]{2})|\\(.)|(")""", re.DOTALL)
_LINE_BREAKS: Final = "unescaped line breaks or tabs in text"
_QUOTES: Final = "single quotes"
_CONSTANTS: Final = "Python's True, False or None"
_COMMAS: Final = "a comma before a closing bracket"


def respell(text: str) -> tuple[str, tuple[str, ...]]:
    """Return text with its other spellings rewritten as JSON, and their names; the text itself if it has none."""
    spellings: dict[str, None] = {}

    def rewrite(token: re.Match[str]) -> str:
        if token["name"]:
            spellings[_CONSTANTS] = None
            return _NAMES[token[0]]
        if token["comma"]:
            spellings[_COMMAS] = None
            return ""
        literal = token[0]
        if not (token["end"] or token["single_end"]):
            return literal
        if token["single"]:
            spellings[_QUOTES] = None
            literal = _requote(literal)
        # A line break after a backslash can mean several things, and escaping it would escape the backslash instead.
        if _CONTROL.search(literal) and not _ESCAPED_CONTROL.search(literal):
            spellings[_LINE_BREAKS] = None
            return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", literal)
        return literal

    return _TOKEN.sub(rewrite, text), tuple(spellings)


def _requote(literal: str) -> str:
    """Return a Python string in single quotes as a JSON string; escapes unknown to JSON stay, and are invalid."""

    def rewrite(found: re.Match[str]) -> str:
        if found[1]:
            return f"\\u00{found[1]}"
        if found[3]:
            return '\\"'
        if found[2] == "'":
            return "'"
        return found[0]

    return f'"{_ESCAPE.sub(rewrite, literal[1:-1])}"'
