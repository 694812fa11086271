"""JSON Schema as a tree of plain schemas: each is a type, a union, a reference, or anything."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from ez_ptc.errors import SchemaError
from ez_ptc.schema.safe_repr import safe_names, safe_repr
from ez_ptc.schema.standard.keywords import ANNOTATIONS, BY_TYPE, TYPES, Schema, join_path, json_type, unique_schemas
from ez_ptc.schema.standard.merging import flatten, types_of
from ez_ptc.schema.standard.references import PREFIX
from ez_ptc.schema.standard.sentences import cut_text, sentences, with_sentences

__all__ = ["Plain"]

# Schemas merged from $ref and allOf can multiply, and nest without end.
_MAX_SIZE: Final = 20_000
_MAX_DEPTH: Final = 40
_UNSAID: Final = frozenset({"unevaluatedItems", "unevaluatedProperties", "additionalItems"})
_STRUCTURE: Final = frozenset({"items", "prefixItems", "properties", "required", "additionalProperties"})
_FURTHER: Final = frozenset(
    {"contains", "maxContains", "minContains"}
    | {"dependentRequired", "dependentSchemas", "patternProperties", "propertyNames"}
)
_ANY_TYPE: Final = frozenset({"else", "if", "not", "then"})


class Plain:
    """Makes the schemas of one document plain.

    A plain schema is one of these, with optional annotations (`description`, `default`, `examples`, …):
    `{"$ref": "#/$defs/…"}`; `{"anyOf": […]}`; `{"type": …}` with one type, the keywords of that type, and an `enum` of
    values of that type; or `{}` for anything. Other constraints become sentences in its description; `left_out` has a
    sentence for each schema without a type, which is described as of the type that its keywords are about.
    """

    def __init__(self, tool: str, definitions: Mapping[str, Schema]) -> None:
        self._tool = tool
        self._definitions = definitions
        self._size = 0
        self.left_out: dict[str, None] = {}  # a set in the order of the sentences

    def leave_out(self, path: str, what: str) -> None:
        """Note that values at a path are left out."""
        text = f"{safe_repr(path) if path else 'the arguments'}: {what}"
        self.left_out.setdefault(text)

    def definition(self, name: str) -> Schema:
        """Return a definition as a plain schema. Raises as `of` does."""
        return self.of(self._definitions[name], name)

    def of(self, schema: Mapping[str, Any], path: str, inside: frozenset[str] = frozenset()) -> Schema:
        """Return a plain schema; `inside` names the definitions it was inlined from.

        Raises `SchemaError` if it grows excessively.
        """
        # A provider without references gets the values and the text of a definition with each of them.
        self._spend(path, 1 + len(schema.get("enum", ())) // 10 + len(schema.get("description", "")) // 100)
        notes, bare = _split_notes(schema)
        alone = bare["allOf"][0] if bare.keys() == {"allOf"} and len(bare["allOf"]) == 1 else bare
        if alone.keys() == {"$ref"}:
            return {**alone, **notes}
        written_out: set[str] = set()
        flat = flatten(schema, self._definitions, written_out, partial(self._spend, path))
        # A definition that would be inlined within itself, or too deeply, stays a reference.
        kept = written_out if len(inside) >= _MAX_DEPTH else written_out & inside
        if kept:
            rest = {key: value for key, value in bare.items() if key != "$ref"}
            return {"$ref": PREFIX + min(kept), **with_sentences(notes, sentences(rest))}
        inside |= written_out
        if "anyOf" in flat or "oneOf" in flat:
            return self._union(flat, path, inside)
        types = _types(flat)
        if types and not types_of(flat) and _values(flat) is None:
            self.leave_out(path, f"values of other types than {' and '.join(types)}")
        if len(types) == 1:
            return self._convert_typed(flat, types[0], path, inside)
        notes, bare = _split_notes(flat)
        if not types:
            return with_sentences(notes, _leftover(flat, _ANY_TYPE))
        return _one_of_many([self._convert_typed(bare, type_, path, inside) for type_ in types], notes)

    def _spend(self, path: str, size: int) -> None:
        self._size += size
        if self._size > _MAX_SIZE:
            message = (
                f"{self._tool}: parameter {safe_repr(path)}: written out without $ref and allOf its schema has more "
                f"than {_MAX_SIZE} parts: describe the tool with a smaller schema, or use strict=False"
            )
            raise SchemaError(message)

    def _union(self, schema: Schema, path: str, inside: frozenset[str]) -> Schema:
        keyword = "anyOf" if "anyOf" in schema else "oneOf"
        notes, bare = _split_notes(schema)
        base = {key: value for key, value in bare.items() if key not in (keyword, "oneOf")}
        if keyword == "anyOf" and "oneOf" in schema:
            notes = with_sentences(notes, sentences({"oneOf": schema["oneOf"]}))
        branches: list[Schema] = schema[keyword]
        # Branches that only require keys become a sentence instead of copies of the whole object.
        if base and all(branch.keys() <= {"description", "required"} for branch in branches):
            wanted = "; or ".join(", ".join(branch.get("required", ())) for branch in branches)
            return self.of({**base, **with_sentences(notes, f"At least one of: {wanted}.")}, path, inside)
        if base:
            base_types = {*types_of(base)}
            # A branch whose types contradict those beside the union can never match.
            agreeing: list[Schema] = []
            for branch in branches:
                types = {*types_of(flatten(branch, self._definitions, spend=partial(self._spend, path)))}
                can_agree = not base_types or not types or base_types & types
                if can_agree or {"integer", "number"} <= base_types | types:
                    agreeing.append({"allOf": [base, branch]})
            branches = agreeing or [base]
        return _one_of_many([self.of(branch, path, inside) for branch in branches], notes)

    def _convert_typed(self, schema: Schema, type_: str, path: str, inside: frozenset[str]) -> Schema:
        kept = (BY_TYPE[type_] - _FURTHER - _STRUCTURE - _UNSAID) | ANNOTATIONS
        typed: Schema = {"type": type_, **{key: value for key, value in schema.items() if key in kept}}
        values = _values(schema)
        if values is not None:
            of_type = [value for value in values if _is_of(type_, value)]
            if type_ in ("object", "array"):
                typed = with_sentences(typed, sentences({"enum": of_type}))
            elif of_type and type_ != "null":
                typed["enum"] = of_type
        typed = with_sentences(typed, _leftover(schema, (_FURTHER & BY_TYPE[type_]) | _ANY_TYPE))
        if type_ == "object":
            return self._object(typed, schema, path, inside)
        if type_ == "array":
            prefix: list[Schema] = schema.get("prefixItems", [])
            # Only one schema can be given for all items, so the order becomes a sentence.
            items = [self.of(item, f"{path}[{at}]", inside) for at, item in enumerate(prefix)]
            order = ", ".join(map(_brief, items))
            if not prefix or "maxItems" not in schema or schema["maxItems"] > len(prefix):
                items.append(self.of(schema.get("items", {}), f"{path}[]", inside))
            if not prefix:
                return {**typed, "items": items[0]}
            return with_sentences({**typed, "items": _one_of_many(items, {})}, f"The items in order: {order}.")
        return typed

    def _object(self, typed: Schema, schema: Schema, path: str, inside: frozenset[str]) -> Schema:
        properties: dict[str, Schema] = schema.get("properties", {})
        required: Sequence[str] = schema.get("required", ())
        patterns: dict[str, Schema] = schema.get("patternProperties", {})
        typed["properties"] = {
            name: self.of(property_, join_path(path, name), inside) for name, property_ in properties.items()
        }
        typed["required"] = [name for name in required if name in properties]
        typed["additionalProperties"] = schema.get("additionalProperties", True)
        if len(patterns) == 1:
            [typed["additionalProperties"]] = patterns.values()
        elif patterns:
            typed["additionalProperties"] = True
        if missing := [name for name in required if name not in properties]:
            return with_sentences(typed, f"These keys are required too: {safe_names(missing)}.")
        return typed


def _split_notes(schema: Mapping[str, Any]) -> tuple[Schema, Schema]:
    """Return a schema's annotations, and its other keywords."""
    notes = {key: value for key, value in schema.items() if key in ANNOTATIONS}
    return notes, {key: value for key, value in schema.items() if key not in ANNOTATIONS}


