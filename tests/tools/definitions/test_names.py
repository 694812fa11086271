"""How programs spell the names of tools and of their parameters."""

import ast
import builtins
import keyword
import random
from itertools import pairwise
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ArgumentsError, DuplicateToolError
from ez_ptc.tools.definitions.names import parameter_spellings, tool_spellings, with_real_names

PROVIDED = frozenset({"json", "parallel"})
ORDINARY = [
    "find",
    "get_weather",
    "x",
    "_private",
    "__x",
    "send2",
    "größe",
    "数据",
    "Record",
    "settle",
    "self",
    "Print",
]
ODD = st.lists(
    st.sampled_from(["a", "Z", "1", "_", "-", ".", "$", " ", "\n", "'", '"', "(", "é", "ﬁ", "\uff41", "²", "ﷺ"])
)
NAMES = st.one_of(st.text(), ODD.map("".join), st.sampled_from([*keyword.kwlist, "from_", "from_2", "__debug__"]))


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("get-weather", "get_weather"),
        ("shop.find", "shop_find"),
        ("a:b", "a_b"),
        ("a--b", "a_b"),
        ("a__b", "a__b"),
        ("a_-_b", "a___b"),
        ("-x", "x"),
        ("x.", "x"),
        ("...", "__"),
        ("1abc", "_1abc"),
        ("import", "import_"),
        ("None", "None_"),
        ("print", "print_"),
        ("len", "len_"),
        ("open", "open_"),
        ("Exception", "Exception_"),
        ("NotImplemented", "NotImplemented_"),
        ("match", "match_"),
        ("_", "__"),
        ("json", "json_"),
        ("parallel", "parallel_"),
        ("__builtins__", "__builtins___"),
        ("__name__", "__name___"),
        ("__debug__", "__debug___"),
        ("ﬁnd", "find"),
        ("\uff41", "a"),
        ("\uff50rint", "print_"),
        ("ﬁ-ﬁ", "fi_fi"),
        ("1" * 128, f"_{'1' * 126}"),
        ("ﷺ" * 128, ("صلى_الله_عليه_وسلم" * 8)[:127]),
    ],
)
def test_tool_is_spelled_as_a_program_can_call_it(name: str, spelling: str) -> None:
    assert tool_spellings([name], PROVIDED) == {name: spelling}
    assert spelling.isidentifier()


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_names_stay_as_they_are(name: str) -> None:
    assert tool_spellings([name], PROVIDED) == {name: name}
    assert parameter_spellings([name, "print", "type", "match", "json"]) == {}


def test_every_name_of_python_is_renamed_in_programs() -> None:
    names = {*keyword.kwlist, *keyword.softkwlist, *PROVIDED, "__builtins__", "__file__"}
    names |= {name for name, value in vars(builtins).items() if type(value) is type(len) or isinstance(value, type)}
    assert {name: f"{name}_" for name in names} == tool_spellings(names, PROVIDED)


def test_additions_to_builtins_are_no_python_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "display", lambda: None, raising=False)
    assert tool_spellings(["display", "help", "exit"], ()) == {"display": "display", "help": "help", "exit": "exit"}


@pytest.mark.parametrize(
    ("first", "second"),
    [("a-b", "a_b"), ("print", "print_"), ("ﬁnd", "find"), ("\uff41", "a"), ("a.b", "a:b"), ("from", "from_")],
)
def test_two_tools_of_one_name_in_programs_are_refused(first: str, second: str) -> None:
    for names in ([first, second], [second, first]):
        message = f"the tools {names[0]!r} and {names[1]!r} are both called .* in programs: give one another name"
        with pytest.raises(DuplicateToolError, match=message):
            tool_spellings(names, PROVIDED)


@pytest.mark.parametrize(
    ("names", "spellings"),
    [
        (["from"], {"from": "from_"}),
        (["class", "user-id", "$filter"], {"class": "class_", "user-id": "user_id", "$filter": "filter"}),
        (["x\ny", "a) -> str"], {"x\ny": "x_y", "a) -> str": "a_str"}),
        (["from", "from_"], {"from": "from_2"}),
        (["from", "from_", "from_2"], {"from": "from_3"}),
        (["user-id", "user_id", "user.id"], {"user-id": "user_id_2", "user.id": "user_id_3"}),
        (["+1", "-1"], {"+1": "_1", "-1": "_1_2"}),
        (["", "$", "-"], {"": "_", "$": "_2", "-": "_3"}),
        (["ﬁnd", "find"], {"ﬁnd": "find_2"}),
        (["filter[name]", "filter[age]"], {"filter[name]": "filter_name", "filter[age]": "filter_age"}),
        (["@type", "X-Request-ID"], {"@type": "type", "X-Request-ID": "X_Request_ID"}),
        (["$from"], {"$from": "from_"}),
        (["__debug__"], {"__debug__": "__debug___"}),
        (["\ud800", "\x00"], {"\x00": "_", "\ud800": "_2"}),
    ],
)
def test_parameter_is_spelled_as_a_program_can_pass_it(names: list[str], spellings: dict[str, str]) -> None:
    assert parameter_spellings(names) == spellings


@given(st.lists(NAMES, unique=True, max_size=20), st.randoms())
def test_spellings_can_be_written_and_are_unique(names: list[str], order: random.Random) -> None:
    spellings = parameter_spellings(names)
    spelled = [spellings.get(name, name) for name in names]

    assert len({*spelled}) == len(names)
    for name in spelled:
        call = ast.parse(f"f({name}=1)").body[0]
        assert isinstance(call, ast.Expr)
        assert isinstance(call.value, ast.Call)
        assert [each.arg for each in call.value.keywords] == [name] == [normalize("NFKC", name)]
        assert len(name) <= 128
    assert parameter_spellings(order.sample(names, len(names))) == spellings


@pytest.mark.sampled(every=0)
def test_many_names_of_one_spelling_are_numbered() -> None:
    names = ["-" * count for count in range(20_000)]
    spelled = parameter_spellings(names)
    assert all(first != second for first, second in pairwise(sorted(spelled.values())))


def test_arguments_get_their_real_names() -> None:
    names = {"from_": "from", "user_id": "user-id"}
    assert with_real_names("send", names, {"from_": 1, "user-id": 2, "to": 3}) == {"from": 1, "user-id": 2, "to": 3}
    with pytest.raises(ArgumentsError) as caught:
        with_real_names("send", names, {"from_": 1, "from": 1, "user-id": 2, "user_id": 2})
    assert caught.value.problems == (
        "'from_' and 'from' are the same argument: pass it once, as 'from_'",
        "'user_id' and 'user-id' are the same argument: pass it once, as 'user_id'",
    )
