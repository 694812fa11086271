"""An answer of OpenAI's Chat Completions that comes in pieces."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.json_reader import JsonObject, read_body
from ez_ptc.formats.openai_chat.messages import answer, text_of
from ez_ptc.formats.openai_shapes.parts import OPENAI, raise_error
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.formats.wire import TextPieces, is_cut, joined
from ez_ptc.messages import Answer

__all__ = ["AnswerStream"]

# What says the same in each piece that has it; all other text goes on where the piece before ended.
_SAID_ONCE: Final = frozenset({"role", "id", "type", "format"})


class AnswerStream:
    """Takes the chunks of a completion one by one, and puts together the answer that they make."""

    def __init__(self, prompt: Prompt, *, server: str = OPENAI) -> None:
        self._prompt = prompt
        self._server = server
        self._head: dict[str, Any] = {}
        self._deltas: list[Mapping[str, Any]] = []
        self._calls: list[list[Mapping[str, Any]]] = []
        self._at: dict[int | None, int] = {}
        self._finish_reason: object = None
        self._is_done = False
        self._text = TextPieces()
        self._refusal = TextPieces()

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take the next chunk, and return the text in it.

        Raises ProviderError for a chunk that is none, and what `raise_error` raises for one that reports an error.
        """
        top = read_body(event, "event")
        if top.fields.get("error"):
            raise_error(top.fields["error"])
        self._head |= {key: top.fields[key] for key in ("id", "model", "usage") if top.fields.get(key)}
        return [delta for choice in top.objects("choices") for delta in self._choice(choice)]

    def end(self) -> list[TextDelta]:
        """Take the server's word that its stream is complete, and return the text that is left."""
        self._is_done = True
        return [*self._text.end(), *self._refusal.end()]

    def answer(self) -> Answer:
        """Return the whole answer. Raises ConnectionFailedError where the stream ended before it, and ProviderError."""
        # Some servers say [DONE] without a finish reason; one that sent nothing before it did not answer.
        is_complete = self._is_done and (
            any(any(value for key, value in delta.items() if key != "role") for delta in self._deltas)
            or bool(self._calls)
        )
        if self._finish_reason is None and not is_complete:
            message = "the provider's stream ended before the answer was complete: ask again"
            raise ConnectionFailedError(message)
        try:
            said = self._message()
        except RecursionError:
            message = "the provider's answer is nested too deep: ask again"
            raise ProviderError(message) from None
        choice = {"index": 0, "message": said, "finish_reason": self._finish_reason}
        return answer({**self._head, "choices": [choice]}, self._prompt, server=self._server)

    def _choice(self, choice: JsonObject) -> list[TextDelta]:
        if choice.fields.get("index") not in (0, None):
            return []
        self._finish_reason = choice.fields.get("finish_reason") or self._finish_reason
        delta = choice.object("delta")
        told: list[TextDelta] = []
        if delta is not None:
            for part in delta.objects("tool_calls"):
                self._call(part)
            self._deltas.append({key: value for key, value in delta.fields.items() if key != "tool_calls"})
            told += self._text.deltas(text_of(delta.fields.get("content")))
            told += self._refusal.deltas(text_of(delta.fields.get("refusal")))
        return told if self._finish_reason is None else [*told, *self._text.end(), *self._refusal.end()]

    def _call(self, part: JsonObject) -> None:
        """Add a piece to the call that it belongs to.

        That is the one of its index; but servers that have no index, or always the same, begin a new call with an id
        and a name.
        """
        index = part.fields.get("index")
        if index is not None and not isinstance(index, int):
            _refuse(f"{part.where}.index", "a number")
        at = self._at.get(index)
        if at is None and index is None and self._calls and not part.fields.get("id"):
            at = len(self._calls) - 1
        if at is None or self._begins(part, self._calls[at]):
            at = len(self._calls)
            self._calls.append([])
        self._at[index] = at
        self._calls[at].append({key: value for key, value in part.fields.items() if key != "index"})

    def _begins(self, part: JsonObject, pieces: Sequence[Mapping[str, Any]]) -> bool:
        identifier, function = part.fields.get("id"), part.object("function")
        has_name = function is not None and bool(function.fields.get("name"))
        return bool(identifier) and has_name and identifier != _first(each.get("id") for each in pieces)

    def _message(self) -> dict[str, Any]:
        message = {"role": "assistant", **_joined_objects(self._deltas)}
        return {**message, "tool_calls": [_joined_objects(each) for each in self._calls]} if self._calls else message


def _joined_objects(pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values: dict[str, list[object]] = {}
    for piece in pieces:
        for key, value in piece.items():
            values.setdefault(key, []).append(value)
    return {key: _joined(key, several) for key, several in values.items()}


def _joined(key: str, values: Sequence[object]) -> Any:  # noqa: ANN401 - any JSON
    there = [value for value in values if value is not None]
    if key in _SAID_ONCE or (key == "name" and len({repr(value) for value in there}) == 1):
        return _first(there)
    if there and all(isinstance(value, str) for value in there):
        return joined(cast("Sequence[str]", there))
    if there and all(isinstance(value, list) for value in there):
        return _in_one([each for value in cast("Sequence[list[object]]", there) for each in value])
    if there and all(isinstance(value, Mapping) for value in there):
        return _joined_objects(cast("Sequence[Mapping[str, Any]]", there))
    if there and key == "content" and all(isinstance(value, str | list) for value in there):
        return _parts(cast("Sequence[str | list[object]]", there))
    return there[-1] if there else None


def _parts(values: Sequence[str | list[object]]) -> str | list[object]:
    """Return a content that came as text and as parts: Mistral's models think in parts, and then write."""
    parts: list[object] = []
    for is_text, several in groupby((value for value in values if value), lambda value: isinstance(value, str)):
        if is_text:
            parts.append({"type": "text", "text": joined(cast("Iterable[str]", several))})
        else:
            parts.extend(part for each in cast("Iterable[list[object]]", several) for part in each)
    return _in_one(parts)


def _in_one(parts: Sequence[object]) -> list[object]:
    """Return a list in which no character is cut in two: a part that ends in half of one is put together with the next.

    Mistral's models write parts of text, and of thought, which have parts of text in them.
    """
    whole: list[object] = []
    for part in parts:
        if whole and isinstance(part, Mapping) and _ends_in_half(whole[-1]):
            halves = cast("Sequence[Mapping[str, Any]]", [whole.pop(), cast("object", part)])
            whole.append(_joined_objects(halves))
        else:
            whole.append(cast("object", part))
    return whole


def _ends_in_half(part: object) -> bool:
    if not isinstance(part, Mapping):
        return False
    fields = cast("Mapping[str, object]", part)
    kind = fields.get("type")
    inner = fields.get(kind) if kind in ("text", "thinking") else None
    if isinstance(inner, list):
        parts = cast("list[object]", inner)
        return bool(parts) and _ends_in_half(parts[-1])
    return isinstance(inner, str) and is_cut(inner)


def _first(values: Iterable[object]) -> object:
    return next((value for value in values if value), None)


def _refuse(where: str, wanted: str) -> NoReturn:
    message = f"the provider's stream has no {wanted} at {where}: ask again"
    raise ProviderError(message)
