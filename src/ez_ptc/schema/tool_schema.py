"""The JSON Schema of a function's arguments in the plain form: annotated parameters, no defaults."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.signatures import EMPTY, innermost, read_signature
from ez_ptc.schema.functions import function_schema

__all__ = ["generate_tool_schema"]


def generate_tool_schema(func: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema of what a function takes, made of its annotations alone.

    It has the parameters that are annotated, without their defaults, and `required` in any case: those that have no
    default and do not take None. `Tool.from_function(func).schema` says more. Raises SchemaError for what is no
    function and for an annotation that JSON cannot carry.
    """
    if not callable(func):
        message = f"expected a function, got {type(func).__name__}"
        raise SchemaError(message)
    name = str(getattr(innermost(func), "__name__", type(func).__name__))
    signature = read_signature(func, name=name)
    annotated = tuple(parameter for parameter in signature.parameters if parameter.annotation is not EMPTY)
    described = function_schema(name, replace(signature, parameters=annotated), {})
    schema = described.parameters
    properties = {
        name: {key: value for key, value in item.items() if key != "default"}
        for name, item in schema["properties"].items()
    }
    required = [name for name in schema.get("required", ()) if name not in described.binder.nullable]
    return {**schema, "properties": properties, "required": required}
