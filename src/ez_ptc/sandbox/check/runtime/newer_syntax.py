"""Syntax of later versions of Python than this one, as models write it, and the version a program needs."""

from __future__ import annotations

import re
import sys

__all__ = ["hint_of_newer_syntax"]

_PREFIX = r"(?<![\w\"'])(?:[rR]?{0}|{0}[rR])"
_IN_BRACES = (
    r"""(?:"(?!"")[^"\n]*\{[^}"\n]*["\\](?=[^\n]*\})|'(?!'')[^'\n]*\{[^}'\n]*['\\](?=[^\n]*\})"""
    r"""|["'][^"'\n]*\{[^}"'\n]*(?:\#|$))"""
)
_F_STRING = "this f-string (for a quote, a backslash, a comment or a line end in its braces)"
# What only a later version reads: a pattern, the version, its name, and what to write instead.
_NEWER: tuple[tuple[str, tuple[int, int], str, str], ...] = (
    (
        r"^\s*(?:async\s+)?(?:def|class|type)\s+\w+\s*\[[^\]\n]*=",
        *((3, 13), "a default of a type parameter", "leave the default out"),
    ),
    (r"^\s*type\s+\w+\s*(?:\[[^\]\n]+\])?\s*=(?!=)", (3, 12), "a type statement", "write `Name = ...` without `type`"),
    (r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\[[^\]\n]+\]", *((3, 12), "a type parameter", "leave the brackets out")),
    (
        r"^\s*except\*?\s+[\w.]+\s*,\s*[\w.][\w., ]*:",
        *((3, 14), "`except` without parentheses", "write `except (A, B):`"),
    ),
    (_PREFIX.format("[tT]") + "[\"']", (3, 14), "a template string", 'write an f-string, f"..."'),
    (_PREFIX.format("[fF]") + _IN_BRACES, (3, 12), _F_STRING, "give the value in the braces a name first"),
    (r"^f-string expression part cannot include", (3, 12), _F_STRING, "give the value in the braces a name first"),
)
_MAX_SEARCHED = 1_000


def hint_of_newer_syntax(error: SyntaxError, line: str) -> str | None:
    """Return the version and a substitute for the syntax of an unparsable line; None if this Python should know it."""
    text = f"{line[:_MAX_SEARCHED]}\n{error.msg[:_MAX_SEARCHED]}"
    for pattern, version, construct, instead in _NEWER:
        if sys.version_info < version and re.search(pattern, text, re.MULTILINE):
            ours, needed = (".".join(map(str, numbers[:2])) for numbers in (sys.version_info, version))
            return f"{construct} needs Python {needed}, and programs run in Python {ours}: {instead}"
    return None
