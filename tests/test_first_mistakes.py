"""Mistakes of newcomers in the first steps: things in the wrong place, closed, not yet made or not called."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import ez_ptc
from ez_ptc import ScriptedProvider, Toolkit, ToolRegistry, ez_tool, llm

API: Any = ez_ptc  # as in a script that no type checker looks at


class Shop:
    """A class whose methods are made tools."""

    def find(self, product: str) -> str:
        """Find a product."""
        return product


class Own:
    """A class that JSON cannot carry."""


def _price(product: str) -> float:
    """Look up a price."""
    return 39.5 if product else 0.0


def _weigh(thing: Own) -> str:
    """Weigh something."""
    return str(thing)


async def _later(number: int) -> int:
    """Return a number."""
    return number


def _pending() -> Coroutine[object, object, int]:
    """Return a coroutine, which is never awaited."""
    COROUTINES.append(_later(1))
    return COROUTINES[-1]


def _in_a_loop(act: Callable[[], object]) -> object:
    """Call a function where a loop runs."""

    async def call() -> object:
        return act()

    return asyncio.run(call())


def _closed() -> Any:  # noqa: ANN401 - as in a script
    """Return a closed toolkit."""
    toolkit = Toolkit([PRICE])
    toolkit.close()
    return toolkit


def _answer_of(approve: Any = None) -> str:  # noqa: ANN401 - as in a script
    """Return what a model reads of a call that requires approval."""
    pay = ez_tool(_price, name="pay", requires_approval=True)
    return str(API.ToolRegistry([pay], approve=approve).run(API.ToolCall("1", "pay", {"product": "x"})).error)


def _say_one(call: object) -> int:
    """Answer with a number."""
    return len([call])


def _fail(text: str) -> None:
    raise AssertionError(text)


COROUTINES: list[Any] = []
PRICE: Any = ez_tool(_price, name="price")
TOOLKIT: Any = Toolkit([PRICE])
REGISTRY: Any = ToolRegistry([PRICE])
LLM: Any = llm().provider(ScriptedProvider())
NO_KEY = "needs a key: set OPENAI_API_KEY, or give base_url=..., the URL of a server without keys"
NO_SCHEME = "must begin with http:// or https://, as in http://localhost:11434/v1"

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    # What is no tool
    "method of a class": (
        lambda: API.Toolkit([Shop.find]),
        "find: parameter 'self' makes it a method without its object, which a model cannot pass: make the tool from",
    ),
    "method as a decorated tool": (lambda: ez_tool(Shop.find), "as in ez_tool(thing.find)"),
    "class as a tool": (
        lambda: API.Toolkit([Shop]),
        "got the class Shop: pass one of its objects, or tools_from(Shop(...)) for its methods",
    ),
    "object as a tool": (lambda: API.Toolkit([Shop()]), "got Shop: pass a function that uses it, or tools_from(...)"),
    "lambda as a tool": (lambda: API.Toolkit([lambda: 1]), "invalid tool name '<lambda>': use letters, digits and"),
    "decorated lambda": (lambda: API.ez_tool(lambda: 1), "as in ez_tool(name='find_order')"),
    "module as tools": (lambda: API.Toolkit([math]), "got module: pass its functions, as in [math.find]"),
    "result of a call": (lambda: API.Toolkit([_price("x")]), "got float: pass the function itself, without calling it"),
    "coroutine as a tool": (
        lambda: API.Toolkit([_pending()]),
        "got coroutine: pass the function itself, without calling it",
    ),
    "nothing as a tool": (lambda: API.Toolkit([None]), "got None: pass the function itself, without calling it"),
    "text as a tool": (lambda: API.Toolkit(["price"]), "got str: pass the function itself, without quotes"),
    "schema as a tool": (lambda: API.Toolkit([{"name": "x"}]), "make a tool of a schema and its function with Tool.f"),
    "own class as a parameter": (lambda: API.Toolkit([_weigh]), "parameter 'thing' cannot be of type Own"),
    "function instead of a list": (lambda: API.Toolkit(_price), "expected a list of tools, got _price: write [_price]"),
    "decorated twice": (lambda: ez_tool()(PRICE), "is already a tool: to make another, pass its function, ez_tool("),
    "toolkit as a function": (lambda: TOOLKIT("1"), "expected a tool, got a Toolkit: pass an agent framework tools="),
    # What is closed
    "closed toolkit": (lambda: _closed().execute("1"), "this toolkit is closed: make a new one"),
    "awaited program of a closed toolkit": (lambda: asyncio.run(_closed().aexecute("1")), "this toolkit is closed"),
    "stream of a closed toolkit": (lambda: list(_closed().stream("1")), "this toolkit is closed: make a new one"),
    "session of a closed toolkit": (lambda: _closed().session(), "this toolkit is closed: make a new one"),
    "function of a closed toolkit": (lambda: _closed().as_tool()("1"), "this toolkit is closed: make a new one"),
    # Settings
    "limit by position": (lambda: API.Limits(5), "Limits() takes 1 positional argument but 2 were given; by name it"),
    "limit as a timedelta": (lambda: API.Limits(timeout=timedelta(seconds=5)), "write .total_seconds()"),
    "timeout as a timedelta": (lambda: TOOLKIT.execute("1", timedelta(seconds=5)), "write .total_seconds()"),
    "timeout of a tool as a timedelta": (
        lambda: API.ez_tool(_price, timeout=timedelta(seconds=5)),
        "or None for no limit; got datetime.timedelta(seconds=5): write .total_seconds()",
    ),
    "no number as a limit": (lambda: API.Limits(timeout=math.nan), "Limits.timeout must be a positive number, got nan"),
    "endless limit": (lambda: API.Limits(timeout=math.inf), "Limits.timeout must be <= 31,622,400, got inf"),
    "misspelt limit of a copy": (lambda: replace(API.Limits(), cals=3), "did you mean 'calls'?"),
    "options by position": (lambda: TOOLKIT.execute("1", 5, "x"), "by name it takes context=..., approve=..., on_tool"),
    "misspelt context": (lambda: TOOLKIT.execute("1", contxt=5), "'contxt': did you mean 'context'?"),
    "unknown sandbox": (lambda: API.Toolkit([PRICE], sandbox="docker"), "'docker'. There are: process, wasm"),
    "class as a sandbox": (
        lambda: API.Toolkit([PRICE], sandbox=API.WasmSandbox),
        "got the class WasmSandbox: make one, WasmSandbox(...)",
    ),
    "module as a package": (
        lambda: API.Toolkit([PRICE], allow_imports=[math]),
        "allow_imports: expected names of packages, such as ['numpy'], got module",
    ),
    "number as a package": (lambda: API.Toolkit([PRICE], allow_imports=[5]), "such as ['numpy'], got int 5"),
    "part of a package": (
        lambda: API.Toolkit([PRICE], allow_imports=["pydantic.main"]),
        "'pydantic.main' is not the name of a package to import: give it as in `import numpy`, without dots or ver",
    ),
    "file as a folder": (
        lambda: API.Toolkit([PRICE], spill=__file__),
        "as a folder in one that exists: Not a directory",
    ),
    "folder in no folder": (
        lambda: API.Toolkit([PRICE], spill="nowhere/results"),
        "as a folder in one that exists: No such file or directory",
    ),
    "misspelt catalog": (lambda: API.Toolkit([PRICE], catalog="ful"), "to be 'auto', 'full' or a number of tokens"),
    "unknown pinned tool": (lambda: API.Toolkit([PRICE], pinned=["prize"]), "pinned: unknown tool 'prize' (did you"),
    "text as pinned tools": (lambda: API.Toolkit([PRICE], pinned="price"), "expected pinned to be a list of tools"),
    "number as shapes": (lambda: API.Toolkit([PRICE], shapes=5), "the path of a file, or True for memory; got int 5"),
    "journal in no folder": (
        lambda: API.Toolkit([PRICE], journal="nowhere/runs.db").execute("1"),
        "give the journal a folder that exists and that you may write to",
    ),
    "swapped arguments of resume": (
        lambda: API.Toolkit([PRICE], journal="runs.db").resume({}, "id"),
        "expected the decisions as a dict by the ids of pending calls, got str 'id'",
    ),
    "run that is unknown": (
        lambda: API.Toolkit([PRICE], journal="runs.db").resume("x"),
        "the journal has no run 'x': see Journal.runs()",
    ),
    # Models
    "provider in the first call": (lambda: API.llm(provider="openai"), "got provider=...: name the model in a method"),
    "model in the first call": (lambda: API.llm(model="gpt-5"), 'as in llm().provider("openai").model("gpt-5")'),
    "model as a provider": (lambda: LLM.provider("gpt-5").prompt("x"), "if it is a model, write .model('gpt-5')"),
    "no key": (API.OpenAIProvider, NO_KEY),
    "empty key": (lambda: API.OpenAIProvider(api_key=""), NO_KEY),
    "number as a key": (lambda: API.OpenAIProvider(api_key=5), "expected api_key to be a str or None, got int 5"),
    "URL without a scheme": (
        lambda: API.OpenAIChatProvider("m", base_url="localhost:11434/v1"),
        f"base_url or OPENAI_BASE_URL {NO_SCHEME}",
    ),
    "URL of Claude without a scheme": (lambda: API.AnthropicProvider("m", base_url="localhost"), NO_SCHEME),
    "URL of Gemini without a scheme": (lambda: API.GeminiProvider("m", api_key="k", base_url="localhost"), NO_SCHEME),
    "URL of Mistral without a scheme": (
        lambda: API.MistralProvider("m", api_key="k", base_url="localhost"),
        f"base_url {NO_SCHEME}",
    ),
    "toolkit among tools": (
        lambda: API.llm().tools(TOOLKIT),
        "got a Toolkit: write .toolkit(toolkit) for programs, or .tools(*toolkit) for single calls",
    ),
    "toolkit in a list of tools": (lambda: API.llm().tools([TOOLKIT]), "write .toolkit(toolkit) for programs"),
    "class as a toolkit": (lambda: LLM.toolkit(Toolkit), "expected a Toolkit, got type: write .toolkit(Toolkit([find"),
    "function as a toolkit": (lambda: LLM.toolkit(_price), "or .tools(find, book) for single calls"),
    "message of another library": (lambda: LLM.prompt({"role": "user"}), "expected str, got dict: convert it with str"),
    "question before the type": (lambda: LLM.prompt_for_type("How many?", int), "pass the type itself, such as int"),
    "number as an answer": (
        lambda: llm().provider(API.ScriptedProvider(5)).prompt("x"),
        "scripted answered with int 5: expected text, a ToolCall, a list of both, or an Answer",
    ),
    "method of other libraries": (lambda: LLM.ask("x"), "write prompt('...') for a text, or converse('...')"),
    "nearly a method of other libraries": (lambda: REGISTRY.tols, "has no attribute 'tols': write list(registry)"),
    "question in a loop": (
        lambda: _in_a_loop(lambda: LLM.prompt(5)),
        "expected str, got int: convert it with str(...)",
    ),
    # Approvals
    "approver of nothing": (lambda: _fail(_answer_of(approve=print)), "pay was not approved"),
    "approver of a number": (lambda: _fail(_answer_of(approve=_say_one)), "int 1 is not an approval; True approves"),
    "no approver": (
        lambda: _fail(_answer_of()),
        "no approver is set: pass approve=... to the call, registry or Toolkit",
    ),
    # Results
    "result by a number": (lambda: API.ExecutionResult()[0], "an ExecutionResult is no dict or list: write result.out"),
}


@pytest.mark.parametrize(("act", "message"), MISTAKES.values(), ids=MISTAKES)
def test_message_of_a_mistake_says_what_to_do(
    act: Callable[[], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each has a type of its own; the message is under test
        act()
    while COROUTINES:
        COROUTINES.pop().close()
    assert message in str(raised.value)


def test_synchronous_code_may_call_asynchronous_tools() -> None:
    later: Any = ez_tool(_later, name="later")
    assert later.call({"number": 3}) == 3
    assert _in_a_loop(lambda: later.call({"number": 3})) == 3
    with Toolkit([later]) as toolkit:
        assert _in_a_loop(lambda: toolkit.execute("later(3)").return_value) == 3


def test_tools_of_a_toolkit_are_given_one_by_one() -> None:
    assert [tool.name for tool in llm().tools(*TOOLKIT).settings.tools] == ["price"]
