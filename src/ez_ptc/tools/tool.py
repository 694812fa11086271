"""`Tool`, a function that a model may call.

Pydantic is slow to import, so `tools.definitions`, which needs it, is imported when the first tool is made.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.messages import PendingCall
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.annotations.partials import has_bound_arguments
from ez_ptc.tools.call_settings import NO_SETTINGS, CallSettings, ToolInternals
from ez_ptc.tools.definitions.parameters import ToolParameter, parameter_list
from ez_ptc.tools.frameworks import (
    PlainCall,
    as_plain_function,
    mark_coroutine_function,
    shows_parameters,
    signature_annotations,
    unchecked_function,
)
from ez_ptc.tools.invocation import InvocableTool, P, R_co
from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from typing import Self

    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.definitions.definition import Definition
    from ez_ptc.tools.definitions.options import FunctionOptions, HandmadeOptions
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["Tool"]


def _field(name: str, doc: str) -> Any:  # noqa: ANN401 - each field has a type of its own
    """Return a field of `Tool` that reads its value from the tool's definition."""
    return property(attrgetter(f"_definition.{name}"), doc=doc)


@explain_calls(checks="__init__() arguments format from_schema() func")
@dataclass(frozen=True, init=False, repr=False, eq=False)
class Tool(InvocableTool[P, R_co], Viewable):
    """A function that a model may call.

        tool = Tool.from_function(price_of.fn, timeout=5)
        print(tool.call('{"product": "lamp"}'), tool.to_format("anthropic"))

    `ez_tool` and `Tool.from_function` make one from a function. The constructor takes the function and its
    `parameters`, a list of `ToolParameter` or a JSON Schema, in either order; `fn` and `schema` are other names for
    them.

    It is a frozen dataclass: `dataclasses.replace(tool, name="find_order")` returns a copy with everything else, the
    registry's approver and context included. Two tools are equal if all of this is.

    Calling a tool calls the function (`tool.fn`) with unchecked arguments; use `call` and `execute` for arguments from
    a model. Direct calls are checked too, with the registry's approval and context, if the tool requires approval, has
    `Context` parameters, names a thread, or has a schema and takes `**kwargs`.

    Raises `SchemaError` if `parameters` is not the JSON Schema of an object, or does not fit the function.
    """

    if TYPE_CHECKING:  # attributes, and no fields
        __wrapped__: Callable[P, R_co]
        __signature__: inspect.Signature
        _plain_call: Callable[P, R_co] | None

    name: str = _field("name", "The name a model calls it by.")
    description: str = _field("description", "The docstring, as far as its entry point takes it, or what replaces it.")
    function: Callable[P, R_co] = _field("function", "The function.")
    schema: dict[str, Any] = _field("schema", "Same as `parameters`; of `from_function`, `generate_tool_schema(func)`.")
    return_schema: dict[str, Any] | None = _field(
        "return_schema", "The JSON Schema of the return value, or None if it adds nothing to the signature."
    )
    category: str | None = _field("category", "The category, for selecting tools.")
    requires_approval: bool | Callable[[PendingCall], bool] = _field(
        "requires_approval", "Whether calls need approval: all of them, or those for which this function returns True."
    )
    idempotent: bool = _field("idempotent", "Whether calling it twice has the same effect as calling it once.")
    read_only: bool | None = _field("read_only", "Whether calling it changes nothing, or None if that is not declared.")
    strict: bool | None = _field(
        "strict", "Whether the provider should enforce the schema, or None if it does not say."
    )
    timeout: float | None = _field("timeout", "The maximum seconds a call may take, or None for no limit.")
    thread: str | None = _field("thread", "The name of the thread that runs its calls, or None for any.")
    internals: ToolInternals = property(  # pyright: ignore[reportAssignmentType] - a property, as the other fields are
        lambda self: ToolInternals(self._definition, self._settings), doc="What copies share with the tool."
    )

    @overload
    def __init__(
        self,
        name: str,
        description: str,
        function: Callable[P, R_co],
        schema: Mapping[str, Any] | Sequence[ToolParameter] | None = None,
        **options: "Unpack[HandmadeOptions]",
    ) -> None: ...
    @overload
    def __init__(
        self,
        name: str,
        description: str,
        parameters: Sequence[ToolParameter] | Mapping[str, Any] | None = None,
        function: Callable[P, R_co] | None = None,
        *,
        schema: Mapping[str, Any] | None = None,
        fn: Callable[P, R_co] | None = None,
        **options: "Unpack[HandmadeOptions]",
    ) -> None: ...
    @shows_parameters("name", "description", "function", "schema")
    def __init__(
        self, name: str, description: str, *arguments: object, internals: ToolInternals | None = None, **named: Any
    ) -> None:
        from ez_ptc.tools.definitions.changes import change_definition, construct_definition

        if internals is None:
            self._set_definition(construct_definition(name, description, arguments, named))
        else:  # called by `dataclasses.replace`
            changes = {"name": name, "description": description, **named}
            self._set_definition(change_definition(internals.definition, changes), internals.settings)

    @classmethod
    def from_function(cls, func: Callable[P, R_co], **options: "Unpack[FunctionOptions]") -> "Self":
        """Make a tool from a function. Its description is the docstring, and `schema` is `generate_tool_schema(func)`.

        `options` are those of `ToolOptions` except `registry`. Raises and warns as `ez_tool` does.
        """
        from ez_ptc.tools.definitions.definition import define
        from ez_ptc.tools.definitions.options import Entry, Options

        definition = define(func, Options.of(options), entry=Entry.FROM_FUNCTION, stacklevel=3)
        return cls.from_definition(definition)

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        function: Callable[P, R_co],
        **options: "Unpack[HandmadeOptions]",
    ) -> "Self":
        """Make a tool from a function and the JSON Schema of its parameters, an object of any draft or OpenAPI's.

        Calls are checked against the schema, and the function gets plain JSON types as keyword arguments. References
        are never fetched. Raises SchemaError for an invalid schema.
        """
        return cls(name, description, schema, function, **options)

    @classmethod
    def from_definition(cls, definition: "Definition", settings: CallSettings = NO_SETTINGS) -> "Self":
        """Make a tool from a `Definition`, with the host's settings for its calls."""
        tool = cls.__new__(cls)
        tool._set_definition(definition, settings)  # noqa: SLF001 - an instance of this class
        return tool

    def _set_definition(self, definition: "Definition", settings: CallSettings = NO_SETTINGS) -> None:
        function, attributes = definition.function, vars(self)
        copied = {name: getattr(function, name) for name in functools.WRAPPER_ASSIGNMENTS if hasattr(function, name)}
        # The function's attributes are copied, but must not hide those of a tool.
        own_attributes: dict[str, object] = getattr(function, "__dict__", {})
        copied.update({name: value for name, value in own_attributes.items() if not hasattr(Tool, name)})
        attributes.update({"__qualname__": definition.name, **copied, "__wrapped__": function})
        attributes.update(__name__=definition.name, __doc__=definition.documentation)
        attributes.update(_definition=definition, _settings=settings)
        attributes.update(slow_descriptions={})  # see `formats.lowering.slow`
        if definition.is_guarded:
            # `inspect.signature` must not find the function itself, nor the parameters that the host fills in.
            del attributes["__wrapped__"]
        if definition.is_guarded or not inspect.isroutine(function) or has_bound_arguments(function):
            signature = definition.read_signature()
            attributes.update(__signature__=signature, __annotations__=signature_annotations(signature))
        attributes["_plain_call"] = None if definition.is_guarded else unchecked_function(definition)
        if definition.returns_coroutine:
            mark_coroutine_function(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Tool) and self.internals.is_equal(cast("Tool[..., Any]", other).internals)

    def __hash__(self) -> int:
        return hash(self._definition.name)

    if TYPE_CHECKING:

        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
            """Call the function. Raises ToolError if the call needs approval and does not get it."""
            ...

    else:
        __call__ = PlainCall()

    def as_function(
        self,
        *,
        context: object = NO_CONTEXT,
        approve: "Approver | None" = None,
        reraise: tuple[type[BaseException], ...] = (),
    ) -> Callable[..., Any]:
        """Return a plain function for a framework that reads its signature and calls it.

        It checks the arguments, asks for approval, adds the context and raises as `call` does; for an asynchronous
        tool it is a coroutine function. Exceptions of the types in `reraise`, a framework's control flow, are not
        failures of the tool and not logged.
        """
        return as_plain_function(self._definition, CallSettings(context, approve, reraise).over(self._settings))

    def __repr__(self) -> str:
        return f"Tool({self.name})"

    def _view_parts(self) -> "tuple[ViewPart, ...]":
        """Return the signature, the description and the parameters."""
        from ez_ptc.view.objects.parts import NotePart, TablePart, TextPart

        rows = [(item.name, item.param_type.value, item.description) for item in self.parameter_list]
        signature = TextPart(self._definition.signature, 2_000)
        return signature, NotePart(self.prose), TablePart(("parameter", "type", "description"), rows)

    def __reduce__(self) -> str:
        """Pickle the tool as functions are, by its qualified name; copying returns the tool itself."""
        return str(vars(self)["__qualname__"])

    @property
    def prose(self) -> str:
        """The description as models read it: all paragraphs of the docstring, without its sections."""
        return self._definition.prose

    @property
    def docstring(self) -> str:
        """The function's docstring, or "". It is rebuilt if it describes parameters hidden from models."""
        return self._definition.docstring

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, an object."""
        return self._definition.parameters

    @property
    def parameter_list(self) -> list[ToolParameter]:
        """`parameters` as a list, as far as `ToolParameter` can express them."""
        return parameter_list(self._definition.object_schema)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the arguments a model may pass, in order."""
        return tuple(self._definition.binder.fields)

    @property
    def positional_names(self) -> tuple[str, ...]:
        """The names of the arguments that may be passed by position, in order."""
        return self._definition.binder.positional

    @property
    def signature(self) -> str:
        """The signature as a model reads it: `get_weather(location: str, unit: str = 'celsius') -> dict`."""
        definition = self._definition
        if definition.write_signature is None:
            return definition.signature
        return definition.write_signature(definition.name)

    @property
    def spellings(self) -> Mapping[str, str]:
        """The spelling in programs of arguments with names Python cannot write, by name: `from_` for `from`."""
        return self._definition.spellings

    @property
    def return_type_text(self) -> str | None:
        """The return type as a model reads it, or None unless the annotation lists all of its keys."""
        from ez_ptc.schema.stubs import closed_type_text

        schema = self._definition.return_schema
        if schema is None or not self._definition.is_annotated:
            return None
        return closed_type_text(schema, self._definition.open_records)

    @property
    def fn(self) -> Callable[P, R_co]:
        """The function."""
        return cast("Callable[P, R_co]", self._definition.function)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function or an asynchronous generator function."""
        return self._definition.is_async

    @property
    def settings(self) -> CallSettings:
        """The host's additions to each call, from the tool's registry."""
        return self._settings

    @property
    def definition(self) -> "Definition":
        """The tool's definition; renamed copies share its function and limits."""
        return self._definition

    def to_format(self, format: str, *, strict: bool = False) -> dict[str, Any]:  # noqa: A002 - the word users know
        """Return the tool as a provider's API expects it.

        Args:
            format: The provider's format, such as "openai-chat" (or "openai"), "openai-responses" or "anthropic"; "mcp"
                for MCP.
            strict: Ask the provider to enforce the schema if it can; the tool's own `strict` takes precedence.

        Raises:
            ValueError: The format is unknown.
            SchemaError: The provider would reject the schema; the message names the parameter and the keyword.
        """
        from ez_ptc.formats.catalog import format_named

        return format_named(format).describe(self, strict=strict)

    def lowered(self, format: str, *, strict: bool = False) -> list[str]:  # noqa: A002 - the word users know
        """Return what the tool accepts and `to_format` does not tell the provider, a sentence for each argument.

        It is empty if the description allows every call that the schema allows. Providers have fewer means of
        expression than JSON Schema. Raises as `to_format` does.
        """
        from ez_ptc.formats.catalog import format_named

        left_out: list[str] = []
        format_named(format).describe(self, strict=strict, left_out=left_out)
        return left_out

    def to_openai_format(self) -> dict[str, Any]:
        """Return the tool as an element of `tools` in OpenAI's Chat Completions."""
        return self.to_format("openai")

    def to_anthropic_format(self) -> dict[str, Any]:
        """Return the tool as an element of `tools` in Anthropic's Messages."""
        return self.to_format("anthropic")

    def bind(
        self, args: Sequence[object], kwargs: Mapping[str, object], *, context: object = NO_CONTEXT
    ) -> "BoundCall":
        """Check arguments and convert them to the annotated types.

        `context` is the value of `Context` parameters. Raises `ArgumentsError`, with all problems at once.
        """
        return self._definition.binder.bind(args, kwargs, context=context)
