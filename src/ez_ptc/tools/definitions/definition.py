"""What a function is as a tool: everything that a model, a validator and a caller need to know of it."""

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
from ez_ptc.messages import MediaMessage
from ez_ptc.schema.annotations.docstrings import docstring_of, parameter_texts, prose
from ez_ptc.schema.annotations.signatures import EMPTY, Signature, innermost, read_signature, signature_text
from ez_ptc.schema.functions import FunctionSchema, function_schema
from ez_ptc.schema.returns import return_schema
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.call_lifetime import RunningCalls
from ez_ptc.tools.definitions.names import parameter_spellings
from ez_ptc.tools.definitions.parameters import ToolParameter, parameters_schema
from ez_ptc.tools.definitions.signatures import json_signature, python_signature
from ez_ptc.tools.failures import logs_refusal

if TYPE_CHECKING:
    from ez_ptc.schema.arguments.binder import ArgumentBinder, BoundCall
    from ez_ptc.schema.imported.binder import SchemaBinder
    from ez_ptc.schema.imported.parameters import ImportedSchema

__all__ = ["Definition", "Options", "define", "define_by_hand", "one_of"]

_NAME: Final = re.compile(r"[\w.:-]{1,128}")
# As long as every clock can wait for: some thirty years, in seconds.
_LONGEST_TIMEOUT: Final = 1e9
_KEEPS_DOCSTRINGS: Final = 1
"""The level of optimization up to which Python keeps docstrings; without them, nothing is known of what is missing."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a developer says of a tool apart from the function; None where the function itself says it."""

    name: str | None = None
    description: str | None = None
    return_schema: dict[str, Any] | None = None
    category: str | None = None
    requires_approval: bool = False
    idempotent: bool = False
    read_only: bool | None = None
    strict: bool | None = None
    timeout: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Options":
        """Return options given by name. Raises TypeError for one that there is not, with the nearest that there is."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0)
                message = (
                    f"a tool has no option {safe_repr(name)}: did you mean {near[0]!r}? There are {', '.join(known)}"
                )
                raise TypeError(message)
        return cls(**given)


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
    requires_approval: bool
    idempotent: bool
    read_only: bool | None
    strict: bool | None
    timeout: float | None
    is_annotated: bool
    binder: "ArgumentBinder | SchemaBinder"
    read_signature: Callable[[], inspect.Signature]
    """Returns the parameters that a model may pass, as Python has them."""

    spellings: Mapping[str, str]
    """How programs spell the parameters whose names Python cannot write."""

    named: frozenset[str] = frozenset()
    """The parameters whose annotations name a class that only the schema describes."""

    is_open: bool = False
    """Whether its parameters were given apart from the function, which takes them as `**given`."""

    running: RunningCalls = field(default_factory=RunningCalls)

    @property
    def is_guarded(self) -> bool:
        """Whether direct calls are checked: the host has a say in them, or only a schema says what to pass."""
        return self.requires_approval or bool(self.binder.contexts) or self.is_open

    @property
    def gives_coroutine(self) -> bool:
        """Whether a direct call gives a coroutine; that of an asynchronous generator is not one until it is guarded."""
        return self.is_async and (self.is_guarded or not _is_any(inspect.isasyncgenfunction, self.function))

    @property
    def documentation(self) -> str:
        """The docstring as frameworks read it: it says what the description does, and fits the signature beside it."""
        if not self.is_guarded and self.docstring != docstring_of(self.function):
            return self.description
        if " ".join(self.description.split()) in " ".join(self.docstring.split()):
            return self.docstring
        return _written_docstring(self.description, self.parameters["properties"], self.spellings)

    def arguments_of(self, bound: "BoundCall") -> tuple[dict[str, object], dict[str, object]]:
        """Return what a call passes, and the defaults of what it leaves out; both without what the host adds."""
        contexts = self.binder.contexts
        values = {**dict(zip(self.binder.by_position_only, bound.args, strict=False)), **bound.kwargs}
        return (
            {name: value for name, value in values.items() if name not in contexts},
            {name: value for name, value in self._defaults().items() if name not in values and name not in contexts},
        )

    def read(self, arguments: dict[str, object] | str) -> dict[str, object]:
        """Return the arguments that a model sent, a dict or JSON text. Raises ArgumentsError for what is neither."""
        if isinstance(arguments, str):
            from ez_ptc.schema.arguments.json_text import parse_arguments

            return parse_arguments(self.name, arguments)
        if not isinstance(arguments, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            problem = f"the arguments are a dict or its JSON text, got {type(arguments).__name__}"
            message = f"{self.name}: {problem}"
            raise ArgumentsError(message, problems=[problem])
        return arguments

    def _defaults(self) -> dict[str, object]:
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):  # a built-in that does not say what it takes
            return {}
        return {each.name: each.default for each in parameters if each.default is not inspect.Parameter.empty}

    def renamed(self, name: str) -> "Definition":
        """Return the same under another name."""
        _check_name(name)
        signature = name + self.signature.removeprefix(self.name)
        return replace(self, name=name, signature=signature, binder=replace(self.binder, tool=name))

    def in_programs(self) -> "Definition":
        """Return the same with messages that spell the parameters as programs do."""
        fields = {name: replace(field, spelling=self.spellings.get(name)) for name, field in self.binder.fields.items()}
        return replace(self, binder=replace(self.binder, fields=fields))


@logs_refusal
def define(
    function: Callable[..., object], options: Options, *, stacklevel: int, nullable_is_optional: bool = False
) -> Definition:
    """Read a function as a tool.

    With `nullable_is_optional`, a parameter that takes None is not required, also where it has no default.

    Raises `SchemaError` where it cannot be one. Warns, at the caller `stacklevel` frames up, where neither a docstring
    nor the options say what it does, and where parameters have no annotations.
    """
    name = _name(function, options.name)
    docstring = docstring_of(function)
    read = read_signature(function, name=name)
    texts = parameter_texts(docstring)
    described = function_schema(name, read, texts)
    description = prose(docstring) if options.description is None else options.description
    for message in _doubts(name, description, function, described.signature):
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 2)
    description = description or f"Tool: {name}"
    if nullable_is_optional:
        _drop_from_required(described.parameters, described.binder.nullable)
    given = options.return_schema
    if given is not None:
        returned = given
    elif _returns_media(read.returns):  # a result that is made of parts is no JSON
        returned = None
    else:
        returned = return_schema(read.returns, namespace=read.namespace)
    settled = replace(options, name=name, description=description, return_schema=returned)
    signature = partial(python_signature, described.signature)
    properties = described.parameters["properties"]
    kept_back = {each.name for each in read.parameters} - properties.keys()
    if not kept_back.isdisjoint(texts):
        docstring = _written_docstring(description, properties, parameter_spellings(described.binder.fields))
    made = _definition(function, described, settled, docstring=docstring, signature=signature)
    return replace(made, is_annotated=given is None, named=described.named)


def _returns_media(annotation: object) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, MediaMessage):
        return True
    return any(map(_returns_media, get_args(annotation)))


def _doubts(name: str, description: str, function: Callable[..., object], signature: Signature) -> Iterator[str]:
    """Yield what a model cannot know of a tool, and should."""
    if not description and sys.flags.optimize <= _KEEPS_DOCSTRINGS:
        yield f"{name} has no docstring, so a model cannot know what it does: write one, or give a description"
    untyped = [each.name for each in signature.parameters if each.annotation is EMPTY]
    if untyped and not inspect.isbuiltin(innermost(function)):  # those have none to be added
        yield f"{name} takes anything for {', '.join(untyped)}: annotate each parameter, as in {untyped[0]}: str"


@logs_refusal
def define_by_hand(
    function: Callable[..., object],
    parameters: Mapping[str, Any] | Sequence[ToolParameter],
    options: Options,
) -> Definition:
    """Make a tool of a function and the parameters that somebody gave it: a JSON Schema, or a list.

    Raises `SchemaError` for what is no such schema, and for a function that cannot be called by it.
    """
    from ez_ptc.schema.imported.parameters import imported_schema

    name = _name(function, options.name)
    if not isinstance(options.description, str):
        message = f"{name}: its description is text, got {type(options.description).__name__}"
        raise SchemaError(message)
    listed = isinstance(parameters, list | tuple)
    schema = parameters_schema(name, cast("list[ToolParameter]", parameters)) if listed else parameters
    filled = (
        [each.name for each in cast("list[ToolParameter]", parameters) if each.default is not None] if listed else ()
    )
    described = imported_schema(name, cast("Mapping[str, Any]", schema), function, filled=filled)
    spellings = parameter_spellings(described.binder.fields)
    docstring = _written_docstring(options.description, described.parameters["properties"], spellings)
    signature = partial(json_signature, described.signature, described.parameters["properties"])
    made = _definition(function, described, replace(options, name=name), docstring=docstring, signature=signature)
    return replace(made, is_open=described.is_open)


def one_of(tool: object, name: str, value: object, other: object) -> object:
    """Return what is given under one of two names. Raises SchemaError where it is given under both."""
    if value is not None and other is not None:
        message = f"{tool}: its {name} is given twice, under both of its names"
        raise SchemaError(message)
    return other if value is None else value


def _definition(
    function: Callable[..., object],
    described: "FunctionSchema | ImportedSchema",
    options: Options,
    *,
    docstring: str,
    signature: Callable[[], inspect.Signature],
) -> Definition:
    name, description = str(options.name), str(options.description)
    spellings = parameter_spellings(described.binder.fields)
    return Definition(
        function=function,
        name=name,
        description=description,
        docstring=docstring,
        parameters=described.parameters,
        signature=signature_text(name, described.signature.spelled(spellings)),
        return_schema=options.return_schema,
        is_async=_is_async(function),
        category=options.category,
        requires_approval=options.requires_approval,
        idempotent=options.idempotent,
        read_only=_true_false_or_none(name, "read_only", options.read_only),
        strict=_true_false_or_none(name, "strict", options.strict),
        timeout=_timeout(name, options.timeout),
        is_annotated=False,
        binder=described.binder,
        read_signature=signature,
        spellings=spellings,
    )


def _timeout(tool: str, given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 < given <= _LONGEST_TIMEOUT:
        return float(given)
    message = f"{tool}: its timeout is a number of seconds above 0, or None for any time, got {safe_repr(given)}"
    raise SchemaError(message)


def _true_false_or_none(tool: str, option: str, given: object) -> bool | None:
    if given is None or isinstance(given, bool):
        return given
    message = f"{tool}: expected {option} to be True, False or None, got {safe_repr(given)}"
    raise SchemaError(message)


def _written_docstring(description: str, properties: Mapping[str, Any], spellings: Mapping[str, str]) -> str:
    dicts = {name: cast("dict[str, object]", each) for name, each in properties.items() if isinstance(each, dict)}
    texts = {name: str(each.get("description") or "") for name, each in dicts.items()}
    lines = [f"    {spellings.get(name, name)}: {' '.join(text.split())}" for name, text in texts.items() if text]
    return "\n".join([description, "", "Args:", *lines]) if lines else description


def _drop_from_required(parameters: dict[str, Any], names: Sequence[str]) -> None:
    required = [name for name in parameters.pop("required", ()) if name not in names]
    if required:
        parameters["required"] = required


def _name(function: Callable[..., object], given: str | None) -> str:
    if not callable(function):
        message = (
            f"a tool is made from a function, got {type(function).__name__}: give the function itself, not its name "
            f"and not what it returns"
        )
        raise SchemaError(message)
    inner = innermost(function)
    own = getattr(function, "__name__", None) or getattr(inner, "__name__", type(function).__name__)
    name = given if given is not None else type(function).__name__ if own == "__call__" else own
    _check_name(name)
    return name


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        message = (
            f"{safe_repr(name)} is no name for a tool: give one of letters, digits and '_', as in "
            f"ez_tool(name='find_order')"
        )
        raise SchemaError(message)


def _is_async(function: Callable[..., object]) -> bool:
    return _is_any(inspect.iscoroutinefunction, function) or _is_any(inspect.isasyncgenfunction, function)


def _is_any(test: Callable[[object], bool], function: Callable[..., object]) -> bool:
    return test(function) or test(type(function).__call__)
