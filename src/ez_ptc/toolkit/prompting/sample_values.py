"""Plausible arguments for a tool, from its schema."""

import re
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Final, cast

__all__ = ["is_plain", "mapping", "resolve", "sample_arguments"]

_Schema = Mapping[str, object]

_QUOTED: Final = re.compile(r"""e\.g\.,?\s*(["'`])([^"'`\n]{1,60})\1""", re.IGNORECASE)
_STRINGS: Final = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T09:30:00",
    "time": "09:30:00",
    "duration": "PT2H",
    "email": "ada@example.com",
    "uri": "https://example.com",
    "uuid": "6b1f3c1e-7d0a-4c5e-9b0a-2f6d1e8c4a55",
    "uuid4": "6b1f3c1e-7d0a-4c5e-9b0a-2f6d1e8c4a55",
}
_NUMBERS: Final[Mapping[object, float]] = {"integer": 1, "number": 1.5}
# Deep enough for any argument that a model would read.
_DEPTH: Final = 4
_MAX_ITEMS: Final = 4
_MAX_NUMBER: Final = 1e15
_MAX_TEXT: Final = 60
_MAX_PARTS: Final = 8
_MAX_VALUE: Final = 300


def sample_arguments(
    parameters: _Schema,
    names: Sequence[str],
    positional: Sequence[str] | None = None,
    spellings: Mapping[str, str] | None = None,
) -> str:
    """Return a value for each required parameter, as the text between a call's parentheses.

    `positional` are the names of those that may be passed by position, by default all; `spellings` maps names that
    Python cannot write to their spellings.
    """
    properties = mapping(parameters.get("properties"))
    required = _list(parameters.get("required"))
    wanted = [name for name in names if name in required]
    schemas = {name: mapping(properties.get(name)) for name in wanted}
    values = [repr(_value(name, schema, parameters, _DEPTH)) for name, schema in schemas.items()]
    # If there would be too much to copy, containers stay empty.
    for at, (name, schema) in enumerate(schemas.items()):
        if len(values[at]) <= _MAX_VALUE:
            values[at] = values[at]
        else:
            values[at] = repr(_value(name, schema, parameters, 0))
    places = [*(names if positional is None else positional)]
    in_place = next(
        (number for number, name in enumerate(wanted) if places[number : number + 1] != [name]), len(wanted)
    )
    spelled = ((spellings or {}).get(name, name) for name in wanted[in_place:])
    return ", ".join([*values[:in_place], *map("{}={}".format, spelled, values[in_place:])])


def is_plain(text: object) -> bool:
    """Return whether text may be in a program to copy: a short line that ends no block."""
    return isinstance(text, str) and len(text) <= _MAX_TEXT and text.isprintable() and "```" not in text


def mapping(value: object) -> _Schema:
    """Return a dict schema, or an empty one for anything else."""
    # The usual case, without the slow check of an abstract class.
    if type(value) is dict or isinstance(value, Mapping):
        return cast("_Schema", value)
    return {}


def resolve(schema: _Schema, root: _Schema) -> _Schema:
    """Follow a reference into the root's definitions, and a union to its first member other than null."""
    for _ in range(_DEPTH):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            schema = mapping(mapping(root.get("$defs")).get(reference.rpartition("/")[2]))
        members = [mapping(option) for option in _list(schema.get("anyOf") or schema.get("oneOf"))]
        if not members and "$ref" not in schema:
            break
        schema = next((member for member in members if member.get("type") != "null"), schema)
    return schema


def _list(value: object) -> list[object]:
    if isinstance(value, list):
        return cast("list[object]", value)
    return []


def _value(name: str, schema: _Schema, root: _Schema, depth: int) -> object:
    """Return a documented value, the first of an enumeration, or one made up for the type."""
    about = schema.get("description")
    schema = resolve(schema, root)
    listed = [
        *_list(schema.get("examples")),
        *_list(schema.get("enum")),
        *(schema[k] for k in ("const",) if k in schema),
    ]
    for documented in listed:
        if _is_short(documented, _DEPTH):
            return documented
    kinds = _list(schema.get("type")) or [schema.get("type", "string")]
    type_ = next((item for item in kinds if isinstance(item, str) and item != "null"), None)
    if type_ == "string":
        text = _string(name, schema, about)
        return text.encode() if schema.get("contentEncoding") == "base64" else text
    if type_ == "array":
        return _array(name, schema, root, depth)
    if type_ == "object":
        properties = mapping(schema.get("properties") if depth else None)
        wanted = _list(schema.get("required")) or properties  # only required properties; this also ends recursive types
        kept = [
            (key, property_schema) for key, property_schema in properties.items() if key in wanted and is_plain(key)
        ][:_MAX_PARTS]
        return {key: _value(key, mapping(property_schema), root, depth - 1) for key, property_schema in kept}
    if type_ in _NUMBERS:
        return _number(schema, _NUMBERS[type_])
    return type_ == "boolean" or None


def _is_short(value: object, depth: int) -> bool:
    """Return whether a documented value is short enough for an example."""
    if isinstance(value, str):
        return is_plain(value)
    if isinstance(value, int | float):
        return abs(value) <= _MAX_NUMBER
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value)
        value = [*pairs, *pairs.values()]
    if isinstance(value, list):
        items = cast("list[object]", value)
        return depth > 0 and len(items) <= _MAX_PARTS and all(_is_short(item, depth - 1) for item in items)
    return value is None


def _array(name: str, schema: _Schema, root: _Schema, depth: int) -> list[object]:
    places = _list(schema.get("prefixItems"))
    if not depth or schema.get("maxItems") == 0:
        return []
    if places:
        return [_value(name, mapping(item_schema), root, depth - 1) for item_schema in places]
    least = schema.get("minItems")
    item = _value(name.removesuffix("s"), mapping(schema.get("items")), root, depth - 1)
    return [item] * (least if isinstance(least, int) and 0 < least <= _MAX_ITEMS else 1)


def _number(schema: _Schema, usual: float) -> float:
    """Return the minimum, or another number within the bounds; an integer if the usual one is."""
    low, above = _read_bound(schema, "minimum", -inf), _read_bound(schema, "exclusiveMinimum", -inf)
    high, below = _read_bound(schema, "maximum", inf), _read_bound(schema, "exclusiveMaximum", inf)
    step = _read_bound(schema, "multipleOf", 0)
    multiple = 0
    if step:
        multiple = (max(low, above) // step + 1) * step
    middle = (max(low, above) + min(high, below)) / 2
    tried = (low, usual, high, above + 1, below - 1, middle, low // 1 + 1, step, multiple)
    within = (item for item in tried if isfinite(item) and low <= item <= high and above < item < below)
    fitting = (item for item in within if not step or item % step == 0)
    if type(usual) is int:
        return next((int(item) for item in fitting if item == int(item)), usual)
    return next(fitting, usual)


def _read_bound(schema: _Schema, keyword: str, otherwise: float) -> float:
    bound = schema.get(keyword)
    # An imported schema may have numbers beyond any float.
    if isinstance(bound, int | float) and abs(bound) <= _MAX_NUMBER:
        return bound
    return otherwise


def _string(name: str, schema: _Schema, about: object) -> str:
    quoted = None
    if isinstance(about, str):
        quoted = _QUOTED.search(about)
    if quoted and is_plain(quoted[2]):
        return quoted[2]
    text = "some text"
    if is_plain(name):
        text = f"some {name.strip('_').replace('_', ' ')}"
    text = _STRINGS.get(str(schema.get("format")), text)
    most = schema.get("maxLength")
    if isinstance(most, int):
        return text[:most]
    return text
