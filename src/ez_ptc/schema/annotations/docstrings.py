"""Docstrings of Google, NumPy, Sphinx, Epydoc and Markdown: descriptions of functions and of their parameters."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Final

from ez_ptc.schema.annotations.partials import method_behind
from ez_ptc.schema.annotations.resolution import innermost

__all__ = ["class_docstring", "docstring_of", "parameter_texts", "prose", "result_names"]

_ARGUMENTS: Final = (
    r"(?:(?:Keyword|Other|Required|Optional|Input|Function|Additional)[ ])?(?:Arg(?:ument)?|Param(?:eter)?)s?"
    r"|Kwargs|Inputs?|参数"
)
_RESULTS: Final = "Returns?|Yields?|Raises|返回值?"
_SECTIONS: Final = "Receives|Exceptions?|Except|Warns|Warnings?|Methods|Examples?|Notes?|References|See Also|Todo"
# With a colon for Google, as a heading or in bold for Markdown; NumPy underlines it.
_TITLE: Final = re.compile(
    rf"(?P<margin>[ \t]*+)(?P<mark>\#{{1,6}}[ ]|\*\*)?(?:(?P<list>{_ARGUMENTS}|(?P<attributes>Attributes))"
    rf"|(?P<results>{_RESULTS})|{_SECTIONS})"
    r"[ ]?(?P<colon>[:\uff1a]\*{0,2}|\*\*[:\uff1a]?)?\s*+",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"#{1,6} \S|\*\*[^*\n]{1,60}\*\*:?\s*\Z")
_FENCE: Final = re.compile(r"\s*+(?:(?:[-*+•]|\d{1,3}[.)]) +)?(?P<fence>`{3,}+|~{3,}+)\s*+(?P<language>[^`]*)")
_UNDERLINE: Final = re.compile(r"-{3,}|={3,}")
_ENTRY: Final = re.compile(r"\n(?=\S)")
_BULLET: Final = re.compile(r"\A\s*+(?:[-*+•]|\d{1,3}[.)]) +")
_NAME: Final = r"[*`'\"\\]{0,4}\w[\w\\]{0,99}[*`'\"]{0,3}"
_NAMES: Final = rf"(?P<names>{_NAME}(?:(?:, ?|/| and ){_NAME}){{0,9}})"
_TYPE: Final = (
    r"(?:\s*+\((?:[^()]++|\([^()]*+\))++\)|\s*+\([^\n]{1,200}?\)(?= ?[:\uff1a])"
    r"| ?(?:\{[^{}\n]{1,100}\}|\[[^\[\]\n]{1,100}\]|<[^<>\n]{1,100}>)"
    r"| (?:str|string|int|integer|float|number|bool|boolean|list|array|dict|object|tuple|set|bytes|any)"
    r"(?:\[[^:\n]{1,100}\])?(?= ?:))"
)
# What stands before the description in each style.
_GOOGLE: Final = re.compile(
    rf"{_NAMES}(?>{_TYPE}?)(?:=[^\s:]{{1,60}})?[*`]{{0,3}}(?: ?[:\uff1a]\*{{0,2}}| +(?:--?|[–—]|[-=]>|=)(?=\s))",
    re.IGNORECASE,
)
_NUMPY: Final = re.compile(rf"{_NAMES}(?: ?:[^\n]*+)?(?=\n|\Z)")
_SPHINX: Final = re.compile(
    rf":(?:param|parameter|arg|argument|key|keyword) (?:[^:\n]{{1,200}}? )??{_NAMES} ?:"
    rf"|@(?:param|parameter|arg|argument|key|keyword) (?:\{{[^{{}}\n]{{1,100}}\}} )?{_NAMES.replace('names', 'tagged')}"
    r"(?: ?:| --?(?= )|(?= ))"
)
_BARE: Final = re.compile(rf"{_NAMES}(?>{_TYPE}?)")
_BETWEEN: Final = re.compile(r", ?|/| and ")
_MARKUP: Final = re.compile(r"[*`'\"\\]")
_FIELD: Final = re.compile(
    r"[:@](?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|yields?|ytype)\b"
)
_ANY_FIELD: Final = re.compile(r"[:@]\w")
_RETURNS: Final = re.compile(r"Returns?:?", re.IGNORECASE)
_RETURNED: Final = re.compile(r"(?P<name>[^\s:]{1,60})(?: \((?P<type>[^()\n]{1,100})\):| : (?P<numpy>[^\n]{1,100}))")
_LAID_OUT: Final = re.compile(r"\s|[-*+•>|#]|\d+[.)]|\.\. |```")


@dataclass(frozen=True, slots=True)
class _Section:
    """A section of a docstring: the number of the line after it, and its descriptions of parameters or attributes."""

    end: int
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    is_about_attributes: bool = False


def docstring_of(function: Callable[..., object]) -> str:
    """Return the docstring of a callable without indentation, or "" if there is none."""
    if inspect.isroutine(function):
        return (inspect.getdoc(function) or "").strip()
    # A `partial` or a callable object has its class's docstring, which describes the class.
    inner = innermost(function)
    owner: object = getattr(method_behind(function), "__self__", function)
    text = inner.__doc__
    if isinstance(inner, type):
        text = class_docstring(inner)
    elif not text and getattr(inner, "__name__", None) == "__call__":
        text = class_docstring(type(owner))
    return inspect.cleandoc(text or "").strip()


def class_docstring(cls: type) -> str | None:
    """Return a class's own docstring, or None if it has none but what dataclasses and named tuples generate."""
    text = cls.__doc__
    is_generated = text is not None and text.startswith(f"{cls.__name__}(") and text.endswith(")")
    return None if is_generated else text


