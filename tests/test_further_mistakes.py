"""Further mistakes: in limits, tools, registries, conversations, histories and journals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import ez_ptc
from ez_ptc import ScriptedProvider, Toolkit, ToolRegistry, ez_tool, llm

API: Any = ez_ptc  # as in a script that no type checker looks at
PATH: Final = "records.db"


def _price(product: str) -> float:
    """Look up a price."""
    return 39.5 if product else 0.0


def _closed() -> Toolkit:
    """Return a closed toolkit."""
    toolkit = Toolkit([PRICE])
    toolkit.close()
    return toolkit


def journal() -> Any:  # noqa: ANN401 - as in a script
    """Return a journal, which the test closes."""
    OPENED.append(API.Journal(PATH))
    return OPENED[-1]


def history() -> Any:  # noqa: ANN401 - as in a script
    """Return a history, which the test closes."""
    OPENED.append(API.History(PATH))
    return OPENED[-1]


OPENED: list[Any] = []
PRICE: Any = ez_tool(_price, name="price")
TOOLKIT: Any = Toolkit([PRICE])
LLM: Any = llm().provider(ScriptedProvider())
REGISTRY: Any = ToolRegistry([PRICE])

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "misspelt type of a parameter": (
        lambda: API.Tool("t", "d", [API.ToolParameter("a", "strng", "x")], _price),
        "write ParameterType.STRING or another of its members (STRING",
    ),
    "misspelt type of items": (
        lambda: API.Tool("t", "d", [API.ToolParameter("a", API.ParameterType.ARRAY, "x", items_type="int")], _price),
        "parameter 'a' has the type 'int': write ParameterType.STRING",
    ),
    "number as a reason": (lambda: API.Deny(5), "Deny: expected the reason as text (str) or None, got int 5"),
    "timeout of a toolkit as text": (
        lambda: API.Toolkit([PRICE], timeout="5"),
        "Limits.timeout must be a positive number, got '5'",
    ),
    "negative timeout of a program": (
        lambda: TOOLKIT.execute("1", timeout=-1),
        "Limits.timeout must be a positive number, got -1",
    ),
    "text as a bound": (lambda: TOOLKIT.execute("1", max_text="x"), "max_text must be a positive int or None, got 'x'"),
    "run id without a journal": (
        lambda: TOOLKIT.execute("1", run_id="x"),
        "no journal: pass Toolkit(tools, journal='runs.db')",
    ),
    "text instead of a failed result": (
        lambda: TOOLKIT.execute("1", after="x"),
        "expected after to be the ExecutionResult of a failed program, got str 'x'",
    ),
    "continuation of a program that is done": (
        lambda: TOOLKIT.execute("1", after=TOOLKIT.execute("1")),
        "pass that of a failed program, or leave after= out",
    ),
    "number as a tool's name": (lambda: TOOLKIT.get_tool(5), "unknown tool 5; available: price"),
    "number as an answer": (lambda: TOOLKIT.extract_code(5), "expected the text of a model's answer, got 5"),
    "number as a program to check": (lambda: TOOLKIT.check(5), "expected the program as text (str), got int 5"),
    "number as a folder": (
        lambda: API.Toolkit([PRICE], spill=5),
        "expected spill to be the path of a folder, got int 5",
    ),
    "misspelt journal": (
        lambda: API.Toolkit([PRICE], jornal="x"),
        "keyword argument 'jornal': did you mean 'journal'?",
    ),
    "document of another kind": (
        lambda: API.openapi_tools({}, client=None),
        "expected an OpenAPI document of version 3.0, 3.1, 3.2, got ''",
    ),
    "number as a streamed program": (lambda: list(TOOLKIT.stream(5)), "expected the program as text (str), got int 5"),
    "program in a closed toolkit": (lambda: _closed().execute("1"), "this toolkit is closed: make a new one"),
    "number as a format": (
        lambda: TOOLKIT.tool_schema(format=5),
        "unknown format 5: expected one of openai-chat, openai",
    ),
    "misspelt upgrade": (lambda: TOOLKIT.session(upgrad=True), "keyword argument 'upgrad': did you mean 'upgrade'?"),
    "calls as text": (lambda: API.Limits(calls="3"), "Limits.calls must be a positive int, got '3'"),
    "negative calls": (lambda: API.Limits(calls=-1), "Limits.calls must be a positive int, got -1"),
    "flag as a limit": (lambda: API.Limits(calls=True), "Limits.calls must be a positive int, got True"),
    "fraction of a byte": (lambda: API.Limits(output=1.5), "Limits.output must be a positive int, got 1.5"),
    "text as a seed": (lambda: API.Limits(seed="x"), "Limits.seed must be an int of <= 4,300 digits or None, got 'x'"),
    "no text at all": (lambda: API.Limits(text=0), "Limits.text must be a positive int, got 0"),
    "recorded bytes as text": (lambda: API.Limits(recorded="1"), "Limits.recorded must be a positive int, got '1'"),
    "no elements": (lambda: API.Limits(elements=0), "Limits.elements must be a positive int, got 0"),
    "strict as text": (
        lambda: API.ez_tool(_price, strict="yes"),
        "_price: expected strict to be True, False or None, got 'yes'",
    ),
    "negative timeout of a tool": (
        lambda: API.ez_tool(_price, timeout=-1),
        "expected a timeout in seconds, positive, or None for no limit; got -1",
    ),
    "empty name": (lambda: API.ez_tool(_price, name=""), "invalid tool name '': use letters, digits and '_'"),
    "number as a name": (lambda: API.ez_tool(_price, name=5), "invalid tool name 5: use letters, digits and '_'"),
    "tool without a function": (
        lambda: API.Tool("a", "b", []),
        "expected a function, got None: pass the function, not its name or its result",
    ),
    "names as parameters": (
        lambda: API.Tool("a", "b", ["x"], _price),
        "a: expected a ToolParameter, got str: write ToolParameter(name=...)",
    ),
    "text as a schema": (
        lambda: API.Tool.from_schema("a", "b", "x", _price),
        "a: its parameters are a JSON Schema as a dict, got str",
    ),
    "schema without a function": (
        lambda: API.Tool.from_schema("a", "b", {"type": "object"}, None),
        "expected a function, got None: pass the function",
    ),
    "number as a tool's function": (
        lambda: API.Tool.from_function(5),
        "expected a function, got int 5: pass the function, not its name or its result",
    ),
    "number as arguments": (lambda: PRICE.call(5), "price: expected the arguments as a dict or JSON text, got int"),
    "missing argument": (lambda: PRICE.call({}), "price: missing argument 'product' (str)"),
    "null as an argument": (lambda: PRICE.call({"product": None}), "price: 'product' must be str, got None"),
    "argument that the tool lacks": (
        lambda: PRICE.call({"product": "x", "colour": "red"}),
        "price: unknown argument 'colour' (it takes product)",
    ),
    "number as tools of a registry": (
        lambda: API.ToolRegistry(5),
        "expected a list of tools, got int: write [find, book] with your functions",
    ),
    "format of a registry": (lambda: REGISTRY.to_format("opnai"), "unknown format 'opnai': did you mean 'openai'?"),
    "renaming an unknown tool": (
        lambda: REGISTRY.renamed({"prize": "x"}),
        "unknown tool 'prize' (did you mean 'price'?); available: price",
    ),
    "approval of an unknown tool": (
        lambda: REGISTRY.with_approval("prize"),
        "unknown tool 'prize' (did you mean 'price'?); available: price",
    ),
    "number in a registry": (
        lambda: REGISTRY.register(5),
        "expected a function or a tool, got int: pass the function itself, without calling it",
    ),
    "model without a key": (
        lambda: API.llm().model("nosuch:model").prompt("x"),
        "set one of ANTHROPIC_API_KEY, OPENAI_API_KEY",
    ),
    "number as a message": (lambda: LLM.prompt(5), "expected str, got int: convert it with str(...)"),
    "number as a system message": (lambda: API.llm().agent(5), "expected str, got int: convert it with str(...)"),
    "misspelt turns": (lambda: API.llm().limits(turn=5), "keyword argument 'turn': did you mean 'turns'?"),
    "no turns": (
        lambda: API.llm().limits(turns=0),
        "the limit `turns` must be positive, got 0: write .limits(turns=20)",
    ),
    "calls of a conversation as text": (
        lambda: API.llm().call_limit("3"),
        "the limit `calls` must be a number, got '3': write .limits(calls=50)",
    ),
    "cost as text": (
        lambda: API.llm().limits(cost="1"),
        "the limit `cost` must be a number, got '1': write .limits(cost=0.50)",
    ),
    "unknown lifetime": (
        lambda: API.llm().cache("2h"),
        "expected a lifetime of 5m, 30m, 1h, 12h, got '2h': write .cache('1h')",
    ),
    "number as a function": (
        lambda: API.llm().tools(5),
        "got int: pass the functions themselves, as in .tools(find, book), without calling them",
    ),
    "name as a function": (
        lambda: API.llm().tools("price"),
        "got str: pass the functions themselves, as in .tools(find, book), without calling them",
    ),
    "approver as text": (lambda: API.llm().approve("yes"), "to approve every call, write approve=lambda call: True"),
    "listener as text": (
        lambda: API.llm().on_tool_call("print"),
        ".on_tool_call() expected a function, got str: pass it without calling it",
    ),
    "resume without a pause": (lambda: LLM.resume({}), "no call waits for a decision; ask with converse()"),
    "call without a name": (
        lambda: API.ToolCall("1"),
        "ToolCall() missing 2 required positional arguments: 'name' and 'arguments'",
    ),
    "half a price": (lambda: API.Price.of("x", "1"), "Price.of() missing 1 required positional argument: 'output'"),
    "text as a conversation": (lambda: history().save("x"), "cannot save a str: use a TextMessage instead"),
    "no id of a conversation": (lambda: history().load(None), "expected the id of a conversation (str), got NoneType"),
    "unknown conversation": (lambda: history().delete("x"), "has no conversation 'x': see list() and search()"),
    "unknown run": (lambda: journal().run("x"), "the journal has no run 'x': see Journal.runs()"),
    "misspelt state": (
        lambda: journal().runs("pausd"),
        "unknown state 'pausd'; expected one of running, resumable, paused",
    ),
    "limit of a page as text": (lambda: journal().runs(limit="5"), "limit must be a positive int, got '5'"),
    "age in days": (lambda: journal().prune(30), "older_than must be a timedelta, got 30: write timedelta(days=30)"),
    "abandoned run that is unknown": (
        lambda: journal().abandon("x", "y"),
        "the journal has no run 'x': see Journal.runs()",
    ),
    "no places": (lambda: API.ProcessSandbox(running=0), "ProcessSandbox(running=…): expected an int >= 1, got 0"),
    "misspelt freshness": (
        lambda: API.ProcessSandbox(fresh="restord"),
        "expected 'process' or 'restored', got 'restord'",
    ),
    "one tool instead of a list": (
        lambda: API.Toolkit(PRICE),
        "expected a list of tools, got the tool price: write [price]",
    ),
    "misspelt fallback": (lambda: API.llm().fallback("antropic"), "'antropic': did you mean 'anthropic'?"),
    "nothing as a fallback": (lambda: API.llm().fallback(None), "or a name, got NoneType: write .provider('"),
}


@pytest.mark.parametrize(("act", "message"), MISTAKES.values(), ids=MISTAKES)
def test_message_of_a_mistake_says_what_to_do(
    act: Callable[[], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each has a type of its own; the message is under test
        act()
    while OPENED:
        OPENED.pop().close()
    assert message in str(raised.value)


def test_stream_of_a_program_may_stand_in_a_with_statement() -> None:
    with TOOLKIT.stream("print(price('lamp'))\nprint(2)") as events:
        first = next(events)
    assert type(first).__name__ in {"CallStarted", "OutputDelta"}
    assert list(events) == []
