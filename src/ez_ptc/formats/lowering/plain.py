"""JSON Schema as a tree of plain schemas: each is a type, a union, a reference, or anything."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.keywords import ANNOTATIONS, BY_TYPE, TYPES, Schema, json_type
from ez_ptc.formats.lowering.merging import flatten, types_of
from ez_ptc.formats.lowering.references import PREFIX
from ez_ptc.formats.lowering.sentences import sentences, with_sentences
from ez_ptc.schema.safe_repr import safe_names, safe_repr

__all__ = ["Plain"]

_LARGEST: Final = 20_000
_DEEPEST: Final = 40
_UNSAID: Final = frozenset({"unevaluatedItems", "unevaluatedProperties", "additionalItems"})
_STRUCTURE: Final = frozenset({"items", "prefixItems", "properties", "required", "additionalProperties"})
_FURTHER: Final = frozenset(
    {
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "maxContains",
        "minContains",
        "patternProperties",
        "propertyNames",
    }
)
_ANY_TYPE: Final = frozenset({"else", "if", "not", "then"})


class Plain:
    """Makes the schemas of one document plain.

    A plain schema is one of these, with optional annotations (`description`, `default`, `examples`, …):
    `{"$ref": "#/$defs/…"}`; `{"anyOf": […]}`; `{"type": …}` with one type, the keywords of that type, and an `enum` of
    values of that type; or `{}` for anything. Other constraints become sentences in its description.
    """

    def __init__(self, tool: str, definitions: Mapping[str, Schema]) -> None:
        self._tool = tool
        self._definitions = definitions
        self._made = 0

    def of(self, schema: Mapping[str, Any], path: str, inside: frozenset[str] = frozenset()) -> Schema:
        """Return a plain schema; `inside` names the definitions it was inlined from.

        Raises `SchemaError` if it grows excessively.
        """
        self._made += 1
        if self._made > _LARGEST:
            self._refuse(path)
        alone = _reference(schema)
        if alone is not None:
            return alone
        written_out: set[str] = set()
        flat = flatten(schema, self._definitions, written_out)
        if (again := self._again(written_out, inside)) is not None:
            return _only_reference(again, schema)
        inside |= written_out
        if "anyOf" in flat or "oneOf" in flat:
            return self._union(flat, path, inside)
        kinds = _types(flat)
        if len(kinds) == 1:
            return self._convert_typed(flat, kinds[0], path, inside)
        notes = {key: flat[key] for key in ANNOTATIONS if key in flat}
        if not kinds:
            return with_sentences(notes, *_leftover(flat, _ANY_TYPE))
        without = {key: value for key, value in flat.items() if key not in ANNOTATIONS}
        return _one_of_many([self._convert_typed(without, kind, path, inside) for kind in kinds], notes)

    def _again(self, written_out: set[str], inside: frozenset[str]) -> str | None:
        """Return the name of a definition that would be inlined within itself, or too deeply, or None."""
        repeated = written_out
        if len(inside) < _DEEPEST:
            repeated = written_out & inside
        if repeated:
            return min(repeated)
        return None

    def _union(self, schema: Schema, path: str, inside: frozenset[str]) -> Schema:
        keyword = "anyOf" if "anyOf" in schema else "oneOf"
        base = {key: value for key, value in schema.items() if key not in ANNOTATIONS and key not in (keyword, "oneOf")}
        notes = {key: schema[key] for key in ANNOTATIONS if key in schema}
        if keyword == "anyOf" and "oneOf" in schema:
            notes = with_sentences(notes, sentences({"oneOf": schema["oneOf"]}))
        branches: list[Schema] = schema[keyword]
        if base and all(item.keys() <= {"description", "required"} for item in branches):
            wanted = "; or ".join(", ".join(item.get("required", ())) for item in branches)
            return self.of({**base, **with_sentences(notes, f"At least one of: {wanted}.")}, path, inside)
        if not base:
            return _one_of_many([self.of(item, path, inside) for item in branches], notes)
        whole = [flatten(item, self._definitions) for item in branches]
        agreeing = [
            {"allOf": [base, branch]} for branch, flat in zip(branches, whole, strict=True) if _agree(base, flat)
        ]
        return _one_of_many([self.of(item, path, inside) for item in agreeing or [base]], notes)

    def _convert_typed(self, schema: Schema, kind: str, path: str, inside: frozenset[str]) -> Schema:
        kept = (BY_TYPE[kind] - _FURTHER - _STRUCTURE - _UNSAID) | ANNOTATIONS
        typed: Schema = {"type": kind, **{key: value for key, value in schema.items() if key in kept}}
        values = _values(schema)
        if values is not None:
            of_kind = [item for item in values if _is_of(kind, item)]
            if kind in ("object", "array"):
                typed = with_sentences(typed, sentences({"enum": of_kind}))
            elif of_kind and kind != "null":
                typed["enum"] = of_kind
        typed = with_sentences(typed, *_leftover(schema, (_FURTHER & BY_TYPE[kind]) | _ANY_TYPE))
        if kind == "array":
            return self._array(typed, schema, path, inside)
        if kind == "object":
            return self._object(typed, schema, path, inside)
        return typed

    def _array(self, typed: Schema, schema: Schema, path: str, inside: frozenset[str]) -> Schema:
        prefix: list[Schema] = schema.get("prefixItems", [])
        if not prefix:
            return {**typed, "items": self.of(schema.get("items", {}), f"{path}[]", inside)}
        item_schemas = [self.of(part, f"{path}[{at}]", inside) for at, part in enumerate(prefix)]
        closed = "maxItems" in schema and schema["maxItems"] <= len(prefix)
        if closed:
            rest = []
        else:
            rest = [self.of(schema.get("items", {}), f"{path}[]", inside)]
        order = ", ".join(_brief(part) for part in item_schemas)
        return with_sentences(
            {**typed, "items": _one_of_many([*item_schemas, *rest], {})}, f"The items in order: {order}."
        )

    def _object(self, typed: Schema, schema: Schema, path: str, inside: frozenset[str]) -> Schema:
        properties: dict[str, Schema] = schema.get("properties", {})
        required: Sequence[str] = schema.get("required", ())
        typed["properties"] = {
            name: self.of(property_, f"{path}.{name}" if path else name, inside)
            for name, property_ in properties.items()
        }
        typed["required"] = [name for name in required if name in properties]
        typed["additionalProperties"] = _additional(schema)
        if missing := [name for name in required if name not in properties]:
            return with_sentences(typed, f"These keys are required too: {safe_names(missing)}.")
        return typed

    def _refuse(self, path: str) -> NoReturn:
        message = (
            f"{self._tool}: parameter {safe_repr(path)}: written out without $ref and allOf its schema has more than "
            f"{_LARGEST} parts: describe the tool with a smaller schema, or use strict=False"
        )
        raise SchemaError(message)


def _reference(schema: Mapping[str, Any]) -> Schema | None:
    beside = schema.keys() - ANNOTATIONS
    notes = {key: value for key, value in schema.items() if key in ANNOTATIONS}
    if beside == {"allOf"} and len(schema["allOf"]) == 1 and schema["allOf"][0].keys() == {"$ref"}:
        return {**schema["allOf"][0], **notes}
    if beside == {"$ref"}:
        return {"$ref": schema["$ref"], **notes}
    return None


def _only_reference(name: str, schema: Mapping[str, Any]) -> Schema:
    notes = {key: value for key, value in schema.items() if key in ANNOTATIONS}
    rest = {key: value for key, value in schema.items() if key not in ANNOTATIONS and key != "$ref"}
    return {"$ref": PREFIX + name, **with_sentences(notes, sentences(rest) if rest else "")}


def _types(schema: Schema) -> list[str]:
    values = _values(schema)
    listed = types_of(schema)
    if values is not None:
        types = list(dict.fromkeys(kind for value in values if (kind := json_type(value))))
        if not listed:
            return _without_integer(types)
        return [kind for kind in listed if any(_is_of(kind, value) for value in values)] or listed
    if listed:
        return _without_integer(listed)
    implied = [kind for kind in TYPES if kind != "integer" and schema.keys() & (BY_TYPE[kind] - {"format"})]
    return implied if len(implied) == 1 else ["string"] if "format" in schema and not implied else []


def _without_integer(kinds: list[str]) -> list[str]:
    return [kind for kind in kinds if kind != "integer" or "number" not in kinds]


def _values(schema: Mapping[str, Any]) -> list[object] | None:
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def _is_of(kind: str, value: object) -> bool:
    type_ = json_type(value)
    return type_ == kind or (kind == "number" and type_ == "integer")


def _agree(base: Schema, branch: Schema) -> bool:
    first, second = types_of(base), types_of(branch)
    return (
        not first or not second or any(item in second for item in first) or {"integer", "number"} <= {*first, *second}
    )


def _additional(schema: Schema) -> object:
    patterns: dict[str, Schema] = schema.get("patternProperties", {})
    if patterns:
        if len(patterns) == 1:
            return next(iter(patterns.values()))
        return True
    return schema.get("additionalProperties", True)


def _leftover(schema: Schema, keywords: frozenset[str]) -> list[str]:
    leftover = {key: schema[key] for key in schema if key in keywords and schema[key] != {"type": "string"}}
    if leftover:
        return [sentences(leftover)]
    return []


def _one_of_many(branches: Sequence[Schema], notes: Schema) -> Schema:
    unique: list[Schema] = []
    for branch in branches:
        inner = branch["anyOf"] if branch.keys() == {"anyOf"} else [branch]
        unique += [item for item in inner if item not in unique]
    if any(not item.keys() - ANNOTATIONS for item in unique):
        return with_sentences(notes)  # a branch that allows anything allows everything
    if len(unique) > 1:
        return {"anyOf": unique, **notes}
    [only] = unique
    return with_sentences({**only, **notes}, only.get("description", ""))


def _brief(schema: Schema) -> str:
    if "anyOf" in schema:
        return " or ".join(_brief(item) for item in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
    else:
        name = schema.get("type", "anything")
    text = str(schema.get("description", "")).rstrip(".")
    if text:
        return f"{name} ({text})"
    return str(name)
