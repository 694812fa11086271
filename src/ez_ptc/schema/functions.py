"""A function's parameters as one JSON Schema, with the validator of a model's arguments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, NotRequired, cast, get_args, get_origin

from pydantic import Field as ModelField
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.context import context_parameter, takes_none
from ez_ptc.schema.annotations.host_types import announce_signature, announce_type
from ez_ptc.schema.annotations.secret_types import has_secrets
from ez_ptc.schema.annotations.signatures import EMPTY, LEFT_OUT, FunctionParameter, Signature, annotation_text
from ez_ptc.schema.annotations.substitutes import own_text, substitute_maker
from ez_ptc.schema.arguments.binder import ArgumentBinder
from ez_ptc.schema.arguments.core_paths import Places
from ez_ptc.schema.arguments.errors import DescribedParameter
from ez_ptc.schema.arguments.patterns import UnboundedPatternError
from ez_ptc.schema.arguments.validation import ArgumentsValidation
from ez_ptc.schema.common_types import PlainType, plain_type
from ez_ptc.schema.defaults import NO_DEFAULT, json_default
from ez_ptc.schema.definitions import inline_single_uses, without_null
from ez_ptc.schema.known_types import known_type
from ez_ptc.schema.published_form import published_schemas
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.sensitive import SecretArguments, without_secret_defaults
from ez_ptc.schema.types import REFUSALS, json_schema, record_adapter, refusal_text

__all__ = ["FunctionSchema", "function_schema"]

# Keywords that say nothing of a value's type.
_ABOUT: Final = frozenset({"description", "default", "examples", "deprecated"})


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """The parameters a model may pass to a function.

    `parameters` is the JSON Schema of the arguments, `signature` has the same parameters, and `binder` checks a call.
    `named` are the parameters whose annotations name a class that only the schema describes. `strings` are those that
    are described as strings although calls may pass anything.
    """

    parameters: dict[str, Any]
    signature: Signature
    binder: ArgumentBinder
    named: frozenset[str]
    strings: Sequence[str]


def function_schema(
    tool: str, signature: Signature, texts: Mapping[str, str], *, with_strings: bool = False
) -> FunctionSchema:
    """Describe the parameters of the function behind a tool.

    A parameter's description is the text in its annotation (`Annotated`, `Field`, `Doc`), or else its entry in `texts`.
    It is required unless it has a default or accepts None, which its schema does not mention. A parameter whose type
    JSON cannot carry is left out if it has a default; otherwise, `SchemaError` names it and says what to write instead.
    `Context` parameters are left out. An alias of a parameter is refused with `SchemaError`.

    `with_strings`, such a type, a missing one and `Any` are described as strings, and calls may pass anything.
    """
    candidates = [parameter for parameter in signature.parameters if not (parameter.hidden or parameter.is_context)]
    for candidate in candidates:
        _check_fields(tool, candidate)
    candidate_inputs = [_Input.of(candidate, texts.get(candidate.name)) for candidate in candidates]
    describe = _Described.of(tool, candidate_inputs, signature.namespace, with_strings=with_strings)
    inputs, parameters = describe.inputs, describe.parameters()
    binder = describe.binder(tool, signature, parameters)
    strings = describe.fill_in_strings(parameters["properties"]) if with_strings else ()
    signature = announce_signature(replace(signature, parameters=tuple(value.parameter for value in inputs)))
    return FunctionSchema(parameters, signature, binder, describe.named, strings)


@dataclass(frozen=True, slots=True)
class _Input:
    """A parameter with its metadata.

    `plain` is its type's schema if pydantic is not needed, and `substitute` one for a type that JSON cannot carry.
    """

    parameter: FunctionParameter
    text: str | None
    infos: Sequence[FieldInfo]
    plain: PlainType | None
    substitute: dict[str, Any] | None = None

    @classmethod
    def of(cls, parameter: FunctionParameter, text: str | None) -> "_Input":
        annotation, default = parameter.annotation, parameter.default
        plain = plain_type(annotation) or known_type(annotation)
        if plain is not None and not isinstance(default, FieldInfo):
            return cls(parameter, text, (), plain)
        infos = _field_infos(parameter)
        if isinstance(default, FieldInfo):  # FastAPI's style: limit: int = Field(5, ge=1)
            annotation = Annotated[cast("Any", annotation), default]
            parameter = replace(parameter, annotation=annotation, default=_field_default(default))
        elif default is not LEFT_OUT and (required_infos := [info for info in infos if not info.is_required()]):
            if default is EMPTY:
                parameter = replace(parameter, default=_field_default(required_infos[-1]))
            else:  # the function's default overrides one in the annotation
                annotation = Annotated[cast("Any", annotation), ModelField(default=default)]
                parameter = replace(parameter, annotation=annotation)
        return cls(parameter, own_text(annotation) or text, infos, None)

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def definitions(self) -> frozenset[str]:
        """The names of the definitions in its type's schema, if pydantic is not needed."""
        return frozenset() if self.plain is None else self.plain.definitions

    @property
    def has_default(self) -> bool:
        if self.parameter.default is not EMPTY or not self.infos:
            return self.parameter.default is not EMPTY
        return not all(info.is_required() for info in self.infos)

    @property
    def becomes_none(self) -> bool:
        return not self.has_default and takes_none(self.parameter.annotation)

    @property
    def is_required(self) -> bool:
        return not self.has_default and not self.becomes_none

    def refusal(self, tool: str, error: Exception) -> SchemaError:
        """Return the error for a type that cannot be described."""
        text = annotation_text(self.parameter.annotation)
        return SchemaError(
            f"{tool}: parameter {self.name!r} cannot be of type {text} {refusal_text(error, self.parameter.annotation)}"
        )

    def entry(self, substitute_for: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - any form of type
        """Return the type pydantic validates it by."""
        annotation = self.parameter.annotation
        entry: Any = Any
        if annotation is not EMPTY and self.substitute is None:
            entry = substitute_for(annotation)
        if self.is_required:
            return entry
        return NotRequired[entry]

    def describe(self, others: Mapping[str, Any]) -> dict[str, Any]:
        """Return its JSON Schema; `others` has those generated by pydantic."""
        if self.substitute is not None:
            schema = self.substitute
        else:
            schema = others[self.name] if self.plain is None else self.plain.described
        if self.plain is not None and takes_none(self.parameter.annotation):
            schema = without_null(schema, {})
        if self.text is not None:
            schema = {**schema, "description": self.text}
        default = json_default(self.parameter.default)
        if default is NO_DEFAULT:
            default = schema.get("default")
        # None is what a call that omits the parameter passes anyway.
        schema = {key: value for key, value in schema.items() if key != "default"}
        if default is None:
            return schema
        return {**schema, "default": default}

    def field(self, schema: Mapping[str, Any]) -> DescribedParameter:
        annotation = self.parameter.annotation
        text = "Any" if annotation is EMPTY else annotation_text(announce_type(annotation))
        return DescribedParameter(text, required=self.is_required, many=_takes_many(schema))


@dataclass(frozen=True, slots=True)
class _Described:
    """All parameters together: their validators, and the JSON Schemas generated by pydantic.

    `named` are those whose types have definitions of their own.
    """

    inputs: Sequence[_Input]
    core: CoreSchema
    schema: Mapping[str, Any]
    named: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tool: str, inputs: Sequence[_Input], namespace: dict[str, Any], *, with_strings: bool) -> "_Described":
        """Describe the parameters; leave out those of unknown types with a default, unless `with_strings`."""
        if _share_definitions(inputs):
            inputs = _described_together(inputs)
        try:
            return cls._of(tool, inputs, namespace)
        except REFUSALS:
            if with_strings:
                usable = [cls._with_substitute(tool, value, namespace) for value in inputs]
            else:
                usable = [value for value in inputs if cls._is_usable(tool, value, namespace)]
            return cls._of(tool, usable, namespace)

    @classmethod
    def _with_substitute(cls, tool: str, value: _Input, namespace: dict[str, Any]) -> _Input:
        """Return a parameter, with a published schema if its own type cannot be described.

        Raises SchemaError for an undefined name within its type.
        """
        try:
            cls._of(tool, [value], namespace)
        except REFUSALS as error:
            if isinstance(error, NameError) and not value.has_default:
                raise value.refusal(tool, error) from error
            schemas, definitions = published_schemas({value.name: value.parameter.annotation}, namespace)
            if definitions:
                schemas[value.name] = {"type": "string"}
            if has_secrets(value.parameter.annotation):
                schemas[value.name] = {**schemas[value.name], "writeOnly": True}
            return replace(value, plain=None, infos=(), substitute=schemas[value.name])
        return value

    @classmethod
    def _is_usable(cls, tool: str, value: _Input, namespace: dict[str, Any]) -> bool:
        """Return whether a parameter can be described alone. Raises SchemaError if not, and it has no default."""
        if value.plain is not None:
            return True
        try:
            cls._of(tool, [value], namespace)
        except SchemaError as error:
            message = f"{tool}: parameter {value.name!r}: {error}"
            raise SchemaError(message) from None
        except REFUSALS as error:
            if value.has_default:
                return False
            raise value.refusal(tool, error) from error
        return True

    @classmethod
    def _of(cls, tool: str, inputs: Sequence[_Input], namespace: dict[str, Any]) -> "_Described":
        substitute_for = substitute_maker(namespace)
        entries = {value.name: value.entry(substitute_for) for value in inputs if value.plain is None}
        named = frozenset(value.name for value in inputs if value.definitions)
        if not entries:
            return cls(inputs, core_schema.typed_dict_schema(_core_fields(inputs, {})), {}, named)
        adapter = record_adapter(tool, entries, namespace)
        core = adapter.core_schema
        record: Any = core["schema"] if core["type"] == "definitions" else core
        if "fields" not in record:
            message = "Self is the class of a method, and there is none here"
            raise TypeError(message)
        record = {**record, "fields": _core_fields(inputs, record["fields"])}
        root: Any = {**core, "schema": record} if core["type"] == "definitions" else record
        schema = json_schema(adapter)
        properties, definitions = schema["properties"], schema.get("$defs", {})
        if hidden := entries.keys() - properties.keys():
            # By pydantic's `SkipJsonSchema`.
            if any(value.name in hidden and not value.has_default for value in inputs):
                message = "it is hidden from the JSON Schema"
                raise TypeError(message)
            return cls._of(tool, [value for value in inputs if value.name not in hidden], namespace)
        if _share_definitions(inputs, definitions):
            return cls._of(tool, _described_together(inputs), namespace)
        for value in inputs:
            if value.plain is None and takes_none(value.parameter.annotation):
                properties[value.name] = without_null(properties[value.name], definitions)
        if "$defs" not in schema:
            return cls(inputs, root, schema, named)
        named |= {name for name, item in schema["properties"].items() if "'$ref'" in str(item)}
        return cls(inputs, root, inline_single_uses(schema), named)

    def parameters(self) -> dict[str, Any]:
        """Return the JSON Schema of all parameters."""
        others: Mapping[str, Any] = self.schema.get("properties", {})
        properties = {value.name: value.describe(others) for value in self.inputs}
        parameters: dict[str, Any] = {"type": "object", "properties": properties}
        if required := [value.name for value in self.inputs if value.is_required]:
            parameters["required"] = required
        if "$defs" in self.schema:
            parameters["$defs"] = self.schema["$defs"]
        return dict(without_secret_defaults(parameters))

    def binder(self, tool: str, signature: Signature, parameters: Mapping[str, Any]) -> ArgumentBinder:
        """Return the binder of calls with these parameters. Raises SchemaError for a pattern that may take too long."""
        properties: Mapping[str, Mapping[str, Any]] = parameters["properties"]
        undescribed = [item for item in signature.parameters if item.name not in properties and not item.is_context]
        try:
            validation = ArgumentsValidation(self.core)
        except UnboundedPatternError as error:
            message = f"{tool}: {error}"
            raise SchemaError(message) from None
        return ArgumentBinder(
            tool=tool,
            fields={value.name: value.field(properties[value.name]) for value in self.inputs},
            positional=tuple(value.name for value in self.inputs if value.parameter.positional),
            contexts={
                parameter.name: context_parameter(parameter.annotation, parameter.default)
                for parameter in signature.parameters
                if parameter.is_context
            },
            by_position_only={
                parameter.name: parameter.default for parameter in signature.parameters if not parameter.by_name
            },
            nullable=tuple(value.name for value in self.inputs if value.becomes_none),
            validation=validation,
            places=Places(self.core),
            secrets=SecretArguments(
                parameters, properties, has_hidden=has_secrets(*(item.annotation for item in undescribed))
            ),
        )

    def fill_in_strings(self, properties: dict[str, dict[str, Any]]) -> list[str]:
        """Describe the parameters without a type as strings, and return the names of all without a usable one."""
        untyped = [name for name, schema in properties.items() if schema.keys() <= _ABOUT]
        properties.update({name: {"type": "string", **properties[name]} for name in untyped})
        return [value.name for value in self.inputs if value.substitute is not None or value.name in untyped]


