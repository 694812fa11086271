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
from functools import cache
from typing import Final, NamedTuple

__all__ = [
    "Piece",
    "ascii_text",
    "columns_of",
    "ignorable",
    "is_hidden",
    "joined",
    "look_alikes",
    "pieces_of",
    "visible_lines",
    "visible_text",
]

_IGNORABLE: Final = """
ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164 fe00-fe0f feff ffa0 fff0-fff8 1bca0-1bca3
1d173-1d17a e0000-e0fff
"""
_LOOK_ALIKES: Final = """
b8 d7 fe 131 17f 184 18d 192 196 1a6-1a7 1b7 1bc-1bd 1bf-1c0 21c 222-223 241 251 261 263 269-26a 26f 28b 28f 294 2d0 2d7
2db 2f8 37a 37e-37f 391-392 395-397 399-39a 39c-39d 39f 3a1 3a4-3a5 3a7 3b1 3b3 3b9 3bd 3bf 3c1 3c3 3c5 3d2 3dc 3e8
3ec-3ed 3f1-3f3 3f8-3fa 405-406 408 410 412 415 417 41a 41c-41e 420-423 425 42c 430-431 433 435 43e 440-441 443 445 448
455-456 458 461 474-475 4ae-4af 4bb 4bd 4c0 4cf 4e0 501 50c 51b-51d 54d 54f 555 561 563 566 570 578 57c-57d 581-582
584-585 589 5c0 5c3 5d5 5d8 5df 5e1 60d 627 647 660-661 665 667 66b 6be 6c1 6d4-6d5 6f0-6f1 6f5 6f7 701-704 7c0 7ca 7fa
903 966 969 97d 9e6 9ea 9ed a66-a67 a6a a83 ae6 ae9 b03 b20 b66 b68 be6 c02 c66 c82 ce6 d02 d1f-d20 d66 d6d d82 e50 ed0
1004 101d 1040 105a 10e7 10ff 1200 12d0 13a0-13a2 13a5 13a9-13ac 13ae 13b3 13b7 13bb 13bd 13c0 13c2-13c3 13ce-13cf 13d2
13d4-13d5 13d9-13da 13de-13df 13e2 13e6-13e7 13ee 13f3-13f4 1400 142f 144c 146d 146f 1472 148d 14aa 14bf 1541 157c-157d
1587 15af 15b4 15c5 15de 15ea 15f0 15f7 166d-166e 16b7 16c1 16d5-16d6 16ec 1735 17e0 1803 1809 1d04 1d0f 1d11 1d1c
1d20-1d22 1d26 1d83 1d8c 1e9d 1eff 1fbe 2010-2013 201a 2024 2041 2043-2044 205a 2102 210a-210e 2110-2113 2115 2119-211d
2124 2128 212a 212c-2131 2133-2134 2139 213d 2145-2149 2160 2164 2169 216c-2170 2174 2179 217c-217e 2212 2215-2216 2223
2228 222a 2236 22a4 22c1 22c3 22ff 2373-2374 237a 23fd 2571 2573 2796 27cb 27cd 27d9 292b-292c 29f5 29f8-29f9 2a2f 2c82
2c85 2c8e 2c92-2c94 2c98 2c9a 2c9c 2c9e-2c9f 2ca2-2ca6 2ca8-2ca9 2cac 2cba-2cbb 2cbd 2cc4 2cc6-2cc7 2cca-2ccc 2cce-2cd0
2cd2-2cd3 2cdc 2d38-2d39 2d4f 2d54-2d55 2d5d 2e40 2f02-2f03 3007 3033 30a0 30ce 31d3-31d4 4e36 4e3f a4d0-a4d4 a4d6-a4d7
a4d9-a4da a4dc-a4dd a4df-a4e3 a4e6-a4e7 a4ea-a4ec a4ee a4f0 a4f2-a4f4 a4f8-a4f9 a4fd a4ff a60e a644 a647 a6df a6eb a6ef
a731 a75a a76a a76e a778 a789 a798-a799 a79f a7ab a7b2-a7b4 ab32 ab35 ab3d ab47-ab48 ab4e ab52 ab5a ab75 ab81 ab83 ab93
aba9-abaa abaf fba6-fbad fe30 fe4d-fe4f fe58 fe68 fe8d-fe8e fee9-feec ff01-ff1a ff1a-ff21 ff21-ff22 ff22-ff23 ff23-ff25
ff25-ff28 ff28-ff29 ff29-ff2a ff2a-ff2b ff2b-ff2d ff2d-ff2e ff2e-ff2f ff2f-ff30 ff30-ff33 ff33-ff34 ff34-ff38 ff38-ff39
ff39-ff3a ff3a-ff3c ff3c-ff41 ff41-ff43 ff43-ff45 ff45-ff47 ff47-ff48 ff48-ff49 ff49-ff4a ff4a-ff4c ff4c-ff4f ff4f-ff50
ff50-ff53 ff53-ff56 ff56-ff58 ff58-ff59 ff59-ff5e ffe8 10282 10286-10287 1028a 10290 10292 10295-10297 102a0-102a2 102a5
102ab 102b0-102b2 102b4 102cf 102f5 10301-10302 10309 10311 10315 10317 1031a 10320 10322 10404 10415 1041b 10420 1042c
1043d 10448 104b4 104c2 104ce 104d2 104ea 104f6 10513 10516 10518 1051c-1051d 10525-10527 10a50 114d0 11706 1170a
1170e-1170f 118a0 118a2-118a4 118a6 118a9 118ac 118ae-118af 118b2 118b5 118b8 118bb-118bc 118c0-118c4 118c6 118c8 118ca
118cc 118d5-118d8 118dc 118e0 118e5-118e6 118e9 118ec 118ef 118f2 11dd9-11dda 11de0-11de1 16eaa 16eb6 16f08 16f0a 16f16
16f28 16f35 16f3a-16f3b 16f40 16f42-16f43 1ccd6-1ccf9 1d16d 1d206 1d20d 1d20f 1d212-1d213 1d216 1d22a 1d23a-1d23b
1d400-1d425 1d427-1d454 1d456-1d459 1d45b-1d48d 1d48f-1d49c 1d49e-1d49f 1d4a2 1d4a5-1d4a6 1d4a9-1d4ac 1d4ae-1d4b9 1d4bb
1d4bd-1d4c1 1d4c3 1d4c5-1d4f5 1d4f7-1d505 1d507-1d50a 1d50d-1d514 1d516-1d51c 1d51e-1d529 1d52b-1d539 1d53b-1d53e
1d540-1d544 1d546 1d54a-1d550 1d552-1d55d 1d55f-1d591 1d593-1d5c5 1d5c7-1d5f9 1d5fb-1d62d 1d62f-1d661 1d663-1d695
1d697-1d6a4 1d6a8-1d6a9 1d6ac-1d6ae 1d6b0-1d6b1 1d6b3-1d6b4 1d6b6 1d6b8 1d6bb-1d6bc 1d6be 1d6c2 1d6c4 1d6ca 1d6ce 1d6d0
1d6d2 1d6d4 1d6d6 1d6e0 1d6e2-1d6e3 1d6e6-1d6e8 1d6ea-1d6eb 1d6ed-1d6ee 1d6f0 1d6f2 1d6f5-1d6f6 1d6f8 1d6fc 1d6fe 1d704
1d708 1d70a 1d70c 1d70e 1d710 1d71a 1d71c-1d71d 1d720-1d722 1d724-1d725 1d727-1d728 1d72a 1d72c 1d72f-1d730 1d732 1d736
1d738 1d73e 1d742 1d744 1d746 1d748 1d74a 1d754 1d756-1d757 1d75a-1d75c 1d75e-1d75f 1d761-1d762 1d764 1d766 1d769-1d76a
1d76c 1d770 1d772 1d778 1d77c 1d77e 1d780 1d782 1d784 1d78e 1d790-1d791 1d794-1d796 1d798-1d799 1d79b-1d79c 1d79e 1d7a0
1d7a3-1d7a4 1d7a6 1d7aa 1d7ac 1d7b2 1d7b6 1d7b8 1d7ba 1d7bc 1d7be 1d7c8 1d7ca 1d7ce-1d7ff 1e8c7 1e8cb 1ee00 1ee24 1ee64
1ee80 1ee84 1f74c 1f768 1fbf0-1fbf9
"""


