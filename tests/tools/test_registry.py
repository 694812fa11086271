"""Tools by name and category, and collections made of others."""

import ast
from typing import Any, cast

import pytest

from ez_ptc.conversation.builder import llm
from ez_ptc.errors import ArgumentsError, DuplicateToolError, ToolNotFoundError
from ez_ptc.messages import PendingCall, ToolCall
from ez_ptc.schema.annotations.context import Context
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.builtin import create_calculator_tool
from ez_ptc.tools.decorators import ez_tool, tool
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.tools.tool import Tool


@ez_tool(category="geo")
def find(city: str) -> str:
    """Find a city."""
    return city.upper()


@ez_tool(category="shop")
async def buy(item: str, count: int = 1) -> str:
    """Buy something."""
    return item * count


@ez_tool
def fail(reason: str) -> str:
    """Fail."""
    raise RuntimeError(reason)


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry([find, buy, fail])


def test_tools_are_found_by_name_and_by_category(registry: ToolRegistry) -> None:
    assert registry.get("find") is registry["find"] is find
    assert registry.list_tools() == [find, buy, fail] == list(registry)
    assert registry.list_tools("shop") == [buy]
    assert registry.list_tools(category="none") == []
    assert "find" in registry
    assert "sell" not in registry
    assert len(registry) == 3
    assert repr(registry) == "ToolRegistry(find, buy, fail)"


def test_unknown_name_is_none_or_error_with_nearest(registry: ToolRegistry) -> None:
    assert registry.get("by") is None
    with pytest.raises(ToolNotFoundError, match=r"unknown tool 'by' \(did you mean 'buy'\?\); available: buy, f"):
        _ = registry["by"]


def test_a_tool_is_registered_once(registry: ToolRegistry) -> None:
    other = Tool("find", "Find another.", function=str)
    registry.register(find)
    with pytest.raises(DuplicateToolError, match="two tools are called 'find'"):
        registry.register(other)
    assert registry["find"] is find


def test_non_tool_is_refused() -> None:
    with pytest.raises(TypeError, match=r"expected a function or a tool, got the class str: pass one of its objects"):
        ToolRegistry().register(str)
    with pytest.raises(TypeError, match=r"expected a list of tools, got the tool find: write \[find\]"):
        ToolRegistry(cast("Any", find))


def test_decorator_registers_its_tool() -> None:
    registry = ToolRegistry()

    @tool(name="add", description="Add numbers.", category="math", registry=registry)
    def plus(a: int, b: int) -> int:
        return a + b

    assert registry["add"] is plus
    assert (plus.description, plus.category) == ("Add numbers.", "math")
    assert plus(1, 2) == 3


def test_a_decorator_takes_name_and_description_by_position() -> None:
    @tool("add", "Add numbers.")
    def plus(a: int, b: int) -> int:
        return a + b

    @tool
    def minus(a: int, b: int) -> int:
        """Subtract."""
        return a - b

    assert (plus.name, plus.description, minus.name) == ("add", "Add numbers.", "minus")


def test_decorator_that_cannot_register_raises() -> None:
    registry = ToolRegistry([find])

    def other(city: str) -> str:
        """Find it elsewhere."""
        return city

    with pytest.raises(DuplicateToolError, match="'find'"):
        tool(name="find", registry=registry)(other)


def test_a_tool_is_executed_by_its_name(registry: ToolRegistry) -> None:
    assert registry.execute("find", city="Oslo").output == "OSLO"
    assert registry.execute(tool_name="find", city="Oslo").output == "OSLO"
    assert registry.execute("buy", item="ab", count="2").output == "abab"


@pytest.mark.filterwarnings("ignore:coroutine")
async def test_a_tool_is_awaited_by_its_name(registry: ToolRegistry, anyio_backend: str) -> None:
    assert (await registry.aexecute("find", city="Oslo")).output == "OSLO"
    assert (await registry.aexecute("buy", item="ab")).output == "ab"
    assert isinstance((await registry.aexecute("sell")).exception, ToolNotFoundError)


