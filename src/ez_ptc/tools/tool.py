"""`Tool`, a function that a model may call.

Pydantic is imported when the first tool is made, not before: what reads a function is in `tools.definition`.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Unpack, cast

from ez_ptc._sync import run_coroutine, to_thread
from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools.calls import NO_SETTINGS, CallSettings, areturned, arun_call, returned, run_call
from ez_ptc.tools.definitions.parameters import ToolParameter, parameter_list
from ez_ptc.tools.failures import failure
from ez_ptc.tools.frameworks import annotations_of, function_of, mark_coroutine_function, passed_by

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import ParamSpec, TypeVar

    from ez_ptc.messages import ToolCall, ToolResult
    from ez_ptc.schema.arguments.binder import BoundCall
    from ez_ptc.tools.approval import Approve
    from ez_ptc.tools.definitions.definition import Definition
    from ez_ptc.tools.definitions.options import FunctionOptions, HandmadeOptions, SynonymOptions

    P = ParamSpec("P", default=...)
    R_co = TypeVar("R_co", default=object, covariant=True)
else:  # the same without defaults, which need Python 3.13 or typing_extensions
    P = typing.ParamSpec("P")
    R_co = typing.TypeVar("R_co", covariant=True)

__all__ = ["Tool"]

_LONG: Final = 20_000  # characters of JSON text, whose reading would hold up an event loop


class Tool(Generic[P, R_co]):
    """A function that a model may call, with all that a model, a validator and a caller need to know of it.

    `ez_tool` makes one from a function, and so does `Tool.from_function`. Made by hand, it takes a `name`, a
    `description`, the `function`, and its `parameters` as `ToolParameter`s or as a JSON Schema (`schema` is another
    name for them, as `fn` is for the function). A tool is still the function: calling it calls the function with what
    it was given, unchecked, and an asynchronous function gives its coroutine. `call` and `execute` are for what a model
    sends. A tool that requires approval, has `Context` parameters, or has a schema and takes `**kwargs`, is called by
    anybody as a model calls it: checked, with its registry's approval and context. `tool.fn` is the function itself.

    Raises `SchemaError` for parameters that are no JSON Schema of an object, and for a function that does not take
    them.
    """

    __wrapped__: Callable[P, R_co]
    __signature__: inspect.Signature

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Sequence[ToolParameter] | Mapping[str, Any] | None = None,
        function: Callable[P, R_co] | None = None,
        **options: "Unpack[SynonymOptions]",
    ) -> None:
        from ez_ptc.tools.definitions.definition import Options, define_by_hand, one_of

        given: dict[str, Any] = dict(options)
        schema, called = given.pop("schema", None), given.pop("fn", None)
        settings = Options.of({"name": name, "description": description, **given})
        definition = define_by_hand(
            cast("Callable[..., object]", one_of(name, "function", function, called)),
            cast("Mapping[str, Any]", one_of(name, "parameters", parameters, schema) or []),
            settings,
        )
        self._take(definition)

    @classmethod
    def from_function(cls, func: Callable[P, R_co], **options: "Unpack[FunctionOptions]") -> "Self":
        """Make a tool of a function, as `@ez_tool` does; a parameter that takes None need not be passed.

        `options` are those of `ToolOptions` without `registry`. Raises and warns as `ez_tool` does.
        """
        from ez_ptc.tools.definitions.definition import Options, define

        return cls.of_definition(define(func, Options.of(options), stacklevel=2, nullable_is_optional=True))

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        function: Callable[P, R_co],
        **options: "Unpack[HandmadeOptions]",
    ) -> "Self":
        """Make a tool of a function whose parameters are described elsewhere, by a JSON Schema of an object.

        Calls are checked against the schema; the function gets JSON's own types, by name. The schema is of any draft,
        with OpenAPI's `nullable`; nothing is fetched for it. Raises SchemaError for what is no such schema.
        """
        return cls(name, description, schema, function, **options)

    @classmethod
    def of_definition(cls, definition: "Definition", settings: CallSettings = NO_SETTINGS) -> "Self":
        """Make a tool of what `tools.definition` has read, with what the host adds to its calls."""
        made = cls.__new__(cls)
        made._take(definition, settings)  # noqa: SLF001 - it is one of its own
        return made

    def _take(self, definition: "Definition", settings: CallSettings = NO_SETTINGS) -> None:
        functools.update_wrapper(self, definition.function, updated=())
        attributes: dict[str, object] = getattr(definition.function, "__dict__", {})
        # A function's own attributes come along, but none may stand before what a tool is.
        vars(self).update({name: each for name, each in attributes.items() if not hasattr(Tool, name)})
        vars(self).setdefault("__qualname__", definition.name)
        vars(self).update(__name__=definition.name, __doc__=definition.documentation)
        self._definition = definition
        self._settings = settings
        self._is_guarded = definition.is_guarded
        if self._is_guarded:
            # What reads a signature must not find the function behind it, nor the parameters that the host fills.
            vars(self).pop("__wrapped__", None)
        if self._is_guarded or not inspect.isroutine(definition.function):
            self.__signature__ = definition.read_signature()
            self.__annotations__ = annotations_of(self.__signature__)
            self._passed = passed_by(self.__signature__)
        if definition.gives_coroutine:
            mark_coroutine_function(self)

    def changed(
        self,
        *,
        name: str | None = None,
        requires_approval: bool | None = None,
        settings: CallSettings | None = None,
    ) -> "Self":
        """Return the same tool under another name, with or without approval, or with other settings for its calls."""
        from dataclasses import replace

        definition = self._definition if name is None else self._definition.renamed(name)
        if requires_approval is not None:
            definition = replace(definition, requires_approval=requires_approval)
        return self.of_definition(definition, self._settings if settings is None else settings)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function. Raises ToolError where a person must approve that, and does not or cannot be asked."""
        if not self._is_guarded:
            return cast("R_co", self._definition.function(*args, **kwargs))
        call = areturned if self.is_async else returned
        return cast("R_co", call(self._definition, *self._passed(args, kwargs), self._settings))

    def as_function(
        self,
        *,
        context: object = NO_CONTEXT,
        approve: "Approve | None" = None,
        reraise: tuple[type[BaseException], ...] = (),
    ) -> Callable[..., Any]:
        """Return a plain function for a framework that reads its signature and calls it; it raises what `call` raises.

        It checks the arguments, asks for approval and adds the context, and is a coroutine function for an async tool.

        Args:
            context: The value of the function's `Context` parameters; not passed by anybody else.
            approve: The approver, where the tool requires approval; without one, calls are refused.
            reraise: Exceptions of the framework's own, which are no failures of the tool and are not logged.
        """
        return function_of(self._definition, CallSettings(context, approve, reraise).over(self._settings))

    def __repr__(self) -> str:
        return f"Tool({self.name})"

    def __reduce__(self) -> str:
        """Pickle it as a function, by the name that its module has it under; a copy is the tool itself."""
        return str(vars(self)["__qualname__"])

    @property
    def name(self) -> str:
        """The name that a model calls it by."""
        return self._definition.name

    @property
    def description(self) -> str:
        """What it does: the docstring's first paragraph, then the rest of its prose without the sections."""
        return self._definition.description

    @property
    def docstring(self) -> str:
        """The function's docstring, cleaned of its indentation, or nothing.

        Where it describes parameters that no model may pass, it is the description and the other parameters instead.
        """
        return self._definition.docstring

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, an object."""
        return self._definition.parameters

    @property
    def schema(self) -> dict[str, Any]:
        """The same as `parameters`."""
        return self._definition.parameters

    @property
    def parameter_list(self) -> list[ToolParameter]:
        """The same as `parameters`, as far as a list of `ToolParameter` can say it."""
        return parameter_list(self._definition.parameters)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the arguments that a model may pass, in order."""
        return tuple(self._definition.binder.fields)

    @property
    def positional_names(self) -> tuple[str, ...]:
        """The names of the arguments that may be passed by position, in order."""
        return self._definition.binder.positional

    @property
    def signature(self) -> str:
        """The signature as a model reads it: `get_weather(location: str, unit: str = 'celsius') -> dict`."""
        return self._definition.signature

    @property
    def spellings(self) -> Mapping[str, str]:
        """How programs spell the arguments whose names Python cannot write, by name: `from_` for `from`."""
        return self._definition.spellings

    @property
    def return_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of what it returns, or None where that would say no more than the signature does."""
        return self._definition.return_schema

    @property
    def returned_text(self) -> str:
        """What it returns as a model reads it, where its annotation says which keys there are and no others; or ""."""
        from ez_ptc.schema.stubs import closed_type_text

        schema = self._definition.return_schema
        return closed_type_text(schema) if schema is not None and self._definition.is_annotated else ""

    @property
    def fn(self) -> Callable[P, R_co]:
        """The function."""
        return cast("Callable[P, R_co]", self._definition.function)

    @property
    def function(self) -> Callable[P, R_co]:
        """The same as `fn`."""
        return self.fn

    @property
    def is_async(self) -> bool:
        """Whether calling the function gives a coroutine or an asynchronous generator."""
        return self._definition.is_async

    @property
    def category(self) -> str | None:
        """What kind of tool it is, to choose tools by."""
        return self._definition.category

    @property
    def requires_approval(self) -> bool:
        """Whether a person must say yes to each call."""
        return self._definition.requires_approval

    @property
    def idempotent(self) -> bool:
        """Whether calling it twice does what calling it once does."""
        return self._definition.idempotent

    @property
    def read_only(self) -> bool | None:
        """Whether calling it changes nothing, or None if that is not declared."""
        return self._definition.read_only

    @property
    def strict(self) -> bool | None:
        """Whether a provider is to hold its model to the schema, or None if that is not said of this tool."""
        return self._definition.strict

    @property
    def timeout(self) -> float | None:
        """How many seconds a call may take, or None for any time."""
        return self._definition.timeout

    @property
    def settings(self) -> CallSettings:
        """What the host adds to each call: that of the registry that it is from."""
        return self._settings

    @property
    def definition(self) -> "Definition":
        """What running it needs, and what its names share."""
        return self._definition

    def to_format(self, format: str, *, strict: bool = False) -> dict[str, Any]:  # noqa: A002 - the word users know
        """Return the tool for openai-chat (or openai), openai-responses, anthropic, gemini, mistral or mcp.

        `strict` has the provider hold its model to the schema, where it can; the tool's own word goes before it. Raises
        ValueError for an unknown format, and SchemaError that names the parameter and the keyword which the provider
        would refuse.
        """
        from ez_ptc.formats.catalog import format_named

        return format_named(format).describe(self, strict=strict)

    def to_openai_format(self) -> dict[str, Any]:
        """Return the tool as an element of `tools` in OpenAI's Chat Completions."""
        return self.to_format("openai")

    def to_anthropic_format(self) -> dict[str, Any]:
        """Return the tool as an element of `tools` in Anthropic's Messages."""
        return self.to_format("anthropic")

    def bind(
        self, args: Sequence[object], kwargs: Mapping[str, object], *, context: object = NO_CONTEXT
    ) -> "BoundCall":
        """Check what a program passes by position and by name, and convert it to the annotated types.

        `context` is the value of its `Context` parameters. Raises `ArgumentsError`, which names everything that is
        wrong at once.
        """
        return self._definition.binder.bind(args, kwargs, context=context)

    def call(
        self,
        arguments: dict[str, object] | str,
        /,
        *,
        context: object = NO_CONTEXT,
        approve: "Approve | None" = None,
    ) -> object:
        """Check the arguments that a model sent, a dict or JSON text, and return what the function returns for them.

        An asynchronous function runs to its end, on an event loop of its own.

        Args:
            arguments: What the model sent.
            context: The value of the function's `Context` parameters.
            approve: Who is asked about the call, where the tool requires approval.

        Raises:
            ArgumentsError: The arguments are wrong; it names everything that is, at once.
            ToolError: The call was not approved.
            Exception: Whatever the function raises.
        """
        settings = self._settings.for_call(context, approve)
        if self.is_async:
            return run_coroutine(areturned, self._definition, (), self._definition.read(arguments), settings)
        return returned(self._definition, (), self._definition.read(arguments), settings)

    async def acall(
        self,
        arguments: dict[str, object] | str,
        /,
        *,
        context: object = NO_CONTEXT,
        approve: "Approve | None" = None,
    ) -> object:
        """Do the same as `call`, but await; a function that is not asynchronous runs in a worker thread."""
        settings = self._settings.for_call(context, approve)
        return await areturned(self._definition, (), await self._aread(arguments), settings)

    def execute(self, /, **arguments: object) -> "ToolResult":
        """Do the same as `call`, but never raise: whatever goes wrong is in the result, and is logged."""
        return self._run(arguments, self._settings)

    async def aexecute(self, /, **arguments: object) -> "ToolResult":
        """Do the same as `execute`, but await; a function that is not asynchronous runs in a worker thread."""
        return await arun_call(self._definition, (), arguments, self._settings)

    def _run(self, arguments: Mapping[str, object], settings: CallSettings) -> "ToolResult":
        if self.is_async:
            return run_coroutine(arun_call, self._definition, (), arguments, settings)
        return run_call(self._definition, (), arguments, settings)

    def run(self, call: "ToolCall", settings: CallSettings = NO_SETTINGS) -> "ToolResult":
        """Run a call as a provider's answer has it, and return how it ended; nothing is raised."""
        try:
            return self._run(self._definition.read(call.arguments), settings.over(self._settings))
        except ArgumentsError as error:
            return failure(self.name, error)

    async def arun(self, call: "ToolCall", settings: CallSettings = NO_SETTINGS) -> "ToolResult":
        """Do the same as `run`, but await; a function that is not asynchronous runs in a worker thread."""
        try:
            return await arun_call(
                self._definition, (), await self._aread(call.arguments), settings.over(self._settings)
            )
        except ArgumentsError as error:
            return failure(self.name, error)

    async def _aread(self, arguments: dict[str, object] | str) -> dict[str, object]:
        if isinstance(arguments, str) and len(arguments) > _LONG:
            return await to_thread(self._definition.read, arguments)
        return self._definition.read(arguments)