def _types(schema: Schema) -> list[str]:
    values = _values(schema)
    listed = types_of(schema)
    if values is not None and listed:
        return [type_ for type_ in listed if any(_is_of(type_, value) for value in values)] or listed
    if values is not None:
        listed = list(dict.fromkeys(type_ for value in values if (type_ := json_type(value))))
    if values is not None or listed:
        return [type_ for type_ in listed if type_ != "integer" or "number" not in listed]
    implied = [type_ for type_ in TYPES if type_ != "integer" and schema.keys() & (BY_TYPE[type_] - {"format"})]
    if not implied and "format" in schema:
        return ["string"]
    if len(implied) > 1:
        return []
    return implied


def _values(schema: Mapping[str, Any]) -> list[object] | None:
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def _is_of(type_: str, value: object) -> bool:
    value_type = json_type(value)
    return value_type == type_ or (type_ == "number" and value_type == "integer")


def _leftover(schema: Schema, keywords: frozenset[str]) -> str:
    """Return the sentences for these keywords of a schema."""
    return sentences({key: schema[key] for key in schema if key in keywords and schema[key] != {"type": "string"}})


def _one_of_many(branches: Sequence[Schema], notes: Schema) -> Schema:
    nested: list[list[Schema]] = [branch["anyOf"] if branch.keys() == {"anyOf"} else [branch] for branch in branches]
    unique = unique_schemas(item for inner in nested for item in inner)
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
    # The description of a tuple in a tuple has those of its items, each of which may be a tuple.
    text = cut_text(str(schema.get("description", "")).rstrip("."))
    if text:
        return f"{name} ({text})"
    return str(name)
