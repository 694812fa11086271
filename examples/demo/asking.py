"""Answering a question with a program of the model, with one retry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ez_ptc.conversation.builder import llm

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.toolkit.toolkit import Toolkit

__all__ = ["Watcher", "answer_question"]

_MAX_ATTEMPTS: Final = 2
_MAX_TOKENS: Final = 800
_NO_PROGRAM: Final = "There is no program in this answer. Answer with ONE ```python block."


class Watcher(Protocol):
    """Shows the progress of a question."""

    def show_thinking(self, *, is_retry: bool) -> AbstractContextManager[object]:
        """Return a context manager for the time in which the model writes."""
        ...

    def show_program(self, program: str, /) -> None:
        """Show the model's program before it runs."""
        ...

    def show_failure(self, reason: str, /) -> None:
        """Show the error message that the model reads."""
        ...


def answer_question(question: str, provider: LLMProvider, *, toolkit: Toolkit, watcher: Watcher) -> str:
    """Let a model write a program that answers a question, run it, and return its output, or else its value.

    If the program fails, or returns neither, the model gets the error and one retry. After that, the answer is empty.
    """
    conversation = llm().provider(provider).options(temperature=0, max_tokens=_MAX_TOKENS)
    conversation = conversation.agent(toolkit.prompt()).request(question)
    for attempt in range(_MAX_ATTEMPTS):
        with watcher.show_thinking(is_retry=attempt > 0):
            _, conversation = conversation.converse()
        program = toolkit.extract_code(conversation.text)
        reason = _NO_PROGRAM
        if program is not None:
            watcher.show_program(program)
            result = toolkit.execute(program)
            if result.success and (answer := result.to_string().strip()):
                return answer
            reason = toolkit.answer(program, result)
        watcher.show_failure(reason)
        conversation = conversation.request(reason)
    return ""
