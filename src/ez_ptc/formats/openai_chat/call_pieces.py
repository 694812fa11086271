"""The calls of a stream, put together from pieces without an index, an id, or both.

OpenAI numbers the calls of an answer, and sends the id and the name once. Compatible servers send no index or always
the same one, no id or one for all, the name again with every piece, or each call whole. A piece belongs to a new call
if

1. its index is new, and it has no earlier piece's id;
2. it has a name, and another id than the call with its index;
3. it has a name, and the arguments of that call are complete, or the name is another tool's.

The name may come after the arguments. A call repeated whole, with its id, is one call. So is a name repeated without
arguments at the end, and arguments that come whole, without a name, after their pieces. Some servers send all the
arguments so far with every piece, or with the last one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ez_ptc.errors import ProviderError
from ez_ptc.formats.json_reader import JsonObject
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.wire import begins_object, is_object
from ez_ptc.schema.safe_repr import safe_repr_with_type

__all__ = ["CallPieces"]

_BRACKET_OR_QUOTE: Final = re.compile(r'[{}\[\]"\\]')
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_STRING_END: Final = re.compile(r'["\\]')


class _JsonProgress:
    """Follows JSON text that comes in pieces, in time linear in its length."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False
        self.is_complete = False

    def feed(self, text: str) -> None:
        position = 0
        if self._is_escaped and text:
            position, self._is_escaped = 1, False
        while match := (_STRING_END if self._is_in_string else _BRACKET_OR_QUOTE).search(text, position):
            position = match.end()
            character = match[0]
            if character == '"':
                self._is_in_string = not self._is_in_string
            elif character == "\\":
                self._is_escaped = position == len(text)
                position += 1
            else:
                self._depth += 1 if character in "{[" else -1
                self.is_complete = self.is_complete or self._depth <= 0


@dataclass
class _StreamedCall:
    index: int | None
    identifier: str
    is_misnumbered: bool  # another call has its index
    names: set[str] = field(default_factory=set[str])
    pieces: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    texts: list[str] = field(default_factory=list[str])
    size: int = 0  # of the texts
    progress: _JsonProgress = field(default_factory=_JsonProgress)

    def append(self, piece: "_Piece") -> None:
        self.pieces.append(piece.fields)
        self.identifier = self.identifier or piece.identifier
        if piece.name:
            self.names.add(piece.name)
        if isinstance(piece.arguments, Mapping):
            self.progress.is_complete = True
        elif isinstance(piece.arguments, str) and piece.arguments:
            self.texts.append(piece.arguments)
            self.size += len(piece.arguments)
            self.progress.feed(piece.arguments)

    @property
    def has_arguments(self) -> bool:
        return bool(self.texts) or self.progress.is_complete

    def takes(self, call: "_StreamedCall", position: int) -> bool:
        """Add the arguments of a call that has nothing else, if their index is the position of this one."""
        is_rest = self.is_misnumbered and not self.has_arguments and call.index == position
        if is_rest and not call.names and not call.identifier:
            self.pieces += call.pieces
            self.texts += call.texts
            self.size += call.size
            return True
        return False

    def is_repeated_by(self, piece: "_Piece") -> bool:
        """Return whether a piece is this complete call again."""
        if not piece.has_arguments:
            return piece.name in self.names
        is_same = bool(piece.identifier) and piece.identifier == self.identifier
        return is_same and self.has_same_arguments(piece)

    def has_same_arguments(self, piece: "_Piece") -> bool:
        """Return whether a piece has all the text of the arguments so far; the time is linear in the piece."""
        text = piece.arguments
        return isinstance(text, str) and len(text) == self.size and text == "".join(self.texts)

    def resent_arguments(self) -> str | None:
        """Return the arguments if pieces have the text before them again, or None if each continues that text.

        They do only where the joined text cannot be the beginning of an object, and this text is one: nothing is
        guessed of text that was cut off.
        """
        texts, size = list[str](), 0
        for piece in self.texts:
            if len(piece) >= size and piece.startswith("".join(texts)):
                texts, size = [], 0
            texts.append(piece)
            size += len(piece)
        text = "".join(texts)
        if size == self.size or begins_object("".join(self.texts)) or not is_object(text):
            return None
        return text


