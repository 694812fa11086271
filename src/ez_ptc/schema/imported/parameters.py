"""A given parameters schema: handwritten, or from MCP, OpenAPI or a data set."""

import copy
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.context import ContextParameter, context_names
from ez_ptc.schema.annotations.partials import call_signature
from ez_ptc.schema.annotations.signatures import EMPTY, FunctionParameter, Signature, TypeText
from ez_ptc.schema.arguments.errors import DescribedParameter
from ez_ptc.schema.arguments.json_text import MAX_DEPTH, is_too_deep
from ez_ptc.schema.imported.binder import Others, SchemaBinder
from ez_ptc.schema.imported.costs import checks_per_value, has_keyword
from ez_ptc.schema.imported.validation import SchemaValidation
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.sensitive import SecretArguments
from ez_ptc.schema.standard.references import REFERENCES
from ez_ptc.schema.standard.roots import with_object_root
from ez_ptc.schema.stubs import property_texts

__all__ = ["ImportedSchema", "check_result_schema", "import_schema", "repair_slips"]

_SCHEMAS_BY_NAME: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SCHEMAS: Final = (
    *("items", "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "not", "if"),
    *("then", "else", "contains", "propertyNames"),
)
# The keywords whose value may be null.
_VALUES: Final = frozenset({"default", "const", "example", "examples"})
# Servers write types as their programming language names them. "any" is no type of JSON Schema.
_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("array", "list", "tuple", "set"), "array"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("integer", "int", "long"), "integer"),
    **dict.fromkeys(("null", "none"), "null"),
    **dict.fromkeys(("number", "float", "double"), "number"),
    **dict.fromkeys(("object", "dict", "map"), "object"),
    **dict.fromkeys(("string", "str"), "string"),
}


def repair_slips(schema: dict[str, Any]) -> dict[str, Any]:
    """Repair a schema, and all schemas in it, in place, and return it."""
    pending = [schema]
    while pending:
        node = pending.pop()
        for keyword in [keyword for keyword, value in node.items() if value is None and keyword not in _VALUES]:
            del node[keyword]
        # PHP writes an empty object as a list.
        for keyword in (*_SCHEMAS_BY_NAME, *_SCHEMAS):
            if node.get(keyword) == []:
                node[keyword] = {}
        for keyword in ("title", "description"):
            if not isinstance(node.get(keyword, ""), str):
                del node[keyword]
        types: object = node.get("type")
        if types == "any" or (_is_names(types) and "any" in types):
            del node["type"]
        elif isinstance(types, str):
            node["type"] = _TYPES.get(types.lower(), types)
        elif _is_names(types):
            node["type"] = list(dict.fromkeys(_TYPES.get(name.lower(), name) for name in types))
        _lift_required(node)
        _drop_forbidden(node)
        pending += _inner_schemas(node)
    return schema


def _is_names(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast("list[object]", value))


def _lift_required(node: dict[str, Any]) -> None:
    """Move the flags `required` of properties into the list of the object, which has each name once."""
    if node.get("required") == {}:  # an empty list in PHP
        del node["required"]
    properties: object = node.get("properties")
    flags: dict[str, bool] = {}
    for name, item in cast("dict[str, Any]", properties).items() if isinstance(properties, dict) else ():
        if _is_schema(item) and isinstance(item.get("required"), bool):
            flags[name] = item.pop("required")
    names = [name for name, is_required in flags.items() if is_required]
    listed: object = node.get("required", [])
    if (names or listed) and _is_names(listed):
        node["required"] = list(dict.fromkeys([*listed, *names]))


def _drop_forbidden(node: dict[str, Any]) -> None:
    """Remove the required names that the object forbids, such as that of a property hidden from its schema."""
    properties, listed = node.get("properties"), node.get("required")
    is_closed = node.get("additionalProperties") is False and "patternProperties" not in node
    if is_closed and isinstance(properties, dict) and _is_names(listed):
        node["required"] = [name for name in listed if name in properties]


