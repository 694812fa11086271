"""Calls with wrong arguments: the error names what users know, and suggests what they meant."""

import asyncio
import inspect
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

import ez_ptc
from ez_ptc import errors, openapi, ray
from ez_ptc._wrong_calls import explain_calls, refuse_interrupted_import, unknown_name

PUBLIC: dict[str, Any] = {name: getattr(ez_ptc, name) for name in vars(ez_ptc)["__all__"]}
# The names of public modules below the package. Those of agent frameworks can be imported only with them.
SUBMODULES = (openapi, ray)
OFFERED: dict[str, Any] = PUBLIC | {name: getattr(module, name) for module in SUBMODULES for name in module.__all__}
# They are data, made by the library only; protocols are what users write.
NOT_CALLED = {
    *("ApiOperation", "ApprovalNeeded", "CallEnded", "CallProgress", "CallStarted", "OutputDelta", "ProgramEnded"),
    *(
        "BlockingStream",
        "ConversationStream",
        "Elicitation",
        "HistoryRecord",
        "HttpClient",
        "LLMProvider",
        "MediaMessage",
    ),
    *("McpChange", "McpLog", "McpProgress", "McpPrompt", "Message", "Mistake", "Run", "Sandbox", "TurnUsage"),
    *vars(errors),
}


def methods() -> list[Any]:
    """Return every public class, function and method that takes keywords, as parameters of a test."""
    cases: list[Any] = []
    for name, value in OFFERED.items():
        members = {name: value}
        if isinstance(value, type):
            members = {f"{name}.{key}": getattr(value, key) for key in dir(value) if not key.startswith("_")}
            members[name] = vars(value).get("__init__")
        for shown, member in members.items():
            function = getattr(member, "__func__", member)
            if name not in NOT_CALLED and isinstance(function, FunctionType) and keywords_of(function):
                cases.append(pytest.param(shown, function, id=shown))
    return cases


