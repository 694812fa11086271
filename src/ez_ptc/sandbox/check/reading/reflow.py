"""Splitting programs written on one line, as models write them into JSON, into statements."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from tokenize import TokenInfo

__all__ = ["unfold_certain_statements", "unfold_statements"]

_OPENING = frozenset({"async", "class", "def", "for", "if", "try", "while", "with"})
_CONTINUING = {
    "elif": {"if", "elif"},
    "else": {"if", "elif", "for", "while", "try", "except"},
    "except": {"try", "except"},
    "finally": {"try", "except", "else"},
}
# The maximum characters of such a program; a longer one is not repeated.
_MAX_LENGTH = 5_000


def unfold_statements(text: str) -> str | None:
    """Return a program with one statement per line, if that is all it lacks, or None."""
    import tokenize

    if len(text) > _MAX_LENGTH:
        return None
    plain = text
    if "\n" not in text.strip():
        # Line ends may have been escaped once too often.
        plain = text.replace("\\n", "\n").replace('\\"', '"')
    for make in (lambda: plain, lambda: "\n".join(_lines(text)), lambda: "\n".join(_lines(plain))):
        try:
            ast.parse(lines := make())
        except (tokenize.TokenError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if lines.strip() != text.strip():
            return lines
        break
    return None


def unfold_certain_statements(text: str) -> str | None:
    """Return a program with one statement per line, if that is all it lacks and each can only stand where it does.

    Of two statements after a colon, the second may be meant to stand below it or after it.
    """
    import tokenize

    lines = unfold_statements(text)
    if lines is None:
        return None
    try:
        is_certain = all(_is_certain(statements) for _, statements in _logical_lines(text))
    except (tokenize.TokenError, SyntaxError):
        return None
    return lines if is_certain else None


def _is_certain(statements: list[str]) -> bool:
    heads = [index for index, statement in enumerate(statements) if statement.endswith(":")]
    if not heads:
        return True
    after = heads[0] + 1
    return all(index in heads or index - 1 in heads for index in range(after, len(statements)))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a program: everything after a colon on its line is indented below it."""
    for indent, statements in _logical_lines(text):
        open_heads: list[str] = []
        for index, words in enumerate(statements):
            first = words.partition(" ")[0].rstrip(":")
            if first in _CONTINUING:
                while open_heads and open_heads[-1] not in _CONTINUING[first]:
                    open_heads.pop()
                del open_heads[-1:]
            elif index == len(statements) - 1 and _sums_up(statements):
                open_heads.clear()
            yield indent + "    " * len(open_heads) + words
            if words.endswith(":") and (first in _OPENING or first in _CONTINUING):
                open_heads.append(first)


def _sums_up(statements: list[str]) -> bool:
    """Return whether a line ends by printing its result: something it changed, or before a loop had."""
    heads = [index for index, statement in enumerate(statements) if statement.endswith(":")]
    if not heads or heads[-1] >= len(statements) - 2 or not statements[-1].startswith("print("):
        return False
    names = _names_changed_by(statements[heads[0] : -1])
    if any(statements[index].startswith(("for ", "while ", "async ")) for index in heads):
        names &= _names_changed_by(statements[: heads[0]])
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(ast.parse(statements[-1])))


def _names_changed_by(statements: list[str]) -> set[str]:
    """Return the names that statements bind, and those of objects they change or call a method of."""
    names: set[str] = set()
    trees = (ast.parse(statement) for statement in statements if not statement.endswith(":"))
    for node in (node for tree in trees for node in ast.walk(tree)):
        target: ast.AST | None = None
        if isinstance(getattr(node, "ctx", None), ast.Store):
            target = node
            if isinstance(node, (ast.Subscript, ast.Attribute)):
                target = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Subscript, ast.Attribute)):
            target = node.func.value
        if isinstance(target, ast.Name):
            names.add(target.id)
    return names


def _logical_lines(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the indentation of each logical line, with its statements and block heads."""
    import io
    import tokenize

    # Text has more kinds of line ends than a program.
    lines = text.split("\n")
    tokens: list[TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in {tokenize.NEWLINE, tokenize.ENDMARKER}:
            if tokens:
                line = lines[tokens[0].start[0] - 1]
                yield line[: len(line) - len(line.lstrip())], [*_statements(tokens, lines)]
            tokens = []
        elif token.type not in {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}:
            tokens.append(token)


def _statements(tokens: list[TokenInfo], lines: list[str]) -> Iterator[str]:
    """Yield the parts of a logical line, split at semicolons and after the colons of block heads."""
    depth = lambdas = 0
    begin = 0
    for index, token in enumerate(tokens):
        depth += (token.string in {"(", "[", "{"}) - (token.string in {")", "]", "}"})
        lambdas += not depth and token.string == "lambda"
        if depth or token.string not in {";", ":"}:
            continue
        if token.string == ":" and lambdas:
            lambdas -= 1
        elif token.string == ";" or tokens[begin].string in _OPENING or tokens[begin].string in _CONTINUING:
            end = index + (token.string == ":")
            if end > begin:
                yield _text(tokens[begin], tokens[end - 1], lines)
            begin = index + 1
    if begin < len(tokens):
        yield _text(tokens[begin], tokens[-1], lines)


def _text(first: TokenInfo, last: TokenInfo, lines: list[str]) -> str:
    text = lines[first.start[0] - 1 : last.end[0]]
    text[-1] = text[-1][: last.end[1]]
    text[0] = text[0][first.start[1] :]
    return "\n".join(text)
