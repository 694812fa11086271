"""The mistakes of a program that is checked, and corrected programs."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..protocol.both_ends.copying import change_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ProgramMistake", "Suggestion", "apply_suggestions", "describe_changes", "parse_quietly", "replacing"]

_MAX_DESCRIBED = 5
_TEXT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change of a program: the text between two positions (line from 1, column in bytes from 0) is replaced.

    A forced one is the only change that can be meant, so that it is also proposed for a program that has effects. An
    only one has no other candidate: it is proposed for these if the next program does not repeat their calls.
    """

    line: int
    column: int
    last_line: int
    last_column: int
    text: str
    is_forced: bool = False
    is_only: bool = False


@dataclass(frozen=True, slots=True)
class ProgramMistake:
    """One mistake: the rule that found it, its line, the error as CPython would report it, a hint, and a suggestion.

    `begin` is the beginning of a program that gets the missing value.
    """

    rule: str
    line: int
    error: str
    hint: str = ""
    suggestion: Suggestion | None = None
    begin: str | None = None


def replacing(
    node: ast.expr | ast.stmt, text: str | None, *, is_forced: bool = False, is_only: bool = False
) -> Suggestion | None:
    """Return the suggestion that replaces an expression by `text`; None without a text."""
    if not text:
        return None
    end = node.end_lineno or node.lineno, node.end_col_offset or 0
    return Suggestion(node.lineno, node.col_offset, *end, text, is_forced, is_only)


def apply_suggestions(text: str, mistakes: Sequence[ProgramMistake]) -> str | None:
    """Return a program with all its mistakes corrected; None if one has no suggestion."""
    quotes = ['"', "'"]
    if text.count("['") > text.count('["'):
        # Small models copy best what looks like their own code.
        quotes.reverse()
    for quote in quotes:
        corrected = _replace_spans(text, [mistake.suggestion for mistake in mistakes], quote)
        if not corrected:
            continue
        try:
            parse_quietly(corrected)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # Inside an f-string, the other quotes may be necessary. The parser raises the last two for too much
            # nesting.
            continue
        return corrected
    return None


def parse_quietly(text: str) -> ast.Module:
    """Return the syntax tree of a program, without the parser's warnings on stderr, such as of unknown escapes.

    Raises what the parser raises: SyntaxError, ValueError, RecursionError or MemoryError.
    """
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = compile(text, "<program>", "exec", flags, dont_inherit=True)
    return tree if isinstance(tree, ast.Module) else ast.Module([], [])


def describe_changes(text: str, suggestions: Sequence[Suggestion]) -> str:
    """Return a line that says what suggestions change in a program."""
    lines = text.encode().splitlines()
    changes: list[str] = []
    for change in suggestions[:_MAX_DESCRIBED]:
        before = lines[change.line - 1][change.column : change.last_column].decode()
        changes.append(change_text(change.line, before, change.text))
    more = "; …" if len(suggestions) > len(changes) else ""
    return f"Changed: {'; '.join(changes)}{more}"


def _replace_spans(text: str, suggestions: Sequence[Suggestion | None], quote: str) -> str | None:
    lines = text.encode().splitlines(keepends=True)
    following: tuple[int, int] | None = None
    known = [suggestion for suggestion in suggestions if suggestion is not None]
    if len(known) < len(suggestions):
        return None
    for suggestion in sorted(known, key=lambda change: (change.line, change.column), reverse=True):
        line, end = suggestion.line, suggestion.last_column
        if line != suggestion.last_line or (following is not None and (line, end) > following):
            return None
        replacement = _TEXT.sub(lambda match: _requote(match, quote), suggestion.text)
        lines[line - 1] = lines[line - 1][: suggestion.column] + replacement.encode() + lines[line - 1][end:]
        following = line, suggestion.column
    return b"".join(lines).decode()


def _requote(match: re.Match[str], quote: str) -> str:
    """Return a text in other quotes if it is a key with an identifier's form, and unchanged otherwise."""
    text, around = match[0], match.string[match.start() - 1 : match.end() + 1]
    if text[1:-1].isidentifier() and around == f"[{text}]":
        return f"{quote}{text[1:-1]}{quote}"
    return text