def _share_definitions(inputs: Sequence[_Input], others: Iterable[str] = ()) -> bool:
    """Return whether types that do not need pydantic share a definition, with each other or with those in `others`."""
    names = [name for value in inputs for name in value.definitions]
    # Of several classes of one name, each definition has a longer one: module__Order.
    text = "".join(f"__{name}__" for name in (*names, *others))
    return any(text.count(f"__{name}__") > 1 for name in names)


def _described_together(inputs: Iterable[_Input]) -> list[_Input]:
    """Return parameters that pydantic describes together, since types that share a definition refer to it."""
    return [replace(value, plain=None) if value.definitions else value for value in inputs]


def _core_fields(
    inputs: Iterable[_Input], others: Mapping[str, core_schema.TypedDictField]
) -> dict[str, core_schema.TypedDictField]:
    return {
        value.name: others[value.name]
        if value.plain is None
        else core_schema.typed_dict_field(value.plain.core, required=value.is_required)
        for value in inputs
    }


def _field_infos(parameter: FunctionParameter) -> list[FieldInfo]:
    """Return what pydantic's `Field` says in the annotation of a parameter, and in place of its default."""
    items: list[object] = [parameter.default]
    if get_origin(parameter.annotation) is Annotated:
        items = [*get_args(parameter.annotation)[1:], parameter.default]
    return [item for item in items if isinstance(item, FieldInfo)]


