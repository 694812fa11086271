"""A run belongs to the caller that began it: an id alone continues no one else's, and returns no one else's result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, cast
from uuid import UUID

import pytest

from ez_ptc import ContinuationError, JournalError, PendingCall, Toolkit
from tests.toolkit.execution.counting import PAUSING, PROGRAM, Run, Shop, aexecute, execute, rewrite_starts
from tests.toolkit.execution.kept import keep


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "runs.db")


@pytest.fixture(params=[execute, aexecute])
def run(request: pytest.FixtureRequest) -> Run:
    """Executes a program with a toolkit, blocking or awaiting."""
    return cast("Run", request.param)


@dataclass(frozen=True)
class User:
    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Admin(User):
    """The same fields, and another class."""


DIFFERENT: list[Any] = [
    "ada",
    "Ada",
    b"ada",
    1,
    1.0,
    True,
    None,
    ("ada",),
    ["ada"],
    {"user": "ada"},
    {"user": "ada", "id": 1},
    {"user": {"name": "ada"}},
    User("ada"),
    User("ada", ("ops",)),
    Admin("ada"),
    UUID(int=1),
]


@pytest.mark.sampled(every=2)
def test_result_is_returned_to_its_own_context_only(shop: Shop, run: Run) -> None:
    comparable = [context for context in DIFFERENT if not isinstance(context, bytes)]
    with shop.toolkit() as toolkit:
        for number, context in enumerate(comparable):
            run(toolkit, PROGRAM, context=context, run_id=f"order-{number}")
            for other in comparable:
                if other is context:
                    assert run(toolkit, PROGRAM, context=other, run_id=f"order-{number}").success
                    continue
                with pytest.raises(JournalError, match="belongs to another principal or context"):
                    run(toolkit, PROGRAM, context=other, run_id=f"order-{number}")
    with Toolkit(shop.tools()[2:], journal=shop.path) as toolkit, pytest.raises(JournalError, match="belongs to"):
        run(toolkit, PROGRAM, run_id="order-0")


OTHERS: list[dict[str, Any]] = [
    {},
    {"context": "bob"},
    {"principal": "user-3"},
    {"principal": "user-3", "context": "bob"},
]


@pytest.mark.parametrize("lookup", ["execute", "resume"])
def test_pending_run_is_bound_to_its_caller(shop: Shop, lookup: Literal["execute", "resume"]) -> None:
    with shop.toolkit() as toolkit:
        paused = toolkit.execute(PAUSING, context="bob", principal="user-2", run_id="order")
        for caller in OTHERS:
            look_up: Run = partial(toolkit.execute, PAUSING, run_id="order")
            if lookup == "resume":
                look_up = partial(toolkit.resume, "order", {paused.pending[0].id: True})
            with pytest.raises(JournalError, match="belongs to another principal or context"):
                look_up(**caller)
        assert toolkit.open_journal().run("order").principal == "user-2"
        assert toolkit.resume("order", {paused.pending[0].id: True}, context="eve", principal="user-2").success
    assert shop.done == [("pay", "eve")]


def test_opaque_context_needs_a_principal(shop: Shop, run: Run) -> None:
    """Two objects cannot be told apart in another process, so the id alone would return anyone's result."""
    circle: list[Any] = []
    circle.append(circle)
    with shop.toolkit() as toolkit:
        for context in (object(), b"ada", {1: 2}, circle, ["x"] * 20_000, "x" * (2 << 20), {"user": object()}):
            with pytest.raises(JournalError, match=r"pass principal=\.\.\."):
                run(toolkit, PROGRAM, context=context, run_id="order")
        assert shop.done == []
        assert run(toolkit, PROGRAM, context=object(), principal="user-1", run_id="order").success
        assert run(toolkit, PROGRAM, context=object(), principal="user-1", run_id="order").success
        paused = toolkit.execute(PAUSING, context=object())
        assert toolkit.resume(str(paused.run_id), {paused.pending[0].id: True}, context=object()).success
    assert [name for name, _ in shop.done] == ["log", "pay"]


@dataclass
class Tenant:
    name: str
    token: InitVar[str] = ""

    def __post_init__(self, token: str) -> None:
        if token:
            self.token_owner = token

    @cached_property
    def title(self) -> str:
        return self.name.title()


class Member(Tenant):
    def __init__(self, name: str, member: str) -> None:
        super().__init__(name)
        self.member = member


class Slotted(Tenant):
    __slots__ = ("member",)

    def __init__(self, name: str, member: str) -> None:
        super().__init__(name)
        self.member = member


@dataclass
class Settings(dict[str, str]):
    name: str

    @classmethod
    def of(cls, name: str, member: str) -> Settings:
        settings = cls(name)
        settings["member"] = member
        return settings


@pytest.mark.parametrize("user", [Tenant, Member, Slotted, Settings.of])
def test_users_of_equal_fields_are_not_one(shop: Shop, run: Run, user: Callable[[str, str], object]) -> None:
    ada, bob = user("shop", "ada"), user("shop", "bob")
    with Toolkit(shop.tools()) as toolkit:
        failed = run(toolkit, "print('rows')\n1 / 0", context=ada)
        read = f"print(results['{keep(failed, 'rows')}'])"
        with pytest.raises(ContinuationError, match="belongs to another"):
            run(toolkit, "log(1)", context=bob, after=failed)
        assert not run(toolkit, read, context=bob).success
        assert run(toolkit, read, context=ada, after=failed).output == "rows\n"
    with shop.toolkit() as toolkit, pytest.raises(JournalError, match=r"pass principal=\.\.\."):
        run(toolkit, PROGRAM, context=ada, run_id="order")
    assert shop.done == []


