"""Gemini's `streamGenerateContent`: the pieces of a response, put together."""

from collections.abc import Mapping
from typing import Any, Final

from ez_ptc.errors import ConnectionFailedError
from ez_ptc.formats.answers import Answer as Reader
from ez_ptc.formats.gemini_turns import answer
from ez_ptc.formats.prompt import Prompt, TextDelta
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

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take the next response and return the text that is new in it. Raises ProviderError for what is none."""
        chunk = Reader(event, "event")
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
            self._candidate["content"] = {**self._content, "parts": [_whole(*each) for each in self._parts]}
        candidates = {} if is_blocked else {"candidates": [self._candidate]}
        return answer({**self._body, **candidates}, self._prompt)

    def _take(self, candidate: Reader) -> list[TextDelta]:
        self._candidate.update({key: value for key, value in candidate.fields.items() if key != "content"})
        content = candidate.object("content")
        if content is None:
            return []
        self._content.update({key: value for key, value in content.fields.items() if key != "parts"})
        texts = [self._add(dict(part.fields)) for part in content.objects("parts")]
        return [TextDelta(text) for text in texts if text]

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
    return {**part, "text": "".join(pieces)} if pieces else {**part}


def _updated(there: object, value: object) -> object:
    return {**there, **value} if isinstance(there, dict) and isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType] - any JSON objects
