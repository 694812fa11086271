"""The paths of pydantic's errors: it mixes the names of unions' branches into them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pydantic_core import ErrorDetails

__all__ = ["ITEMS", "Unions", "ValuePath", "about_tag", "error_locations", "inner_value"]

ValuePath = tuple[int | str, ...]
"""The steps to a value, from the name of an argument."""

ITEMS: Final = (list, tuple, set, frozenset)

_ROOT: Final[ValuePath] = ()
# A validator of ours around a type, or anyone's around the type it ends in.
_WRAPPED: Final = re.compile(r"function-\w+\[\w*\(\), ([^\[\]()]*(?:\[[^\[\]()]*\])?)\]")
_ENUM: Final = re.compile(r"enum\[(\w+)\]")
_VALIDATED: Final = re.compile(r"function-\w+\[(?P<function>[^(]*)\(\)(?:, (?P<inner>.*))?\]")
# A discriminator that is a field, and no function; with an alias, which comes last, both names are listed.
_TAG: Final = re.compile(r"(?:'\w+' \| )?'(?P<key>\w+)'")
_SPECIAL_FORM: Final = re.compile(r"\b(?:literal|union)(?=\[)")
_MAX_WRAPPED: Final = 20
_MAX_EXPLAINED: Final = 3

_Branches = Mapping[str, Sequence[tuple[ValuePath, ErrorDetails]]]
_Located = tuple[list[tuple[ValuePath, int | str]], ErrorDetails]


@dataclass(frozen=True, slots=True)
class Unions:
    """The errors of each branch at the paths where several branches of a union refused a value.

    `meant` has the branch that was meant at a path, if one stands out among those that refused but a part of the value.
    """

    branches: Mapping[ValuePath, _Branches]
    meant: Mapping[ValuePath, str | None]

    @classmethod
    def of(cls, errors: Iterable[_Located]) -> "Unions":
        """Return the errors by path and branch."""
        branches: dict[ValuePath, dict[str, list[tuple[ValuePath, ErrorDetails]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for places, error in errors:
            for path, branch in places[:-1]:
                branches[path][str(branch)].append((places[-1][0], error))
        return cls(branches, {path: _meant_branch(path, inner) for path, inner in branches.items()})

    def are_all_wrong(self, path: ValuePath) -> bool:
        """Return whether no branch was meant, as far as is known."""
        return len(self.branches.get(path, ())) > 1 and self.meant[path] is None

    def meeting(self, places: list[tuple[ValuePath, int | str]]) -> ValuePath | None:
        """Return the path to report an error at; None for an error of a branch that was not meant."""
        for path, branch in places[:-1]:
            if self.are_all_wrong(path):
                return path
            if len(self.branches[path]) > 1 and self.meant[path] != str(branch):
                return None
        return places[-1][0]

    def text(self, path: ValuePath) -> str:
        """Return the expected types at a path."""
        return " | ".join(dict.fromkeys(map(_branch_text, self.branches[path])))

    def possible(self, path: ValuePath) -> list[tuple[str, ValuePath, ErrorDetails]]:
        """Return the type, and the path and details of the first error, of branches that refused a part of a value."""
        fitting = _fitting(path, self.branches[path])
        return [(_branch_text(branch), *errors[0]) for branch, errors in [*fitting.items()][:_MAX_EXPLAINED]]


def _fitting(path: ValuePath, branches: _Branches) -> _Branches:
    return {branch: errors for branch, errors in branches.items() if all(place != path for place, _ in errors)}


def _meant_branch(path: ValuePath, branches: _Branches) -> str | None:
    """Return the one branch that accepts the most: a tag that another accepts, or else most parts."""
    fitting = _fitting(path, branches)
    wrong = {branch: {place for place, _ in errors} for branch, errors in fitting.items()}
    tags = {
        branch: {place for place, error in errors if error["type"] == "literal_error"}
        for branch, errors in fitting.items()
    }
    first, *others = tags.values() or (set[ValuePath](),)
    if others and first.intersection(*others):  # no branch has this tag
        return None
    ranks = {branch: (any(tags[branch] - wrong[other] for other in fitting), len(wrong[branch])) for branch in fitting}
    least = min(ranks.values(), default=None)
    nearest = [branch for branch, rank in ranks.items() if rank == least]
    return nearest[0] if len(nearest) == 1 else None


def about_tag(error: ErrorDetails) -> ErrorDetails:
    """Return an error about the tag of a discriminated union as one about the tag's field, and others unchanged."""
    context = error.get("ctx", {})
    tag = _TAG.fullmatch(str(context.get("discriminator")))
    if tag is None:
        return error
    location = (*error["loc"], tag["key"])
    if error["type"] == "union_tag_not_found":
        return {**error, "type": "missing", "loc": location}
    expected = str(context["expected_tags"]).replace(", ", " or ")
    passed = inner_value(error["input"], tag["key"])
    return {**error, "type": "literal_error", "loc": location, "input": passed, "ctx": {"expected": expected}}


def error_locations(
    error: ErrorDetails, values: Mapping[str, object], other_names: Callable[[ValuePath, object], Sequence[object]]
) -> list[tuple[ValuePath, int | str]]:
    """Return the path of an error, after each path at which pydantic names a union's branch.

    Pydantic mixes branch names into the path; an element that the value does not have there is one. It writes the first
    alias of a field, whatever name the value has for it: one of `other_names`, which gets a path and that alias.
    """
    path = _ROOT
    value: object = values
    branches: list[tuple[ValuePath, int | str]] = []
    last = len(error["loc"]) - 1
    for number, name in enumerate(error["loc"]):
        is_absent_key = number == last and error["type"] == "missing"
        step = name if number == 0 or is_absent_key else _name_in_record(value, path, name, other_names)
        if number == 0 or is_absent_key or _has(value, step) or (isinstance(step, int) and type(value) in ITEMS):
            path, value = (*path, step), inner_value(value, step)
        else:
            branches.append((path, step))
    return [*branches, (path, "")]


def _name_in_record(
    value: object, path: ValuePath, name: int | str, other_names: Callable[[ValuePath, object], Sequence[object]]
) -> int | str:
    """Return the name by which a record has a field, or the name itself if it has none of the others."""
    if not isinstance(value, Mapping) or name in value:
        return name
    return next((other for other in other_names(path, name) if isinstance(other, str) and other in value), name)


def _has(value: object, step: int | str) -> bool:
    if isinstance(value, Mapping):
        return step in cast("Mapping[object, object]", value)
    if isinstance(value, list | tuple):
        return isinstance(step, int) and 0 <= step < len(cast("Sequence[object]", value))
    return False


def inner_value(value: object, step: int | str) -> object:
    """Return the part of a value after one step of a path, or None if the value has no such part."""
    return cast("Mapping[object, object]", value)[step] if _has(value, step) else None


def _branch_text(branch: str) -> str:
    """Return the type in pydantic's name of a branch, without validators and constraints."""
    while (match := _VALIDATED.fullmatch(branch)) is not None:
        branch = match["inner"] or match["function"]
    for _ in range(_MAX_WRAPPED):
        branch, count = _WRAPPED.subn(r"\1", branch)
        if not count:
            break
    return (
        _ENUM.sub(r"\1", _SPECIAL_FORM.sub(lambda form: form[0].title(), branch.replace("constrained-", "")))
        .replace(",", ", ")
        .replace(",  ", ", ")
    )
