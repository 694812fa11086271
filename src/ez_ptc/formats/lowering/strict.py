"""The rules of strict mode, as one transformation.

They are those of OpenAI's structured outputs: every property is required, and an optional one becomes nullable;
`additionalProperties` is false; a union is `anyOf`; a `$ref` has no siblings; there is no `oneOf`, `allOf`, `not` or
`default`. Anthropic supports fewer keywords. Constraints that words can express move into the description; others are
refused. An object with named keys that allows others loses the others.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.keywords import Schema
from ez_ptc.formats.lowering.limits import check_limits, check_unions, unions
from ez_ptc.formats.lowering.plain import Plain
from ez_ptc.formats.lowering.references import PREFIX
from ez_ptc.formats.lowering.roots import with_object_root
from ez_ptc.formats.lowering.sentences import sentences, with_sentences
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["ANTHROPIC", "OPENAI", "StrictRules", "has_lookaround", "strict"]

_STRUCTURE: Final = frozenset(
    {"$ref", "additionalProperties", "anyOf", "description", "enum", "items", "properties", "required", "type"}
)
_LOOKAROUND: Final = re.compile(r"\(\?(?!:)|\\[1-9]")


_ANY: Final = "of any type, and strict mode wants a 'type': annotate what it is"
_ANY_ITEMS: Final = "of any type ('items'), and strict mode wants a 'type': annotate what they are, as in list[str]"


@dataclass(frozen=True, slots=True)
class StrictRules:
    """The strict mode of one provider.

    Attributes:
        keywords: The supported keywords besides the structural ones.
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
OPENAI: Final = StrictRules(
    keywords=frozenset(
        {
            "exclusiveMaximum",
            "exclusiveMinimum",
            "format",
            "maxItems",
            "maximum",
            "minItems",
            "minimum",
            "multipleOf",
            "pattern",
        }
    ),
    formats=_FORMATS,
)
ANTHROPIC: Final = StrictRules(
    keywords=frozenset({"format", "minItems"}),
    formats=_FORMATS | {"uri"},
    min_items=1,
    recursive=False,
    unions=16,
    optional=24,
)


def strict(tool: str, schema: Mapping[str, Any], *, rules: StrictRules = OPENAI) -> Schema:
    """Return a tool's parameters for strict mode.

    Raises `SchemaError`, naming the tool, the parameter and the keyword, for constraints strict mode cannot express: an
    object with any keys, a value of any type, and schemas beyond the provider's limits.
    """
    root = with_object_root(tool, schema)
    definitions: dict[str, Schema] = root.pop("$defs", {})
    if not root["properties"]:
        root.setdefault("additionalProperties", False)  # a tool without parameters
    try:
        done = _Strict(tool, rules, Plain(tool, definitions)).document(root, definitions)
        if rules.unions is not None and unions(done) > rules.unions:
            done = _Strict(tool, rules, Plain(tool, definitions), nullable=False).document(root, definitions)
            check_unions(tool, done, unions=rules.unions, optional=rules.optional)
        check_limits(tool, done, recursive=rules.recursive)
    except RecursionError:
        message = f"{tool}: its schema is nested too deep: describe it with a flatter schema"
        raise SchemaError(message) from None
    return done


def has_lookaround(pattern: str) -> bool:
    """Return whether a regular expression has look-around or backreferences, which linear-time engines lack."""
    return _LOOKAROUND.search(pattern) is not None


class _Strict:
    def __init__(self, tool: str, rules: StrictRules, plain: Plain, *, nullable: bool = True) -> None:
        self._referred: dict[str, None] = {}
        self._tool = tool
        self._rules = rules
        self._plain = plain
        self._nullable = nullable  # optional properties, to become required and nullable

    def document(self, root: Schema, definitions: Mapping[str, Schema]) -> Schema:
        body = self._convert(self._plain.of(root, ""), "")
        written: dict[str, Schema] = {}
        while (name := next((item for item in self._referred if item not in written), None)) is not None:
            written[name] = self._convert(self._plain.of(definitions[name], name), name)
        if written:
            return {**body, "$defs": written}
        return body

    def _convert(self, plain: Schema, path: str, *, nullable: bool = False) -> Schema:
        description = self._describe(plain)
        if "$ref" in plain:
            self._referred[plain["$ref"].removeprefix(PREFIX)] = None
            alone = {"$ref": plain["$ref"]}
            return (
                _with_null(alone, description)
                if nullable
                else {"anyOf": [alone], **description}
                if description
                else alone
            )
        if "anyOf" in plain:
            return self._union(plain["anyOf"], description, path, nullable=nullable)
        if "type" not in plain:
            self._refuse(path, _ANY_ITEMS if path.endswith("[]") else _ANY)
        if nullable and plain["type"] != "null":
            return _with_null(
                self._convert_typed({key: item for key, item in plain.items() if key != "description"}, path),
                description,
            )
        return {**self._convert_typed(plain, path), **description}

    def _union(self, branches: list[Schema], told: Schema, path: str, *, nullable: bool) -> Schema:
        made = [self._convert(branch, path) for branch in branches]
        if nullable and all(item.get("type") != "null" for item in made):
            made.append({"type": "null"})
        return {"anyOf": made, **told}

    def _describe(self, plain: Schema) -> Schema:
        """Return the description, with a sentence for each unsupported keyword."""
        untold = {key: value for key, value in plain.items() if key not in _STRUCTURE and not self._takes(key, value)}
        return with_sentences(
            {key: plain[key] for key in ("description",) if key in plain}, sentences(untold) if untold else ""
        )

    def _takes(self, key: str, value: Any) -> bool:  # noqa: ANN401 - a keyword's value is any JSON
        if key not in self._rules.keywords:
            return False
        fits: Mapping[str, Callable[[Any], bool]] = {
            "format": lambda value: value in self._rules.formats,
            "minItems": lambda value: self._rules.min_items is None or value <= self._rules.min_items,
            "pattern": lambda value: not has_lookaround(value),
        }
        return key not in fits or fits[key](value)

    def _convert_typed(self, plain: Schema, path: str) -> Schema:
        kept = {key: value for key, value in plain.items() if key in ("type", "enum") or self._is_kept(key, value)}
        if plain["type"] == "array":
            return {**kept, "items": self._convert(plain["items"], f"{path}[]")}
        if plain["type"] == "object":
            return {**kept, **self._object(plain, path)}
        return kept

    def _is_kept(self, key: str, value: object) -> bool:
        return key not in _STRUCTURE and self._takes(key, value)

    def _object(self, plain: Schema, path: str) -> Schema:
        properties: dict[str, Schema] = plain["properties"]
        if not properties and plain["additionalProperties"] is not False:
            self._refuse(
                path,
                "an object with any keys (additionalProperties), and strict mode wants each key by name: annotate a "
                "TypedDict or a dataclass",
            )
        required: list[str] = [*properties] if self._nullable else plain["required"]
        optional = {*required}.difference(plain["required"])
        converted = {
            name: self._convert(property_, f"{path}.{name}" if path else name, nullable=name in optional)
            for name, property_ in properties.items()
        }
        return {"properties": converted, "required": required, "additionalProperties": False}

    def _refuse(self, path: str, problem: str) -> NoReturn:
        subject = "its parameters are"
        if path:
            subject = f"parameter {safe_repr(path)} is"
        message = f"{self._tool}: {subject} {problem}, or use strict=False"
        raise SchemaError(message)


def _with_null(schema: Schema, told: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], **told}
