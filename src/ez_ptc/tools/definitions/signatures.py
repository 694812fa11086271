"""The `inspect.Signature` and the docstring of a tool, for frameworks: only the parameters a model may pass."""

import inspect
import keyword
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from ez_ptc.schema.annotations.host_types import collect_items, program_type
from ez_ptc.schema.annotations.signatures import EMPTY, LEFT_OUT, FunctionParameter, Signature, signature_text
from ez_ptc.schema.stubs import type_text

__all__ = ["compose_docstring", "json_signature", "python_signature", "signature_writer"]

# As many choices as a signature has, and the start of the description of each.
_MAX_CHOICES: Final = 50
_MAX_CHOICE_LENGTH: Final = 160
_TYPES: Final[Mapping[object, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}


def python_signature(signature: Signature) -> inspect.Signature:
    """Return a function's signature with resolved types."""
    parameters = [_parameter(item, item.annotation) for item in signature.parameters]
    return inspect.Signature(_order(parameters), return_annotation=signature.returns)


def signature_writer(announced: Signature, returns: Any) -> Callable[[str], str] | None:  # noqa: ANN401 - any form of type
    """Return a writer of a signature by name, with the current type in programs of the annotated result.

    Returns None if the announced type is the annotated one.
    """
    if announced.returns is returns:
        return None

    def write(name: str) -> str:
        return signature_text(name, replace(announced, returns=program_type(collect_items(returns))))

    return write


def json_signature(signature: Signature, properties: Mapping[str, Any]) -> inspect.Signature:
    """Return the signature a JSON Schema describes; a `**` parameter takes others, and those Python cannot name."""
    nameable = [item for item in signature.parameters if item.name.isidentifier() and not keyword.iskeyword(item.name)]
    parameters = _order(_parameter(item, _json_type(properties.get(item.name))) for item in nameable)
    if signature.takes_others or len(nameable) < len(signature.parameters):
        parameters.append(inspect.Parameter(signature.name_of_others, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _parameter(parameter: FunctionParameter, annotation: Any) -> inspect.Parameter:  # noqa: ANN401 - any form of type
    parameter_kind = inspect.Parameter.KEYWORD_ONLY
    if parameter.positional:
        # Positional-only parameters too: frameworks pass everything by name, and checked calls accept that.
        parameter_kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = None if parameter.default is LEFT_OUT else parameter.default
    return inspect.Parameter(parameter.name, parameter_kind, default=default, annotation=annotation)


def _order(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Make a required parameter after an optional one keyword-only, and all that follow it, as Python demands."""
    ordered: list[inspect.Parameter] = []
    is_keyword_only = False
    for parameter in parameters:
        is_keyword_only |= parameter.default is EMPTY and bool(ordered) and ordered[-1].default is not EMPTY
        if is_keyword_only:
            parameter = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)  # noqa: PLW2901 - the same parameter
        ordered.append(parameter)
    return ordered


def _json_type(schema: object) -> Any:  # noqa: ANN401 - any form of type
    if not isinstance(schema, Mapping):
        return Any
    name = cast("Mapping[str, object]", schema).get("type")
    if isinstance(name, str):
        return _TYPES.get(name, Any)
    return Any


def compose_docstring(description: str, properties: Mapping[str, Any], spellings: Mapping[str, str]) -> str:
    """Return a docstring of a description and the parameters' descriptions."""
    lines: list[str] = []
    for name, schema in properties.items():
        fields = _fields(schema)
        text = str(fields.get("description") or "")
        if choices := "; ".join(_choice_texts(fields)):
            text = f"{text} ({choices})".lstrip()
        if text:
            lines.append(f"    {spellings.get(name, name)}: {' '.join(text.split())}")
    if lines:
        return "\n".join([description, "", "Args:", *lines])
    return description


def _choice_texts(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield a text for each described value of a union, as of `{"const": "c", "description": "Celsius"}`."""
    branches = schema.get("oneOf", schema.get("anyOf"))
    if not isinstance(branches, list):
        return
    for branch in map(_fields, cast("list[object]", branches)[:_MAX_CHOICES]):
        about: object = branch.get("description", branch.get("title"))
        listed: object = branch.get("enum", [branch.get("const")])
        values = cast("list[object]", listed) if isinstance(listed, list) else []
        if isinstance(about, str) and len(values) == 1:
            value = type_text({"enum": values})
            if value not in ("Any", "None"):
                yield f"{value}: {about[:_MAX_CHOICE_LENGTH]}"


def _fields(schema: object) -> Mapping[str, Any]:
    if isinstance(schema, dict):
        return cast("dict[str, Any]", schema)
    return {}
