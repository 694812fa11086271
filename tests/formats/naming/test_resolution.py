"""Names that models write instead of a tool's: understood if they stand for one tool, and never for another's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.formats.naming.resolution import Spellings
from ez_ptc.formats.openai_chat.tools import NAMES


def spellings(*names: str) -> Spellings:
    """Return the spellings of tools, with their names at OpenAI."""
    return Spellings({**{name: name for name in names}, "files_read": "files.read"}, NAMES)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("functions.note", "note"),
        ("function.note", "note"),
        ("functions.note:0", "note"),
        ("functions.functions.note", "note"),
        ("default_api.note", "note"),
        ("default_api:note", "note"),
        ("default_api.functions.note", "note"),
        ("functions::note", "note"),
        ("tools/note", "note"),
        ("note<|channel|>commentary", "note"),
        ("note<|channel|>x", "note"),
        ("note<|constrain|>json", "note"),
        ("functions.note<|channel|>analysis", "note"),
        ("<|tool|>note", "note"),
        ("commentary to=functions.note", "note"),
        ("assistant<|channel|>commentary to=functions.note <|constrain|>json", "note"),
        (" note\n", "note"),
        ('"note"', "note"),
        ("`note`", "note"),
        ("\u201cnote\u201d", "note"),
        ("note()", "note"),
        ("NOTE", "note"),
        ("Get_Weather", "get_weather"),
        ("getWeather", "get_weather"),
        ("get-weather", "get_weather"),
        ("get weather", "get_weather"),
        ("setlimit", "setLimit"),
        ("set_limit", "setLimit"),
        ("\uff4eote", "note"),
        ("note\u200b", "note"),
        ("files.read", "files.read"),
        ("functions.files.read", "files.read"),
        ("functions.files_read", "files.read"),
        ("x" * 80, "x" * 80),
        ("functions." + "x" * 80, "x" * 80),
    ],
)
def test_name_that_fits_one_tool_is_understood(written: str, name: str) -> None:
    assert spellings("note", "get_weather", "setLimit", "files.read", "x" * 80).find(written) == name


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("functions.note", ["note", "functions_note"]),
        ("NOTE", ["note", "Note"]),
        ("get-weather", ["get_weather", "getWeather"]),
        ("functions.GET", ["Get", "gEt"]),
        ("note", []),
        ("github.note", ["note"]),
        ("n\u043ete", ["note"]),  # a Cyrillic letter
        ("メモ", ["note"]),
        ("", ["note"]),
        ("functions.", ["note"]),
        ("<|channel|>", ["note"]),
        ("denote", ["note"]),
        ("notes", ["note"]),
        ("y" * 80, ["note"]),
        ("x" * 64, ["x" * 80]),
        ("functions." * 10_000 + "note", ["note"]),
    ],
)
def test_name_that_fits_no_tool_or_two_is_unknown(written: str, names: list[str]) -> None:
    assert spellings(*names).find(written) is None


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("functions.note", ["note", "functions_note"]),
        ("functions.note", ["note", "FunctionsNote"]),
        ("api.default_api.add", ["add", "default_api_add"]),
        ("note:0", ["note", "note_0"]),
        ("tools/functions/note", ["note", "functions_note"]),
    ],
)
def test_ambiguous_name_is_unknown_without_rules_of_a_provider(written: str, names: list[str]) -> None:
    assert Spellings({name: name for name in names}).find(written) is None


@given(names=st.lists(st.text(alphabet="aAbB_-. :", min_size=1, max_size=5), unique=True), written=st.text(max_size=8))
def test_own_name_always_wins_and_order_does_not_matter(names: list[str], written: str) -> None:
    known = Spellings({name: name for name in names}, NAMES)

    assert [known.find(name) for name in names] == names
    assert known.find(written) == Spellings({name: name for name in reversed(names)}, NAMES).find(written)
