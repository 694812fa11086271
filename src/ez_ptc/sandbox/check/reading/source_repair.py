"""Repairing the form of programs that models write: in a fence, indented, with escaped line ends, as a transcript.

A program that Python can parse is never changed, except for one that is only the text of another. Otherwise these forms
are tried, and the first one that parses is the program.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from .reasoning import remove_reasoning
from .respelling import even_tabs, respell, unescape_html, without_line_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "LANGUAGE_LINE",
    "MAX_TEXT",
    "SLASHES",
    "SourceRepair",
    "blocks_of",
    "comments_in",
    "dedent",
    "find_repair",
    "find_wrapped_program",
    "from_transcript",
    "is_code",
    "is_program_text",
    "repair_source",
    "unescape_newlines",
    "unpack_json",
    "unpack_program",
    "unquote",
    "without_marks",
    "without_return",
]

# The maximum characters of a program whose other forms are tried.
MAX_TEXT = 100_000
_MAX_BLOCKS = 8
# Possessive, as are those below where they stand beside others that match the same signs: the time is linear.
_FENCE = re.compile(r"^[ \t]*+(?:`{3,}+|~{3,}+)[ \t]*+([\w+.#-]*+)[^\n`]*+$", re.MULTILINE)
_BARE_FENCE = re.compile(r"[ \t]*+(?:`{3,}+|~{3,}+)[ \t]*+(?:[\w+.#-]++[^\n`]*+)?")
_ON_ONE_LINE = re.compile(r"\s*+`{3,}+(?:python|py)?\s++([^`\n]++)`{3,}+\s*+", re.IGNORECASE)
_PYTHON = re.compile(r"(?:i?python|py|tool_code)[\d.]*", re.IGNORECASE)
_ERROR = re.compile(r"^(?:Traceback \(|\w*(?:Error|Exception|Warning)\b)", re.MULTILINE)
_CODE = re.compile(
    r"^[ \t]*(?:@?\w[\w.]*[ \t]*(?:\(|[-+*/|]?=)|(?:def|class|for|while|if|with|import|from)\b)", re.MULTILINE
)
_PROMPT = re.compile(r"[ \t]*(?:>>>|In \[\d*\]:|\.\.\.:?)(?:$| (?P<input>.*))")
_FIRST_PROMPT = re.compile(r"\s*(?:>>>|In \[\d*\]:)")
LANGUAGE_LINE = re.compile(r"\A(\s*)(?:python3?|py)[ \t]*(?=\n)", re.IGNORECASE)
_JSON_OBJECT = re.compile(r"\s*(?:`{3,}\w*\s+)?(\{\s*\"\w{1,20}\"\s*:.*\})\s*(?:`{3,}\s*)?", re.DOTALL)
# What a model is asked for, or says, beside its program.
_BESIDE = frozenset({"analysis", "explanation", "language", "plan", "reasoning", "thought", "thoughts"})
# Signs of a notation before a program, after it, and the tokens that end an answer.
_FIRST_MARKS = re.compile(
    r"\A\s*(?:(?:<\|[\w-]{1,30}\|>|<(?:code|py|python|script|program|execute|tool_code|tool_call|parameter|function)"
    r"(?:[_= ][^<>\n]{0,80})?>|<!\[CDATA\[|`{1,2}(?!`)|\*\*)\s*)+"
)
_LAST_MARKS = re.compile(
    r"(?:(?:</\w{1,20}>|<\|[\w-]{1,30}\|>|<(?:end_code|end_of_turn|eos)>|\]\]>|(?<!`)`{1,2}|\*\*)\s*)+\Z"
)
_MAX_MARKS = 60
_QUOTED = re.compile(r"(?:[ \t]*+(?:>(?!>>)[^\n]*+)?(?:\n|\Z))+")
_RETURN = re.compile(r"^return\b[ \t]*+([^\n]*+(?:\n(?:[ \t)\]}][^\n]*+)?)*+)\Z", re.MULTILINE)
SLASHES = re.compile(r"\A[ \t]*//")
_DOES_SOMETHING = (ast.Call, ast.Assign, ast.AugAssign, ast.FunctionDef, ast.Import, ast.ImportFrom)


class SourceRepair(NamedTuple):
    """A program in a form that Python can parse, and the keys of `REPAIRS` that say how it came to be."""

    program: str
    keys: tuple[str, ...]


def repair_source(text: str) -> str | None:
    """Return the program that unparsable text stands for, or None."""
    repair = find_repair(text)
    return None if repair is None else repair.program


def find_repair(text: str) -> SourceRepair | None:
    """Return the repair of unparsable text, or None if it stands for no program, or for more than one."""
    if len(text) > MAX_TEXT:
        return None
    if packed := unpack_json(text):
        return SourceRepair(packed, ("json",))
    unquoted = unquote(text)
    unmarked = LANGUAGE_LINE.sub("", unquoted)
    inputs = from_transcript(unmarked)
    # Tags within its strings are no reasoning, and only a text that is written as HTML has entities.
    if is_program_text(whole := respell(inputs)):
        keys = _changed(quotation=(text, unquoted), language=(unquoted, unmarked), transcript=(unmarked, inputs))
        return SourceRepair(whole, (*keys, *_changed(signs=(inputs, whole))))
    if unquoted == text:  # words around a program in a quotation are about it
        return _repair_within(text)
    return None


def _repair_within(text: str) -> SourceRepair | None:
    """Return the repair of text that has more than a program."""
    reasoned = remove_reasoning(text)
    spoken = LANGUAGE_LINE.sub("", reasoned)
    keys = _changed(reasoning=(text, reasoned), language=(reasoned, spoken))
    for unescaped in dict.fromkeys((spoken, unescape_newlines(spoken))):
        for block in (*blocks_of(unescaped), unescaped):
            for key, form in _forms(block):
                if form != text and is_program_text(form):
                    # A fence around all of it is not worth a word.
                    frame = "block"
                    if _has_further_program(unescaped, block):
                        frame = "blocks"
                    steps = _changed(newlines=(spoken, unescaped), **{frame: (_FENCE.sub("", unescaped), block)})
                    return SourceRepair(form, (*keys, *steps, *_changed(**{key: (block, form)})))
            if block is not unescaped and is_code(block):
                # The program has a mistake; text after it is not another program.
                return None
    comments = comments_in(spoken)
    return None if comments is None else SourceRepair(comments, ())


def comments_in(text: str) -> str | None:
    """Return the comments of a text without anything else but fences, or None."""
    lines = [line for line in text.splitlines() if not _BARE_FENCE.fullmatch(line)]
    if all(line.lstrip()[:1] in {"", "#"} for line in lines):
        return "\n".join(lines)
    return None


def _changed(**steps: tuple[str, str]) -> tuple[str, ...]:
    """Return the keys of the steps, texts before and after, that changed more than the blank lines around a text."""
    return tuple(key for key, (before, after) in steps.items() if before.strip("\n") != after.strip("\n"))


def unpack_program(text: str, tree: ast.Module) -> str | None:
    """Return the program that a parsed text only wraps, or None."""
    wrapped = find_wrapped_program(text, tree)
    return None if wrapped is None else wrapped.program


def find_wrapped_program(text: str, tree: ast.Module) -> SourceRepair | None:
    """Return the repair of a parsed text that only wraps a program, or None.

    The text is a string, a dict with the key "code", a transcript, or a program below a line that names its language.
    """
    first = tree.body[0] if tree.body else None
    key, program = "", text
    if isinstance(first, ast.AnnAssign):  # `In [1]: x` is an annotation, too
        key, program = "transcript", from_transcript(text)
    elif isinstance(first, ast.Expr) and len(tree.body) == 1:
        key, program = _unwrap(first.value)
    elif isinstance(first, ast.Expr) and isinstance(first.value, ast.Name):
        key, program = "language", LANGUAGE_LINE.sub(r"\1", text)
    if program == text or len(program) > MAX_TEXT or not is_program_text(program):
        return None
    return SourceRepair(program, (key,))


def _unwrap(value: ast.expr | None) -> tuple[str, str]:
    """Return the text of a string, or of a dict with the key "code", and its key; or two empty texts."""
    key = "string"
    if isinstance(value, ast.Dict):
        key = "json"
        parts = {
            key.value: item for key, item in zip(value.keys, value.values, strict=True) if isinstance(key, ast.Constant)
        }
        value = (
            parts.pop("code", None) if len(parts) == len(value.keys) and parts.keys() <= {"code", *_BESIDE} else None
        )
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return key, value.value
    return "", ""


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
    match = _JSON_OBJECT.fullmatch(text)
    if not match or len(text) > MAX_TEXT:
        return None
    try:
        packed = json.loads(match[1], strict=False)
    except (ValueError, RecursionError):
        return None
    code = packed.pop("code", None)
    if packed.keys() <= _BESIDE and isinstance(code, str) and is_program_text(code):
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


def _forms(block: str) -> Iterator[tuple[str, str]]:
    """Yield the forms that a block may be meant as, each with its key."""
    first, _, rest = block.strip("\n").partition("\n")
    yield "block", block
    yield "indentation", dedent(block)
    if not first.lstrip().startswith("#"):  # the line above may have been its condition
        yield "indentation", f"{first.lstrip()}\n{textwrap.dedent(rest)}"
    yield "transcript", from_transcript(block)
    yield "signs", respell(block)
    yield "entities", respell(unescape_html(block))
    # Without what may stand around a program, or before its lines.
    bare = dedent(respell(without_marks(block)))
    yield "marks", bare
    yield "numbers", dedent(without_line_numbers(bare) or bare)
    yield "indentation", even_tabs(bare) or bare
    yield "comment", SLASHES.sub("#", bare)


def without_marks(block: str) -> str:
    """Return a block without the signs of a notation before it and after it."""
    bare = _FIRST_MARKS.sub("", block).rstrip()
    return bare[:-_MAX_MARKS] + _LAST_MARKS.sub("", bare[-_MAX_MARKS:])


def is_program_text(text: str) -> bool:
    """Return whether text is a program that does something."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # raised by the parser
        return False
    return any(isinstance(node, _DOES_SOMETHING) for node in ast.walk(tree))


