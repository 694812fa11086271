"""Secrets are removed from texts and values in every spelling, and nothing else is."""

import base64
import html
import json
import time
import traceback
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.redaction.redactor import MAX_ADDED, MIN_SECRET, REMOVED, Redactor

SECRET = "sk/live+sécret=='\"&%41<\\>"


def code_units(text: str) -> list[int]:
    encoded = text.encode("utf-16-be")
    return [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]


SPELLINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "json": json.dumps,
    "json_of_json": lambda text: json.dumps(json.dumps(text)),
    "php": lambda text: json.dumps(text).replace("/", "\\/"),
    "json_unescaped": lambda text: json.dumps(text, ensure_ascii=False),
    "html_zeros": lambda text: "".join(f"&#{ord(character):09d};" for character in text),
    "html_hex_zeros": lambda text: "".join(f"&#x{ord(character):08x};" for character in text),
    "json_all": lambda text: "".join(f"\\u{unit:04x}" for unit in code_units(text)),
    "json_capitals": lambda text: "".join(f"\\u{unit:04X}" for unit in code_units(text)),
    "javascript": lambda text: "".join(f"\\u{{{ord(character):x}}}" for character in text),
    "python": lambda text: repr(text).replace("é", "\\xe9"),
    "percent": lambda text: quote(text, safe=""),
    "percent_lower": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "percent_capitals": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent_some": quote,
    "form": quote_plus,
    "percent_twice": lambda text: quote(quote(text, safe=""), safe=""),
    "html": html.escape,
    "html_decimal": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "html_hexadecimal": lambda text: "".join(f"&#x{ord(character):X};" for character in text),
    "html_of_json": lambda text: html.escape(json.dumps(text)),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64_url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64_user": lambda text: base64.b64encode(f"ada:{text}".encode()).decode(),
    "base64_users": lambda text: base64.urlsafe_b64encode(f"anna:{text}".encode()).decode(),
    "base64_pair": lambda text: base64.b64encode(f"u:{text}:more".encode()).decode(),
    "base64_percent": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "base64_php": lambda text: base64.b64encode(text.encode()).decode().replace("/", "\\/"),
}
secrets = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=MIN_SECRET, max_size=40).filter(
    lambda text: len(text.strip(" +")) >= MIN_SECRET
)


BESIDE_OTHERS = ("base64_user", "base64_users", "base64_pair")


@pytest.mark.parametrize("spelling", sorted(SPELLINGS.keys() - {*BESIDE_OTHERS}))
def test_secret_is_removed_in_spelling(spelling: str) -> None:
    written = SPELLINGS[spelling](SECRET)
    for before, after in (("", ""), ("key: ", "!"), ('{"a": "', '"}'), ("é~", "~")):
        cleaned = Redactor([SECRET]).text(before + written + after)
        assert cleaned.replace('"', "").replace("\\", "").replace("&quot;", "").replace("'", "") == (
            before + REMOVED + after
        ).replace('"', "")


