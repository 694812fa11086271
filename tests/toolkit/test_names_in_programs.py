"""Tools and parameters whose names a program cannot write, or that hide what it is provided with."""

import keyword
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, cast

import anyio
import pytest
from typing_extensions import Unpack

from ez_ptc import DuplicateToolError, ParameterType, PendingCall, Tool, Toolkit, ToolParameter, ToolRegistry, ez_tool
from ez_ptc.sandbox.protocol.both_ends.predefined import PROVIDED

MAIL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"type": "integer", "description": "The sender's number."},
        "class": {"enum": ["a.first", "b.second"]},
        "user-id": {"type": "array", "items": {"type": "integer"}},
        "$filter": {"$ref": "#/$defs/Filter"},
        "x\ny": {"type": "string", "default": "z"},
        "a) -> str": {},
        "ﬁ": {"type": "integer"},
        "to": {"type": "string"},
    },
    "required": ["from"],
    "additionalProperties": False,
    "$defs": {"Filter": {"type": "object", "properties": {"from": {"type": "integer"}}}},
}
SIGNATURE = (
    "send(from_: int, class_: 'a.first' | 'b.second' = None, user_id: list[int] = None, filter: {'from': int} = None, "
    "x_y: str = 'z', a_str: Any = None, fi: int = None, to: str = None)"
)


def give_back(**given: object) -> dict[str, object]:
    return given


async def agive_back(**given: object) -> dict[str, object]:
    return given


def mail(function: Callable[..., object] = give_back, **options: Any) -> Tool[..., Any]:
    return Tool.from_schema("send", "Send mail.", MAIL, function, **options)


@pytest.fixture(scope="module", params=[give_back, agive_back], ids=["blocking", "awaited"])
def toolkit(request: pytest.FixtureRequest) -> Iterator[Toolkit]:
    with Toolkit([mail(request.param)]) as made:
        yield made


# Parameters -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "given"),
    [
        ("send(from_=5)", {"from": 5}),
        ("send(5)", {"from": 5}),
        ("send(**{'from': 5})", {"from": 5}),
        ("send(5, 'b.second', [1])", {"from": 5, "class": "b.second", "user-id": [1]}),
        ("send(from_=5, class_='a.first', user_id=[1])", {"from": 5, "class": "a.first", "user-id": [1]}),
        ("send(from_=5, **{'user-id': [1]}, to='x')", {"from": 5, "user-id": [1], "to": "x"}),
        ("send(5, filter={'from': 1})", {"from": 5, "$filter": {"from": 1}}),
        ("send(5, x_y='a', a_str=[None], fi=2)", {"from": 5, "x\ny": "a", "a) -> str": [None], "ﬁ": 2}),
        ("send(5, **{'x\\ny': 'a', 'a) -> str': 0})", {"from": 5, "x\ny": "a", "a) -> str": 0}),
        ("send(5, **{'ﬁ': 2})", {"from": 5, "ﬁ": 2}),
        ("send(5, ﬁ=2)", {"from": 5, "ﬁ": 2}),
        ("import functools\nfunctools.partial(send, from_=5)()", {"from": 5}),
        ("parallel((send, 5), (lambda: send(from_=6),))[1]", {"from": 6}),
        ("send(5, user_id='[1, 2]')", {"from": 5, "user-id": [1, 2]}),
    ],
)
def test_program_passes_arguments_by_spelling_and_by_name(
    toolkit: Toolkit, program: str, given: dict[str, object]
) -> None:
    result = toolkit.execute(program)
    assert (result.error, result.return_value) == (None, given)


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("send()", "missing argument 'from_'"),
        ("send(**{})", "missing argument 'from_' (int)"),
        ("send(frm_=5)", "unknown argument 'frm_' (did you mean 'from_'?)"),
        ("send(5, **{'clas': 1})", "unknown argument 'clas' (did you mean 'class_'?)"),
        ("send(5, **{'nothing': 1})", "(it takes from_, class_, user_id, filter, x_y, a_str, fi, to)"),
        ("send(**{'from': 'x'})", "'from_' must be int, got str 'x'"),
        ("send('x')", "'from_' must be int, got str 'x'"),
        ("send(5, user_id=[1, 'b'])", "'user_id[1]' must be int, got str 'b'"),
        ("send(5, filter={'from': 'x'})", "'filter.from' must be int, got str 'x'"),
        ("send(5, x_y=5)", "'x_y' must be str, got int 5"),
        ("send(5, class_=str('c'))", "'class_' must be 'a.first' | 'b.second', got str 'c'"),
        ("send(5, from_=5)", "'from_' is given twice, by position and by name"),
        ("send(5, **{'from': 5})", "'from_' is given twice, by position and by name"),
        ("send(from_=5, **{'from': 5})", "'from_' and 'from' are the same argument: pass it once, as 'from_'"),
        ("send(5, x_y='', **{'x\\ny': ''})", "'x_y' and 'x\\ny' are the same argument: pass it once, as 'x_y'"),
    ],
)
def test_call_problems_use_the_spelling(toolkit: Toolkit, program: str, error: str) -> None:
    result = toolkit.execute(program)
    first, *others = (result.error or "").splitlines()
    assert error in first
    assert f"the tool is {SIGNATURE}" in "\n".join(others) or "given twice" in error