def test_dataclass_with_derived_attributes_is_compared(shop: Shop, run: Run) -> None:
    known, fresh = Tenant("shop"), Tenant("shop")
    assert known.title == "Shop"
    with shop.toolkit() as toolkit:
        run(toolkit, PROGRAM, context=known, run_id="order")
        assert run(toolkit, PROGRAM, context=fresh, run_id="order").success
    assert len(shop.done) == 1


def test_old_run_can_be_resumed_and_not_looked_up(shop: Shop) -> None:
    with shop.toolkit() as toolkit:
        paused = toolkit.execute(PAUSING, run_id="order")
        rewrite_starts(toolkit.open_journal(), lambda data: {name: data[name] for name in data.keys() - {"caller"}})
        assert toolkit.open_journal().verify() == 1
        with pytest.raises(JournalError, match="belongs to another principal or context"):
            toolkit.execute(PAUSING, run_id="order")
        assert toolkit.resume("order", {paused.pending[0].id: True}).success


@pytest.mark.parametrize("is_earlier", [False, True])
def test_run_of_a_context_with_attributes_is_resumed(shop: Shop, is_earlier: bool) -> None:
    """Its fields are compared as ever, also with a record of an earlier version, without a mark."""

    def forget_mark(data: dict[str, Any]) -> dict[str, Any]:
        digest = data["caller"]["context"].removeprefix("partial:")
        return {**data, "caller": {**data["caller"], "context": digest}}

    with shop.toolkit() as toolkit:
        paused = toolkit.execute(PAUSING, context=Member("shop", "ada"))
        if is_earlier:
            rewrite_starts(toolkit.open_journal(), forget_mark)
        decisions = {paused.pending[0].id: True}
        with pytest.raises(JournalError, match="belongs to another principal or context"):
            toolkit.resume(str(paused.run_id), decisions, context=Member("other", "ada"))
        assert toolkit.resume(str(paused.run_id), decisions, context=Member("shop", "ada")).success


@pytest.mark.parametrize("way", ["toolkit", "session", "awaited toolkit", "awaited session"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_resumed_session_uses_the_context_and_approver_it_is_given(
    shop: Shop, way: str, anyio_backend: str
) -> None:
    del anyio_backend
    asked: list[dict[str, Any]] = []

    def refuse(call: PendingCall) -> str:
        asked.append(call.arguments)
        return "no more"

    with shop.toolkit(context="operator") as toolkit, toolkit.session() as session:
        paused = session.execute("print(pay(1), pay(2))", context="ada")
        decisions = {paused.pending[0].id: True}
        options: dict[str, Any] = {"context": "ada", "approve": refuse}
        if way == "toolkit":
            result = toolkit.resume(str(paused.run_id), decisions, **options)
        elif way == "session":
            result = session.resume(decisions, **options)
        elif way == "awaited toolkit":
            result = await toolkit.aresume(str(paused.run_id), decisions, **options)
        else:
            result = await session.aresume(decisions, **options)
    assert result.error == "ToolError: pay was not approved: no more"
    assert shop.done == [("pay", "ada")]
    assert asked == [{"number": 2}]


def test_resumed_run_belongs_to_its_context(shop: Shop) -> None:
    with shop.toolkit(context="operator") as toolkit:
        paused = toolkit.execute(PAUSING, context="ada")
        with pytest.raises(JournalError, match="belongs to another principal or context"):
            toolkit.resume(str(paused.run_id), {paused.pending[0].id: True})
        assert toolkit.resume(str(paused.run_id), {paused.pending[0].id: True}, context="ada").success
        with toolkit.session() as session:
            paused = session.execute(PAUSING, context="ada")
            with pytest.raises(JournalError, match="belongs to another principal or context"):
                session.resume({paused.pending[0].id: True})
            assert session.resume({paused.pending[0].id: True}, context="ada").success
    assert shop.done == [("pay", "ada")] * 2


def test_resuming_a_session_run_resumes_no_other(shop: Shop) -> None:
    with shop.toolkit() as toolkit, toolkit.session() as session:
        first = session.execute(PROGRAM)
        paused = session.execute(PAUSING)
        with pytest.raises(JournalError, match="does not wait, but the next one of its session does"):
            toolkit.resume(str(first.run_id), {paused.pending[0].id: True})
    assert [name for name, _ in shop.done] == ["log"]


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ({"principal": "ada"}, {"principal": "eve"}),
        ({"principal": "ada"}, {}),
        ({"context": "ada"}, {"context": "eve"}),
    ],
)
def test_sessions_id_gives_no_one_anothers_variables(shop: Shop, own: dict[str, Any], other: dict[str, Any]) -> None:
    with shop.toolkit() as toolkit:
        with toolkit.session() as session:
            session.execute("mine = 7", **own)
        with toolkit.session(session.id) as session, pytest.raises(JournalError, match="belongs to another"):
            session.execute("print(mine)", **other)
        with toolkit.session(session.id) as session:
            assert session.execute("print(mine)", **own).output == "7\n"
