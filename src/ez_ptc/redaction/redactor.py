"""Removing secrets from text and data, however they are spelled there.

Theory of operation. A text is searched as it is, and then with its escapes decoded: JSON's, percent-encoding and HTML
entities, all at once, up to four times, because one may be inside another. The secrets are decoded alike, so a percent
sign of theirs does no harm. `+` counts as a blank, and case does not count, which libraries change in headers. In each
of these texts, base64 is searched for the part of a secret's encoding that does not depend on what is beside it, at
each of three offsets: `user:secret` has it too. The finds are removed from the text itself; where two of them overlap,
both are. Every step is a search by C code, or one pass over the escapes: the costs are in proportion to the text.
"""

from __future__ import annotations

import base64
import html
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    _Span = tuple[int, int]
    _Spellings = tuple[frozenset[str], frozenset[str]]

__all__ = ["MAX_ADDED", "MIN_SECRET", "REMOVED", "Redactor", "spans_across_lines"]

REMOVED: Final = "[removed]"
MIN_SECRET: Final = 8
"""Shorter secrets are not removed: they would be found in any text."""
MAX_ADDED: Final = 64
"""The most secrets that are added later: an authentication may make new ones for every request."""

_MAX_LAYERS: Final = 4
_ESCAPE: Final = re.compile(
    r"""\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8}"""
    r"""|x[0-9a-fA-F]{2}|["'\\/bfnrt])"""
    r"|%[0-7][0-9a-fA-F]|%[cCdD][0-9a-fA-F]%[89abAB][0-9a-fA-F]|%[eE][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){2}"
    r"|%[fF][0-7](?:%[89abAB][0-9a-fA-F]){3}"
    r"|&(?:#0*+(?:[0-9]{1,7}|(?<=0))|#[xX]0*+(?:[0-9a-fA-F]{1,6}|(?<=0))|[a-zA-Z]{2,10});"
)
_LINE_END: Final = re.compile(r"[\r\n][\r\n\t ]*")
_CONTROLS: Final[Mapping[str, str]] = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_BYTE_BITS: Final = 8
_DIGIT_BITS: Final = 6
_MAX_UNICODE: Final = 0x10FFFF


