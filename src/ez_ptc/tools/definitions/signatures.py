"""What Python code, as a framework, reads of a tool's parameters: those that a model may pass, and no others."""

import inspect
import keyword
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from ez_ptc.schema.annotations.signatures import EMPTY, LEFT_OUT, Parameter, Signature

__all__ = ["json_signature", "python_signature"]

_TYPES: Final[Mapping[object, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}


def python_signature(signature: Signature) -> inspect.Signature:
    """Return a function's signature, its types resolved."""
    parameters = [_parameter(each, each.annotation) for each in signature.parameters]
    return inspect.Signature(_in_order(parameters), return_annotation=signature.returns)


def json_signature(signature: Signature, properties: Mapping[str, Any]) -> inspect.Signature:
    """Return the parameters that a JSON Schema describes; those that Python cannot name go by keyword."""
    known = [each for each in signature.parameters if each.name.isidentifier() and not keyword.iskeyword(each.name)]
    parameters = _in_order(_parameter(each, _type(properties.get(each.name))) for each in known)
    if len(known) < len(signature.parameters):
        name = "other_arguments"
        while name in properties:
            name += "_"
        parameters.append(inspect.Parameter(name, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _parameter(parameter: Parameter, annotation: Any) -> inspect.Parameter:  # noqa: ANN401 - any form of type
    # Frameworks pass everything by name, which a checked call takes for parameters by position only, too.
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if parameter.positional else inspect.Parameter.KEYWORD_ONLY
    default = None if parameter.default is LEFT_OUT else parameter.default
    return inspect.Parameter(parameter.name, kind, default=default, annotation=annotation)


def _in_order(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return parameters as Python has them: without a default after one that has one, they go by keyword."""
    ordered: list[inspect.Parameter] = []
    by_name_only = False
    for each in parameters:
        by_name_only |= each.default is EMPTY and bool(ordered) and ordered[-1].default is not EMPTY
        ordered.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) if by_name_only else each)
    return ordered


def _type(schema: object) -> Any:  # noqa: ANN401 - any form of type
    named = cast("Mapping[str, object]", schema).get("type") if isinstance(schema, Mapping) else None
    return _TYPES.get(named, Any) if isinstance(named, str) else Any