@pytest.mark.parametrize(
    ("program", "spelling"),
    [
        ("send(from=5)", "from_"),
        ("x = 1\nprint(send(x, class = 'a.first'))", "class_"),
        ("send(5, user-id=[1])", "user_id"),
        ("send(5, $filter={})", "filter"),
        ("send(5, 'a.first', \"user-id\"=[1])", "user_id"),
        ("send(5, x y=1)", "x_y"),
    ],
)
def test_non_identifier_name_gets_spelling_as_hint(toolkit: Toolkit, program: str, spelling: str) -> None:
    error = toolkit.execute(program).error or ""
    assert error.startswith("SyntaxError: ")
    expected = [] if spelling == "x_y" else [f"Hint: write {spelling}=; the tool is {SIGNATURE}"]
    assert error.splitlines()[1:] == expected


@pytest.mark.parametrize(
    "program",
    [
        "other(from=5)",
        "send(5) = 3",
        "send(5, to='x'",
        "send(to=1, to=2)",
        "x = {'from'=5}",
        "raise SyntaxError('x', ('f', 1, 1, None))",
        f"send(5,{' ' * 100_000}from=5)",
        "send(5, fro='x'",
        "send(5, class_='x'",
    ],
)
def test_other_syntax_errors_get_no_spelling_as_a_hint(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(program)
    assert not result.success
    assert "write " not in (result.error or "")


def test_single_call_keeps_the_real_names(toolkit: Toolkit) -> None:
    tool = mail()
    assert tool.parameters == toolkit.get_tool("send").parameters == MAIL
    assert tool.parameter_names[:3] == ("from", "class", "user-id")
    assert "'from'" in str(tool.to_format("openai"))
    assert tool.execute(**{"from": 5, "user-id": [1]}).output == {"from": 5, "user-id": [1]}
    for single in (tool, toolkit.get_tool("send")):
        error = replace(single, name="post").execute(from_=5, **{"user-id": "x"}).error or ""
        assert "unknown argument 'from_' (did you mean 'from'?)" in error
        assert "'user-id' must be list[int], got str 'x'" in error


def test_signature_uses_the_spelling(toolkit: Toolkit) -> None:
    for text in (toolkit.prompt(), toolkit.tool_prompt(), toolkit.as_tool().__doc__ or ""):
        assert SIGNATURE in text
        assert "from:" not in text.replace("{'from': int}", "")
    assert "    from_: The sender's number." in toolkit.prompt()
    documentation = toolkit.execute("send.__doc__").return_value
    assert documentation == "Send mail.\n\nArgs:\n    from_: The sender's number."


def test_approver_is_asked_about_the_real_names() -> None:
    asked: list[PendingCall] = []

    def approve(call: PendingCall) -> object:
        asked.append(call)
        return {**cast("dict[str, object]", call.arguments), "from": 7}

    with Toolkit([mail(requires_approval=True)], approve=approve) as toolkit:
        assert toolkit.execute("send(from_=5, user_id=[1])").return_value == {"from": 7, "user-id": [1]}
        toolkit.execute("send(from_=5, **{'from': 6})")
    (call,) = asked
    names = {*cast("dict[str, object]", call.arguments)}
    assert {"from", "user-id"} <= names
    assert not {"from_", "user_id"} & names


def test_call_that_was_refused_does_not_run() -> None:
    calls: list[object] = []

    def note(**given: object) -> None:
        calls.append(given)

    with Toolkit([mail(note)]) as toolkit:
        assert not toolkit.execute("send(from_=5, **{'from': 6})").success
        assert not anyio.run(toolkit.aexecute, "send(from_=5, **{'from': 6})").success
    assert calls == []


def test_session_and_settings_know_the_spellings() -> None:
    with Toolkit([mail(agive_back)]) as toolkit, toolkit.session() as session:
        session.execute("result = send(from_=5)")
        assert session.execute("result").return_value == {"from": 5}
        run = partial(toolkit.aexecute, approve=lambda _: True)
        assert anyio.run(run, "await send(from_=5)").return_value == {"from": 5}


Told = TypedDict("Told", {"from": int, "user-id": str}, total=False)


def test_entries_of_a_typed_dict_are_spelled_too() -> None:
    @ez_tool
    def tell(to: str, **more: Unpack[Told]) -> dict[str, Any]:
        """Tell it."""
        return {"to": to, **more}

    assert {"from", "user-id"} < tell.parameters["properties"].keys()
    with Toolkit([tell]) as toolkit:
        assert "def tell(to: str, *, from_: int = ..., user_id: str = ...) -> dict[str, Any]:" in toolkit.prompt()
        assert toolkit.execute("tell('x', from_=5, user_id='u')").return_value == {"to": "x", "from": 5, "user-id": "u"}
        assert "'from_' must be int, got str 'x'" in (toolkit.execute("tell('x', from_=str('x'))").error or "")
        assert "'from_' is given twice" not in (toolkit.execute("tell('x', **{'from': 5})").error or "")


def test_parameters_of_a_list_are_spelled_too() -> None:
    parameters = [
        ToolParameter("user-id", ParameterType.INTEGER, "Whose."),
        ToolParameter("if", ParameterType.STRING, "When."),
    ]
    with Toolkit([Tool("ask", "Ask.", parameters, give_back)]) as toolkit:
        assert "def ask(user_id: int, if_: str):" in toolkit.prompt()
        assert toolkit.execute("ask(if_='x', user_id=1)").return_value == {"user-id": 1, "if": "x"}


def test_argument_that_no_schema_names_keeps_its_name() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"user-id": {}}, "additionalProperties": True}
    with Toolkit([Tool.from_schema("ask", "Ask.", schema, give_back)]) as toolkit:
        result = toolkit.execute("ask(user_id=1, other_id=2, **{'third-id': 3})")
        assert result.return_value == {"user-id": 1, "other_id": 2, "third-id": 3}


