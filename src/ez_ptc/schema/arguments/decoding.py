"""Core schemas that validate values from JSON in pydantic's Python mode.

Pydantic's JSON mode needs text, but arguments come as values: a provider's SDK has parsed them, and programs pass
Python objects. So Python mode is used, and changed where it would refuse values that the JSON Schema allows.
"""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from enum import Flag
from typing import Any, Final, cast

from pydantic import EncodedBytes
from pydantic_core import CoreSchema, core_schema

from ez_ptc.schema.arguments.core_paths import json_name
from ez_ptc.schema.arguments.core_schemas import Node, inner_schemas, map_inner_schemas, map_schemas, wrapped_schema
from ez_ptc.schema.arguments.decoders import (
    Chosen,
    ErrorType,
    FromText,
    JsonKey,
    Number,
    Ratio,
    Renamed,
    Sum,
    choice_decoder,
    finite,
    from_base64,
    no_number,
)
from ez_ptc.schema.arguments.json_text import check_value
from ez_ptc.schema.arguments.patterns import check_expression, linear_pattern

__all__ = ["accept_json"]

# In Python a boolean is a number, in JSON it is not.
_NUMBERS: Final[Mapping[str, ErrorType]] = {
    "int": "int_type",
    "float": "float_type",
    "complex": "complex_type",
    "timedelta": "time_delta_type",
}
_TIMES: Final = frozenset({"date", "datetime", "time", "timedelta"})
# Types JSON has; for others, even strict mode accepts their JSON form.
_STRICT_IN_JSON: Final = frozenset(
    {"any", "bool", "dict", "float", "int", "list", "literal", "model", "model-fields", "none", "str", "typed-dict"}
)
# Key types pydantic reads from text, and that of any key.
_KEYS_AS_TEXT: Final = frozenset(
    {"any", "bool", "bytes", "date", "datetime", "decimal", "float", "int", "str", "time", "timedelta", "uuid"}
)
# Types that are text in JSON, and that accept text like a value of their own in Python mode.
_TEXT_IN_JSON: Final = _TIMES | {"complex", "decimal", "fraction", "lax-or-strict", "uuid"}
_RECORDS: Final = frozenset({"dataclass", "model", "typed-dict"})
_FIELDS: Final = frozenset({"dataclass-args", "model-fields", "typed-dict"})
_ANYTHING_GOES: Final = ("function-before", "function-wrap")
# The functions with which pydantic compiles regular expressions.
_EXPRESSIONS: Final = ("pattern_str_validator", "pattern_bytes_validator", "pattern_either_validator")


def accept_json(schema: CoreSchema) -> CoreSchema:
    """Return the core schema of a type, changed to accept what its JSON Schema allows.

    - Text for bytes is decoded as base64; bytes pass unchanged. - An iterable becomes a list, to check its items before
    the function runs. - A `Literal` with members of an Enum accepts their values, and an Enum the JSON of values that
    are not plain. - Keys of dicts are text in JSON, whatever their type in Python. - Strict mode is as in pydantic's
    JSON mode: text for a date, a list for a set. - In a union, text in the JSON form of a branch counts as an exact
    match, as for a branch of any text. - A record accepts its fields by their JSON and Python names, and other keys
    only if its class says so. - A boolean is not a number, NaN and infinity are not either unless the annotation allows
    them, and a lone surrogate is
      not text. A value of any type is limited to the depth of JSON.

    Raises UnboundedPatternError for a pattern that may take exponential time.
    """
    return cast("CoreSchema", map_schemas(schema, _Change()))