@pytest.mark.parametrize("spelling", BESIDE_OTHERS)
def test_base64_of_more_keeps_what_is_no_secret(spelling: str) -> None:
    cleaned = Redactor([SECRET]).text(f"<{SPELLINGS[spelling](SECRET)}>")
    before, after = cleaned.strip("<>").split(REMOVED)
    assert b"ada:anna:u:".find(base64.b64decode(before[: len(before) // 4 * 4])) >= 0
    assert len(after) <= len(base64.b64encode(b":more"))


@given(secrets, st.sampled_from(sorted(SPELLINGS)), st.text(max_size=10), st.text(max_size=10))
def test_any_secret_is_removed_in_any_spelling(secret: str, spelling: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    written = SPELLINGS[spelling](secret)
    cleaned = redactor.text(f"{before}\n{written}\n{after}")
    assert written not in cleaned
    assert not redactor.is_in(cleaned) or redactor.is_in(before + after)


@given(secrets, st.data())
def test_mixed_spellings_are_removed(secret: str, data: st.DataObject) -> None:
    ways = [str, *(SPELLINGS[name] for name in ("percent_lower", "html_decimal"))]
    written = "".join(data.draw(st.sampled_from(ways))(character) for character in secret)
    if "\\" not in secret and "&" not in secret and "%" not in secret:
        assert Redactor([secret]).text(f"<{written}>") == f"<{REMOVED}>"


@given(st.text(max_size=200))
def test_text_without_secret_is_unchanged(text: str) -> None:
    assert Redactor(["QQQQ-zzzz-QQQQ"]).text(text) == text
    assert not Redactor(["QQQQ-zzzz-QQQQ"]).is_in(text)


@given(secrets, st.text(max_size=10), st.integers(0, 3))
def test_what_is_in_a_value_is_in_its_json(secret: str, beside: str, depth: int) -> None:
    for spelling in SPELLINGS.values():
        value: object = f"{beside} {spelling(secret)} {beside}"
        for _ in range(depth):
            value = {"a": [value]}
        redactor = Redactor([secret])
        for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value).replace("/", "\\/")):
            assert redactor.is_in(text)


def test_values_and_keys_are_cleaned() -> None:
    redactor = Redactor(["open-sesame", "12345678"])
    value = {"open-sesame": 1, "x open-sesame": [{"a": "open-sesame!"}, 12345678, 1.5, True, None], "b": 912345678}
    assert redactor.value(value) == {
        REMOVED: 1,
        f"x {REMOVED}": [{"a": f"{REMOVED}!"}, REMOVED, 1.5, True, None],
        "b": REMOVED,
    }


def test_fields_whose_names_become_equal_all_stay() -> None:
    cleaned = Redactor(["open-sesame", "shibboleth"]).value({"open-sesame": 1, "shibboleth": 2, REMOVED: 3})
    assert json.loads(json.dumps(cleaned)) == {REMOVED: 1, f"{REMOVED} 1": 2, f"{REMOVED} 2": 3}


def test_overlapping_secrets_are_removed_whole() -> None:
    redactor = Redactor(["abcdefghij", "fghijklmnop", "defghijk"])
    assert redactor.text("<abcdefghijklmnop>") == f"<{REMOVED}>"
    assert redactor.text("<abcdefghij> <defghijk>") == f"<{REMOVED}> <{REMOVED}>"
    assert Redactor(["Bearer open-sesame", "open-sesame"]).text("Bearer open-sesame!") == f"{REMOVED}!"


@pytest.mark.parametrize("change", [str.lower, str.upper, str.title, str.swapcase])
def test_case_of_a_secret_does_not_count(change: Callable[[str], str]) -> None:
    secret = "sk-Live/S3cr3t"
    assert Redactor([secret]).text(f"a {change(secret)} b") == f"a {REMOVED} b"


@pytest.mark.parametrize("secret", ["\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}" * 8, "\u03a9\u03a3" * 4])
def test_letters_of_unusual_lower_case_are_removed_exactly(secret: str) -> None:
    for after in ("", "\u03c9", " b"):
        assert Redactor([secret]).text(f"a {secret}{after}") == f"a {REMOVED}{after}"


@pytest.mark.parametrize("short", ["", "1234567", "       ", "++++++++++", "a        "])
def test_short_secrets_are_left_alone(short: str) -> None:
    assert not Redactor([short])
    assert Redactor([short]).text(f"a {short} b") == f"a {short} b"


def test_last_of_secrets_that_change_with_every_request_are_removed() -> None:
    redactor = Redactor(["fixed-secret"], addresses=["db:1"])
    for number in range(3 * MAX_ADDED):
        redactor.add(["constant-token", f"signature-{number:04}"])
        assert redactor.text(f"constant-token signature-{number:04}") == f"{REMOVED} {REMOVED}"
    assert redactor.text("fixed-secret db:1") == f"{REMOVED} {REMOVED}"
    shown = [number for number in range(3 * MAX_ADDED) if redactor.text(f"signature-{number:04}") != REMOVED]
    assert shown == [*range(len(shown))]
    assert 2 * MAX_ADDED <= len(shown) <= 2 * MAX_ADDED + 1


def test_content_is_cleaned_in_its_encodings() -> None:
    redactor = Redactor(["schlüssel-bund"])
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        assert redactor.content(b"\xff\xff" + "schlüssel-bund".encode(encoding) + b"\xfe") == b"\xff\xff[removed]\xfe"
    assert redactor.content(b"\xff" + base64.b64encode("u:schlüssel-bund".encode()) + b"\xfe")[-10:] == b"[removed]\xfe"


def test_errors_lose_their_secrets_with_their_causes() -> None:
    inner = ValueError("bad open-sesame", {"url": "http://open-sesame@x"})
    outer = RuntimeError("no")
    vars(outer)["body"] = {"detail": "open%2Dsesame"}
    outer.__cause__ = inner
    assert Redactor(["open-sesame"]).cause(outer) is outer
    assert inner.args == ("bad [removed]", {"url": "http://[removed]@x"})
    assert vars(outer)["body"] == {"detail": REMOVED}

    class StubbornError(Exception):
        def __str__(self) -> str:
            return "open-sesame"

    assert Redactor(["open-sesame"]).cause(StubbornError()) is None


def test_keys_named_like_removed_ones_are_kept() -> None:
    value = {REMOVED: 1, f"{REMOVED} 2": 2, "open-sesame": 3, "open%2Dsesame": 4}
    cleaned = Redactor(["open-sesame"]).value(value)
    assert isinstance(cleaned, dict)
    assert [*cleaned.values()] == [1, 2, 3, 4]


def test_entity_of_many_zeros_is_read() -> None:
    zeros = "0" * 5_000
    assert Redactor(["open-sesame"]).text(f"open&#{zeros}45;sesame &#{zeros};") == f"{REMOVED} &#{zeros};"


@pytest.mark.security
@pytest.mark.parametrize(
    "piece", ["a", "\\", "\\u0061", "%", "%41", "%25", "&amp;", "&", "open-sesam", "open-sesame", "b3Blbi1z", "+", "A="]
)
def test_costs_are_in_proportion_to_the_text(piece: str) -> None:
    redactor = Redactor(["open-sesame", "aaaaaaaaaaaaaaaaaaaaaaaab", "%25%25%25%25%25"])

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        times: list[float] = []
        for _ in range(5):
            began = time.process_time()
            redactor.text(text)
            times.append(time.process_time() - began)
        return min(times)

    size = 200_000
    while (before := seconds(size)) < 0.02:
        size *= 2
    assert seconds(2 * size) <= 2.6 * before


LINE_ENDS = ["\n", "\r\n", "\r\n ", "\n\t", "\\n", "\\r\\n", "%0A", "&#10;"]


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize("before", ["", "ada:", "a" * 55])
@given(
    secret=st.text(st.characters(codec="utf-8", exclude_characters=" +"), min_size=MIN_SECRET), width=st.integers(4, 76)
)
def test_base64_in_lines_is_removed(secret: str, width: int, before: str, line_end: str) -> None:
    digits = base64.b64encode(f"{before}{secret}".encode()).decode()
    lines = line_end.join(digits[start : start + width] for start in range(0, len(digits), width))
    redactor = Redactor([secret])
    assert redactor.is_in(f"Key: {lines}\nNext: line")
    cleaned = redactor.text(f"Key: {lines}\nNext: line")
    assert not redactor.is_in(cleaned)
    assert cleaned.startswith("Key: ")
    assert cleaned.endswith("Next: line")


def test_groups_bytes_and_foreign_errors_lose_their_secrets() -> None:
    redactor = Redactor(["open-sesame"])
    group = ExceptionGroup(
        "two", [ValueError("open-sesame"), UnicodeDecodeError("utf-8", b"open-sesame\xff", 11, 12, "x")]
    )
    assert redactor.cause(group) is group
    assert "sesame" not in "".join(traceback.format_exception(group)) + repr(group)

    class ParserError(ValueError):
        def __str__(self) -> str:
            return "a piece: ...n-sesame"

    assert redactor.cause(ExceptionGroup("one", [ParserError()])) is None
    assert redactor.cause(TimeoutError()) is not None
