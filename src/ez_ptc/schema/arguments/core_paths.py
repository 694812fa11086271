"""The types that pydantic's core schema expects at a path within a value."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any, Final, cast

__all__ = ["PathExpectations", "Places", "json_name"]

_Schema = Mapping[str, Any]
_Path = tuple[int | str, ...]

# The keys of an inner schema in a wrapping one.
_INNER: Final = ("schema", "lax_schema", "python_schema")
_ITEMS: Final = ("items_schema", "values_schema")
_FIELDS: Final = ("model-fields", "typed-dict", "dataclass-args", "named-tuple", "arguments")


@dataclass(frozen=True, slots=True)
class PathExpectations:
    """The expectations at one path: the possible Enum members by all their names, and if it may be omitted or is text.

    `keys` are the possible members as keys of a dict.
    """

    members: Mapping[str, Enum]
    is_optional: bool
    is_text: bool
    keys: Mapping[str, Enum]


class Places:
    """Looks up paths in the core schema of a call's arguments."""

    def __init__(self, schema: _Schema) -> None:
        self._root = schema
        self._definitions: dict[str, _Schema] = {
            definition["ref"]: definition for definition in schema.get("definitions", ())
        }

    def names_at(self, path: _Path) -> list[str]:
        """Return the JSON names of the fields of all records possible at a path."""
        fields = (inner for schema in self._schemas_at(path) for inner in _fields_by_name(schema))
        return list(dict.fromkeys(json_name(name, field) or name for name, field in fields))

    def other_names(self, path: _Path, name: object) -> list[object]:
        """Return the further names a field of a record at a path may be passed by: its own, and its aliases."""
        inner = [item for schema in self._schemas_at(path) for item in _fields_by_name(schema)]
        names = ((field_name, *_aliases(field)) for field_name, field in inner)
        return [other for several in names if name in several for other in several if other != name]

    def is_name(self, path: _Path, name: str) -> bool:
        """Return whether a field of a record at a path may be passed by that name."""
        fields = (inner for schema in self._schemas_at(path) for inner in _fields_by_name(schema))
        return any(name == field_name or name in _aliases(field) for field_name, field in fields)

    def at(self, path: _Path) -> PathExpectations:
        """Return the expectations at a path of keys and indices, in any branch of a union."""
        schemas = self._schemas_at(path)
        keys = (
            inner
            for schema in schemas
            for inner in _value_schemas(schema.get("keys_schema", {"type": "any"}), self._definitions)
        )
        fields = filter(_is_field, self._find(path))
        is_optional = any(item.get("required") is False or item["schema"].get("type") == "default" for item in fields)
        is_text = any(schema["type"] == "str" for schema in schemas)
        return PathExpectations(_members(schemas), is_optional, is_text, _members(keys))

    def _schemas_at(self, path: _Path) -> list[_Schema]:
        schemas = (item.get("schema", item) if _is_field(item) else item for item in self._find(path))
        return [opened for schema in schemas for opened in _value_schemas(schema, self._definitions)]

    def _find(self, path: _Path) -> list[_Schema]:
        """Return the fields and schemas at a path."""
        schemas: list[_Schema] = [self._root]
        for step in path:
            inner = (item.get("schema", item) if _is_field(item) else item for item in schemas)
            opened = _each_once(schema for item in inner for schema in _value_schemas(item, self._definitions))
            # Several branches of a union may lead to the same schema, again at every level.
            schemas = _each_once(item for schema in opened for item in _inner(schema, step))
        return schemas


def _members(schemas: Iterable[_Schema]) -> dict[str, Enum]:
    values = chain.from_iterable(schema.get("members", schema.get("expected", ())) for schema in schemas)
    possible = {id(value): value for value in values if isinstance(value, Enum)}
    classes: dict[type[Enum], None] = dict.fromkeys(map(type, possible.values()))
    members: dict[str, Enum] = {}
    for cls in classes:
        for name, member in cls.__members__.items():
            if id(member) in possible:
                members.setdefault(name, member)
    return members


def _each_once(schemas: Iterable[_Schema]) -> list[_Schema]:
    return list({id(schema): schema for schema in schemas}.values())


def _value_schemas(schema: _Schema, definitions: Mapping[str, _Schema]) -> Iterator[_Schema]:
    """Yield the schemas of values behind unions, defaults, validators and references."""
    type_ = schema["type"]
    if type_ == "definition-ref":
        yield from _value_schemas(definitions[schema["schema_ref"]], definitions)
    elif type_ in ("union", "tagged-union"):
        choices: list[Any] = list(schema["choices"].values() if type_ == "tagged-union" else schema["choices"])
        for choice in choices:
            yield from _value_schemas(cast("Any", choice)[0] if isinstance(choice, tuple) else choice, definitions)
    elif type_ == "chain":
        yield from _value_schemas(schema["steps"][0], definitions)
    elif inner := next((schema[key] for key in _INNER if key in schema and type_ not in _FIELDS), None):
        yield from _value_schemas(inner, definitions)
    else:
        yield schema


def _inner(schema: _Schema, step: int | str) -> Iterator[_Schema]:
    """Yield the fields, items or values of a schema at one step of a path."""
    if schema["type"] in _FIELDS:
        for number, (name, item) in enumerate(_fields_by_name(schema)):
            if step in (name, number) or step in _aliases(item):
                yield item
        return
    for key in _ITEMS:
        items: Any = schema.get(key)
        if isinstance(items, Mapping):
            yield cast("_Schema", items)
        elif isinstance(items, list) and isinstance(step, int) and items:
            yield items[min(step, len(cast("list[_Schema]", items)) - 1)]


def _fields_by_name(schema: _Schema) -> list[tuple[str, _Schema]]:
    fields: Any = schema.get("fields", schema.get("arguments_schema", ())) if schema["type"] in _FIELDS else ()
    if isinstance(fields, Mapping):
        return [*fields.items()]
    return [(item["name"], item) for item in fields]


def _is_field(schema: _Schema) -> bool:
    return "schema" in schema and (schema.get("type", "").endswith("-field") or "type" not in schema)


def json_name(name: str, field: _Schema) -> str | None:
    """Return the one name a field is read by, or the first of several; None if it is read from an inner object."""
    alias: Any = field.get("validation_alias", field.get("alias"))
    if not isinstance(alias, list):
        return alias or name
    paths = cast("list[Any]", alias)
    if not isinstance(paths[0], list):
        paths = [paths]
    return next((path[0] for path in paths if len(path) == 1), None)


def _aliases(each: _Schema) -> list[object]:
    alias = each.get("validation_alias", each.get("alias"))
    paths: list[Any] = cast("list[Any]", alias) if isinstance(alias, list) else [alias]
    return [path[0] if isinstance(path, list) else path for path in paths]
