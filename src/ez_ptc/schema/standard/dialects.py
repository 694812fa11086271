"""The drafts of JSON Schema, and which keywords each of them knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["ANY_DRAFT", "Dialect", "dialect_named"]

_DRAFT_4: Final = 4
_DRAFT_6: Final = 6
_DRAFT_7: Final = 7
_DRAFT_2019: Final = 2019
_DRAFT_2020: Final = 2020
# The draft that introduced a keyword, and the last one that has it.
_SINCE: Final[Mapping[str, int]] = {
    **dict.fromkeys(("const", "contains", "propertyNames", "examples"), _DRAFT_6),
    **dict.fromkeys(("if", "then", "else", "contentEncoding", "contentMediaType"), _DRAFT_7),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "minContains", "maxContains"), _DRAFT_2019),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties", "$anchor"), _DRAFT_2019),
    **dict.fromkeys(("$recursiveRef", "$recursiveAnchor"), _DRAFT_2019),
    **dict.fromkeys(("prefixItems", "$dynamicRef", "$dynamicAnchor"), _DRAFT_2020),
}
_UNTIL: Final[Mapping[str, int]] = dict.fromkeys(("additionalItems", "$recursiveRef", "$recursiveAnchor"), _DRAFT_2019)
_OWN_RULES: Final[Mapping[int, frozenset[str]]] = {
    _DRAFT_4: frozenset({"format", "type"}),
    _DRAFT_6: frozenset({"format"}),
    _DRAFT_7: frozenset({"format", "contentEncoding", "contentMediaType"}),
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The rules for reading a schema: those of one draft, or of any if the schema does not name its own.

    In the latter case, each keyword of every draft counts, with what its value says.
    """

    uri: str
    draft: int

    @property
    def is_any(self) -> bool:
        """Whether the schema does not name its draft."""
        return not self.uri

    @property
    def identifier(self) -> str:
        """The keyword with the address of a schema."""
        return "id" if self.draft == _DRAFT_4 else "$id"

    @property
    def has_lone_references(self) -> bool:
        """Whether the keywords beside a `$ref` do not count."""
        return self.draft <= _DRAFT_7

    def has(self, keyword: str) -> bool:
        """Return whether a keyword means something."""
        return self.is_any or _SINCE.get(keyword, 0) <= self.draft <= _UNTIL.get(keyword, _DRAFT_2020)

    def own_rules(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords of a schema with a meaning that draft 2020-12 does not have, as a schema of this draft.

        Until draft 7, a format is a rule, as is the form of encoded content in draft 7; in draft 4, 1.0 is no integer.
        """
        rules = {key: schema[key] for key in _OWN_RULES.get(self.draft, ()) if key in schema}
        if (
            "type" in rules
            and rules["type"] != "integer"
            and (not isinstance(rules["type"], list) or "integer" not in rules["type"])
        ):
            del rules["type"]
        return {"$schema": self.uri, **rules} if rules else {}


ANY_DRAFT: Final = Dialect("", _DRAFT_2020)
_DIALECTS: Final[Mapping[str, Dialect]] = {
    "json-schema.org/draft-04/schema": Dialect("http://json-schema.org/draft-04/schema#", _DRAFT_4),
    "json-schema.org/draft-06/schema": Dialect("http://json-schema.org/draft-06/schema#", _DRAFT_6),
    "json-schema.org/draft-07/schema": Dialect("http://json-schema.org/draft-07/schema#", _DRAFT_7),
    "json-schema.org/draft/2019-09/schema": Dialect("https://json-schema.org/draft/2019-09/schema", _DRAFT_2019),
    "json-schema.org/draft/2020-12/schema": Dialect("https://json-schema.org/draft/2020-12/schema", _DRAFT_2020),
}
# Other names at these addresses are older drafts, misspelt ones, or "the newest".
_WELL_KNOWN: Final = ("json-schema.org/", "spec.openapis.org/", "www.w3.org/")


def dialect_named(uri: object) -> Dialect | str:
    """Return the dialect that a `$schema` names, or a sentence that says what is wrong with it."""
    if not isinstance(uri, str):
        return f"a $schema is text, got {safe_repr(uri)}"
    name = uri.strip().rstrip("#/").removeprefix("https://").removeprefix("http://")
    if name in _DIALECTS:
        return _DIALECTS[name]
    if not name or name.startswith(_WELL_KNOWN):
        return ANY_DRAFT
    return (
        f"its $schema {safe_repr(uri)} is a meta-schema with a vocabulary of its own, and is not fetched: name a draft "
        "such as 'https://json-schema.org/draft/2020-12/schema'"
    )
