"""Streamed answers of Anthropic's Messages API: events joined into one response."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.anthropic.messages import INVALID_JSON, answer
from ez_ptc.formats.json_reader import JsonObject, read_body
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces, join_pieces
from ez_ptc.messages import Answer
from ez_ptc.schema.arguments.json_text import parse_value
from ez_ptc.schema.safe_repr import safe_repr_with_type

__all__ = ["AnswerStream"]

_Json = dict[str, Any]

_INPUT: Final = "partial_json"


class AnswerStream:
    """Joins a stream's events into one response for `answer`.

    Unknown events are ignored and unknown fields kept: Anthropic adds some from time to time.
    """

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._message: _Json = {}
        self._blocks: dict[int, _Json] = {}
        # The pieces of each block's fields. They are joined once: joining after each piece would be quadratic.
        self._pieces: dict[int, dict[str, list[object]]] = {}
        self._text = TextPieces()
        self._is_complete = False

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Process the next event and return its new text. Raises ProviderError for an invalid event or an error."""
        received = read_body(event, "event")
        match received.type_name():
            case "error":
                answer(event, self._prompt)
            case "message_start":
                self._message.update(_object_at(received, "message").fields)
            case "content_block_start":
                index, block = _block_index(received), {**_object_at(received, "content_block").fields}
                self._blocks[index], self._pieces[index] = block, {}
                return self._text_deltas(block, block.get("text"))
            case "content_block_delta":
                return self._extend_block(received)
            case "content_block_stop":
                return self._text.end()
            case "message_delta":
                self._update_message(received)
            case "message_stop":
                self._is_complete = True
            case _:
                pass
        return []

    def answer(self) -> Answer:
        """Return the complete answer. Raises ConnectionFailedError if the stream ended early."""
        if not self._message or not self._is_complete:
            message = "Anthropic's stream ended before the answer was complete; ask again"
            raise ConnectionFailedError(message)
        content = [self._join_block(index) for index in sorted(self._blocks)]
        return answer({**self._message, "content": content}, self._prompt)

    def _extend_block(self, event: JsonObject) -> list[TextDelta]:
        index, delta = _block_index(event), _object_at(event, "delta")
        if index not in self._blocks:
            _refuse(f"{event.where}.index is {index}, but no block with that index was started")
        for key, value in delta.fields.items():
            if key == _INPUT and value:
                delta.text(key)
            if key != "type":
                self._pieces[index].setdefault(key, []).append(value)
        return self._text_deltas(self._blocks[index], delta.fields.get("text"))

    def _text_deltas(self, block: _Json, text: object) -> list[TextDelta]:
        if block.get("type") != "text" or not isinstance(text, str):
            return []
        return self._text.deltas(text)

    def _join_block(self, index: int) -> _Json:
        block, pieces = {**self._blocks[index]}, {**self._pieces[index]}
        if "citation" in pieces:
            initial = block.get("citations")
            if isinstance(initial, list):
                citations = cast("list[object]", initial)
            else:
                citations = []
            block["citations"] = [*citations, *pieces.pop("citation")]
        if text := join_pieces(cast("list[str]", [piece for piece in pieces.pop(_INPUT, ()) if piece])):
            # Parsed strictly: a number that JSON does not have could not be sent back.
            value = parse_value(text)
            if isinstance(value, dict):
                block["input"] = cast("_Json", value)
            else:
                block["input"] = {INVALID_JSON: text}
        return block | {key: _join_pieces([block.get(key), *values]) for key, values in pieces.items()}

    def _update_message(self, event: JsonObject) -> None:
        """Add the final fields of the answer; its token counts are totals, and replace the initial ones."""
        for key, value in event.fields.items():
            if key not in ("type", "delta", "usage"):
                self._message[key] = value
        if (delta := event.object("delta")) is not None:
            self._message.update(_non_null_fields(delta))
        if (usage := event.object("usage")) is not None:
            counts = _non_null_fields(usage)
            if (initial := JsonObject(self._message, "event.message").object("usage")) is not None:
                counts = {**initial.fields, **counts}
            self._message["usage"] = counts


def _non_null_fields(fields: JsonObject) -> _Json:
    return {key: value for key, value in fields.fields.items() if value is not None}


def _object_at(event: JsonObject, key: str) -> JsonObject:
    return JsonObject(event.fields.get(key), f"{event.where}.{key}")


def _block_index(event: JsonObject) -> int:
    index = event.fields.get("index")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        _refuse(f"expected a block's index at {event.where}.index, got {safe_repr_with_type(index)}")
    return index


def _join_pieces(pieces: Sequence[object]) -> object:
    """Return the trailing texts joined or, if the last piece is not a text, that piece."""
    texts = [*takewhile(lambda piece: isinstance(piece, str), reversed(pieces))]
    if not texts:
        return pieces[-1]
    return join_pieces(cast("list[str]", texts[::-1]))


def _refuse(problem: str) -> NoReturn:
    message = f"invalid stream from Anthropic: {problem}; ask again"
    raise ProviderError(message)
