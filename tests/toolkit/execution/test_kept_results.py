"""Results that are too long for a model: whose they are, and how the next program reads them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import secrets
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pytest

from ez_ptc.errors import DuplicateToolError
from ez_ptc.messages import ToolCall
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.registry import ToolRegistry
from tests.toolkit.execution.kept import counted, keep, rows

MISSING = "r_" + "0" * 32


@pytest.fixture(autouse=True)
def nothing_is_counted() -> None:
    counted.clear()


def test_next_program_has_the_value_without_a_call() -> None:
    with Toolkit([rows]) as toolkit:
        name = keep(toolkit.execute("rows(1000)"))
        result = toolkit.execute(f"found = results['{name}']\nlen(found), found[3].number, found[3]['day']")

    assert result.return_value == (1000, 3, date(2026, 1, 1))
    assert result.tool_calls == []
    assert counted == [1000]


def test_value_is_a_copy_that_is_fetched_once_a_program() -> None:
    with Toolkit([rows]) as toolkit:
        name = keep(toolkit.execute("rows(3)"))
        program = f"first = results['{name}']\nfirst.append(4)\nlen(results['{name}']), results['{name}'] is first"
        assert toolkit.execute(program).return_value == (4, True)
        assert toolkit.execute(program).return_value == (4, True)


def test_one_result_keeps_a_value_once() -> None:
    with Toolkit([rows]) as toolkit:
        result = toolkit.execute("print('x' * 10)\nrows(3)")

        assert keep(result) == keep(result)
        assert keep(result, result.output) != keep(result)


def test_results_are_unknown_where_nothing_is_kept() -> None:
    with Toolkit([rows]) as toolkit, toolkit.session() as session:
        assert "NameError" in (toolkit.execute("results['r1']").error or "")
        assert "NameError" in (session.execute("results['r1']").error or "")
        assert session.execute("results = [1]\nresults").return_value == [1]


def test_text_is_read_and_searched_in_parts() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    with Toolkit([rows]) as toolkit:
        name = keep(toolkit.execute("1"), text)
        program = f"read_result('{name}', 7, 6), search_result('{name}', r'^line 77\\d7$')"
        part, found = toolkit.execute(program).return_value

    assert part == "line 1"
    assert found["count"] == 10
    assert [text[match["start"] :].partition("\n")[0] for match in found["matches"]] == [
        match["text"] for match in found["matches"]
    ]


def test_every_byte_can_be_read_back() -> None:
    value = {"halves": "\ud800x\udfff", "bytes": bytes(range(256)) * 10, "text": "é\n\0" * 10_000}
    with Toolkit([]) as toolkit:
        name = keep(toolkit.execute("1"), value)
        assert toolkit.execute(f"results['{name}']").return_value == value
        name = keep(toolkit.execute("1"), value["text"])
        parts = f"''.join(read_result('{name}', start, 7_000) for start in range(0, 30_000, 7_000))"
        assert toolkit.execute(parts).return_value == value["text"]


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", r"(.*a){20}", r"^(\w+\s?)*$"])
def test_backtracking_pattern_takes_linear_time(pattern: str) -> None:
    with Toolkit([]) as toolkit:
        name = keep(toolkit.execute("1"), "a" * 100_000 + "!")
        result = toolkit.execute(f"search_result('{name}', {pattern!r})['count']", timeout=20)

    assert result.success, result.error


@pytest.mark.sampled(every=2, first=1)
@pytest.mark.parametrize(
    ("text", "pattern", "count", "starts"),
    [
        ("", "x", 0, []),
        ("x", "x", 1, [0]),
        ("\n\nx\r\nx", "^x$", 2, [2, 5]),
        ("a" * 70_000 + "needle" + "b" * 70_000, "needle", 2, [69_600 + 200, 70_000]),
        ("line\n" * 50_000 + "needle", "needle", 1, [250_000]),
        ("x\n" * 1_000_000, "x", 1_000, [*range(0, 40, 2)]),
        ("\n" * 1_000_000, r"\n\n", 0, []),
    ],
)
def test_search_finds_lines_at_their_positions(text: str, pattern: str, count: int, starts: list[int]) -> None:
    with Toolkit([]) as toolkit:
        name = keep(toolkit.execute("1"), text)
        found = toolkit.execute(f"search_result('{name}', {pattern!r})").return_value

    assert found["count"] == count
    assert [match["start"] for match in found["matches"]] == starts
    assert all(text.startswith(match["text"], match["start"]) for match in found["matches"])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("read_result(name, -1)", "start >= 0"),
        ("read_result(name, 4)", "start <= 3"),
        ("read_result(name, 0, 0)", "length >= 1"),
        ("search_result(name, '(?=a)')", "simplify it"),
        ("search_result(name, '(')", "simplify it"),
        ("search_result(name, 'a' * 1001)", "at most 1,000 characters"),
        ("read_result('r1')", "there is no result 'r1'"),
        ("read_result(name, reading=1)", "reading"),
        ("search_result(name, '((a{100}){100}){100}')", "simplify it"),
        ("results[3]", "name"),
    ],
)
def test_wrong_read_says_what_to_write(call: str, expected: str) -> None:
    with Toolkit([]) as toolkit:
        name = keep(toolkit.execute("1"), "abc")
        error = toolkit.execute(f"name = '{name}'\n{call}").error

    assert expected in (error or "")


def test_value_over_the_frame_is_read_in_parts() -> None:
    with Toolkit([], limits=Limits(frame=10_000)) as toolkit:
        name = keep(toolkit.execute("1"), "x" * 50_000)

        assert "10,000" in (toolkit.execute(f"results['{name}']").error or "")
        assert toolkit.execute(f"len(read_result('{name}', 45_000))").return_value == 5_000


@pytest.mark.sampled(every=0)
def test_value_with_many_keys_is_read_in_parts() -> None:
    value = {f"key {number}": None for number in range(600_000)}
    with Toolkit([]) as toolkit:
        name = keep(toolkit.execute("1"), value)
        assert "500,000" in (toolkit.execute(f"results['{name}']").error or "")
        assert toolkit.execute(f"search_result('{name}', 'key 599999')['count']").return_value == 1
        assert toolkit.execute(f"read_result('{name}', 0, 12)").return_value == '{"key 0":nul'


def test_cyclic_value_is_not_kept() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    with Toolkit([]) as toolkit:
        result = toolkit.execute("1")
        assert result.keeper is not None
        assert result.keeper.keep(cycle, source="find") is None


def test_tools_give_way_to_the_names_of_results() -> None:
    @ez_tool(name="results")
    def mine() -> str:
        """Return mine."""
        return "mine"

    with Toolkit([mine]) as toolkit:
        name = keep(toolkit.execute("1"), "kept")
        result = toolkit.execute(f"results_(), results['{name}']")

    assert result.return_value == ("mine", "kept")
    assert [call["name"] for call in result.tool_calls] == ["results_"]


# Whose ----------------------------------------------------------------------------------------------------------------


class User:
    """A context that cannot be compared with others."""


CALLERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"context": "ada"}),
    ({"context": "ada"}, {}),
    ({"context": "ada"}, {"context": "eve"}),
    ({"context": {"user": 1}}, {"context": {"user": True}}),
    ({"principal": "ada"}, {"principal": "eve"}),
    ({"principal": "ada"}, {"context": "ada"}),
    ({"principal": "ada", "context": 1}, {"context": 1}),
    ({"context": User()}, {"context": User()}),
    ({"context": User()}, {}),
]


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(("owner", "other"), CALLERS)
@pytest.mark.parametrize("is_journaled", [False, True])
def test_result_of_another_is_as_one_that_never_was(
    owner: dict[str, Any], other: dict[str, Any], is_journaled: bool, tmp_path: Path
) -> None:
    with Toolkit([rows], journal=tmp_path / "runs.db" if is_journaled else None) as toolkit:
        result = toolkit.execute("rows(5)", **owner)
        named, unnamed = keep(result), keep(result, "another value")
        for name in (named, unnamed):
            read = f"results['{name}']"
            assert toolkit.execute(f"x = {read}", **owner).success
            for program in (read, f"read_result('{name}')", f"search_result('{name}', '1')", f"len(results) or {read}"):
                seen = toolkit.execute(program, **other)
                missing = toolkit.execute(program.replace(name, MISSING), **other)
                assert seen.error is not None
                assert seen.error.replace(name, MISSING) == missing.error
                assert seen.output == missing.output == ""


def test_context_that_changes_is_another_one() -> None:
    context = {"user": "ada"}
    with Toolkit([rows]) as toolkit:
        name = keep(toolkit.execute("rows(1)", context=context))
        context["user"] = "eve"

        assert not toolkit.execute(f"results['{name}']", context=context).success
        assert toolkit.execute(f"results['{name}']", context={"user": "ada"}).success


def test_toolkits_do_not_share_results() -> None:
    with Toolkit([rows]) as toolkit, Toolkit([rows]) as other:
        name = keep(toolkit.execute("rows(1)"))

        assert not other.execute(f"results['{name}']").success


def test_short_names_mean_nothing_elsewhere() -> None:
    with Toolkit([rows]) as toolkit, toolkit.session() as one, toolkit.session() as two:
        assert keep(one.execute("rows(1)")) == "r1"
        assert keep(two.execute("rows(2)")) == "r1"
        assert one.execute("len(results['r1'])").return_value == 1
        assert two.execute("len(results['r1'])").return_value == 2
        handle = keep(toolkit.execute("rows(3)"))
        assert "expected one of r1" in (one.execute(f"results['{handle}']").error or "")
        assert not toolkit.execute("results['r1']").success


def read_by_guess(toolkit: Toolkit, handles: list[str], context: str, count: int) -> list[object]:
    """Return what a caller gets for handles of others, changed handles and guesses, `count` in a program."""
    guesses = [guess for handle in handles for guess in (handle, handle[:-1] + "x", handle.upper(), f" {handle}")]
    guesses += [f"r_{secrets.token_hex(16)}" for _ in range(count - len(guesses))]
    program = f"""
