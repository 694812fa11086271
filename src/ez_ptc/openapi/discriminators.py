"""Discriminators of OpenAPI: a property of a value that names its schema.

JSON Schema has no such keyword, so the names become constants of the branches. An API with `oneOf` and a `mapping`
takes `{"kind": "kitty", …}` as a cat, also if it would be a dog as well. A base schema without `oneOf` stands for the
schemas that extend it by `allOf`, and they have properties of which the base knows nothing.
"""

import contextlib
from collections.abc import Mapping
from typing import Any, Final

from ez_ptc.openapi.documents import SCHEMAS, Document, UnsupportedError, list_in, object_in

__all__ = ["Discriminators", "Rule"]

# Each branch may have all texts of the others: of more or longer ones, a union is one of any branches, and a base
# schema is itself.
_MAX_TEXTS: Final = 64
_MAX_TEXT_CHARACTERS: Final = 4_000
# References may be circular.
_MAX_SCHEMAS: Final = 32
# Keywords beside the reference of a branch.
Rule = dict[str, Any]
_Branch = dict[str, Any] | bool


class Discriminators:
    """The discriminators of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._subtypes: dict[str, dict[str, Rule]] = {}

    def with_rule(self, read: _Branch, branch: object, union: Mapping[str, Any]) -> _Branch:
        """Return what has been read of a union's branch, with the rule of the union's discriminator for it."""
        name, mapping = _discriminator(union)
        if not isinstance(read, dict) or "$ref" not in read:
            return read
        reference = object_in({"": branch}, "")["$ref"]
        texts = [text for text in mapping if mapping[text] == reference]
        if not texts:
            return {**read, **_rule(name, list(mapping), is_allowed=False)}
        return {**read, **_rule(name, self._possible(reference, name, texts), is_allowed=True)}

    def subtypes(self, reference: object) -> Mapping[str, Rule]:
        """Return the schemas extending a base schema or each other, by reference, with their rules.

        The base itself is the last one, for all other texts of the property, if it has any.
        """
        if not isinstance(reference, str):
            return {}
        if reference in self._subtypes:
            return self._subtypes[reference]
        subtypes = self._subtypes[reference] = {}
        base = self._target(reference)
        name, mapping = _discriminator(base)
        if not name or not base.keys().isdisjoint(("oneOf", "anyOf")):
            return subtypes
        targets = [*dict.fromkeys(mapping.values()), reference]
        for target in targets:
            extensions = self._document.extensions.get(target, ())
            if len(targets) + len(extensions) > 2 * _MAX_TEXTS:
                return subtypes
            targets += [further for further in extensions if further not in targets]
            if len(targets) > _MAX_TEXTS:
                return subtypes
        taken: list[str] = []
        for target in targets:
            if target != reference and self._target(target):
                texts = [text for text in mapping if mapping[text] == target] or [target.removeprefix(SCHEMAS)]
                subtypes[target] = _rule(name, self._possible(target, name, texts), is_allowed=True)
                taken += texts
        listed = self._listed(reference, name)
        if subtypes and (listed is None or not listed <= set(taken)):
            subtypes[reference] = _rule(name, taken, is_allowed=False)
        return subtypes

    def _target(self, reference: object) -> Mapping[str, Any]:
        """Return the schema of a reference, or an empty one without such a schema."""
        with contextlib.suppress(UnsupportedError):
            return object_in({"": self._document.target(reference)}, "")
        return {}

    def _possible(self, reference: object, name: str, texts: list[str]) -> list[str]:
        """Return those of some texts for a property that its schema allows."""
        listed = self._listed(reference, name)
        return [text for text in texts if listed is None or text in listed]

    def _listed(self, reference: object, name: str) -> set[object] | None:
        """Return the texts listed by a schema for a property, or None if it takes any text."""
        waiting: list[object] = [{"$ref": reference}]
        for schema in waiting:
            fields = object_in({"": schema}, "")
            known = object_in(object_in(fields, "properties"), name)
            if listed := list_in(known, "enum") or [known[key] for key in ("const",) if key in known]:
                return set(map(str, listed))
            if len(waiting) < _MAX_SCHEMAS:
                waiting += [self._target(fields.get("$ref")), *list_in(fields, "allOf")[:_MAX_SCHEMAS]]
        return None


def _discriminator(schema: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the name of the discriminating property, or "", and the references of its texts."""
    discriminator = object_in(schema, "discriminator")
    name = discriminator.get("propertyName")
    targets = object_in(discriminator, "mapping")
    sizes = [len(targets), *(len(list_in(schema, keyword)) for keyword in ("anyOf", "oneOf"))]
    if not isinstance(name, str) or max(sizes) > _MAX_TEXTS or sum(map(len, targets)) > _MAX_TEXT_CHARACTERS:
        return "", {}
    mapping = {text: str(target) for text, target in targets.items()}
    return name, {text: target if "/" in target else f"{SCHEMAS}{target}" for text, target in mapping.items()}


def _rule(name: str, texts: list[str], *, is_allowed: bool) -> Rule:
    """Return the rule for a property with one of some texts, or with none of these."""
    if not texts:
        return {}
    if is_allowed:
        return {"properties": {name: {"enum": texts}}, "required": [name]}
    return {"properties": {name: {"not": {"enum": texts}}}}
