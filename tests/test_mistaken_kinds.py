"""Mistakes of newcomers in kinds: functions of other parameters, several things for a list, paths that are no files."""

import ast
import datetime as dt
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pydantic.v1
import pytest

import ez_ptc
from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ToolRegistry, ez_tool, llm
from ez_ptc._private_files import path_problem
from ez_ptc.openapi import openapi_tools

API: Any = ez_ptc  # as in a script that no type checker looks at
SECRET = "Secret0" * 4


def find(product: str) -> float:
    """Look up a price."""
    return 39.5 if product else 0.0


def book(product: str) -> str:
    """Book a product."""
    return product


def nothing() -> bool:
    """Take nothing."""
    return True


def of_one(code: object) -> bool:
    """Take one argument."""
    return bool(code)


def of_two(name: object, arguments: object) -> bool:
    """Take two arguments."""
    return bool(name) and bool(arguments)


def by_name(*, call: object) -> bool:
    """Take no argument by position."""
    return bool(call)


def later_answer(call: object, when: object = None) -> bool:
    """Take one argument, and perhaps another."""
    return bool(call) and when is None


class OldModel(pydantic.v1.BaseModel):
    """A model of another version of pydantic."""

    name: str


class Client:
    """A client of an SDK."""


Client.__module__ = "openai._client"


def _of_old_model(model: OldModel) -> str:
    """Take a model."""
    return model.name


def _annotated(annotation: object) -> object:
    """Make a tool with a parameter of an annotation."""

    def look(thing: object) -> str:
        """Look."""
        return str(thing)

    look.__annotations__["thing"] = annotation
    return ez_tool(look)


