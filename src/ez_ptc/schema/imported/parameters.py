"""A given parameters schema: handwritten, or from MCP, OpenAPI or a data set."""

import copy
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.context import ContextParameter, context_names
from ez_ptc.schema.annotations.partials import call_signature
from ez_ptc.schema.annotations.signatures import EMPTY, Parameter, Signature, TypeText
from ez_ptc.schema.arguments.errors import Field
from ez_ptc.schema.arguments.json_text import MAX_DEPTH, is_too_deep
from ez_ptc.schema.imported.binder import SchemaBinder
from ez_ptc.schema.imported.costs import checks_per_value, has_keyword
from ez_ptc.schema.imported.validation import Validation
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.stubs import type_text

__all__ = ["ImportedSchema", "check_result_schema", "import_schema"]

# Keywords whose checks may take long for a small value.
_SLOW: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "pattern", "patternProperties", "format"})
# Checks per value that take no relevant time for a small call.
_QUICK_CHECKS: Final = 100
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class ImportedSchema:
    """The parameters of a given JSON Schema, in the forms of `schema.functions.FunctionSchema`.

    `is_open` says that the function takes arguments of any name, so that its own signature does not list them.
    """

    parameters: dict[str, Any]
    signature: Signature
    binder: SchemaBinder
    is_open: bool


def import_schema(
    tool: str, schema: Mapping[str, Any], function: Callable[..., object], *, filled: Collection[str] = ()
) -> ImportedSchema:
    """Check a JSON Schema of an object and prepare the checking of calls; the schema itself is kept unchanged.

    It may be of any draft, with OpenAPI's `nullable`; the default is draft 2020-12. Nothing is fetched: a `$ref` must
    lead into the schema. Omitted arguments in `filled`, or that the function requires, get the schema's default. Raises
    SchemaError for an invalid schema, and if the function does not take its properties.
    """
    parameters = _object(tool, schema)
    properties: dict[str, Any] = parameters["properties"]
    required: list[str] = parameters.get("required", [])
    # Optional ones come last, as in Python, so that a call by position is possible.
    names = (*required, *(name for name in properties if name not in required))
    takes = _Takes.of(tool, function)
    takes.check(tool, names)
    definitions = {key: parameters[key] for key in ("$defs", "definitions") if key in parameters}
    # The schema of a property may also be a boolean.
    schemas: dict[str, dict[str, Any]] = {
        name: properties[name] if isinstance(properties[name], dict) else {} for name in names
    }
    texts = {name: type_text({**definitions, **schema}) for name, schema in schemas.items()}
    defaults = {name: schema.get("default") for name, schema in schemas.items() if name not in required}
    validation = Validation(tool, parameters, "its parameters are")
    checks = checks_per_value(parameters)
    # Arguments that the schema does not name are allowed only if it says so, or names none at all.
    additional = parameters.get("additionalProperties")
    says_so = additional is True or isinstance(additional, dict) or "patternProperties" in parameters
    described = tuple(
        Parameter(name, TypeText(text), defaults.get(name, EMPTY), positional=True, by_name=True)
        for name, text in texts.items()
    )
    binder = SchemaBinder(
        tool=tool,
        fields={name: Field(text, name in required, many=True) for name, text in texts.items()},
        contexts=takes.contexts,
        fillers={name: value for name, value in defaults.items() if name in takes.needed or name in filled},
        takes_others=says_so or (additional is None and not properties),
        is_plain=not has_keyword(parameters, _SLOW) and checks <= _QUICK_CHECKS,
        checks_per_value=checks,
        validation=validation,
    )
    return ImportedSchema(
        parameters, Signature(described, EMPTY, {}, takes_others=says_so), binder, is_open=takes.names is None
    )


def check_result_schema(tool: str, schema: Mapping[str, Any]) -> Callable[[object], str | None]:
    """Check a JSON Schema of results; return a function that says what is wrong with a result, or None.

    Raises SchemaError for an invalid schema, as `import_schema` does.
    """
    if is_too_deep(schema):
        message = f"{tool}: the schema of its results is nested more than {MAX_DEPTH} levels deep, or contains itself"
        raise SchemaError(message)
    return Validation(tool, schema, "the schema of its results is").find_problem


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


def _object(tool: str, schema: object) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        message = f"{tool}: its parameters are a JSON Schema as a dict, got {type(schema).__name__}"
        raise SchemaError(message)
    if is_too_deep(cast("object", schema)):
        message = f"{tool}: its parameters are nested more than {MAX_DEPTH} levels deep, or contain themselves"
        raise SchemaError(message)
    parameters = copy.deepcopy(dict(cast("Mapping[str, Any]", schema)))
    type_ = parameters.setdefault("type", "object")
    if type_ != "object":
        message = (
            f"{tool}: its parameters are the schema of an object with one key for each, got the type {safe_repr(type_)}"
        )
        raise SchemaError(message)
    if not isinstance(parameters.setdefault("properties", {}), dict):
        message = f"{tool}: `properties` of its parameters is a dict of schemas by name"
        raise SchemaError(message)
    required = parameters.get("required", [])
    if not isinstance(required, list):
        message = f"{tool}: `required` of its parameters is a list of names, got {safe_repr(required)}"
        raise SchemaError(message)
    for name in cast("list[str]", required):
        parameters["properties"].setdefault(name, {})  # an empty schema allows anything
    return parameters
