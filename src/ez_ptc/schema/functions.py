"""A function's signature as one parameters schema, and the validator for what a model sends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Final, NotRequired, Union, cast, get_args, get_origin

from pydantic import Field as ModelField
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from ez_ptc.errors import SchemaError
from ez_ptc.schema.arguments import ArgumentBinder
from ez_ptc.schema.complaints import Field
from ez_ptc.schema.decoding import decoding_validator
from ez_ptc.schema.signatures import EMPTY, Parameter, Signature, annotation_text
from ez_ptc.schema.twins import twin
from ez_ptc.schema.types import NO_DEFAULT, REFUSALS, json_default, json_schema, record_adapter

__all__ = ["FunctionSchema", "function_schema"]

_INSTEAD: Final = (
    "annotate it with what JSON can carry (str, int, float, bool, list, dict, a TypedDict, a dataclass, a pydantic "
    "model), or give it a default to keep it from the model"
)


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """What a model may pass to a function.

    `parameters` is the JSON Schema of all arguments, `signature` has the parameters that are in it, and `binder` checks
    a call against them.
    """

    parameters: dict[str, Any]
    signature: Signature
    binder: ArgumentBinder


def function_schema(tool: str, signature: Signature, texts: Mapping[str, str]) -> FunctionSchema:
    """Describe the parameters of the function that the tool `tool` calls.

    A parameter's description is the text in its annotation (`Annotated`, `Field`, `Doc`), or else what `texts` has for
    it. It is required where it has no default. A parameter of a type that JSON cannot carry is left out where it has a
    default; where it has none, `SchemaError` names it and says what to write instead.
    """
    inputs = [
        _Input.of(parameter, texts.get(parameter.name), signature.namespace) for parameter in signature.parameters
    ]
    try:
        adapter, described = _described(tool, inputs, signature.namespace)
    except REFUSALS:
        inputs = [each for each in inputs if _is_usable(tool, each, signature.namespace)]
        adapter, described = _described(tool, inputs, signature.namespace)
    parameters = _parameters(described, inputs)
    return FunctionSchema(
        parameters,
        replace(signature, parameters=tuple(each.parameter for each in inputs)),
        ArgumentBinder(
            tool=tool,
            fields={each.name: each.field(parameters["properties"][each.name]) for each in inputs},
            positional=tuple(each.name for each in inputs if each.parameter.positional),
            by_position_only={each.name: each.default for each in signature.parameters if not each.by_name},
            nullable=tuple(each.name for each in inputs if each.becomes_none),
            validate=decoding_validator(adapter.core_schema) or adapter.validator.validate_python,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Input:
    """A parameter with the type that pydantic validates it by."""

    parameter: Parameter
    entry: Any
    has_default: bool
    becomes_none: bool

    @classmethod
    def of(cls, parameter: Parameter, text: str | None, namespace: dict[str, Any]) -> "_Input":
        annotation = Any if parameter.annotation is EMPTY else _twin_of(parameter, namespace)
        infos = [each for each in _metadata(annotation) if isinstance(each, FieldInfo)]
        default = parameter.default
        if isinstance(default, FieldInfo):  # as FastAPI writes it: limit: int = Field(5, ge=1)
            annotation, infos = Annotated[annotation, default], [*infos, default]
            parameter = replace(parameter, default=_field_default(default))
        description = _own_text(annotation) or text
        if description is not None or any(each.alias for each in infos):
            annotation = Annotated[annotation, ModelField(alias=parameter.name, description=description)]
        has_default = parameter.default is not EMPTY or not all(each.is_required() for each in infos)
        becomes_none = not has_default and _takes_none(parameter.annotation)
        entry = NotRequired[annotation] if has_default or becomes_none else annotation
        return cls(parameter, entry, has_default=has_default, becomes_none=becomes_none)

    @property
    def name(self) -> str:
        return self.parameter.name

    def field(self, schema: Mapping[str, Any]) -> Field:
        annotation = self.parameter.annotation
        text = "Any" if annotation is EMPTY else annotation_text(annotation)
        return Field(text, required=not self.has_default and not self.becomes_none, many=_takes_many(schema))


def _described(
    tool: str, inputs: Iterable[_Input], namespace: dict[str, Any]
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    adapter = record_adapter(tool, {each.name: each.entry for each in inputs}, namespace)
    return adapter, json_schema(adapter)


def _is_usable(tool: str, each: _Input, namespace: dict[str, Any]) -> bool:
    try:
        _described(tool, [each], namespace)
    except REFUSALS as error:
        if not each.has_default:
            raise _refusal(tool, each.parameter, error) from error
        return False
    return True


def _twin_of(parameter: Parameter, namespace: dict[str, Any]) -> Any:  # noqa: ANN401 - any form of type
    return twin(parameter.annotation, namespace=namespace)


def _refusal(tool: str, parameter: Parameter, error: Exception) -> SchemaError:
    # Of what pydantic says only the first sentence is about the type, the rest about pydantic's own settings.
    reason = str(error).partition("\n")[0].partition(". ")[0] or type(error).__name__
    text = annotation_text(parameter.annotation)
    return SchemaError(f"{tool}: parameter {parameter.name!r} cannot be of type {text} ({reason}): {_INSTEAD}")


def _parameters(described: Mapping[str, Any], inputs: Iterable[_Input]) -> dict[str, Any]:
    properties: dict[str, dict[str, Any]] = described["properties"]
    for each in inputs:
        default = json_default(each.parameter.default)
        if default is not NO_DEFAULT:
            properties[each.name]["default"] = default
    required = [each.name for each in inputs if not each.has_default]
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    return {**parameters, "$defs": described["$defs"]} if "$defs" in described else parameters


def _metadata(annotation: object) -> tuple[object, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _own_text(annotation: object) -> str | None:
    texts = [_text_of(each) for each in _metadata(annotation)]
    return next((text for text in reversed(texts) if text), None)


def _text_of(metadata: object) -> str | None:
    if isinstance(metadata, str):
        return metadata
    text = getattr(metadata, "description" if isinstance(metadata, FieldInfo) else "documentation", None)
    return text if isinstance(text, str) else None


def _field_default(info: FieldInfo) -> object:
    if info.is_required():
        return EMPTY
    return object() if info.default_factory is not None else cast("object", info.default)


def _takes_none(annotation: object) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _takes_none(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return any(map(_takes_none, get_args(annotation)))
    return annotation is None or annotation is NoneType


def _takes_many(schema: Mapping[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(map(_takes_many, schema["anyOf"]))
    kind = schema.get("type")
    return kind == "array" or (kind is None and not schema.keys() & {"$ref", "enum"})
