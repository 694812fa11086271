"""JSON Schemas as Python type texts for models."""

from collections.abc import Collection, Mapping
from typing import Final, cast

from ez_ptc.schema.annotations.identifiers import is_writable

__all__ = ["closed_type_text", "type_text"]

_PRIMITIVES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# The types programs get: values cross into the sandbox as themselves, not as text.
_FORMATS: Final = {
    "date-time": "datetime",
    "date": "date",
    "time": "time",
    "duration": "timedelta",
    "uuid": "UUID",
    "decimal": "Decimal",
    "binary": "bytes",
    "path": "Path",
}
_MAX_CHOICES: Final = 8
_MAX_DEPTH: Final = 8
# The maximum number of subschemas written out; the rest becomes `Any`.
_MAX_SUBSCHEMAS: Final = 2_000
_MAX_LENGTH: Final = 80
_MAX_INT: Final = 10**80

_Schema = Mapping[str, object]


def type_text(schema: _Schema, *, choices: int = _MAX_CHOICES) -> str:
    """Return a JSON Schema in the compact notation of a `# Returns:` line.

    An object is `{location: str, temp: int}`, an array of them `list[{id: int, name: str}]`. An optional key has a
    question mark, an empty schema is `Any`, and a definition is named instead of written if it is recursive or nested
    deeply. Of an enum with more than `choices` values only the type is written. Never raises, whatever a keyword's
    value.
    """
    return _Writer(schema, choices).text(schema)


def closed_type_text(schema: _Schema, open_records: Collection[frozenset[str]] = ()) -> str | None:
    """Same as `type_text`, but None if the schema says that an object may have other keys than those written.

    An object with exactly the keys of one of `open_records` may have others too, and has `**0` at its end.
    """
    if _is_open(schema):
        return None
    return _Writer(schema, _MAX_CHOICES, open_records).text(schema)


def _is_open(part: object) -> bool:
    if isinstance(part, list):
        return any(map(_is_open, cast("list[object]", part)))
    if not isinstance(part, Mapping):
        return False
    schema = cast("Mapping[str, object]", part)
    if isinstance(properties := schema.get("properties"), Mapping):
        is_extensible = schema.get("additionalProperties", False) is not False or "patternProperties" in schema
        if is_extensible or any(map(_is_cut, cast("_Schema", properties))):
            return True
    return any(map(_is_open, schema.values()))


class _Writer:
    def __init__(self, root: _Schema, choices: int, open_records: Collection[frozenset[str]] = ()) -> None:
        self._root = root
        self._open_records = open_records
        self._most = choices
        self._inside: list[str] = []
        self._left = _MAX_SUBSCHEMAS

    def text(self, schema: object) -> str:
        self._left -= 1
        if not isinstance(schema, Mapping) or self._left < 0:
            return "Any"
        schema = cast("_Schema", schema)
        if isinstance(ref := schema.get("$ref"), str):
            return self._reference_text(ref)
        if (choices := _choices(schema, self._most)) is not None:
            return choices
        for keyword in ("anyOf", "oneOf", "allOf"):
            if isinstance(branches := schema.get(keyword), list) and branches:
                return self._union(cast("list[object]", branches))
        if isinstance(kinds := schema.get("type"), list) and kinds:
            return self._union([{**schema, "type": kind} for kind in cast("list[object]", kinds)])
        return self._plain(schema)

    def _plain(self, schema: _Schema) -> str:
        type_ = schema.get("type")
        if type_ == "object" or (type_ is None and "properties" in schema):
            return self._object(schema)
        if type_ == "array":
            return self._array(schema)
        if type_ == "string":
            form = schema.get("format")
            if schema.get("contentEncoding") == "base64":
                return "bytes"
            return _FORMATS.get(form, "str") if isinstance(form, str) else "str"
        return _PRIMITIVES.get(type_, "Any") if isinstance(type_, str) else "Any"

    def _object(self, schema: _Schema) -> str:
        if isinstance(properties := schema.get("properties"), Mapping) and properties:
            required: object = schema.get("required")
            texts: list[str] = []
            for name, field in cast("Mapping[object, object]", properties).items():
                key = str(name)
                if not is_writable(key):
                    key = repr(f"{key[: _MAX_LENGTH - 1]}…" if _is_cut(key) else key)
                if isinstance(required, list) and name not in required:
                    key += "?"
                texts.append(f"{key}: {self.text(field)}")
            if (
                self._open_records
                and frozenset(map(str, cast("Mapping[object, object]", properties))) in self._open_records
            ):
                texts.append("**0")
            return "{" + ", ".join(texts) + "}"
        if isinstance(values := schema.get("additionalProperties"), Mapping) and values:
            return f"dict[str, {self.text(cast('_Schema', values))}]"
        return "dict"

    def _array(self, schema: _Schema) -> str:
        if isinstance(places := schema.get("prefixItems"), list) and places:
            return f"tuple[{', '.join(map(self.text, cast('list[object]', places)))}]"
        name = "list"
        if schema.get("uniqueItems") is True:
            name = "set"
        if isinstance(items := schema.get("items"), Mapping) and items:
            return f"{name}[{self.text(cast('_Schema', items))}]"
        return name

    def _union(self, branches: list[object]) -> str:
        return " | ".join(dict.fromkeys(map(self.text, branches)))

    def _reference_text(self, ref: str) -> str:
        name = ref.rpartition("/")[2]
        name = name if name.isidentifier() else "Any"
        if ref in self._inside or len(self._inside) == _MAX_DEPTH:
            return name
        target: object = self._root
        for step in ref.removeprefix("#").split("/")[1:]:
            if not isinstance(target, Mapping):
                return name
            target = cast("Mapping[object, object]", target).get(step)
        if target is None:
            return name
        self._inside.append(ref)
        text = self.text(target)
        self._inside.pop()
        return text


def _choices(schema: _Schema, most: int) -> str | None:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return None
    choices = cast("list[object]", values)
    if not 0 < len(choices) <= most or not all(map(_is_short, choices)):
        return None
    return " | ".join(map(repr, choices))


def _is_short(choice: object) -> bool:
    if type(choice) is str:
        return len(choice) <= _MAX_LENGTH
    return type(choice) in (bool, float) or (type(choice) is int and abs(choice) < _MAX_INT)


def _is_cut(key: object) -> bool:
    text = str(key)
    return len(text) > _MAX_LENGTH and not is_writable(text)
