"""What a real model answered in a real run of the demo, for where no model can be had."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import ProviderError
from ez_ptc.providers.provider import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.providers.provider import LLMProvider, Message

__all__ = ["RECORDING", "RecordedModel", "Recorder", "Recording"]

RECORDING: Final = Path(__file__).with_name("recorded.json")


@dataclass(frozen=True, slots=True)
class Recording:
    """A run of the demo: which model it was, the day, and what it answered to each question, try after try."""

    model: str
    date: str
    answers: dict[str, list[str]]

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Read a recording from a file."""
        return cls(**json.loads(path.read_text("utf-8")))

    def save(self, path: Path) -> None:
        """Write the recording to a file."""
        path.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", "utf-8")


class RecordedModel:
    """A provider that answers as in a recording."""

    def __init__(self, recording: Recording) -> None:
        self.model: Final = recording.model
        self._answers: Final = recording.answers

    def answer(
        self, messages: Sequence[Message], *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Answer:
        """Return the recorded answer to the first question of a conversation, at the try it has come to.

        Raises:
            ProviderError: There is none.
        """
        del temperature, max_tokens
        question, tried = _question_and_tries(messages)
        answers = self._answers.get(question, [])
        if tried >= len(answers):
            message = f"the recording has no answer to try {tried + 1} of: {question}"
            raise ProviderError(message)
        return Answer(text=answers[tried])


class Recorder:
    """A provider that asks another and keeps what it answers."""

    def __init__(self, provider: LLMProvider) -> None:
        self.model: Final = provider.model
        self.answers: Final[dict[str, list[str]]] = {}
        self._provider: Final = provider

    def answer(
        self, messages: Sequence[Message], *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Answer:
        """Return the other provider's answer."""
        answer = self._provider.answer(messages, temperature=temperature, max_tokens=max_tokens)
        question, _ = _question_and_tries(messages)
        self.answers.setdefault(question, []).append(answer.text)
        return answer


def _question_and_tries(messages: Sequence[Message]) -> tuple[str, int]:
    question = next(message.text for message in messages if message.role == "user")
    return question, sum(message.role == "assistant" for message in messages)
