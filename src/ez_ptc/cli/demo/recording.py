"""What a real model answered in a real run of the demo, for where no model can be had."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import ProviderError
from ez_ptc.messages import Answer, MessageRole, TextMessage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.providers.provider import Connection, LLMProvider

__all__ = ["RECORDING", "RecordedModel", "Recorder", "Recording"]

RECORDING: Final = Path(__file__).with_name("recording.json")


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
        self.name: Final = "recorded"
        self.model: Final = recording.model
        self._answers: Final = recording.answers

    def supports_tools(self) -> bool:
        """Whether it can call tools: no, what was recorded is text."""
        return False

    def supports_output_schema(self) -> bool:
        """Whether it can be held to a JSON Schema: no."""
        return False

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[RecordedModel]:
        """Return itself: there is nothing to open."""
        yield self

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the recorded answer to the first question of a conversation, at the try it has come to.

        Raises:
            ProviderError: There is none.
        """
        question, tried = _question_and_tries(prompt)
        answers = self._answers.get(question, [])
        if tried >= len(answers):
            message = f"the recording has no answer to try {tried + 1} of: {question}"
            raise ProviderError(message)
        said = TextMessage(answers[tried], role=MessageRole.ASSISTANT)
        return Answer(messages=(said,), provider=self.name, model=self.model)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Give the recorded answer, all at once."""
        yield await self.answer(prompt)


class Recorder:
    """A provider that asks another and keeps what it answers."""

    def __init__(self, provider: LLMProvider) -> None:
        self.name: Final = provider.name
        self.model: Final = provider.model
        self.answers: Final[dict[str, list[str]]] = {}
        self._provider: Final = provider

    def supports_tools(self) -> bool:
        """Whether the other provider can call tools."""
        return self._provider.supports_tools()

    def supports_output_schema(self) -> bool:
        """Whether the other provider can be held to a JSON Schema."""
        return self._provider.supports_output_schema()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[_Recording]:
        """Open a way to the other provider."""
        async with self._provider.connect() as connection:
            yield _Recording(connection, self.answers)


class _Recording:
    def __init__(self, connection: Connection, answers: dict[str, list[str]]) -> None:
        self._connection = connection
        self._answers = answers

    async def answer(self, prompt: Prompt) -> Answer:
        answer = await self._connection.answer(prompt)
        question, _ = _question_and_tries(prompt)
        self._answers.setdefault(question, []).append(answer.text)
        return answer

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        yield await self.answer(prompt)


def _question_and_tries(prompt: Prompt) -> tuple[str, int]:
    said = (each for each in prompt.entries if isinstance(each, TextMessage) and each.role is MessageRole.USER)
    return next(said).text, sum(isinstance(each, Answer) for each in prompt.entries)
