"""The keys of a tool's parameters as a provider accepts them, and back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from ez_ptc.formats.naming.spelling import NameRules, fit_name
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.keywords import Schema, rebuilt
from ez_ptc.schema.standard.references import PREFIX
from ez_ptc.schema.standard.sentences import with_sentences

__all__ = ["KeyRules", "Keys", "keys_of"]

_MAX_DEPTH: Final = 100
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else")


@dataclass(frozen=True, slots=True)
class KeyRules:
    """The keys a provider accepts, in every object (`everywhere`) or only in the outermost one."""

    names: NameRules
    everywhere: bool


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one tool's parameters at a provider, if they differ.

    Attributes:
        schema: The parameters, an object with its own keys.
        sent: The provider's name of each key it would reject.
        everywhere: Whether that applies to every object, or only to the outermost one.
    """

    schema: Schema
    sent: Mapping[str, str]
    everywhere: bool

    def sent_schema(self) -> Schema:
        """Return the parameters with the provider's keys; the description of each has its own."""
        if not self.sent:
            return self.schema
        if self.everywhere:
            return rebuilt(self.schema, self._rename_schema)
        return self._rename_schema(self.schema)

    def to_own(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with the tool's keys, given the provider's."""
        received = {name: key for key, name in self.sent.items()}
        return cast("dict[str, Any]", self._rename_value(arguments, [self.schema], received, 0))

    def to_sent(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with the provider's keys, given the tool's."""
        return cast("dict[str, Any]", self._rename_value(arguments, [self.schema], self.sent, 0))

    def _rename_schema(self, schema: Schema) -> Schema:
        done = dict(schema)
        for keyword in ("properties", "dependentSchemas", "dependentRequired"):
            if keyword in done:
                done[keyword] = {self.sent.get(key, key): item for key, item in done[keyword].items()}
        properties = done.get("properties", {})
        for key, name in self.sent.items():
            if name in properties:
                properties[name] = with_sentences(properties[name], f"Called {safe_repr(key)}.")
        if "dependentRequired" in done:
            done["dependentRequired"] = {name: self._all(item) for name, item in done["dependentRequired"].items()}
        if "required" in done:
            done["required"] = self._all(done["required"])
        return done

    def _all(self, keys: Sequence[str]) -> list[str]:
        return [self.sent.get(key, key) for key in keys]

    def _rename_value(self, value: object, schemas: Sequence[Schema], names: Mapping[str, str], depth: int) -> object:
        """Rename the keys of a value that are properties in these schemas; keys of free data stay."""
        if depth > _MAX_DEPTH or (depth and not self.everywhere):
            return value
        alternatives = [subschema for schema in schemas for subschema in _parts(schema, self.schema.get("$defs", {}))]
        if isinstance(value, list):
            items = [item["items"] for item in alternatives if isinstance(item.get("items"), dict)]
            items += [subschema for item in alternatives for subschema in item.get("prefixItems", ())]
            return [self._rename_value(item, items, names, depth + 1) for item in cast("list[object]", value)]
        if not isinstance(value, Mapping):
            return value
        fields = cast("Mapping[str, object]", value)
        known: dict[str, list[Schema]] = {}
        for subschema in alternatives:
            for key, property_ in subschema.get("properties", {}).items():
                known.setdefault(key, []).append(property_)
                known.setdefault(self.sent.get(key, key), []).append(property_)
        # The values of a map have schemas too, whatever their keys.
        further = [
            subschema[keyword]
            for subschema in alternatives
            for keyword in ("additionalProperties", "unevaluatedProperties")
            if isinstance(subschema.get(keyword), dict)
        ]
        further += [item for subschema in alternatives for item in subschema.get("patternProperties", {}).values()]
        renamed = {key: names[key] for key in fields if key in known and names.get(key) in known}
        # A value may have the provider's name as a key already.
        renamed = {key: name for key, name in renamed.items() if name not in fields}
        return {
            renamed.get(key, key): self._rename_value(field, known.get(key, further), names, depth + 1)
            for key, field in fields.items()
        }


def keys_of(schema: Schema, rules: KeyRules) -> Keys:
    """Return the provider's keys of an object's schema."""
    # The keys in order, as the first of two that become alike keeps the plain name.
    keys_found: dict[str, None] = dict.fromkeys(schema["properties"])

    def note(part: Schema) -> Schema:
        keys_found.update(dict.fromkeys(part.get("properties", {})))
        return part

    if rules.everywhere:
        rebuilt(schema, note)
    used = {key for key in keys_found if rules.names.allow(key)}
    sent: dict[str, str] = {}
    for at, key in enumerate(keys_found):
        if rules.names.allow(key):
            continue
        near = name = fit_name(key, rules.names) or f"parameter_{at + 1}"
        count = 1
        while near in used:
            count += 1
            near = f"{name[: rules.names.longest - len(str(count)) - 1]}_{count}"
        sent[key] = near
        used.add(near)
    return Keys(schema, sent, rules.everywhere)


def _parts(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[Schema]:
    """Yield a schema and its alternatives: the members of its unions, and the target of its reference."""
    waiting, visited = [schema], set[int]()
    while waiting:
        subschema = waiting.pop()
        if id(subschema) in visited:
            continue
        visited.add(id(subschema))
        yield subschema
        waiting.extend(item for keyword in _BRANCHES for item in subschema.get(keyword, ()))
        waiting.extend(subschema[keyword] for keyword in _CONDITIONS if keyword in subschema)
        waiting.extend(subschema.get("dependentSchemas", {}).values())
        if "$ref" in subschema:
            waiting.append(definitions[subschema["$ref"].removeprefix(PREFIX)])
