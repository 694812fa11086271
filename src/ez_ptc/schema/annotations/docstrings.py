"""Google, NumPy and Sphinx docstrings: descriptions of functions and of their parameters."""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Final

from ez_ptc.schema.annotations.resolution import innermost

if TYPE_CHECKING:
    from docstring_parser.google import GoogleParser

__all__ = ["docstring_of", "parameter_texts", "prose", "result_names"]

_SECTIONS: Final = (
    "Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Returns?|Yields?|Receives|"
    "Raises|Exceptions?|Except|Warns|Warnings?|Attributes|Methods|Examples?|Notes?|References|See Also|Todo"
)
_GOOGLE: Final = re.compile(rf"(?:{_SECTIONS}):", re.IGNORECASE)
_NUMPY: Final = re.compile(rf"(?:{_SECTIONS})", re.IGNORECASE)
_ARGUMENTS: Final = re.compile(r"(?:(?:Keyword|Other) )?(?:Args|Arguments|Parameters|Params):", re.IGNORECASE)
_ENTRY: Final = re.compile(r"\n(?=\S)")
_BULLET: Final = re.compile(r"\A[-*+•] +")
# The parser takes the first colon, which may be one in the type.
_TYPED: Final = re.compile(r"\A([*`\w]{1,100}) ?\((?:[^()\n]|\([^()\n]*+\)){1,200}+\)(?= ?[:\uff1a]| +[-–—])")
_DASHED: Final = re.compile(r"\A([*`\w]{1,100})(?: +(?:--?|[–—]) +| ?\uff1a *)")
_UNINDENTED: Final = re.compile(r"(?:[-*+•] +)?[*`\w]{1,100}(?: ?\([^()\n]{1,100}\))?(?: ?:| +(?:--?|[–—])) +\S")
_UNDERLINE: Final = re.compile(r"-{3,}")
_FIELD: Final = re.compile(
    r"[:@](?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|yields?|ytype)\b"
)
_RETURNS: Final = re.compile(r"Returns?:?", re.IGNORECASE)
_RETURNED: Final = re.compile(r"(?P<name>[^\s:]{1,60})(?: \((?P<type>[^()\n]{1,100})\):| : (?P<numpy>[^\n]{1,100}))")
# The beginning of a section in any style that the parser knows.
_SECTION: Final = re.compile(r"^\s*[:@]|:[ \t]*$|^\s*---", re.MULTILINE)
_LAID_OUT: Final = re.compile(r"\s|[-*+•>|#]|\d+[.)]|\.\. |```")


def docstring_of(function: Callable[..., object]) -> str:
    """Return the docstring of a callable without indentation, or "" if there is none."""
    if inspect.isroutine(function) or isinstance(function, type):
        return (inspect.getdoc(function) or "").strip()
    # A `partial` or a callable object has its class's docstring, which describes the class.
    inner = innermost(function)
    is_object = getattr(inner, "__name__", None) == "__call__"
    text = inner.__doc__ or (type(function).__doc__ if is_object else None)
    return inspect.cleandoc(text or "").strip()


def prose(docstring: str) -> str:
    """Return a docstring without its sections: the summary, then the remaining prose.

    Wrapped lines of a paragraph are joined; lists, code and tables stay. `docstring` has no indentation
    (`inspect.cleandoc`). Sections of all three styles are recognized in any position.
    """
    lines = docstring.splitlines()
    kept: list[str] = []
    number = 0
    while number < len(lines):
        if (end := _section_end(lines, number)) is None:
            kept.append(lines[number])
            number += 1
        else:
            kept.append("")
            number = end
    return "\n\n".join(_unwrap(paragraph) for paragraph in _paragraphs(kept))


