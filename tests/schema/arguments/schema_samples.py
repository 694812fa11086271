"""Values that a JSON Schema says are valid, made at random."""

import random
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["sample"]

_FORMATS = {
    "date": "2024-05-06",
    "date-time": "2024-05-06T07:08:09",
    "time": "07:08:09",
    "duration": "P1DT2H",
    "uuid": "12345678-1234-5678-1234-567812345678",
    "uri": "https://example.com/a",
    "ipv4network": "10.0.0.0/8",
    "regex": "a+",
    "path": "tea/green",
    "json-string": "[1, 2]",
    "decimal": "1.5",
    "complex": "1+2j",
    "fraction": "1/3",
}

_Schema = Mapping[str, Any]


def sample(schema: _Schema, chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    """Return a value that the schema allows."""
    return _Sampler(schema, chance).value(schema, 4)


class _Sampler:
    def __init__(self, root: _Schema, chance: random.Random) -> None:
        self._root = root
        self._chance = chance

    def value(self, schema: Any, depth: int) -> Any:  # noqa: ANN401 - any part of a schema
        if not isinstance(schema, Mapping):
            return 1
        part = cast("_Schema", schema)
        if "$ref" in part:
            return self.value(self._root["$defs"][part["$ref"].rpartition("/")[2]], depth)
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return self._chance.choice(part["enum"])
        if "anyOf" in part:
            # Deep down, what ends.
            branches = [each for each in part["anyOf"] if depth > 0 or not _nests(each)] or part["anyOf"]
            return self.value(self._chance.choice(branches), depth - 1)
        makers = {"object": self._object, "array": self._array, "string": self._string}
        kind: str = part.get("type", "integer")
        return makers[kind](part, depth - 1) if kind in makers else self._scalar(kind, part)

    def _scalar(self, kind: str, schema: _Schema) -> Any:  # noqa: ANN401 - any JSON
        if kind == "null":
            return None
        if kind == "boolean":
            return self._chance.choice((True, False))
        number = max(schema.get("minimum", 0), 0)
        return number + schema.get("multipleOf", 1) if kind == "integer" else self._chance.choice((0.5, number))

    def _string(self, schema: _Schema, _: int) -> str:
        if schema.get("contentEncoding") == "base64":
            return b64encode(b"tea").decode()
        if schema.get("contentMediaType") == "application/json":
            return "[1, 2]"
        if "pattern" in schema:
            return _matching(schema["pattern"])
        return _FORMATS.get(schema.get("format", ""), "abc")

    def _array(self, schema: _Schema, depth: int) -> list[Any]:
        if "prefixItems" in schema:
            return [self.value(each, depth) for each in schema["prefixItems"]]
        least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
        count = min(most, least + self._chance.choice((0, 1, 3))) if depth > -4 else least
        return [self.value(schema.get("items", {}), depth) for _ in range(count)]

    def _object(self, schema: _Schema, depth: int) -> dict[str, Any]:
        required: list[str] = schema.get("required", [])
        properties: _Schema = schema.get("properties", {})
        chosen = [key for key in properties if key in required or (depth > 0 and self._chance.random() < 0.7)]
        return {key: self.value(properties[key], depth) for key in chosen}


def _nests(schema: Any) -> bool:  # noqa: ANN401 - any part of a schema
    return isinstance(schema, Mapping) and (
        "$ref" in schema or cast("_Schema", schema).get("type") in ("object", "array")
    )


def _matching(pattern: str) -> str:
    """Return a text that matches one of the patterns of the made types, or one of pydantic's own."""
    return "aaa" if "a" in pattern.lower() and "d" not in pattern else "1.5"
