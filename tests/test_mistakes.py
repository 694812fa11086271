"""Mistakes of the first minutes: each error says what was expected, what came, and what to write."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest

from ez_ptc import (
    Context,
    DecisionError,
    ExecutionResult,
    EzPtcError,
    History,
    Journal,
    JournalCorruptError,
    JournalError,
    Limits,
    SchemaError,
    ScriptedProvider,
    Tool,
    ToolCall,
    Toolkit,
    ToolRegistry,
    ez_tool,
    llm,
)
from ez_ptc.conversation.validation import check_type

Untyped = Any  # as in a script that no type checker looks at


@ez_tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@ez_tool
def greet(user: Context[str]) -> str:
    """Greet."""
    return f"Hello {user}"


@ez_tool
async def later(number: int) -> int:
    """Return a number."""
    return number


@dataclass
class Person:
    """A type of an answer."""

    name: str


class Row(TypedDict):
    """Another."""

    name: str


def program() -> None:
    """Stand for a program that was passed as a function."""


@pytest.fixture
def toolkit(tmp_path: Path) -> Iterator[Any]:
    """Yield a toolkit with a journal, as something that no type checker looks at."""
    with Toolkit([pay, greet], journal=tmp_path / "runs.db") as made:
        yield made


@pytest.fixture
def paused(toolkit: Untyped) -> ExecutionResult:
    """Return the result of a program that waits."""
    return toolkit.execute("pay(1)")


def called(act: Callable[..., object], *args: object, **keywords: object) -> object:
    """Call a function, and await what it returns if it is a coroutine."""
    result = act(*args, **keywords)
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    return result


# Toolkits and approvers -----------------------------------------------------------------------------------------------

NO_APPROVER = "expected approve to be a function of the call, or None; got {}: to approve every call, write"
APPROVERS: list[tuple[object, str]] = [(True, "bool True"), ("auto", "str 'auto'"), (1, "int 1"), (Person, "type")]
PLACES: dict[str, Callable[[Any], object]] = {
    "Toolkit": lambda approve: Toolkit([pay], approve=approve),
    "ToolRegistry": lambda approve: ToolRegistry([pay], approve=approve),
    "Toolkit.execute": lambda approve: Toolkit([pay]).execute("1", approve=approve),
    "Toolkit.aexecute": lambda approve: called(Toolkit([pay]).aexecute, "1", approve=approve),
    "Toolkit.as_tool": lambda approve: Toolkit([pay]).as_tool(approve=approve)("1"),
    "Session.execute": lambda approve: Toolkit([pay]).session().execute("1", approve=approve),
    "Session.aexecute": lambda approve: called(Toolkit([pay]).session().aexecute, "1", approve=approve),
    "Tool.call": lambda approve: pay.call({"amount": 1}, approve=approve),
    "Tool.acall": lambda approve: called(pay.acall, {"amount": 1}, approve=approve),
    "Tool.as_function": lambda approve: pay.as_function(approve=approve),
    "llm().approve": lambda approve: llm().approve(approve),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(("approve", "got"), APPROVERS)
def test_approver_that_is_no_function_is_refused_at_once(
    place: Callable[[Any], object], approve: object, got: str
) -> None:
    with pytest.raises(TypeError) as raised:
        place(approve)
    assert str(raised.value).startswith(NO_APPROVER.format(got))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": {"calls": 3}}, "limits to be a Limits, got dict of 1 {'calls': 3}: write limits=Limits(calls=...)"),
        ({"limits": 30}, "limits to be a Limits, got int 30: write limits=Limits(calls=100)"),
        ({"limits": None}, "limits to be a Limits, got None"),
        ({"on_tool_call": "print"}, "on_tool_call to be a plain function of a call's record, or None; got str 'print'"),
        ({"on_tool_call": later.fn}, "on_tool_call to be a plain function of a call's record, or None; got an async"),
    ],
)
def test_toolkit_refuses_settings_of_wrong_types(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        Toolkit([pay], **options)
    assert str(raised.value).startswith(f"expected {message}")


@pytest.mark.parametrize("typed", ["y", "yes", "Yes", " OK ", "true", "approve", "approved."])
def test_typed_yes_stays_a_refusal_and_says_what_approves(typed: str) -> None:
    with Toolkit([pay], approve=lambda _: typed) as toolkit:
        error = toolkit.execute("pay(1)").error or ""
    assert error.startswith("ToolError: pay was not approved: ")
    assert error.endswith("is text, which refuses a call; True approves it")


# Programs -------------------------------------------------------------------------------------------------------------

PROGRAMS: list[tuple[object, str]] = [
    (None, "got None: extract_code() returns None for an answer without a program"),
    (program, "got function: pass its source"),
    (b"pay(1)", "got bytes b'pay(1)': write code.decode()"),
    (["pay(1)"], "got list of 1 ['pay(1)']: join its lines"),
    ({"code": "pay(1)"}, "got dict of 1 {'code': 'pay(1)'}: pass arguments['code']"),
    (5, "got int 5"),
]
RUNNERS = ["execute", "aexecute", "stream", "astream", "check"]


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(("code", "got"), PROGRAMS)
def test_program_that_is_no_text_is_an_error(toolkit: Untyped, runner: str, code: object, got: str) -> None:
    with pytest.raises(TypeError) as raised:
        called(getattr(toolkit, runner), code)
    assert str(raised.value).startswith(f"expected the program as text (str), {got}")
    if runner != "check":
        with toolkit.session() as session, pytest.raises(TypeError, match="expected the program as text"):
            called(getattr(session, runner), code)
    assert toolkit.open_journal().runs() == []


def test_models_wrong_program_is_an_answer_to_the_model(toolkit: Untyped) -> None:
    assert toolkit.as_tool()(None).startswith("ERROR: expected the program as text (str), got None")
    assert asyncio.run(toolkit.as_async_tool()(["pay(1)"])).startswith("ERROR: expected the program as text (str)")


# Decisions and ids ----------------------------------------------------------------------------------------------------

DECISIONS: list[tuple[object, str]] = [
    (True, "bool True"),
    ("yes", "str 'yes'"),
    ([True], "list of 1 [True]"),
    (5, "int 5"),
]


@pytest.mark.parametrize(("decisions", "got"), DECISIONS)
def test_decisions_that_are_no_dict_decide_nothing(
    toolkit: Untyped, paused: ExecutionResult, decisions: object, got: str
) -> None:
    expected = f"expected the decisions as a dict by the ids of pending calls, got {got}: write "
    journal: Any = toolkit.open_journal()
    for act in (toolkit.resume, toolkit.aresume, journal.decide):
        with pytest.raises(DecisionError) as raised:
            called(act, paused.run_id, decisions)
        assert str(raised.value).startswith(expected)
    assert [call.id for call in journal.run(paused.run_id).pending] == [call.id for call in paused.pending]


@pytest.mark.parametrize(("decisions", "got"), DECISIONS)
def test_sessions_and_conversations_take_decisions_by_id(
    toolkit: Untyped, tmp_path: Path, decisions: object, got: str
) -> None:
    model = ScriptedProvider(ToolCall("c", "pay", {"amount": 1}), "Done.")
    _, conversation = llm().tools(pay).provider(model).converse("Pay.")
    waiting: Any = conversation
    with toolkit.session() as session:
        session.execute("pay(1)")
        for act in (session.resume, session.aresume, waiting.resume, waiting.aresume):
            with pytest.raises(DecisionError, match="expected the decisions as a dict by the ids") as raised:
                called(act, decisions)
            assert got in str(raised.value)
    assert waiting.resume({waiting.pending[0].id: True})[1].text == "Done."


def test_result_instead_of_its_run_id_is_pointed_out(toolkit: Untyped, paused: ExecutionResult) -> None:
    journal: Any = toolkit.open_journal()
    message = r"expected the id of a run \(str\), got ExecutionResult: pass its \.run_id"
    for act in (toolkit.resume, toolkit.aresume, toolkit.replay, journal.run, journal.events):
        with pytest.raises(TypeError, match=message):
            called(act, paused)
    with pytest.raises(TypeError, match=r"got Run: pass its \.id"):
        toolkit.resume(journal.run(paused.run_id))
    with pytest.raises(TypeError, match=r"got int$"):
        toolkit.resume(5)


def test_history_says_how_a_conversation_is_loaded(tmp_path: Path) -> None:
    with History(tmp_path / "chats.db") as made:
        history: Any = made
        history.save(llm().request("Hello."))
        with pytest.raises(
            TypeError, match=r"expected the id of a conversation \(str\), got HistoryRecord: pass its \.id"
        ):
            history.load(history.list()[0])
        with pytest.raises(EzPtcError, match="has no conversation 'x'"):
            history.load("x")


def test_folder_as_a_journal_is_pointed_out(tmp_path: Path) -> None:
    with Toolkit([pay], journal=tmp_path) as toolkit, pytest.raises(JournalError, match=r"it is a folder: name a file"):
        toolkit.execute("1")
    with pytest.raises(JournalError, match="it is a folder"):
        Journal(tmp_path).runs()


def test_other_file_as_a_journal_is_pointed_out(tmp_path: Path) -> None:
    script = tmp_path / "shop.py"
    script.write_text("toolkit = None\n" * 100, encoding="utf-8")

    with pytest.raises(JournalCorruptError, match="or name another file if this was never a journal"):
        Journal(script).runs()


# Types, contexts, tools -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("int", "expected a type, got str 'int': write int without quotes"),
        ("Person", "expected a type, got str 'Person': pass the type itself"),
        (5, "expected a type, got int 5: pass the type itself"),
        ({"type": "integer"}, "expected a type, got dict of 1"),
        (Person("Ada"), "expected a type, got Person: pass the class Person, not an object of it"),
        (program, "expected a type, got function"),
    ],
)
def test_answer_type_is_checked_before_the_model_is_asked(kind: Untyped, message: str) -> None:
    asked: list[object] = []
    provider = ScriptedProvider(lambda prompt: asked.append(prompt) or "5")
    for ask in (llm().provider(provider).prompt_for_type, llm().provider(provider).aprompt_for_type):
        with pytest.raises(TypeError) as raised:
            called(ask, kind, "How many?")
        assert str(raised.value).startswith(message)
    assert asked == []


def test_context_of_a_wrong_type_is_pointed_out() -> None:
    message = "greet: expected the context of its parameter 'user' to be str, got int 5"
    for tool in (greet, ToolRegistry([greet], context=5)["greet"]):
        with pytest.raises(TypeError, match=message):
            tool.call({}, context=5)
    with Toolkit([greet], context=5) as toolkit:
        assert message in (toolkit.execute("greet()").error or "")
        assert toolkit.execute("greet()", context="Ada").return_value == "Hello Ada"


def test_name_instead_of_a_function_says_how_to_name() -> None:
    make: Any = ez_tool
    with pytest.raises(SchemaError, match=r"expected a function, got str 'find'.*write @ez_tool\(name='find'\)"):
        make("find")


def test_model_instead_of_nothing_says_how_to_choose() -> None:
    start: Any = llm
    with pytest.raises(TypeError, match=r"llm\(\) takes no arguments, got str 'gpt-5': name the model in a method"):
        start("gpt-5")


# Results --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("stdout", "write .output"),
        ("stderr", "write .error_output"),
        ("value", "write .return_value"),
        ("text", "write .to_string()"),
        ("outputs", "did you mean 'output'?"),
        ("sucess", "did you mean 'success'?"),
        ("tool_call", "did you mean 'tool_calls'?"),
    ],
)
def test_attribute_that_results_lack_is_suggested(name: str, advice: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(ExecutionResult(), name)
    assert str(raised.value) == f"an ExecutionResult has no attribute {name!r}: {advice}"


def test_result_is_no_dict_and_the_record_of_a_call_is_one() -> None:
    with Toolkit([greet], context="Ada") as toolkit:
        result: Any = toolkit.execute("greet()")
    with pytest.raises(TypeError, match=r"an ExecutionResult is no dict or list: write result\.error_output"):
        result["error_output"]
    with pytest.raises(AttributeError, match=r"it is a dict, write call\['name'\]"):
        _ = result.tool_calls[0].name
    with pytest.raises(AttributeError, match=r"has no attribute 'nam': it is a dict$"):
        _ = result.tool_calls[0].nam
    assert not hasattr(result, "__array__")


def test_pair_of_a_conversation_says_where_the_answer_is() -> None:
    pair: Any = llm().provider(ScriptedProvider("Hello.")).converse("Hello?")
    with pytest.raises(AttributeError, match=r"'text': write messages, conversation = ..., then conversation\.text"):
        _ = pair.text
    messages, conversation = pair
    assert (len(messages), conversation.text, isinstance(pair, tuple)) == (2, "Hello.", True)


KINDS: list[object] = [int, None, int | None, list[int], Literal["a"], Person, Annotated[int, "x"], Any, Row, Path]


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_write_a_type_is_one(kind: object) -> None:
    check_type(kind)


def test_right_calls_are_no_mistakes() -> None:
    class Approver:
        """An object that is called."""

        def __call__(self, call: object) -> bool:
            return call is not None

    with Toolkit([pay, Tool.from_function(later.fn)], approve=Approver(), limits=Limits(calls=3)) as toolkit:
        assert toolkit.execute("pay(1)", on_tool_call=print).return_value == "paid 1"