@dataclass(frozen=True, slots=True)
class _Change:
    """Changes the schemas within one class, with its settings."""

    is_strict: bool = False
    has_python_patterns: bool = False
    allows_infinity: bool | None = None
    allows_other_keys: bool = False
    is_key: bool = False
    is_chosen: bool = False
    """Whether a union chooses between an inner schema and others."""

    def __call__(self, node: Node) -> Node | None:
        """Return the replacement of a schema, or None to keep it."""
        ref: str | None = node.get("ref")
        changed = self._of_kind(node)
        before = self._before(node)
        from_text = self.is_chosen and node["type"] in _TEXT_IN_JSON
        if before is None and not from_text:
            return changed
        # References to the schema must find the outermost replacement.
        inner = cast("CoreSchema", _without_ref(changed or map_inner_schemas(node, self)))
        if not from_text:
            return cast("Node", core_schema.no_info_before_validator_function(cast("Any", before), inner, ref=ref))
        if before is not None:
            inner = core_schema.no_info_before_validator_function(before, inner)
        first = FromText(cast("CoreSchema", _without_ref(changed or node)))
        return cast("Node", core_schema.no_info_wrap_validator_function(first, inner, ref=ref))

    def _before(self, node: Node) -> Callable[[object], object] | None:
        """Return the function to call with a value before pydantic sees it, or None."""
        type_: str = node["type"]
        is_strict = self._is_strict(node)
        reads_text = not (is_strict or self.is_chosen)
        before: Callable[[object], object] | None = {"bytes": from_base64, "any": check_value}.get(type_)
        if type_ in _TIMES and is_strict:
            before = no_number
        elif type_ == "fraction":
            before = Ratio("fraction_type")
        elif type_ in _NUMBERS and not is_strict:
            before = Number(_NUMBERS[type_])
        elif type_ == "literal":
            expected = cast("list[object]", node["expected"])
            before = choice_decoder(expected, "literal_error", reads_text=reads_text)
        elif type_ == "enum" and issubclass(node["cls"], Flag):
            before = Sum(node["cls"])
        elif type_ == "enum":
            members = cast("list[object]", node["members"])
            before = Chosen(members, "enum") if is_strict else choice_decoder(members, "enum", reads_text=reads_text)
        elif type_ == "function-plain" and getattr(_called_function(node), "__name__", "") in _EXPRESSIONS:
            before = check_expression
        elif type_ in _RECORDS:
            before = _name_repair(node)
        return before

    def _of_kind(self, node: Node) -> Node | None:
        type_: str = node["type"]
        if type_ == "lax-or-strict" and self._is_strict(node):
            lax = map_schemas(node["lax_schema"], self)
            return {**lax, "ref": node["ref"]} if "ref" in node else lax
        if type_ == "union":
            choices = map_schemas(node["choices"], replace(self, is_chosen=True))
            return {**node, "choices": sorted(choices, key=_rank)}
        if type_ == "definitions":
            # A union may refer to any definition, so all of them count as chosen.
            return map_inner_schemas(node, replace(self, is_chosen=_has_union(node)))
        if type_ == "complex" and self.allows_infinity is None:
            number = cast("CoreSchema", self._lax(node))
            return cast("Node", core_schema.no_info_after_validator_function(finite, number))
        if "keys_schema" in node:
            keys = map_schemas(node["keys_schema"], replace(self, is_strict=False, is_key=True))
            if wrapped_schema(node["keys_schema"])["type"] not in _KEYS_AS_TEXT:
                keys = core_schema.no_info_wrap_validator_function(JsonKey(), keys)
            return self._lax({**map_inner_schemas(node, self), "keys_schema": keys})
        node = self._of_simple_kind(node)
        decodes_itself = isinstance(getattr(_called_function(node), "__self__", None), EncodedBytes)
        return node if decodes_itself else self._of_class(node)

    def _of_simple_kind(self, node: Node) -> Node:
        type_: str = node["type"]
        if type_ == "str":
            pattern: str | re.Pattern[str] | None = node.get("pattern")
            engine = node.get("regex_engine", "python-re" if self.has_python_patterns else None)
            if isinstance(pattern, re.Pattern) or (pattern is not None and engine == "python-re"):
                node = {**node, "pattern": linear_pattern(pattern), "regex_engine": "rust-regex"}
            # Any constraint makes pydantic inspect the characters, and refuse lone surrogates.
            return {"min_length": 0, **node}
        if type_ == "float" and "allow_inf_nan" not in node and self.allows_infinity is None:
            return {**node, "allow_inf_nan": False}
        if type_ == "enum":  # pydantic lists a member again for each alias, and would do so in errors
            return {**node, "members": [*{id(member): member for member in node["members"]}.values()]}
        if type_ == "generator":
            return {**node, "type": "list"}
        return node

    def _of_class(self, node: Node) -> Node:
        """Return a class's schema with its inner schemas changed by the class's settings."""
        type_: str = node["type"]
        config: Node | None = node.get("config")
        within = self
        if type_ in _ANYTHING_GOES and not getattr(node["function"]["function"], "keeps_keys", False):
            # It may accept other keys and map them to the class's own.
            within = replace(self, allows_other_keys=True)
        elif config is not None:
            within = _Change(
                is_strict=config.get("strict", False),
                has_python_patterns=config.get("regex_engine") == "python-re",
                allows_infinity=config.get("allow_inf_nan"),
                allows_other_keys=self.allows_other_keys or "extra_fields_behavior" in config,
                is_chosen=self.is_chosen,
            )
            node = {**node, "config": {key: value for key, value in config.items() if key != "regex_engine"}}
            if type_ == "dataclass" and within.is_strict:
                node["strict"] = False
        if type_ not in _FIELDS:
            return self._lax(map_inner_schemas(node, within))
        fields: Any = node["fields"]
        if type_ == "dataclass-args":
            names = {field["name"] for field in fields}
            node = {**node, "fields": [_with_name(field["name"], field, names) for field in fields]}
        else:
            node = {**node, "fields": {name: _with_name(name, field, fields) for name, field in fields.items()}}
        if node.get("extra_behavior", "ignore") == "ignore" and not within.allows_other_keys:
            node = {**node, "extra_behavior": "forbid"}
        return map_inner_schemas(node, replace(within, allows_other_keys=False) if within.allows_other_keys else within)

    def _is_strict(self, node: Node) -> bool:
        return node.get("strict", self.is_strict)

    def _lax(self, node: Node) -> Node:
        """Return a schema that is not strict, if JSON lacks its type."""
        # The values of an Enum that is no Flag become members before pydantic sees them.
        is_enum = node["type"] == "enum" and not issubclass(node["cls"], Flag)
        stays = is_enum or node["type"] in _STRICT_IN_JSON
        if self.is_key or (self._is_strict(node) and not stays):
            return {**node, "strict": False}
        return node


