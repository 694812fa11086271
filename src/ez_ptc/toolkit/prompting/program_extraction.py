"""Extracting the program from a model's answer.

Everything here is linear in the answer's length, because answers and their Markdown are hostile input.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ez_ptc.sandbox.check.reading.reasoning import remove_reasoning
from ez_ptc.sandbox.check.reading.respelling import unescape_html
from ez_ptc.sandbox.check.reading.source_repair import from_transcript, unpack_json, unquote
from ez_ptc.sandbox.protocol.tool_types import parse_source
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.prompting.written.call_reader import UnreadableCallError, refuse_words_below
from ez_ptc.toolkit.prompting.written.program_text import ProgramText
from ez_ptc.toolkit.prompting.written_calls import program_of_calls, program_of_unreadable
from ez_ptc.tools.tool import Tool

__all__ = ["does_something", "extract_code"]

# A fence opens a block if the rest of its line has no further backtick; otherwise it is a code span.
_OPENING = re.compile(
    r"(?<!`)`{3,}+(?P<span>[^`\n]++)`{3,}+"
    r"|(?<!`)(?P<ticks>`{3,}+)(?P<info>[^`\n]*+)(?:\n|\Z)"
    r"|^[ \t>*+.)\d-]*+(?P<tildes>~{3,}+)(?P<label>[^\n]*+)(?:\n|\Z)",
    re.MULTILINE,
)
_ONLY_SPAN = re.compile(r"\s*+`{3,}+(?P<code>[^`\n]++)`{3,}+\s*+")
_PYTHON = re.compile(r"[\s{.]*(?:i?python|pycon|py|tool_code)[\d.]*(?![\w+#])", re.IGNORECASE)
_ERROR = re.compile(r"Traceback \(|\w*(?:Error|Exception)(?::|\n|\Z)")
# Small models repeat the comments about results first, in a block of their own.
_COMMENTS = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?(?:\n|\Z))*+")
# What smolagents and others ask their models for, unless the tag names another language.
_TAGGED = re.compile(
    r"^[ \t]*+(?:<pre>\s*+)?<(code|python|execute(?:_(?:i?py[\w.]*|code|program|tools?))?|tool_code|tool_calls?)"
    r"(?:\s(?!(?:[^<>\n]*\s)?(?:class\s*+=\s*+[\"']?+)?lang(?:uage)?+\s*+[-=]\s*+[\"']?+(?!(?i:i?py)))[^<>\n]{0,80})?>"
    r"(?P<code>(?>(?:[^<`]++|<(?!/\1>)|`(?!``))*))"  # a fence may end what a tag began
    # What Llama's templates have.
    r"|^[ \t]*+<\|python_(?:tag|start)\|>(?P<rest>(?>(?:[^<]++|<(?!\|))*))",
    re.MULTILINE,
)
_END_TAG = re.compile(r"^[ \t]*+</(?:code|python|execute(?:_\w{1,20})?|tool_code|tool_calls?)>\s*+\Z", re.MULTILINE)
_CALL_END = re.compile(r"</tool_calls?>")
_SECTION = re.compile(r"\A\s*<!\[CDATA\[(.*)\]\]>\s*\Z", re.DOTALL)
_QUOTED_LINE = re.compile(r"[ \t*+.)\d-]*+>")
_FENCED = re.compile(r"`{3,}+(?:python3?|py)?[ \t]*\n(?P<code>.*?)(?:\n[ \t]*`{3,}+\s*)?", re.DOTALL | re.IGNORECASE)
_EXAMPLE = re.compile(r"^[ \t>*+.)\d-]*+(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<info>\w[^`\n]*+)$", re.MULTILINE)
_LANGUAGE = re.compile(r"\A\s*+(?:python3?|py)[ \t]*+\n")
_QUOTED_END = re.compile(r"^[ \t>*+.)\d-]*+(?:`{3,}+|~{3,}+)[ \t]*+$", re.MULTILINE)
_LINE_START = re.compile(r"[\s>*+.)\d-]*")

# The tokens that decide whether a fence ends a Python block: not in a string or comment.
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

# The maximum size of an answer to parse as a whole: parsing takes 250 bytes of memory per character.
_BARE_PROGRAM = 20_000
# Of so many blocks after the program is looked whether they are further ones: each may be read to the answer's end.
_MAX_NEXT = 3
_ACTS = re.compile(r"[\w\])]\(|=")


def extract_code(text: str, tools: Iterable[Tool[..., Any]] = ()) -> str | None:
    """Return the program in a model's answer, or None.

    Of several fenced blocks, the first one marked as Python is the program, or else the first one without a language;
    blocks in other languages never are, and repeated error messages and comments only without another block. A block
    ends by Python's rules: a fence in a string or comment is part of the program. An answer without fences is a program
    if all of it parses and does something. What the answer quotes by Markdown's `>` never is.

    Without a block for Python, calls in a notation of models (`<tool_call>{"name": …}`) become a program that makes
    them; if one cannot be read, a program that raises the reason.

    The program has newlines as line ends, no blank lines around it, and not the indentation of its fence.

    Raises TypeError for anything but text.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - answers without text are None
        message = f"expected the text of a model's answer, got {safe_repr(text)}"
        raise TypeError(message)
    text = text.replace("\r\n", "\n")
    if does_something(whole := _LANGUAGE.sub("", text)):  # tags within its strings are no reasoning
        return _dedent(whole)
    if unquote(text) != text:
        return None
    spoken = remove_reasoning(text)
    calls, beside = program_of_calls(text, spoken, tools)
    return _find_code(beside, calls)