class Redactor:
    """Removes secrets; `addresses` are texts that are removed as they are, of any length."""

    def __init__(self, secrets: Iterable[str] = (), *, addresses: Iterable[str] = ()) -> None:
        self._addresses: Final = frozenset(_needle(text) for text in addresses if text)
        self._fixed: Final = {secret: _spellings(secret) for secret in secrets if _is_long(secret)}
        self._added: dict[str, _Spellings] = {}
        self._combine()

    def add(self, secrets: Iterable[str]) -> None:
        """Remove these secrets, too, from now on; of more than `MAX_ADDED`, only the last ones."""
        current = dict.fromkeys(secret for secret in secrets if _is_long(secret) and secret not in self._fixed)
        if current.keys() - self._added.keys():
            kept = [secret for secret in self._added if secret not in current]
            last = [*kept, *current][-MAX_ADDED:]
            self._added = {secret: self._added.get(secret) or _spellings(secret) for secret in last}
            self._combine()

    def _combine(self) -> None:
        spellings = self._fixed | self._added
        # Replaced as a whole: threads may be searching for them.
        self._secrets = frozenset(spellings)
        self._needles = self._addresses.union(*(needles for needles, _ in spellings.values()))
        self._cores = frozenset[str]().union(*(cores for _, cores in spellings.values()))
        self._has_numbers = any(any(map(str.isdigit, needle)) for needle in self._needles)

    def __bool__(self) -> bool:
        return bool(self._needles)

    def is_in(self, text: str) -> bool:
        """Return whether a text has a secret, or is the JSON of a value that has one."""
        # The JSON is one layer around the value.
        return any(self._find(layer) for layer in _layers(text, _MAX_LAYERS + 1))

    def has_part(self, text: str) -> bool:
        """Return whether a text has a secret, or only `MIN_SECRET` characters of one in a row.

        Libraries cut what they quote, and a secret that is cut is not found otherwise.
        """
        spellings = [*self._fixed.values(), *self._added.values()]
        parts = {piece for needles, _ in spellings for needle in needles for piece in _parts(needle)}
        digits = {piece for _, cores in spellings for core in cores for piece in _parts(core)}
        return self.is_in(text) or any(
            not parts.isdisjoint(_parts(_needle(layer))) or not digits.isdisjoint(_parts(_as_digits(layer)))
            for layer in _layers(text)
        )

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        if not self._needles:
            return text
        spans: list[_Span] = []
        layers = list(_layers(text))
        for depth, layer in enumerate(layers):
            layer_spans = self._find(layer)
            for source in reversed(layers[:depth]):
                layer_spans = _spans_in_source(source, layer_spans)
            spans += layer_spans
        cleaned = _without(text, spans)
        # UTF-16 that was decoded as something else has a zero beside each character.
        if "\0" in cleaned and self.is_in(cleaned.replace("\0", "")):
            return REMOVED
        return cleaned

    def value(self, value: object) -> object:
        """Return a value of JSON, or bytes, whose texts and keys have no secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.content(value)
        if isinstance(value, list):
            return [self.value(item) for item in cast("list[object]", value)]
        if isinstance(value, dict):
            fields: dict[object, object] = {}
            count = 0
            for key, item in cast("dict[object, object]", value).items():
                name = number = self.value(key)
                # Two keys that become one must not become one field; the next number is one that no key has yet.
                while number in fields:
                    count += 1
                    number = f"{name} {count}"
                fields[number] = self.value(item)
            return fields
        is_number = self._has_numbers and isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and self._find(repr(value)):
            return REMOVED
        return value

    def content(self, content: bytes) -> bytes:
        """Return bytes without secrets, in UTF-8 and UTF-16 as well."""
        if not self._needles:
            return content
        encodings = ("utf-8", "utf-16-le", "utf-16-be")
        spelled = {
            needle.encode(encoding, "replace").decode("latin-1")
            for needle in self._secrets | self._needles
            for encoding in encodings
        }
        return self.text(Redactor(spelled).text(content.decode("latin-1"))).encode("latin-1")

    def cause(self, error: BaseException) -> BaseException | None:
        """Return a foreign exception as a cause, without secrets in it and in those that it comes from.

        None stands for one whose text is not in its hands, such as that of a parser in another language: it may quote a
        part of a secret.
        """
        if not self._needles:
            return error
        seen: dict[int, BaseException] = {}
        errors: list[BaseException | None] = [error]
        while errors:
            current = errors.pop()
            if current is None or id(current) in seen:
                continue
            seen[id(current)] = current
            if not current.args and str(current):
                return None
            arguments = tuple(self.value(argument) for argument in current.args)
            if arguments != current.args:
                current.args = arguments
            for name, text in [*getattr(current, "__dict__", {}).items()]:
                if isinstance(text, str | list | dict) and (cleaned := self.value(cast("object", text))) != text:
                    setattr(current, name, cleaned)
            errors += [current.__cause__, current.__context__]
            if isinstance(current, BaseExceptionGroup):
                errors += cast("BaseExceptionGroup[BaseException]", current).exceptions
        if any(self.is_in(f"{earlier} {earlier!r}") for earlier in seen.values()):
            return None
        return error

    def _find(self, layer: str) -> list[_Span]:
        lower = _needle(layer)
        spans = [span for needle in self._needles for span in _occurrences(lower, needle)]
        if self._cores:
            digits = _as_digits(layer)
            occurrences = [span for core in self._cores for span in _occurrences(digits, core)]
            if "\n" in layer or "\r" in layer:
                occurrences += spans_across_lines(layer, digits, self._cores)
            spans += [_whole_digits(layer, span) for span in occurrences]
        return spans


def _is_long(secret: str) -> bool:
    return len(secret.strip(" +")) >= MIN_SECRET


def _spellings(secret: str) -> _Spellings:
    """Return the texts in which a secret is searched for, and the parts of its base64."""
    needles = frozenset(_needle(text) for text in _layers(secret) if len(text) >= MIN_SECRET)
    return needles, frozenset(_base64_cores(secret.encode(errors="replace")))


def _needle(text: str) -> str:
    return _lower(text.replace("+", " "))


def _as_digits(text: str) -> str:
    """Return a text with each digit of base64 as `_base64_cores` has it."""
    return text.replace("+", " ").replace("-", " ").replace("_", "/")


def _parts(text: str) -> Iterator[str]:
    return (text[start : start + MIN_SECRET] for start in range(len(text) - MIN_SECRET + 1))


def _layers(text: str, count: int = _MAX_LAYERS) -> Iterator[str]:
    """Yield a text, and the text without its escapes, as often as that changes it."""
    yield text
    for _ in range(count):
        decoded = _ESCAPE.sub(_decode, text)
        if decoded == text:
            return
        text = decoded
        yield text


def _decode(match: re.Match[str]) -> str:
    """Return the character of an escape; an impossible one stays."""
    escape = match[0]
    if escape[0] == "%":
        return bytes.fromhex(escape.replace("%", "")).decode("utf-8", "replace")
    if escape[0] == "&":
        if escape[1] != "#":
            return html.unescape(escape)
        digits = escape[2:-1]
        # Python reads no decimal number of thousands of digits.
        number = int(digits[1:], 16) if digits[0] in "xX" else int(digits.lstrip("0") or "0")
    elif escape[1] not in "uUx":
        return _CONTROLS.get(escape[1], escape[1])
    elif len(escape) == len("\\ud800\\udc00"):
        number = 0x10000 + ((int(escape[2:6], 16) & 0x3FF) << 10) + (int(escape[8:], 16) & 0x3FF)
    else:
        number = int(escape[2:].strip("{}"), 16)
    return chr(number) if number <= _MAX_UNICODE else escape


def _spans_in_source(source: str, spans: list[_Span]) -> list[_Span]:
    """Return where spans of a decoded text are in the text with its escapes, which belong to them as a whole."""
    if not spans:
        return []
    starts, ends, source_starts, source_ends = [0], [0], [0], [0]
    shift = 0
    for match in _ESCAPE.finditer(source):
        length = len(_decode(match))
        starts.append(match.start() - shift)
        ends.append(starts[-1] + length)
        source_starts.append(match.start())
        source_ends.append(match.end())
        shift += match.end() - match.start() - length
    source_spans: list[_Span] = []
    for start, end in spans:
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        begin = source_starts[first] if start < ends[first] else source_ends[first] + start - ends[first]
        stop = source_ends[last] if end <= ends[last] else source_ends[last] + end - ends[last]
        source_spans.append((begin, stop))
    return source_spans


def _lower(text: str) -> str:
    """Return a text in lower case, character by character.

    Of these two letters, one would become two characters, and one depends on those beside it.
    """
    dotted, sigma = "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "\N{GREEK CAPITAL LETTER SIGMA}"
    return text.replace(dotted, "i").replace(sigma, "\N{GREEK SMALL LETTER SIGMA}").lower()


def _occurrences(text: str, needle: str) -> Iterator[_Span]:
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        yield start, end
        start = text.find(needle, end)


def spans_across_lines(layer: str, digits: str, needles: Iterable[str]) -> list[_Span]:
    """Return where needles are in digits that are wrapped, as MIME wraps base64, at the line ends of a layer."""
    pieces: list[str] = []
    starts, sources = [0], [0]
    for match in _LINE_END.finditer(layer):
        piece = digits[sources[-1] : match.start()]
        pieces.append(piece)
        starts.append(starts[-1] + len(piece))
        sources.append(match.end())
    joined = "".join([*pieces, digits[sources[-1] :]])
    occurrences: list[_Span] = []
    for needle in needles:
        for start, end in _occurrences(joined, needle):
            first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
            occurrences.append((sources[first] + start - starts[first], sources[last] + end - starts[last]))
    return occurrences


def _base64_cores(secret: bytes) -> Iterator[str]:
    """Yield the digits of a secret's base64 that are all its own, at each offset in what is encoded."""
    for offset in range(3):
        digits = base64.b64encode(bytes(offset) + secret).decode()
        first = -(-offset * _BYTE_BITS // _DIGIT_BITS)
        core = digits[first : (offset + len(secret)) * _BYTE_BITS // _DIGIT_BITS]
        yield core.replace("+", " ")


def _whole_digits(digits: str, span: _Span) -> _Span:
    """Return a span of base64 with the digits at its ends, which have some bits of the secret, and the padding."""
    start, end = span
    if start > 0 and digits[start - 1] in _BASE64:
        start -= 1
    if end < len(digits) and digits[end] in _BASE64:
        end += 1
    while end < len(digits) and digits[end] == "=":
        end += 1
    return start, end


def _without(text: str, spans: list[_Span]) -> str:
    """Return a text without spans; those that overlap are one."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            pieces += [text[at:start], REMOVED]
        at = max(at, end)
    return "".join(pieces) + text[at:] if pieces else text
