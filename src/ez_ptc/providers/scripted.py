"""A provider with prepared answers, for tests and for documentation that runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from ez_ptc._wrong_calls import explain_calls, other_parameters
from ez_ptc.errors import ProviderError
from ez_ptc.formats.ordering import check_order
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.messages import Answer, ToolCall
from ez_ptc.providers.prompting import PromptableProvider, answer_of, with_tool_names

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ez_ptc.formats.prompt import Event

__all__ = ["Script", "ScriptedProvider"]

_END: Final = object()

Script = str | ToolCall | Sequence[str | ToolCall] | Answer | Exception | Callable[[Prompt], object]
"""One answer: text, a call, several of both, a whole answer, an error to raise, or a function that returns one."""


@explain_calls(checks="prompt_with_tools(tools)")
class ScriptedProvider(PromptableProvider):
    """Gives its prepared answers in order, and keeps the prompts it received in `prompts`.

        model = ScriptedProvider(ToolCall("", "price_of", {"product": "lamp"}), "A lamp costs 39.50 euros.")
        print(llm().tools(price_of).provider(model).prompt("What does a lamp cost?"))

    Each prompt is checked as a provider would: a call without a result, or a result without a call, is a ProviderError,
    and so is a prompt after the last answer. A call without an id gets one.
    """

    def __init__(
        self, *answers: Script, model: str = "scripted", tools: bool = True, output_schema: bool = False
    ) -> None:
        self.name = "scripted"
        self.model = model
        self.prompts: list[Prompt] = []
        for script in answers:
            other = None if isinstance(script, Exception) or not callable(script) else other_parameters(script, 1)
            if other is not None:
                message = f"expected a function of one argument, the Prompt, as an answer, got {other}"
                raise TypeError(message)
        self._answers = iter(answers)
        self._tools = tools
        self._output_schema = output_schema

    def supports_tools(self) -> bool:
        """Return whether it was created with tool support."""
        return self._tools

    def supports_output_schema(self) -> bool:
        """Return whether it was created with support for a JSON Schema of the answer."""
        return self._output_schema

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[ScriptedProvider]:
        """Yield itself: there is nothing to open."""
        yield self

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the next answer."""
        check_order(prompt.entries)
        self.prompts.append(prompt)
        script: object = next(self._answers, _END)
        if script is _END:
            message = f"the script has no answer number {len(self.prompts)}: give ScriptedProvider one more"
            raise ProviderError(message)
        return self._make_answer(script, prompt)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Yield the next answer, its text word by word."""
        answer = await self.answer(prompt)
        for word in re.findall(r"\s*\S+|\s+$", answer.text):
            yield TextDelta(word)
        yield answer

    def _make_answer(self, script: object, prompt: Prompt) -> Answer:
        if isinstance(script, Exception):
            raise script
        if callable(script):
            return self._make_answer(script(prompt), prompt)
        answer = answer_of(script, provider=self.name, model=prompt.model or self.model, number=len(self.prompts))
        return with_tool_names(answer, prompt.tools)
