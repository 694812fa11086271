r"""Regular expressions of JavaScript, in which JSON Schema writes them, for other engines.

JavaScript reads much that others refuse: `[\w-.]`, `a{,3}`, `[^]`, `\0`, an escape before any letter. Its meaning is
written here in a way that all engines read alike.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["portable_pattern"]

# Texts, escapes and sets, each perhaps repeated, which mean the same everywhere.
_PLAIN: Final = re.compile(
    r"(?:(?:[^\\\[\]{}()*+?]|\\[dDwWsSbB.()|*+?^$/\[\]{}\\-]"
    r"|\[\^?(?:a-z|A-Z|0-9|[\w .,:;@/+*#!?%=]|\\[dws.\\-])+-?\])(?:[*+?]|\{\d{1,3}(?:,)?\})?)*",
    re.ASCII,
)
_QUANTIFIER: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|k<\w+>|[1-9]\d*|0(?!\d)|.)",
    re.DOTALL,
)
# Letters and digits that mean something after a backslash, in JavaScript or to authors who think of another engine.
_MEANINGFUL: Final = frozenset("dDwWsSbBtnrvfuxcpPkAzZGhHRXQEK0123456789")
_SETS: Final = frozenset("dDwWsSpP")
_SPECIAL_IN_SET: Final = frozenset("[&~-")
# In JavaScript a reference to a group without a match matches nothing; elsewhere it fails. A group may have no match
# if it is optional, in one of several branches, in a negative look-around, or below the reference.
_REFERENCE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]")
_MAYBE_UNMATCHED: Final = re.compile(r"\)(?:[?*]|\{0)|\||\(\?<?!")
_ANYTHING: Final = r"[\s\S]"
_NOTHING: Final = r"[^\s\S]"
_LITERALS: Final = {"0": r"\x00", "b": r"\x08"}


# A schema is read again for each format.
@lru_cache(maxsize=4096)
def portable_pattern(pattern: str) -> str | None:
    """Return a regular expression of JavaScript as other engines read it, or None if they cannot."""
    if _PLAIN.fullmatch(pattern):
        return pattern
    reference = _REFERENCE.search(pattern)
    if reference and (_MAYBE_UNMATCHED.search(pattern) or ")" not in pattern[: reference.start()]):
        return None
    portable = "".join(_parts(pattern))
    return portable if _is_readable(portable) else None


def _parts(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "[":
            text, at = _set(pattern, at)
            yield text
        elif character == "\\" and (match := _ESCAPE.match(pattern, at)) is not None:
            yield _escape_text(match[0], in_set=False)
            at = match.end()
        elif character == "{" and (match := _QUANTIFIER.match(pattern, at)) is None:
            yield r"\{"
            at += 1
        else:
            yield character
            at += 1


def _escape_text(escape: str, *, in_set: bool) -> str:
    character = escape[1]
    if len(escape) > len(r"\uHHHH") and character == "u" and escape[2] != "{":  # a pair of surrogates
        return rf"\u{{{ord(_join_pair(escape)):X}}}"
    if escape == r"\0" or (in_set and character == "b"):
        return _LITERALS[character]
    if in_set and character == "B":
        return "B"
    if character in "<>" or not character.isascii() or (character.isalpha() and character not in _MEANINGFUL):
        return character
    if len(escape) == len(r"\x") and character in "uxcpPk":  # without what belongs to it, it is a letter
        return character
    return escape


def _join_pair(pair: str) -> str:
    halves = bytes.fromhex(pair.replace(r"\u", ""))
    return halves.decode("utf-16-be")


def _set(pattern: str, start: int) -> tuple[str, int]:
    """Return a set in brackets that begins at an index, and the index after it."""
    at = start + 1
    head = "["
    if pattern[at : at + 1] == "^":
        head, at = "[^", at + 1
    items: list[str] = []
    while at < len(pattern) and pattern[at] != "]":
        if pattern[at] == "\\" and (match := _ESCAPE.match(pattern, at)) is not None:
            items.append(_escape_text(match[0], in_set=True))
            at = match.end()
        else:
            items.append(pattern[at])
            at += 1
    if at == len(pattern):  # without an end, which no engine reads
        return pattern[start:], at
    if not items:
        return (_ANYTHING if head == "[^" else _NOTHING), at + 1
    return f"{head}{''.join(_set_items(items))}]", at + 1


def _set_items(items: list[str]) -> Iterator[str]:
    """Yield the items of a set, with a hyphen only where it makes a range."""
    at = 0
    while at < len(items):
        is_range = at + 2 < len(items) and items[at + 1] == "-"
        if is_range and not _is_set(items[at]) and not _is_set(items[at + 2]):
            yield f"{_literal(items[at])}-{_literal(items[at + 2])}"
            at += 3
        else:
            yield _literal(items[at])
            at += 1


def _is_set(item: str) -> bool:
    return item[0] == "\\" and item[1:2] in _SETS


def _literal(item: str) -> str:
    return f"\\{item}" if item in _SPECIAL_IN_SET or item == "^" else item


def _is_readable(pattern: str) -> bool:
    """Return whether one of the engines that check values reads a pattern."""
    import jsonschema_rs

    for engine in (jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions()):
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=engine)
        except ValueError:
            continue
        return True
    return False
