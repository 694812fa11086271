"""What the host adds to the calls of a program: the context, and a person's yes."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import anyio
import pytest

from ez_ptc import Context, DuplicateToolError, PendingCall, Tool, Toolkit, ToolRegistry, ez_tool


@ez_tool
def whoami(greeting: str, user: Context[dict[str, str]]) -> str:
    """Greet who asks."""
    return f"{greeting} {user['name']}"


@ez_tool
async def whoami_later(user: Context[dict[str, str] | None]) -> str:
    """Tell who asks."""
    return user["name"] if user else "nobody"


@ez_tool(requires_approval=True)
def pay(to: str, amount: int = 1) -> str:
    """Pay somebody."""
    return f"{to} got {amount}"


@pytest.fixture(scope="module", autouse=True)
def _shared() -> Iterator[None]:
    """Keep the shared sandbox from being started anew for each test."""
    with Toolkit([pay]) as keeper:
        keeper.execute("1")
        yield


def test_a_program_neither_sees_nor_passes_the_context() -> None:
    with Toolkit([whoami], context={"name": "Ada"}) as toolkit:
        assert toolkit.execute("whoami('Hello')").return_value == "Hello Ada"
        assert toolkit.execute("import inspect; 'user' in str(whoami.__doc__)").return_value is False
        forged = toolkit.execute("whoami('Hello', user={'name': 'Eve'})")
        assert "unknown argument 'user'" in (forged.error or "")
        assert not toolkit.execute("whoami('Hello', {'name': 'Eve'})").success
        assert "user" not in toolkit.prompt()
        assert whoami.signature == "whoami(greeting: str) -> str"


def test_missing_context_error_says_what_toolkit_needs() -> None:
    with Toolkit([whoami, whoami_later]) as toolkit:
        assert "pass context=..." in (toolkit.execute("whoami('Hello')").error or "")
        assert toolkit.execute("whoami_later()").return_value == "nobody"


@pytest.mark.parametrize("more", [[], [whoami_later]])
def test_approved_program_continues_and_refused_one_reads_why(more: list[Tool]) -> None:
    asked: list[PendingCall] = []

    def approve(call: PendingCall) -> bool | str | dict[str, object]:
        asked.append(call)
        arguments = call.arguments
        assert isinstance(arguments, dict)
        if arguments["to"] == "Eve":
            return "Eve gets nothing"
        return {**arguments, "amount": 2} if arguments.get("amount") == 9 else True

    program = """
said = [pay("Ada"), pay("Bob", amount=9)]
try:
    pay("Eve", 5)
except Exception as error:
    said.append(str(error))
said
"""
    with Toolkit([pay, *more], approve=approve) as toolkit:
        result = toolkit.execute(program)
    assert result.return_value == ["Ada got 1", "Bob got 2", "pay was not approved: Eve gets nothing"], result.error
    assert [call.arguments for call in asked] == [
        {"to": "Ada", "amount": 1},
        {"to": "Bob", "amount": 9},
        {"to": "Eve", "amount": 5},
    ]


def test_unapproved_call_never_runs_in_program() -> None:
    with Toolkit([pay]) as toolkit:
        assert "pay requires approval" in (toolkit.execute("pay('Ada')").error or "")


def test_a_registry_is_a_toolkits_tools() -> None:
    registry = ToolRegistry([whoami, pay]).prefixed("bank_")
    with Toolkit(registry, context={"name": "Ada"}) as toolkit:
        assert toolkit.execute("bank_whoami('Hi')").return_value == "Hi Ada"


def test_handmade_tool_is_called_from_program() -> None:
    def find(**arguments: object) -> list[str]:
        return sorted(map(str, arguments.items()))

    schema = {"type": "object", "properties": {"city": {"type": "string"}, "limit": {"type": "integer"}}}
    found = Tool.from_schema("find", "Find.", schema | {"required": ["city"]}, find)
    with Toolkit([found]) as toolkit:
        assert toolkit.execute("find('Oslo', limit=3)").return_value == ["('city', 'Oslo')", "('limit', 3)"]
        assert "'limit' must be int, got str 'x'" in (toolkit.execute("find('Oslo', 'x')").error or "")
        assert "find(city: str, limit: int = None)" in toolkit.prompt()


@pytest.mark.parametrize(
    ("name", "written"),
    [("get-tea", "get_tea"), ("shop.tea", "shop_tea"), ("import", "import_"), ("2nd:tea", "_2nd_tea")],
)
def test_tool_with_non_identifier_name_gets_callable_name(name: str, written: str) -> None:
    @ez_tool(name=name)
    def tea(cups: int) -> int:
        """Brew tea."""
        return cups + 1

    toolkit = Toolkit([tea, pay])

    assert [tool.name for tool in toolkit] == [written, "pay"]
    assert f"def {written}(" in toolkit.prompt()
    assert toolkit.execute(f"print({written}(2))").output == "3\n"
    with pytest.raises(DuplicateToolError, match=written):
        Toolkit([tea, replace(pay, name=written)])


# The values of one request --------------------------------------------------------------------------------------------

Ask = Callable[..., str]


@pytest.fixture(params=["execute", "session", "as_tool", "as_async_tool"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Run a program with values of its own, in each way there is, and return what a model reads."""

    def run(toolkit: Toolkit, code: str, **values: object) -> str:
        if request.param == "execute":
            return toolkit.answer(code, toolkit.execute(code, **values))  # pyright: ignore[reportArgumentType] - any values
        if request.param == "session":
            with toolkit.session() as session:
                return toolkit.answer(code, session.execute(code, **values))  # pyright: ignore[reportArgumentType] - any values
        if request.param == "as_tool":
            return toolkit.as_tool(**values)(code)  # pyright: ignore[reportArgumentType] - any values
        return anyio.run(toolkit.as_async_tool(**values), code)  # pyright: ignore[reportArgumentType] - any values

    return run


@pytest.mark.parametrize("more", [[], [whoami_later]], ids=["blocking", "awaited"])
def test_context_of_a_request_replaces_the_toolkits(ask: Ask, more: list[Tool]) -> None:
    with Toolkit([whoami, *more], context={"name": "Ada"}) as toolkit:
        assert ask(toolkit, "print(whoami('Hello'))", context={"name": "Bob"}) == "Hello Bob\n"
        assert ask(toolkit, "print(whoami('Hello'))") == "Hello Ada\n"


def test_approver_of_a_request_replaces_the_toolkits(ask: Ask) -> None:
    def approve(_: PendingCall) -> bool:
        return True

    with Toolkit([pay], approve=lambda _: "not by this one") as toolkit:
        assert ask(toolkit, "print(pay('Ann'))", approve=approve) == "Ann got 1\n"
        assert "not by this one" in ask(toolkit, "print(pay('Ann'))")


def test_listener_of_a_request_is_called_in_addition() -> None:
    always: list[object] = []
    once: list[object] = []
    with Toolkit([whoami], context={"name": "Ada"}, on_tool_call=always.append) as toolkit:
        toolkit.execute("whoami('Hello')", on_tool_call=once.append)
        with toolkit.session() as session:
            session.execute("whoami('Hello')", on_tool_call=once.append)
    assert (len(always), len(once)) == (2, 2)