@cache
def ignorable() -> frozenset[int]:
    """Return the code points with the property Default_Ignorable_Code_Point."""
    return _code_points(_IGNORABLE)


@cache
def look_alikes() -> frozenset[int]:
    """Return the code points mapped by UTS #39 to an ASCII letter, digit, or punctuation mark of addresses."""
    return _code_points(_LOOK_ALIKES)


def _code_points(ranges: str) -> frozenset[int]:
    points = set[int]()
    for text in ranges.split():
        first, _, last = text.partition("-")
        points.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(points)


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
        token, start = match[0], match.start()
        if match["plain"] is not None:
            yield Piece(token, len(token))
        elif match["run"] is not None and (token[0] == " " or is_hidden(token[0])):
            name = _RUN_NAMES.get(token[0], f"times {_escape(token[0])}")
            yield Piece(f"[{len(token):,} {name}]", len(token), is_mark=True)
        else:
            for index, character in enumerate(token, start):
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
            if unicodedata.combining(self._text[index]) == _OVERLAY:
                return True
            for before in range(index - 1, max(index - 1 - _MAX_MARKS, -1), -1):
                category = unicodedata.category(self._text[before])
                if not category.startswith("M"):
                    return not category.startswith("L")
            return True
        return _is_look_alike(character) and self._is_misleading(index)

    def foreign_script(self) -> str | None:
        """Return the scripts of a text of nothing but look-alikes of ASCII."""
        if self._has_ascii or self._scripts or self._text.isascii():
            return None
        scripts = {_script(c) for c in self._text[:_MAX_LETTERS] if _is_look_alike(c) and c.isalnum()}
        return ", ".join(sorted(scripts)) or None

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
