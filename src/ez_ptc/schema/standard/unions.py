"""Unions whose branches differ by their `format` alone.

In draft 2020-12 a format describes, and refuses nothing: every value that fits one branch of such a `oneOf` fits all of
them, and so none is valid. Authors mean the opposite: a value is tried by the known formats, and one branch is enough.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.schema.standard.keywords import ANNOTATIONS, Schema

__all__ = ["OWN_RULES", "OwnRules", "union_by_format"]

# The keyword of a schema's `OwnRules`.
OWN_RULES: Final = "x-own-rules"

_CHECKED_BY: Final = "http://json-schema.org/draft-07/schema#"
_PREFIX: Final = "#/$defs/"
_KNOWN: Final = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri", "uuid"}
    | {
        "iri-reference",
        "json-pointer",
        "regex",
        "relative-json-pointer",
        "time",
        "uri",
        "uri-reference",
        "uri-template",
    }
)
_BESIDE: Final = ANNOTATIONS | {"format", OWN_RULES}


class OwnRules(dict[str, Any]):
    """The rules of a schema that only its draft has, as a schema of that draft; in the form for checks.

    It is a class of its own, since a value in a schema may have any keys.
    """


def union_by_format(schema: Schema, definitions: Mapping[str, Schema], *, for_checks: bool) -> None:
    """Make the branches of a `oneOf` that differ by format alone into one, in which they are alternatives.

    The schema, in the standard form, is changed in place.
    """
    groups: dict[str, list[tuple[Schema, Schema]]] = {}
    for branch in cast("list[Schema]", schema["oneOf"]):
        target = branch
        if branch.keys() - ANNOTATIONS == {"$ref"}:
            target = definitions[branch["$ref"].removeprefix(_PREFIX)]
        shape = {key: value for key, value in target.items() if key not in _BESIDE}
        groups.setdefault(json.dumps(shape, sort_keys=True), []).append((branch, target))
    if not any(_differ_by_format([target for _, target in group]) for group in groups.values()):
        return
    branches: list[Schema] = []
    for group in groups.values():
        if _differ_by_format([target for _, target in group]):
            branches.append(
                {"anyOf": [_with_rule(branch, target) if for_checks else branch for branch, target in group]}
            )
        else:
            branches += [branch for branch, _ in group]
    del schema["oneOf"]
    if len(branches) > 1:
        schema["oneOf"] = branches
    elif "anyOf" in schema:
        schema["allOf"] = [*schema.get("allOf", ()), *branches]
    else:
        schema.update(branches[0])


def _differ_by_format(targets: Sequence[Schema]) -> bool:
    """Return whether schemas that are equal otherwise have different formats, which their draft does not check."""
    formats = {str(target.get("format", "")) for target in targets}
    if len(formats) == 1:
        return False
    is_checked = all(OWN_RULES in target or "format" not in target for target in targets)
    return not is_checked or not formats <= _KNOWN | {""}


def _with_rule(branch: Schema, target: Schema) -> Schema:
    if target.get("format") not in _KNOWN:
        return branch
    return {**branch, OWN_RULES: OwnRules({"$schema": _CHECKED_BY, "format": target["format"]})}
