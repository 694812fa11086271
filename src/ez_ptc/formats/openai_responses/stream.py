"""Streamed answers of OpenAI's Responses API: events joined into one response."""

from collections.abc import Mapping
from typing import Any, Final

from ez_ptc.errors import ConnectionFailedError
from ez_ptc.formats.json_reader import read_body
from ez_ptc.formats.openai_responses.messages import answer
from ez_ptc.formats.openai_shapes.answers import raise_reported_error
from ez_ptc.formats.openai_shapes.servers import OPENAI
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces
from ez_ptc.messages import Answer

__all__ = ["AnswerStream"]

_TEXT_EVENTS: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})
_END_EVENTS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_ITEM_EVENT: Final = "response.output_item.done"


class AnswerStream:
    """Joins a stream's events into one response for `answer`."""

    def __init__(self, prompt: Prompt, *, server: str = OPENAI) -> None:
        self._prompt = prompt
        self._server = server
        self._items: dict[int, Mapping[str, Any]] = {}
        self._response: Mapping[str, Any] | None = None
        self._text = TextPieces()

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Process the next event and return its new text.

        Raises ProviderError for an invalid event, and the errors of `raise_reported_error`.
        """
        received = read_body(event, "event")
        event_type = received.type_name()
        if event_type == "error" or received.fields.get("error"):
            raise_reported_error(received.fields.get("error") or received.fields)
        if event_type in _TEXT_EVENTS:
            text = received.fields.get("delta")
            if isinstance(text, str):
                return self._text.deltas(text)
            return []
        if event_type == _ITEM_EVENT and (item := received.object("item")) is not None:
            index = received.fields.get("output_index")
            self._items[index if isinstance(index, int) else len(self._items)] = item.fields
        elif event_type in _END_EVENTS and (response := received.object("response")) is not None:
            self._response = response.fields
        if event_type in _END_EVENTS or event_type == _ITEM_EVENT:
            return self._text.end()
        return []

    def end(self) -> list[TextDelta]:
        """Return the remaining text; only an event completes a response here."""
        return self._text.end()

    def answer(self) -> Answer:
        """Return the complete answer. Raises ConnectionFailedError if the stream ended early, and ProviderError."""
        if self._response is None:
            message = "the provider's stream ended before the answer was complete; ask again"
            raise ConnectionFailedError(message)
        items = [self._items[index] for index in sorted(self._items)]
        # Some servers leave the items out of the last event.
        output = self._response.get("output") or items
        return answer({**self._response, "output": output}, self._prompt, server=self._server)
