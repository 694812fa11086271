"""Streamed answers of OpenAI's Chat Completions API: chunks joined into one completion."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final, cast

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.catalog import names_for
from ez_ptc.formats.json_reader import RepeatedCalls, read_body
from ez_ptc.formats.openai_chat.call_pieces import CallPieces
from ez_ptc.formats.openai_chat.messages import answer, content_text
from ez_ptc.formats.openai_shapes.answers import raise_reported_error
from ez_ptc.formats.openai_shapes.chat_tools import call_objects
from ez_ptc.formats.openai_shapes.servers import OPENAI
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces, join_pieces
from ez_ptc.messages import Answer

__all__ = ["AnswerStream"]

_Json = dict[str, Any]

# Fields that are repeated whole in each chunk; any other text continues that of the chunk before.
_CONSTANT_FIELDS: Final = frozenset({"role", "id", "type", "format"})
# Parts of these types are continued by the next one: of Mistral's content, and of OpenRouter's reasoning.
_TEXT_TYPES: Final = ("reasoning.summary", "reasoning.text", "text", "thinking")
_TEXTS_OR_PARTS: Final = frozenset({"content", "thinking"})
_EMPTY_TEXT: Final = {"type": "text", "text": ""}


class AnswerStream:
    """Joins a stream's chunks into one completion for `answer`."""

    def __init__(self, prompt: Prompt, *, server: str = OPENAI) -> None:
        self._prompt = prompt
        self._server = server
        self._head: _Json = {}
        self._deltas: list[Mapping[str, Any]] = []
        self._calls = CallPieces(cache(lambda: names_for(prompt.tools, "openai-chat")))
        self._finish_reason: object = None
        self._is_done = False
        self._text = TextPieces()
        self._refusal = TextPieces()

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Process the next chunk and return its new text.

        Raises ProviderError for an invalid chunk, and the errors of `raise_reported_error`.
        """
        chunk = read_body(event, "event")
        raise_reported_error(chunk)
        self._head |= {key: chunk.fields[key] for key in ("id", "model", "usage") if chunk.fields.get(key)}
        deltas: list[TextDelta] = []
        for choice in chunk.objects("choices"):
            if choice.fields.get("index") not in (0, None):
                continue
            raise_reported_error(choice)
            self._finish_reason = choice.fields.get("finish_reason") or self._finish_reason
            delta = choice.object("delta")
            if delta is None and not self._deltas:  # some servers stream one whole message, others repeat it at the end
                delta = choice.object("message")
            if delta is not None:
                for call in call_objects(delta):
                    self._calls.append(call)
                self._deltas.append({key: value for key, value in delta.fields.items() if key != "tool_calls"})
                deltas += self._text.deltas(content_text(delta.fields.get("content")))
                deltas += self._refusal.deltas(content_text(delta.fields.get("refusal")))
            if self._finish_reason is not None:
                deltas += [*self._text.end(), *self._refusal.end()]
        return deltas

    def end(self) -> list[TextDelta]:
        """Mark the stream as complete (`[DONE]`), and return the remaining text."""
        self._is_done = True
        return [*self._text.end(), *self._refusal.end()]

    def answer(self) -> Answer:
        """Return the complete answer. Raises ConnectionFailedError if it was broken off, and ProviderError."""
        # Some servers send [DONE] without a finish reason; a stream without any content before it is no answer.
        is_complete = self._is_done and (
            any(any(value for key, value in delta.items() if key != "role") for delta in self._deltas)
            or bool(self._calls)
        )
        if self._finish_reason is None and not is_complete:
            message = "the provider's stream ended before the answer was complete; ask again"
            raise ConnectionFailedError(message)
        try:
            fields: _Json = {"role": "assistant", **_join_objects(self._deltas)}
            if self._calls:
                repeated, calls = RepeatedCalls(), list[_Json]()
                for index, pieces, arguments in self._calls.calls():
                    call = _join_objects(pieces)
                    if arguments is not None:
                        call["function"] |= {"arguments": arguments}
                    if not repeated.is_repeated(index, call, call.get("id")):
                        calls.append(call)
                fields["tool_calls"] = calls
        except RecursionError:
            message = "the provider's answer is nested too deeply; ask again"
            raise ProviderError(message) from None
        choice = {"index": 0, "message": fields, "finish_reason": self._finish_reason}
        return answer({**self._head, "choices": [choice]}, self._prompt, server=self._server)


def _join_objects(pieces: Sequence[Mapping[str, Any]]) -> _Json:
    values: dict[str, list[object]] = {}
    for piece in pieces:
        for key, value in piece.items():
            values.setdefault(key, []).append(value)
    return {key: _join_values(key, several) for key, several in values.items()}


def _join_values(key: str, values: Sequence[object]) -> Any:  # noqa: ANN401 - any JSON
    present = [value for value in values if value is not None]
    if not present:
        return None
    if key in _CONSTANT_FIELDS or (key == "name" and len({repr(value) for value in present}) == 1):
        return next((value for value in present if value or key == "name"), None)
    if all(isinstance(value, str) for value in present):
        return join_pieces(cast("Sequence[str]", present))
    if all(isinstance(value, Mapping) for value in present):
        return _join_objects(cast("Sequence[Mapping[str, Any]]", present))
    # Some models think in parts, and then write text; a thought may be text first and parts later.
    if all(isinstance(value, list) or (key in _TEXTS_OR_PARTS and isinstance(value, str)) for value in present):
        return _join_parts(cast("Sequence[str | list[object]]", present))
    return present[-1]


def _join_parts(values: Sequence[str | list[object]]) -> list[object]:
    """Return the parts in all values, with texts and thoughts whole: they come in pieces.

    Mistral refuses more than one thought before a text, and a signature is that of a whole thought, so pieces would be
    refused when they are sent back.
    """
    parts: list[object] = []
    for is_text, group in groupby((value for value in values if value), lambda value: isinstance(value, str)):
        if is_text:
            parts.append({"type": "text", "text": join_pieces(cast("Iterable[str]", group))})
        else:
            parts.extend(item for value in cast("Iterable[list[object]]", group) for item in value)
    groups: list[list[object]] = []
    for item in parts:
        if item == _EMPTY_TEXT:
            continue
        if groups and _is_continued(groups[-1][-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [_join_values("", group) for group in groups]


def _is_continued(before: object, item: object) -> bool:
    if not isinstance(before, Mapping) or not isinstance(item, Mapping):
        return False
    first, second = cast("Mapping[str, object]", before), cast("Mapping[str, object]", item)
    is_text = second.get("type") in _TEXT_TYPES and not first.get("signature")
    return is_text and all(first.get(key) == second.get(key) for key in ("type", "index"))