def keywords_of(function: Callable[..., object]) -> list[str]:
    """Return a function's keywords; none if it takes any."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return []
    names = [p.name for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    return [name for name in names if name not in {"self", "cls"}]


def call(function: Callable[..., object], **keywords: object) -> None:
    """Call a function as if on an object, with enough arguments, and await it if that takes awaiting."""
    result = function(None, None, **keywords)
    if inspect.iscoroutine(result):
        asyncio.run(result)


INTERNAL = re.compile(r"ProgramRunner|PooledSandbox|InvocableTool|ConversationContents|Options|\b_\w+")


@pytest.mark.parametrize(("shown", "function"), methods())
def test_misspelt_keyword_is_named_by_what_users_call(shown: str, function: FunctionType) -> None:
    keyword = keywords_of(function)[-1]
    with pytest.raises(TypeError) as raised:
        call(function, **{f"{keyword}x": 1})
    message = str(raised.value)
    assert message.startswith(f"{shown}() got an unexpected keyword argument '{keyword}x'")
    assert not INTERNAL.search(message.removeprefix(shown))
    assert f"did you mean {keyword!r}?" in message or len(keyword) < 4


MISSPELT: dict[str, tuple[Callable[[], object], str]] = {
    "Toolkit": (lambda: PUBLIC["Toolkit"]([], tiemout=3), "did you mean 'timeout'?"),
    "Limits": (lambda: PUBLIC["Limits"](call=3), "did you mean 'calls'?"),
    "Journal": (lambda: PUBLIC["Journal"](pth="x"), "did you mean 'path'?"),
    "ez_tool": (lambda: PUBLIC["ez_tool"](requires_aproval=True), "did you mean 'requires_approval'?"),
    "tool": (lambda: PUBLIC["tool"]("a", requires_aproval=True), "did you mean 'requires_approval'?"),
    "Tool": (lambda: PUBLIC["Tool"]("a", "b", [], len, idempotnt=True), "did you mean 'idempotent'?"),
    "from_function": (lambda: PUBLIC["Tool"].from_function(len, nam="x"), "did you mean 'name'?"),
    "ToolRegistry": (lambda: PUBLIC["ToolRegistry"](aprove=None), "did you mean 'approve'?"),
    "Approve": (lambda: PUBLIC["Approve"](remeber="run"), "did you mean 'remember'?"),
    "Deny": (lambda: PUBLIC["Deny"](reson="no"), "did you mean 'reason'?"),
    "AnthropicProvider": (lambda: PUBLIC["AnthropicProvider"](apikey="x"), "did you mean 'api_key'?"),
    "OpenAIProvider": (lambda: PUBLIC["OpenAIProvider"](apikey="x"), "did you mean 'api_key'?"),
    "OpenAIChatProvider": (lambda: PUBLIC["OpenAIChatProvider"](baseurl="x"), "did you mean 'base_url'?"),
    "TextMessage": (lambda: PUBLIC["TextMessage"]("a", roles="user"), "did you mean 'role'?"),
    "DocumentMessage": (lambda: PUBLIC["DocumentMessage"](b"a", nam="x"), "did you mean 'name'?"),
    "ToolCall": (lambda: PUBLIC["ToolCall"]("1", "add", argument={}), "did you mean 'arguments'?"),
    "ToolParameter": (lambda: PUBLIC["ToolParameter"](nam="x"), "did you mean 'name'?"),
    "Usage": (lambda: PUBLIC["Usage"](input_token=1), "did you mean 'input_tokens'?"),
    "ToolResult": (lambda: PUBLIC["ToolResult"](sucess=True), "did you mean 'success'?"),
    "GeminiProvider": (lambda: PUBLIC["GeminiProvider"](modl="x"), "did you mean 'model'?"),
    "MistralProvider": (lambda: PUBLIC["MistralProvider"](time_out=3), "did you mean 'timeout'?"),
    "ScriptedProvider": (lambda: PUBLIC["ScriptedProvider"]("a", modle="x"), "did you mean 'model'?"),
    "History": (lambda: PUBLIC["History"](pathh="x"), "did you mean 'path'?"),
    "ProcessSandbox": (lambda: PUBLIC["ProcessSandbox"](runing=3), "did you mean 'running'?"),
    "from_mcp": (lambda: PUBLIC["Toolkit"].from_mcp("x", prefx="a"), "did you mean 'prefix'?"),
    "mcp_tools": (lambda: PUBLIC["mcp_tools"]("x", prefx="a"), "did you mean 'prefix'?"),
    "nothing near": (lambda: PUBLIC["Deny"](colour="red"), "expected one of reason, by"),
}


@pytest.mark.parametrize(("mistake", "suggestion"), MISSPELT.values(), ids=MISSPELT)
def test_misspelt_option_is_suggested(mistake: Callable[[], object], suggestion: str) -> None:
    with pytest.raises(TypeError, match=re.escape(suggestion)) as raised:
        mistake()
    assert not INTERNAL.search(str(raised.value))


def test_missing_and_surplus_arguments_name_the_public_class() -> None:
    toolkit = PUBLIC["Toolkit"]([])
    with pytest.raises(TypeError, match=r"^Toolkit\.execute\(\) missing 1 required positional argument: 'code'"):
        toolkit.execute()
    with pytest.raises(
        TypeError, match=r"^Toolkit\.stream\(\) takes from 2 to 3 positional arguments but 4 were given"
    ):
        toolkit.stream("1", 2, 3)


def _find(a: int = 1, b: int = 2) -> int:
    return a + b


@pytest.mark.parametrize("method", ["execute", "aexecute"])
@pytest.mark.parametrize("args", [(1,), (1, 2), ({"a": 1},)])
def test_arguments_by_position_are_asked_for_by_name(method: str, args: tuple[object, ...]) -> None:
    find = PUBLIC["tool"]("find", "Find.")(_find)
    with pytest.raises(TypeError) as raised:
        asyncio.run(getattr(find, method)(*args))
    assert str(raised.value) == (
        f"Tool.{method}() takes all arguments by name, got {len(args)} by position: write {method}(name=value, ...), "
        f"or {method}(**arguments) for those in a dict"
    )


class Base:
    """A class of the library's user."""

    def method(self, number: int) -> int:
        """Fail as its own callers do."""
        measure: Callable[..., int] = len
        return measure(str(number), number)