def _find_code(text: str, calls: str | None) -> str | None:
    plain: str | None = None
    repeated: str | None = None
    blocks = _blocks(text)
    for is_python, block in blocks:
        code = _dedent(block)
        if unquote(code) != code:
            continue
        if _ERROR.match(code) or _COMMENTS.fullmatch(code):
            repeated = repeated or code or None
        elif code and is_python:
            # A step in a block of its own is not run, and its model learns that.
            nexts = (_dedent(block) for is_python, block in islice(blocks, _MAX_NEXT) if is_python)
            has_more = any(other not in code and _ACTS.search(other) and not _ERROR.match(other) for other in nexts)
            return ProgramText(code, ("blocks",)) if has_more else code
        else:
            plain = plain or code or None
    if calls:
        return calls
    if program := _tagged_program(_without_examples(text)):
        return program
    if packed := unpack_json(text):
        return ProgramText(packed, ("json",))
    if plain is None and (span := _ONLY_SPAN.fullmatch(text)):
        return span["code"] if does_something(span["code"]) else repeated
    if plain is None:
        # What stands before any fence may be the program: a fence may close what none has opened.
        fence = _CLOSING.search(text)
        code = _dedent(_LANGUAGE.sub("", text[: fence.start()] if fence else text))
        plain = _first_program(code, code.replace("\\n", "\n"), "newlines")  # line ends may be escaped
    return plain or repeated


def _tagged_program(text: str) -> str | None:
    tagged = _TAGGED.search(text)
    if tagged is None:
        return None
    code = _dedent(_SECTION.sub(r"\1", tagged["code"] or tagged["rest"] or ""))
    program = _first_program(code, unescape_html(code), "entities")
    if program and (end := _CALL_END.match(text, tagged.end())):
        try:
            refuse_words_below(text, end.end())
        except UnreadableCallError as error:
            return program_of_unreadable(error)
    return program