def _check_fields(tool: str, parameter: FunctionParameter) -> None:
    """Raise SchemaError for an alias, a second name that the function would not be called by, and for two defaults."""
    infos = _field_infos(parameter)
    subject = f"{tool}: parameter {parameter.name!r} has"
    for info in infos:
        alias = info.alias or info.validation_alias
        if alias is not None and alias != parameter.name:
            message = (
                f"{subject} the alias {safe_repr(alias)}, but is passed by its own name: drop the alias and rename the "
                f"parameter, or describe it by hand with Tool.from_schema"
            )
            raise SchemaError(message)
    has_default = any(not info.is_required() and info.default_factory is None for info in infos)
    if parameter.default is not EMPTY and parameter.default is not LEFT_OUT:
        has_default = has_default or not isinstance(parameter.default, FieldInfo)
    if has_default and any(info.default_factory is not None for info in infos):
        message = f"{subject} a default and a default_factory: leave one of them out"
        raise SchemaError(message)


def _field_default(info: FieldInfo) -> object:
    if info.is_required():
        return EMPTY
    if info.default_factory is not None:
        return object()
    return cast("object", info.default)


def _takes_many(schema: Mapping[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(map(_takes_many, schema["anyOf"]))
    type_ = schema.get("type")
    return type_ == "array" or (type_ is None and not schema.keys() & {"$ref", "enum"})
