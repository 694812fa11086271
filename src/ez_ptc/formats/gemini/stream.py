"""Streamed answers of Gemini's streamGenerateContent API: partial responses joined into one."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, cast

from ez_ptc.errors import ConnectionFailedError
from ez_ptc.formats.gemini.messages import answer
from ez_ptc.formats.json_reader import JsonObject, RepeatedCalls, read_body
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces, join_pieces, move_split_character
from ez_ptc.messages import Answer

__all__ = ["AnswerStream"]

_Json = dict[str, Any]

# A part with only these fields may be continued by the next one. One with a signature may not: Gemini says that
# those are not to be joined with others.
_PLAIN_FIELDS: Final = frozenset({"text", "thought"})


class AnswerStream:
    """Joins a stream's partial responses into one response for `answer`."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._body: _Json = {}
        self._candidate: _Json = {}
        self._content: _Json = {}
        # Each part with the pieces of its text. They are joined once: joining after each piece would be quadratic.
        self._parts: list[tuple[_Json, list[str]]] = []
        self._text = TextPieces()
        self._repeated = RepeatedCalls()

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Process the next partial response and return its new text. Raises ProviderError for an invalid one."""
        chunk = read_body(event, "event")
        if chunk.object("error") is not None:
            answer(event, self._prompt)
        for key, value in chunk.fields.items():
            if key != "candidates":
                present = self._body.get(key)
                is_merged = isinstance(present, dict) and isinstance(value, dict)
                if is_merged:
                    self._body[key] = {**cast("_Json", present), **cast("_Json", value)}
                else:
                    self._body[key] = value
        deltas: list[TextDelta] = []
        for candidate in chunk.objects("candidates"):
            if not candidate.fields.get("index"):
                deltas += self._update_candidate(candidate)
        return deltas

    def answer(self) -> Answer:
        """Return the complete answer. Raises ConnectionFailedError if the stream ended early."""
        is_blocked = not self._candidate and "promptFeedback" in self._body
        if is_blocked:
            return answer(self._body, self._prompt)
        if not self._candidate.get("finishReason"):
            message = "Gemini's stream ended before the answer was complete; ask again"
            raise ConnectionFailedError(message)
        if self._parts or self._content:
            parts = [
                {**fields, "text": join_pieces(pieces)} if pieces else {**fields} for fields, pieces in self._parts
            ]
            # A character may be split between two parts that are not to be joined: it is moved to the second.
            for first, second in pairwise(parts):
                if isinstance(first.get("text"), str) and isinstance(second.get("text"), str):
                    first["text"], second["text"] = move_split_character(first["text"], second["text"])
            self._candidate["content"] = {**self._content, "parts": parts}
        return answer({**self._body, "candidates": [self._candidate]}, self._prompt)

    def _update_candidate(self, candidate: JsonObject) -> list[TextDelta]:
        self._candidate.update({key: value for key, value in candidate.fields.items() if key != "content"})
        content = candidate.object("content")
        deltas: list[TextDelta] = []
        if content is not None:
            self._content.update({key: value for key, value in content.fields.items() if key != "parts"})
            for content_part in content.objects("parts"):
                function = content_part.object("functionCall")
                if function is not None and self._repeated.is_repeated(
                    None, function.fields, function.fields.get("id")
                ):
                    continue
                text = content_part.fields.get("text")
                if isinstance(text, str) and not content_part.fields.get("thought"):
                    deltas += self._text.deltas(text)
                last, pieces = self._parts[-1] if self._parts else ({}, [])
                if not isinstance(text, str) or not content_part.fields.keys() <= _PLAIN_FIELDS:
                    self._parts.append((dict(content_part.fields), []))
                elif last.keys() == content_part.fields.keys() and last.get("thought") == content_part.fields.get(
                    "thought"
                ):
                    pieces.append(text)
                elif text:
                    self._parts.append((dict(content_part.fields), [text]))
        if candidate.fields.get("finishReason"):
            deltas += self._text.end()
        return deltas