def _without_examples(text: str) -> str:
    """Return text without its blocks in other languages than Python, unless there is nothing else."""
    said: list[str] = []
    position = start = 0
    while example := _EXAMPLE.search(text, start):
        closing = re.compile(rf"^[ \t>]*+{example['fence']}[`~]*+[ \t]*+$", re.MULTILINE).search(text, example.end())
        if closing is None:
            break
        start = closing.end()
        if not _PYTHON.match(example["info"]):
            said.append(text[position : example.start()])
            position = start
    said.append(text[position:])
    rest = "".join(said)
    return rest if rest.strip() else text


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the possible Python blocks: whether it is marked as Python, and its text."""
    position, plain = 0, False
    while opening := _OPENING.search(text, position):
        position = opening.end()
        if _QUOTED_LINE.match(text, text.rfind("\n", 0, opening.start()) + 1, position):
            if opening["span"] is None:  # what the answer quotes is no program, up to its end
                closing = _QUOTED_END.search(text, position)
                position = closing.end() if closing else len(text)
            continue
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
        # Of those without a language only the first can be the answer; treating all as Python would take quadratic
        # time.
        closing = _closing
        if is_python or not (info or plain):
            closing = _closing_of_python
        plain = plain or not info
        end, position = _end(text, closing(text, opening.end(), fence))
        block = text[opening.end() : end]
        beside = _PYTHON.sub("", info, count=1).strip()
        if is_python and starts_line and not block.strip() and does_something(beside):
            yield True, beside
        if is_python or (not info and (end < len(text) or (starts_line and does_something(block)))):
            yield is_python, block


def _starts_line(text: str, position: int) -> bool:
    """Return whether only indentation or a list bullet precedes a position on its line."""
    return _LINE_START.fullmatch(text, text.rfind("\n", 0, position) + 1, position) is not None


def _end(text: str, closing: tuple[int, int] | None) -> tuple[int, int]:
    """Return the end of the block with that closing fence, and the position to continue at."""
    if closing is None:
        return len(text), len(text)
    end, after = closing
    line_end = text.find("\n", after)
    rest = text[after : line_end if line_end >= 0 else len(text)]
    # Words after a fence at the start of a line mean that it opens the next block: the closing fence was forgotten.
    if rest.strip() and _starts_line(text, end):
        return (end, end)
    return (end, after)


def _closes(found: re.Match[str], fence: str) -> bool:
    run = found["ticks"] or found["tildes"] or found.groupdict().get("tail") or ""
    return run.startswith(fence)


def _closing(text: str, start: int, fence: str) -> tuple[int, int] | None:
    """Return the span of the first line that starts or ends with a long enough fence."""
    for match in _CLOSING.finditer(text, start):
        if _closes(match, fence):
            return match.end() - len(match[0].lstrip()), match.end()
    return None


def _closing_of_python(text: str, start: int, fence: str) -> tuple[int, int] | None:
    """Return the span of the first long enough fence outside strings and comments."""
    position = start
    while match := _TOKEN.search(text, position):
        position = match.end()
        if quote := match["quote"]:
            ends = (end.end() for end in _QUOTES[quote].finditer(text, position) if end[0] == quote)
            position = next(ends, -1)
            if position < 0:  # an unclosed string, so the plain rule applies
                return _closing(text, start, fence)
        elif _closes(match, fence):
            return match.end() - len(match[0].lstrip()), match.end()
    return None


def _dedent(block: str) -> str:
    """Remove blank lines and stray marks around a block, and its first line's indentation from every line."""
    code = re.sub(r"\A(?:[^\S\n]*+\n)++", "", _END_TAG.sub("", block)).rstrip()
    if code.startswith("`"):  # no program does
        fenced = _FENCED.fullmatch(code)
        code = fenced["code"] if fenced else code.strip("`\n")
    indent = len(code) - len(code.lstrip(" \t"))
    if indent:
        code = re.sub(rf"^[ \t]{{1,{indent}}}", "", code, flags=re.MULTILINE)
    return from_transcript(code).rstrip()


def _first_program(code: str, respelled: str, key: str) -> str | None:
    if does_something(code):
        return code
    if "#" not in code and does_something(respelled):  # what a comment quotes may end its line
        return ProgramText(respelled, (key,))
    return None


def does_something(code: str) -> bool:
    """Return whether text is a Python program with at least one call or assignment."""
    if len(code) > _BARE_PROGRAM or not _ACTS.search(code):
        return False
    try:
        tree = parse_source(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # raised by the parser; depth exhausts its stack
        return False
    # "Answer: yes" and "It says: pay(5)" parse as annotations without a value. Python would make such a call.
    labels = [node.annotation for node in tree.body if isinstance(node, ast.AnnAssign) and node.value is None]
    if any(isinstance(node, ast.Call) for label in labels for node in ast.walk(label)):
        return False
    return any(
        isinstance(node, ast.Call | ast.Assign | ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value)
        for node in ast.walk(tree)
    )
