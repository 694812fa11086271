"""JSON Schemas as Python type texts for models."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from keyword import iskeyword
from typing import Any, Final, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.standard.form import standard_form
from ez_ptc.schema.standard.keywords import ANNOTATIONS
from ez_ptc.schema.standard.merging import flatten, merge
from ez_ptc.schema.standard.references import PREFIX

__all__ = [
    "MAX_LENGTH",
    "argument_texts",
    "closed_type_text",
    "is_writable",
    "normal_form",
    "property_texts",
    "type_text",
]

# The maximum length of a name that is used unchanged.
MAX_LENGTH: Final = 128

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
# The maximum size of all definitions written out or merged; further references stay names.
_MAX_REFERRED: Final = 10_000
_MAX_LENGTH: Final = 80
_MAX_INT: Final = 10**80

# Keywords of schemas that are not in the standard form, or have parts that hold together.
_FOREIGN: Final = frozenset(
    {"$anchor", "$dynamicAnchor", "$id", "$recursiveRef", "$schema", "allOf", "nullable", "oneOf"}
)
# Keywords that a text shows.
_SHOWN: Final = frozenset(
    {"$ref", "additionalProperties", "allOf", "anyOf", "const", "contentEncoding", "enum", "items", "oneOf"}
    | {"prefixItems", "properties", "type"}
)

_Schema = Mapping[str, object]


def type_text(schema: _Schema, *, choices: int = _MAX_CHOICES) -> str:
    """Return a JSON Schema in the compact notation of a `# Returns:` line.

    An object is `{location: str, temp: int}`, an array of them `list[{id: int, name: str}]`. An optional key has a
    question mark, an empty schema is `Any`, and a definition is named instead of written if it is recursive or nested
    deeply. Of an enum with more than `choices` values only the type is written. Never raises, whatever a keyword's
    value.
    """
    schema, definitions = _with_definitions(schema, is_foreign=_is_foreign(schema))
    return _TypeWriter(schema, choices, definitions=definitions).text(schema)


def argument_texts(parameters: _Schema, names: Collection[str], *, choices: int) -> dict[str, str]:
    """Return the text of each of these properties of an object, as `type_text` does."""
    schema, definitions = _with_definitions(parameters, is_foreign=True)
    return _property_texts(schema, names, _TypeWriter(schema, choices, definitions=definitions))


def property_texts(root: _Schema) -> dict[str, str]:
    """Return the text of each property of an object, whose schema is in the standard form."""
    writer = _TypeWriter(root, _MAX_CHOICES, definitions=cast("_Schema", root.get("$defs", {})))
    return _property_texts(root, cast("_Schema", root["properties"]), writer)


def _property_texts(root: _Schema, names: Collection[str], writer: "_TypeWriter") -> dict[str, str]:
    properties = cast("_Schema", root.get("properties", {}))
    return {name: writer.whole_text(properties[name]) for name in names if name in properties}


def _with_definitions(schema: _Schema, *, is_foreign: bool) -> tuple[_Schema, _Schema | None]:
    """Return a schema in the standard form and its definitions, or an unusual one as it is, without them."""
    if is_foreign:
        with contextlib.suppress(SchemaError, RecursionError):
            standard = standard_form("it", schema)
            return standard, standard.get("$defs", {})
    return schema, None


def _is_foreign(part: object) -> bool:
    if isinstance(part, list):
        return any(map(_is_foreign, cast("list[object]", part)))
    if not isinstance(part, Mapping):
        return False
    schema = cast("_Schema", part)
    if not _FOREIGN.isdisjoint(schema) or ("properties" in schema and not schema.keys().isdisjoint(("anyOf", "$ref"))):
        return True
    return any(map(_is_foreign, schema.values()))


def closed_type_text(schema: _Schema, open_records: Collection[frozenset[str]] = ()) -> str | None:
    """Same as `type_text`, but None if the schema says that an object may have other keys than those written.

    An object with exactly the keys of one of `open_records` may have others too, and has `**0` at its end.
    """
    if _is_open(schema):
        return None
    return _TypeWriter(schema, _MAX_CHOICES, open_records).text(schema)


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


class _TypeWriter:
    def __init__(
        self,
        root: _Schema,
        choices: int,
        open_records: Collection[frozenset[str]] = (),
        *,
        definitions: Mapping[str, Any] | None = None,
    ) -> None:
        """Start a text; `definitions` are those of a schema in the standard form, or None for any other."""
        self._root = root
        self._definitions = definitions
        self._open_records = open_records
        self._most = choices
        self._inside: list[str] = []
        self._left = _MAX_SUBSCHEMAS
        self._referred_left = _MAX_REFERRED

    def whole_text(self, schema: object) -> str:
        """Return the text of a schema that has subschemas of its own, and shares the definitions with others."""
        self._left = _MAX_SUBSCHEMAS
        return self.text(schema)

    def text(self, schema: object) -> str:
        self._left -= 1
        if self._inside:
            self._referred_left -= 1
        if not isinstance(schema, Mapping) or self._left < 0:
            return "Any"
        schema = cast("_Schema", schema)
        has_parts = "allOf" in schema or ("$ref" in schema and len(schema.keys() & _SHOWN) > 1)
        if has_parts and self._definitions is not None:
            return self._flat_text(schema, {}, self._definitions)
        if isinstance(ref := schema.get("$ref"), str):
            return self._reference_text(ref)
        return _choices(schema, self._most) or self._shape_text(schema)

    def _shape_text(self, schema: _Schema) -> str:
        for keyword in ("anyOf", "oneOf"):
            if isinstance(branches := schema.get(keyword), list) and branches:
                return self._union_text(schema, keyword, cast("list[object]", branches))
        if isinstance(kinds := schema.get("type"), list) and kinds:
            return self._union([{**schema, "type": type_name} for type_name in cast("list[object]", kinds)])
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
            listed: object = schema.get("required")
            required = None
            if isinstance(listed, list):
                required = {item for item in cast("list[object]", listed) if isinstance(item, str)}
            texts: list[str] = []
            for name, field in cast("Mapping[object, object]", properties).items():
                key = str(name)
                if not is_writable(key):
                    key = repr(f"{key[: _MAX_LENGTH - 1]}…" if _is_cut(key) else key)
                if required is not None and name not in required:
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

    def _flat_text(self, schema: _Schema, beside: _Schema, definitions: Mapping[str, Any]) -> str:
        """Return the text of a schema and of keywords beside it, with the schemas that it refers to written out."""
        if self._left < 0 or self._referred_left < 0:
            return _name_of(str(schema.get("$ref", "")))
        written_out: set[str] = set()
        flat = flatten(schema, definitions, written_out, self._spend)
        references = [PREFIX + name for name in sorted(written_out)]
        again = [ref for ref in references if ref in self._inside]
        if again or len(self._inside) >= _MAX_DEPTH:
            return _name_of([*again, *references, ""][0])
        self._inside += references
        text = self.text(merge(beside, flat) if beside else flat)
        del self._inside[len(self._inside) - len(references) :]
        return text

    def _spend(self, size: int) -> None:
        self._referred_left -= size

    def _union_text(self, schema: _Schema, keyword: str, branches: list[object]) -> str:
        """Return the text of a union, in which each branch holds together with the keywords beside it."""
        beside = {key: value for key, value in schema.items() if key != keyword and key not in (*ANNOTATIONS, "$defs")}
        if self._definitions is None or not beside.keys() & _SHOWN:
            return self._union(branches)
        shapes = [cast("_Schema", branch) for branch in branches if isinstance(branch, Mapping)]
        if not any(shape.keys() & _SHOWN for shape in shapes):
            return self.text(beside)
        return " | ".join(dict.fromkeys(self._flat_text(shape, beside, self._definitions) for shape in shapes))

    def _union(self, branches: list[object]) -> str:
        texts = dict.fromkeys(map(self.text, branches))
        if "None" in texts:  # a branch may have it among its choices
            texts = dict.fromkeys(text.removesuffix(" | None") for text in texts)
        return " | ".join(texts)

    def _reference_text(self, ref: str) -> str:
        name = _name_of(ref)
        if ref in self._inside or len(self._inside) == _MAX_DEPTH or self._referred_left < 0:
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


def _name_of(ref: str) -> str:
    name = ref.rpartition("/")[2]
    return name if name.isidentifier() else "Any"


def _choices(schema: _Schema, most: int) -> str | None:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or len(listed := cast("list[object]", values)) > most + 1:  # one may be null
        return None
    choices: list[object] = [choice for choice in listed if choice is not None]
    if len(choices) < len(listed) and "null" in _type_names(schema):
        choices.append(None)
    if not 0 < len(choices) <= most or not all(map(_is_short, choices)):
        return None
    return " | ".join(map(repr, choices))


def _type_names(schema: _Schema) -> Sequence[object]:
    """Return the types of a schema, with null for one without types."""
    types: object = schema.get("type", "null")
    return cast("list[object]", types) if isinstance(types, list) else [types]


def _is_short(choice: object) -> bool:
    if type(choice) is str:
        return len(choice) <= _MAX_LENGTH
    return choice is None or type(choice) in (bool, float) or (type(choice) is int and abs(choice) < _MAX_INT)


def _is_cut(key: object) -> bool:
    text = str(key)
    return len(text) > _MAX_LENGTH and not is_writable(text)


def is_writable(name: str) -> bool:
    """Return whether a name is a valid variable or parameter name that Python reads unchanged."""
    return (
        name.isidentifier()
        and not iskeyword(name)
        and len(name) <= MAX_LENGTH
        and name != "__debug__"
        and normal_form(name) == name
    )


def normal_form(name: str) -> str:
    """Return a name in Python's normal form of identifiers: `find` for a name with a ligature."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)