@dataclass(frozen=True, slots=True)
class _Piece:
    fields: Mapping[str, Any]
    identifier: str
    name: str
    arguments: object

    @classmethod
    def of(cls, fields: Mapping[str, Any], function: JsonObject | None) -> "_Piece":
        identifier = fields.get("id")
        name = function and function.fields.get("name")
        return cls(
            fields,
            identifier if isinstance(identifier, str) else "",
            name if isinstance(name, str) else "",
            function and function.fields.get("arguments"),
        )

    @property
    def has_arguments(self) -> bool:
        return isinstance(self.arguments, Mapping) or (isinstance(self.arguments, str) and bool(self.arguments.strip()))


class CallPieces:
    """Collects the pieces of each call of a stream; `names` returns those of the tools that were sent."""

    def __init__(self, names: Callable[[], Names]) -> None:
        self._names = names
        self._calls: list[_StreamedCall] = []
        self._by_index: dict[int | None, _StreamedCall] = {}
        self._by_id: dict[str, _StreamedCall] = {}
        # Names that came again after complete arguments: each begins a call only if arguments follow.
        self._heads: dict[int | None, _Piece] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def calls(self) -> list[tuple[int | None, list[Mapping[str, Any]], str | None]]:
        """Return the index and the pieces of each call, in order, and its arguments if pieces repeat them."""
        calls = self._calls[:1]
        for call in self._calls[1:]:
            if not calls[-1].takes(call, len(calls) - 1):
                calls.append(call)
        self._calls = calls
        return [(call.index, call.pieces, call.resent_arguments()) for call in calls]

    def append(self, source: JsonObject) -> None:
        """Add a piece to its call. Raises ProviderError for an index that is no number."""
        index = source.fields.get("index")
        if (isinstance(index, str) and _NUMBER.fullmatch(index)) or (isinstance(index, float) and index.is_integer()):
            index = int(index)
        if index is not None and not isinstance(index, int):
            message = (
                f"invalid stream from the provider: expected a number at {source.where}.index, got "
                f"{safe_repr_with_type(index)}; ask again"
            )
            raise ProviderError(message)
        fields = {key: value for key, value in source.fields.items() if key != "index"}
        piece = _Piece.of(fields, source.object("function"))
        call = self._call_of(index, piece)
        head = self._heads.get(index)
        if call is None or self._starts_another(call, piece, head):
            call = _StreamedCall(index, piece.identifier, call is not None)
            self._calls.append(call)
            if head is not None and not piece.name:
                call.append(head)
            self._heads.pop(index, None)
        elif piece.name and call.names and call.progress.is_complete:  # the call is repeated
            if not piece.has_arguments:
                self._heads[index] = piece
            return
        elif call.progress.is_complete and call.has_same_arguments(piece):
            return
        call.append(piece)
        self._by_index[index] = call
        if call.identifier:
            self._by_id[call.identifier] = call

    def _call_of(self, index: int | None, piece: _Piece) -> _StreamedCall | None:
        call = self._by_index.get(index)
        if piece.identifier and not piece.name and piece.identifier in self._by_id:
            return self._by_id[piece.identifier]
        if call is None and index is None and self._calls and not piece.identifier and not piece.name:
            return self._calls[-1]
        return call

    def _starts_another(self, call: _StreamedCall, piece: _Piece, head: _Piece | None) -> bool:
        if not piece.name:
            # A piece with a new id after complete arguments is a call, which lacks its name.
            is_nameless = bool(piece.identifier and call.identifier) and piece.identifier != call.identifier
            return piece.has_arguments and (head is not None or (is_nameless and call.progress.is_complete))
        if piece.identifier and call.identifier and piece.identifier != call.identifier:
            return True
        if not call.names:
            return piece.has_arguments and call.progress.is_complete
        if call.progress.is_complete:
            return not call.is_repeated_by(piece)
        if piece.name in call.names:
            return False
        # Another tool's name begins a call; any other text may continue a name that comes in pieces.
        tools = self._names().spellings
        return tools.has(piece.name) and (call.has_arguments or all(map(tools.has, call.names)))
