"""The first rules by which sources were repaired, for runs that began with them.

A recorded run is read again as it was read first: by these rules, it may have done what the text can also be read as
not to do. They repair more than those of `source_repair`: listings that leave lines out, whole quotations, a full-width
comma within a number, quotes within typographic ones, all of HTML's escapes, and tabs of either width.
"""

from __future__ import annotations

import ast
import html
import re
import textwrap
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from .reasoning import remove_reasoning
from .respelling import FOREIGN, SIGNS, STRAIGHT
from .source_repair import (
    LANGUAGE_LINE,
    MAX_TEXT,
    SLASHES,
    SourceRepair,
    blocks_of,
    comments_in,
    dedent,
    find_repair,
    find_wrapped_program,
    from_transcript,
    is_code,
    is_program_text,
    unescape_newlines,
    unpack_json,
    unquote,
    without_marks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["REPAIRS_BY_RULES", "Repairs", "find_first_repair", "find_first_wrapped_program", "repairs_by"]

_ENTITY = re.compile(r"&(?:quot|apos|lt|gt|amp|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,6});")
_LINE_MARK = re.compile(r"^[ \t]*\d{1,4}[ \t]*(?:[:|.)\u2192]|(?=[ ]{2}))[ ]?", re.MULTILINE)
_FULL_LINE = re.compile(r"^[^\n]", re.MULTILINE)


class Repairs(NamedTuple):
    """What finds the program that a parsed text only wraps, and the one that unparsable text stands for."""

    unwrap: Callable[[str, ast.Module], SourceRepair | None]
    repair: Callable[[str], SourceRepair | None]


def repairs_by(rules: int | None) -> Repairs:
    """Return the repairs by a version of the rules, by default the newest. Raises ValueError for an unknown version."""
    newest = max(REPAIRS_BY_RULES)
    version = newest if rules is None else rules
    if type(version) is not int or version not in REPAIRS_BY_RULES:
        message = f"expected rules for repairing sources from 1 to {newest}, got {version!r}"
        raise ValueError(message)
    return REPAIRS_BY_RULES[version]


def find_first_repair(text: str) -> SourceRepair | None:
    """Return the repair of unparsable text by the first rules, without a word about it, or None."""
    if len(text) > MAX_TEXT:
        return None
    program = unpack_json(text) or _repair(unquote(text))
    return SourceRepair(program, ()) if program else None


def find_first_wrapped_program(text: str, tree: ast.Module) -> SourceRepair | None:
    """Return the program that a parsed text only wraps, by the first rules, or None."""
    first = tree.body[0] if len(tree.body) > 1 else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Name):
        unmarked = LANGUAGE_LINE.sub(r"\1", text)
        return None if unmarked == text else SourceRepair(unmarked, ())
    wrapped = find_wrapped_program(text, tree)
    return None if wrapped is None else SourceRepair(wrapped.program, ())


def _repair(text: str) -> str | None:
    if is_program_text(whole := _respell(from_transcript(LANGUAGE_LINE.sub("", text)))):
        return whole
    spoken = LANGUAGE_LINE.sub("", remove_reasoning(text, drops_above=True))
    for unescaped in dict.fromkeys((spoken, unescape_newlines(spoken))):
        for block in (*blocks_of(unescaped), unescaped):
            for form in dict.fromkeys(chain(_forms(block), _tidy(block))):
                if form != text and is_program_text(form):
                    return form
            if block is not unescaped and is_code(block):
                return None
    return comments_in(spoken)


def _forms(block: str) -> Iterator[str]:
    """Yield the forms that a block may be meant as."""
    first, _, rest = block.strip("\n").partition("\n")
    yield block
    yield dedent(block)
    if not first.lstrip().startswith("#"):
        yield f"{first.lstrip()}\n{textwrap.dedent(rest)}"
    yield from_transcript(block)
    yield _respell(block)
    if _ENTITY.search(block):
        yield _respell(html.unescape(block))


def _tidy(block: str) -> Iterator[str]:
    """Yield a block without what may stand around a program or before its lines."""
    bare = dedent(_respell(without_marks(block)))
    yield bare
    if len(_LINE_MARK.findall(bare)) >= len(_FULL_LINE.findall(bare)):
        yield dedent(_LINE_MARK.sub("", bare))
    yield from (bare.expandtabs(4), bare.expandtabs(8))
    yield SLASHES.sub("#", bare)


def _respell(text: str) -> str:
    """Return text without typographic quotes and blanks, and commands to a shell, outside of its strings."""

    def rewrite(found: re.Match[str]) -> str:
        foreign = found[0]
        if found["string"]:
            return foreign
        if found["command"]:
            return ""
        quote = STRAIGHT.get(foreign[0])
        if quote is None:
            return SIGNS.get(foreign, " ")
        return f"{quote}{foreign[1:-1]}{quote}"

    return FOREIGN.sub(rewrite, text)


# Each version that a journal may name, up to the newest.
REPAIRS_BY_RULES: Mapping[int, Repairs] = {
    1: Repairs(find_first_wrapped_program, find_first_repair),
    2: Repairs(find_wrapped_program, find_repair),
}
