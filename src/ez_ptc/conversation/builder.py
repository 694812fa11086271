"""The conversation builder: each method returns a new conversation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Never, TypeVar

from ez_ptc._sync import run_coroutine
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.conversation.contents import ConversationContents, outcome
from ez_ptc.conversation.loop.continuations import Continuing, inherit_continuation
from ez_ptc.conversation.loop.pausing import Resumption, check_decisions, paused_tail, require_answer
from ez_ptc.conversation.loop.stream import BlockingStream, ConversationStream
from ez_ptc.conversation.media import media_message
from ez_ptc.conversation.offered_tools import check_names, check_provider, with_tools
from ez_ptc.conversation.validation import (
    check_entries,
    check_last_message,
    check_lifetime,
    check_limit,
    check_listener,
    check_options,
    check_prices,
    check_toolkit,
    check_type,
)
from ez_ptc.messages import (
    AudioMessage,
    DocumentMessage,
    ImageMessage,
    MediaMessage,
    Message,
    MessageRole,
    TextMessage,
    ToolResultMessage,
    VideoMessage,
)
from ez_ptc.schema.safe_repr import safe_repr_with_type
from ez_ptc.tools.approvals.approval import check_approver
from ez_ptc.tools.decisions import require_decisions

if TYPE_CHECKING:
    from pathlib import Path

    from ez_ptc.conversation.prices import Price
    from ez_ptc.conversation.settings import AnyProvider, BuilderSettings
    from ez_ptc.messages import Entry
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["LLMPromptBuilder", "llm"]

T = TypeVar("T")

_AnyCallable = Callable[..., object]


@explain_calls(checks="call_limit() decisions limits() listen message mode text")
@dataclass(frozen=True, slots=True)
class LLMPromptBuilder(ConversationContents):
    """An immutable conversation: each method returns a new one with a message or a setting added.

    `llm()` returns an empty one. `entries` are the messages and answers so far, `settings` everything else.
    """

    # Messages ---------------------------------------------------------------------------------------------------------

    def agent(self, text: str) -> LLMPromptBuilder:
        """Add a system message: who the model is, and how to work.

        After the first answer, it holds from its position on; a provider without such messages raises ProviderError.
        """
        return self._add(TextMessage(text, role=MessageRole.SYSTEM))

    def context(self, text: str) -> LLMPromptBuilder:
        """Add background information before the question."""
        return self._add(TextMessage(text))

    def request(self, text: str) -> LLMPromptBuilder:
        """Add a question."""
        return self._add(TextMessage(text))

    def assistant(self, text: str) -> LLMPromptBuilder:
        """Add an assistant message, as an example of an answer."""
        return self._add(TextMessage(text, role=MessageRole.ASSISTANT))

    def image(self, image: bytes | str | Path, *, media_type: str | None = None) -> LLMPromptBuilder:
        """Add an image: its bytes, a file's path, or a URL.

        Without a media type, that of the data. Raises ValueError for other or too much data, and OSError as `open`.
        """
        return self._add(media_message(ImageMessage, image, media_type=media_type))

    def document(
        self, document: bytes | str | Path, *, media_type: str | None = None, name: str = ""
    ) -> LLMPromptBuilder:
        """Add a document, such as a PDF file or a text, and its `name`. Raises what `image` raises."""
        return self._add(media_message(DocumentMessage, document, media_type=media_type, name=name))

    def audio(self, audio: bytes | str | Path, *, media_type: str | None = None) -> LLMPromptBuilder:
        """Add an audio recording. Raises what `image` raises."""
        return self._add(media_message(AudioMessage, audio, media_type=media_type))

    def video(self, video: bytes | str | Path, *, media_type: str | None = None) -> LLMPromptBuilder:
        """Add a video. Raises what `image` raises."""
        return self._add(media_message(VideoMessage, video, media_type=media_type))

    def cache(self, lifetime: str | None = None, *, tools: bool = False) -> LLMPromptBuilder:
        """Mark the last message (or the tools) as the end of a prefix for the provider to cache.

        Cached input costs less. `lifetime` is "5m" or "1h" at Anthropic, "30m" or "12h" at OpenAI. Providers without
        cache marks get none. Raises ValueError for another lifetime, and if the last entry is not a message of yours.
        """
        mark = check_lifetime(lifetime)
        if tools:
            return self._with(cache_tools=mark)
        return replace(self, entries=(*self.entries[:-1], replace(check_last_message(self.entries), cache=mark)))

    # Tools ------------------------------------------------------------------------------------------------------------

    def tool(self, tool_function: _AnyCallable) -> LLMPromptBuilder:
        """Add a function or a tool that the model may call. Raises what `tools` raises."""
        return self.tools(tool_function)

    def tools(
        self, *functions: _AnyCallable | Iterable[_AnyCallable], tool_functions: Iterable[_AnyCallable] = ()
    ) -> LLMPromptBuilder:
        """Add functions, tools, or lists and registries of them, that the model may call.

        A list may also be given as `tool_functions`. A tool that is already there is not added again. Raises
        DuplicateToolError if two tools have the same name, and SchemaError if a function cannot be a tool.
        """
        tools = with_tools(self.settings.tools, (*functions, tool_functions))
        check_names(tools, has_programs=self.settings.has_program_tool)
        return self._with(tools=tools)

    def toolkit(self, toolkit: Toolkit, *, mode: Literal["tool", "prompt"] = "tool") -> LLMPromptBuilder:
        """Let the model write programs over a toolkit's tools.

        In mode "tool", it passes them to the tool `execute_tools`. In mode "prompt", it writes them into its text,
        which any model can do. Raises DuplicateToolError if another tool is called `execute_tools`.
        """
        check_toolkit(toolkit, mode)
        check_names(self.settings.tools, has_programs=mode == "tool")
        return self._with(toolkit=toolkit, mode=mode)

    def tool_context(self, context: object) -> LLMPromptBuilder:
        """Set the value of the tools' `Context` parameters."""
        return self._with(tool_context=context)

    def approve(self, approve: Approver) -> LLMPromptBuilder:
        """Set the approver of calls that require approval, including calls from programs.

        It may be async, gets a `PendingCall`, and returns True, a dict of changed arguments, or a reason for refusal.
        """
        check_approver(approve)
        return self._with(approve=approve)

    def on_tool_call(self, listen: OnToolCall) -> LLMPromptBuilder:
        """Call `listen` after each tool call, including calls from programs.

        `listen` gets a dict like those in `ExecutionResult.tool_calls`: `name`, `args`, `kwargs`, `result`, `error`,
        `duration_ms`. It is called from the event loop, is not awaited, and should return at once. An exception from it
        ends the conversation. Use `stream()` to see calls before they run.
        """
        return self._with(on_tool_call=check_listener(listen))

    # Providers, limits, options ---------------------------------------------------------------------------------------

    def provider(self, provider: AnyProvider) -> LLMPromptBuilder:
        """Set the provider: an object, its name, or `"provider:model"`."""
        return self._with(provider=provider and check_provider(provider))

    def model(self, model: str) -> LLMPromptBuilder:
        """Set the model, by the provider's name for it or as `"provider:model"`."""
        return self._with(model=model)

    def fallback(self, *providers: AnyProvider) -> LLMPromptBuilder:
        """Add providers that take over, in order, if the ones before them fail."""
        return self._with(fallback=(*self.settings.fallback, *map(check_provider, providers)))

    def call_limit(self, calls: int) -> LLMPromptBuilder:
        """Limit the number of tool calls and programs for each message, as `limits(calls=...)`."""
        return self._with(limits=replace(self.settings.limits, calls=check_limit("calls", calls)))

    def limits(
        self,
        *,
        turns: int | None = None,
        calls: int | None = None,
        tokens: int | None = None,
        cost: float | Decimal | None = None,
        text: int | None = None,
    ) -> LLMPromptBuilder:
        """Set limits for each message; None leaves a limit as it is.

        Args:
            turns: The maximum number of answers (default 20).
            calls: The maximum number of tool calls and programs (default: any number).
            tokens: The maximum number of input and output tokens (default: any number).
            cost: The maximum cost in US dollars (default: any).
            text: The maximum number of characters of one result that the model reads; a longer one is shortened
                (default: the toolkit's `limits.text`, or 30,000).

        Raises:
            TypeError: A limit other than `cost` is not an int.
            ValueError: A limit is not positive.
        """
        limits = {"turns": turns, "calls": calls, "tokens": tokens, "cost": cost, "text": text}
        changes: dict[str, Any] = {
            name: check_limit(name, value) for name, value in limits.items() if value is not None
        }
        if cost is not None:
            changes["cost"] = Decimal(str(cost))
        return self._with(limits=replace(self.settings.limits, **changes))

    def prices(self, prices: Mapping[str, Price]) -> LLMPromptBuilder:
        """Set prices by model name, for `cost`, `turns` and the limit of cost; they override the built-in table."""
        limits = self.settings.limits
        return self._with(limits=replace(limits, prices={**limits.prices, **check_prices(prices)}))

    def options(self, **options: Any) -> LLMPromptBuilder:
        """Set `max_tokens`, `temperature`, `tool_choice`, `strict`, or any other field of the provider's request.

        With `native_only=True`, tools raise ProviderError if the provider cannot call them; otherwise its model writes
        programs over them. At Anthropic and OpenAI's Responses, `hosted_programs=True` lets programs that the provider
        runs call the tools, and with `tool_search="provider"` its search describes them to the model.

        Raises TypeError for a misspelt option, and ProviderError for one of the wrong type.
        """
        check_options(options)
        return self._with(options={**self.settings.options, **options})

    # Questions --------------------------------------------------------------------------------------------------------

    async def prompt_conversation(
        self, message: str | None = None, **options: Any
    ) -> tuple[list[Message], LLMPromptBuilder]:
        """Ask the model, run its tool calls and programs, and repeat until it has answered.

        Args:
            message: The question, unless the last message is it.
            options: Options for this question, as for `options()`.

        Returns:
            All messages of the conversation, and the builder that continues it. If a call waits for a decision, its
            `status` is "paused", and its `resume` goes on.

        Raises:
            TurnLimitError: A limit is reached; its `continuation` is the builder so far.
            AuthenticationError: The provider's key is missing or refused.
            ProviderError: The provider fails, or does not support the request.
            MissingExtraError: The provider's SDK is not installed.
        """
        question = self._with_question(message, options)
        stream = ConversationStream(question.entries, question.settings, question.continued, streaming=False)
        async for _ in stream:
            pass
        return outcome(stream.continuation.messages, stream.continuation)

    def converse(self, message: str | None = None, **options: Any) -> tuple[list[Message], LLMPromptBuilder]:
        """Same as `prompt_conversation`, but blocks."""
        return _block(partial(self.prompt_conversation, **options), message)

    async def aresume(self, decisions: Mapping[str, object] | None = None) -> tuple[list[Message], LLMPromptBuilder]:
        """Continue a paused conversation: run the calls that wait, and go on as `prompt_conversation` does.

        Args:
            decisions: `Approve()`, `Approve({...})`, `Deny("reason")` or their short forms, by the ids of `pending`
                calls. The approver is asked about the others; without one, the conversation pauses again.

        Raises:
            DecisionError: The conversation is not paused, or a decision is about no pending call.
            JournalError: The run of a program that waits cannot be continued.
            EzPtcError: Whatever `prompt_conversation` raises.
        """
        answers = require_decisions(decisions, "resume({conversation.pending[0].id: True})")
        check_decisions(self.entries, answers)
        start = paused_tail(self.entries) or len(self.entries)
        results = [entry for entry in self.entries[start:] if isinstance(entry, ToolResultMessage | TextMessage)]
        base = replace(self, entries=self.entries[:start])
        stream = ConversationStream(
            base.entries, self.settings, base.continued, streaming=False, resumption=Resumption.of(results, answers)
        )
        async for _ in stream:
            pass
        return outcome(stream.continuation.messages, stream.continuation)

    def resume(self, decisions: Mapping[str, object] | None = None) -> tuple[list[Message], LLMPromptBuilder]:
        """Same as `aresume`, but blocks."""
        return _block(self.aresume, decisions)

    async def aprompt(self, message: str | None = None, **options: Any) -> str:
        """Ask like `prompt_conversation`, and return the text of the last answer.

        Raises PausedError if a call waits for a decision; its `continuation` can be resumed.
        """
        _, continuation = await self.prompt_conversation(message, **options)
        with Continuing(lambda: continuation):
            require_answer(continuation.entries)
        return continuation.text

    async def prompt_for_text(self, message: str | None = None, **options: Any) -> str:
        """Same as `aprompt`: ask like `prompt_conversation`, and return the text of the last answer."""
        return await self.aprompt(message, **options)

    def prompt(self, message: str | None = None, **options: Any) -> str:
        """Same as `aprompt`, but blocks."""
        return _block(partial(self.aprompt, **options), message)

    async def aprompt_for_type(self, kind: type[T], message: str | None = None, **options: Any) -> T:
        """Ask, and return an answer of a type: a pydantic model, a dataclass, a TypedDict, a list of them, an int.

        Providers that enforce a JSON Schema get it; other models give the answer by calling a tool. Tools and programs
        run as usual. An answer that does not fit is asked for once more, with its problems.

        Raises:
            TypeError: It is no type.
            SchemaError: The type cannot be described.
            ProviderError: The model did not give such an answer; the message quotes its last text.
            EzPtcError: Whatever `prompt_conversation` raises.
        """
        from ez_ptc.conversation.loop.structured_output import ask_for_type

        check_type(kind)
        question = self._with_question(message, options)
        value, _ = await ask_for_type(question.entries, question.settings, question.continued, kind)
        return value

    def prompt_for_type(self, kind: type[T], message: str | None = None, **options: Any) -> T:
        """Same as `aprompt_for_type`, but blocks."""
        return _block(partial(self.aprompt_for_type, **options), kind, message)

    def astream(self, message: str | None = None, **options: Any) -> ConversationStream[LLMPromptBuilder]:
        """Ask, and iterate asynchronously over the events: pieces of text, calls, results, answers with their usage.

        After the last event, the stream's `continuation` continues the conversation.
        """
        question = self._with_question(message, options)
        return ConversationStream(question.entries, question.settings, question.continued)

    def stream(self, message: str | None = None, **options: Any) -> BlockingStream[LLMPromptBuilder]:
        """Same as `astream`, but blocks."""
        return BlockingStream(self.astream(message, **options))

    def continued(self, *entries: Entry, **settings: Any) -> LLMPromptBuilder:
        """Return the conversation with entries added, and with other settings, if given."""
        check_entries(entries)
        return replace(self._with(**settings) if settings else self, entries=(*self.entries, *entries))

    def changed(
        self, *, entries: tuple[Entry, ...] | None = None, settings: BuilderSettings | None = None
    ) -> LLMPromptBuilder:
        """Return the conversation with other entries or settings."""
        return LLMPromptBuilder(
            self.entries if entries is None else entries, self.settings if settings is None else settings
        )

    def _with_question(self, message: str | None, options: Mapping[str, Any]) -> LLMPromptBuilder:
        question = self
        if message is not None:
            question = question.request(message)
        if options:
            question = question.options(**options)
        return question

    def _add(self, message: TextMessage | MediaMessage) -> LLMPromptBuilder:
        return self.continued(message)

    def _with(self, **changes: Any) -> LLMPromptBuilder:
        return replace(self, settings=replace(self.settings, **changes))


@explain_calls
def llm(*unexpected: Never, **unknown: Never) -> LLMPromptBuilder:
    """Return an empty conversation, to build on.

        messages, conversation = llm().tools(price_of).provider(model).converse("What does a lamp cost?")

    It takes no arguments.
    """
    if unexpected or unknown:
        first = [*map(safe_repr_with_type, unexpected), *(f"{name}=..." for name in unknown)][0]
        ways = 'name the model in a method, as in llm().provider("openai").model("gpt-5"), and ask in the last one, '
        message = f'llm() takes no arguments, got {first}: {ways}llm().prompt("...")'
        raise TypeError(message)
    return LLMPromptBuilder()


def _block(function: Callable[..., Coroutine[object, object, T]], *arguments: object) -> T:
    try:
        return run_coroutine(function, *arguments)
    except KeyboardInterrupt as interruption:
        inherit_continuation(interruption)
        raise