FIND: Any = ez_tool(find)
PAY: Any = ez_tool(find, name="pay", requires_approval=True)
TOOLKIT: Any = Toolkit([FIND])
LLM: Any = llm().provider(ScriptedProvider())
OPENAPI: Any = openapi_tools
OF_ONE = "expected approve to be a function of one argument, the call, got a function of "
RECORD = "expected on_tool_call to be a plain function of a call's record, or None; got a function of "

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    # Functions that take other arguments than they are called with
    "approver of nothing": (
        lambda: API.Toolkit([PAY], approve=nothing),
        f"{OF_ONE}(): write one that reads call.tool and call.arguments, as in approve=lambda call: call.arguments[",
    ),
    "approver of a name and arguments": (lambda: API.ToolRegistry([PAY], approve=of_two), f"{OF_ONE}(name, arguments)"),
    "approver by name only": (lambda: LLM.approve(by_name), f"{OF_ONE}(call=...)"),
    "approver of a program": (lambda: TOOLKIT.execute("1", approve=of_two), f"{OF_ONE}(name, arguments)"),
    "approver of a call": (lambda: PAY.call({"product": "x"}, approve=of_two), f"{OF_ONE}(name, arguments)"),
    "condition of two arguments": (
        lambda: API.ez_tool(find, requires_approval=of_two),
        "find: expected requires_approval to be a function of one argument, the call, got a function of (name, argume",
    ),
    "condition of nothing": (
        lambda: API.tool(find, requires_approval=nothing),
        "got a function of (): write requires_approval=lambda call: call.arguments['amount'] > 100",
    ),
    "listener of nothing": (lambda: API.Toolkit([FIND], on_tool_call=nothing), f"{RECORD}()"),
    "listener of a program": (lambda: TOOLKIT.execute("1", on_tool_call=of_two), f"{RECORD}(name, arguments)"),
    "listener of a conversation": (
        lambda: LLM.on_tool_call(of_two),
        ".on_tool_call() expected a function of one argument, the record of a call, got a function of (name, argumen",
    ),
    "repair of one argument": (
        lambda: TOOLKIT.execute("1", repair=of_one),
        "expected repair to be a function of 3 arguments (code, error, calls) or None, got a function of (code)",
    ),
    "ranker of one argument": (
        lambda: API.Toolkit([FIND], ranker=of_one),
        "expected ranker to be a function of 2 arguments (query, texts) or None, got a function of (code)",
    ),
    "test of a registry": (
        lambda: API.ToolRegistry([FIND]).filtered(of_two),
        "expected test to be a function of 1 argument or None, got a function of (name, arguments)",
    ),
    "choice of operations": (
        lambda: OPENAPI({}, client=None, include=of_two),
        "expected include to be a function of 1 argument or None, got a function of (name, arguments)",
    ),
    "answer of a script": (
        lambda: API.ScriptedProvider("Hello.", nothing),
        "expected a function of one argument, the Prompt, as an answer, got a function of ()",
    ),
    # Several arguments, or in another order
    "functions one by one": (
        lambda: API.Toolkit(find, book),
        "Toolkit(): expected one list of tools, got several arguments: write Toolkit([find, book])",
    ),
    "three functions one by one": (lambda: API.Toolkit(find, book, FIND), "write Toolkit([find, book, find])"),
    "lists one by one": (lambda: API.Toolkit([find], [book]), "write Toolkit([find, book])"),
    "registry of functions one by one": (lambda: API.ToolRegistry(find, book), "write ToolRegistry([find, book])"),
    "call without an id": (
        lambda: API.ToolCall("find", {"product": "x"}),
        "ToolCall(): expected name to be a str, got dict; its order is ToolCall(id, name, arguments)",
    ),
    "text after its role": (lambda: API.TextMessage("user", "Hi."), "its order is TextMessage(text, role)"),
    # Other objects than those expected
    "model of pydantic v1": (
        lambda: API.ez_tool(_of_old_model),
        "cannot be of type OldModel (it is a model of pydantic v1): derive the model from pydantic.BaseModel of versi",
    ),
    "any as a type": (lambda: _annotated(any), "(it is the function any): write Any, from typing"),
    "list as a type": (lambda: _annotated([int]), "(it is a value, and no type): write a type, such as list[int]"),
    "tuple as a type": (lambda: _annotated((int, str)), "such as tuple[int, str], or int | str for either"),
    "dict as a type": (lambda: _annotated({"x": int}), "such as dict[str, int], or a TypedDict with these keys"),
    "module as a type": (lambda: _annotated(dt), "(it is a module): write a type in it, datetime.datetime"),
    "toolkit as tools": (lambda: API.Toolkit(TOOLKIT), "expected a list of tools, got a Toolkit: write [*toolkit]"),
    "tool instead of its name": (
        lambda: API.ToolRegistry([FIND]).execute(FIND, product="x"),
        "execute() takes the name of a tool, got the tool itself: write execute('find', ...)",
    ),
    "class as a journal": (lambda: API.Toolkit([FIND], journal=API.Journal), "got a class: write Journal('runs.db')"),
    "client of a provider": (
        lambda: API.llm().provider(Client()),
        "write OpenAIProvider(model, api_key=..., base_url=",
    ),
    "function as a provider": (lambda: API.llm().provider(of_one), "write ScriptedProvider(function) in a test, or"),
    "list of providers": (lambda: API.llm().provider(["openai"]), "write .provider(first).fallback(second)"),
    "model's name as a provider": (lambda: API.llm().provider("claude"), "write .provider('anthropic')"),
    "server as a provider": (
        lambda: API.llm().provider("ollama"),
        "write .provider(OpenAIChatProvider(model, base_url=...)), with the URL of that server",
    ),
    "client for a provider": (
        lambda: API.OpenAIProvider(client=Client()),
        "leave it out: the provider makes its own client of model, api_key and base_url",
    ),
    "key as a model": (
        lambda: API.AnthropicProvider("sk-ant-" + SECRET),
        "got an API key: pass it as api_key=..., or set",
    ),
    "key as a model of a server": (
        lambda: API.OpenAIChatProvider("sk-" + SECRET, base_url="http://x"),
        "got an API key",
    ),
    "key of xAI as a model": (lambda: API.OpenAIChatProvider(f"xai-{SECRET}\n", base_url="http://x"), "got an API key"),
    "key as a model of Gemini": (
        lambda: API.GeminiProvider("AIza" + SECRET, api_key="k"),
        "got an API key: pass it as",
    ),
    "temperature of a provider": (
        lambda: API.OpenAIProvider("m", temperature=0),
        "write llm().options(temperature=...)",
    ),
    "temperature of a conversation": (lambda: LLM.temperature(0), "write options(temperature=...)"),
    "listener of texts": (lambda: LLM.on_text(print), "write stream('...'), whose TextDelta events have the text"),
    "limits of one program": (
        lambda: TOOLKIT.execute("1", limits=1),
        "write Toolkit(tools, limits=Limits(...)); a sin",
    ),
    "memory of a toolkit": (lambda: API.Toolkit([FIND], memory=1), "write limits=Limits(memory=...)"),
    "nothing as an answer": (lambda: API.llm().provider(API.ScriptedProvider(None)).prompt("x"), "answered with None"),
    "nothing as a text": (lambda: LLM.agent(None), "got NoneType: write the text, or leave this message out"),
    "bytes as a text": (lambda: LLM.prompt(b"Hi."), "expected str, got bytes: write .decode()"),
    "path as a program": (lambda: TOOLKIT.execute(Path("x.py")), "PosixPath: pass its content, path.read_text()"),
    "file as a program": (lambda: TOOLKIT.execute(StringIO("1")), "got StringIO: pass its content, file.read()"),
    "call as a program": (
        lambda: TOOLKIT.execute(ToolCall("1", "execute_tools", {"code": "1"})),
        "got ToolCall: pass call.arguments['code']",
    ),
    "message as a program": (lambda: TOOLKIT.execute(API.TextMessage("1")), "got TextMessage: pass its .text"),
    "result as a program": (
        lambda: TOOLKIT.execute(API.ExecutionResult()),
        "got ExecutionResult: pass a program, not the result of one",
    ),
    "tree as a program": (lambda: TOOLKIT.execute(ast.parse("1")), "its source, as ast.unparse() returns it"),
    # Paths that are no files
    "journal in memory": (
        lambda: API.Journal(":memory:"),
        "a journal is a file, got ':memory:': give its path, in a test under pytest's tmp_path",
    ),
    "journal of a toolkit in memory": (lambda: API.Toolkit([FIND], journal=":memory:"), "a journal is a file, got ':m"),
    "folder in memory": (lambda: API.Toolkit([FIND], spill=":memory:"), "spill is a folder, got ':memory:'"),
    "history on a server": (
        lambda: API.History("postgresql://ada:secret@db/chats"),
        "a history is a file, got an address that begins with postgresql: give its path",
    ),
    "shapes on a server": (
        lambda: API.Toolkit([FIND], shapes="postgresql://db/x"),
        "shapes are kept in a file, got an address that begins with postgresql: give its path",
    ),
    "journal at home": (
        lambda: API.Journal("~/runs.db"),
        "a journal is a file, got '~/runs.db', in which '~' stays as it is: write Path(...).expanduser()",
    ),
    "history at home": (lambda: API.History(Path("~/chats.db")), "got '~/chats.db', in which '~' stays as it is"),
}


