"""The definition of a tool: everything models, validators and callers need to know of a function."""

import difflib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.messages import MediaMessage, PendingCall
from ez_ptc.schema.annotations.docstrings import docstring_of, parameter_texts, prose
from ez_ptc.schema.annotations.signatures import EMPTY, Signature, innermost, read_signature, signature_text
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.call_lifetime import RunningCalls
from ez_ptc.tools.definitions.names import parameter_spellings
from ez_ptc.tools.definitions.parameters import ToolParameter, parameters_schema
from ez_ptc.tools.definitions.signatures import json_signature, python_signature
from ez_ptc.tools.failures import logs_refusal

if TYPE_CHECKING:
    from ez_ptc.schema.arguments.binder import ArgumentBinder
    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.schema.functions import FunctionSchema
    from ez_ptc.schema.imported.binder import SchemaBinder
    from ez_ptc.schema.imported.parameters import ImportedSchema

__all__ = ["Definition", "Options", "define", "define_by_hand", "either"]

_NAME: Final = re.compile(r"[\w.:-]{1,128}")
# The platforms' clocks can wait this long: some thirty years.
_MAX_TIMEOUT_SECONDS: Final = 1e9
# From `python -OO` on, docstrings are stripped, so a missing one means nothing.
_MAX_LEVEL_WITH_DOCSTRINGS: Final = 1


