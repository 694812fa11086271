"""The rules of strict mode, as one transformation.

They are those of OpenAI's structured outputs: every property is required, and an optional one becomes nullable;
`additionalProperties` is false; a union is `anyOf`; a `$ref` has no siblings; there is no `oneOf`, `allOf`, `not` or
`default`. Anthropic supports fewer keywords. Constraints that words can express move into the description; others are
refused. An object with named keys that allows others loses the others.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.plain import Plain
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.keywords import NUMBERS, Schema, join_path
from ez_ptc.schema.standard.references import PREFIX
from ez_ptc.schema.standard.roots import with_object_root
from ez_ptc.schema.standard.sentences import sentences, with_sentences

__all__ = ["ANTHROPIC", "OPENAI", "StrictRules", "has_lookaround", "strict"]

_STRUCTURE: Final = frozenset(
    {"$ref", "additionalProperties", "anyOf", "description", "enum", "items", "properties", "required", "type"}
)
_LOOKAROUND: Final = re.compile(r"\(\?(?!:)|\\[1-9]")
_ANY: Final = "of any type, and strict mode wants a 'type': annotate what it is"
_ANY_ITEMS: Final = "of any type ('items'), and strict mode wants a 'type': annotate what they are, as in list[str]"
# OpenAI's guide to structured outputs, "Supported schemas".
_PROPERTIES: Final = 5000
_LEVELS: Final = 10
_CHARACTERS: Final = 120_000
_VALUES: Final = 1000
_LONG_ENUM: Final = 250
_ENUM_CHARACTERS: Final = 15_000


@dataclass(frozen=True, slots=True)
class StrictRules:
    """The strict mode of one provider.

    Attributes:
        keywords: The supported keywords in addition to the structural ones.
        formats: The supported values of `format`.
        min_items: The largest supported `minItems`, or None for any.
        recursive: Whether a schema may be recursive.
        unions: The maximum number of unions, or None for any. A tool with more keeps its optional properties optional,
            instead of making them nullable.
        optional: The maximum number of optional properties in that case.
    """

    keywords: frozenset[str]
    formats: frozenset[str]
    min_items: int | None = None
    recursive: bool = True
    unions: int | None = None
    optional: int = 0


_FORMATS: Final = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})
OPENAI: Final = StrictRules(keywords=NUMBERS | {"format", "maxItems", "minItems", "pattern"}, formats=_FORMATS)
ANTHROPIC: Final = StrictRules(
    keywords=frozenset({"format", "minItems"}),
    formats=_FORMATS | {"uri"},
    min_items=1,
    recursive=False,
    unions=16,
    optional=24,
)


def strict(
    tool: str, schema: Mapping[str, Any], left_out: list[str] | None = None, *, rules: StrictRules = OPENAI
) -> Schema:
    """Return a tool's parameters for strict mode.

    What the schema allows and strict mode does not is added to `left_out`, a sentence for each value.

    Raises `SchemaError`, naming the tool, the parameter and the keyword, for constraints strict mode cannot express: an
    object with any keys, a value of any type, and schemas beyond the provider's limits.
    """
    root = with_object_root(tool, schema, left_out)
    definitions: dict[str, Schema] = root.pop("$defs", {})
    if not root["properties"]:
        root.setdefault("additionalProperties", False)  # a tool without parameters
    try:
        writer = _Strict(tool, rules, Plain(tool, definitions))
        done = writer.document(root)
        # A nullable property is a union, and with too many of these optional properties stay optional.
        if rules.unions is not None and sum("anyOf" in item for item in _parts(done)) > rules.unions:
            writer = _Strict(tool, rules, Plain(tool, definitions), nullable=False)
            done = writer.document(root)
            _check_unions(tool, done, unions=rules.unions, optional=rules.optional)
        _check_limits(tool, done, recursive=rules.recursive)
    except RecursionError:
        message = f"{tool}: its schema is nested too deep: describe it with a flatter schema"
        raise SchemaError(message) from None
    if left_out is not None:
        left_out += writer.left_out
    return done


def has_lookaround(pattern: str) -> bool:
    """Return whether a regular expression has look-around or backreferences, which linear-time engines lack."""
    return _LOOKAROUND.search(pattern) is not None


class _Strict:
    def __init__(self, tool: str, rules: StrictRules, plain: Plain, *, nullable: bool = True) -> None:
        self._referred: dict[str, None] = {}  # a set in the order of the first references
        self._tool = tool
        self._rules = rules
        self._plain = plain
        self._nullable = nullable  # optional properties, to become required and nullable

    @property
    def left_out(self) -> Collection[str]:
        """What the schema allows and strict mode does not."""
        return self._plain.left_out

    def document(self, root: Schema) -> Schema:
        body = self._convert(self._plain.of(root, ""), "")
        written: dict[str, Schema] = {}
        while (name := next((item for item in self._referred if item not in written), None)) is not None:
            written[name] = self._convert(self._plain.definition(name), name)
        if written:
            body["$defs"] = written
        return body

    def _convert(self, plain: Schema, path: str, *, nullable: bool = False) -> Schema:
        lost = {key: value for key, value in plain.items() if key not in _STRUCTURE and not self._takes(key, value)}
        description = with_sentences({key: plain[key] for key in plain if key == "description"}, sentences(lost))
        if "anyOf" in plain:
            branches = [self._convert(branch, path) for branch in plain["anyOf"]]
        elif "$ref" in plain:
            self._referred[plain["$ref"].removeprefix(PREFIX)] = None
            branches = [{"$ref": plain["$ref"]}]
        elif "type" in plain:
            branches = [self._convert_typed(plain, path)]
        else:
            self._refuse(path, _ANY_ITEMS if path.endswith("[]") else _ANY)
        if nullable and all(branch.get("type") != "null" for branch in branches):
            branches.append({"type": "null"})
        # A $ref has no siblings, so a described one becomes the only member of a union.
        if len(branches) > 1 or ("$ref" in plain and description):
            return {"anyOf": branches, **description}
        return {**branches[0], **description}

    def _takes(self, key: str, value: Any) -> bool:  # noqa: ANN401 - a keyword's value is any JSON
        if key not in self._rules.keywords:
            return False
        if key == "format":
            return value in self._rules.formats
        if key == "minItems":
            return self._rules.min_items is None or value <= self._rules.min_items
        return key != "pattern" or not has_lookaround(value)

    def _convert_typed(self, plain: Schema, path: str) -> Schema:
        typed = {
            key: value
            for key, value in plain.items()
            if key in ("type", "enum") or (key not in _STRUCTURE and self._takes(key, value))
        }
        if plain["type"] == "array":
            typed["items"] = self._convert(plain["items"], f"{path}[]")
        if plain["type"] == "object":
            properties: dict[str, Schema] = plain["properties"]
            if not properties and plain["additionalProperties"] is not False:
                problem = (
                    "an object with any keys (additionalProperties), and strict mode wants each key by name: annotate "
                    "a TypedDict or a dataclass"
                )
                self._refuse(path, problem)
            if plain["additionalProperties"] is not False:
                self._plain.leave_out(path, "keys other than those that it names")
            required: list[str] = [*properties] if self._nullable else plain["required"]
            optional = {*required}.difference(plain["required"])
            typed["properties"] = {
                name: self._convert(property_, join_path(path, name), nullable=name in optional)
                for name, property_ in properties.items()
            }
            typed |= {"required": required, "additionalProperties": False}
        return typed

    def _refuse(self, path: str, problem: str) -> NoReturn:
        subject = f"parameter {safe_repr(path)} is" if path else "its parameters are"
        message = f"{self._tool}: {subject} {problem}, or use strict=False"
        raise SchemaError(message)


# Limits ---------------------------------------------------------------------------------------------------------------


def _check_limits(tool: str, schema: Mapping[str, Any], *, recursive: bool) -> None:
    """Raise `SchemaError`, naming the limit, for a strict schema that is too large or illegally recursive."""
    subschemas = list(_parts(schema))
    names = [name for item in subschemas for name in item.get("properties", {})]
    enums: list[list[object]] = [item["enum"] for item in subschemas if "enum" in item]
    values = [value for enum in enums for value in enum]
    texts = [*names, *schema.get("$defs", {}), *(str(value) for value in values)]
    _at_most(tool, len(names), _PROPERTIES, "properties")
    _at_most(tool, len(values), _VALUES, "enum values")
    _at_most(tool, sum(map(len, texts)), _CHARACTERS, "characters of names and enum values")
    for enum in enums:
        if len(enum) > _LONG_ENUM:
            _at_most(tool, sum(len(str(value)) for value in enum), _ENUM_CHARACTERS, "characters in one enum")

    # Levels of objects are counted depth first, following each $ref.
    definitions: dict[str, Schema] = schema.get("$defs", {})
    deepest: dict[str, int] = {}
    waiting: list[tuple[Mapping[str, Any], tuple[str, ...], int]] = [(schema, (), 0)]
    while waiting:
        subschema, inside, level = waiting.pop()
        level += subschema.get("type") == "object"
        _at_most(tool, level, _LEVELS, "levels of objects in each other")
        waiting += [(item, inside, level) for item in reversed([*_inner(subschema)])]
        name = subschema.get("$ref", "").removeprefix(PREFIX)
        if name in inside and not recursive:
            _refuse(
                tool, f"its schema contains itself ($ref to {safe_repr(name)}), and strict mode takes none that does"
            )
        # A definition is visited again only at a new depth, else the time could grow exponentially.
        if name and name not in inside and deepest.get(name, -1) < level:
            deepest[name] = level
            waiting.append((definitions[name], (*inside, name), level))


def _check_unions(tool: str, schema: Mapping[str, Any], *, unions: int, optional: int) -> None:
    """Raise `SchemaError` for a strict schema with more unions or optional properties than a provider accepts."""
    subschemas = list(_parts(schema))
    optional_count = sum(len(item["properties"]) - len(item["required"]) for item in subschemas if "properties" in item)
    _at_most(tool, sum("anyOf" in item for item in subschemas), unions, "parameters that may be of several types")
    _at_most(tool, optional_count, optional, "optional parameters")


def _at_most(tool: str, found: int, most: int, things: str) -> None:
    if found > most:
        _refuse(tool, f"its schema has {found} {things}, and strict mode takes at most {most}")


def _refuse(tool: str, problem: str) -> NoReturn:
    message = f"{tool}: {problem}: describe it with a smaller schema, or use strict=False"
    raise SchemaError(message)


def _inner(schema: Mapping[str, Any]) -> Iterator[Schema]:
    yield from schema.get("anyOf", ())
    yield from schema.get("properties", {}).values()
    if "items" in schema:
        yield schema["items"]


def _parts(schema: Mapping[str, Any]) -> Iterator[Schema]:
    waiting: list[Schema] = [cast("Schema", schema), *schema.get("$defs", {}).values()]
    while waiting:
        subschema = waiting.pop()
        yield subschema
        waiting.extend(_inner(subschema))
