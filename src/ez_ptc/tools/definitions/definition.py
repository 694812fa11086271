"""The definition of a tool: everything models, validators and callers need to know of a function."""

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.messages import MediaMessage, PendingCall
from ez_ptc.schema.annotations.docstrings import docstring_of, parameter_texts, prose
from ez_ptc.schema.annotations.partials import method_behind, names_no_parameters, open_defaults
from ez_ptc.schema.annotations.signatures import EMPTY, Signature, innermost, read_signature, signature_text
from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type
from ez_ptc.tools.call_lifetime import RunningCalls
from ez_ptc.tools.definitions.names import parameter_spellings
from ez_ptc.tools.definitions.options import Entry, Options, is_any
from ez_ptc.tools.definitions.parameters import ToolParameter, parameters_schema
from ez_ptc.tools.definitions.signatures import compose_docstring, json_signature, python_signature, signature_writer
from ez_ptc.tools.definitions.wrapped import unwrap_arguments
from ez_ptc.tools.outputs.failures import logs_refusal

if TYPE_CHECKING:
    from ez_ptc.schema.arguments.binder import ArgumentBinder
    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.schema.functions import FunctionSchema
    from ez_ptc.schema.imported.binder import SchemaBinder
    from ez_ptc.schema.imported.parameters import ImportedSchema
    from ez_ptc.schema.sensitive import SecretArguments

__all__ = ["Definition", "define", "define_by_hand"]

_NAME: Final = re.compile(r"[\w.:-]{1,128}")
# From `python -OO` on, docstrings are stripped, so a missing one means nothing.
_MAX_LEVEL_WITH_DOCSTRINGS: Final = 1
# The fields that make two definitions equal; the others follow from these.
_COMPARED: Final = (
    "name",
    "function",
    "entry",
    "description",
    "prose",
    "docstring",
    "parameters",
    "return_schema",
    "category",
    "requires_approval",
    "idempotent",
    "read_only",
    "strict",
    "timeout",
    "thread",
)