@dataclass(frozen=True, slots=True)
class Options:
    """The developer's options for a tool; None leaves the answer to the function."""

    name: str | None = None
    description: str | None = None
    return_schema: dict[str, Any] | None = None
    category: str | None = None
    requires_approval: bool | Callable[[PendingCall], object] = False
    idempotent: bool = False
    read_only: bool | None = None
    strict: bool | None = None
    timeout: float | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Options":
        """Return options given by name. Raises TypeError for an unknown one, with the nearest known name."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                (near,) = difflib.get_close_matches(name, known, n=1, cutoff=0)
                message = f"unknown option {safe_repr(name)}; did you mean {near!r}? Expected one of {', '.join(known)}"
                raise TypeError(message)
        return cls(**options)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function as a tool. `Tool` documents the fields."""

    function: Callable[..., object]
    name: str
    description: str
    docstring: str
    parameters: dict[str, Any]
    signature: str
    return_schema: dict[str, Any] | None
    is_async: bool
    category: str | None
    requires_approval: bool | Callable[[PendingCall], object]
    idempotent: bool
    read_only: bool | None
    strict: bool | None
    timeout: float | None
    is_annotated: bool
    binder: "ArgumentBinder | SchemaBinder"
    read_signature: Callable[[], inspect.Signature]
    """Return the signature with only the parameters a model may pass."""

    spellings: Mapping[str, str]
    """The spelling in programs of parameters with names Python cannot write."""

    named: frozenset[str] = frozenset()
    """The parameters whose annotations name a class that only the schema describes."""

    is_open: bool = False
    """Whether the function takes its handwritten parameters as `**kwargs`."""

    has_key: bool = False
    """Whether the function may read `Context.idempotency_key`: it may be repeated, or has `Context` parameters."""

    running: RunningCalls = field(default_factory=RunningCalls)

    @property
    def is_guarded(self) -> bool:
        """Whether direct calls are checked: they need approval or context, or only the schema knows the parameters."""
        return bool(self.requires_approval or self.binder.contexts or self.is_open)

    @property
    def returns_coroutine(self) -> bool:
        """Whether a direct call returns a coroutine; an unguarded asynchronous generator function does not."""
        return self.is_async and (self.is_guarded or not _is_any(inspect.isasyncgenfunction, self.function))

    @property
    def documentation(self) -> str:
        """The docstring for frameworks: consistent with the description and with the public signature."""
        if not self.is_guarded and self.docstring != docstring_of(self.function):
            return self.description
        if " ".join(self.description.split()) in " ".join(self.docstring.split()):
            return self.docstring
        return _compose_docstring(self.description, self.parameters["properties"], self.spellings)

    def arguments_of(self, bound: "BoundCall") -> tuple[dict[str, object], dict[str, object]]:
        """Return a bound call's arguments, and the defaults of those it omits; both without `Context` values."""
        contexts = self.binder.contexts
        values = {**dict(zip(self.binder.by_position_only, bound.args, strict=False)), **bound.kwargs}
        try:
            parameters = dict(inspect.signature(self.function).parameters)
        except (TypeError, ValueError):  # a built-in without a signature
            parameters = {}
        defaults = {name: item.default for name, item in parameters.items() if item.default is not EMPTY}
        return (
            {name: value for name, value in values.items() if name not in contexts},
            {name: value for name, value in defaults.items() if name not in values and name not in contexts},
        )

    def parse(self, arguments: dict[str, object] | str) -> dict[str, object]:
        """Return a model's arguments, a dict or JSON text, as a dict. Raises ArgumentsError for anything else."""
        return self.read(arguments)[0]

    def read(self, arguments: dict[str, object] | str) -> tuple[dict[str, object], tuple[str, ...]]:
        """Same as `parse`, but also return a sentence for each repair of the text."""
        if isinstance(arguments, str):
            from ez_ptc.schema.arguments.json_text import read_arguments

            return read_arguments(self.name, arguments)
        if not isinstance(arguments, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            problem = f"expected the arguments as a dict or JSON text, got {type(arguments).__name__}"
            message = f"{self.name}: {problem}"
            raise ArgumentsError(message, problems=[problem])
        return arguments, ()

    def renamed(self, name: str) -> "Definition":
        """Return a copy with another name."""
        _check_name(name)
        signature = name + self.signature.removeprefix(self.name)
        return replace(self, name=name, signature=signature, binder=replace(self.binder, tool=name))

    def for_programs(self) -> "Definition":
        """Return a copy whose messages spell the parameters as programs do."""
        fields = {name: replace(field, spelling=self.spellings.get(name)) for name, field in self.binder.fields.items()}
        return replace(self, binder=replace(self.binder, fields=fields))


@logs_refusal
def define(
    function: Callable[..., object], options: Options, *, stacklevel: int, nullable_is_optional: bool = False
) -> Definition:
    """Return the definition of a function as a tool.

    With `nullable_is_optional`, parameters that accept None are optional even without a default.

    Raises `SchemaError` if it cannot be a tool. Warns, at the caller `stacklevel` frames up, if there is no docstring
    or description, or if parameters have no annotations.
    """
    from ez_ptc.schema.functions import function_schema
    from ez_ptc.schema.returns import return_schema

    name = _name(function, options.name)
    docstring = docstring_of(function)
    signature = read_signature(function, name=name)
    texts = parameter_texts(docstring)
    schema = function_schema(name, signature, texts)
    if options.description is None:
        description = prose(docstring)
    else:
        description = options.description
    for message in _missing_texts(name, description, function, schema.signature):
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 2)
    description = description or f"Tool: {name}"
    if nullable_is_optional:
        required = [name for name in schema.parameters.pop("required", ()) if name not in schema.binder.nullable]
        if required:
            schema.parameters["required"] = required
    returns = options.return_schema
    if returns is None and not _returns_media(signature.returns):  # media are message parts, not JSON
        returns = return_schema(signature.returns, namespace=signature.namespace)
    properties = schema.parameters["properties"]
    hidden = {parameter.name for parameter in signature.parameters} - properties.keys()
    if not hidden.isdisjoint(texts):
        docstring = _compose_docstring(description, properties, parameter_spellings(schema.binder.fields))
    definition = _definition(
        function,
        schema,
        replace(options, name=name, description=description, return_schema=returns),
        docstring=docstring,
        signature=partial(python_signature, schema.signature),
    )
    return replace(definition, is_annotated=options.return_schema is None, named=schema.named)


def _returns_media(annotation: object) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, MediaMessage):
        return True
    return any(map(_returns_media, get_args(annotation)))


def _missing_texts(name: str, description: str, function: Callable[..., object], signature: Signature) -> Iterator[str]:
    """Yield a warning for each thing a model should know of a tool and cannot."""
    if not description and sys.flags.optimize <= _MAX_LEVEL_WITH_DOCSTRINGS:
        yield f"{name} has no docstring, so a model cannot know what it does: write one, or give a description"
    untyped = [parameter.name for parameter in signature.parameters if parameter.annotation is EMPTY]
    if untyped and not inspect.isbuiltin(innermost(function)):  # built-ins cannot be annotated
        yield f"{name} accepts anything for {', '.join(untyped)}: annotate each parameter, as in {untyped[0]}: str"