def prose(docstring: str) -> str:
    """Return a docstring without its sections: the summary, then the remaining prose.

    Wrapped lines of a paragraph are joined; lists, code and tables stay. `docstring` has no indentation
    (`inspect.cleandoc`). Sections of all styles are recognized outside code; an unreadable one is prose.
    Of Markdown's sections only parameters and results are removed.
    """
    kept = [line for line, _ in _read(docstring)]
    return "\n\n".join(_unwrap(paragraph) for paragraph in _paragraphs(kept))


def parameter_texts(docstring: str) -> dict[str, str]:
    """Return a docstring's description of each parameter, by name.

    Understands the sections of Google, NumPy and Markdown, the fields of Sphinx and Epydoc, and PEP 257's
    `name -- text`; other docstrings have no descriptions. A malformed entry does not affect the others.
    The first section with a text for a parameter wins; code blocks are never sections.
    """
    sections = [section for _, section in _read(docstring) if section is not None]
    texts: dict[str, str] = {}
    for section in sorted(sections, key=lambda section: section.is_about_attributes):
        texts = {**section.texts, **texts}
    return texts


def result_names(docstring: str) -> dict[str, str]:
    """Return the named values in the section "Returns" of a Google or NumPy docstring, with their types as text."""
    lines = docstring.splitlines()
    fenced = _fenced(lines)
    for number, line in enumerate(lines):
        is_title = number not in fenced and _RETURNS.fullmatch(line.rstrip())
        section = _section_at(lines, number, fenced) if is_title else None
        if section is not None:
            entries = _ENTRY.split(dedent("\n".join(lines[number + 1 : section.end]).lstrip("-")).strip("\n"))
            matches = filter(None, (_RETURNED.match(_BULLET.sub("", entry, count=1)) for entry in entries))
            return {match["name"].strip("`*\"'"): (match["type"] or match["numpy"]).strip() for match in matches}
    return {}


def _read(docstring: str) -> Iterator[tuple[str, _Section | None]]:
    """Yield the lines of a docstring's prose, and for each section an empty one with the section."""
    lines = docstring.splitlines()
    fenced = _fenced(lines)
    number, above, is_summary, outer = 0, "", True, math.inf
    while number < len(lines):
        line, margin = lines[number], _margin(lines[number])
        # An indented title below less indented prose, or below a colon, belongs to a sample too.
        is_sample = number in fenced or margin > outer or (margin > 0 and above.endswith((":", "\uff1a")))
        section = None if is_sample else _section_at(lines, number, fenced)
        if section is not None:
            yield "", section
            number, above, is_summary = section.end, "", False
            continue
        yield line, None
        number += 1
        if line.strip():
            above = line.rstrip()
            outer = outer if is_summary else min(outer, margin)
        elif above:
            is_summary = False


def _fenced(lines: list[str]) -> set[int]:
    """Return the numbers of the lines in fenced blocks of code; a fence without an end begins none."""
    fenced: set[int] = set()
    start, fence = 0, ""
    for number, line in enumerate(lines):
        mark = _FENCE.fullmatch(line)
        if mark and not fence:
            start, fence = number, mark["fence"]
        elif mark and mark["fence"].startswith(fence) and not mark["language"]:
            fenced.update(range(start, number + 1))
            fence = ""
    return fenced


