"""The names of tools and parameters: as a program writes them, and what to say of one that no tool has."""

import builtins
import difflib
import keyword
from collections.abc import Collection, Iterable, Mapping
from types import BuiltinFunctionType
from typing import Final

from ez_ptc.errors import ArgumentsError, DuplicateToolError
from ez_ptc.schema.annotations.identifiers import MAX_LENGTH, is_writable, normal_form
from ez_ptc.schema.safe_repr import safe_names, safe_repr
from ez_ptc.tools.failures import logs_refusal

__all__ = ["not_found", "parameter_spellings", "tool_spellings", "unspelled"]

# A model makes names up, of any length.
_COMPARED: Final = 128
_MIN_DUNDER: Final = len("__a__")
# Debuggers and notebooks of the host put functions of their own there: programs do not have them.
_BUILTINS: Final = frozenset(
    name
    for name, value in vars(builtins).items()
    if name in ("input", "open", "print")
    or isinstance(value, BuiltinFunctionType)
    or (isinstance(value, type) and value.__module__ == "builtins")
    or value is NotImplemented
    or value is Ellipsis
)


def not_found(name: object, names: Collection[str]) -> str:
    """Return the sentence that lists the names there are, nearest first."""
    near = difflib.get_close_matches(str(name)[:_COMPARED], names, n=len(names) or 1, cutoff=0)
    return f"there is no tool {safe_repr(name)}; there are: {safe_names(near) or 'none'}"


@logs_refusal
def tool_spellings(names: Iterable[str], provided: Collection[str]) -> dict[str, str]:
    """Return what programs call each tool.

    A name that Python cannot write is changed to one that it can, as `get_weather` for `get-weather`. One that hides a
    built-in of Python's or what programs are provided with ends with an underscore, as `print_`.

    Raises DuplicateToolError where two tools have one name then.
    """
    spellings: dict[str, str] = {}
    tools: dict[str, str] = {}
    for name in names:
        spelling = _identifier(name)
        if spelling in provided or _hides_python(spelling):
            spelling += "_"
        if spelling in tools:
            message = (
                f"the tools {tools[spelling]!r} and {name!r} are both called {spelling!r} in programs: "
                "give one another name, @ez_tool(name=...) or ToolRegistry.renamed"
            )
            raise DuplicateToolError(message)
        tools[spelling] = name
        spellings[name] = spelling
    return spellings


def parameter_spellings(names: Collection[str]) -> dict[str, str]:
    """Return how programs spell the parameters whose names Python cannot write: `from_` for `from`.

    Each is unique among all names of the tool, and does not depend on their order.
    """
    others = [name for name in names if not is_writable(name)]
    taken = set(names).difference(others)
    counts: dict[str, int] = {}
    spellings: dict[str, str] = {}
    for name in sorted(others):
        spelling = base = _identifier(name)
        while spelling in taken:
            counts[base] = number = counts.get(base, 1) + 1
            suffix = f"_{number}"
            spelling = base.rstrip("_")[: MAX_LENGTH - len(suffix)] + suffix
        taken.add(spelling)
        spellings[name] = spelling
    return spellings


def unspelled(tool: str, names: Mapping[str, str], arguments: Mapping[str, object]) -> dict[str, object]:
    """Return a program's arguments under their real names, given these by spelling.

    Raises ArgumentsError for an argument that is passed under both.
    """
    given: dict[str, object] = {}
    problems: list[str] = []
    for name, value in arguments.items():
        real = names.get(name, name)
        if real != name and real in arguments:
            problems.append(
                f"{safe_repr(name)} and {safe_repr(real)} are the same argument: pass it once, as {safe_repr(name)}"
            )
        given[real] = value
    if problems:
        message = f"{tool}: {'; '.join(problems)}"
        raise ArgumentsError(message, problems=problems)
    return given


def _identifier(name: str) -> str:
    """Return the identifier that is nearest to a name."""
    if is_writable(name):
        return name
    characters = [each if f"_{each}".isidentifier() else " " for each in normal_form(name[:MAX_LENGTH])]
    text = "_".join("".join(characters).split()) or "_"
    text = text if text.isidentifier() else f"_{text}"
    text = text[: MAX_LENGTH - 1]
    return text if is_writable(text) else f"{text}_"


def _hides_python(name: str) -> bool:
    is_dunder = len(name) >= _MIN_DUNDER and name.startswith("__") and name.endswith("__") and name[-3] != "_"
    return is_dunder or name in _BUILTINS or keyword.issoftkeyword(name)