def _inner_schemas(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for keyword in _SCHEMAS_BY_NAME:
        by_name: object = node.get(keyword)
        if isinstance(by_name, dict):
            yield from filter(_is_schema, cast("dict[str, Any]", by_name).values())
    for keyword in _LISTS:
        listed: object = node.get(keyword)
        if isinstance(listed, list):
            yield from filter(_is_schema, cast("list[Any]", listed))
    yield from (node[keyword] for keyword in _SCHEMAS if _is_schema(node.get(keyword)))


def _is_schema(value: object) -> bool:
    return isinstance(value, dict)


# Keywords whose checks may take long for a small value.
_SLOW: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "pattern", "patternProperties", "format"})
# Checks per value that take no relevant time for a small call.
_QUICK_CHECKS: Final = 100
_RULES_FOR_OTHERS: Final = frozenset({"additionalProperties", "patternProperties", "unevaluatedProperties"})
_FORBIDDEN: Final[Mapping[str, Any]] = {"not": {}}
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class ImportedSchema:
    """The parameters of a given JSON Schema, in the forms of `schema.functions.FunctionSchema`.

    `properties` has the schema of each argument, including those that only a branch at the root names. `is_open` says
    that the function takes arguments of any name, so that its own signature does not list them.
    """

    parameters: dict[str, Any]
    properties: dict[str, Any]
    signature: Signature
    binder: SchemaBinder
    is_open: bool


def import_schema(
    tool: str, schema: Mapping[str, Any], function: Callable[..., object], *, filled: Collection[str] = ()
) -> ImportedSchema:
    """Check a JSON Schema of an object and prepare the checking of calls; the schema itself stays as it is.

    It may be of any draft, with OpenAPI's `nullable`; the default is draft 2020-12. Nothing is fetched: a `$ref` must
    lead into the schema. Omitted arguments in `filled`, or that the function requires, get the schema's default. Raises
    SchemaError for an invalid schema, and if the function does not take its properties.
    """
    copied = _copy_object(tool, schema)
    validation = SchemaValidation(tool, copied, "its parameters are")
    root = with_object_root(tool, copied)
    parameters = _parameters(copied)
    properties = {name: item for name, item in root["properties"].items() if item != _FORBIDDEN}
    required: dict[str, None] = dict.fromkeys(root.get("required", []))
    # Optional ones come last, as in Python, so that a call by position is possible.
    names = (*required, *(name for name in properties if name not in required))
    takes = _Takes.of(tool, function)
    takes.check(tool, names)
    all_texts = property_texts(root)
    schemas: dict[str, dict[str, Any]] = {name: properties.get(name, {}) for name in names}
    texts = {name: all_texts.get(name, "Any") for name in names}
    defaults = {name: schema.get("default") for name, schema in schemas.items() if name not in required}
    checks = checks_per_value(parameters)
    others = Others.of(root, takes_any=takes.names is None)
    described = tuple(
        FunctionParameter(name, TypeText(text), defaults.get(name, EMPTY), positional=True, by_name=True)
        for name, text in texts.items()
    )
    binder = SchemaBinder(
        tool=tool,
        fields={name: DescribedParameter(text, name in required, many=True) for name, text in texts.items()},
        contexts=takes.contexts,
        fillers={name: value for name, value in defaults.items() if name in takes.needed or name in filled},
        others=others,
        omitted_as_none=frozenset(name for name, value in defaults.items() if value is None),
        is_plain=not has_keyword(parameters, _SLOW) and checks <= _QUICK_CHECKS,
        checks_per_value=checks,
        secrets=SecretArguments(parameters, properties),
        validation=validation,
    )
    signature = Signature(described, EMPTY, {}, takes_others=others is Others.NAMED)
    if parameters["properties"].keys() == schemas.keys():
        schemas = parameters["properties"]  # the same, without a copy for each of a server's thousand tools
    return ImportedSchema(parameters, schemas, signature, binder, is_open=takes.names is None)


