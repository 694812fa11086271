"""Arguments of wrong types: each public call names the parameter, what it takes, and what came."""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import ez_ptc
from ez_ptc import MessageRole, ScriptedProvider, Toolkit, ToolRegistry, ez_tool, llm
from ez_ptc._wrong_calls.argument_types import read_expectations

API: Any = ez_ptc  # as in a script that no type checker looks at


def _price(product: str) -> float:
    """Look up a price."""
    return 39.5 if product else 0.0


PRICE: Any = ez_tool(_price, name="price")
LLM: Any = llm().provider(ScriptedProvider())
REGISTRY: Any = ToolRegistry([PRICE])
MISTAKES: list[tuple[Callable[[Any], object], str]] = [
    (
        lambda kit: kit.execute("1", repair="again"),
        "expected repair to be a function of 3 arguments (code, error, calls) or None, got str 'again'",
    ),
    (lambda kit: kit.execute("1", max_attempts="3"), "expected max_attempts to be an int, got str '3': write max_att"),
    (lambda kit: kit.answer("x", "text"), "expected result to be an ExecutionResult, got str 'text'"),
    (lambda kit: kit.as_tool(approve="yes"), "expected approve to be a function of the call, or None; got str 'yes'"),
    (
        lambda _: PRICE.run("lamp"),
        "Tool.run(): expected call to be a ToolCall, got str 'lamp': make one of the arguments",
    ),
    (
        lambda _: PRICE.run({"product": "lamp"}),
        "expected call to be a ToolCall, got dict: make one of the arguments, To",
    ),
    (lambda kit: kit.get_tool([]), "unknown tool []"),
    (lambda kit: kit.tool_schema(["openai"]), "unknown format ['openai']"),
    (lambda kit: kit.session(upgrade="yes"), "expected upgrade to be True or False, got str 'yes': write upgrade=True"),
    (lambda kit: kit.replay("x", journal="runs.db"), "expected journal to be a Journal or None, got str 'runs.db'"),
    (lambda _: API.Toolkit([PRICE], sandbox=5), "expected sandbox to be a sandbox, such as ProcessSandbox()"),
    (
        lambda _: API.Toolkit([PRICE], sandbox=API.ProcessSandbox),
        "got the class ProcessSandbox: make one, ProcessSandbox(...)",
    ),
    (lambda _: API.Toolkit([PRICE], preamble=5), "Toolkit(): expected preamble to be a str or None, got int 5"),
    (lambda _: API.Toolkit([PRICE], preamble=b"a"), "got bytes b'a': write .decode()"),
    (lambda _: API.Toolkit([PRICE], reraise=ValueError), "expected reraise to be a tuple of exception classes, got"),
    (lambda _: API.Toolkit([PRICE], reraise=[ValueError]), "expected reraise to be a tuple of exception classes, got"),
    (lambda _: API.Toolkit([PRICE], allow_imports=5), "expected allow_imports to be a list, got int 5"),
    (lambda _: API.Toolkit.from_openapi(5, client=None), "expected spec to be a dict, a str or a path, got int 5"),
    (lambda _: API.Toolkit.from_openapi(spc={}, client=None), "got the keyword argument 'spc': did you mean 'spec'?"),
    (lambda _: API.openapi_tools([], client=None), "openapi_tools(): expected spec to be a dict, a str or a path, got"),
    (lambda _: LLM.prices(5), "LLMPromptBuilder.prices(): expected prices to be a dict, got int 5"),
    (lambda _: LLM.model(5), "expected model to be a str, got int 5"),
    (lambda _: LLM.image(5), "expected image to be bytes, a str or a path, got int 5"),
    (lambda _: LLM.converse(mesage="x"), "unknown option 'mesage'; did you mean 'message'?"),
    (lambda _: API.TextMessage("x", role="usr"), "expected a role, got 'usr': did you mean 'user'?"),
    (lambda _: API.TextMessage(5), "expected str, got int: convert it with str(...)"),
    (lambda _: API.ImageMessage("cat.png"), "ImageMessage(): expected data to be bytes or None, got str 'cat.png'"),
    (lambda _: API.Journal("x", max_bytes="1GB"), "Journal(): expected max_bytes to be an int"),
    (lambda _: API.Limits(cpu_time="5"), "Limits.cpu_time must be a positive number or None, got '5'"),
    (lambda _: API.ez_tool(_price, idempotent="yes"), "_price: expected idempotent to be True or False, got str 'yes'"),
    (lambda _: API.ez_tool(_price, category=5), "_price: expected category to be a str, such as 'orders', or None"),
    (lambda _: API.ez_tool(_price, return_schema="x"), "_price: expected return_schema to be a JSON Schema as a dict"),
    (lambda _: API.ez_tool(registry=[]), "expected registry to be a ToolRegistry or None, got list of 0 []"),
    (lambda _: REGISTRY.filtered("price"), "expected test to be a function of 1 argument or None, got str 'price'"),
    (lambda _: REGISTRY.filtered(names=5), "expected names to be a list or None, got int 5"),
    (lambda _: REGISTRY.run("price"), "expected call to be a ToolCall, got str 'price'"),
    (lambda _: REGISTRY.run(API.ToolCall), "got the class ToolCall: make one, ToolCall(...)"),
    (
        lambda _: REGISTRY.prefixed(_price),
        "expected prefix to be a str, got function: call it, and pass what it returns",
    ),
    (
        lambda _: API.History("x.db").save(5),
        "expected conversation to be a conversation, as llm() starts one or a list",
    ),
    (lambda _: API.History("x.db").search(5), "expected text to be a str, got int 5"),
]


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Toolkit]:
    """Yield a toolkit with a journal in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    with Toolkit([PRICE], journal="runs.db") as made:
        yield made


def test_wrong_argument_is_named_with_what_it_should_be(toolkit: Toolkit) -> None:
    for act, message in MISTAKES:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - each has a type of its own; the message is under test
            act(toolkit)
        assert message in str(raised.value)


def _checked_functions() -> Iterator[tuple[str, FunctionType]]:
    for name in vars(ez_ptc)["__all__"]:
        value = getattr(API, name)
        members = {name: value}
        if hasattr(value, "__mro__"):
            members = {f"{name}.{key}": getattr(value, key) for key in dir(value) if not key.startswith("_")}
            members[name] = value.__init__
        for shown, member in members.items():
            function = getattr(member, "__func__", member)
            if hasattr(function, "__explained__"):
                yield shown, function


def _call(function: Callable[..., Any], **keywords: object) -> None:
    result = function(**keywords)
    if inspect.iscoroutine(result):
        asyncio.run(result)


def test_every_checked_parameter_refuses_an_object_of_no_use() -> None:
    count = 0
    for shown, function in _checked_functions():
        innermost: Any = inspect.unwrap(function)
        for parameter in read_expectations(innermost, shown):
            with pytest.raises(TypeError, match=re.escape(f"{shown}(): expected {parameter} to be ")):
                _call(function, **{parameter: object()})
            count += 1
    assert count > 200


def test_what_python_takes_for_a_type_is_no_mistake(toolkit: Toolkit) -> None:
    class Text(str):
        """Text of a framework."""

        __slots__ = ()

    class Number:
        """A number of a library, such as NumPy's."""

        def __index__(self) -> int:
            return 2

    assert API.TextMessage("x", role="system").role is MessageRole.SYSTEM
    assert API.Toolkit([PRICE], preamble=Text("Hello."), assist_tool_chaining=None).preamble == "Hello."
    run: Any = toolkit.execute
    result = run("1", max_attempts=Number(), repair=print)
    assert result.return_value == 1
    assert len(REGISTRY.filtered(names={"price": 1}, exclude=frozenset())) == 1
