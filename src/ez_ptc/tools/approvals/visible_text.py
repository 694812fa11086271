"""Text for a person's decision: every character is visible, and none passes for another.

Text stands in quotes, with quotes and backslashes inside escaped. Our marks stand outside the quotes, so no text can
forge them. Escaped, as in Python's strings, are

- invisible and blank characters: control and format characters, all blanks but the space, unassigned and private code
  points, and Unicode's default-ignorable ones (fillers, joiners, variation selectors, tags);
- combining marks able to change or cover other text: on anything but a letter, overlaid, enclosing, or over four;
- look-alikes of ASCII characters, by Unicode's confusables, in a word with ASCII letters or digits: a Cyrillic letter
  in "paypal.com". Beside an unmistakable letter of the same script, they are text of that script and stay. A text of
  nothing but look-alikes stays too, and a mark names their script.

Runs of one blank or invisible character are counted instead of shown.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ez_ptc.tools.approvals.characters import ignorable, look_alikes

__all__ = ["Piece", "ascii_text", "columns_of", "is_hidden", "joined", "pieces_of", "visible_lines", "visible_text"]

_TOKEN: Final = re.compile(r"(?P<plain>(?:[!#-\[\]-~]| (?!  )){1,200})|(?P<run>(.)\3{2,})|(?P<one>.)", re.DOTALL)
_BLANKS: Final = re.compile(" {2,}")
_EMPTY_LINES: Final = re.compile("\n{4,}")
_MAX_INDENT: Final = 40
_SHORT_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_RUN_NAMES: Final = {" ": "blanks", "\n": "line ends", "\t": "tabs"}
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Zl", "Zp", "Zs"})
# They show as blanks, though they are symbols or letters: braille, music, hieroglyphs, Khitan.
_BLANK_SYMBOLS: Final = frozenset("\u2800\U0001d159\U00013441\U00013442\U00016fe4")
_MAX_MARKS: Final = 4
_OVERLAY: Final = 1
# Look-alikes in honest text, in words with ASCII letters: Turkish and Icelandic letters, multiplication sign, en
# dash, minus sign, and German quotes.
_FAMILIAR: Final = frozenset("\u0131\u00fe\u00d7\u2013\u2212\u201a")
# Longer words are looked at around the character only, since a text without blanks is one word.
_MAX_WORD: Final = 64
_MAX_LETTERS: Final = 2_000
_EAST_ASIAN: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})


class Piece(NamedTuple):
    """A part of a text as it is shown: `shown` stands for `length` characters; a mark stands outside the quotes."""

    shown: str
    length: int
    is_mark: bool = False


def visible_text(text: str) -> str:
    """Return a text in quotes, with everything in it visible. Takes time linear in the text."""
    return "".join(joined(pieces_of(text)))


def pieces_of(text: str) -> Iterator[Piece]:
    """Yield a text's pieces, lazily: the first take no time for the rest."""
    letters = _Letters(text)
    if (script := letters.foreign_script()) is not None:
        yield Piece(f"({script} look-alikes of ASCII)", 0, is_mark=True)
    for match in _TOKEN.finditer(text):
        found, start = match[0], match.start()
        if match["plain"] is not None:
            yield Piece(found, len(found))
        elif match["run"] is not None and (found[0] == " " or is_hidden(found[0])):
            name = _RUN_NAMES.get(found[0], f"times {_escape(found[0])}")
            yield Piece(f"[{len(found):,} {name}]", len(found), is_mark=True)
        else:
            for index, character in enumerate(found, start):
                yield Piece(_escape(character) if letters.is_escaped(index) else character, 1)


