"""Anthropic's Messages as a stream: its events, put together as the response that they are pieces of."""

from collections.abc import Mapping
from typing import Any, NoReturn

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.answers import Answer as Reader
from ez_ptc.formats.anthropic_turns import INVALID_JSON, answer
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.messages import Answer
from ez_ptc.schema.json_text import read_json
from ez_ptc.schema.shown import shown_with_type

__all__ = ["AnswerStream"]

_Json = dict[str, Any]


class AnswerStream:
    """Puts the events of a stream together, as the one response that `answer` takes.

    Events and pieces of a kind that is not known are kept or passed over: Anthropic adds some from time to time.
    """

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._message: _Json = {}
        self._blocks: dict[int, _Json] = {}
        self._inputs: dict[int, str] = {}
        self._is_whole = False

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take the next event and return the text that is new in it.

        Raises ProviderError for an event that says that something went wrong, and for one that is none.
        """
        taken = Reader(event, "event")
        match taken.fields.get("type"):
            case "error":
                answer(event, self._prompt)
            case "message_start":
                self._message.update(_required(taken, "message").fields)
            case "content_block_start":
                return self._start(taken)
            case "content_block_delta":
                return self._add(taken)
            case "content_block_stop":
                self._stop(_index(taken))
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
        for index in [*self._inputs]:
            self._stop(index)
        return answer({**self._message, "content": [self._blocks[at] for at in sorted(self._blocks)]}, self._prompt)

    def _start(self, event: Reader) -> list[TextDelta]:
        block = {**_required(event, "content_block").fields}
        self._blocks[_index(event)] = block
        return _told(block, block.get("text"))

    def _add(self, event: Reader) -> list[TextDelta]:
        index, delta = _index(event), _required(event, "delta")
        if index not in self._blocks:
            _refuse(f"{event.where}.index is {index}, and no block of that number has begun")
        block = self._blocks[index]
        for key, value in delta.fields.items():
            if key == "partial_json":
                self._inputs[index] = self._inputs.get(index, "") + (delta.text(key) if value else "")
            elif key == "citation":
                block["citations"] = [*(block.get("citations") or ()), value]
            elif key != "type":
                there = block.get(key)
                block[key] = there + value if isinstance(there, str) and isinstance(value, str) else value
        return _told(block, delta.fields.get("text"))

    def _stop(self, index: int) -> None:
        text = self._inputs.pop(index, "")
        if text:
            self._blocks[index]["input"] = _parsed(text)

    def _close(self, event: Reader) -> None:
        """Take what is said of the whole answer; its numbers are totals, and stand in for those at the start."""
        for key, value in event.fields.items():
            if key not in ("type", "delta", "usage"):
                self._message[key] = value
        delta, usage = event.object("delta"), event.object("usage")
        if delta is not None:
            self._message.update(_said(delta))
        if usage is not None:
            started = Reader(self._message, "event.message").object("usage")
            self._message["usage"] = {**({} if started is None else started.fields), **_said(usage)}


def _said(part: Reader) -> _Json:
    return {key: value for key, value in part.fields.items() if value is not None}


def _required(event: Reader, key: str) -> Reader:
    return Reader(event.fields.get(key), f"{event.where}.{key}")


def _index(event: Reader) -> int:
    index = event.fields.get("index")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        _refuse(f"{shown_with_type(index)} is at {event.where}.index, where the number of a block is wanted")
    return index


def _told(block: _Json, text: object) -> list[TextDelta]:
    return [TextDelta(text)] if block.get("type") == "text" and isinstance(text, str) and text else []


def _parsed(text: str) -> object:
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        return {INVALID_JSON: text}
    return value if isinstance(value, dict) else {INVALID_JSON: text}  # pyright: ignore[reportUnknownVariableType] - any JSON object


def _refuse(problem: str) -> NoReturn:
    message = f"Anthropic's stream makes no sense: {problem}: ask again"
    raise ProviderError(message)