def parameter_texts(docstring: str) -> dict[str, str]:
    """Return a docstring's description of each parameter, by name.

    Understands Google, NumPy, Sphinx and Epydoc sections, and PEP 257's `name -- text`; other docstrings have no
    descriptions. A malformed entry does not affect the others.
    """
    from docstring_parser import ParseError, parse

    texts: dict[str, str] = {}
    for section, is_google in _parts(docstring):
        if not _SECTION.search(section):
            continue  # without a section, the parser takes a sixth of the time for a whole tool
        try:
            parsed = _google_parser().parse(section) if is_google else parse(section)
        except ParseError:
            continue
        for parameter in parsed.params:
            text = "\n\n".join(map(_unwrap, _paragraphs((parameter.description or "").splitlines())))
            for name in (name.strip(" *`") for name in parameter.arg_name.split(",")):
                if text and (is_google or name not in texts):
                    texts[name] = text
    return texts


@cache
def _google_parser() -> "GoogleParser":
    from docstring_parser.google import GoogleParser

    return GoogleParser()  # making one takes as long as parsing an entry


def result_names(docstring: str) -> dict[str, str]:
    """Return the named values in the section "Returns" of a Google or NumPy docstring, with their types as text."""
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        end = _section_end(lines, number) if _RETURNS.fullmatch(line.rstrip()) else None
        if end is not None:
            entries = _ENTRY.split(dedent("\n".join(lines[number + 1 : end]).lstrip("-")).strip("\n"))
            matches = filter(None, (_RETURNED.match(_BULLET.sub("", entry, count=1)) for entry in entries))
            return {match["name"].strip("`*\"'"): (match["type"] or match["numpy"]).strip() for match in matches}
    return {}


def _parts(docstring: str) -> Iterator[tuple[str, bool]]:
    """Yield the entries of Google's parameter sections one by one, with True, and then the rest."""
    lines = docstring.splitlines()
    rest: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number].rstrip()
        number += 1
        if _ARGUMENTS.fullmatch(line):
            end = _end_of_arguments(lines, number)
            for text in _ENTRY.split(dedent("\n".join(lines[number:end])).strip("\n")):
                untyped = _TYPED.sub(r"\1", _BULLET.sub("", text, count=1), count=1)
                entry = _DASHED.sub(r"\1: ", untyped, count=1)
                yield f"It.\n\nArgs:\n{indent(entry, '    ')}", True
            number = end
        elif rest and _UNDERLINE.fullmatch(line.strip()) and _NUMPY.fullmatch(rest[-1]):
            rest.append("-" * len(rest[-1]))  # the parser expects an underline as long as the title
        elif not (_FIELD.match(line) and line.startswith(":") and line.count(":") == 1):
            rest.append(line)
    yield "\n".join(rest), False


def _section_end(lines: list[str], start: int) -> int | None:
    """Return the line number after the section beginning at `start`, or None if no section begins there."""
    line = lines[start].rstrip()
    following = ""
    if start + 1 < len(lines):
        following = lines[start + 1].strip()
    if _NUMPY.fullmatch(line) and _UNDERLINE.fullmatch(following):
        for number in range(start + 2, len(lines) - 1):
            if _NUMPY.fullmatch(lines[number].rstrip()) and _UNDERLINE.fullmatch(lines[number + 1].strip()):
                return number
        return len(lines)
    if _ARGUMENTS.fullmatch(line):
        return _end_of_arguments(lines, start + 1)
    if _FIELD.match(line) or _GOOGLE.fullmatch(line):
        return _end_of_indent(lines, start + 1)
    return None


def _end_of_arguments(lines: list[str], start: int) -> int:
    """Return the line number after the entries at `start`: indented ones, or those until the next blank line."""
    end = start
    if start < len(lines) and _UNINDENTED.match(lines[start]):
        while end < len(lines) and lines[end].strip():
            end += 1
    return _end_of_indent(lines, end)


def _end_of_indent(lines: list[str], start: int) -> int:
    for number in range(start, len(lines)):
        if lines[number].strip() and not lines[number][0].isspace():
            return number
    return len(lines)


def _paragraphs(lines: list[str]) -> list[list[str]]:
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def _unwrap(paragraph: list[str]) -> str:
    if any(_LAID_OUT.match(line) for line in paragraph):
        return "\n".join(paragraph)
    return " ".join(paragraph)
