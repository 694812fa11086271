"""What is right for a callable: its schema, the arguments that reach it, and those that never do."""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Final, cast

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.docstrings import parameter_texts
from ez_ptc.schema.annotations.signatures import annotation_text, read_signature
from ez_ptc.schema.arguments.json_text import parse_arguments
from ez_ptc.schema.bound_call import BoundCall
from ez_ptc.schema.functions import FunctionSchema, function_schema

__all__ = [
    "ONLY",
    "Case",
    "alike",
    "bound",
    "called",
    "described",
    "record",
    "refusal",
    "sent",
    "takes",
    "without_null",
    "without_omitted",
]

ONLY: Final = "it"
"""The name of the one parameter of a callable that is made from an annotation."""

_AnyCallable = Callable[..., Any]
_Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One callable that returns what it was given.

    `properties` are those of its schema, definitions put where they are referred to; `required` are the names that the
    schema requires, all of them where it is None. `valid` has arguments as JSON carries them, each with what the
    callable then returns; `lenient` has such that the schema itself would not allow, `objects` such as a program
    passes. `invalid` has arguments, each with the fields that a refusal names.
    """

    id: str
    function: _AnyCallable
    properties: Mapping[str, Any]
    required: tuple[str, ...] | None = None
    valid: list[tuple[_Arguments, Any]] = field(default_factory=list[tuple[_Arguments, Any]])
    lenient: list[tuple[_Arguments, Any]] = field(default_factory=list[tuple[_Arguments, Any]])
    objects: list[tuple[_Arguments, Any]] = field(default_factory=list[tuple[_Arguments, Any]])
    invalid: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])


def without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter, which does not say that null is accepted, or the default."""
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    if "anyOf" not in schema:
        return rest
    others = [branch for branch in schema["anyOf"] if branch != {"type": "null"}]
    return {**rest, **(others[0] if len(others) == 1 else {"anyOf": others})}


def without_omitted(parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without the nulls of parameters that may be omitted: they are accepted, but not described."""
    required = parameters.get("required", ())
    return {name: value for name, value in arguments.items() if value is not None or name in required}


def takes(annotation: object, schema: Mapping[str, Any], /, **sets: Any) -> Case:
    """Return the case of a function with one parameter, `it`, that returns it: a row in a table of types.

    `valid`, `lenient` and `objects` have values that stay as they are, and pairs of what is sent and what comes of it;
    `invalid` has values, and tuples of a value and of the fields that are named where that is not `it`.
    """

    def take(it: Any) -> Any:  # noqa: ANN401 - any value may come
        return it

    take.__annotations__["it"] = annotation
    accepts_null = {"type": "null"} in schema.get("anyOf", ()) or schema.get("type") == "null"
    is_optional = sets.pop("is_optional", accepts_null)
    return Case(
        id=annotation_text(annotation),
        function=take,
        properties={ONLY: dict(schema)},
        required=() if is_optional else None,
        valid=[_pair(each) for each in sets.get("valid", ())],
        lenient=[_pair(each) for each in sets.get("lenient", ())],
        objects=[_pair(each) for each in sets.get("objects", ())],
        invalid=[_refused(each) for each in sets.get("invalid", ())],
    )


def record(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    """Return the JSON Schema of an object."""
    described = {"type": "object", "properties": properties, **more}
    return {**described, "required": list(required)} if required else described


def sent(value: Any) -> _Arguments:  # noqa: ANN401 - any value may come
    """Return the arguments that pass one value to a function of `takes`."""
    return {ONLY: value}


def described(function: _AnyCallable, *, name: str = "take") -> FunctionSchema:
    """Read a function as a tool does."""
    texts = parameter_texts(inspect.getdoc(function) or "")
    return function_schema(name, read_signature(function, name=name), texts)


def bound(schema: FunctionSchema, arguments: _Arguments | str) -> BoundCall:
    """Check the arguments of a call as a tool does, a dict or JSON text."""
    read = parse_arguments("take", arguments) if isinstance(arguments, str) else arguments
    return schema.binder.bind((), read)


def called(function: _AnyCallable, schema: FunctionSchema, arguments: _Arguments | str) -> object:
    """Check the arguments of a call, call the function and return what it gives, all items of a stream in a list."""
    call = bound(schema, arguments)
    given: object = function(*call.args, **call.kwargs)
    if inspect.isasyncgen(given) or inspect.isawaitable(given):
        return asyncio.run(_awaited(given))
    return list(cast("Iterable[object]", given)) if inspect.isgenerator(given) else given


def refusal(schema: FunctionSchema, arguments: _Arguments | str) -> tuple[str, ...]:
    """Return the sentences with which arguments are refused, none where they are taken."""
    try:
        bound(schema, arguments)
    except ArgumentsError as error:
        return error.problems
    return ()


def alike(one: Any, other: Any) -> bool:  # noqa: ANN401 - any value may come
    """Whether two values are equal and of the same types, in all their parts."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Enum):
        return one is other or bool(one == other)
    if isinstance(one, dict):
        pairs = cast("dict[Any, Any]", one)
        return len(pairs) == len(other) and all(key in other and alike(each, other[key]) for key, each in pairs.items())
    if isinstance(one, set | frozenset):
        items = cast("set[Any]", one)
        return items == other and {type(each) for each in items} == {type(each) for each in other}
    if hasattr(one, "__iter__") and hasattr(one, "__len__") and not isinstance(one, str | bytes | bytearray):
        return len(one) == len(other) and all(map(alike, one, other)) and one == other
    return bool(one == other) and all(alike(each, getattr(other, name)) for name, each in _fields(one))


async def _awaited(given: Any) -> object:  # noqa: ANN401 - any value may come
    return [item async for item in given] if inspect.isasyncgen(given) else await given


def _fields(value: object) -> list[tuple[str, Any]]:
    if is_dataclass(value):
        return [(each.name, getattr(value, each.name)) for each in fields(value)]
    cls: Any = type(value)
    names: Iterable[str] = getattr(cls, "model_fields", None) or getattr(cls, "__struct_fields__", ())
    names = names or [each.name for each in getattr(cls, "__attrs_attrs__", ())]
    return [(name, getattr(value, name)) for name in names]


def _pair(value: Any) -> tuple[_Arguments, Any]:  # noqa: ANN401 - any value may come
    came, made = cast("tuple[Any, Any]", value) if type(value) is tuple else (value, value)
    return sent(came), made


def _refused(value: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any value may come
    came, *named = cast("tuple[Any, ...]", value) if type(value) is tuple else (value, ONLY)
    return (sent(came), *named)