def test_a_tool_may_have_a_parameter_called_tool_name() -> None:
    @ez_tool
    def describe(tool_name: str, self: str) -> str:
        """Describe a tool."""
        return f"{tool_name} {self}"

    assert ToolRegistry([describe]).execute("describe", tool_name="saw", self="x").output == "saw x"


def test_nothing_that_a_model_does_wrong_is_raised(registry: ToolRegistry) -> None:
    unknown = registry.execute("finde", city="Oslo")
    assert not unknown.success
    assert unknown.error == "unknown tool 'finde' (did you mean 'find'?); available: find, fail, buy"
    assert isinstance(unknown.exception, ToolNotFoundError)
    assert isinstance(registry.execute("find", town="Oslo").exception, ArgumentsError)
    assert registry.execute("fail", reason="no").error == "no"


def test_errors_are_logged_before_they_become_results(registry: ToolRegistry, caplog: pytest.LogCaptureFixture) -> None:
    registry.execute("finde", city="Oslo")
    registry.execute("fail", reason="a reason")
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0].startswith("call refused: unknown tool 'finde'")
    assert messages[1] == "fail failed: a reason"


def test_execute_needs_one_name(registry: ToolRegistry) -> None:
    with pytest.raises(TypeError, match="got 0 names"):
        registry.execute(city="Oslo")
    with pytest.raises(TypeError, match="got 2 names"):
        registry.execute("find", "buy")


def test_a_registry_is_written_for_a_provider(registry: ToolRegistry) -> None:
    assert [each["function"]["name"] for each in registry.to_openai_format()] == ["find", "buy", "fail"]
    assert [each["name"] for each in registry.to_anthropic_format("shop")] == ["buy"]
    assert registry.to_format("openai", category="geo") == [find.to_openai_format()]
    assert registry.to_anthropic_format("geo") == [find.to_anthropic_format()]
    with pytest.raises(ValueError, match="unknown format 'cohere': expected one of openai-chat, openai"):
        registry.to_format("cohere")


def test_a_collection_is_filtered(registry: ToolRegistry) -> None:
    assert list(registry.filtered(names=["fail", "find"])) == [find, fail]
    assert list(registry.filtered(category="shop")) == [buy]
    assert list(registry.filtered(exclude=["fail"])) == [find, buy]
    assert list(registry.filtered(lambda each: each.is_async)) == [buy]
    assert list(registry) == [find, buy, fail]


@pytest.mark.parametrize("option", ["names", "exclude"])
def test_filter_naming_no_tool_raises(registry: ToolRegistry, option: str) -> None:
    with pytest.raises(ToolNotFoundError, match="unknown tool 'sell'"):
        registry.filtered(**cast("Any", {option: ["sell"]}))
    with pytest.raises(TypeError, match=rf"{option} is a list of names: write {option}=\['find'\]"):
        registry.filtered(**cast("Any", {option: "find"}))


def test_a_collection_is_renamed_and_prefixed(registry: ToolRegistry) -> None:
    other = registry.renamed(find="look_up").prefixed("shop_")
    assert [each.name for each in other] == ["shop_look_up", "shop_buy", "shop_fail"]
    assert other["shop_look_up"].signature == "shop_look_up(city: str) -> str"
    assert other["shop_look_up"].description == "Find a city."
    assert other.execute("shop_look_up", city="Oslo").output == "OSLO"
    assert (other.execute("shop_look_up").error or "").startswith("shop_look_up: missing argument 'city'")
    assert [each.name for each in registry] == ["find", "buy", "fail"]
    assert list(registry.renamed({"find": "find"}).renamed()) != []


def test_new_names_must_be_good_and_differ(registry: ToolRegistry) -> None:
    with pytest.raises(DuplicateToolError, match="'buy'"):
        registry.renamed(find="buy")
    with pytest.raises(ToolNotFoundError, match="'sell'"):
        registry.renamed(sell="buy")
    with pytest.raises(TypeError, match="invalid tool name 'a b_find'"):
        registry.prefixed("a b_")


