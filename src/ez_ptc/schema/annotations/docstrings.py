"""Google, NumPy and Sphinx docstrings: what a function does, and what each parameter is for."""

import inspect
import re
from collections.abc import Callable, Iterator
from textwrap import dedent, indent
from typing import Final

from docstring_parser import DocstringStyle, ParseError, parse

from ez_ptc.schema.annotations.resolution import innermost

__all__ = ["docstring_of", "parameter_texts", "prose"]

_SECTIONS: Final = (
    "Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Returns?|Yields?|Receives|"
    "Raises|Exceptions?|Except|Warns|Warnings?|Attributes|Methods|Examples?|Notes?|References|See Also|Todo"
)
_GOOGLE: Final = re.compile(rf"(?:{_SECTIONS}):", re.IGNORECASE)
_NUMPY: Final = re.compile(rf"(?:{_SECTIONS})", re.IGNORECASE)
_ARGUMENTS: Final = re.compile(r"(?:(?:Keyword|Other) )?(?:Args|Arguments|Parameters|Params):", re.IGNORECASE)
_ENTRY: Final = re.compile(r"\n(?=\S)")
_BULLET: Final = re.compile(r"\A[-*+•] +")
_UNDERLINE: Final = re.compile(r"-{3,}")
_FIELD: Final = re.compile(
    r"[:@](?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|yields?|ytype)\b"
)
_LAID_OUT: Final = re.compile(r"\s|[-*+•>|#]|\d+[.)]|\.\. |```")


def docstring_of(function: Callable[..., object]) -> str:
    """Return the docstring of anything that can be called, cleaned of its indentation; nothing where there is none."""
    if inspect.isroutine(function) or isinstance(function, type):
        text = inspect.getdoc(function)
    else:  # a `partial` or an object that can be called has the docstring of its class, which is about something else
        inner = innermost(function)
        is_object = getattr(inner, "__name__", None) == "__call__"
        text = inner.__doc__ or (type(function).__doc__ if is_object else None)
    return inspect.cleandoc(text).strip() if text else ""


def prose(docstring: str) -> str:
    """Return what a docstring says apart from its sections: the first paragraph, then the rest of the prose.

    Lines that are wrapped within a paragraph are joined; lists, code and tables stay as they are. `docstring` is
    cleaned of its indentation (`inspect.cleandoc`). Sections are those of the three styles, whatever their place.
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
    """Return what a docstring says about each parameter, by its name.

    Understands Google, NumPy, Sphinx and Epydoc sections; a docstring that none of them fits has nothing to say. An
    entry that is not written as its style asks for spoils none of the others.
    """
    texts: dict[str, str] = {}
    for part, style in _parts(docstring):
        try:
            parsed = parse(part, style)
        except ParseError:
            continue
        for parameter in parsed.params:
            text = "\n\n".join(map(_unwrap, _paragraphs((parameter.description or "").splitlines())))
            names = [name.strip(" *`") for name in parameter.arg_name.split(",")] if text else []
            texts.update((name, text) for name in names if style is DocstringStyle.GOOGLE or name not in texts)
    return texts


def _parts(docstring: str) -> Iterator[tuple[str, DocstringStyle]]:
    """Yield the entries of Google's sections about parameters one by one, and then all the rest."""
    lines = docstring.splitlines()
    rest: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number].rstrip()
        number += 1
        if _ARGUMENTS.fullmatch(line):
            end = _end_of_indent(lines, number)
            for entry in _ENTRY.split(dedent("\n".join(lines[number:end])).strip("\n")):
                yield f"It.\n\nArgs:\n{indent(_BULLET.sub('', entry, count=1), '    ')}", DocstringStyle.GOOGLE
            number = end
        elif rest and _UNDERLINE.fullmatch(line.strip()) and _NUMPY.fullmatch(rest[-1]):
            rest.append("-" * len(rest[-1]))  # the parser asks for as many as the title has letters
        elif not (_FIELD.match(line) and line.startswith(":") and line.count(":") == 1):
            rest.append(line)
    yield "\n".join(rest), DocstringStyle.AUTO


def _section_end(lines: list[str], start: int) -> int | None:
    """Return the number of the line after the section that begins at `start`, or None where none begins."""
    line = lines[start].rstrip()
    following = lines[start + 1].strip() if start + 1 < len(lines) else ""
    if _NUMPY.fullmatch(line) and _UNDERLINE.fullmatch(following):
        return _numpy_end(lines, start + 2)
    if _FIELD.match(line) or _GOOGLE.fullmatch(line):
        return _end_of_indent(lines, start + 1)
    return None


def _end_of_indent(lines: list[str], start: int) -> int:
    for number in range(start, len(lines)):
        if lines[number].strip() and not lines[number][0].isspace():
            return number
    return len(lines)


def _numpy_end(lines: list[str], start: int) -> int:
    for number in range(start, len(lines) - 1):
        if _NUMPY.fullmatch(lines[number].rstrip()) and _UNDERLINE.fullmatch(lines[number + 1].strip()):
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
