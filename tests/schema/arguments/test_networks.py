"""A network of addresses is a value of few characters with up to 2**128 items, which no parameter makes a list of."""

import contextlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, NamedTuple

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.errors import ArgumentsError
from ez_ptc.tools.tool import Tool


class Two(NamedTuple):
    first: IPv4Address
    second: IPv4Address


TAKING_ITEMS = (
    *(
        list,
        set,
        tuple,
        list[str],
        set[int],
        frozenset[str],
        tuple[int, ...],
        tuple[int, int],
        deque[str],
        Counter[str],
    ),
    *(Iterable[int], Sequence[str], AbstractSet[int], list[str] | int, dict[str, list[str]] | list[list[str]], Two),
)


def tool_of(annotation: object) -> Tool[..., Any]:
    """Return a tool that returns its one argument, of a type."""

    def take(it: Any) -> Any:  # noqa: ANN401 - any value may come
        """Take it."""
        return it

    take.__annotations__ = {"it": annotation}
    return Tool.from_function(take)


def taken(annotation: object, value: object) -> object:
    """Return what a parameter makes of a value."""
    return tool_of(annotation).bind((), {"it": value}).kwargs["it"]


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The addresses of which anybody makes a list, up to far too many: all would take the machine's memory."""
    addresses: list[object] = []

    def iterate(network: IPv4Network | IPv6Network) -> Iterator[IPv4Address | IPv6Address]:
        for number in range(network.num_addresses):
            addresses.append(network[number])
            assert len(addresses) < 100_000
            yield network[number]

    for cls in (IPv4Network, IPv6Network):
        monkeypatch.setattr(cls, "__iter__", iterate)
    return addresses


@pytest.mark.parametrize("annotation", TAKING_ITEMS, ids=str)
def test_no_list_is_made_of_a_network_of_many_addresses(annotation: object, listed: list[object]) -> None:
    for network in (IPv4Network("10.0.0.0/10"), IPv6Network("::/0")):
        for value in (network, [network], {"a": network}):
            with contextlib.suppress(ArgumentsError):
                taken(annotation, value)

    assert listed == []


def test_network_stays_one_where_one_is_expected() -> None:
    network = IPv4Network("10.0.0.0/8")

    assert taken(IPv4Network, network) == network
    assert taken(list[IPv4Network], [network]) == [network]
    assert taken(Any, network) == network


def test_small_network_is_a_list_of_its_addresses_and_a_large_one_is_refused() -> None:
    small = IPv4Network("10.0.0.0/30")

    assert taken(list[IPv4Address], small) == [*small]
    with pytest.raises(ArgumentsError, match="not a network of 16,777,216 addresses"):
        taken(list[IPv4Address], IPv4Network("10.0.0.0/8"))


def test_program_with_a_network_for_a_list_is_answered_without_making_one(listed: list[object]) -> None:
    @ez_tool
    def count(names: list[str]) -> int:
        """Count names."""
        return len(names)

    with Toolkit([count]) as toolkit:
        result = toolkit.execute("import ipaddress\ncount(ipaddress.ip_network('::/0'))")

    assert "not a network" in (result.error or "")
    assert listed == []
