"""The methods of an object as tools."""

from functools import cached_property, singledispatchmethod
from math import ceil

import pytest

from ez_ptc.errors import SchemaError
from ez_ptc.tools.conversion import tools_from
from ez_ptc.tools.decorators import ez_tool


class Account:
    """An account."""

    limit = 10

    def __init__(self) -> None:
        self.balance = 0

    def deposit(self, amount: int) -> int:
        """Put money in.

        Args:
            amount: In euros
        """
        self.balance += amount
        return self.balance

    @staticmethod
    def currency() -> str:
        """Tell the currency."""
        return "EUR"

    @classmethod
    def kind(cls) -> str:
        """Tell the kind."""
        return cls.__name__

    @property
    def secret(self) -> str:
        raise AssertionError

    @cached_property
    def history(self) -> list[str]:
        raise AssertionError

    def _audit(self) -> None:
        """Look."""


class Savings(Account):
    """Another account."""

    async def interest(self, rate: float) -> float:
        """Tell the interest."""
        return self.balance * rate

    def deposit(self, amount: int) -> int:
        """Put savings in."""
        return super().deposit(amount * 2)


def test_public_methods_are_tools_with_their_names_and_docstrings() -> None:
    account = Account()
    deposit, currency, kind = tools_from(account, category="bank")
    assert [each.name for each in (deposit, currency, kind)] == ["deposit", "currency", "kind"]
    assert deposit.description == "Put money in."
    assert deposit.category == "bank"
    assert deposit.parameters == {
        "type": "object",
        "properties": {"amount": {"type": "integer", "description": "In euros"}},
        "required": ["amount"],
    }
    assert deposit.call({"amount": 5}) == 5
    assert account.balance == 5
    assert (currency.call({}), kind.call({})) == ("EUR", "Account")


def test_base_methods_come_first_as_overridden() -> None:
    tools = tools_from(Savings())
    assert [each.name for each in tools] == ["deposit", "currency", "kind", "interest"]
    assert tools[0].description == "Put savings in."
    assert tools[0].call({"amount": 5}) == 10
    assert tools[3].is_async


def test_methods_are_chosen_by_name() -> None:
    assert [each.name for each in tools_from(Account(), include=["kind", "deposit"])] == ["deposit", "kind"]
    assert [each.name for each in tools_from(Account(), exclude=["kind", "deposit"])] == ["currency"]
    with pytest.raises(LookupError, match="unknown public method '_audit'; available: "):
        tools_from(Account(), include=["_audit"])


def test_a_class_and_an_object_without_methods_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"got the class Account: make one, as in Account\(\.\.\.\)"):
        tools_from(Account)
    with pytest.raises(SchemaError, match="object has no public methods"):
        tools_from(object())


class Till:
    """Some of its methods are tools already."""

    @staticmethod
    @ez_tool(name="round_up", read_only=True)
    def rounded(amount: float) -> int:
        """Round an amount up."""
        return ceil(amount)

    @ez_tool
    @staticmethod
    def halve(amount: float) -> float:
        """Halve an amount."""
        return amount / 2

    def open(self) -> str:
        """Open the till."""
        return "open"


def test_method_that_is_a_tool_stays_as_it_is() -> None:
    tools = tools_from(Till(), category="shop")

    rounded, halve, opened = tools
    assert [(tool.name, tool.category) for tool in tools] == [("round_up", None), ("halve", None), ("open", "shop")]
    assert rounded is Till.rounded
    assert (rounded.call({"amount": 1.5}), halve.call({"amount": 3}), opened.call({})) == (2, 1.5, "open")
    assert [tool.name for tool in tools_from(Till(), exclude=["rounded"])] == ["halve", "open"]


class Post:
    """Methods that are chosen by the type of their first argument."""

    @singledispatchmethod
    def weigh(self, number: int, cups: int = 2) -> str:
        """Weigh a parcel."""
        return f"{number} {cups}"

    @singledispatchmethod
    @classmethod
    def price(cls, number: int) -> str:
        """Look up a price."""
        return f"{cls.__name__} {number}"

    @singledispatchmethod
    @staticmethod
    def sort(number: int) -> str:
        """Sort a letter."""
        return f"sorted {number}"

    @singledispatchmethod
    async def send(self, number: int) -> str:
        """Send a parcel."""
        return f"sent {number}"


def test_dispatched_methods_are_tools() -> None:
    tools = tools_from(Post())
    assert [tool.signature for tool in tools] == [
        "weigh(number: int, cups: int = 2, /) -> str",
        "price(number: int, /) -> str",
        "sort(number: int, /) -> str",
        "send(number: int, /) -> str",
    ]
    assert [tool.call({"number": 7}) for tool in tools] == ["7 2", "Post 7", "sorted 7", "sent 7"]
    assert [ez_tool(method).call({"number": 7}) for method in (Post.price, Post.sort)] == ["Post 7", "sorted 7"]
    with pytest.raises(SchemaError, match="a method without its object"):
        ez_tool(Post.weigh)
