"""The names of tools and parameters: their spelling in programs, and the error for an unknown one."""

import builtins
import difflib
import heapq
import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from types import BuiltinFunctionType
from typing import Final

from ez_ptc._lazy import lazy
from ez_ptc.errors import ArgumentsError, DuplicateToolError
from ez_ptc.schema.safe_repr import safe_names, safe_repr
from ez_ptc.schema.stubs import MAX_LENGTH, is_writable, normal_form
from ez_ptc.tools.outputs.failures import logs_refusal

__all__ = [
    "NearNames",
    "other_settings_text",
    "parameter_spellings",
    "tool_spellings",
    "unknown_tool_text",
    "with_real_names",
]

# Models invent names of any length; comparing them takes quadratic time.
_MAX_COMPARED_LENGTH: Final = 128
_MAX_COMPARED_NAMES: Final = 100
# The minimum similarity (of 1) of a name to a misspelling of it.
_MIN_SIMILARITY: Final = 0.75
# A word in more names than these, and than one of so many, says nothing about a tool.
_MAX_SHARING: Final = 20
_COMMONNESS: Final = 1 << 20
_MIN_WORD: Final = 2
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NAMESPACE_END: Final = re.compile("[.:/]")
_DUNDER: Final = re.compile("__.*[^_]__")
# Only Python's own: debuggers and notebooks add functions to the host's builtins that programs do not have.
_BUILTINS: Final = frozenset(
    name
    for name, value in vars(builtins).items()
    if name in ("input", "open", "print")
    or isinstance(value, BuiltinFunctionType)
    or (isinstance(value, type) and value.__module__ == "builtins")
    or value is NotImplemented
    or value is Ellipsis
)


def unknown_tool_text(name: object, names: Collection[str]) -> str:
    """Return the error message for an unknown name; it lists the known ones, nearest first."""
    compared = str(name)[:_MAX_COMPARED_LENGTH]
    others = NearNames(names).similar(compared)
    near = difflib.get_close_matches(compared, others, n=len(others) or 1, cutoff=0)
    if len(others) < len(names):
        near += [known for known in names if known not in others]
    folded = {known.casefold(): known for known in others}
    parts = (compared.casefold(), _NAMESPACE_END.split(compared.casefold())[-1])
    likely = [match for spelling in parts for match in difflib.get_close_matches(spelling, folded, n=1)]
    suggestion = f" (did you mean {safe_repr(folded[likely[0]])}?)" if likely else ""
    return f"unknown tool {safe_repr(name)}{suggestion}; available: {safe_names(near) or 'none'}"