def test_collection_can_require_approval(registry: ToolRegistry) -> None:
    assert [each.requires_approval for each in registry.with_approval()] == [True, True, True]
    some = registry.with_approval("buy")
    assert [each.requires_approval for each in some] == [False, True, False]
    assert not buy.requires_approval
    with pytest.raises(ToolNotFoundError, match="'sell'"):
        registry.with_approval("sell")


def test_collections_keep_context_and_approver() -> None:
    @ez_tool
    def whoami(user: Context[str]) -> str:
        """Tell who asks."""
        return user

    asked: list[PendingCall] = []

    def approve(call: PendingCall) -> bool:
        asked.append(call)
        return True

    registry = ToolRegistry([whoami], context="Ada", approve=approve)
    for other in (registry.with_approval(), registry.with_approval().filtered().renamed().prefixed("")):
        assert other.execute("whoami").output == "Ada"
    assert [call.name for call in asked] == ["whoami", "whoami"]


def test_provider_call_runs_unchanged(registry: ToolRegistry) -> None:
    assert registry.run(ToolCall("1", "find", '{"city": "Oslo"}')).output == "OSLO"
    assert registry.run(ToolCall("1", "buy", {"item": "ab"})).output == "ab"
    for arguments in ('{"city": ', "[]", '{"city": NaN}', cast("Any", 7)):
        assert isinstance(registry.run(ToolCall("1", "find", arguments)).exception, ArgumentsError)
    assert isinstance(registry.run(ToolCall("1", "sell", "{")).exception, ToolNotFoundError)


async def test_provider_call_is_awaited_unchanged(registry: ToolRegistry, anyio_backend: str) -> None:
    assert (await registry.arun(ToolCall("1", "buy", '{"item": "ab"}'))).output == "ab"
    assert isinstance((await registry.arun(ToolCall("1", "buy", "{"))).exception, ArgumentsError)
    assert isinstance((await registry.arun(ToolCall("1", "sell", "{"))).exception, ToolNotFoundError)


def _refuse(_: PendingCall) -> bool:
    return False


def _offer(tools: list[Any]) -> None:
    llm().tools(*tools)


@pytest.mark.parametrize(
    "settings", [{}, {"context": "bob"}, {"approve": _refuse}, {"context": "ada", "approve": _refuse}]
)
def test_tool_of_two_users_is_not_that_of_the_first(settings: dict[str, Any]) -> None:
    """Which context and which approver the calls have must not depend on an order."""
    ada, bob = ToolRegistry([buy], context="ada", approve=lambda _: True), ToolRegistry([buy], **settings)
    for tools in ([*ada, *bob], [ada, bob], [*bob, *ada], [ada, buy]):
        for collect in (ToolRegistry, Toolkit, _offer):
            with pytest.raises(
                DuplicateToolError, match="'buy' comes twice, with different contexts, approvers or bou"
            ):
                cast("Any", collect)(tools)
    assert len(ToolRegistry([*ada, *ada, ada])) == len(llm().tools(*ada, ada, buy.fn).settings.tools) == 1
    assert len(ToolRegistry([*ada, *bob, buy], context="eve", approve=_refuse)) == 1
    assert len(Toolkit([*ada, *bob.renamed(buy="buy_for_bob")])) == 2


@pytest.mark.parametrize("text", ["'user-7'", "b'user-7'", "70000"])
def test_tool_of_one_user_may_come_twice(text: str) -> None:
    """Parts of a service read a user's id each for itself."""
    first, second = ast.literal_eval(text), ast.literal_eval(text)
    assert first is not second
    orders, mail = ToolRegistry([buy], context=first), ToolRegistry([buy], context=second)
    assert len(Toolkit([*orders, *mail])) == len(ToolRegistry([orders, mail])) == 1


def test_a_duplicate_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    registry = ToolRegistry([create_calculator_tool()])
    with pytest.raises(DuplicateToolError):
        registry.register(create_calculator_tool())
    assert "definition refused: two tools are called 'calculator'" in caplog.text
