"""Streamed answers of Anthropic's Messages API: events joined into one response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.anthropic.messages import INVALID_JSON, answer
from ez_ptc.formats.json_reader import JsonObject, RepeatedCalls, read_body
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces, join_pieces
from ez_ptc.messages import Answer
from ez_ptc.schema.arguments.json_text import parse_value
from ez_ptc.schema.safe_repr import safe_repr_with_type

__all__ = ["AnswerStream"]

_Json = dict[str, Any]

_INPUT: Final = "partial_json"


@dataclass
class _Block:
    index: int | None
    start: _Json
    # The pieces of each field. They are joined once: joining after each piece would be quadratic.
    pieces: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    is_stopped: bool = False

    def is_repeated_by(self, start: _Json) -> bool:
        """Return whether the start of a block is this block's again."""
        return start == self.start and not self.pieces and not self.is_stopped

    def join(self) -> _Json:
        """Return the complete block."""
        block, pieces = {**self.start}, {**self.pieces}
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


class AnswerStream:
    """Joins a stream's events into one response for `answer`.

    Unknown events are ignored and unknown fields kept: Anthropic adds some from time to time.
    """

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._message: _Json = {}
        # In the order of their starts, which is that of their indexes: some servers number no blocks, or all with 0.
        self._blocks: list[_Block] = []
        self._by_index: dict[int | None, _Block] = {}
        self._text = TextPieces()
        self._is_complete = False
        self._has_unstarted_block = False

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Process the next event and return its new text. Raises ProviderError for an invalid event or an error."""
        received = read_body(event, "event")
        match received.type_name():
            case "error":
                answer(event, self._prompt)
            case "message_start":
                self._message.update(_object_at(received, "message").fields)
            case "content_block_start":
                return self._start_block(received)
            case "content_block_delta":
                return self._extend_block(received)
            case "content_block_stop":
                if (block := self._by_index.get(_block_index(received))) is not None:
                    block.is_stopped = True
                else:
                    self._has_unstarted_block = self._has_unstarted_block or received.fields.get("index") is not None
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
        repeated, content = RepeatedCalls(), list[_Json]()
        for block in self._blocks:
            fields = block.join()
            if fields.get("type") != "tool_use" or not repeated.is_repeated(block.index, fields, fields.get("id")):
                content.append(fields)
        if self._has_unstarted_block and self._message.get("stop_reason") == "tool_use":
            _refuse("a block ended that never started, and the answer has tool calls")
        return answer({**self._message, "content": content}, self._prompt)

    def _start_block(self, event: JsonObject) -> list[TextDelta]:
        index, fields = _block_index(event), {**_object_at(event, "content_block").fields}
        present = self._by_index.get(index)
        if present is not None and present.is_repeated_by(fields):
            if fields.get("type") == "tool_use" and not fields.get("id"):
                # Two calls without arguments, or one event twice: running it a second time could do harm.
                _refuse("a tool call without an id started again before it ended")
            return []
        self._by_index[index] = block = _Block(index, fields)
        self._blocks.append(block)
        return self._text_deltas(block, fields.get("text"))

    def _extend_block(self, event: JsonObject) -> list[TextDelta]:
        index, delta = _block_index(event), _object_at(event, "delta")
        block = self._by_index.get(index)
        if block is None and index is None and self._blocks:
            block = self._blocks[-1]
        if block is None:
            _refuse(f"{event.where}.index is {index}, but no block with that index was started")
        for key, value in delta.fields.items():
            if key == _INPUT and value:
                delta.text(key)
            if key != "type":
                block.pieces.setdefault(key, []).append(value)
        return self._text_deltas(block, delta.fields.get("text"))

    def _text_deltas(self, block: "_Block", text: object) -> list[TextDelta]:
        if block.start.get("type") != "text" or not isinstance(text, str):
            return []
        return self._text.deltas(text)

    def _update_message(self, event: JsonObject) -> None:
        """Add the final fields of the answer; its token counts are totals, and replace the initial ones."""
        for key, value in event.fields.items():
            if key not in ("type", "delta", "usage"):
                self._message[key] = value
        if (delta := event.object("delta")) is not None:
            fields = _non_null_fields(delta)
            self._message.update(fields)
            # Some gateways leave out the last event, as servers of Chat Completions do.
            self._is_complete = self._is_complete or bool(fields.get("stop_reason"))
        if (usage := event.object("usage")) is not None:
            counts = _non_null_fields(usage)
            if (initial := JsonObject(self._message, "event.message").object("usage")) is not None:
                counts = {**initial.fields, **counts}
            self._message["usage"] = counts


def _non_null_fields(fields: JsonObject) -> _Json:
    return {key: value for key, value in fields.fields.items() if value is not None}


def _object_at(event: JsonObject, key: str) -> JsonObject:
    return JsonObject(event.fields.get(key), f"{event.where}.{key}")


def _block_index(event: JsonObject) -> int | None:
    index = event.fields.get("index")
    if index is not None and (not isinstance(index, int) or isinstance(index, bool) or index < 0):
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