class NearNames:
    """Names by their groups of three letters: comparing a misspelt name with each of many takes too long."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._by_group: dict[str, list[str]] = {}
        if len(names) > _MAX_COMPARED_NAMES:
            for name in names:
                for group in _groups(name):
                    self._by_group.setdefault(group, []).append(name)

    def similar(self, name: str) -> Collection[str]:
        """Return the names with the most groups of `name`; all, if there are not many."""
        if not self._by_group:
            return self._names
        counts = Counter(chain.from_iterable(self._by_group.get(group, ()) for group in _groups(name)))
        return heapq.nsmallest(_MAX_COMPARED_NAMES, counts, key=lambda known: (-counts[known], len(known), known))

    def find(self, name: str, most: int) -> list[str]:
        """Return up to `most` names that `name` may be a misspelling of, nearest first."""
        compared = name[:_MAX_COMPARED_LENGTH].casefold()
        folded = {known.casefold(): known for known in self.similar(compared)}
        return [folded[match] for match in difflib.get_close_matches(compared, folded, n=most, cutoff=_MIN_SIMILARITY)]

    def related(self, name: str, most: int) -> list[str]:
        """Return up to `most` names that share rare words with `name`, such as `list_orders` with `count_orders`."""
        scores: Counter[str] = Counter()
        for word in _words(name):
            sharing = self._by_word.get(word, ())
            if sharing and len(sharing) <= max(_MAX_SHARING, len(self._names) // _MAX_SHARING):
                scores.update(dict.fromkeys(sharing, _COMMONNESS // len(sharing)))
        return heapq.nsmallest(most, scores, key=lambda known: (-scores[known], len(known), known))

    @lazy
    def _by_word(self) -> Mapping[str, list[str]]:
        by_word: dict[str, list[str]] = {}
        for name in self._names:
            for word in _words(name):
                by_word.setdefault(word, []).append(name)
        return by_word


def _words(name: str) -> set[str]:
    """Return the words of a name, without the `s` of a plural."""
    words = (word.casefold() for word in _WORD.findall(name[:_MAX_COMPARED_LENGTH]))
    return {word.removesuffix("s") for word in words if len(word) > _MIN_WORD}


def _groups(name: str) -> set[str]:
    padded = f"  {name[:_MAX_COMPARED_LENGTH].casefold()} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


@logs_refusal
def tool_spellings(names: Iterable[str], provided: Collection[str]) -> dict[str, str]:
    """Return each tool's name in programs, by its own name.

    A name that is not an identifier becomes one: `get_weather` for `get-weather`. A name that would hide a Python
    built-in or a `provided` name gets an underscore: `print_`.

    Raises DuplicateToolError if two tools end up with the same name.
    """
    spellings: dict[str, str] = {}
    tools: dict[str, str] = {}
    for name in names:
        spelling = _identifier(name)
        hides_python = _DUNDER.fullmatch(spelling) or spelling in _BUILTINS or keyword.issoftkeyword(spelling)
        if spelling in provided or hides_python:
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


def other_settings_text(name: str) -> str:
    """Return the refusal of a tool that is already there with another context or approver."""
    return (
        f"the tool {name!r} comes twice, with different contexts, approvers or bounds of its registries: pass it once, "
        "or give one of the two another name with ToolRegistry.renamed"
    )


def parameter_spellings(names: Collection[str]) -> dict[str, str]:
    """Return the spelling in programs of the parameters with names Python cannot write: `from_` for `from`.

    Each spelling is unique among the tool's names. The order of `names` does not matter.
    """
    unwritable = [name for name in names if not is_writable(name)]
    used = set(names).difference(unwritable)
    counts: dict[str, int] = {}
    spellings: dict[str, str] = {}
    # Sorted, so that a spelling does not depend on the order of the names.
    for name in sorted(unwritable):
        spelling = base = _identifier(name)
        while spelling in used:
            counts[base] = number = counts.get(base, 1) + 1
            suffix = f"_{number}"
            spelling = base.rstrip("_")[: MAX_LENGTH - len(suffix)] + suffix
        used.add(spelling)
        spellings[name] = spelling
    return spellings


def with_real_names(tool: str, names: Mapping[str, str], arguments: Mapping[str, object]) -> dict[str, object]:
    """Return a program's arguments under their real names; `names` maps spellings to these.

    Raises ArgumentsError for an argument passed under both names.
    """
    renamed: dict[str, object] = {}
    problems: list[str] = []
    for name, value in arguments.items():
        real = names.get(name, name)
        if real != name and real in arguments:
            problems.append(
                f"{safe_repr(name)} and {safe_repr(real)} are the same argument: pass it once, as {safe_repr(name)}"
            )
        renamed[real] = value
    if problems:
        message = f"{tool}: {'; '.join(problems)}"
        raise ArgumentsError(message, problems=problems)
    return renamed


def _identifier(name: str) -> str:
    """Return the identifier nearest to a name."""
    if is_writable(name):
        return name
    characters = [char if f"_{char}".isidentifier() else " " for char in normal_form(name[:MAX_LENGTH])]
    text = "_".join("".join(characters).split()) or "_"
    if not text.isidentifier():
        text = f"_{text}"
    text = text[: MAX_LENGTH - 1]
    if is_writable(text):
        return text
    return f"{text}_"