@explain_calls
class Child(Base):
    """Decorated, and its base is not one of ours."""

    def own(self, number: int) -> int:
        """Call something wrongly."""
        return len(number)  # pyright: ignore[reportArgumentType] - that is what is tried

    async def later(self, number: int) -> int:
        """Call something wrongly."""
        return len(number)  # pyright: ignore[reportArgumentType] - that is what is tried


def test_errors_of_the_function_itself_stay_as_they_are() -> None:
    with pytest.raises(TypeError, match="object of type 'int' has no len"):
        Child().own(1)
    with pytest.raises(TypeError, match="object of type 'int' has no len"):
        asyncio.run(Child().later(1))
    with pytest.raises(TypeError, match=r"len\(\) takes exactly one argument"):
        Child().method(1)


def test_circular_import_of_users_own_modules_stays_as_it_is() -> None:
    for module, is_ours in (("ez_ptc", True), ("ez_ptc.tools", True), ("ez_ptc_shop", False), ("ez_ptcs.tools", False)):
        error = ImportError(f"cannot import name 'later' from partially initialized module '{module}' (…)")
        if not is_ours:
            refuse_interrupted_import(error, "Toolkit.execute")
            continue
        with pytest.raises(errors.SandboxError, match="has interrupted the first import") as caught:
            refuse_interrupted_import(error, "Toolkit.execute")
        assert caught.value.__cause__ is error


def test_decorated_function_keeps_signature_and_kind() -> None:
    toolkit = PUBLIC["Toolkit"]
    assert list(inspect.signature(toolkit.execute).parameters)[:3] == ["self", "code", "timeout"]
    assert inspect.iscoroutinefunction(toolkit.aexecute)
    assert toolkit.execute.__doc__.startswith("Run a program")


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("turn", ["turns", "calls"], "did you mean 'turns'?"),
        ("x", [], "expected none"),
        ("x", ["ab"], "expected one of ab"),
    ],
)
def test_unknown_name_is_told_the_nearest_or_all(name: str, known: list[str], text: str) -> None:
    assert unknown_name(name, known).endswith(text)


def test_names_of_other_versions_say_what_to_write() -> None:
    toolkit: Any = PUBLIC["Toolkit"]([])
    package: Any = ez_ptc
    rows: list[tuple[Callable[[], object], str]] = [
        (lambda: toolkit.execute_sync("1"), "'Toolkit' object has no attribute 'execute_sync': write execute(code)"),
        (lambda: toolkit.as_tool_sync(1), "write as_tool()"),
        (lambda: toolkit.execut("1"), "did you mean 'execute'?"),
        (lambda: toolkit.execute("1", approved_calls=["a"]), "write resume(run_id, {call_id: True})"),
        (lambda: toolkit.execute("1", max_retries=3), "write repair=..., a function that returns"),
        (lambda: toolkit.execute("1").pending_tool_calls, "write .pending"),
        (lambda: PUBLIC["llm"]().system("x"), "write agent('...')"),
        (lambda: PUBLIC["llm"]().aconverse("x"), "write await prompt_conversation('...')"),
        (lambda: PUBLIC["llm"]().to_json(), "write History(path).save(conversation)"),
        (lambda: PUBLIC["ToolRegistry"]().add(len), "write register(function)"),
        (lambda: package.LocalSandbox, "or write ProcessSandbox"),
        (lambda: package.ToolKit, "did you mean 'Toolkit'?"),
    ]
    for act, advice in rows:
        with pytest.raises((AttributeError, TypeError, ImportError), match=re.escape(advice)):
            act()
    with pytest.raises(ImportError, match=r"write toolkit\.check\(code\)"):
        exec("from ez_ptc import validate_code", {})
    assert not hasattr(toolkit, "_repr_markdown_")