def check_result_schema(tool: str, schema: Mapping[str, Any]) -> Callable[[object], str | None]:
    """Check a JSON Schema of results; return a function that says what is wrong with a result, or None.

    Raises SchemaError for an invalid schema, as `import_schema` does.
    """
    if is_too_deep(schema):
        message = f"{tool}: the schema of its results is nested more than {MAX_DEPTH} levels deep, or contains itself"
        raise SchemaError(message)
    copied = repair_slips(copy.deepcopy(dict(schema)))
    return SchemaValidation(tool, copied, "the schema of its results is").find_problem


@dataclass(frozen=True, slots=True)
class _Takes:
    """The parameters of a function: `names` is None if it takes any; `needed` have no default."""

    names: frozenset[str] | None
    needed: frozenset[str]
    contexts: Mapping[str, ContextParameter]

    @classmethod
    def of(cls, tool: str, function: Callable[..., object]) -> "_Takes":
        try:
            parameters = call_signature(function).parameters.values()
        except (TypeError, ValueError):  # a built-in without a signature
            return cls(None, frozenset(), {})
        by_position = [item.name for item in parameters if item.kind is inspect.Parameter.POSITIONAL_ONLY]
        if by_position:
            message = f"{tool}: its function takes {by_position[0]!r} by position only, and is called by name: wrap it"
            raise SchemaError(message)
        named = [item for item in parameters if item.kind not in _VARIADIC]
        contexts = context_names(function) if named else {}
        named = [item for item in named if item.name not in contexts]
        takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
        needed = frozenset(item.name for item in named if item.default is EMPTY)
        return cls(None if takes_any else frozenset(item.name for item in named), needed, contexts)

    def check(self, tool: str, names: tuple[str, ...]) -> None:
        surplus = [name for name in names if self.names is not None and name not in self.names]
        if surplus:
            name = safe_repr(surplus[0])
            message = f"{tool}: its schema has {name}, which its function does not take: add it, or take **kwargs"
            raise SchemaError(message)
        unknown = sorted(self.needed - set(names))
        if unknown:
            name = safe_repr(unknown[0])
            message = f"{tool}: its function needs {name}, which its schema does not have: add it to `properties`"
            raise SchemaError(message)


def _copy_object(tool: str, schema: object) -> dict[str, Any]:
    """Return a copy of a schema of arguments, which are always an object."""
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    if not isinstance(schema, Mapping):
        message = f"{tool}: its parameters are a JSON Schema as a dict, got {type(schema).__name__}"
        raise SchemaError(message)
    if is_too_deep(cast("object", schema)):
        message = f"{tool}: its parameters are nested more than {MAX_DEPTH} levels deep, or contain themselves"
        raise SchemaError(message)
    copied = repair_slips(copy.deepcopy(dict(cast("Mapping[str, Any]", schema))))
    types: object = copied.get("type", "object")
    if types != "object" and not (isinstance(types, list) and "object" in cast("list[object]", types)):
        got = safe_repr(copied["type"])
        message = f"{tool}: its parameters are the schema of an object with one key for each, got the type {got}"
        raise SchemaError(message)
    if not isinstance(copied.get("properties", {}), dict):
        message = f"{tool}: `properties` of its parameters is a dict of schemas by name"
        raise SchemaError(message)
    if not isinstance(required := copied.get("required", []), list):
        message = f"{tool}: `required` of its parameters is a list of names, got {safe_repr(required)}"
        raise SchemaError(message)
    return copied


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    """Return the schema as callers read it: with the type of an object, and an entry for each required argument."""
    parameters = {**given, "properties": dict(given.get("properties", {}))}
    # A schema that refers to its root may mean values of any type there.
    if isinstance(parameters.get("type"), list) or not has_keyword(given, frozenset(REFERENCES)):
        parameters["type"] = "object"
    if parameters.keys().isdisjoint(_RULES_FOR_OTHERS):
        for name in given.get("required", []):
            parameters["properties"].setdefault(name, {})  # an empty schema allows anything
    return parameters