def _section_at(lines: list[str], start: int, fenced: set[int]) -> _Section | None:
    """Return the section that begins at a line; None if none does, or if its entries are unreadable."""
    if _FIELD.match(lines[start]):
        end = _end_of_field(lines, start + 1)
        return _Section(end, _entries(["\n".join(lines[start:end])], _SPHINX) or {})
    title = _TITLE.fullmatch(lines[start])
    if title is None:
        return None
    style, first = _GOOGLE, start + 1
    if _is_underlined(lines, start):
        style, first = _NUMPY, start + 2
        unfenced = (number for number in range(first, len(lines)) if number not in fenced)
        end = next((number for number in unfenced if _is_underlined(lines, number)), len(lines))
    elif title["list"] and (title["colon"] or title["mark"]):
        end = _end_of_list(lines, start)
    elif title["results"] and title["mark"] and not title["margin"]:
        end = _end_of_results(lines, first, fenced, is_bold=title["mark"] == "**")
    elif title["colon"] and not title["mark"] and not title["margin"]:
        end = _end_of_indent(lines, first)
    else:
        return None
    if not title["list"]:
        return _Section(end)
    entries = _ENTRY.split(dedent("\n".join(lines[first:end])).strip("\n"))
    texts = _entries(filter(None, entries), style)
    if texts is None:
        return None
    return _Section(end, texts, title["attributes"] is not None)


def _is_underlined(lines: list[str], number: int) -> bool:
    """Return whether a line is a title of NumPy's style."""
    following = "".join(lines[number + 1 : number + 2]).strip()
    return _UNDERLINE.fullmatch(following) is not None and _TITLE.fullmatch(lines[number]) is not None


def _entries(entries: Iterable[str], style: re.Pattern[str]) -> dict[str, str] | None:
    """Return the descriptions in the entries of a section, by name; None if there are entries, but none is readable."""
    readable: list[tuple[list[str], list[str]]] = []
    unreadable = False
    for entry in entries:
        plain = _BULLET.sub("", entry, count=1)
        first, _, text = plain.partition("\n")
        if head := style.match(plain):
            text = plain[head.end() :]
        elif not (head := _BARE.fullmatch(first.rstrip())):
            unreadable = True
            for _, pieces in readable[-1:]:  # it goes on without indentation
                pieces.append(f"\n{entry}")
            continue
        groups = head.groupdict()
        names = [_MARKUP.sub("", name) for name in _BETWEEN.split(groups["names"] or groups["tagged"])]
        readable.append((names, [text]))
    texts: dict[str, str] = {}
    for names, pieces in readable:
        lines = inspect.cleandoc("".join(pieces)).splitlines()
        if text := "\n\n".join(map(_unwrap, _paragraphs(lines))):
            texts.update(dict.fromkeys(names, text))
    if unreadable and not readable:
        return None
    return texts


def _end_of_list(lines: list[str], start: int) -> int:
    """Return the line number after the entries below a title: more indented ones, or a list, or lines without a gap."""
    margin = _margin(lines[start])
    first = next((number for number in range(start + 1, len(lines)) if lines[number].strip()), start)
    if _margin(lines[first]) > margin:
        return _end_of_indent(lines, first, margin)
    end = start + 1
    while first < len(lines) and _is_entry(lines[first : first + 2], is_bullet=first > start + 1):
        end = first
        while end < len(lines) and lines[end].strip() and not _TITLE.fullmatch(lines[end]):
            end += 1
        end = first = _end_of_indent(lines, end)
    return end


def _is_entry(lines: list[str], *, is_bullet: bool) -> bool:
    """Return whether a line is the head of an entry, with the description beside or, indented, below it."""
    plain = _BULLET.sub("", lines[0], count=1)
    if head := _GOOGLE.match(plain):
        return bool(plain[head.end() :].strip()) and not (is_bullet and plain == lines[0])
    return _margin(lines[-1]) > _margin(lines[0]) and _BARE.fullmatch(plain.rstrip()) is not None


def _end_of_results(lines: list[str], start: int, fenced: set[int], *, is_bold: bool) -> int:
    """Return the line number after Markdown's results: of a heading or, below a bold title, of the next prose."""
    is_empty = True
    for number in range(start, len(lines)):
        line = lines[number]
        if number not in fenced and _HEADING.match(line):
            return number
        is_apart = line.strip() and not lines[number - 1].strip() and not _margin(line)
        if is_bold and is_apart and not is_empty and number not in fenced and not _BULLET.match(line):
            return number
        is_empty = is_empty and not line.strip()
    return len(lines)


def _end_of_field(lines: list[str], start: int) -> int:
    """Return the line number after a field: of the next one, or of one without indentation below a blank one."""
    for number in range(start, len(lines)):
        line = lines[number]
        if _ANY_FIELD.match(line) or (line.strip() and not _margin(line) and not lines[number - 1].strip()):
            return number
    return len(lines)


def _end_of_indent(lines: list[str], start: int, margin: int = 0) -> int:
    for number in range(start, len(lines)):
        if lines[number].strip() and _margin(lines[number]) <= margin:
            return number
    return len(lines)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


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
