"""Programs that have all on one line, as models write them into JSON: where their statements end."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from tokenize import TokenInfo

__all__ = ["unfold_statements"]

_OPENING = frozenset({"async", "class", "def", "for", "if", "try", "while", "with"})
_CONTINUING = {
    "elif": {"if", "elif"},
    "else": {"if", "elif", "for", "while", "try", "except"},
    "except": {"try", "except"},
    "finally": {"try", "except", "else"},
}
# Characters of a program that is looked at: a longer one is not told again.
_MAX_LENGTH = 5_000


def unfold_statements(text: str) -> str | None:
    """Return a program with each statement on a line of its own, where that is all that it lacks; else None."""
    import tokenize

    if len(text) > _MAX_LENGTH:
        return None
    plain = text
    if "\n" not in text.strip():
        # Ends of lines may have been escaped once too often.
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


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a program: what follows a colon stands under it, and so does all after it in its line."""
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
    """Tell whether a line ends by printing what it has worked out: what it changed, and for a loop had before it."""
    heads = [index for index, statement in enumerate(statements) if statement.endswith(":")]
    if not heads or heads[-1] >= len(statements) - 2 or not statements[-1].startswith("print("):
        return False
    names = _names_changed_by(statements[heads[0] : -1])
    if any(statements[index].startswith(("for ", "while ", "async ")) for index in heads):
        names &= _names_changed_by(statements[: heads[0]])
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(ast.parse(statements[-1])))


def _names_changed_by(statements: list[str]) -> set[str]:
    """Return the names that statements bind, and those of what they set a part of or call a method of."""
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
    """Yield each logical line: its indentation, and its statements and heads of statements."""
    import io
    import tokenize

    # A text has more ends of lines than a program.
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
    """Yield the parts of a logical line, cut at semicolons and behind the colons of heads."""
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
