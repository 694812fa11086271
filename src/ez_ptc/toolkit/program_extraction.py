"""The program in a model's text answer.

Everything here is linear in the answer's length: answers are hostile input, and so is their Markdown.
"""

import ast
import re
from collections.abc import Iterator

__all__ = ["extract_code"]

# A fence opens a block when the rest of its line holds no further backtick; with a closing one there it is a span.
_OPENING = re.compile(
    r"(?<!`)`{3,}+(?P<span>[^`\n]++)`{3,}+"
    r"|(?<!`)(?P<ticks>`{3,}+)(?P<info>[^`\n]*+)(?:\n|\Z)"
    r"|^[ \t>*+.)\d-]*+(?P<tildes>~{3,}+)(?P<label>[^\n]*+)(?:\n|\Z)",
    re.MULTILINE,
)
_PYTHON = re.compile(r"[\s{.]*(?:i?python|py|tool_code)[\d.]*(?![\w+#])", re.IGNORECASE)
_ERROR = re.compile(r"Traceback \(|\w*(?:Error|Exception)(?::|\n|\Z)")
_LINE_START = re.compile(r"[\s>*+.)\d-]*")

# What decides whether a fence inside a Python block ends it: not one in a string, nor one in a comment.
_TOKEN = re.compile(
    r"""(?P<quote>\"{3}|'{3})"""
    r"""|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'?"""
    r"""|\#[^\n]*+|(?P<ticks>(?<!`)`{3,}+)|^[ \t]*+(?P<tildes>~{3,}+)""",
    re.MULTILINE | re.DOTALL,
)
_QUOTES = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in ('"""', "'''")}
_CLOSING = re.compile(
    r"^[ \t]*+(?P<ticks>`{3,}+)|(?<!`)(?P<tail>`{3,}+)[ \t]*+$|^[ \t]*+(?P<tildes>~{3,}+)", re.MULTILINE
)

# A whole answer is parsed on the host only up to this size: parsing costs 250 bytes of memory a character.
_BARE_PROGRAM = 20_000
_ACTS = re.compile(r"[\w\])]\(|=")


def extract_code(text: str) -> str | None:
    """Return the program in a model's answer, or None when there is none.

    Of several fenced blocks the first one marked as Python counts, then the first one without a language; blocks
    in other languages never do, nor does an error that is repeated. A block ends where Python says so: a fence inside
    a string or a comment is part of the program. An answer without any fence is a program when the whole of it parses
    and does something.

    Line ends come out as newlines, without blank lines around the program or an indentation that its fence had.
    Never raises, whatever the text.
    """
    text = text.replace("\r\n", "\n")
    plain: str | None = None
    repeated: str | None = None
    for is_python, block in _blocks(text):
        code = _dedent(block)
        if _ERROR.match(code):
            repeated = repeated or code
        elif code and is_python:
            return code
        else:
            plain = plain or code or None
    return plain or _bare_program(text) or repeated


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the blocks that may be Python: whether one says so, and what is in it."""
    position, plain = 0, False
    while opening := _OPENING.search(text, position):
        position = opening.end()
        if span := opening["span"]:
            tag = _PYTHON.match(span)
            if tag and span[tag.end() : tag.end() + 1].isspace():
                yield True, span[tag.end() :]
            continue
        fence, info = opening["ticks"] or opening["tildes"], (opening["info"] or opening["label"] or "").strip()
        is_python = _PYTHON.match(info) is not None
        starts_line = _starts_line(text, opening.start())
        if not (is_python or not info or starts_line):
            continue
        # Of those without a language only the first can be the answer; reading all as Python would cost their square.
        closing = _closing_of_python if is_python or not (info or plain) else _closing
        plain = plain or not info
        end, position = _end(text, closing(text, opening.end(), fence))
        block = text[opening.end() : end]
        if is_python or (not info and (end < len(text) or (starts_line and _does_something(block)))):
            yield is_python, block


def _starts_line(text: str, position: int) -> bool:
    """Tell whether only indentation or a list's bullet comes before a position in its line."""
    return _LINE_START.fullmatch(text, text.rfind("\n", 0, position) + 1, position) is not None


def _end(text: str, closing: tuple[int, int] | None) -> tuple[int, int]:
    """Return where the block with that closing fence ends, and where to look for the next one."""
    if closing is None:
        return len(text), len(text)
    end, after = closing
    line_end = text.find("\n", after)
    rest = text[after : line_end if line_end >= 0 else len(text)]
    # Words behind a fence at the start of its line make it the next block's opening one: the closing one was forgotten.
    if rest.strip() and _starts_line(text, end):
        return (end, end)
    return (end, after)


def _closes(found: re.Match[str], fence: str) -> bool:
    run = found["ticks"] or found["tildes"] or found.groupdict().get("tail") or ""
    return run.startswith(fence)


def _closing(text: str, start: int, fence: str) -> tuple[int, int] | None:
    """Return the span of the first line that starts or ends with a long enough fence."""
    for found in _CLOSING.finditer(text, start):
        if _closes(found, fence):
            return found.end() - len(found[0].lstrip()), found.end()
    return None


def _closing_of_python(text: str, start: int, fence: str) -> tuple[int, int] | None:
    """Return the span of the first long enough fence that is neither in a string nor in a comment."""
    position = start
    while found := _TOKEN.search(text, position):
        position = found.end()
        if quote := found["quote"]:
            ends = (end.end() for end in _QUOTES[quote].finditer(text, position) if end[0] == quote)
            position = next(ends, -1)
            if position < 0:  # the string never ends, so it is no string: the plain rule decides
                return _closing(text, start, fence)
        elif _closes(found, fence):
            return found.end() - len(found[0].lstrip()), found.end()
    return None


def _dedent(block: str) -> str:
    """Take away the blank lines around a block, and its first line's indentation from every line."""
    code = re.sub(r"\A(?:[^\S\n]*+\n)++", "", block).rstrip()
    indent = len(code) - len(code.lstrip(" \t"))
    if indent:
        return re.sub(rf"^[ \t]{{1,{indent}}}", "", code, flags=re.MULTILINE)
    return code


def _bare_program(text: str) -> str | None:
    """Return what comes before any fence if it is a program; a fence may close what none has opened."""
    fence = _CLOSING.search(text)
    code = _dedent(text[: fence.start()] if fence else text)
    return code if _does_something(code) else None


def _does_something(code: str) -> bool:
    """Tell whether text is a Python program with at least one call or assignment."""
    if len(code) > _BARE_PROGRAM or not _ACTS.search(code):
        return False
    # Escapes are blanked: the parser would warn on stderr of those it does not know.
    blanked = re.sub(r"\\[^\n]", "xx", code)
    try:
        tree = ast.parse(blanked)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what the parser raises; depth exhausts its stack
        return False
    return any(_acts(node) for node in ast.walk(tree))


def _acts(node: ast.AST) -> bool:
    if isinstance(node, ast.AnnAssign):
        return node.value is not None  # "Answer: yes" is an annotation to Python
    return isinstance(node, ast.Call | ast.Assign | ast.AugAssign)