def _without_ref(node: Node) -> Node:
    return {key: value for key, value in node.items() if key != "ref"}


def _has_union(node: Node) -> bool:
    return node["type"] == "union" or any(map(_has_union, inner_schemas(node)))


def _name_repair(node: Node) -> Renamed | None:
    """Return the key renaming for a record that may be a tool's result, or None if there is nothing to rename."""
    inner: Node = node
    while "fields" not in inner or inner["type"] == "dataclass":
        if not isinstance(inner.get("schema"), dict):
            return None
        inner = inner["schema"]
    fields: Any = inner["fields"]
    named: list[tuple[str, Node]] = (
        [*fields.items()] if isinstance(fields, dict) else [(item["name"], item) for item in fields]
    )
    computed: list[Node] = inner.get("computed_fields", [])
    made_names: set[str] = {item.get("alias", item["property_name"]) for item in computed}
    made_names |= {name for name, field in named if field.get("init", True) is False}
    json_names = {name: json_name(name, field) for name, field in named if name not in made_names}
    names: dict[str, str] = {}  # the others, in Python and in source, to those in JSON
    for name, field in named:
        if (known := json_names.get(name)) is not None:
            aliases: set[Any] = {name, field.get("serialization_alias")} - set(json_names.values()) - {None}
            names.update(dict.fromkeys(aliases, known))
    if names or made_names:
        return Renamed(names, frozenset(made_names) - names.keys())
    return None


def _with_name(name: str, field: Node, others: Container[str]) -> Node:
    """Return a field with its own name, if it is read from an inner object: the JSON Schema has the name.

    Where the inner object is in a field of the same record, its name means that one.
    """
    alias: Any = field.get("validation_alias")
    if not isinstance(alias, list):
        return field
    paths = cast("list[Any]", alias)
    if not isinstance(paths[0], list):
        paths = [paths]
    if all(len(path) > 1 and path[0] not in others for path in paths):
        return {**field, "validation_alias": [[name], *paths]}
    return field


def _called_function(node: Node) -> object:
    function = node.get("function")
    if isinstance(function, dict):
        return cast("dict[str, object]", function).get("function")
    return None


def _rank(choice: object) -> int:
    """Return the sort key of a union's branch: decoders of text come before branches of plain text.

    A UUID comes first, as in JSON mode, where its text matches a UUID better than plain text.
    """
    schema: Any = cast("tuple[object, str]", choice)[0] if isinstance(choice, tuple) else choice
    called = _called_function(schema)
    is_uuid = isinstance(called, FromText) and schema["schema"]["type"] == "uuid"
    if called is from_base64:
        return 1
    return -is_uuid
