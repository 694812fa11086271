"""Unions with branches that no value can fit alone: they differ by their `format` alone, or one is part of another.

In draft 2020-12 a format describes, and refuses nothing: every value that fits one branch of such a `oneOf` fits all of
them, and so none is valid. Authors mean the opposite: a value is tried by the known formats, and one branch is enough.
Likewise for two equal branches with a title each, or an integer beside a number, or the known texts beside any text.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.schema.standard.keywords import ANNOTATIONS, Schema

__all__ = ["OWN_RULES", "OwnRules", "merge_alternatives"]

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


def merge_alternatives(schema: Schema, definitions: Mapping[str, Schema], *, for_checks: bool) -> None:
    """Make branches of a `oneOf` into one with alternatives, where no value can fit one of them alone.

    The schema, in the standard form, is changed in place.
    """
    listed = cast("list[Schema]", schema["oneOf"])
    pairs = [(branch, _target(branch, definitions)) for branch in listed]
    wide = {_types(target) for _, target in pairs if target.keys() - ANNOTATIONS == {"type"}}
    widest = sorted(wide, key=lambda types: (-len(types), sorted(types)))
    groups: dict[object, list[tuple[Schema, Schema]]] = {}
    for branch, target in pairs:
        types = _types(target)
        within = next((others for others in widest if types and types <= others), None)
        groups.setdefault(within or _shape(target, _BESIDE), []).append((branch, target))
    branches: list[Schema] = []
    for key, group in groups.items():
        if isinstance(key, frozenset):
            branches.append(_alternatives([branch for branch, _ in group]))
        elif _differ_by_format([target for _, target in group]):
            branches.append({"anyOf": [_with_rule(*pair, for_checks=for_checks) for pair in group]})
        else:
            branches += _without_equals(group)
    if len(branches) == len(listed):
        return
    del schema["oneOf"]
    if len(branches) > 1:
        schema["oneOf"] = branches
    elif "anyOf" in schema:
        schema["allOf"] = [*schema.get("allOf", ()), *branches]
    else:
        schema.update(branches[0])


def _target(branch: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return a branch, or the definition for a branch of a reference alone."""
    if branch.keys() - ANNOTATIONS == {"$ref"}:
        return definitions[branch["$ref"].removeprefix(_PREFIX)]
    return branch


def _without_equals(group: Sequence[tuple[Schema, Schema]]) -> list[Schema]:
    """Return branches, with equal ones as one branch of alternatives."""
    by_shape: dict[object, list[Schema]] = {}
    for number, (branch, target) in enumerate(group):
        shape: object = _shape(target, ANNOTATIONS)
        # Any value fits an empty schema: beside it, the others say what is not allowed.
        if shape == "{}":
            shape = number
        by_shape.setdefault(shape, []).append(branch)
    return list(map(_alternatives, by_shape.values()))


def _alternatives(branches: list[Schema]) -> Schema:
    if len(branches) == 1:
        return branches[0]
    return {"anyOf": branches}


def _types(schema: Schema) -> frozenset[str]:
    """Return the JSON types named by a schema, or of its listed texts."""
    types: object = schema.get("type", [])
    names = frozenset(cast("list[str]", types) if isinstance(types, list) else [str(types)])
    if "number" in names:  # each integer is one
        return names | {"integer"}
    listed = cast("list[object]", schema.get("enum", [schema["const"]] if "const" in schema else []))
    if not names and listed and all(isinstance(item, str) for item in listed):
        return frozenset({"string"})
    return names


def _shape(schema: Schema, beside: frozenset[str]) -> str:
    return json.dumps({key: value for key, value in schema.items() if key not in beside}, sort_keys=True)


def _differ_by_format(targets: Sequence[Schema]) -> bool:
    """Return whether schemas that are equal otherwise have different formats, which their draft does not check."""
    formats = {str(target.get("format", "")) for target in targets}
    if len(formats) == 1:
        return False
    is_checked = all(OWN_RULES in target or "format" not in target for target in targets)
    return not is_checked or not formats <= _KNOWN | {""}


def _with_rule(branch: Schema, target: Schema, *, for_checks: bool) -> Schema:
    if not for_checks or target.get("format") not in _KNOWN:
        return branch
    return {**branch, OWN_RULES: OwnRules({"$schema": _CHECKED_BY, "format": target["format"]})}
