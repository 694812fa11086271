"""The schema of a tool's arguments as an object, which every provider requires at the root."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.safe_repr import safe_names, safe_repr
from ez_ptc.schema.standard.form import standard_form
from ez_ptc.schema.standard.keywords import ANNOTATIONS, BY_TYPE, Schema, any_of, unique_schemas
from ez_ptc.schema.standard.merging import flatten, merge, types_of
from ez_ptc.schema.standard.references import PREFIX
from ez_ptc.schema.standard.sentences import sentences, with_sentences

__all__ = ["with_object_root"]

_UNIONS: Final = ("anyOf", "oneOf")
_KEPT: Final = ANNOTATIONS | BY_TYPE["object"] | {"type"}
_CONDITIONS: Final = ("if", "then", "else")
# A branch with one of these evaluates more arguments than its `properties` name.
_OPEN_ENDED: Final = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "dependentSchemas", "if", "not", "$ref"}
)
_FORBIDDEN: Final[Schema] = {"not": {}}
# Definitions with two branches each double them at every step.
_MAX_BRANCHES: Final = 10_000
# Many branches may each merge one large definition.
_MAX_MERGED: Final = 50_000


def with_object_root(tool: str, schema: object, left_out: list[str] | None = None) -> Schema:
    """Return a tool's parameters as plain JSON Schema: an object with `properties` at its root.

    A `$ref`, an `allOf`, a union and conditions at the root are merged into one object, with each argument that any
    branch names. One is required if every member of the union requires it; a sentence in the description states the
    rest. A sentence for each argument with a description that allows less than the schema is added to `left_out`.

    Raises `SchemaError` if the schema allows no object.
    """
    document = standard_form(tool, schema)
    definitions: dict[str, Schema] = document.pop("$defs", {})
    merger = _Merger(tool, definitions)
    root = merger.object(flatten(document, definitions))
    if left_out is not None:
        left_out += merger.left_out
    rest = {key: value for key, value in root.items() if key not in _KEPT}
    root = with_sentences({key: value for key, value in root.items() if key in _KEPT}, sentences(rest))
    if rest or "dependentSchemas" in root:
        # What these evaluate is not among the properties of the root.
        root.pop("unevaluatedProperties", None)
    if root.get("unevaluatedProperties") is True:
        del root["unevaluatedProperties"]
    root = {**root, "type": "object", "properties": root.get("properties", {})}
    # Definitions out of reach are dropped: a merged $ref leaves some behind.
    reachable: set[str] = set()
    waiting: list[object] = [root]
    while waiting:
        subschema = waiting.pop()
        if isinstance(subschema, list):
            waiting.extend(cast("list[object]", subschema))
        elif isinstance(subschema, dict):
            keywords = cast("Schema", subschema)
            waiting.extend(keywords.values())
            name = str(keywords.get("$ref", "")).removeprefix(PREFIX)
            if name in definitions and name not in reachable:
                reachable.add(name)
                waiting.append(definitions[name])
    if reachable:
        root["$defs"] = {name: definitions[name] for name in definitions if name in reachable}
    return root


@dataclass(frozen=True, slots=True)
class _Merger:
    """Merges the branches of one document's root."""

    tool: str
    definitions: Mapping[str, Schema]
    left_out: dict[str, None] = field(default_factory=dict[str, None])  # a set in the order of the sentences
    open: set[str] = field(default_factory=set[str])  # the definitions whose branches are being merged
    branches: Counter[str] = field(default_factory=Counter[str])

    def object(self, schema: Schema) -> Schema:
        """Return a flat schema with the names of its branches among its properties."""
        types = types_of(schema)
        if types and "object" not in types:
            message = (
                f"{self.tool}: its parameters are of type {' or '.join(types)}, and a model passes its arguments as an "
                "object: write {'type': 'object', 'properties': {...}}"
            )
            raise SchemaError(message)
        for keyword in _UNIONS:
            if keyword in schema:
                branches = [self._branch(branch) for branch in schema[keyword]]
                rest = {key: value for key, value in schema.items() if key != keyword}
                schema = self._with_branches(rest, branches)
        return self._with_conditions(schema)

    def _branch(self, schema: Schema) -> Schema:
        """Return a branch as `object` does; `{}` for one that leads back to itself, and another type as it is."""
        self.branches["all"] += 1
        if self.branches["all"] > _MAX_BRANCHES:
            message = (
                f"{self.tool}: its parameters have more than {_MAX_BRANCHES:,} branches at the root: write their "
                "properties into one object"
            )
            raise SchemaError(message)
        entered: set[str] = set()
        flat = flatten(schema, self.definitions, entered, self._count_merged)
        if types_of(flat) and "object" not in types_of(flat):
            return flat
        if entered & self.open:
            return {}
        self.open.update(entered)
        merged = self.object(flat)
        self.open.difference_update(entered)
        return merged

    def _count_merged(self, size: int) -> None:
        self.branches["merged"] += size
        if self.branches["merged"] > _MAX_MERGED:
            message = (
                f"{self.tool}: the branches at the root of its parameters merge more than {_MAX_MERGED:,} names and "
                "schemas: write their properties into one object"
            )
            raise SchemaError(message)

    def _with_conditions(self, schema: Schema) -> Schema:
        """Return a schema with the properties that only its conditions name; what these say of others stays there."""
        conditions = [schema[key] for key in _CONDITIONS if key in schema and "if" in schema]
        conditions += schema.get("dependentSchemas", {}).values()
        if not conditions or schema.get("additionalProperties") is False:
            return schema
        known: dict[str, Schema] = dict(schema.get("properties", {}))
        named: dict[str, list[Schema]] = {name: [] for name in schema.get("dependentSchemas", {})}
        for condition in conditions:
            branch = self._branch(condition)
            if types_of(branch) and "object" not in types_of(branch):
                continue
            for name, property_ in branch.get("properties", {}).items():
                variants = named.setdefault(name, [])
                is_condition = condition is schema.get("if")
                if not is_condition and name not in known and property_ != _FORBIDDEN:
                    variants.append(property_)
        for name, variants in named.items():
            if name in known:
                continue
            unique = unique_schemas(variants)
            known[name] = any_of(unique) if unique else {}
            if unique and unique != [{}]:
                self._leave_out(name)
        return {**schema, "properties": known}

    def _with_branches(self, base: Schema, branches: Sequence[Schema]) -> Schema:
        objects = [branch for branch in branches if not types_of(branch) or "object" in types_of(branch)]
        if not objects:
            self.object({"type": [type_ for branch in branches for type_ in types_of(branch)]})
        merged: Schema = {"properties": self._properties(base, objects)}
        required: list[list[str]] = [branch.get("required", []) for branch in objects]
        shared = set(required[0]).intersection(*required)
        if in_all := [name for name in required[0] if name in shared]:
            merged["required"] = in_all
        if all(branch.get("additionalProperties") is False for branch in objects):
            patterns = [branch["patternProperties"] for branch in objects if "patternProperties" in branch]
            merged |= {"additionalProperties": False} if not patterns else {}
        if any(branch.keys() & _OPEN_ENDED for branch in objects):
            base = {**base, "unevaluatedProperties": True}
        sets = list(map(safe_names, required))
        note = ""
        if len(set(sets)) > 1 and all(sets):
            note = f"Give one of these sets of arguments: {'; or '.join(sets)}."
        return with_sentences(merge(base, merged), note)

    def _properties(self, base: Schema, objects: Sequence[Schema]) -> dict[str, Schema]:
        """Return the properties that branches add to those of the schema around them."""
        named: dict[str, list[Schema]] = {}
        naming, naming_openly = Counter[str](), Counter[str]()
        open_count = 0
        for branch in objects:
            is_open = branch.get("additionalProperties") is not False
            open_count += is_open
            for name, property_ in branch.get("properties", {}).items():
                naming[name] += 1
                naming_openly[name] += is_open
                named.setdefault(name, []).append(property_)
        properties: dict[str, Schema] = {}
        for name, variants in named.items():
            if naming[name] < len(objects) and name in base.get("properties", {}):
                continue
            properties[name] = any_of(unique_schemas(variants))
            if naming_openly[name] < open_count and {} not in variants:
                self._leave_out(name)
        return properties

    def _leave_out(self, name: str) -> None:
        text = f"{safe_repr(name)}: values of the types of those branches alone that name it"
        self.left_out.setdefault(text)
