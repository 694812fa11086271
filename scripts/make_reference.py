"""Write docs/api-reference.md from the docstrings of the public names; a test compares them."""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any, Final, cast

import ez_ptc

__all__ = ["PAGE", "main", "render"]

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "api-reference.md"
_HEAD: Final = """\
# API reference

All public names of `ez_ptc`, from their docstrings; `scripts/make_reference.py` writes this page. The
[examples](examples.md) and the other [pages](README.md) show them at work.
"""
_SECTION: Final = re.compile(r"(Args|Attributes|Raises|Returns|Yields):")
_ENTRY: Final = re.compile(r" {4}(\w[\w, ]*): (.*)")
_STARS: Final = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_METHODS: Final[tuple[type[Any], ...]] = (classmethod, staticmethod)
_INHERITED: Final = (object, Exception, Enum)


def render() -> str:
    """Return the page."""
    public = cast("list[str]", getattr(ez_ptc, "__all__"))  # noqa: B009 - made at run time
    names = [name for name in public if not name.startswith("_")]
    values: dict[str, object] = {name: getattr(ez_ptc, name) for name in names}
    parts = [_HEAD]
    for title, belongs in (("Functions", inspect.isroutine), ("Classes", _is_class), ("Errors", _is_error)):
        parts.append(f"## {title}\n")
        for name, value in values.items():
            if belongs(value):
                parts += _entry(name, value)
    others = [name for name, value in values.items() if not (inspect.isroutine(value) or isinstance(value, type))]
    parts.append(f"## Types and constants\n\n{', '.join(f'`{name}`' for name in others)}\n")
    return "\n".join(parts)


def _entry(name: str, value: object) -> Iterator[str]:
    parameters = "" if _is_error(value) else _parameters(value)
    yield from _named(f"### `{name}`", name + parameters, value)
    if not isinstance(value, type):
        return
    for attribute, member in _members(value):
        parameters = "" if isinstance(member, property) else _parameters(getattr(value, attribute))
        yield from _named(f"#### `{name}.{attribute}`", f"{name}.{attribute}{parameters}", member)


def _named(heading: str, call: str, value: object) -> Iterator[str]:
    """Yield a heading, the call with its parameters, and the docstring: the navigation cuts long headings off."""
    yield f"{heading}\n"
    if call.endswith(")"):
        yield f"`{call}`\n"
    yield f"{_markdown(value)}\n"


def _is_class(value: object) -> bool:
    return isinstance(value, type) and not _is_error(value)


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _members(cls: type[Any]) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties of a class, those of its bases first."""
    found: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if base not in _INHERITED and base.__module__.startswith("ez_ptc"):
            found.update(vars(base))
    for name, member in found.items():
        is_member = isinstance(member, (FunctionType, property, *_METHODS))
        if is_member and not name.startswith("_") and inspect.getdoc(cast("object", member)):
            yield name, member


def _parameters(value: object) -> str:
    """Return the names of a callable's parameters, with `...` for defaults: annotations differ between Pythons."""
    if isinstance(value, type) and issubclass(value, Enum):  # so do the parameters of enumerations
        return ""
    try:
        parameters = inspect.signature(cast("Any", value)).parameters.values()
    except (TypeError, ValueError):
        return ""
    texts: list[str] = []
    for parameter in parameters:
        if parameter.name in ("self", "cls") or parameter.name.startswith("_"):
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        has_default = parameter.default is not inspect.Parameter.empty
        texts.append(f"{_STARS.get(parameter.kind, '')}{parameter.name}{'=...' if has_default else ''}")
    return f"({', '.join(texts)})"


def _markdown(value: object) -> str:
    """Return a docstring as Markdown, its sections as lists; an example before them stays indented, as code."""
    lines: list[str] = []
    has_section = False
    for line in (inspect.getdoc(value) or "").splitlines():
        section, entry = _SECTION.fullmatch(line), _ENTRY.fullmatch(line)
        if section:
            has_section = True
            lines += [f"**{section[1]}**", ""]
        elif entry:
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif has_section and line.startswith("        ") and lines[-1].startswith(("- ", "  ")):
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line.strip() if line.startswith("    ") and has_section else line)
    return "\n".join(lines).replace("<", "\\<")


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
