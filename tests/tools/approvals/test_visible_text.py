"""Text as a person has to see it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.tools.approvals.visible_text import (
    ascii_text,
    ignorable,
    is_hidden,
    look_alikes,
    visible_lines,
    visible_text,
)

BLANKS = "\u00a0\u1680\u2000\u2003\u2009\u202f\u205f\u3000\u2800\u3164\u115f\u1160\uffa0\U0001d159\t\n\r\u2028\u2029"
INVISIBLE = (
    "\u00ad\u034f\u061c\u17b4\u180e\u200b\u200c\u200d\u200e\u2060\u2062\ufeff\ufe0f\U000e0041\U000e0100\x00\x1b\x9b"
)
BIDI = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200f"


@pytest.mark.parametrize("character", BLANKS + INVISIBLE + BIDI + "\ud800\ue000\u0378\U0010ffff")
@pytest.mark.parametrize("template", ["{}", "a{}b", "1{}", "\u044f{}\u044f", "{0}{0}{0}{0}", "a {0}{0} b"])
def test_character_that_shows_as_nothing_is_escaped(character: str, template: str) -> None:
    shown = visible_text(template.format(character))
    assert character not in shown
    assert shown.isprintable()
    assert "\\" in shown or "times" in shown or "line ends" in shown or "tabs" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", '""'),
        ("Ada", '"Ada"'),
        ('say "hi" \\ bye', r'"say \"hi\" \\ bye"'),
        ("Thanks" + " " * 4_000, '"Thanks" [4,000 blanks]'),
        ("a  b   c", '"a  b" [3 blanks] "c"'),
        (" " * 5 + "\n" * 1_000 + "x", '[5 blanks] [1,000 line ends] "x"'),
        ("\u3164" * 9, r"[9 times \u3164]"),
        ("[4,000 blanks]", '"[4,000 blanks]"'),
        ("one\ntwo", r'"one\ntwo"'),
        ("哈哈哈哈", '"哈哈哈哈"'),
        ("<b>*b*</b> [red]r[/red] `c` \x1b[31m", r'"<b>*b*</b> [red]r[/red] `c` \x1b[31m"'),
    ],
)
def test_text_is_quoted_and_marks_stand_outside(text: str, shown: str) -> None:
    assert visible_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "it\u2019s \u201cgood\u201d: na\u00efve caf\u00e9, 2019\u20132021, 3 \u00d7 4",
        "Gr\u00fc\u00dfe aus K\u00f6ln, \u0141\u00f3d\u017a, \u0131l\u0131k, \u00feað",
        "\u041f\u0440\u0438\u0432\u0435\u0442 \u0430 \u041c\u041e\u0421\u0422",
        "USB-\u043f\u043e\u0440\u0442 \u0434\u043b\u044f iPhone",
        "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5 123",
        "VIP\u30eb\u30fc\u30e0\u306b3\u540d\u69d8\u3001\u5c71\u30ce\u624b\u7dda",
        "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
        "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
        "e\u0301 \u1ec7",
    ],
)
def test_honest_text_of_other_languages_is_readable(text: str) -> None:
    assert visible_text(text) == f'"{text}"'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p\u0430ypal.com", r'"p\u0430ypal.com"'),
        ("\u0440\u0430\u0443\u0440\u0430l.com", r'"\u0440\u0430\u0443\u0440\u0430l.com"'),
        ("\u0440\u0430\u0441\u0435.com is caf\u00e9", r'"\u0440\u0430\u0441\u0435.com is café"'),
        ("D\u041589 3704", r'"D\u041589 3704"'),
        ("DE89 \u0410\u0412", r'"DE89 \u0410\u0412"'),
        ("1\u041e\u041e\u041e", r'"1\u041e\u041e\u041e"'),
        ("1\u0660\u0660", r'"1\u0660\u0660"'),
        ("10\u09ea", r'"10\u09ea"'),
        ("a\uff0ecom", r'"a\uff0ecom"'),
        ("http:\u2215\u2215evil.com", r'"http:\u2215\u2215evil.com"'),
        ("bank.com\u30ceevil", r'"bank.com\u30ceevil"'),
        ("\U0001d41a1", r'"\U0001d41a1"'),
        ("\u0412\u0435\u0440\u0430", '(CYRILLIC look-alikes of ASCII) "\u0412\u0435\u0440\u0430"'),
        ("\u09ea\u09e6\u09e6", '(BENGALI look-alikes of ASCII) "\u09ea\u09e6\u09e6"'),
        ("\u0391\u0395\u0412", '(CYRILLIC, GREEK look-alikes of ASCII) "\u0391\u0395\u0412"'),
    ],
)
def test_look_alikes_of_ascii_are_noticed(text: str, shown: str) -> None:
    assert visible_text(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("5\u0301", r'"5\u0301"'),
        ("\u0301a", r'"\u0301a"'),
        ("1\u03360\u0336", r'"1\u03360\u0336"'),
        ("a\u0338b", r'"a\u0338b"'),
        ("1\ufe0f\u20e3", r'"1\ufe0f\u20e3"'),
        ("e" + "\u0301" * 6, '"e' + "\u0301" * 4 + r'\u0301\u0301"'),
    ],
)
def test_marks_that_cover_other_text_are_escaped(text: str, shown: str) -> None:
    assert visible_text(text) == shown


@given(st.text())
def test_any_text_shows_without_hidden_characters(text: str) -> None:
    shown = visible_text(text)
    assert not any(is_hidden(character) for character in shown)
    assert "   " not in shown
    assert shown.count('"') % 2 == shown.count('\\"') % 2
    assert all(" " <= character <= "~" for character in ascii_text(text))


def test_python_and_the_table_agree_about_format_characters() -> None:
    for point in ignorable():
        assert is_hidden(chr(point))
    assert ord("\u0430") in look_alikes()
    assert not any(unicodedata.category(chr(point)) == "Zs" for point in look_alikes())


def test_lines_of_another_question_keep_their_form() -> None:
    assert visible_lines('Say "hi":\n    a \\ b\r\n') == 'Say "hi":\n    a \\ b\n'
    assert visible_lines("https://p\u0430ypal.com/\u200bx") == r"https://p\u0430ypal.com/\u200bx"
    assert (
        visible_lines(f"a{' ' * 4_000}b{chr(10) * 10_000}c\u202ed\t")
        == "a[4,000 blanks]b\n[9,999 empty lines]\nc\\u202ed\\t"
    )