def test_example_passes_arguments_by_spelling() -> None:
    schema = {"type": "object", "properties": {"from": {"type": "integer"}}, "required": ["from"]}
    tool = Tool.from_schema("get_mail", "Get mail.", schema, give_back, read_only=True)
    with Toolkit([tool]) as toolkit:
        program = (toolkit.extract_code(toolkit.prompt().rpartition("as the task needs):\n")[2]) or "").strip()
        assert program == "print(get_mail(1))"
        assert toolkit.execute(program).output == "{'from': 1}\n"


# Tools ----------------------------------------------------------------------------------------------------------------


def named(name: str) -> Tool[..., Any]:
    @ez_tool(name=name, read_only=True)
    def tool(x: int) -> int:
        """Return one more."""
        return x + 1

    return tool


OF_SITE = {"exit", "help", "quit"}
"""What CPython's `site` adds for people at a prompt: tools of these names come first."""


def test_sandbox_provides_the_names_that_are_known_here() -> None:
    with Toolkit([]) as toolkit:
        result = toolkit.execute("import sys\nsorted(vars(__builtins__)), sorted(sys._getframe().f_globals)")
        plain = {*dir(__import__("builtins")), "sys"}
        provided = {name for name in result.return_value[0] if not name.startswith("__")} - plain - OF_SITE
        assert provided == PROVIDED
        own = {name for name in result.return_value[1] if not (name.startswith("__") and name.endswith("__"))}
        assert own == {"sys"}