# Keywords that name further arguments at the root of a schema.
_BRANCHES: Final = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"}
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function as a tool. `Tool` documents the fields."""

    # Without the text of the function: that of a partial has the values bound to it, which may be secrets.
    function: Callable[..., object] = field(repr=False)
    name: str
    description: str
    prose: str
    docstring: str
    parameters: dict[str, Any]
    properties: Mapping[str, Any]
    """The schema of each argument, by name."""

    signature: str
    return_schema: dict[str, Any] | None
    is_async: bool
    category: str | None
    requires_approval: bool | Callable[[PendingCall], bool]
    idempotent: bool
    read_only: bool | None
    strict: bool | None
    timeout: float | None
    thread: str | None
    is_annotated: bool
    binder: "ArgumentBinder | SchemaBinder"
    read_signature: Callable[[], inspect.Signature] = field(repr=False)
    """Return the signature with only the parameters a model may pass."""

    spellings: Mapping[str, str]
    """The spelling in programs of parameters with names Python cannot write."""

    entry: Entry = Entry.CONSTRUCTOR
    named: frozenset[str] = frozenset()
    """The parameters whose annotations name a class that only the schema describes."""

    open_records: frozenset[frozenset[str]] = frozenset()
    """The keys of each record in the annotated return type that may have others as well."""

    make_schema: Callable[[], dict[str, Any]] | None = field(default=None, repr=False)
    """Makes the schema that `Tool.from_function` documents, which takes longer than all the rest."""

    write_signature: Callable[[str], str] | None = field(default=None, repr=False)
    """Writes `signature` again, for a name: a class of the host may have got a record as a subclass since."""

    is_open: bool = False
    """Whether the function takes its handwritten parameters as `**kwargs`."""

    has_key: bool = False
    """Whether the function may read `Context.idempotency_key`: it may be repeated, or has `Context` parameters."""

    running: RunningCalls = field(default_factory=RunningCalls)

    def __post_init__(self) -> None:
        if self.thread is not None and self.is_async:
            message = (
                f"{self.name}: an async function runs on its caller's event loop, not on a thread: write it without "
                f"async, or remove thread={self.thread!r}"
            )
            raise SchemaError(message)

    @property
    def secrets(self) -> "SecretArguments":
        """The secret arguments."""
        return self.binder.secrets

    @property
    def is_guarded(self) -> bool:
        """Whether direct calls are checked: they need approval, context or a thread, or only the schema knows them."""
        return bool(self.requires_approval or self.binder.contexts or self.thread or self.is_open)

    @property
    def object_schema(self) -> dict[str, Any]:
        """`parameters` with all arguments among its `properties`, including those of branches at the root."""
        if _BRANCHES.isdisjoint(self.parameters):
            return self.parameters
        from ez_ptc.schema.standard.roots import with_object_root

        return with_object_root(self.name, self.parameters)

    @property
    def schema(self) -> dict[str, Any]:
        """The schema as the tool's entry point documents it."""
        return self.parameters if self.make_schema is None else self.make_schema()

    @property
    def returns_coroutine(self) -> bool:
        """Whether a direct call returns a coroutine; an unguarded asynchronous generator function does not."""
        return self.is_async and (self.is_guarded or not is_any(inspect.isasyncgenfunction, self.function))

    @property
    def documentation(self) -> str:
        """The docstring for frameworks: consistent with the description and with the public signature."""
        if not self.is_guarded and self.docstring != docstring_of(self.function):
            return self.prose
        if " ".join(self.prose.split()) in " ".join(self.docstring.split()):
            return self.docstring
        return compose_docstring(self.prose, self.properties, self.spellings)

    def arguments_of(self, bound: "BoundCall") -> tuple[dict[str, object], dict[str, object]]:
        """Return a bound call's arguments, and the defaults of those it omits; both without `Context` values."""
        contexts = self.binder.contexts
        values = {**dict(zip(self.binder.by_position_only, bound.args, strict=False)), **bound.kwargs}
        defaults = open_defaults(self.function)
        return (
            {name: value for name, value in values.items() if name not in contexts},
            {name: value for name, value in defaults.items() if name not in values and name not in contexts},
        )

    def read(self, arguments: dict[str, object] | str) -> tuple[dict[str, object], tuple[str, ...]]:
        """Return a model's arguments, a dict or JSON text, as a dict, and a sentence for each repair of the text.

        Raises ArgumentsError for anything else.
        """
        repairs: tuple[str, ...] = ()
        if isinstance(arguments, str):
            from ez_ptc.schema.arguments.json_text import read_arguments

            arguments, repairs = read_arguments(self.name, arguments)
        elif not isinstance(arguments, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            problem = f"expected the arguments as a dict or JSON text, got {type(arguments).__name__}"
            message = f"{self.name}: {problem}"
            raise ArgumentsError(message, problems=[problem])
        if not arguments.keys().isdisjoint(self.binder.fields.keys()):  # as of nearly all calls
            return arguments, repairs
        unwrapped = unwrap_arguments(self.name, arguments, self.binder.fields)
        return (arguments, repairs) if unwrapped is None else (unwrapped[0], (*repairs, unwrapped[1]))

    def is_equal(self, other: "Definition") -> bool:
        """Return whether another definition has the same function, texts, parameters and options."""
        return self is other or all(getattr(self, name) == getattr(other, name) for name in _COMPARED)

    def renamed(self, name: str) -> "Definition":
        """Return a copy with another name."""
        _check_name(name)
        signature = name + self.signature.removeprefix(self.name)
        return replace(self, name=name, signature=signature, binder=replace(self.binder, tool=name))

    def described(self, description: object) -> "Definition":
        """Return a copy with another description. Raises SchemaError if it is not text."""
        if not isinstance(description, str):
            message = f"{self.name}: expected a description of type str, got {type(description).__name__}"
            raise SchemaError(message)
        docstring = self.docstring
        if self.entry is Entry.CONSTRUCTOR or docstring != docstring_of(self.function):
            docstring = compose_docstring(description, self.properties, self.spellings)
        return replace(self, description=description, prose=description, docstring=docstring)

    def for_programs(self) -> "Definition":
        """Return a copy whose messages spell the parameters as programs do."""
        fields = {name: replace(field, spelling=self.spellings.get(name)) for name, field in self.binder.fields.items()}
        return replace(self, binder=replace(self.binder, fields=fields))


@logs_refusal
def define(
    function: Callable[..., object], options: Options, *, entry: Entry = Entry.EZ_TOOL, stacklevel: int | None
) -> Definition:
    """Return the definition of a function as a tool.

    Raises `SchemaError` if it cannot be a tool. Warns, at the caller `stacklevel` frames up if given, if there is no
    docstring or description, and of parameters whose annotations say nothing, or nothing that JSON can carry.
    """
    from ez_ptc.schema.functions import function_schema
    from ez_ptc.schema.tool_schema import schema_maker

    name = _name(function, options)
    docstring = docstring_of(function)
    signature = read_signature(function, name=name)
    texts = parameter_texts(docstring)
    schema = function_schema(name, signature, texts, with_strings=entry is Entry.TOOL)
    text = prose(docstring) if options.description is None else options.description
    if stacklevel is not None:
        for message in _missing_texts(name, text, function, schema):
            warnings.warn(message, UserWarning, stacklevel=stacklevel + 2)
    text = text or f"Tool: {name}"
    properties = schema.parameters["properties"]
    composed = None
    if any(parameter.name in texts and parameter.name not in properties for parameter in signature.parameters):
        composed = compose_docstring(text, properties, parameter_spellings(schema.binder.fields))
    if options.description is None:
        options = replace(options, description=entry.description(function, composed, text))
    returns, open_records = _describe_returned(schema.signature, options.return_schema)
    # Without the variables of the function around it, which would live as long as the tool.
    announced = replace(schema.signature, namespace={})
    spelled = announced.with_spellings(parameter_spellings(schema.binder.fields))
    return _definition(
        function,
        schema,
        replace(options, name=name, return_schema=returns),
        docstring=composed or docstring,
        signature=partial(python_signature, announced),
        entry=entry,
        prose=text,
        make_schema=schema_maker(name, function, signature) if entry is Entry.FROM_FUNCTION else None,
        is_annotated=options.return_schema is None,
        named=schema.named,
        open_records=open_records,
        write_signature=signature_writer(spelled, signature.returns),
    )


def _describe_returned(
    signature: Signature, override: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, frozenset[frozenset[str]]]:
    from ez_ptc.schema.returns import describe_returned

    if override is None and not _has_media(signature.returns):
        return describe_returned(signature.returns, namespace=signature.namespace) or (None, frozenset())
    return override, frozenset()


def _has_media(annotation: object) -> bool:
    """Return whether a type includes media, which are parts of messages instead of JSON."""
    is_media = isinstance(annotation, type) and issubclass(annotation, MediaMessage)
    return is_media or any(map(_has_media, get_args(annotation)))


def _missing_texts(
    name: str, description: str, function: Callable[..., object], schema: "FunctionSchema"
) -> Iterator[str]:
    """Yield a warning for each thing a model should know of a tool and cannot."""
    if not description and sys.flags.optimize <= _MAX_LEVEL_WITH_DOCSTRINGS:
        yield f"{name} has no docstring, so a model cannot know what it does: write one, or give a description"
    if inspect.isbuiltin(innermost(function)):  # built-ins cannot be annotated
        return
    if not schema.signature.parameters and names_no_parameters(function):
        yield f"{name} names no parameter, so models can pass nothing: let a wrapper have functools.wraps(function)"
    untyped = [item.name for item in schema.signature.parameters if item.annotation is EMPTY]
    if untyped and not schema.strings:
        yield f"{name} accepts anything for {', '.join(untyped)}: annotate each parameter, as in {untyped[0]}: str"
    if schema.strings:
        names = ", ".join(schema.strings)
        yield (
            f"{name} describes {names} as a string to models, and gets whatever they send, unconverted: annotate "
            f"each with what JSON can carry, as in {schema.strings[0]}: str"
        )


@logs_refusal
def define_by_hand(
    function: Callable[..., object],
    parameters: Mapping[str, Any] | Sequence[ToolParameter],
    options: Options,
    *,
    filled: Collection[str] = (),
) -> Definition:
    """Return the definition of a tool with handwritten parameters: a JSON Schema or a list of `ToolParameter`.

    Omitted arguments in `filled` get the schema's default, as do those with a default in a list. Raises `SchemaError`
    for an invalid schema, and for a function that does not take these parameters.
    """
    from ez_ptc.schema.imported.parameters import import_schema

    name = _name(function, options)
    if not isinstance(options.description, str):
        message = f"{name}: expected a description of type str, got {type(options.description).__name__}"
        raise SchemaError(message)
    defaults = list(filled)
    if isinstance(parameters, list | tuple):
        listed = cast("Sequence[ToolParameter]", parameters)
        parameters = parameters_schema(name, listed)
        defaults = [parameter.name for parameter in listed if parameter.default is not None]
    schema = import_schema(name, cast("Mapping[str, Any]", parameters), function, filled=defaults)
    properties = schema.properties
    return _definition(
        function,
        schema,
        replace(options, name=name),
        docstring=compose_docstring(options.description, properties, parameter_spellings(schema.binder.fields)),
        signature=partial(json_signature, schema.signature, properties),
        is_open=schema.is_open,
        properties=properties,
    )


def _definition(
    function: Callable[..., object],
    schema: "FunctionSchema | ImportedSchema",
    options: Options,
    *,
    docstring: str,
    signature: Callable[[], inspect.Signature],
    **further: Any,
) -> Definition:
    name, description = str(options.name), str(options.description)
    options = options.checked(name)
    spellings = parameter_spellings(schema.binder.fields)
    further = {"prose": description, "is_annotated": False, "properties": schema.parameters["properties"], **further}
    return Definition(
        function=function,
        name=name,
        description=description,
        docstring=docstring,
        parameters=schema.parameters,
        signature=signature_text(name, schema.signature.with_spellings(spellings)),
        return_schema=options.return_schema,
        is_async=is_any(inspect.iscoroutinefunction, function) or is_any(inspect.isasyncgenfunction, function),
        category=options.category,
        requires_approval=options.requires_approval,
        idempotent=options.idempotent,
        read_only=options.read_only,
        strict=options.strict,
        timeout=options.timeout,
        thread=options.thread,
        has_key=options.idempotent or bool(schema.binder.contexts),
        binder=schema.binder,
        read_signature=signature,
        spellings=spellings,
        **further,
    )


def _name(function: Callable[..., object], options: Options) -> str:
    """Return a tool's name. Raises SchemaError if it, the function or the description is of a wrong type."""
    if not callable(function):
        advice = "pass the function, not its name or its result"
        if isinstance(function, str):
            advice += f"; for a tool of another name, write @ez_tool(name={safe_repr(function)})"
        message = f"expected a function, got {safe_repr_with_type(function)}: {advice}"
        raise SchemaError(message)
    name = options.name
    if name is None:
        name = getattr(function, "__name__", None) or getattr(innermost(function), "__name__", "__call__")
        if name == "__call__":
            name = type(getattr(method_behind(function), "__self__", function)).__name__
    _check_name(name)
    if not isinstance(options.description, str | None):  # pyright: ignore[reportUnnecessaryIsInstance] - may be unchecked
        message = f"{name}: expected a description of type str, got {type(options.description).__name__}"
        raise SchemaError(message)
    return cast("str", name)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        message = f"invalid tool name {safe_repr(name)}: use letters, digits and '_', as in ez_tool(name='find_order')"
        raise SchemaError(message)
