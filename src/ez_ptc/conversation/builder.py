"""A conversation with a model, built step by step; each step is a new one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

from ez_ptc._sync import run_coroutine
from ez_ptc.conversation.loop.continuations import inherit_continuation
from ez_ptc.conversation.loop.settings import Settings
from ez_ptc.conversation.loop.stream import BlockingStream, ConversationStream
from ez_ptc.conversation.media import media_message
from ez_ptc.conversation.offered_tools import check_names, with_tools
from ez_ptc.conversation.validation import (
    check_function,
    check_lifetime,
    check_limit,
    check_listener,
    check_options,
    check_prices,
    check_said,
    check_text,
    check_toolkit,
)
from ez_ptc.messages import (
    Answer,
    AudioMessage,
    DocumentMessage,
    ImageMessage,
    MediaMessage,
    Message,
    MessageRole,
    TextMessage,
    Usage,
    VideoMessage,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ez_ptc.conversation.prices import Price, TurnUsage
    from ez_ptc.conversation.state import ConversationState
    from ez_ptc.messages import Entry
    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.approval import Approve

__all__ = ["LLMPromptBuilder", "llm"]

T = TypeVar("T")

_AnyCallable = Callable[..., object]


class _Limits(TypedDict, total=False):
    turns: int
    calls: int
    tokens: int
    cost: float | Decimal


@dataclass(frozen=True, slots=True)
class LLMPromptBuilder:
    """A conversation and how to go on with it. Every step returns a new one, and leaves this one as it is.

    `llm()` gives an empty one. `entries` are what was said so far, `settings` everything else.
    """

    entries: tuple[Entry, ...] = ()
    settings: Settings = field(default_factory=Settings)

    # What is said -----------------------------------------------------------------------------------------------------

    def agent(self, text: str) -> LLMPromptBuilder:
        """Tell the model who it is and how to work.

        After the model has spoken, this holds from there on; a provider that takes no such message is an error.
        """
        return self._saying(TextMessage(text, role=MessageRole.SYSTEM))

    def context(self, text: str) -> LLMPromptBuilder:
        """Give the model something to know: text that a person would put before the question."""
        return self._saying(TextMessage(text))

    def request(self, text: str) -> LLMPromptBuilder:
        """Ask something."""
        return self._saying(TextMessage(text))

    def assistant(self, text: str) -> LLMPromptBuilder:
        """Put words into the model's mouth, as an example of an answer."""
        return self._saying(TextMessage(text, role=MessageRole.ASSISTANT))

    def image(self, image: bytes | str | Path, *, media_type: str | None = None) -> LLMPromptBuilder:
        """Show an image: its bytes, the path of its file, or its address, which begins with `http`.

        Its media type is read from its first bytes or the name of its file, unless it is given. Raises ValueError for
        what is no image or too large, and OSError for a file that cannot be read.
        """
        return self._saying(media_message(ImageMessage, image, media_type=media_type))

    def document(
        self, document: bytes | str | Path, *, media_type: str | None = None, name: str = ""
    ) -> LLMPromptBuilder:
        """Show a document, such as a PDF file or a text; raises what `image` raises. `name` is what it is called."""
        return self._saying(media_message(DocumentMessage, document, media_type=media_type, name=name))

    def audio(self, audio: bytes | str | Path, *, media_type: str | None = None) -> LLMPromptBuilder:
        """Let the model listen to a recording; raises what `image` raises."""
        return self._saying(media_message(AudioMessage, audio, media_type=media_type))

    def video(self, video: bytes | str | Path, *, media_type: str | None = None) -> LLMPromptBuilder:
        """Show a video; raises what `image` raises."""
        return self._saying(media_message(VideoMessage, video, media_type=media_type))

    def cache(self, lifetime: str | None = None, *, tools: bool = False) -> LLMPromptBuilder:
        """Have the provider keep what it reads up to what was said last or, with `tools`, the tools.

        What it keeps costs less to read again. `lifetime` is for how long: "5m" or "1h" at Anthropic, "30m" or "12h" at
        OpenAI. Where a provider has no such marks, none are sent. Raises ValueError for another lifetime, and where
        nothing was said or an answer came last.
        """
        mark = check_lifetime(lifetime)
        if tools:
            return self._with(cache_tools=mark)
        return replace(self, entries=(*self.entries[:-1], replace(check_said(self.entries), cache=mark)))

    # What it may use --------------------------------------------------------------------------------------------------

    def tool(self, tool_function: _AnyCallable) -> LLMPromptBuilder:
        """Give the model a function to call, or a tool that has been made of one; raises what `tools` raises."""
        return self.tools(tool_function)

    def tools(
        self, *functions: _AnyCallable | Iterable[_AnyCallable], tool_functions: Iterable[_AnyCallable] = ()
    ) -> LLMPromptBuilder:
        """Give the model functions to call, one by one or as a list; tools and registries of tools will do.

        A list may also be given as `tool_functions`. What the model has already is not added again. Raises
        DuplicateToolError where two have one name, and SchemaError for a function that cannot be a tool.
        """
        tools = with_tools(self.settings.tools, (*functions, tool_functions))
        check_names(tools, has_programs=self.settings.has_program_tool)
        return self._with(tools=tools)

    def toolkit(self, toolkit: Toolkit, *, mode: Literal["tool", "prompt"] = "tool") -> LLMPromptBuilder:
        """Let the model write programs over the tools of a toolkit.

        In the mode "tool" it calls `execute_tools` with them; in the mode "prompt" it writes them into its text, which
        any model can. Raises DuplicateToolError where another tool is called `execute_tools`.
        """
        check_toolkit(toolkit, mode)
        check_names(self.settings.tools, has_programs=mode == "tool")
        return self._with(toolkit=toolkit, mode=mode)

    def tool_context(self, context: object) -> LLMPromptBuilder:
        """Give the `Context` parameters of the tools their value."""
        return self._with(tool_context=context)

    def approve(self, approve: Approve) -> LLMPromptBuilder:
        """Have somebody asked about the calls that require approval, those from programs too.

        `approve` gets a `ToolCall` and returns True, a dict of other arguments, or text that says why not. It may be
        asynchronous.
        """
        return self._with(approve=check_function(approve, "approve"))

    def on_tool_call(self, listen: Callable[[dict[str, Any]], None]) -> LLMPromptBuilder:
        """Have somebody told of each call of a tool as it ends, of those from programs too.

        `listen` gets a dict as `ExecutionResult.tool_calls` has it: `name`, `args`, `kwargs`, `result`, `error`,
        `duration_ms`. It is called from the event loop, not awaited, and should return at once; what it raises ends the
        conversation. `stream()` tells of calls before they run.
        """
        return self._with(on_tool_call=check_listener(listen))

    # Who answers, and how ---------------------------------------------------------------------------------------------

    def provider(self, provider: LLMProvider | str) -> LLMPromptBuilder:
        """Choose who answers: a provider, its name, or `"provider:model"`."""
        return self._with(provider=provider)

    def model(self, model: str) -> LLMPromptBuilder:
        """Choose the model, as the provider names it, or as `"provider:model"`."""
        return self._with(model=model)

    def fallback(self, *providers: LLMProvider | str) -> LLMPromptBuilder:
        """Say who answers where the provider before it fails."""
        return self._with(fallback=(*self.settings.fallback, *providers))

    def call_limit(self, calls: int) -> LLMPromptBuilder:
        """Limit how many calls of tools and programs one message may lead to."""
        return self.limits(calls=calls)

    def limits(self, **limits: Unpack[_Limits]) -> LLMPromptBuilder:
        """Limit how many `turns`, `calls` and `tokens` one message may lead to, and what it may `cost` in US dollars.

        What is not given stays as it is. Raises TypeError for one that is not a whole number, unless it is `cost`, and
        ValueError for one that is not positive.
        """
        changed: dict[str, Any] = {name: check_limit(name, value) for name, value in limits.items()}
        if "cost" in limits:
            changed["cost"] = Decimal(str(limits["cost"]))
        return self._with(limits=replace(self.settings.limits, **changed))

    def prices(self, prices: Mapping[str, Price]) -> LLMPromptBuilder:
        """Say what models cost, by their names: for `cost`, `turns` and the limit of it, before the table's prices."""
        limits = self.settings.limits
        return self._with(limits=replace(limits, prices={**limits.prices, **check_prices(prices)}))

    def options(self, **options: Any) -> LLMPromptBuilder:
        """Say how to answer: `max_tokens`, `temperature`, `tool_choice`, `strict`, and any field of the request.

        With `native_only=True`, tools are an error where the provider cannot call them; else its model is told to write
        programs over them. Raises TypeError for what is all but one of these names.
        """
        check_options(options)
        return self._with(options={**self.settings.options, **options})

    # Asking -----------------------------------------------------------------------------------------------------------

    async def prompt_conversation(
        self, message: str | None = None, **options: Any
    ) -> tuple[list[Message], LLMPromptBuilder]:
        """Ask, run the calls and programs that the model wants, and go on until it has answered.

        Args:
            message: What to ask, if it has not been said yet.
            options: As `options()` takes them.

        Returns:
            All messages of the conversation, and the builder that goes on with it.

        Raises:
            TurnLimitError: A limit is reached; its `continuation` has what was said so far.
            AuthenticationError: The provider's key is missing or refused.
            ProviderError: The provider fails, or cannot do what is asked.
            MissingExtraError: The provider's SDK is not installed.
        """
        stream = ConversationStream(self._asking(message, options), streaming=False)
        async for _ in stream:
            pass
        return stream.continuation.messages, stream.continuation

    def converse(self, message: str | None = None, **options: Any) -> tuple[list[Message], LLMPromptBuilder]:
        """Do the same as `prompt_conversation`, but block."""
        return _block(partial(self.prompt_conversation, **options), message)

    async def aprompt(self, message: str | None = None, **options: Any) -> str:
        """Ask as `prompt_conversation` does, and return the text of the last answer."""
        _, continuation = await self.prompt_conversation(message, **options)
        return continuation.text

    def prompt(self, message: str | None = None, **options: Any) -> str:
        """Do the same as `aprompt`, but block."""
        return _block(partial(self.aprompt, **options), message)

    async def aprompt_for_type(self, kind: type[T], message: str | None = None, **options: Any) -> T:
        """Ask, and return an answer of a type: a pydantic model, a dataclass, a TypedDict, a list of them, an int.

        A provider that can be held to a JSON Schema is; another's model gives the answer by calling a tool. Tools and
        programs run as ever before. An answer that does not fit is asked for once more, with what is wrong with it.

        Raises:
            SchemaError: The type cannot be described.
            ProviderError: The model did not answer so; the message has what it said last.
            EzPtcError: Whatever `prompt_conversation` raises.
        """
        from ez_ptc.conversation.loop.structured_output import ask_for_type

        value, _ = await ask_for_type(self._asking(message, options), kind)
        return value

    def prompt_for_type(self, kind: type[T], message: str | None = None, **options: Any) -> T:
        """Do the same as `aprompt_for_type`, but block."""
        return _block(partial(self.aprompt_for_type, **options), kind, message)

    def astream(self, message: str | None = None, **options: Any) -> ConversationStream[LLMPromptBuilder]:
        """Ask, and iterate asynchronously over what happens: text in pieces, calls, results, answers with their usage.

        When it is exhausted, its `continuation` goes on with the conversation.
        """
        return ConversationStream(self._asking(message, options))

    def stream(self, message: str | None = None, **options: Any) -> BlockingStream[LLMPromptBuilder]:
        """Do the same as `astream`, but block while the model writes."""
        return BlockingStream(self.astream(message, **options))

    # What was said ----------------------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[Message]:
        """All messages so far, those of answers among them."""
        return [
            message for entry in self.entries for message in (entry.messages if isinstance(entry, Answer) else (entry,))
        ]

    @property
    def state(self) -> ConversationState:
        """The conversation so far in Anthropic's messages and in ours, and its tools. Raises ProviderError.

        It does so for what Anthropic's messages cannot say.
        """
        from ez_ptc.conversation.state import ConversationState

        return ConversationState.of(self.entries, self.settings.tools)

    @property
    def text(self) -> str:
        """The text of the last answer."""
        return next((each.text for each in reversed(self.entries) if isinstance(each, Answer)), "")

    @property
    def stop_reason(self) -> str:
        """Why the last answer ended: "end", "length" where it was cut off, "refusal", or another word of `Answer`'s."""
        return next((each.stop_reason for each in reversed(self.entries) if isinstance(each, Answer)), "")

    @property
    def usage(self) -> Usage:
        """The tokens that all answers so far have taken."""
        return sum((each.usage for each in self.entries if isinstance(each, Answer)), Usage())

    @property
    def cost(self) -> Decimal | None:
        """What all answers so far have cost, in US dollars; None where the price of one is not known.

        By the table of `conversation.prices`, which has a date, and by what `prices()` was given.
        """
        from ez_ptc.conversation.prices import total_cost

        return total_cost(self.entries, self.settings.limits.prices)

    @property
    def turns(self) -> list[TurnUsage]:
        """What each answer so far has taken: its `model`, its `usage`, its `cost`."""
        from ez_ptc.conversation.prices import turn_usages

        return turn_usages(self.entries, self.settings.limits.prices)

    def continued(self, *entries: Entry) -> LLMPromptBuilder:
        """Return the conversation with more entries."""
        return replace(self, entries=(*self.entries, *entries))

    def changed(
        self, *, entries: tuple[Entry, ...] | None = None, settings: Settings | None = None
    ) -> LLMPromptBuilder:
        """Return the conversation with other entries or settings."""
        return LLMPromptBuilder(
            self.entries if entries is None else entries, self.settings if settings is None else settings
        )

    def _asking(self, message: str | None, options: Mapping[str, Any]) -> LLMPromptBuilder:
        asked = self if message is None else self.request(message)
        return asked.options(**options) if options else asked

    def _saying(self, message: TextMessage | MediaMessage) -> LLMPromptBuilder:
        if isinstance(message, TextMessage):
            check_text(message.text)
        return self.continued(message)

    def _with(self, **changes: Any) -> LLMPromptBuilder:
        return replace(self, settings=replace(self.settings, **changes))


class _Start:
    """What `llm` is: called, it gives an empty builder, and so does every step taken from it directly."""

    def __call__(self) -> LLMPromptBuilder:
        """Return an empty conversation."""
        return LLMPromptBuilder()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a builder has
        return getattr(LLMPromptBuilder(), name)


llm = _Start()
"""Where a conversation begins: `llm()` or, as a first step, `llm.agent("You are …")`."""


def _block(function: Callable[..., Coroutine[object, object, T]], *arguments: object) -> T:
    try:
        return run_coroutine(function, *arguments)
    except KeyboardInterrupt as interruption:
        inherit_continuation(interruption)
        raise