def test_tool_cannot_hide_predefined_names() -> None:
    with Toolkit([]) as toolkit:
        names = toolkit.execute("[*vars(__builtins__), *globals()]").return_value
    names = sorted({*names, *keyword.kwlist, *keyword.softkwlist} - OF_SITE)
    tools = [named(name) for name in names]
    with Toolkit(tools) as toolkit:
        assert [tool.name for tool in toolkit] == [f"{name}_" for name in names]
        program = "\n".join(f"total = total + {name}_(x={number})" for number, name in enumerate(names))
        result = toolkit.execute(f"total = 0\n{program}\nprint(total, len(json.dumps([*range(3)])), math.pi > 3)")
        assert result.output == f"{sum(range(1, len(names) + 1))} 9 True\n"
        assert all(tool.signature == f"{tool.name}(x: int) -> int" for tool in toolkit)


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("print", "print_"),
        ("get-it", "get_it"),
        ("ﬁnd", "find"),
        ("\uff41", "a"),
        ("\uff12", "_2"),
        ("str", "str_"),
        ("_", "__"),
    ],
)
def test_tool_is_described_and_called_by_spelling(name: str, spelling: str) -> None:
    with Toolkit([named(name)]) as toolkit:
        assert f"def {spelling}(x: int) -> int:" in toolkit.prompt()
        result = toolkit.execute(f"print('one', {spelling}(1))")
        assert (result.output, [call["name"] for call in result.tool_calls]) == ("one 2\n", [spelling])
        assert f"{spelling}: unknown argument 'y'" in (toolkit.execute(f"{spelling}(y=1)").error or "")


def test_name_is_called_in_any_form_that_python_takes() -> None:
    with Toolkit([named("ﬁnd")]) as toolkit:
        assert toolkit.execute("ﬁnd(1) + find(1)").return_value == 4


@pytest.mark.parametrize(("first", "second"), [("print", "print_"), ("ﬁnd", "find"), ("get-it", "get_it")])
def test_tools_of_equal_spelling_are_refused(first: str, second: str) -> None:
    registry = ToolRegistry([named(first), named(second)])
    with pytest.raises(DuplicateToolError, match=f"'{first}' and '{second}' are both called '.*' in programs"):
        Toolkit(registry)
    assert len(Toolkit(registry.renamed({first: "other"}))) == 2


def test_ordinary_names_stay_unchanged() -> None:
    @ez_tool
    def find_order(order_id: int, type: str = "any", filter: str = "") -> dict[str, int]:  # noqa: A002 - names that programs may write
        """Find an order."""
        return {}

    toolkit = Toolkit([find_order])
    assert find_order.spellings == {}
    assert toolkit.get_tool("find_order") is find_order
    assert "def find_order(order_id: int, type: str = 'any', filter: str = '') -> dict[str, int]:" in toolkit.prompt()
