"""Streamed answers of OpenAI's Responses API: events joined into one response."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final, cast

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.json_reader import JsonObject, RepeatedCalls, read_body, text_or_empty
from ez_ptc.formats.openai_responses.messages import answer
from ez_ptc.formats.openai_responses.tools import CALL
from ez_ptc.formats.openai_shapes.answers import raise_reported_error
from ez_ptc.formats.openai_shapes.servers import OPENAI
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces
from ez_ptc.messages import Answer

__all__ = ["AnswerStream"]

_OUTPUT_TEXT: Final = "response.output_text.delta"
_TEXT_EVENTS: Final = frozenset({_OUTPUT_TEXT, "response.refusal.delta"})
_END_EVENTS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_ITEM_EVENT: Final = "response.output_item.done"
_ARGUMENTS: Final = "response.function_call_arguments."
_ITEM_EVENTS: Final = frozenset({"response.output_item.added", _ITEM_EVENT})


class AnswerStream:
    """Joins a stream's events into one response for `answer`."""

    def __init__(self, prompt: Prompt, *, server: str = OPENAI) -> None:
        self._prompt = prompt
        self._server = server
        # Each with its index: some servers number no items, or all with 0.
        self._items: list[tuple[object, Mapping[str, Any]]] = []
        self._started: dict[tuple[object, ...], Mapping[str, Any]] = {}
        self._repeated = RepeatedCalls()
        # Of calls that are not done, by their item's id or their index: some servers leave them out of the item.
        self._arguments: dict[object, list[str]] = {}
        self._complete_arguments: set[object] = set()
        self._response: Mapping[str, Any] | None = None
        self._text = TextPieces()
        self._said: list[str] = []

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Process the next event and return its new text.

        Raises ProviderError for an invalid event, and the errors of `raise_reported_error`.
        """
        received = read_body(event, "event")
        event_type = received.type_name()
        raise_reported_error(received)
        if event_type in _TEXT_EVENTS:
            text = received.fields.get("delta")
            if not isinstance(text, str):
                return []
            if event_type == _OUTPUT_TEXT:
                self._said.append(text)
            return self._text.deltas(text)
        if event_type.startswith(_ARGUMENTS):
            self._add_arguments(received.fields)
        elif event_type in _ITEM_EVENTS and (item := received.object("item")) is not None:
            self._add_item(item, received.fields.get("output_index"), is_done=event_type == _ITEM_EVENT)
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
        # Some servers complete the arguments of a call, but not its item.
        for (index, identifier, _), fields in self._started.items():
            for key in (identifier, index):
                if key in self._complete_arguments and key in self._arguments:
                    text = "".join(self._arguments.pop(key))
                    self._items.append((index, {**fields, "arguments": text, "status": "completed"}))
        items = self._items
        if all(isinstance(index, int) for index, _ in items):
            items = sorted(items, key=itemgetter(0))
        # Some servers leave the items out of the last event, or the calls.
        output: object = self._response.get("output") or [item for _, item in items]
        if isinstance(output, list) and not any(map(_is_call, cast("list[object]", output))):
            output = [*cast("list[object]", output), *(item for _, item in items if _is_call(item))]
        if not output and self._said:  # and some send no items either
            content_part = {"type": "output_text", "text": "".join(self._said)}
            output = [{"type": "message", "role": "assistant", "content": [content_part]}]
        complete = answer({**self._response, "output": output}, self._prompt, server=self._server)
        if complete.stop_reason != "length" and len(complete.calls) < len(self._started):
            message = (
                f"the provider's stream began {len(self._started)} calls and completed {len(complete.calls)}; ask again"
            )
            raise ProviderError(message)
        return complete

    def _add_item(self, item: JsonObject, index: object, *, is_done: bool) -> None:
        identifiers = tuple(text_or_empty(item.fields.get(key)) for key in ("id", "call_id"))
        if item.type_name() == CALL and not is_done:
            self._started[index if isinstance(index, int) else None, *identifiers] = item.fields
        if is_done and not self._repeated.is_repeated(index, item.fields, *identifiers):
            pieces = self._arguments.pop(identifiers[0], None) or self._arguments.pop(index, [])
            fields = item.fields
            if item.type_name() == CALL and not fields.get("arguments"):
                fields = {**fields, "arguments": "".join(pieces)}
            self._items.append((index, fields))

    def _add_arguments(self, event: Mapping[str, Any]) -> None:
        index = event.get("output_index")
        if not isinstance(index, int):
            index = None
        key: object = text_or_empty(event.get("item_id")) or index
        if text := text_or_empty(event.get("arguments")):
            self._arguments[key] = [text]
            self._complete_arguments.add(key)
        elif text := text_or_empty(event.get("delta")):
            self._arguments.setdefault(key, []).append(text)


def _is_call(item: object) -> bool:
    return isinstance(item, Mapping) and cast("Mapping[str, object]", item).get("type") == CALL
