"""Definitions by the fields of `Tool`: from the arguments of its constructor, and from those of a copy."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.context import context_names
from ez_ptc.schema.annotations.partials import call_signature
from ez_ptc.tools.definitions.definition import Definition, define, define_by_hand
from ez_ptc.tools.definitions.options import Entry, Options, is_any

__all__ = ["change_definition", "construct_definition"]

_Function = Callable[..., object]
_Parameters = Mapping[str, Any] | Sequence[Any]


def construct_definition(
    name: str, description: str, positional: Sequence[object], named: dict[str, Any]
) -> Definition:
    """Return the definition of `Tool(name, description, *positional, **named)`.

    The function and its parameters come in either order, or by name. Raises SchemaError if one is passed twice, and
    TypeError for an unknown argument.
    """
    values: dict[str, list[object]] = {"function": [], "parameters": []}
    for argument, alias in (("function", "fn"), ("parameters", "schema")):
        values[argument] += [value for key in (argument, alias) if (value := named.pop(key, None)) is not None]
    for value in positional:
        if callable(value):
            values["function"].append(value)
        elif value is not None:
            values["parameters"].append(value)
    for argument, passed in values.items():
        if len(passed) > 1:
            message = f"{name}: its {argument} is passed twice"
            raise SchemaError(message)
    options = Options.of({"name": name, "description": description, **named})
    function, parameters = (next(iter(passed), None) for passed in values.values())
    return define_by_hand(
        cast("_Function", function), cast("_Parameters", [] if parameters is None else parameters), options
    )


def change_definition(definition: Definition, changes: Mapping[str, Any]) -> Definition:
    """Return a definition with the values of some of a tool's fields; equal ones change nothing.

    New parameters replace those of the function's annotations. A new function takes the same ones as the old. Raises
    SchemaError for an invalid value, and TypeError for an unknown field.
    """
    olds = {name: getattr(definition, name, None) for name in changes}
    changed = {name: value for name, value in changes.items() if value is not olds[name] and value != olds[name]}
    schema = changed.pop("schema", None)
    parameters = changed.pop("parameters", schema)
    function = changed.pop("function", definition.function)
    options = Options.of({**_options_of(definition), **changed})
    if parameters is not None:
        new = define_by_hand(function, cast("_Parameters", parameters), options)
        if "description" in changed:
            return new
        return replace(new, prose=definition.prose)
    if function is not definition.function:
        definition = _with_function(definition, cast("_Function", function))
    if options.name != definition.name:
        definition = definition.renamed(cast("str", options.name))
    if "description" in changed:
        definition = definition.described(options.description)
    checked = options.checked(definition.name)
    return replace(
        definition,
        return_schema=checked.return_schema,
        category=checked.category,
        requires_approval=checked.requires_approval,
        idempotent=checked.idempotent,
        read_only=checked.read_only,
        strict=checked.strict,
        timeout=checked.timeout,
        thread=checked.thread,
        is_annotated=definition.is_annotated and "return_schema" not in changed,
        has_key=checked.idempotent or bool(definition.binder.contexts),
    )


def _options_of(definition: Definition) -> dict[str, Any]:
    return {name: getattr(definition, name) for name in Options.__slots__}


def _with_function(definition: Definition, function: _Function) -> Definition:
    """Return a definition with another function of the same parameters. Raises SchemaError if it has others."""
    if definition.entry is Entry.CONSTRUCTOR:
        options = Options.of(_options_of(definition))
        filled = getattr(definition.binder, "fillers", ())
        return define_by_hand(function, definition.parameters, options, filled=filled)
    if not callable(function):
        message = f"{definition.name}: expected a function, got {type(function).__name__}"
        raise SchemaError(message)
    same = _with_same_parameters(definition, function)
    if same is not None:
        return same
    contexts = context_names(function)
    try:
        call_signature(function).bind(**dict.fromkeys([*definition.binder.fields, *contexts]))
    except (TypeError, ValueError) as error:
        message = (
            f"{definition.name}: its new function cannot be called as the old one ({error}): pass its parameters too"
        )
        raise SchemaError(message) from error
    binder = replace(cast("Any", definition.binder), contexts=contexts, by_position_only={})
    is_async = is_any(inspect.iscoroutinefunction, function) or is_any(inspect.isasyncgenfunction, function)
    return replace(definition, function=function, binder=binder, is_async=is_async)


def _with_same_parameters(definition: Definition, function: _Function) -> Definition | None:
    """Return the definition of a function with equal annotations, or None if its annotations are others."""
    options = Options.of(_options_of(definition))
    try:
        new = define(function, options, entry=definition.entry, stacklevel=None)
    except SchemaError:
        return None
    if new.parameters != definition.parameters:
        return None
    return replace(
        definition, function=function, binder=new.binder, is_async=new.is_async, read_signature=new.read_signature
    )