def test_drive_of_windows_is_no_address() -> None:
    assert path_problem("C://data/runs.db", "a history is a file") is None


@pytest.mark.parametrize("model", ["xai-org/grok-2", "xai-grok-4", "sk-lab/solar", "sk-learn-assistant"])
def test_name_that_begins_like_a_key_is_a_model(model: str) -> None:
    assert API.OpenAIChatProvider(model, base_url="http://127.0.0.1", api_key="k").model == model


@pytest.mark.filterwarnings("ignore:Mixing V1 models and V2 models")
@pytest.mark.parametrize(("act", "message"), MISTAKES.values(), ids=MISTAKES)
def test_message_of_a_mistake_says_what_to_do(
    act: Callable[[], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each has a type of its own; the message is under test
        act()
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


class Approver:
    """An object that is called."""

    def __call__(self, call: object, *, urgent: bool = False) -> bool:
        """Approve."""
        return call is not None and not urgent


def _given(*values: object) -> bool:
    return len(values) == 1


RIGHT: list[Any] = [Approver(), _given, Approver().__call__, print, later_answer]


@pytest.mark.parametrize("approve", RIGHT)
def test_function_that_a_call_fits_is_accepted(approve: Any) -> None:  # noqa: ANN401 - as in a script
    API.ToolRegistry([PAY], approve=approve).run(ToolCall("1", "pay", {"product": "x"}))


def test_decorator_that_adds_arguments_is_accepted() -> None:
    from functools import wraps

    def with_limit(function: Callable[[Any, int], bool]) -> Callable[[Any], bool]:
        @wraps(function)
        def approve(call: object) -> bool:
            return function(call, 100)

        return approve

    @with_limit
    def approve(call: object, limit: int) -> bool:
        return call is not None and limit == 100

    registry = API.ToolRegistry([PAY], approve=approve)
    assert registry.run(ToolCall("1", "pay", {"product": "x"})).output == 39.5


def test_history_in_memory_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with API.History(":memory:") as history:
        assert history.load(history.save(llm().request("Hello.")))
    assert list(tmp_path.iterdir()) == []


def test_file_of_a_special_name_has_an_absolute_path(tmp_path: Path) -> None:
    with API.Journal(tmp_path / ":memory:") as journal:
        assert journal.runs() == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "its approver returned None; True approves a call"),
        (ez_ptc.Approve, "the class Approve is not an approval; an object of it is one, Approve()"),
    ],
)
def test_answer_that_approves_nothing_is_explained(answer: object, reason: str) -> None:
    error = ToolRegistry([PAY], approve=lambda _: answer).run(ToolCall("1", "pay", {"product": "x"})).error
    assert error == f"pay was not approved: {reason}"
