"""Repairing the form of programs that models write: in a fence, indented, with escaped line ends, as a transcript.

A program that Python can parse is never changed, except for one that is only the text of another. Otherwise these forms
are tried, and the first one that parses is the program.
"""

from __future__ import annotations

import ast
import html
import json
import re
import textwrap
from itertools import chain, islice
from typing import TYPE_CHECKING

from .reasoning import remove_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["from_transcript", "repair_source", "unpack_json", "unpack_program", "unquote", "without_return"]

# The maximum characters of a program whose other forms are tried.
_MAX_TEXT = 100_000
_MAX_BLOCKS = 8
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*([\w+.#-]*)[^\n`]*$", re.MULTILINE)
_ON_ONE_LINE = re.compile(r"\s*`{3,}(?:python|py)?\s+([^`\n]+)`{3,}\s*", re.IGNORECASE)
_PYTHON = re.compile(r"(?:i?python|py|tool_code)[\d.]*", re.IGNORECASE)
_ERROR = re.compile(r"^(?:Traceback \(|\w*(?:Error|Exception|Warning)\b)", re.MULTILINE)
_CODE = re.compile(
    r"^[ \t]*(?:@?\w[\w.]*[ \t]*(?:\(|[-+*/|]?=)|(?:def|class|for|while|if|with|import|from)\b)", re.MULTILINE
)
_PROMPT = re.compile(r"[ \t]*(?:>>>|In \[\d*\]:|\.\.\.:?)(?:$| (?P<input>.*))")
_FIRST_PROMPT = re.compile(r"\s*(?:>>>|In \[\d*\]:)")
# Commands to a shell that install, and those to a notebook that only display.
_COMMANDS = (
    r"|^[ \t]*+(?P<command>(?:[!%](?:pip3?|uv|conda|apt(?:-get)?)\b|(?:python3? -m )?pip3? install\b"
    r"|%matplotlib\b|%%?time\b(?=[ \t]*+$)|%%python3?\b)[^\n]*+\n?)"
)
_LANGUAGE_LINE = re.compile(r"\A(\s*)(?:python3?|py)[ \t]*(?=\n)", re.IGNORECASE)
_JSON_OBJECT = re.compile(r"\s*(?:`{3,}\w*\s+)?(\{\s*\"\w{1,20}\"\s*:.*\})\s*(?:`{3,}\s*)?", re.DOTALL)
# What a model is asked for, or says, beside its program.
_BESIDE = frozenset({"analysis", "explanation", "language", "plan", "reasoning", "thought", "thoughts"})
_ENTITY = re.compile(r"&(?:quot|apos|lt|gt|amp|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,6});")
_STRAIGHT = {"\u201c": '"', "\u2018": "'"}
# Signs of other scripts and of text processing, which Python does not read outside of strings.
_SIGNS = (
    dict(zip("\uff08\uff09\u3010\u3011\uff3b\uff3d\uff5b\uff5d\uff0c\u3001\uff1a\uff1b", "()[][]{},,:;", strict=True))
    | {"\uff1d": "=", "\uff0b": "+", "\uff0d": "-", "\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00f7": "/"}
    | {"\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u2192": "->", "\uff1c": "<", "\uff1e": ">"}
    | dict.fromkeys("\u200b\u2060\ufeff", "")
    | dict.fromkeys("\u0085\u2028\u2029", "\n")
)
# Signs of a notation before a program, after it, and the tokens that end an answer.
_FIRST_MARKS = re.compile(
    r"\A\s*(?:(?:<\|[\w-]{1,30}\|>|<(?:code|py|python|script|program|execute|tool_code|tool_call|parameter|function)"
    r"(?:[_= ][^<>\n]{0,80})?>|<!\[CDATA\[|`{1,2}(?!`)|\*\*)\s*)+"
)
_LAST_MARKS = re.compile(
    r"(?:(?:</\w{1,20}>|<\|[\w-]{1,30}\|>|<(?:end_code|end_of_turn|eos)>|\]\]>|(?<!`)`{1,2}|\*\*)\s*)+\Z"
)
_MAX_MARKS = 60
# Numbers of lines: on each line.
_LINE_MARK = re.compile(r"^[ \t]*\d{1,4}[ \t]*(?:[:|.)\u2192]|(?=[ ]{2}))[ ]?", re.MULTILINE)
_QUOTED = re.compile(r"(?:[ \t]*+(?:>(?!>>)[^\n]*+)?(?:\n|\Z))+")
_RETURN = re.compile(r"^return\b[ \t]*+([^\n]*+(?:\n(?:[ \t)\]}][^\n]*+)?)*+)\Z", re.MULTILINE)
_SLASHES = re.compile(r"\A[ \t]*//")
# A string in straight quotes (up to the end of its line, so that each is read once), a command, a string in typographic
# quotes, and signs that Python does not know.
_FOREIGN = re.compile(
    r"""(?P<string>"{3}(?>(?:[^"\\]|\\.|"(?!""))*)(?:"{3}|\Z)|'{3}(?>(?:[^'\\]|\\.|'(?!''))*)(?:'{3}|\Z)"""
    r"""|"(?:[^"\\\n]|\\.)*+(?:"|$)|'(?:[^'\\\n]|\\.)*+(?:'|$)|\#[^\n]*+)"""
    + _COMMANDS
    + "|\u201c[^\u201c\u201d\n]*+\u201d|\u2018[^\u2018\u2019\n]*+\u2019"
    f"|[\u00a0\u2000-\u200b\u202f\u205f\u3000{''.join(_SIGNS)}]",
    re.DOTALL | re.MULTILINE,
)
_DOES_SOMETHING = (ast.Call, ast.Assign, ast.AugAssign, ast.FunctionDef, ast.Import, ast.ImportFrom)


def repair_source(text: str) -> str | None:
    """Return the program that unparsable text stands for, or None."""
    if len(text) > _MAX_TEXT:
        return None
    if packed := unpack_json(text):
        return packed
    text = unquote(text)
    # Tags within its strings are no reasoning, and only a text that is written as HTML has entities.
    if _is_program(whole := _respell(from_transcript(_LANGUAGE_LINE.sub("", text)))):
        return whole
    spoken = _LANGUAGE_LINE.sub("", remove_reasoning(text))
    for unescaped in dict.fromkeys((spoken, _unescape_newlines(spoken))):
        for block in (*_blocks(unescaped), unescaped):
            first, _, rest = block.strip("\n").partition("\n")
            if first.lstrip().startswith("#"):  # the line above may have been its condition
                dedented = block
            else:
                dedented = f"{first.lstrip()}\n{textwrap.dedent(rest)}"
            plain, from_html = _respell(block), _respell(html.unescape(block) if _ENTITY.search(block) else block)
            forms = block, _dedent(block), dedented, from_transcript(block), plain, from_html
            for form in dict.fromkeys(chain(forms, _tidy(block))):
                if form != text and _is_program(form):
                    return form
            if block is not unescaped and _is_code(block):
                # The program has a mistake; text after it is not another program.
                return None
    return _comments_in(spoken)


def unpack_program(text: str, tree: ast.Module) -> str | None:
    """Return the program that a parsed text only wraps, or None.

    The text is a string, a dict with the key "code", a transcript, or a program below a line that names its language.
    """
    if tree.body and isinstance(tree.body[0], ast.AnnAssign):
        transcript = from_transcript(text)  # `In [1]: x` is an annotation, too
        return transcript if transcript != text and _is_program(transcript) else None
    if not tree.body or not isinstance(tree.body[0], ast.Expr):
        return None
    value: ast.expr | None = tree.body[0].value
    if len(tree.body) > 1:
        unmarked = _LANGUAGE_LINE.sub(r"\1", text)
        return unmarked if isinstance(value, ast.Name) and unmarked != text else None
    if isinstance(value, ast.Dict):
        parts = {
            key.value: part for key, part in zip(value.keys, value.values, strict=True) if isinstance(key, ast.Constant)
        }
        value = (
            parts.pop("code", None) if len(parts) == len(value.keys) and parts.keys() <= {"code", *_BESIDE} else None
        )
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        return None
    code = value.value
    if len(code) <= _MAX_TEXT and _is_program(code):
        return code
    return None


def without_return(text: str) -> str | None:
    """Return a program with the value of its last statement, a `return` outside of functions, instead; or None."""
    changed = _RETURN.sub(r"\1", text).rstrip()
    try:
        compile(changed, "<program>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # raised by the parser
        return None
    return changed or None


def unpack_json(text: str) -> str | None:
    """Return the program in a JSON object with the one key "code", which may stand in a fence; else None."""
    found = _JSON_OBJECT.fullmatch(text)
    if not found or len(text) > _MAX_TEXT:
        return None
    try:
        packed = json.loads(found[1], strict=False)
    except (ValueError, RecursionError):
        return None
    code = packed.pop("code", None)
    if packed.keys() <= _BESIDE and isinstance(code, str) and _is_program(code):
        return code
    return None


def unquote(text: str) -> str:
    """Return text without the marks of a quotation (`>`) if all of it is one, and other text unchanged."""
    return re.sub(r"^[ \t]*>[ ]?", "", text, flags=re.MULTILINE) if _QUOTED.fullmatch(text) else text


def from_transcript(text: str) -> str:
    """Return the input in a transcript of Python's prompt (`>>>`) or IPython's, and other text unchanged."""
    lines = text.strip("\n").split("\n")
    if not _FIRST_PROMPT.match(lines[0]):
        return text
    prompts = (_PROMPT.match(line) for line in lines)
    return "\n".join(prompt["input"] or "" for prompt in prompts if prompt)


def _respell(text: str) -> str:
    """Return text without typographic quotes and blanks, and commands to a shell, outside of its strings."""

    def rewrite(found: re.Match[str]) -> str:
        foreign = found[0]
        if found["string"]:
            return foreign
        if found["command"]:
            return ""
        quote = _STRAIGHT.get(foreign[0])
        if quote is None:
            return _SIGNS.get(foreign, " ")
        return f"{quote}{foreign[1:-1]}{quote}"

    return _FOREIGN.sub(rewrite, text)


def _comments_in(text: str) -> str | None:
    """Return the comments of a text without anything else but fences, or None."""
    lines = [line for line in text.splitlines() if not _FENCE.fullmatch(line)]
    if all(line.lstrip()[:1] in {"", "#"} for line in lines):
        return "\n".join(lines)
    return None


def _tidy(text: str) -> Iterator[str]:
    """Yield text without what may stand around a program or before its lines."""
    bare = _FIRST_MARKS.sub("", text).rstrip()
    bare = _dedent(_respell(bare[:-_MAX_MARKS] + _LAST_MARKS.sub("", bare[-_MAX_MARKS:])))
    yield bare
    if len(_LINE_MARK.findall(bare)) >= len(re.findall(r"^[^\n]", bare, re.MULTILINE)):
        yield _dedent(_LINE_MARK.sub("", bare))
    yield from (bare.expandtabs(4), bare.expandtabs(8))
    yield _SLASHES.sub("#", bare)


def _is_program(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # raised by the parser
        return False
    return any(isinstance(node, _DOES_SOMETHING) for node in ast.walk(tree))


def _unescape_newlines(text: str) -> str:
    r"""Return one-line text with its escaped line ends (``\n``) as real ones."""
    text = text.strip()
    if "\n" in text or "\\n" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _blocks(text: str) -> Iterator[str]:
    """Yield the text between fences: first from the first to the last, then each block, Python's before others."""
    if on_one_line := _ON_ONE_LINE.fullmatch(text):
        yield on_one_line[1].strip()
    fences = list(_FENCE.finditer(text))
    before = text[: fences[0].start()] if fences else ""
    if not fences or _is_in_string(before):
        return
    if _is_code(before):
        # A fence may close what none has opened.
        yield before
        return
    between = text[fences[0].end() : fences[-1].start()].strip("\n")
    if _is_python(fences[0][1]) and _is_program(_dedent(between)):
        yield between
    inner = list(islice(_inner_blocks(text, fences), _MAX_BLOCKS))
    yield from (block for language, block in inner if language and _is_python(language))
    yield from (block for language, block in inner if not language)


def _inner_blocks(text: str, fences: list[re.Match[str]]) -> Iterator[tuple[str, str]]:
    """Yield the text after each fence that is not in a string, with the fence's language."""
    ends = [fence.start() for fence in fences[1:]] + [len(text)]
    is_in_string, position = False, 0
    for fence, end in zip(fences, ends, strict=True):
        # Only what follows the last fence is looked at: thousands of fences would otherwise take quadratic time.
        is_in_string ^= _is_in_string(text[position : fence.start()])
        position = fence.start()
        if not is_in_string:
            yield fence[1], text[fence.end() : end].strip("\n")


def _is_python(language: str) -> bool:
    return not language or _PYTHON.fullmatch(language) is not None


def _is_in_string(before: str) -> bool:
    """Return whether text ends inside a triple-quoted string, in which a program may hold a fence."""
    return (before.count('"""') + before.count("'''")) % 2 == 1


def _is_code(block: str) -> bool:
    """Return whether an unparsable block was meant to be a program, and is not a repeated error message."""
    return bool(block.strip()) and not _ERROR.search(block) and bool(_CODE.search(block))


def _dedent(text: str) -> str:
    return textwrap.dedent(text).strip("\n")