def unescape_newlines(text: str) -> str:
    r"""Return one-line text with its escaped line ends (``\n``) as real ones."""
    text = text.strip()
    if "\n" in text or "\\n" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def blocks_of(text: str) -> Iterator[str]:
    """Yield the text between fences: first from the first to the last, then each block, Python's before others."""
    if on_one_line := _ON_ONE_LINE.fullmatch(text):
        yield on_one_line[1].strip()
    fences = list(_FENCE.finditer(text))
    before = text[: fences[0].start()] if fences else ""
    if not fences or _is_in_string(before):
        return
    if is_code(before):
        # A fence may close what none has opened.
        yield before
        return
    between = text[fences[0].end() : fences[-1].start()].strip("\n")
    if _is_python(fences[0][1]) and is_program_text(dedent(between)):
        yield between
    inner = list(islice(_inner_blocks(text, fences), _MAX_BLOCKS))
    yield from (block for language, block in inner if language and _is_python(language))
    yield from (block for language, block in inner if not language)


def _has_further_program(text: str, program: str) -> bool:
    """Return whether one of the next blocks marked as Python is another program."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return False
    blocks = islice(_inner_blocks(text, fences), _MAX_BLOCKS)
    others = (block for language, block in blocks if language and _is_python(language) and block not in program)
    return any(is_program_text(dedent(block)) for block in others)


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


def is_code(block: str) -> bool:
    """Return whether an unparsable block was meant to be a program, and is not a repeated error message."""
    return bool(block.strip()) and not _ERROR.search(block) and bool(_CODE.search(block))


def dedent(text: str) -> str:
    """Return text without the indentation of all its lines, and the blank lines around it."""
    return textwrap.dedent(text).strip("\n")
