"""Gemini's `streamGenerateContent`: the pieces of a response, put together."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from ez_ptc.errors import ConnectionFailedError
from ez_ptc.formats.gemini.messages import answer
from ez_ptc.formats.json_reader import JsonObject, read_body
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces, joined, rejoined
from ez_ptc.messages import Answer

__all__ = ["AnswerStream"]

_Json = dict[str, Any]

# A part that has nothing else in it may be continued by the next one. One with a signature may not: Gemini says that
# those are not to be put together with others.
_PLAIN: Final = frozenset({"text", "thought"})


class AnswerStream:
    """Puts the responses that a stream consists of together, as the one that `answer` takes."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._body: _Json = {}
        self._candidate: _Json = {}
        self._content: _Json = {}
        # Each with the pieces of its text: putting them together piece by piece would copy all of it each time.
        self._parts: list[tuple[_Json, list[str]]] = []
        self._text = TextPieces()

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take the next response and return the text that is new in it. Raises ProviderError for what is none."""
        chunk = read_body(event, "event")
        if chunk.object("error") is not None:
            answer(event, self._prompt)
        for key, value in chunk.fields.items():
            if key != "candidates":
                self._body[key] = _updated(self._body.get(key), value)
        firsts = [each for each in chunk.objects("candidates") if not each.fields.get("index")]
        return [delta for candidate in firsts for delta in self._take(candidate)]

    def answer(self) -> Answer:
        """Return the whole answer. Raises ConnectionFailedError where the stream ended before it was complete."""
        is_blocked = not self._candidate and "promptFeedback" in self._body
        if not is_blocked and not self._candidate.get("finishReason"):
            message = "Gemini's stream ended before the answer was complete: ask again"
            raise ConnectionFailedError(message)
        if self._parts or self._content:
            parts = [_whole(*each) for each in self._parts]
            self._candidate["content"] = {**self._content, "parts": _rejoined(parts)}
        candidates = {} if is_blocked else {"candidates": [self._candidate]}
        return answer({**self._body, **candidates}, self._prompt)

    def _take(self, candidate: JsonObject) -> list[TextDelta]:
        self._candidate.update({key: value for key, value in candidate.fields.items() if key != "content"})
        content = candidate.object("content")
        told: list[TextDelta] = []
        if content is not None:
            self._content.update({key: value for key, value in content.fields.items() if key != "parts"})
            told = [
                delta for part in content.objects("parts") for delta in self._text.deltas(self._add(dict(part.fields)))
            ]
        return [*told, *self._text.end()] if candidate.fields.get("finishReason") else told

    def _add(self, part: _Json) -> str:
        """Take a part and return the text in it that a reader sees."""
        text = part.get("text")
        if part.keys() <= _PLAIN and isinstance(text, str):
            last, pieces = self._parts[-1] if self._parts else ({}, [])
            if last.keys() == part.keys() and last.get("thought") == part.get("thought"):
                pieces.append(text)
            elif text:
                self._parts.append((part, [text]))
        else:
            self._parts.append((part, []))
        return text if isinstance(text, str) and not part.get("thought") else ""


def _whole(part: _Json, pieces: list[str]) -> _Json:
    return {**part, "text": joined(pieces)} if pieces else {**part}


def _rejoined(parts: list[_Json]) -> list[_Json]:
    """Return parts in which no character is cut in two: a part with a signature is put together with no other."""
    for before, part in pairwise(parts):
        if isinstance(before.get("text"), str) and isinstance(part.get("text"), str):
            before["text"], part["text"] = rejoined(before["text"], part["text"])
    return parts


def _updated(there: object, value: object) -> object:
    return {**there, **value} if isinstance(there, dict) and isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType] - any JSON objects
