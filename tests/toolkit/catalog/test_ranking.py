"""The ranking of tools: what is asked for comes first, whatever a query has in it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import Tool
from ez_ptc.toolkit.catalog.ranking import (
    MAX_QUERY,
    FullTextIndex,
    PlainIndex,
    ToolDocument,
    ToolIndex,
    make_index,
    query_words,
    stem,
    text_words,
    tool_document,
)
from tests.toolkit.catalog.many import many_tools, named_tools

Index = Callable[[Sequence[ToolDocument]], ToolIndex]


@pytest.fixture(scope="module", params=[FullTextIndex, PlainIndex], ids=["fts5", "plain"])
def index(request: pytest.FixtureRequest) -> ToolIndex:
    make: Index = request.param
    return make([tool_document(tool) for tool in many_tools(300)])


ASKED = {
    "refund shipping of late orders of a customer": {"list_orders", "get_shipment", "refund_shipping"},
    "orders of a customer": {"list_orders"},
    "how late was a shipment": {"get_shipment"},
    "Refunding the SHIPMENT cost": {"refund_shipping"},
    "customer's refunds": {"refund_shipping"},
    "listOrders": {"list_orders"},
    "list_orders": {"list_orders"},
    "order_id amount": {"refund_shipping"},
    "site1_tag_budget": {"site1_tag_budget"},
}


@pytest.mark.parametrize("query", ASKED)
def test_tools_that_fit_are_among_the_first_five(index: ToolIndex, query: str) -> None:
    assert ASKED[query] <= set(index.rank(query, 5))


HOSTILE = [
    *(
        '"',
        '""" OR',
        "name:list",
        "title : orders NOT order",
        "orders*",
        "^orders",
        "NEAR(order customer, 5)",
        "(order",
    ),
    *("orders AND", "order -customer", "'; DROP TABLE tools; --", "order\x00customer", "order\ud800", "{name} : order"),
    *("order " * 100_000, "order" + "x" * 1_000_000, "\u202eorder", "order + customer", ":" * 1_000_000),
]


@pytest.mark.parametrize("query", HOSTILE, ids=[query[:12].encode("unicode-escape").decode() for query in HOSTILE])
def test_query_with_syntax_is_only_words(index: ToolIndex, query: str) -> None:
    words = query_words(query)
    assert index.rank(query, 5) == index.rank(" ".join(words), 5)
    assert len(words) <= 64


@pytest.mark.parametrize("query", ["", " \n", "?!", "_", "\x00", "qwertz", "zzz " * 50])
def test_query_without_known_words_finds_nothing(index: ToolIndex, query: str) -> None:
    assert index.rank(query, 5) == []


@given(queries=st.lists(st.text(max_size=200), max_size=20))
def test_any_query_is_answered(queries: list[str]) -> None:
    documents = [tool_document(tool) for tool in named_tools(["get_order", "list_orders"])]
    for make in (FullTextIndex, PlainIndex):
        made = make(documents)
        for query in queries:
            assert set(made.rank(query, 5)) <= {"get_order", "list_orders"}


def test_names_in_other_scripts_are_found() -> None:
    texts = {"tui": "为客户退款", "ru": "Вернуть деньги клиенту", "fr": "Émettre un remboursement"}
    tools = [Tool.from_schema(name, text, {"type": "object"}, lambda: 1) for name, text in texts.items()]
    for make in (FullTextIndex, PlainIndex):
        index = make([tool_document(tool) for tool in tools])
        assert [index.rank(query, 1) for query in ("退款", "деньги", "remboursement")] == [["tui"], ["ru"], ["fr"]]


def test_order_of_tools_does_not_matter() -> None:
    documents = [tool_document(tool) for tool in many_tools(300)]
    for make in (FullTextIndex, PlainIndex):
        first, second = make(documents), make(documents[::-1])
        for query in ("invoice", "site1", "Its number", "get create"):
            assert first.rank(query, 20) == second.rank(query, 20)


def test_long_and_missing_descriptions_are_indexed() -> None:
    long = Tool.from_schema("long", "word " * 20_000 + "needle", {"type": "object"}, lambda: 1)
    bare = Tool.from_schema("needle_finder", "", {"type": "object"}, lambda: 1)
    for make in (FullTextIndex, PlainIndex):
        index = make([tool_document(tool) for tool in (long, bare)])
        assert index.rank("needle", 5) == ["needle_finder"]
        assert index.rank("word", 5) == ["long"]


def test_build_without_full_text_search_has_the_other_index(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*args: object, **options: object) -> None:
        message = "no such module: fts5"
        raise sqlite3.OperationalError(message)

    documents = [tool_document(tool) for tool in many_tools(10)]
    assert isinstance(make_index(documents), FullTextIndex)
    monkeypatch.setattr(sqlite3, "connect", connect)
    assert isinstance(make_index(documents), PlainIndex)


def test_threads_and_forks_share_an_index() -> None:
    index = FullTextIndex([tool_document(tool) for tool in many_tools(100)])
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(index.rank, ["refund shipping"] * 50, [1] * 50))
    assert answers == [["refund_shipping"]] * 50
    child = os.fork()
    if not child:
        os._exit(index.rank("refund shipping", 1) != ["refund_shipping"])
    assert os.waitpid(child, 0)[1] == 0


def test_words_are_split_at_underscores_and_capitals() -> None:
    assert list(text_words("getHTTPResponse_for-customers2 two", 100)) == [
        *("get", "http", "response", "for", "customers2", "two")
    ]
    assert query_words("a A b" + " c" * MAX_QUERY) == ["a", "b", "c"]
    assert {stem(word) for word in ("refund", "refunds", "refunded", "refunding")} == {"refund"}


@pytest.mark.security
def test_toolkit_without_a_search_needs_no_sqlite() -> None:
    program = (
        "import sys; from tests.toolkit.catalog.many import many_tools; from ez_ptc import Toolkit\n"
        "with Toolkit(many_tools(300)) as toolkit:\n"
        "    print(toolkit.execute('1').return_value, len(toolkit.prompt()) > 0, 'sqlite3' in sys.modules)\n"
        "    print(len(toolkit.search_tools('order')) > 0, 'sqlite3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "1 True False\nTrue True\n"
