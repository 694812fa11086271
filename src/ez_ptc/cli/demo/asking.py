"""A question, the program that a model writes to answer it, and one more try when the program fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ez_ptc.conversation.builder import llm

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.toolkit.toolkit import Toolkit

__all__ = ["Watcher", "answer_question"]

_TRIES: Final = 2
_MAX_TOKENS: Final = 800
_NO_PROGRAM: Final = "There is no program in this answer. Answer with ONE ```python block."


class Watcher(Protocol):
    """Sees how a question is answered."""

    def thinking(self, *, again: bool) -> AbstractContextManager[object]:
        """Return what is entered while the model writes, `again` when its first program failed."""
        ...

    def wrote(self, program: str, /) -> None:
        """See the program that the model wrote, before it runs."""
        ...

    def failed(self, reason: str, /) -> None:
        """See why there is no answer from this try: what the model is told of it."""
        ...


def answer_question(question: str, provider: LLMProvider, *, toolkit: Toolkit, watcher: Watcher) -> str:
    """Have a model write a program that answers a question, run it, and return what it printed, or else its value.

    A program that fails, or has neither, goes back to the model once with what was wrong. When that fails too, the
    answer is empty.
    """
    asked = llm().provider(provider).options(temperature=0, max_tokens=_MAX_TOKENS)
    asked = asked.agent(toolkit.prompt()).request(question)
    for attempt in range(_TRIES):
        with watcher.thinking(again=attempt > 0):
            _, asked = asked.converse()
        program = toolkit.extract_code(asked.text)
        reason = _NO_PROGRAM
        if program is not None:
            watcher.wrote(program)
            result = toolkit.execute(program)
            if result.success and (answer := result.to_string().strip()):
                return answer
            reason = toolkit.answer(program, result)
        watcher.failed(reason)
        asked = asked.request(reason)
    return ""
