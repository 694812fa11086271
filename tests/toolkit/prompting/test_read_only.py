"""Nothing is proposed but what calls declared readers, and the worked example calls what at least seems to be one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypedDict

import pytest
from pydantic import with_config

from ez_ptc import SchemaError, Tool, Toolkit, ez_tool, tool
from ez_ptc.sandbox.protocol.records.call_record import make_record
from ez_ptc.toolkit.prompting.worked_example import example_program
from ez_ptc.tools.builtin import create_calculator_tool, create_datetime_tool


@with_config(extra="forbid")
class User(TypedDict):
    user_id: int
    name: str
    status: str


USERS: list[User] = [
    {"user_id": 1, "name": "Ann", "status": "inactive"},
    {"user_id": 2, "name": "Ben", "status": "active"},
]
deleted: list[object] = []


def list_users() -> list[User]:
    """List the users."""
    return USERS


def get_user(user_id: int) -> User:
    """Get a user."""
    return next(user for user in USERS if user["user_id"] == user_id)


def delete_user(user_id: int) -> User:
    """Delete a user."""
    if user_id not in {1, 2}:
        raise LookupError(user_id)
    deleted.append(user_id)
    return USERS[0]


def toolkit_of(*, declared: bool, **settings: Any) -> Toolkit:
    reading = [Tool.from_function(each, read_only=True if declared else None) for each in (list_users, get_user)]
    return Toolkit([*reading, ez_tool(delete_user)], **settings)


@pytest.fixture(scope="module")
def declared() -> Iterator[Toolkit]:
    with toolkit_of(declared=True) as made:
        yield made


@pytest.fixture(scope="module")
def undeclared() -> Iterator[Toolkit]:
    with toolkit_of(declared=False) as made:
        yield made


def told(toolkit: Toolkit, program: str) -> str:
    return toolkit.answer(program, toolkit.execute(program, 20))


def proposed(toolkit: Toolkit, program: str) -> str | None:
    found = re.search(r"```python\n(.*?)\n```", told(toolkit, program), re.DOTALL)
    return found[1] if found else None


# Programs with a mistake, which are answered with another program where all that is called reads.
MISTAKEN: dict[str, str] = {
    "a comparison": "for u in list_users():\n    if u['status'] == 'Inactive':\n        print(u['name'])",
    "a comparison with another": "for u in list_users():\n    if u['name'] == 'inactive':\n        print(u['name'])",
    "a key": "for u in list_users():\n    print(u['Name'])",
    "a key from another tool": "print([get_user(u) for u in [1]], list_users()[0].town_name)",
    "a name": "Members = list_users()\nprint(members)",
    "a list that was not asked for": "for u in users:\n    print(u['name'], get_user(u.user_id))",
    "a row for its id": "for u in list_users():\n    print(get_user(u))",
    "a filter": "print(list_users(status='active'))",
    "a made up id": "print(get_user(user_id))",
    "lines in one": "users = list_users(); for u in users: name = u['name']; print(name)",
    "a file": "open('users.json')",
}
ANSWERED = {name: code for name, code in MISTAKEN.items() if name != "a key from another tool"}


@pytest.mark.parametrize("program", ANSWERED.values(), ids=ANSWERED.keys())
def test_a_program_over_declared_readers_is_answered_with_another(declared: Toolkit, program: str) -> None:
    assert proposed(declared, program)


FORCED: dict[str, tuple[str, str]] = {
    "an import of tools": ("from tools import delete_user\ndelete_user(1)", "pass\ndelete_user(1)"),
    "a slip in a tool's name": ("delete_usr(1)", "delete_user(1)"),
    "a slip in a name": (
        "chosen = list_users()[0]\ndelete_user(chosn.user_id)",
        "chosen = list_users()[0]\ndelete_user(chosen.user_id)",
    ),
    "the key that the parameter names": (
        "for u in list_users():\n    delete_user(u)",
        'for u in list_users():\n    delete_user(u["user_id"])',
    ),
}


@pytest.mark.parametrize(("program", "corrected"), FORCED.values(), ids=FORCED.keys())
def test_unambiguous_program_with_effects_is_corrected(undeclared: Toolkit, program: str, corrected: str) -> None:
    assert proposed(undeclared, program) == corrected


UNFORCED: dict[str, str] = {
    "a key like two others": "for u in list_users():\n    delete_user(u['id'])",
    "all rows for those that were filtered": (
        "old = [u for u in list_users() if u['status'] == 'inactive']\nfor u in users:\n    delete_user(u['user_id'])"
    ),
    "a name like two others": "user_a, user_b = list_users()[:2]\ndelete_user(user_c['user_id'])",
    "a row that another tool finds": "delete_user(get_id('Ann'))",
    "an argument too many": "delete_user(1, True)",
    "a slip and a mistake that is open": "delete_usr(1)\nprint(list_users()[0]['nothing'])",
}


@pytest.mark.parametrize("program", UNFORCED.values(), ids=UNFORCED.keys())
def test_ambiguous_program_with_effects_is_not_corrected(undeclared: Toolkit, program: str) -> None:
    assert proposed(undeclared, program) is None


def test_corrected_program_lists_its_changes(declared: Toolkit) -> None:
    answer = told(declared, "Members = list_users()\nprint(members)")
    assert "Changed: line 2: members -> Members\nRun" in answer


NOT_FORCED = {name: code for name, code in MISTAKEN.items() if name not in {"a name", "a row for its id"}}


@pytest.mark.parametrize("program", NOT_FORCED.values(), ids=NOT_FORCED.keys())
def test_where_nothing_is_declared_no_program_is_proposed(undeclared: Toolkit, program: str) -> None:
    assert proposed(undeclared, program) is None


# A hint is no program, but what it writes to have something is copied as one is.
@pytest.mark.parametrize("program", [*MISTAKEN.values(), "delete_user('Ann')", "get_user(None)"])
def test_where_nothing_is_declared_no_hint_writes_a_call(undeclared: Toolkit, program: str) -> None:
    hints = [line for line in told(undeclared, program).splitlines() if line.startswith("Hint:")]
    for written in ("for item in", "next(", "[get_user(", "_user(item", "_user(u[", "list_users()["):
        assert not any(written in hint for hint in hints)


def test_hint_loops_over_readers_for_effectful_call(declared: Toolkit) -> None:
    answer = told(declared, "delete_user('Ann')")
    assert 'user_id is in what list_users() returns: for item in list_users(): item["user_id"]' in answer
    assert "delete_user(item" not in answer


EFFECTS: dict[str, str] = {
    "called": "delete_user(u['user_id'])",
    "by the next line": "delete_user\\\n(u['user_id'])",
    "in parentheses": "(delete_user)(u['user_id'])",
    "by its method": "delete_user.__call__(u['user_id'])",
    "by map": "list(map(delete_user, [u['user_id']]))",
    "in a thread": "await __import__('asyncio').to_thread(delete_user, u['user_id'])",
    "by another thread": "await asyncio.to_thread(delete_user, u['user_id'])",
    "side by side": "parallel((delete_user, u['user_id']))",
    "by getattr": "getattr(__import__('__main__'), 'delete_user')(u['user_id'])",
    "by globals": "globals()['delete' + '_user'](u['user_id'])",
    "by eval": "eval('delete' + '_user')(u['user_id'])",
    "by exec": "exec('delete' + '_user(1)')",
    "by another name": "f(u['user_id'])",
    "by partial": "g(u['user_id'])",
    "by a dict": "d['x'](u['user_id'])",
    "by a lambda": "h(u['user_id'])",
    "in a condition": "print(1 if delete_user(1) else 2)",
    "in a text in braces": "print(f\"{delete_user(u['user_id'])}\")",
}
BEFORE = (
    "import functools\nf = delete_user\ng = functools.partial(delete_user)\nd = {'x': delete_user}\n"
    "h = lambda i: delete_user(i)\n"
)
FORMS: dict[str, str] = {
    "guarded": "for u in list_users():\n    if u['status'] == 'Inactive':\n        EFFECT",
    "guarded by a key": "for u in list_users():\n    if u['Status'] == 'inactive':\n        EFFECT",
    "beside a mistake": "for u in list_users():\n    print(u['Name'])\n    if False:\n        EFFECT",
    "in a loop over what is not there": "for u in users:\n    EFFECT\n    print(list_users())",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS.keys())
@pytest.mark.sampled(every=4)
def test_program_naming_an_effect_is_not_proposed(declared: Toolkit, effect: str, form: str) -> None:
    deleted.clear()
    is_named = any(f"{name}(u" in effect for name in "fgh") or "d['x']" in effect
    program = (BEFORE if is_named else "") + form.replace("EFFECT", effect)
    assert proposed(declared, program) is None


@pytest.mark.parametrize(
    "program",
    [
        "delete_user(7)",
        "delete_user(user_id)",
        "delete_user('Ann')",
        "delete_user(list_users())",
        "gone = delete_user(1)",
        "delete_user(1, name='x')",
        "u = delete_user(1)\nprint(u['Name'])",
        "delete_user(1); for u in list_users(): print(u)",
        "print(delete_user(1)['zzz'])",
        "print(get_user(delete_user(1)))",
        "print(get_user([delete_user(1)]))",
        "print([get_user(u) for u in [1]], delete_user(1).town_name)",
    ],
)
def test_effectful_call_is_never_written_for_model(declared: Toolkit, program: str) -> None:
    answer = told(declared, program)
    assert "```python\n" not in answer
    lines = [line for line in answer.splitlines() if line.startswith("Hint:")]
    assert not any(re.search(r"delete_user\((?!user_id)", line) for line in lines), lines


def test_less_is_asked_of_readers_only() -> None:
    rows: list[User] = []

    def take(status: str = "", limit: int = 5) -> list[User]:
        """Take users."""
        return rows

    for read_only in (True, None, False):
        with Toolkit([Tool.from_function(take, name="get_taken", read_only=read_only)]) as toolkit:
            answers = [told(toolkit, "for u in get_taken('x'):\n    print(u)"), told(toolkit, "get_taken('x', 'many')")]
        assert ["eave" in answer for answer in answers] == [read_only is True] * 2


def test_seemingly_reading_tool_is_in_no_proposal() -> None:
    def get_ticket(user_id: int) -> User:
        """Get a ticket, a new one for each call."""
        raise NotImplementedError

    program = "for u in list_users():\n    if u['status'] == 'Inactive':\n        print(get_ticket(u['user_id']))"
    for read_only in (True, None):
        with Toolkit(
            [Tool.from_function(list_users, read_only=True), ez_tool(get_ticket, read_only=read_only)]
        ) as made:
            assert (proposed(made, program) is not None) is (read_only is True)


def test_names_of_earlier_program_may_be_anything(declared: Toolkit) -> None:
    program = "for u in list_users():\n    print(u['Name'])\n    fire(u)"
    for earlier in ("def fire(user):\n    delete_user(user)", "fire = delete_user", "print = fire = delete_user"):
        with declared.session() as session:
            assert session.execute(earlier).success
            assert "```" not in session.execute(program).error_output
            assert ("```" in session.execute("print(list_users()[0]['Name'])").error_output) is ("print" not in earlier)


def test_reader_in_a_proposal_is_the_tool_though_an_earlier_program_rebound_it(declared: Toolkit) -> None:
    with declared.session() as session:
        assert session.execute("list_users = delete_user").success
        assert "list_users()" in session.execute("print(get_user(user_id))").error_output
        result = session.execute("list_users()")

    assert [call["name"] for call in result.tool_calls] == ["list_users"]


def test_nothing_is_proposed_after_an_effect(declared: Toolkit) -> None:
    program = "for u in list_users():\n    if u['status'] == 'Inactive':\n        print(u['name'])"
    result = declared.execute(program, 20)
    result.tool_calls.append(make_record({"name": "delete_user", "result": None, "error": None}))
    assert "```" not in declared.answer(program, result)


# --- What says that a tool reads --------------------------------------------------------------------------------------


def test_any_kind_of_tool_can_be_read_only() -> None:
    made: list[Tool[..., Any]] = [
        ez_tool(read_only=True)(get_user),
        ez_tool(get_user, read_only=True),
        tool("get", read_only=True)(get_user),
        Tool("get", "Get.", [], lambda: 1, read_only=True),
        Tool.from_function(get_user, read_only=True),
        Tool.from_schema("get", "Get.", {"type": "object"}, lambda: 1, read_only=True),
        create_calculator_tool(),
        create_datetime_tool(),
    ]
    assert [each.read_only for each in made] == [True] * len(made)
    assert [replace(each, name="renamed", requires_approval=True).read_only for each in made] == [True] * len(made)
    assert ez_tool(get_user).read_only is None
    assert ez_tool(read_only=False)(get_user).read_only is False
    assert ez_tool(idempotent=True)(get_user).read_only is None


@pytest.mark.parametrize("given", ["yes", 1, 0, [], "True"])
def test_non_boolean_read_only_is_refused(given: bool) -> None:
    with pytest.raises(SchemaError, match="get_user: expected read_only to be True, False or None, got"):
        ez_tool(read_only=given)(get_user)


def test_calling_it_twice_may_still_delete_it_once() -> None:
    with Toolkit([Tool.from_function(list_users, read_only=True), ez_tool(idempotent=True)(delete_user)]) as toolkit:
        assert proposed(toolkit, "gone = delete_user(1)") is None


def test_mcp_gets_the_declaration() -> None:
    assert "annotations" not in ez_tool(get_user).to_format("mcp")
    for read_only in (True, False):
        assert ez_tool(read_only=read_only)(get_user).to_format("mcp")["annotations"] == {"readOnlyHint": read_only}


# --- The worked example -----------------------------------------------------------------------------------------------


def named(name: str, **options: Any) -> Tool[..., Any]:
    def do(x: str = "a") -> dict[str, int]:
        """Do it."""
        raise NotImplementedError

    return Tool.from_function(do, name=name, **options)


DOING = (
    "track_event show_notification find_replace search_replace get_rid_of list_item_for_sale count_vote query_execute "
    "read_receipt_send get_next_number is_paid_mark look_away getAndDelete get_token_revoke fetch_email_then_purge "
    "delete_user transfer_money weather process_order run get_or_create_account search_and_book GetRidOf getNextNumber "
    "list_and_clear view_message_send has_access_grant find_user_update read_queue_pop fetch_lock open_door x _"
)


@pytest.mark.parametrize("name", DOING.split())
def test_tool_with_effect_in_name_has_no_example(name: str) -> None:
    for with_shapes in (True, False):
        assert example_program([named(name)], with_shapes=with_shapes) is None
        assert name + "(" not in (example_program([named(name), named("get_users")], with_shapes=with_shapes) or "")


@pytest.mark.parametrize(
    "name",
    ["get_user", "list_open_orders", "find_flights", "searchProducts", "read_mail", "fetch", "is_open", "has_access"],
)
def test_reading_name_is_enough_for_an_example(name: str) -> None:
    assert f"{name}(" in (example_program([named("delete_user"), named(name)], with_shapes=False) or "")


def test_declaration_overrides_the_name() -> None:
    assert example_program([named("get_user", read_only=False)], with_shapes=False) is None
    assert example_program([named("weather", read_only=True)], with_shapes=False) == "print(weather())"
    both = [named("get_user"), named("weather", read_only=True)]
    assert example_program(both, with_shapes=False) == "print(weather())"


def test_a_prompt_without_an_example_is_whole() -> None:
    with Toolkit([ez_tool(delete_user)], assist_tool_chaining=True) as toolkit:
        assert toolkit.prompt().endswith("try again.")
        assert "delete_user(" not in toolkit.prompt().partition("IMPORTANT")[2]
