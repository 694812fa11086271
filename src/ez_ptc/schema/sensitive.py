"""Secret arguments: how a schema marks them, and how they are shown."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["HIDDEN_VALUE", "MASK", "SecretArguments", "Sensitive", "has_mask", "is_marked", "without_secret_defaults"]

MASK: Final = "**********"
"""Stands for a secret wherever it is shown; pydantic writes the same."""
HIDDEN_VALUE: Final = "a secret value"
"""Stands for one in a sentence about its mistake; such sentences are recorded."""

_BRANCHES: Final = frozenset({"anyOf", "oneOf", "allOf"})
_IN_PLACE: Final = _BRANCHES | {"$ref", "$defs", "definitions"}
# The keywords with schemas by name, and those with values.
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_VALUES: Final = frozenset({"default", "const", "enum", "examples"})


class Sensitive:
    """Marks a parameter, or a field of a record, as secret.

    People who approve the call see a mask, as do listeners and readers of results, and journals hold a keyed digest:
    `password: Annotated[str, Sensitive]`.
    Parameters of pydantic's `SecretStr`, `SecretBytes` and `Secret[...]` need no mark.
    """

    @staticmethod
    def __get_pydantic_json_schema__(core_schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:  # noqa: ANN401 - pydantic's protocol
        """Return the schema of the type, marked as writeOnly."""
        return {**handler(core_schema), "writeOnly": True}


class SecretArguments:
    """The secret parameters of one tool, by its schema.

    Secret is what the schema marks with `writeOnly` or the format `password`, and a parameter that contains it. An
    argument without a schema of its own is secret if anything of the tool is.
    """

    def __init__(
        self, parameters: Mapping[str, Any], properties: Mapping[str, Any], *, has_hidden: bool = False
    ) -> None:
        """Take a tool's schema, and the schema of each parameter; they are read on first use.

        With `has_hidden`, a parameter without a schema is secret.
        """
        self._has_hidden: Final = has_hidden
        self._root: Final = parameters
        self._properties: Final = properties
        self._known: Final = dict[tuple[int, ...], tuple[set[str], list[dict[str, Any]]]]()

    @lazy
    def _names(self) -> frozenset[str]:
        return frozenset(name for name, schema in self._properties.items() if self._is_marked(schema))

    @lazy
    def has_any(self) -> bool:
        """Whether the tool has a secret parameter."""
        return self._has_hidden or bool(self._names) or self._is_marked(self._root)

    def is_secret(self, name: str) -> bool:
        """Return whether an argument is secret."""
        return self.has_any and (name in self._names or name not in self._properties)

    def mask(self, name: str, value: object) -> object:
        """Return an argument as JSON with masks in place of what is secret in it."""
        if name in self._properties:
            return self._mask([self._properties[name]], value)
        return MASK if self.has_any else value

    def _mask(self, schemas: Sequence[object], value: object) -> object:
        """Return a value with masks by all the schemas that apply to it."""
        keywords, applied = self._secret_keywords(schemas)
        if value is None or not keywords:
            return value
        if keywords == {"items"} and isinstance(value, list):
            items = [schema["items"] for schema in applied if "items" in schema]
            return [self._mask(items, item) for item in cast("list[object]", value)]
        if keywords == {"properties"} and isinstance(value, dict):
            known = [schema["properties"] for schema in applied if "properties" in schema]
            masked: dict[str, object] = {}
            for key, item in cast("dict[str, object]", value).items():
                parts = [properties[key] for properties in known if key in properties]
                masked[key] = self._mask(parts, item) if parts else MASK
            return masked
        return MASK

    def _secret_keywords(self, schemas: Sequence[object]) -> tuple[set[str], list[dict[str, Any]]]:
        """Return the keywords with secrets in the schemas that apply in place of some, and these, each once.

        Branches and references may lead back to a schema, or to one by many ways.
        """
        names = tuple(map(id, schemas))  # of parts of the tool's schema, which lives as long
        if names in self._known:
            return self._known[names]
        waiting, applied, seen = list(schemas), list[dict[str, Any]](), set[int]()
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, dict):
                continue
            fields = cast("dict[str, Any]", schema)
            if id(fields) in seen:
                continue
            seen.add(id(fields))
            applied.append(fields)
            waiting += [branch for keyword in _BRANCHES & fields.keys() for branch in fields[keyword]]
            if isinstance(fields.get("$ref"), str):
                waiting.append(_resolve(self._root, fields["$ref"]))
        keywords = {
            keyword
            for fields in applied
            for keyword, subschema in fields.items()
            if keyword not in _IN_PLACE and self._is_marked({keyword: subschema})
        }
        self._known[names] = keywords, applied
        return self._known[names]

    @lazy
    def _references(self) -> frozenset[str]:
        return _secret_references([self._root, *self._properties.values()], partial(_resolve, self._root))

    def _is_marked(self, schema: object) -> bool:
        return _has_secret(schema, self._references)


def is_marked(schema: object, resolve: Callable[[str], object]) -> bool:
    """Return whether anything in a schema is secret, wherever it refers to."""
    return _has_secret(schema, _secret_references([schema], resolve))


def _has_secret(schema: object, secret_references: frozenset[str]) -> bool:
    is_secret, references = _read_marks(schema)
    return is_secret or not references.isdisjoint(secret_references)


def _secret_references(schemas: Iterable[object], resolve: Callable[[str], object]) -> frozenset[str]:
    """Return the references to anything secret, among those of some schemas and of their targets.

    Each target is read once, since many schemas may refer to it.
    """
    targets: dict[str, object] = {}
    referring: dict[int, list[int]] = {}  # to the targets from others
    secret: list[int] = []
    unread = [reference for schema in schemas for reference in _read_marks(schema)[1]]
    references: dict[int, set[str]] = {}
    while unread:
        reference = unread.pop()
        if reference in targets:
            continue
        target = targets[reference] = resolve(reference)
        if id(target) not in references:
            is_secret, references[id(target)] = _read_marks(target)
            if is_secret:
                secret.append(id(target))
            unread += references[id(target)]
    for source, names in references.items():
        for name in names:
            referring.setdefault(id(targets[name]), []).append(source)
    leading = set[int]()
    while secret:
        target_id = secret.pop()
        if target_id not in leading:
            leading.add(target_id)
            secret += referring.get(target_id, ())
    return frozenset(reference for reference, target in targets.items() if id(target) in leading)


def _read_marks(schema: object) -> tuple[bool, set[str]]:
    """Return whether a schema marks itself or anything in it as secret, and the references in it."""
    is_secret, unread, references = False, [schema], set[str]()
    while unread:
        node = unread.pop()
        if isinstance(node, list):
            unread += cast("list[object]", node)
        elif isinstance(node, dict):
            fields = cast("dict[str, object]", node)
            is_secret |= fields.get("writeOnly") is True or fields.get("format") == "password"
            if isinstance(reference := fields.get("$ref"), str):
                references.add(reference)
            unread += fields.values()
    return is_secret, references


def without_secret_defaults(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a tool's schema without the defaults of its secrets, for models and records; a default of null stays."""
    secret_references = _secret_references([schema], partial(_resolve, schema))
    if not _has_secret(schema, secret_references):
        return schema
    return cast("Mapping[str, Any]", _without_defaults(schema, secret_references))


def _without_defaults(node: object, secret_references: frozenset[str]) -> object:
    if isinstance(node, list):
        return [_without_defaults(item, secret_references) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    kept: dict[str, object] = {}
    for keyword, value in fields.items():
        if keyword in _NAMED and isinstance(value, dict):
            schemas = cast("dict[str, object]", value)
            kept[keyword] = {name: _without_defaults(item, secret_references) for name, item in schemas.items()}
        elif keyword not in _VALUES:
            kept[keyword] = _without_defaults(value, secret_references)
        elif keyword != "default" or value is None or not _has_secret(fields, secret_references):  # no secret is null
            kept[keyword] = value
    return kept


def _resolve(root: object, reference: str) -> object:
    """Return the part of a schema that a reference names, or all of it."""
    node: Any = root
    for name in reference.removeprefix("#").split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or key not in node:
            return root
        node = cast("dict[str, object]", node)[key]
    return node


def has_mask(value: object) -> bool:
    """Return whether a mask is in a value of JSON."""
    if isinstance(value, dict):
        return any(map(has_mask, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return any(map(has_mask, cast("list[object]", value)))
    return value == MASK