def joined(pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield the joined text of pieces, with quotes around all but the marks."""
    is_open: bool | None = None
    for piece in pieces:
        if is_open is None:
            yield "" if piece.is_mark else '"'
        elif piece.is_mark:
            yield '" ' if is_open else " "
        elif not is_open:
            yield ' "'
        is_open = not piece.is_mark
        yield piece.shown
    if is_open is None:
        yield '""'
    elif is_open:
        yield '"'


def visible_lines(text: str) -> str:
    """Return a text of several lines, without quotes, with everything in it visible: another's question to a person."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        parts, index = list[str](), 0
        for piece in pieces_of(line):
            written = line[index : index + piece.length]
            is_plain = written in {'"', "\\"} or (written.isspace() and len(written) <= _MAX_INDENT)
            parts.append(written if is_plain and written.isascii() and written.isprintable() else piece.shown)
            index += piece.length
        lines.append("".join(parts))
    return _EMPTY_LINES.sub(lambda run: f"\n[{len(run[0]) - 1:,} empty lines]\n", "\n".join(lines))


def ascii_text(text: str) -> str:
    """Return a name in ASCII: characters outside it are escaped, and so are blanks beside blanks."""
    escaped = "".join(c if " " <= c <= "~" and c not in _SHORT_ESCAPES else _escape(c) for c in text)
    return _BLANKS.sub(lambda run: "\\x20" * len(run[0]), escaped)


def columns_of(text: str) -> int:
    """Return the maximum width of a text in columns of a terminal; a character outside ASCII may take two."""
    if text.isascii():
        return len(text)
    return sum(1 if character <= "~" else 2 for character in text)


def is_hidden(character: str) -> bool:
    """Return whether a character is invisible or blank, or encloses others."""
    if character in _BLANK_SYMBOLS or ord(character) in ignorable():
        return True
    return character != " " and unicodedata.category(character) in _HIDDEN_CATEGORIES


def _escape(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    point = ord(character)
    if point <= 0xFF:  # noqa: PLR2004 - as Python writes them
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"  # noqa: PLR2004 - as Python writes them


def _script(character: str) -> str:
    """Return the script of a letter or digit, from its name; those of East Asia are one, since texts mix them."""
    script = re.split("[ -]", unicodedata.name(character, "UNNAMED"), maxsplit=1)[0]
    return "CJK" if script in _EAST_ASIAN else script


def _is_look_alike(character: str) -> bool:
    if character <= "~" or character in _FAMILIAR:
        return False
    return ord(character) in look_alikes() or unicodedata.category(character) == "Nd"


def _is_telling(character: str) -> bool:
    """Return whether a letter shows its script, because it looks like no ASCII character."""
    return character > "~" and character.isalpha() and not _is_look_alike(character)


def _is_ascii_alphanumeric(character: str) -> bool:
    return character.isascii() and character.isalnum()


class _Letters:
    """Decides about the characters of one text, each by its surroundings."""

    def __init__(self, text: str) -> None:
        self._text: Final = text
        beginning = text[:_MAX_LETTERS]
        self._has_ascii: Final = any(map(_is_ascii_alphanumeric, beginning))
        self._scripts: Final = frozenset(_script(c) for c in beginning if _is_telling(c)) if not text.isascii() else ()

    def is_escaped(self, index: int) -> bool:
        """Return whether the character at an index is escaped."""
        character = self._text[index]
        if character <= "~":
            return character in _SHORT_ESCAPES or character < " "
        if is_hidden(character):
            return True
        if unicodedata.category(character) == "Mn":
            return self._is_stray_mark(index)
        return _is_look_alike(character) and self._is_misleading(index)

    def foreign_script(self) -> str | None:
        """Return the scripts of a text of nothing but look-alikes of ASCII."""
        if self._has_ascii or self._scripts or self._text.isascii():
            return None
        scripts = {_script(c) for c in self._text[:_MAX_LETTERS] if _is_look_alike(c) and c.isalnum()}
        return ", ".join(sorted(scripts)) or None

    def _is_stray_mark(self, index: int) -> bool:
        if unicodedata.combining(self._text[index]) == _OVERLAY:
            return True
        for before in range(index - 1, max(index - 1 - _MAX_MARKS, -1), -1):
            category = unicodedata.category(self._text[before])
            if not category.startswith("M"):
                return not category.startswith("L")
        return True

    def _is_misleading(self, index: int) -> bool:
        character = self._text[index]
        if not character.isalnum():  # punctuation misleads in an address or a number: among ASCII characters
            neighbors = self._neighbors(index).replace(" ", "")
            return bool(neighbors) and all(c <= "~" or _is_look_alike(c) for c in neighbors)
        if self._in_ascii_word(index):
            same = (_is_telling(c) and _script(c) == _script(character) for c in self._neighbors(index))
            return character.isdigit() or not any(same)
        return self._has_ascii and _script(character) not in self._scripts

    def _neighbors(self, index: int) -> str:
        return self._text[max(index - 1, 0) : index] + self._text[index + 1 : index + 2]

    def _in_ascii_word(self, index: int) -> bool:
        before = self._text[max(index - _MAX_WORD, 0) : index].split(" ")[-1]
        after = self._text[index + 1 : index + 1 + _MAX_WORD].split(" ")[0]
        return any(map(_is_ascii_alphanumeric, before + after))
