"""The arguments of a ground-truth call, and whether they contradict the document; without the library, and pure.

The answers are compared with the documents as they are, not as JSON Schema, so that the two ways check each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["Contradiction", "arguments_of", "contradictions", "is_open", "optional_count"]

LEFT_OUT = object()
"""Stands for an argument that is not passed."""

WORDS: Mapping[str, Sequence[type]] = {
    "string": (str,),
    "char": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (float, int),
    "double": (float, int),
    "boolean": (bool,),
    "array": (list,),
    "arraylist": (list,),
    "tuple": (list,),
    "dict": (dict,),
    "hashmap": (dict,),
}
"""What a document's words for types mean; a word that is not here, such as ``any``, means anything."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a call does against its document: its kind, and the sentence that says what and where."""

    kind: str
    text: str


def arguments_of(options: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first right value of each parameter.

    Empty text among the right values says that the parameter may be left out, and it is where that comes first. So is
    one without any right value.
    """
    schemas, required = _fields(parameters), cast("Sequence[str]", parameters.get("required", ()))
    chosen = {name: _chosen(each, schemas.get(name, {}), name in required) for name, each in options.items()}
    return {name: value for name, value in chosen.items() if value is not LEFT_OUT}


def _chosen(options: object, schema: Mapping[str, Any], is_required: bool) -> object:  # noqa: FBT001 - read by `_chosen` alone
    if not isinstance(options, list):  # inside a value, where there is one right value and no list of them
        return _value(options, schema)
    right = cast("list[object]", options)
    real = [each for each in right if each != ""]
    if not right or (right[0] == "" and not is_required):
        return LEFT_OUT
    return _value(real[0], schema) if real else ""


def _value(value: object, schema: Mapping[str, Any]) -> object:
    """Return a right value without the lists of right values that its own fields have."""
    if isinstance(value, dict):
        return arguments_of(cast("dict[str, Any]", value), schema)
    if isinstance(value, list):
        return [_value(each, schema.get("items", {})) for each in cast("list[object]", value)]
    return value


def contradictions(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> list[Contradiction]:
    """Return in what a call contradicts the document.

    Their kinds are "unknown" and "missing" parameters, and a "type" or a "choice" that the document does not have.
    """
    schemas = _fields(parameters)
    unknown = [Contradiction("unknown", f"{name} is unknown") for name in arguments if name not in schemas]
    known = {name: value for name, value in arguments.items() if name in schemas}
    return [*unknown, *_in_object(known, parameters, "")]


def _in_object(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[Contradiction]:
    for name in schema.get("required", ()):
        if name not in value:
            yield Contradiction("missing", f"{where}{name} is missing")
    for name, each in _fields(schema).items():
        if name in value:
            yield from _in_value(value[name], each, where + name)


def _in_value(value: object, schema: Mapping[str, Any], where: str) -> Iterator[Contradiction]:
    if value is None and schema.get("default", ...) is None:
        return
    if not _is_of(value, schema["type"]):
        yield Contradiction("type", f"{where} is of another type than {schema['type']}: {value!r}")
        return
    if isinstance(value, dict):
        yield from _in_object(cast("dict[str, Any]", value), schema, f"{where}.")
    elif isinstance(value, list):
        for index, each in enumerate(cast("list[object]", value)):
            yield from _in_value(each, schema.get("items", {"type": "any"}), f"{where}[{index}]")
    # The choices of a list are those of its items.
    for each in cast("list[object]", value if isinstance(value, list) else [value]):
        if "enum" in schema and not _is_choice(each, schema):
            yield Contradiction("choice", f"{where} is none of the choices: {each!r}")


def _is_of(value: object, word: str) -> bool:
    types = WORDS.get(word.lower())
    return types is None or type(value) in types


def _is_choice(value: object, schema: Mapping[str, Any]) -> bool:
    """Tell whether a value is one of the choices; numbers and truth values are often written as words there."""
    choices = cast("list[object]", schema["enum"])
    if value in choices:
        return True
    return schema["type"].lower() != "string" and str(value).lower() in [str(choice).lower() for choice in choices]


def _fields(schema: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return schema.get("properties", {})


def is_open(parameters: Mapping[str, Any]) -> bool:
    """Tell whether a document has a value of any type, or an object with any keys: strict modes take neither."""
    return any(map(_is_open_value, _fields(parameters).values()))


def optional_count(parameters: Mapping[str, Any]) -> int:
    """Count what may be left out, further in too."""
    fields, required = _fields(parameters), parameters.get("required", ())
    return sum((name not in required) + optional_count(each) for name, each in fields.items())


def _is_open_value(schema: Mapping[str, Any]) -> bool:
    types = WORDS.get(schema["type"].lower())
    if types == (dict,):
        return not _fields(schema) or is_open(schema)
    if types == (list,):
        return "items" not in schema or _is_open_value(schema["items"])
    return types is None
