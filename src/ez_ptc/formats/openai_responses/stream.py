"""An answer of OpenAI's Responses that comes in pieces."""

from collections.abc import Mapping
from typing import Any, Final

from ez_ptc.errors import ConnectionFailedError
from ez_ptc.formats.json_reader import read_body
from ez_ptc.formats.openai_responses.messages import answer
from ez_ptc.formats.openai_shapes.parts import OPENAI, raise_error
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces
from ez_ptc.messages import Answer

__all__ = ["AnswerStream"]

_TEXT: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_ITEM: Final = "response.output_item.done"


class AnswerStream:
    """Takes the events of a response one by one, and puts together the answer that they make."""

    def __init__(self, prompt: Prompt, *, server: str = OPENAI) -> None:
        self._prompt = prompt
        self._server = server
        self._items: dict[int, Mapping[str, Any]] = {}
        self._response: Mapping[str, Any] | None = None
        self._text = TextPieces()

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take the next event, and return the text in it.

        Raises ProviderError for an event that is none, and what `raise_error` raises for one that reports an error.
        """
        top = read_body(event, "event")
        kind = top.type_name()
        if kind == "error" or top.fields.get("error"):
            raise_error(top.fields.get("error") or top.fields)
        if kind in _TEXT:
            text = top.fields.get("delta")
            return self._text.deltas(text) if isinstance(text, str) else []
        if kind == _ITEM and (item := top.object("item")) is not None:
            at = top.fields.get("output_index")
            self._items[at if isinstance(at, int) else len(self._items)] = item.fields
        elif kind in _ENDS and (response := top.object("response")) is not None:
            self._response = response.fields
        return self._text.end() if kind in _ENDS or kind == _ITEM else []

    def end(self) -> list[TextDelta]:
        """Return the text that is left: here an event says that a response is complete, and nothing else does."""
        return self._text.end()

    def answer(self) -> Answer:
        """Return the whole answer. Raises ConnectionFailedError where the stream ended before it, and ProviderError."""
        if self._response is None:
            message = "the provider's stream ended before the answer was complete: ask again"
            raise ConnectionFailedError(message)
        items = [self._items[at] for at in sorted(self._items)]
        # There are servers whose last event leaves out what the events before it had.
        output = self._response.get("output") or items
        return answer({**self._response, "output": output}, self._prompt, server=self._server)
