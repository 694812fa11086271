"""`function_to_tool` and `type_to_json_schema`: a function as the tool definition that OpenAI's models read.

A tool's own schema (`schema.functions`) says more, and is what arguments are checked against. This one has the forms
that its published tables have and no others: `oneOf` for unions, the type alone for an optional one, values only for
enumerations, text for whatever the tables do not have.
"""

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from enum import Enum
from types import FrameType, NoneType, UnionType
from typing import Annotated, Any, Final, ForwardRef, Literal, cast, get_args, get_origin

from pydantic.fields import FieldInfo

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.context import Context
from ez_ptc.schema.annotations.docstrings import docstring_of, prose
from ez_ptc.schema.annotations.resolution import innermost, names_around, resolved_leniently
from ez_ptc.schema.annotations.signatures import EMPTY, Parameter, Signature, read_signature
from ez_ptc.schema.published.forms import tabled_schemas
from ez_ptc.schema.published.types import plain_types, unwrapped
from ez_ptc.schema.types import REFUSALS

__all__ = ["function_to_tool", "type_to_json_schema"]

_VALUE: Final = "value"
_SPELLED: Final[dict[object, str]] = {EMPTY: "str", NoneType: "None", None: "None", Ellipsis: "..."}


def function_to_tool(func: Callable[..., object]) -> dict[str, Any]:
    """Return a function as a tool definition in OpenAI's format: its name, what its docstring says, its parameters.

    Each parameter is described by its name, its type and the text in its annotation; it is required where it has no
    default. `*args` and `**kwargs` are left out. Raises `ValueError` for a function without a docstring, and
    `SchemaError` for what has no signature and for a method without its object.
    """
    function = _function(func)
    name = _name(function)
    docstring = docstring_of(function)
    if not docstring:
        message = f"{name} has no docstring, so a model cannot know what it does: write one"
        raise ValueError(message)
    signature = _signature(function, name)
    shown = [each for each in signature.parameters if not each.is_context]
    properties, definitions = _schemas({each.name: each.annotation for each in shown}, signature.namespace)
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {each.name: {**properties[each.name], "description": _description(each)} for each in shown},
        "required": [each.name for each in shown if _is_required(each)],
    }
    if definitions:
        parameters["$defs"] = definitions
    described = {"name": name, "description": prose(docstring) or docstring, "parameters": parameters}
    return {"type": "function", "function": described}


def type_to_json_schema(tp: object) -> dict[str, Any]:
    """Return a type as JSON Schema; `{"type": "string"}` where it is none that JSON knows of.

    Definitions are where they are used; a type that contains itself has its own in `$defs`. Names in forward
    references are looked up where this function is called from.
    """
    caller: FrameType | None = getattr(inspect.currentframe(), "f_back", None)
    namespace: dict[str, Any] = {} if caller is None else {**caller.f_globals, **caller.f_locals}
    properties, definitions = _schemas({_VALUE: tp}, namespace)
    schema = {key: value for key, value in properties[_VALUE].items() if key != "description"}
    return {**schema, "$defs": definitions} if definitions else schema


def _schemas(
    annotations: Mapping[str, object], namespace: dict[str, Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    given = {name: str if each is EMPTY else each for name, each in annotations.items()}
    try:
        return tabled_schemas(plain_types(given, namespace, is_usable=lambda _: True), namespace)
    except REFUSALS:
        is_usable = functools.partial(_is_usable, namespace=namespace)
        return tabled_schemas(plain_types(given, namespace, is_usable=is_usable), namespace)


def _is_usable(annotation: object, namespace: dict[str, Any]) -> bool:
    try:
        tabled_schemas({_VALUE: annotation}, namespace)
    except REFUSALS:
        return False
    return True


# --- what is said of a function ---------------------------------------------------------------------------------------


def _function(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function of a tool, or of another object that stands before one."""
    if not callable(function):
        message = f"a tool is made from a function, got {type(function).__name__}"
        raise SchemaError(message)
    while not inspect.isroutine(function) and hasattr(function, "__wrapped__"):
        function = cast("Callable[..., object]", vars(function)["__wrapped__"])
    return function


def _name(function: Callable[..., object]) -> str:
    own: str | None = getattr(function, "__name__", None) or getattr(innermost(function), "__name__", None)
    return type(function).__name__ if own is None or own == "__call__" else own


def _signature(function: Callable[..., object], name: str) -> Signature:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return read_signature(function, name=name)  # which says what is wrong
    names = names_around(innermost(function))
    # A type that is not there is one that the tables do not have; it is no reason to refuse the function.
    annotations = {
        each.name: resolved_leniently(each.annotation, names, {"Context": Context})
        for each in signature.parameters.values()
    }

    @functools.wraps(function)
    def untyped() -> None: ...

    parameters = [
        each if each.annotation is EMPTY else each.replace(annotation=object) for each in signature.parameters.values()
    ]
    vars(untyped)["__signature__"] = inspect.Signature(parameters)
    read = read_signature(untyped, name=name)
    typed = tuple(replace(each, annotation=annotations[each.name]) for each in read.parameters)
    return replace(read, parameters=typed)


def _is_required(parameter: Parameter) -> bool:
    default = parameter.default
    return default.is_required() if isinstance(default, FieldInfo) else default is EMPTY


def _description(parameter: Parameter) -> str:
    said = f"Parameter {parameter.name} of type {_spelled(parameter.annotation)}"
    texts = _texts(parameter.annotation)
    if isinstance(parameter.default, FieldInfo):  # as FastAPI writes it: city: str = Field(description="...")
        texts.append(parameter.default.description)
    text = "; ".join(each.strip() for each in texts if each)
    return f"{said}: {text}" if text else said


def _texts(annotation: object) -> list[str | None]:
    if get_origin(annotation) is not Annotated:
        return []
    inner, *metadata = get_args(annotation)
    return [*_texts(inner), *map(_text_of, metadata)]


def _text_of(metadata: object) -> str | None:
    if isinstance(metadata, str):
        return metadata
    text = getattr(metadata, "description" if isinstance(metadata, FieldInfo) else "documentation", None)
    return text if isinstance(text, str) else None


def _spelled(annotation: object) -> str:
    """Write a type as `repr` does, without modules; a member of an Enum by its value."""
    annotation = unwrapped(annotation)
    if isinstance(annotation, str | ForwardRef):
        return annotation if isinstance(annotation, str) else annotation.__forward_arg__
    if (text := _SPELLED.get(annotation) if isinstance(annotation, Hashable) else None) is not None:
        return text
    if isinstance(annotation, list):
        return f"[{', '.join(map(_spelled, cast('list[object]', annotation)))}]"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, UnionType):
        return " | ".join(map(_spelled, arguments))
    name = getattr(annotation, "__name__", None)
    head = name if isinstance(name, str) else repr(annotation)
    if not arguments:
        return head
    if head == "Optional":
        arguments = tuple(each for each in arguments if each is not NoneType)
    write = _literal_spelled if origin is Literal else _spelled
    return f"{head}[{', '.join(map(write, arguments))}]"


def _literal_spelled(value: object) -> str:
    return repr(cast("object", value.value) if isinstance(value, Enum) else value)