read = []
for guess in {guesses!r}:
    for look in (lambda: results[guess], lambda: read_result(guess), lambda: results.get(guess)):
        try:
            read.append(look())
        except LookupError:
            pass
[value for value in read if value is not None]
"""
    return toolkit.execute(program, context=context).return_value


def cross(toolkit: Toolkit, *, programs: int, guesses: int) -> None:
    """Let two callers at once try each other's handles and guesses."""
    handles = {user: [keep(toolkit.execute("rows(3)", context=user)) for _ in range(2)] for user in ("ada", "eve")}
    crossed: list[object] = []

    def attack(user: str, other: str) -> None:
        crossed.extend(read_by_guess(toolkit, handles[other], user, guesses) for _ in range(programs))

    threads = [threading.Thread(target=attack, args=pair) for pair in (("ada", "eve"), ("eve", "ada"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert crossed == [[]] * programs * 2
    assert toolkit.execute(f"len(results['{handles['ada'][0]}'])", context="ada").return_value == 3


def test_callers_at_once_read_nothing_of_each_other() -> None:
    with Toolkit([rows]) as toolkit:
        cross(toolkit, programs=1, guesses=12)


@pytest.mark.security
def test_ten_thousand_guesses_read_nothing(tmp_path: Path) -> None:
    with Toolkit([rows], journal=tmp_path / "runs.db") as toolkit:
        cross(toolkit, programs=25, guesses=100)
    with Toolkit([rows]) as toolkit:
        cross(toolkit, programs=25, guesses=100)


def test_tasks_at_once_read_nothing_of_each_other(anyio_backend: str) -> None:
    del anyio_backend
    with Toolkit([rows]) as toolkit:
        handles = {user: keep(toolkit.execute("rows(3)", context=user)) for user in "abcd"}
        read: list[tuple[str, str, bool]] = []

        async def look(user: str, owner: str) -> None:
            tool = toolkit.as_async_tool(context=user)
            read.append((user, owner, "'number': 2" in await tool(f"print(results['{handles[owner]}'])")))

        async def look_at_once() -> None:
            async with anyio.create_task_group() as group:
                for user in handles:
                    for owner in handles:
                        group.start_soon(look, user, owner)

        anyio.run(look_at_once)
        assert sorted(read) == [(user, owner, user == owner) for user in "abcd" for owner in "abcd"]


@pytest.mark.parametrize("make", [copy.deepcopy, dataclasses.asdict, dataclasses.replace])
def test_results_can_be_copied(make: Callable[[Any], Any]) -> None:
    with Toolkit([rows]) as toolkit:
        result = toolkit.execute("rows(1)")
        keep(result)

        assert make(result) is not None
        assert pickle.loads(pickle.dumps(result)).keeper is None


def test_registry_has_no_tool_of_ours() -> None:
    registry = ToolRegistry([rows])

    assert not registry.run(ToolCall("1", "read_result", {"name": "r1"})).success
    with pytest.raises(DuplicateToolError):
        Toolkit([ez_tool(name="results")(rows.fn), ez_tool(name="results_")(rows.fn)])


def test_failed_guesses_write_one_line_each(caplog: pytest.LogCaptureFixture) -> None:
    program = f"""
for read in (read_result, lambda name: search_result(name, "x"), lambda name: results[name]):
    try:
        read("{MISSING}")
    except LookupError as error:
        print(error)
"""
    with Toolkit([rows]) as toolkit:
        assert toolkit.execute(program).output.count("there is no result") == 3

    assert len(caplog.records) == 3
    assert not any(record.exc_info for record in caplog.records)


def test_value_is_made_text_once_for_reads_in_parts() -> None:
    value = [{"at": date(2026, 1, day)} for day in range(1, 31)]
    with Toolkit([]) as toolkit:
        scope = toolkit.results_of("ada")
        names = [scope.keeper().keep(each, source="x") for each in (value, "text" * 3)]
        first, other = [scope.text(str(name)) for name in names]
        assert scope.text(str(names[1])) is other
        assert scope.text(str(names[0])) == first
