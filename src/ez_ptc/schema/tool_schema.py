"""The plain JSON Schema of a function's arguments: annotated parameters, no defaults."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.signatures import EMPTY, innermost, read_signature
from ez_ptc.schema.functions import function_schema

__all__ = ["generate_tool_schema"]


@explain_calls
def generate_tool_schema(func: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema of a function's arguments, from its annotations alone.

    It has the annotated parameters without their defaults. `required` is always present: the parameters without a
    default that do not accept None. `Tool.from_function(func).schema` has more detail. Raises SchemaError if `func` is
    not a function, or if JSON cannot carry an annotation.
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
