"""The paths of pydantic's errors: it mixes the names of unions' branches into them."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pydantic_core import ErrorDetails

__all__ = ["ITEMS", "Unions", "ValuePath", "error_locations", "inner_value"]

ValuePath = tuple[int | str, ...]
"""The steps to a value, from the name of an argument."""

ITEMS: Final = (list, tuple, set, frozenset)

_ROOT: Final[ValuePath] = ()
# A validator of ours around a type, or anyone's around the type it ends in.
_WRAPPED: Final = re.compile(r"function-\w+\[\w*\(\), ([^\[\]()]*(?:\[[^\[\]()]*\])?)\]")
_ENUM: Final = re.compile(r"enum\[(\w+)\]")
_VALIDATED: Final = re.compile(r"function-\w+\[(?P<function>[^(]*)\(\)(?:, (?P<inner>.*))?\]")
_MAX_WRAPPED: Final = 20


@dataclass(frozen=True, slots=True)
class Unions:
    """The paths at which several branches of a union refused a value, with pydantic's branch names.

    For each branch it records whether the value itself was refused, or only a part of it.
    """

    branches: Mapping[ValuePath, Mapping[str, bool]]

    @classmethod
    def of(cls, found: Sequence[list[tuple[ValuePath, int | str]]]) -> "Unions":
        """Return the branches in the locations of some errors."""
        branches: dict[ValuePath, dict[str, bool]] = defaultdict(dict)
        for places in found:
            for path, branch in places[:-1]:
                at_root = places[-1][0] == path
                branches[path][str(branch)] = branches[path].get(str(branch), False) or at_root
        return cls(branches)

    def are_all_wrong(self, path: ValuePath) -> bool:
        """Return whether all branches refused the value as a whole, as far as is known."""
        return len(self.branches.get(path, ())) > 1 and self._intended_branch(path) is None

    def meeting(self, places: list[tuple[ValuePath, int | str]]) -> ValuePath | None:
        """Return the path to report an error at; None for an error of a branch that was not meant."""
        for path, branch in places[:-1]:
            if self.are_all_wrong(path):
                return path
            if len(self.branches[path]) > 1 and self._intended_branch(path) != str(branch):
                return None
        return places[-1][0]

    def text(self, path: ValuePath) -> str:
        """Return the expected types at a path."""
        return " | ".join(dict.fromkeys(_branch_text(branch) for branch in self.branches[path]))

    def _intended_branch(self, path: ValuePath) -> str | None:
        """Return the only branch with the shape of the value, or None."""
        fitting = [branch for branch, is_refused in self.branches[path].items() if not is_refused]
        return fitting[0] if len(fitting) == 1 else None


def error_locations(error: ErrorDetails, values: Mapping[str, object]) -> list[tuple[ValuePath, int | str]]:
    """Return the path of an error, after each path at which pydantic names a union's branch.

    Pydantic mixes branch names into the path; an element that the value does not have there is one.
    """
    path = _ROOT
    value: object = values
    branches: list[tuple[ValuePath, int | str]] = []
    last = len(error["loc"]) - 1
    for number, step in enumerate(error["loc"]):
        is_absent_key = number == last and error["type"] == "missing"
        if number == 0 or is_absent_key or _has(value, step) or (isinstance(step, int) and type(value) in ITEMS):
            path, value = (*path, step), inner_value(value, step)
        else:
            branches.append((path, step))
    return [*branches, (path, "")]


def _has(value: object, step: int | str) -> bool:
    if isinstance(value, Mapping):
        return step in cast("Mapping[object, object]", value)
    if isinstance(value, list | tuple):
        return isinstance(step, int) and 0 <= step < len(cast("Sequence[object]", value))
    return False


def inner_value(value: object, step: int | str) -> object:
    """Return the part of a value after one step of a path; None if there is none."""
    return cast("Mapping[object, object]", value)[step] if _has(value, step) else None


def _branch_text(branch: str) -> str:
    """Return the type in pydantic's name of a branch, without validators and constraints."""
    while (match := _VALIDATED.fullmatch(branch)) is not None:
        branch = match["inner"] or match["function"]
    for _ in range(_MAX_WRAPPED):
        branch, count = _WRAPPED.subn(r"\1", branch)
        if not count:
            break
    return _ENUM.sub(r"\1", branch.replace("constrained-", "")).replace(",", ", ").replace(",  ", ", ")
