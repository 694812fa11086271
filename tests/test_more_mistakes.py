"""A table of mistakes: each message says what came, where, and what to write instead."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import ez_ptc
from ez_ptc import ScriptedProvider, Toolkit, ToolRegistry, ez_tool, llm

API: Any = ez_ptc  # as in a script that no type checker looks at


def _price(product: str) -> float:
    """Look up a price."""
    return 39.5 if product else 0.0


async def _later(number: int) -> int:
    """Return a number."""
    return number


PRICE: Any = ez_tool(_price, name="price")
PAY: Any = ez_tool(_price, name="pay", requires_approval=True)
TOOLKIT: Any = Toolkit([PRICE])
LLM: Any = llm().provider(ScriptedProvider())

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    # Toolkits
    "text instead of tools": (lambda: API.Toolkit("price"), "expected a list of tools, got str: write [find, book]"),
    "nothing instead of tools": (lambda: API.Toolkit(None), "expected a list of tools, got NoneType: write ["),
    "number as a tool": (lambda: API.Toolkit([5]), "expected a function or a tool, got int: pass the function itself"),
    "names as tools": (lambda: API.Toolkit({"price": PRICE}), "got str: pass the function itself, without quotes"),
    "no tools": (API.Toolkit, "Toolkit() missing 1 required positional argument: 'tools'"),
    "packages as text": (lambda: API.Toolkit([PRICE], allow_imports="numpy"), "got a str; write ['numpy']"),
    "unknown package": (lambda: API.Toolkit([PRICE], allow_imports=["nunpy"]), "is not installed: pip install nunpy"),
    "number as a journal": (lambda: API.Toolkit([PRICE], journal=5).execute("1"), "or the path of its file; got 5"),
    "two tools of a name": (
        lambda: API.Toolkit([PRICE, ez_tool(_price, name="price", timeout=5)]),
        "give one another name",
    ),
    "unknown tool": (
        lambda: TOOLKIT.get_tool("prize"),
        "unknown tool 'prize' (did you mean 'price'?); available: price",
    ),
    "misspelt format": (lambda: TOOLKIT.tool_schema("opnai"), "unknown format 'opnai': did you mean 'openai'?"),
    "resume without a journal": (lambda: TOOLKIT.resume("x", {}), "no journal: pass Toolkit(tools, journal='runs.db')"),
    "session without a journal": (lambda: TOOLKIT.session("x"), "no journal: pass Toolkit(tools, journal='runs.db')"),
    "no answer of a model": (lambda: TOOLKIT.extract_code(None), "expected the text of a model's answer, got None"),
    # Tools
    "format of a tool": (lambda: PRICE.to_format("antropic"), "unknown format 'antropic': did you mean 'anthropic'?"),
    "call without arguments": (PRICE.call, "Tool.call() missing 1 required positional argument: 'arguments'"),
    "call with text": (lambda: PRICE.call("lamp"), "price: the arguments are not usable JSON"),
    "call with a list": (
        lambda: PRICE.call(["lamp"]),
        "price: expected the arguments as a dict or JSON text, got list",
    ),
    "misspelt argument": (lambda: PRICE.call({"prodct": "x"}), "unknown argument 'prodct' (did you mean 'product'?)"),
    "argument of a wrong type": (lambda: PRICE.call({"product": 5}), "price: 'product' must be str, got int 5"),
    "call without approval": (lambda: PAY.call({"product": "x"}), "no approver is set: pass approve=... to the call"),
    "tool of a registry": (lambda: ToolRegistry([PRICE])["prize"], "unknown tool 'prize' (did you mean 'price'?)"),
    "tool of a tool": (lambda: API.ez_tool(PRICE), "is already a tool: to make another, pass its function, ez_tool("),
    "number instead of a function": (lambda: API.ez_tool(5), "expected a function, got int 5: pass the function, not"),
    "thread of a coroutine": (lambda: ez_tool(_later, thread="db"), "write it without async, or remove thread='db'"),
    "number as a thread": (lambda: API.ez_tool(_price, thread=5), "such as thread='db', or None; got 5"),
    "misspelt thread": (
        lambda: API.ez_tool(_price, threads="db"),
        "keyword argument 'threads': did you mean 'thread'?",
    ),
    "approval as text": (
        lambda: API.ez_tool(_price, requires_approval="yes"),
        "got 'yes': write requires_approval=lambda",
    ),
    "approval by a coroutine": (lambda: API.ez_tool(_price, requires_approval=_later), "a plain function of the call"),
    "read-only as text": (lambda: API.ez_tool(_price, read_only="yes"), "expected read_only to be True, False or None"),
    "timeout as text": (lambda: API.ez_tool(_price, timeout="5"), "expected a timeout in seconds, positive, or None"),
    "name with a blank": (lambda: ez_tool(_price, name="my tool"), "use letters, digits and '_', as in ez_tool(name="),
    "number as a description": (
        lambda: API.ez_tool(_price, description=5),
        "expected a description of type str, got int",
    ),
    "number as parameters": (lambda: API.Tool("a", "b", 5, _price), "a: its parameters are a JSON Schema as a dict"),
    "schema of a list": (lambda: API.Tool.from_schema("a", "b", {"type": "array"}, _price), "the schema of an object"),
    "methods of a class": (lambda: API.tools_from(Path), "got the class Path: make one, as in Path(...)"),
    # Limits
    "negative limit": (lambda: API.Limits(timeout=-1), "Limits.timeout must be a positive number, got -1"),
    "memory as text": (lambda: API.Limits(memory="1GB"), "Limits.memory must be a positive int, got '1GB'"),
    # Conversations
    "misspelt provider": (lambda: llm().provider("antropic").prompt("x"), "'antropic': did you mean 'anthropic'?"),
    "class as a provider": (lambda: API.llm().provider(ScriptedProvider).prompt("x"), "write ScriptedProvider(...)"),
    "number as a provider": (lambda: API.llm().provider(5).prompt("x"), "or a name, got int: write .provider('"),
    "no function": (lambda: LLM.tools(None), "pass the functions themselves, as in .tools(find, book)"),
    "tools instead of a toolkit": (lambda: LLM.toolkit([PRICE]), "got list: write .toolkit(Toolkit([find, book]))"),
    "unknown mode": (
        lambda: LLM.toolkit(TOOLKIT, mode="programs"),
        "unknown mode 'programs'; expected 'tool' or 'prompt'",
    ),
    "limit as text": (lambda: LLM.limits(turns="3"), "must be a number, got '3': write .limits(turns=20)"),
    "misspelt option": (lambda: LLM.options(temprature=1), "unknown option 'temprature'; did you mean 'temperature'?"),
    "no question": (LLM.prompt, "it has no user message: add one, as in .prompt_conversation('...')"),
    "no image": (lambda: LLM.image(b"hello"), "got b'hello': set its type with media_type='image/png'"),
    "number as a price": (lambda: LLM.prices({"m": 5}), "got int: write Price.of('2', '0.20', '10')"),
    "end of a script": (lambda: LLM.prompt("x"), "the script has no answer number 1: give ScriptedProvider one more"),
    # Records
    "number as a history": (lambda: API.History(5), "a history is made with the path of its file; got int"),
    "folder as a history": (lambda: API.History("/").list(), "cannot open the history file /: it is a folder"),
    "no journal": (lambda: API.Journal(None), "a journal is a Journal, or the path of its file; got None"),
    "days as a number": (lambda: API.Journal("x", retention=5), f"got 5: write {'timedelta(days=30)'}"),
    "arguments of an approval": (lambda: API.Approve(5), "expected the arguments as a dict, got int 5"),
    "scope of an approval": (
        lambda: API.Approve(remember="ever"),
        "expected remember to be 'run' or None, got str 'ever'",
    ),
    "result as a list": (
        lambda: [*API.ExecutionResult()],
        "an ExecutionResult is no dict or list: write result.output",
    ),
    "number as a server": (lambda: API.mcp_tools(5), "expected a command, a URL, mcpServers JSON or its file"),
}


@pytest.mark.parametrize(("act", "message"), MISTAKES.values(), ids=MISTAKES)
def test_message_of_a_mistake_says_what_to_do(act: Callable[[], object], message: str) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each has a type of its own; the message is under test
        act()
    assert message in str(raised.value)


def test_retention_that_the_message_names_is_accepted(tmp_path: Path) -> None:
    with API.Journal(tmp_path / "x.db", retention=timedelta(days=30)) as journal:
        assert journal.runs() == []
