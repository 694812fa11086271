"""Anthropic's Messages as a stream: its events, put together as the response that they are pieces of."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.anthropic.messages import INVALID_JSON, answer
from ez_ptc.formats.json_reader import JsonObject, read_body
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces, joined
from ez_ptc.messages import Answer
from ez_ptc.schema.arguments.json_text import parse_value
from ez_ptc.schema.safe_repr import shown_with_type

__all__ = ["AnswerStream"]

_Json = dict[str, Any]

_INPUT: Final = "partial_json"


class AnswerStream:
    """Puts the events of a stream together, as the one response that `answer` takes.

    Events and pieces of a kind that is not known are kept or passed over: Anthropic adds some from time to time.
    """

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._message: _Json = {}
        self._blocks: dict[int, _Json] = {}
        # What each block has so far, in pieces: putting them together piece by piece would copy all of it each time.
        self._pieces: dict[int, dict[str, list[object]]] = {}
        self._texts = TextPieces()
        self._is_whole = False

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take the next event and return the text that is new in it.

        Raises ProviderError for an event that says that something went wrong, and for one that is none.
        """
        taken = read_body(event, "event")
        match taken.type_name():
            case "error":
                answer(event, self._prompt)
            case "message_start":
                self._message.update(_required(taken, "message").fields)
            case "content_block_start":
                return self._start(taken)
            case "content_block_delta":
                return self._add(taken)
            case "content_block_stop":
                return self._texts.end()
            case "message_delta":
                self._close(taken)
            case "message_stop":
                self._is_whole = True
            case _:
                pass
        return []

    def answer(self) -> Answer:
        """Return the whole answer. Raises ConnectionFailedError where the stream ended before it was complete."""
        if not self._message or not self._is_whole:
            message = "Anthropic's stream ended before the answer was complete: ask again"
            raise ConnectionFailedError(message)
        return answer({**self._message, "content": [self._block(at) for at in sorted(self._blocks)]}, self._prompt)

    def _start(self, event: JsonObject) -> list[TextDelta]:
        index, block = _index(event), {**_required(event, "content_block").fields}
        self._blocks[index], self._pieces[index] = block, {}
        return self._told(block, block.get("text"))

    def _add(self, event: JsonObject) -> list[TextDelta]:
        index, delta = _index(event), _required(event, "delta")
        if index not in self._blocks:
            _refuse(f"{event.where}.index is {index}, and no block of that number has begun")
        for key, value in delta.fields.items():
            if key == _INPUT and value:
                delta.text(key)
            if key != "type":
                self._pieces[index].setdefault(key, []).append(value)
        return self._told(self._blocks[index], delta.fields.get("text"))

    def _told(self, block: _Json, text: object) -> list[TextDelta]:
        return self._texts.deltas(text) if block.get("type") == "text" and isinstance(text, str) else []

    def _block(self, index: int) -> _Json:
        """Return a block with all that came of it."""
        block, pieces = {**self._blocks[index]}, {**self._pieces[index]}
        if "citation" in pieces:
            begun = block.get("citations")
            block["citations"] = [
                *(cast("list[object]", begun) if isinstance(begun, list) else ()),
                *pieces.pop("citation"),
            ]
        if text := joined(cast("list[str]", [each for each in pieces.pop(_INPUT, ()) if each])):
            block["input"] = _parsed(text)
        return block | {key: _joined([block.get(key), *several]) for key, several in pieces.items()}

    def _close(self, event: JsonObject) -> None:
        """Take what is said of the whole answer; its numbers are totals, and stand in for those at the start."""
        for key, value in event.fields.items():
            if key not in ("type", "delta", "usage"):
                self._message[key] = value
        delta, usage = event.object("delta"), event.object("usage")
        if delta is not None:
            self._message.update(_said(delta))
        if usage is not None:
            started = JsonObject(self._message, "event.message").object("usage")
            self._message["usage"] = {**({} if started is None else started.fields), **_said(usage)}


def _said(part: JsonObject) -> _Json:
    return {key: value for key, value in part.fields.items() if value is not None}


def _required(event: JsonObject, key: str) -> JsonObject:
    return JsonObject(event.fields.get(key), f"{event.where}.{key}")


def _index(event: JsonObject) -> int:
    index = event.fields.get("index")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        _refuse(f"{shown_with_type(index)} is at {event.where}.index, where the number of a block is wanted")
    return index


def _joined(pieces: Sequence[object]) -> object:
    """Return the text of the last pieces in a row that are text, or else the last piece."""
    texts = [*takewhile(lambda each: isinstance(each, str), reversed(pieces))]
    return joined(cast("list[str]", texts[::-1])) if texts else pieces[-1]


def _parsed(text: str) -> object:
    # A number that JSON does not have could be read here, and not be sent back.
    value = parse_value(text)
    return cast("_Json", value) if isinstance(value, dict) else {INVALID_JSON: text}


def _refuse(problem: str) -> NoReturn:
    message = f"Anthropic's stream makes no sense: {problem}: ask again"
    raise ProviderError(message)