@logs_refusal
def define_by_hand(
    function: Callable[..., object], parameters: Mapping[str, Any] | Sequence[ToolParameter], options: Options
) -> Definition:
    """Return the definition of a tool with handwritten parameters: a JSON Schema or a list of `ToolParameter`.

    Raises `SchemaError` for an invalid schema, and for a function that does not take these parameters.
    """
    from ez_ptc.schema.imported.parameters import import_schema

    name = _name(function, options.name)
    if not isinstance(options.description, str):
        message = f"{name}: expected a description of type str, got {type(options.description).__name__}"
        raise SchemaError(message)
    defaults: list[str] = []
    if isinstance(parameters, list | tuple):
        listed = cast("Sequence[ToolParameter]", parameters)
        parameters = parameters_schema(name, listed)
        defaults = [parameter.name for parameter in listed if parameter.default is not None]
    schema = import_schema(name, cast("Mapping[str, Any]", parameters), function, filled=defaults)
    properties = schema.parameters["properties"]
    definition = _definition(
        function,
        schema,
        replace(options, name=name),
        docstring=_compose_docstring(options.description, properties, parameter_spellings(schema.binder.fields)),
        signature=partial(json_signature, schema.signature, properties),
    )
    return replace(definition, is_open=schema.is_open)


def either(tool: object, name: str, value: object, alias_value: object) -> object:
    """Return the value passed under a name or its alias. Raises SchemaError if both are passed."""
    if value is not None and alias_value is not None:
        message = f"{tool}: its {name} is passed twice, under both of its names"
        raise SchemaError(message)
    if value is None:
        return alias_value
    return value


def _definition(
    function: Callable[..., object],
    schema: "FunctionSchema | ImportedSchema",
    options: Options,
    *,
    docstring: str,
    signature: Callable[[], inspect.Signature],
) -> Definition:
    name, description = str(options.name), str(options.description)
    spellings = parameter_spellings(schema.binder.fields)
    return Definition(
        function=function,
        name=name,
        description=description,
        docstring=docstring,
        parameters=schema.parameters,
        signature=signature_text(name, schema.signature.with_spellings(spellings)),
        return_schema=options.return_schema,
        is_async=_is_any(inspect.iscoroutinefunction, function) or _is_any(inspect.isasyncgenfunction, function),
        category=options.category,
        requires_approval=_approval(name, options.requires_approval),
        idempotent=options.idempotent,
        read_only=_true_false_or_none(name, "read_only", options.read_only),
        strict=_true_false_or_none(name, "strict", options.strict),
        timeout=_timeout(name, options.timeout),
        is_annotated=False,
        has_key=options.idempotent or bool(schema.binder.contexts),
        binder=schema.binder,
        read_signature=signature,
        spellings=spellings,
    )


def _timeout(tool: str, seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= _MAX_TIMEOUT_SECONDS:
        return float(seconds)
    message = f"{tool}: expected a timeout in seconds, positive, or None for no limit; got {safe_repr(seconds)}"
    raise SchemaError(message)


def _approval(tool: str, option: object) -> bool | Callable[[PendingCall], object]:
    if isinstance(option, bool):
        return option
    if not callable(option) or _is_any(inspect.iscoroutinefunction, option):
        message = (
            f"{tool}: expected requires_approval to be True, False or a plain function of the call, got "
            f"{safe_repr(option)}: write requires_approval=lambda call: call.arguments['amount'] > 100"
        )
        raise SchemaError(message)
    return option


def _true_false_or_none(tool: str, option: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    message = f"{tool}: expected {option} to be True, False or None, got {safe_repr(value)}"
    raise SchemaError(message)


def _compose_docstring(description: str, properties: Mapping[str, Any], spellings: Mapping[str, str]) -> str:
    lines: list[str] = []
    for name, schema in properties.items():
        text = None
        if isinstance(schema, dict):
            text = cast("dict[str, object]", schema).get("description")
        if text:
            lines.append(f"    {spellings.get(name, name)}: {' '.join(str(text).split())}")
    if lines:
        return "\n".join([description, "", "Args:", *lines])
    return description


def _name(function: Callable[..., object], option: str | None) -> str:
    if not callable(function):
        message = f"expected a function, got {type(function).__name__}: pass the function, not its name or its result"
        raise SchemaError(message)
    name = option
    if name is None:
        name = getattr(function, "__name__", None) or getattr(innermost(function), "__name__", "__call__")
        if name == "__call__":
            name = type(function).__name__
    _check_name(name)
    return cast("str", name)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        message = f"invalid tool name {safe_repr(name)}: use letters, digits and '_', as in ez_tool(name='find_order')"
        raise SchemaError(message)


def _is_any(test: Callable[[object], bool], function: Callable[..., object]) -> bool:
    return test(function) or test(type(function).__call__)
