"""Choosing the branch of a union for a value, by its JSON type and by the texts naming a branch.

Servers write `{"kind": {"const": "cat"}, …} | {"kind": {"const": "dog"}, …}`. A dog without a name is best answered
with the missing name, and a bird with the kinds.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.schema.standard.references import PREFIX

__all__ = ["Branches"]

_Schema = Mapping[str, Any]
# The search takes time for each of them, and is for an error message: a union of operations has some dozens.
_MAX_BRANCHES: Final = 200
# References may be circular.
_MAX_FACETS: Final = 16
_NULL: Final = {"type": "null"}
_JSON_TYPES: Final[Mapping[type, str]] = {dict: "object", list: "array"}


class Branches:
    """The branches of a union, with the definitions of their references."""

    def __init__(self, branches: Sequence[object], definitions: _Schema) -> None:
        self._branches = branches
        self._definitions = definitions
        self._choices = [number for number, branch in enumerate(branches) if branch != _NULL]
        self._is_large = len(branches) > _MAX_BRANCHES

    def meant_for(self, value: object) -> int | None:
        """Return the number of the only branch for a value, or None if it may be meant for several, or for none."""
        if value is None or self._is_large:
            return None
        choices = self._choices
        if len(choices) > 1 and type(value) in _JSON_TYPES:
            choices = [number for number in choices if self._may_be_meant(number, value)]
        if len(choices) != 1:
            return None
        return choices[0]

    def naming_texts(self, value: object) -> tuple[str, list[str]] | None:
        """Return the first key with a text of no branch, and the texts of the branches for it."""
        if self._is_large or not isinstance(value, dict):
            return None
        objects = [number for number in self._choices if self._admits(number, cast("object", value))]
        texts = [self._texts(number) for number in objects]
        for key, text in _mapping(cast("object", value)).items():
            if texts and all(key in known and text not in known[key] for known in texts):
                return key, list(dict.fromkeys(text for known in texts for text in known[key]))
        return None

    def _may_be_meant(self, number: int, value: object) -> bool:
        texts, excluded = self._texts(number), self._texts(number, are_excluded=True)
        return self._admits(number, value) and all(
            inner in texts.get(key, [inner]) and inner not in excluded.get(key, [])
            for key, inner in _mapping(value).items()
        )

    def _admits(self, number: int, value: object) -> bool:
        """Return whether a branch is of the JSON type of an object or a list."""
        return all(_JSON_TYPES.get(type(value)) in _types(facet) for facet in self._facets(number) if "type" in facet)

    def _texts(self, number: int, *, are_excluded: bool = False) -> dict[str, list[str]]:
        """Return the texts listed by a branch, by key, or those it excludes."""
        texts: dict[str, list[str]] = {}
        for facet in self._facets(number):
            for key, field in _mapping(facet.get("properties")).items():
                known = _mapping(field)
                if are_excluded:
                    known = _mapping(known.get("not"))
                listed = cast("list[object]", known.get("enum", [known.get("const")]))
                if all(isinstance(text, str) for text in listed):
                    texts[key] = cast("list[str]", listed)
        return texts

    def _facets(self, number: int) -> list[_Schema]:
        """Return a branch, the targets of its references, and the schemas of its `allOf`, as far as these are few."""
        facets = [_mapping(self._branches[number])]
        for facet in facets:
            reference = str(facet.get("$ref")).removeprefix(PREFIX)
            within = [self._definitions.get(reference), *facet.get("allOf", [])]
            facets += [_mapping(schema) for schema in within if schema][: _MAX_FACETS - len(facets)]
        return facets


def _types(schema: _Schema) -> list[str]:
    types = schema["type"]
    if isinstance(types, list):
        return cast("list[str]", types)
    return [types]


def _mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    return {}
