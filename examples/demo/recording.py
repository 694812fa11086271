"""A recorded run of the demo with a real model, for machines without one."""

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
    from ez_ptc.providers.provider import LLMProvider, ProviderConnection

__all__ = ["RECORDING", "RecordedModel", "Recorder", "Recording"]

RECORDING: Final = Path(__file__).with_name("recording.json")


@dataclass(frozen=True, slots=True)
class Recording:
    """A run of the demo: the model, the date, and the answers of each attempt by question."""

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
    """A provider that replays a recording."""

    def __init__(self, recording: Recording) -> None:
        self.name: Final = "recorded"
        self.model: Final = recording.model
        self._answers: Final = recording.answers

    def supports_tools(self) -> bool:
        """Return False: recorded answers are text."""
        return False

    def supports_output_schema(self) -> bool:
        """Return False: recorded answers are text."""
        return False

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[RecordedModel]:
        """Yield the provider itself: there is nothing to open."""
        yield self

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the recorded answer to a conversation's question, for its current attempt.

        Raises:
            ProviderError: The recording has no such answer.
        """
        question, attempt = _question_and_attempt(prompt)
        answers = self._answers.get(question, [])
        if attempt >= len(answers):
            message = f"the recording has no answer for attempt {attempt + 1} of: {question}"
            raise ProviderError(message)
        message = TextMessage(answers[attempt], role=MessageRole.ASSISTANT)
        return Answer(messages=(message,), provider=self.name, model=self.model)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Yield the recorded answer, all at once."""
        yield await self.answer(prompt)


class Recorder:
    """A provider that asks another one and records its answers."""

    def __init__(self, provider: LLMProvider) -> None:
        self.name: Final = provider.name
        self.model: Final = provider.model
        self.answers: Final[dict[str, list[str]]] = {}
        self._provider: Final = provider

    def supports_tools(self) -> bool:
        """Return whether the other provider can call tools."""
        return self._provider.supports_tools()

    def supports_output_schema(self) -> bool:
        """Return whether the other provider enforces a JSON Schema."""
        return self._provider.supports_output_schema()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[_RecordingConnection]:
        """Open a connection to the other provider."""
        async with self._provider.connect() as connection:
            yield _RecordingConnection(connection, self.answers)


class _RecordingConnection:
    def __init__(self, connection: ProviderConnection, answers: dict[str, list[str]]) -> None:
        self._connection = connection
        self._answers = answers

    async def answer(self, prompt: Prompt) -> Answer:
        answer = await self._connection.answer(prompt)
        question, _ = _question_and_attempt(prompt)
        self._answers.setdefault(question, []).append(answer.text)
        return answer

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        yield await self.answer(prompt)


def _question_and_attempt(prompt: Prompt) -> tuple[str, int]:
    entries = prompt.entries
    questions = (entry for entry in entries if isinstance(entry, TextMessage) and entry.role is MessageRole.USER)
    return next(questions).text, sum(isinstance(entry, Answer) for entry in entries)
